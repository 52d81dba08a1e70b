"""What a user is told whose files may not be what they are taken for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from judge.studies.forms import FLAT_TEXT
from judge.studies.names import FIELD_NAMES, listed, matching, stem_of
from judge.studies.parquet import INDEX
from judge.studies.sections import Section
from judge.studies.table import StudyTable
from judge.studies.texts import Report, ReportFields, other_fields
from judge.types import JudgeError

_USUAL = 2
"""How many names of a role a message shows."""

_TOKENS = {
    "preds": {"pred", "preds", "prediction", "predictions", "candidates", "hyp", "hyps"},
    "refs": {"ref", "refs", "reference", "references", "gt", "truth", "targets"},
}
_TOKEN = re.compile(r"[^\W_]+")


def shown_fields(table: StudyTable) -> str:
    """Return the fields of a table as messages list them, that of the ids first."""
    own = table.id_field not in (None, INDEX) and table.id_field not in table.columns
    return listed([*([str(table.id_field)] if own else []), *table.columns])


def no_field(
    table: StudyTable,
    side: str,
    roles: Iterable[str],
    *,
    taken: Sequence[str] = (),
    is_one: bool,
    from_files: bool,
) -> JudgeError:
    """Return what to say where no field of `table` is known to hold the `side`s.

    `roles` are those that such a field can have, `taken` the fields of the other side, and
    `is_one` says that the table is to hold both.
    """
    roles = list(roles)
    names = [name for role in roles for name in FIELD_NAMES[role][:_USUAL]]
    usual = f"(usual names: {', '.join(names)}, ...)"
    two = "give two files, PREDS and REFS"
    if is_one and table.is_numbered and list(table.columns) == [FLAT_TEXT]:
        return JudgeError(f"{table.name} holds one unnamed text a study, so one side alone; {two}")
    spare = [
        name
        for name, column in table.columns.items()
        if name not in taken and any(isinstance(value, str) for value in column)
    ]
    odd = [name for role in roles for name in matching(table.columns, role) if name not in spare]
    lists = [name for name in odd if isinstance(_first_value(table, name), list)]
    found = f"{table.name} has no field for the {side}s; its fields are: {shown_fields(table)}. "
    if lists:
        more = "; --references takes several of a study" if side == "reference" else ""
        what = f"The field {lists[0]} holds lists, not texts: one text a record"
        return JudgeError(f"{found}{what}{more}")
    if not from_files:
        return JudgeError(f"{found}Rename the one that holds them {usual}")
    name_it = f"name the one that holds them: --{side}-field "
    name_it += spare[0] if is_one and len(spare) == 1 and taken else "FIELD"
    ways = [name_it]
    if is_one:
        has_choice = spare and (taken or len(spare) > 1)
        ways = [*([name_it] if has_choice else []), two]
    text = ", or ".join(ways)
    return JudgeError(f"{found}{text[0].upper()}{text[1:]} {usual}")


def _first_value(table: StudyTable, name: str) -> object:
    return next((value for value in table.columns[name] if value is not None), None)


def rival_notes(
    table: StudyTable,
    fields: ReportFields,
    taken: Sequence[str],
    section: Section,
    *,
    is_candidate: bool,
    from_files: bool,
) -> list[str]:
    """Say which other fields could have been meant, where what they hold differs."""
    if section != "report" and getattr(fields, section) is not None:
        return []  # from a field of its own: no whole report is looked at
    others = [
        name for name in other_fields(table, fields, is_candidate=is_candidate) if name not in taken
    ]
    if not others:
        return []
    what = "candidate" if is_candidate else "reference"
    way = f"--{what}-field {others[0]} takes that" if from_files else "rename the one that is meant"
    differ = "differs" if len(others) == 1 else "differ"
    note = f"the {what}s are read from {fields.whole}; {listed(others)} could be meant too"
    return [f"{table.name}: {note}, and {differ}: {way}"]


def section_notes(candidates: Sequence[Report], references: Sequence[Report]) -> list[str]:
    """Say that the whole reports of the two sides are not alike: only one has impressions."""
    has_findings = any(report.findings for report in candidates)
    if has_findings and _has_impressions(references) and not _has_impressions(candidates):
        like = "--section findings compares like with like"
        why = "the candidates have no impression and the references do"
        return [f"{why}: what it says counts as missing ({like})"]
    return []


def swapped_notes(
    names: tuple[str, str],
    candidates: Sequence[Report],
    references: Sequence[Report],
) -> list[str]:
    """Say that PREDS and REFS may be the wrong way round; `names` are their files'."""
    preds, refs = (set(_TOKEN.findall(stem_of(n).casefold().replace("_", " "))) for n in names)
    n_impressions = sum(bool(report.impression) for report in candidates)
    wrong_preds = preds & _TOKENS["refs"] and not preds & _TOKENS["preds"]
    wrong_refs = refs & _TOKENS["preds"] and not refs & _TOKENS["refs"]
    if wrong_preds or wrong_refs:
        why = f"PREDS is called {names[0]} and REFS {names[1]}"
    elif 2 * n_impressions > len(candidates) and not _has_impressions(references):
        why = f"{names[0]} has impressions and {names[1]} has none"
    else:
        return []
    return [f"{why}: are they swapped? PREDS comes first"]


def _has_impressions(reports: Sequence[Report]) -> bool:
    return any(report.impression for report in reports)
