"""Reading the two sides of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from judge.studies.classes import find_classes, without_class
from judge.studies.fields import merge, renamed
from judge.studies.join import (
    FIRST,
    NO_CANDIDATE,
    NO_REFERENCE,
    Joined,
    Problem,
    alone,
    first_ids,
    join,
    settle,
)
from judge.studies.names import FIELD_NAMES, listed
from judge.studies.reader import read_file
from judge.studies.sections import SECTIONS, Section
from judge.studies.source import STDIN
from judge.studies.study_set import InputFile, StudySet
from judge.studies.table import Table
from judge.studies.texts import (
    CANDIDATE_ROLES,
    REFERENCE_ROLES,
    Cut,
    Report,
    ReportFields,
    candidate_field,
    candidate_report_fields,
    candidates_from_field,
    candidates_from_reports,
    is_report_field,
    read_reports,
    reference_fields,
)
from judge.types import JudgeError


@dataclass(frozen=True, slots=True)
class _Sides:
    """The two tables, which may be one, and the fields that hold their reports."""

    preds: Table
    refs: Table
    candidate: str | ReportFields
    reference: ReportFields
    inputs: tuple[InputFile, ...]

    @property
    def names(self) -> str:
        """What the files are called together."""
        if self.preds is self.refs:
            return self.refs.name
        return f"{self.preds.name} and {self.refs.name}"


def read_pair(
    preds: str,
    refs: str | None,
    *,
    section: str | None = None,
    class_field: str | None = None,
    allow_missing: bool = False,
    id_field: str | None = None,
    reserved: Collection[str] = (),
) -> StudySet:
    """Read candidates and references from files and join them by study id.

    `preds` and `refs` are paths, or `-` for standard input; without `refs`, `preds` holds
    both sides. `section` is `findings`, `impression` or `report`; by default findings
    where any reference has them, else the whole report. `class_field` names the field
    with the study class, `id_field` the one with the id, where they have unusual names; an
    object is keyed by its ids where its entries have no such field.
    `allow_missing` leaves out, and counts, studies that are on one side only or lack the
    section. A field whose name is in `reserved` is kept as `field_<name>`. Raises
    `JudgeError` for everything that is wrong with the input.
    """
    chosen = _known_section(section)
    sides = _read_sides(preds, refs, id_field)
    joined = alone(sides.refs) if sides.preds is sides.refs else join(sides.preds, sides.refs)
    reports = read_reports(sides.refs, sides.reference)
    if chosen is None:
        chosen = "findings" if any(report.findings for report in reports) else "report"
    references = [report.text(chosen) for report in reports]
    if not any(references):
        raise _no_reference(sides.refs, reports, chosen)
    candidates = _candidates(sides, chosen)
    missing = _missing(sides, joined, chosen, references, [text for text, _ in candidates])
    omitted = settle((*joined.problems, *missing), sides.names, allow_missing=allow_missing)
    left_out = {study_id for problem in omitted.values() for study_id in problem.ids}
    rows = [pair for pair in joined.rows if sides.refs.ids[pair[1]] not in left_out]
    if not rows:
        counts = "; ".join(map(str, omitted.values()))
        raise JudgeError(f"no study of {sides.names} can be judged: {counts}")
    merged = _merged_fields(sides, rows)
    classes, class_name = find_classes(merged, len(rows), class_field)
    fields = without_class(merged, class_name)
    kept = renamed(fields, reserved)
    study_ids = tuple(sides.refs.ids[ref] for _, ref in rows)
    texts = tuple(references[ref] or "" for _, ref in rows)
    return StudySet(
        study_ids=study_ids,
        references=texts,
        candidates=tuple(candidates[pred][0] or "" for pred, _ in rows),
        study_classes=classes,
        class_inferred=(False,) * len(rows),
        full_references=tuple(reports[ref].text("report") or "" for _, ref in rows),
        section=chosen,
        fields=kept,
        class_field=class_name,
        omitted={reason: len(problem.ids) for reason, problem in omitted.items()},
        omitted_ids={reason: problem.ids[:FIRST] for reason, problem in omitted.items()},
        inputs=sides.inputs,
        notes=(
            *_file_notes(sides),
            *_cut_notes(study_ids, [candidates[pred][1] for pred, _ in rows]),
            *_rename_notes(fields, kept),
        ),
    )


def _known_section(section: str | None) -> Section | None:
    if section is None:
        return None
    for known in SECTIONS:
        if section == known:
            return known
    raise JudgeError(f"unknown section {section!r}; there are: {', '.join(SECTIONS)}")


def _read_sides(preds: str, refs: str | None, id_field: str | None) -> _Sides:
    if preds == refs == STDIN:
        raise JudgeError("only one of PREDS and REFS can be standard input (-)")
    if refs is None:
        both = read_file(preds, "both", id_field=id_field)
        table = both.table
        candidate = candidate_field(table)
        reference = reference_fields(table)
        if not reference:
            raise JudgeError(f"{table.name} holds no references; give a file of them as REFS")
        if candidate is None:
            raise JudgeError(
                f"{table.name} holds no candidates beside the references "
                f"({listed(_names(CANDIDATE_ROLES), 30)}); give two files, PREDS and REFS"
            )
        return _Sides(table, table, candidate, reference, (both.file,))
    left = read_file(preds, "preds", id_field=id_field)
    right = read_file(refs, "refs", id_field=id_field)
    candidates = candidate_field(left.table) or candidate_report_fields(left.table)
    reference = reference_fields(right.table)
    if not candidates:
        raise _no_field(
            left.table, "candidate", CANDIDATE_ROLES, swapped=bool(reference_fields(left.table))
        )
    if not reference:
        swapped = candidate_field(right.table) is not None
        raise _no_field(right.table, "reference", REFERENCE_ROLES, swapped=swapped)
    return _Sides(left.table, right.table, candidates, reference, (left.file, right.file))


def _names(groups: tuple[tuple[str, ...], ...]) -> list[str]:
    return [name for roles in groups for role in roles for name in FIELD_NAMES[role]]


def _no_field(
    table: Table, side: str, groups: tuple[tuple[str, ...], ...], *, swapped: bool
) -> JudgeError:
    expected = [*_names(groups), *FIELD_NAMES["findings"], *FIELD_NAMES["impression"]]
    hint = ". Are PREDS and REFS swapped?" if swapped else ""
    return JudgeError(
        f"{table.name} has no field for the {side}s; its fields are: {listed(table.columns)}; "
        f"expected one of: {listed(expected, 40)}{hint}"
    )


def _no_reference(refs: Table, reports: Sequence[Report], section: Section) -> JudgeError:
    there = [other for other in SECTIONS if any(report.text(other) for report in reports)]
    if not there:
        return JudgeError(f"every reference in {refs.name} is empty")
    return JudgeError(
        f"no reference in {refs.name} has the section {section}; "
        f"they have: {', '.join(there)}; choose with --section"
    )


def _candidates(sides: _Sides, section: Section) -> list[tuple[str | None, Cut | None]]:
    if isinstance(sides.candidate, str):
        return candidates_from_field(sides.preds, sides.candidate, section)
    return candidates_from_reports(sides.preds, sides.candidate, section)


def _missing(
    sides: _Sides,
    joined: Joined,
    section: Section,
    references: Sequence[str | None],
    candidates: Sequence[str | None],
) -> tuple[Problem, Problem]:
    """Return the joined studies without a reference and, of the others, without a candidate."""
    ids = sides.refs.ids
    no_reference = tuple(ids[ref] for _, ref in joined.rows if not references[ref])
    no_candidate = tuple(
        ids[ref] for pred, ref in joined.rows if references[ref] and candidates[pred] is None
    )
    return (
        Problem(f"no {section} in {sides.refs.name}", no_reference, NO_REFERENCE),
        Problem(f"no candidate text in {sides.preds.name}", no_candidate, NO_CANDIDATE),
    )


def _used(sides: _Sides) -> tuple[set[str], set[str]]:
    """Return the fields of PREDS and of REFS whose text is judged."""
    candidate = sides.candidate
    preds = {candidate} if isinstance(candidate, str) else set(candidate.names)
    refs = set(sides.reference.names)
    return (preds | refs, preds | refs) if sides.preds is sides.refs else (preds, refs)


def _merged_fields(sides: _Sides, rows: Sequence[tuple[int, int]]) -> dict[str, tuple[object, ...]]:
    used_preds, used_refs = _used(sides)

    def kept(table: Table, used: set[str], at: Sequence[int]) -> dict[str, list[object]]:
        return {
            name: [column[row] for row in at]
            for name, column in table.columns.items()
            if name not in used and not is_report_field(name, column)
        }

    refs = kept(sides.refs, used_refs, [ref for _, ref in rows])
    if sides.preds is sides.refs:
        return merge(refs, {})
    return merge(refs, kept(sides.preds, used_preds, [pred for pred, _ in rows]))


def _file_notes(sides: _Sides) -> list[str]:
    used_preds, used_refs = _used(sides)
    files = [(sides.refs, used_refs)]
    if sides.preds is not sides.refs:
        files.insert(0, (sides.preds, used_preds))
    notes: list[str] = []
    for table, used in files:
        notes += table.notes
        unused = [
            name
            for name, column in table.columns.items()
            if name not in used and is_report_field(name, column)
        ]
        if unused:
            notes.append(f"{table.name}: not used: {listed(unused)}; used: {listed(sorted(used))}")
    return notes


def _cut_notes(study_ids: Sequence[str], cuts: Sequence[Cut | None]) -> list[str]:
    notes = []
    for kind in Cut:
        ids = [study_id for study_id, cut in zip(study_ids, cuts, strict=True) if cut is kind]
        if ids:
            notes.append(f"{kind.value}: {len(ids)} ({first_ids(ids)})")
    return notes


def _rename_notes(fields: Mapping[str, object], kept: Mapping[str, object]) -> list[str]:
    pairs = zip(fields, kept, strict=True)
    return [f"the field {old} is kept as {new}" for old, new in pairs if old != new]
