"""Joining two files by study id: strictly, with everything that is wrong in one message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge.studies.names import ROW, listed
from judge.studies.table import StudyTable
from judge.types import JudgeError

FIRST = 5
"""How many ids a message shows."""

ONLY_IN_PREDS = "only in PREDS"
ONLY_IN_REFS = "only in REFS"
NO_REFERENCE = "no reference section"
NO_CANDIDATE = "no candidate text"


@dataclass(frozen=True, slots=True)
class Problem:
    """What keeps some studies from being joined.

    `reason` names it among the omissions; None where leaving the studies out would not
    mend it, because it isn't known which record is meant; `may_be_several` says that they may all
    be meant, as several references of a study.
    """

    label: str
    ids: tuple[str, ...]
    reason: str | None = None
    may_be_several: bool = False

    def __str__(self) -> str:
        return f"{self.label}: {len(self.ids)} ({first_ids(self.ids)})"


Joined = tuple[list[tuple[int, int]], list[Problem]]
"""Rows of PREDS and REFS that belong together, in the order of the references; what is wrong."""


def first_ids(ids: Sequence[str]) -> str:
    """Return the first few ids, each cut to a readable length."""
    shown = [text if len(text) <= 60 else text[:57] + "..." for text in ids[:FIRST]]
    return ", ".join(shown) + (", ..." if len(ids) > FIRST else "")


def alone(table: StudyTable) -> Joined:
    """Return a file that holds both sides, joined with itself."""
    return [(row, row) for row in range(len(table))], _repeated(table, may_be_several=True)


def join(preds: StudyTable, refs: StudyTable) -> Joined:
    """Join two files by study id.

    Ids join where their texts are equal and their types too, except that a CSV cell has
    no type. Files without ids are joined record by record. Raises `JudgeError` where no study is in
    common, and where no id says which records belong together.
    """
    if preds.is_numbered or refs.is_numbered:
        return _by_row(preds, refs), []
    rows_of_preds = {study_id: row for row, study_id in enumerate(preds.ids)}
    known = set(refs.ids)
    only_preds = tuple(study_id for study_id in preds.ids if study_id not in known)
    only_refs = tuple(study_id for study_id in refs.ids if study_id not in rows_of_preds)
    common = [
        (rows_of_preds[study_id], row)
        for row, study_id in enumerate(refs.ids)
        if study_id in rows_of_preds
    ]
    if not common:
        raise JudgeError(
            f"no study in common: {preds.name} has {len(preds)} ids ({first_ids(preds.ids)}), "
            f"{refs.name} has {len(refs)} ({first_ids(refs.ids)})"
        )
    rows = [pair for pair in common if _same_type(preds, refs, pair)]
    if not rows:
        raise JudgeError(
            f"no study in common: the ids of {preds.name} and {refs.name} differ by type only, "
            f"as {refs.ids[common[0][1]]}; write them all as texts or all as numbers"
        )
    other_type = tuple(pair for pair in common if not _same_type(preds, refs, pair))
    problems = [
        *_repeated(preds),
        *_repeated(refs, may_be_several=True),
        Problem("ids that differ by type only", tuple(refs.ids[row] for _, row in other_type)),
        Problem(f"only in {preds.name}", only_preds, ONLY_IN_PREDS),
        Problem(f"only in {refs.name}", only_refs, ONLY_IN_REFS),
    ]
    return rows, problems


def _by_row(preds: StudyTable, refs: StudyTable) -> list[tuple[int, int]]:
    if preds.is_numbered and refs.is_numbered and len(preds) == len(refs):
        return [(row, row) for row in range(len(refs))]
    if preds.is_numbered != refs.is_numbered:
        lacks, has = (preds, refs) if preds.is_numbered else (refs, preds)
        raise JudgeError(
            f"{lacks.name} has no ids and {has.name} has ({has.id_field or 'its keys'}); its "
            f"fields are: {listed(lacks.columns)}. Name the one that holds the id with --id-field, "
            f"or join the files record by record with --id-field {ROW}"
        )
    raise JudgeError(
        f"{preds.name} has {len(preds):,} records and {refs.name} {len(refs):,}, and no id says "
        "which belong together (an empty text keeps its place); name the field that holds it with "
        f"--id-field. The fields of {preds.name} are: {listed(preds.columns)}; of {refs.name}: "
        f"{listed(refs.columns)}"
    )


def settle(
    problems: Iterable[Problem], names: str, *, allow_missing: bool, option: str
) -> dict[str, Problem]:
    """Return the problems by reason where they may be omissions; raise `JudgeError` where not.

    `option` is how the user would say that they may.
    """
    found = [problem for problem in problems if problem.ids]
    grave = [problem for problem in found if problem.reason is None]
    if grave or (found and not allow_missing):
        lines = "".join(f"\n  {problem}" for problem in found)
        ways = ["mend them"]
        if len(grave) < len(found) and not allow_missing:
            which = "these studies" if not grave else "studies on one side or without a text"
            ways.append(f"leave {which} out, and have them counted, with {option}")
        if option.startswith("-") and any(problem.may_be_several for problem in grave):
            ways.append("judge against several references of a study with --references")
        raise JudgeError(f"the studies of {names} don't match:{lines}\n" + " or ".join(ways))
    return {str(problem.reason): problem for problem in found}


def _repeated(table: StudyTable, *, may_be_several: bool = False) -> list[Problem]:
    repeated = tuple(study_id for study_id, n in Counter(table.ids).items() if n > 1)
    return [Problem(f"ids more than once in {table.name}", repeated, may_be_several=may_be_several)]


def _same_type(preds: StudyTable, refs: StudyTable, pair: tuple[int, int]) -> bool:
    kinds = {preds.id_kinds[pair[0]], refs.id_kinds[pair[1]]}
    return len(kinds - {"untyped"}) < 2
