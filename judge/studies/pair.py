"""Reading the two sides of a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from judge.studies.classes import find_classes, without_class
from judge.studies.fields import Columns, merge, renamed
from judge.studies.join import (
    FIRST,
    NO_CANDIDATE,
    NO_REFERENCE,
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
from judge.studies.table import StudyTable
from judge.studies.texts import (
    CANDIDATE_ROLES,
    REFERENCE_ROLES,
    Cut,
    ReportFields,
    candidate_field,
    candidate_report_fields,
    is_report_field,
    read_candidates,
    read_reports,
    reference_fields,
)
from judge.types import JudgeError


@dataclass(frozen=True, slots=True)
class Side:
    """The candidates or the references: a text a row of `table`, None where there is none.

    `whole` are the whole reports that the texts are from, `fields` what else is kept of each
    study, `notes` what was odd, `cuts` how a text was cut to the section.
    """

    name: str
    table: StudyTable
    texts: Sequence[str | None]
    whole: Sequence[str | None] = ()
    fields: Columns = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cuts: Sequence[Cut | None] = ()


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
    _known_section(section)  # before the files, which may be large
    if preds == refs == STDIN:
        raise JudgeError("only one of PREDS and REFS can be standard input (-)")
    roles = {"both": preds} if refs is None else {"preds": preds, "refs": refs}
    files = [read_file(source, role, id_field=id_field) for role, source in roles.items()]
    return pair_tables(
        files[0][0],
        files[-1][0],
        section=section,
        class_field=class_field,
        allow_missing=allow_missing,
        reserved=reserved,
        inputs=tuple(file for _, file in files),
    )


def pair_tables(
    preds: StudyTable,
    refs: StudyTable,
    *,
    section: str | None = None,
    class_field: str | None = None,
    allow_missing: bool = False,
    reserved: Collection[str] = (),
    inputs: tuple[InputFile, ...] = (),
) -> StudySet:
    """Join two tables, which may be one, as `read_pair` does those of the files `inputs`.

    Raises `JudgeError` for everything that is wrong with them, in the words of a caller in
    Python where there are no files.
    """
    chosen = _known_section(section)
    candidate, reference = _report_fields(preds, refs, from_files=bool(inputs))
    reports = read_reports(refs, reference)
    chosen = chosen or ("findings" if any(report.findings for report in reports) else "report")
    references = [report.text(chosen) for report in reports]
    if not any(references):
        there = [other for other in SECTIONS if any(report.text(other) for report in reports)]
        if not there:
            raise JudgeError(f"every reference in {refs.name} is empty")
        option = "--section" if inputs else "section=..."
        raise JudgeError(
            f"no reference in {refs.name} has the section {chosen}; "
            f"they have: {', '.join(there)}; choose with {option}"
        )
    cut = read_candidates(preds, candidate, chosen)
    texts, cuts = [text for text, _ in cut], [how for _, how in cut]
    whole = [report.text("report") for report in reports]
    used = {*reference.names}
    kept, notes = _beside(preds, {*candidate.names})
    if preds is refs:
        used, kept, notes = {*used, *candidate.names}, {}, ()
    return paired(
        Side(preds.name, preds, texts, (), kept, notes, cuts),
        Side(refs.name, refs, references, whole, *_beside(refs, used)),
        chosen,
        class_field=class_field,
        allow_missing=allow_missing,
        reserved=reserved,
        inputs=inputs,
    )


def paired(
    preds: Side,
    refs: Side,
    section: Section,
    *,
    class_field: str | None = None,
    allow_missing: bool,
    reserved: Collection[str],
    inputs: tuple[InputFile, ...] = (),
) -> StudySet:
    """Return the studies of both sides, which may be of one table.

    Raises `JudgeError` for ids that do not match, and for studies without a text on a side
    unless `allow_missing` leaves them out.
    """
    is_one = preds.table is refs.table
    rows, problems = alone(refs.table) if is_one else join(preds.table, refs.table)
    names = refs.table.name if is_one else f"{preds.name} and {refs.name}"
    omitted = settle(
        (*problems, *_missing(preds, refs, rows, section)),
        names,
        allow_missing=allow_missing,
        option="--allow-missing" if inputs else "allow_missing=True",
    )
    left_out = {study_id for problem in omitted.values() for study_id in problem.ids}
    rows = [pair for pair in rows if refs.table.ids[pair[1]] not in left_out]
    if not rows:
        counts = "; ".join(map(str, omitted.values()))
        raise JudgeError(f"no study of {names} can be judged: {counts}")
    pred_rows, ref_rows = [pred for pred, _ in rows], [ref for _, ref in rows]
    merged = merge(_picked(refs.fields, ref_rows), _picked(preds.fields, pred_rows))
    classes, class_name = find_classes(merged, len(rows), class_field)
    fields = without_class(merged, class_name)
    kept = renamed(fields, reserved)
    study_ids = tuple(refs.table.ids[row] for row in ref_rows)
    notes = [*preds.notes, *refs.notes]
    for how in Cut if preds.cuts else ():
        ids = [one for one, row in zip(study_ids, pred_rows, strict=True) if preds.cuts[row] is how]
        notes += [f"{how.value}: {len(ids)} ({first_ids(ids)})"] if ids else []
    pairs = zip(fields, kept, strict=True)
    notes += [f"the field {old} is kept as {new}" for old, new in pairs if old != new]
    return StudySet(
        study_ids=study_ids,
        references=tuple(refs.texts[row] or "" for row in ref_rows),
        candidates=tuple(preds.texts[row] or "" for row in pred_rows),
        study_classes=classes,
        class_inferred=(False,) * len(rows),
        full_references=tuple(refs.whole[row] or "" for row in ref_rows),
        section=section,
        fields=kept,
        class_field=class_name,
        omitted={reason: len(problem.ids) for reason, problem in omitted.items()},
        omitted_ids={reason: problem.ids[:FIRST] for reason, problem in omitted.items()},
        inputs=inputs,
        notes=tuple(notes),
    )


def _known_section(section: str | None) -> Section | None:
    known = next((known for known in SECTIONS if known == section), None)
    if known is None and section is not None:
        raise JudgeError(f"unknown section {section!r}; there are: {', '.join(SECTIONS)}")
    return known


def _report_fields(
    preds: StudyTable, refs: StudyTable, *, from_files: bool
) -> tuple[ReportFields, ReportFields]:
    """Find the fields of the candidates and of the references in two tables, or in one."""
    is_one = preds is refs
    candidate, reference = candidate_field(preds), reference_fields(refs)
    if not is_one:  # a section can be a candidate's too, where it is sure to be no reference's
        candidate = candidate or candidate_report_fields(preds)
    if candidate and reference:
        return candidate, reference
    if is_one:
        hint = "; give two files, PREDS and REFS" if from_files else ""
    else:
        swapped = candidate_field(refs) if candidate else reference_fields(preds)
        hint = ". Are PREDS and REFS swapped?" if swapped else ""
    table, side = (refs, "references") if candidate else (preds, "candidates")
    groups = REFERENCE_ROLES if candidate else CANDIDATE_ROLES
    roles = [role for group in groups for role in group]
    roles += ["findings", "impression"] if candidate or not is_one else []
    expected = [name for role in roles for name in FIELD_NAMES[role]]
    raise JudgeError(
        f"{table.name} has no field for the {side}; its fields are: {listed(table.columns)}; "
        f"expected one of: {listed(expected, 40)}{hint}"
    )


def _missing(
    preds: Side, refs: Side, rows: Sequence[tuple[int, int]], section: Section
) -> tuple[Problem, Problem]:
    """Return the joined studies without a reference and, of the others, without a candidate."""
    ids = refs.table.ids
    no_reference = tuple(ids[ref] for _, ref in rows if not refs.texts[ref])
    no_candidate = tuple(
        ids[ref] for pred, ref in rows if refs.texts[ref] and preds.texts[pred] is None
    )
    return (
        Problem(f"no {section} in {refs.name}", no_reference, NO_REFERENCE),
        Problem(f"no candidate text in {preds.name}", no_candidate, NO_CANDIDATE),
    )


def _beside(table: StudyTable, used: set[str]) -> tuple[dict[str, list[object]], tuple[str, ...]]:
    """Return the fields that are kept beside the study, all but reports, and what was odd."""
    left = {name: column for name, column in table.columns.items() if name not in used}
    unused = [name for name, column in left.items() if is_report_field(name, column)]
    kept = {name: column for name, column in left.items() if name not in unused}
    note = f"{table.name}: not used: {listed(unused)}; used: {listed(sorted(used))}"
    return kept, (*table.notes, note) if unused else table.notes


def _picked(columns: Columns, rows: Sequence[int]) -> dict[str, list[object]]:
    return {name: [column[row] for row in rows] for name, column in columns.items()}
