"""Reading the two sides of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judge.studies.classes import find_classes, without_class
from judge.studies.dataset import named_after
from judge.studies.fields import Columns, free_name, merge, renamed
from judge.studies.hints import no_field
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
from judge.studies.names import (
    FIELD_NAMES,
    KNOWN_NAMES,
    ROW,
    NamedFields,
    listed,
    named,
)
from judge.studies.reader import read_file
from judge.studies.references import one_each
from judge.studies.run_folder import is_run, read_run, runs_in
from judge.studies.sections import SECTIONS, Section, known_section
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
    cut_candidates,
    is_report_field,
    named_field,
    read_reports,
    reference_fields,
    says_nothing,
)
from judge.types import JudgeError


@dataclass(frozen=True, slots=True)
class Side:
    """The candidates or the references: a text a row of `table`, None where there is none.

    `whole` are the whole reports that the texts are from, `fields` what else is kept of each
    study, `cuts` how a text was cut to the section, `notes` what was odd, `read_from` the field
    of the texts, or the fields.
    """

    name: str
    table: StudyTable
    texts: Sequence[str | None]
    whole: Sequence[str | None] = ()
    fields: Columns = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    cuts: Sequence[Cut | None] = ()
    read_from: str = ""


def read_pair(
    preds: str,
    refs: str | None,
    *,
    fields: NamedFields = KNOWN_NAMES,
    section: str | None = None,
    allow_missing: bool = False,
    model: str | None = None,
    reserved: Collection[str] = (),
) -> StudySet:
    """Read candidates and references from files and join them by study id.

    `preds` and `refs` are paths, or `-` for standard input; without `refs`, `preds` holds
    both sides, or is the folder of a run, whose reports are judged again. `fields` names those
    that have unusual names; an object is keyed by its ids where its entries have no field for
    them. `section` is `findings`, `impression` or
    `report`; by default findings where any reference has them, else the whole report.
    `allow_missing` leaves out, and counts, studies that are on one side only or lack the
    section. `model` is the model that the candidates are of; by default the field `model`
    where that is the same for all studies, else what the file of `preds` is named after. A field
    whose name is in `reserved` is kept as `field_<name>`. Raises `JudgeError` for everything
    that is wrong with the input.
    """
    known_section(section)  # before the files, which may be large
    if refs is None and is_run(preds):
        return read_run(
            preds,
            fields=fields,
            section=section,
            allow_missing=allow_missing,
            model=model,
            reserved=reserved,
        )
    if refs is None and (runs := runs_in(preds)):
        raise JudgeError(f"{preds} holds runs, not reports; name one of them, such as {runs[0]}")
    if preds == refs == STDIN:
        raise JudgeError("only one of PREDS and REFS can be standard input (-)")
    roles = {"both": preds} if refs is None else {"preds": preds, "refs": refs}
    files = [read_file(source, role, fields) for role, source in roles.items()]
    tables, further = one_each((files[0][0], files[-1][0]), fields, section, _report_fields)
    studies = pair_tables(
        *tables,
        fields=fields,
        section=section,
        allow_missing=allow_missing,
        reserved=reserved,
        inputs=tuple(file for _, file in files),
    )
    return further.beside(replace(studies, model=model or studies.model or named_after(preds)))


def pair_tables(
    preds: StudyTable,
    refs: StudyTable,
    *,
    fields: NamedFields = KNOWN_NAMES,
    section: str | None = None,
    allow_missing: bool = False,
    reserved: Collection[str] = (),
    inputs: tuple[InputFile, ...] = (),
) -> StudySet:
    """Join two tables, which may be one, as `read_pair` does those of the files `inputs`.

    Raises `JudgeError` for everything that is wrong with them, in the words of a caller in
    Python where there are no files.
    """
    chosen = known_section(section)
    candidate, reference = _report_fields(preds, refs, fields, from_files=bool(inputs))
    reports = read_reports(refs, reference)
    chosen = chosen or ("findings" if any(report.findings for report in reports) else "report")
    references = [report.text(chosen) for report in reports]
    option = "--section" if inputs else "section=..."
    if not any(references):
        there = [other for other in SECTIONS if any(report.text(other) for report in reports)]
        if not there:
            raise JudgeError(f"every reference in {refs.name} is empty")
        raise JudgeError(
            f"no reference in {refs.name} has the section {chosen}; "
            f"they have: {', '.join(there)}; choose with {option}"
        )
    said = read_reports(preds, candidate)
    cut = cut_candidates(said, chosen)
    texts, cuts = [text for text, _ in cut], [how for _, how in cut]
    if all(text is None for text in texts):
        there = [other for other in SECTIONS if any(report.text(other) for report in said)]
        if there:
            raise JudgeError(
                f"no candidate in {preds.name} has the section {chosen}; "
                f"they have: {', '.join(there)}; choose with {option}"
            )
    whole = [report.text("report") for report in reports]
    used = {*reference.names}
    kept, notes = _beside(preds, {*candidate.names})
    if preds is refs:
        used, kept, notes = {*used, *candidate.names}, {}, ()
    is_same = len(inputs) == 2 and inputs[0].sha256 == inputs[1].sha256
    if is_same and candidate.names == reference.names:
        notes += ("PREDS and REFS hold the same: each report is judged against itself",)
    return paired(
        Side(preds.name, preds, texts, (), kept, notes, cuts, ", ".join(candidate.names)),
        Side(
            refs.name,
            refs,
            references,
            whole,
            *_beside(refs, used),
            read_from=", ".join(reference.names),
        ),
        chosen,
        named_fields=fields,
        allow_missing=allow_missing,
        reserved=reserved,
        inputs=inputs,
    )


def paired(
    preds: Side,
    refs: Side,
    section: Section,
    *,
    named_fields: NamedFields = KNOWN_NAMES,
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
    patient_notes: list[str] = []
    fields_there = merged
    if named_fields.patient is not None:
        merged, patient_notes = _with_patient(merged, named_fields.patient)
        patient: str | None = named(fields_there, named_fields.patient)[0]
    else:
        patient = next((one for one in FIELD_NAMES["patient"] if one in merged), None)
    classes, class_name = find_classes(merged, len(rows), named_fields.study_class)
    fields = without_class(merged, class_name)
    kept = renamed(fields, reserved)
    study_ids = tuple(refs.table.ids[row] for row in ref_rows)
    # References may name a model too: that of a scanner.
    own, own_rows = (refs.fields, ref_rows) if is_one or not inputs else (preds.fields, pred_rows)
    notes = [*_numbered_notes(preds.table, refs.table), *preds.notes, *refs.notes]
    for how in Cut if preds.cuts else ():
        ids = [one for one, row in zip(study_ids, pred_rows, strict=True) if preds.cuts[row] is how]
        notes += [f"{how.value}: {len(ids)} ({first_ids(ids)})"] if ids else []
    pairs = list(zip(fields, kept, strict=True))
    notes += patient_notes
    notes += [f"the field {old} is kept as {new}" for old, new in pairs if old != new]
    called = dict(zip(merged, fields_there, strict=True))
    return StudySet(
        study_ids=study_ids,
        references=tuple(refs.texts[row] or "" for row in ref_rows),
        candidates=tuple(preds.texts[row] or "" for row in pred_rows),
        study_classes=classes,
        class_inferred=(False,) * len(rows),
        full_references=tuple(refs.whole[row] or "" for row in ref_rows),
        section=section,
        fields=kept,
        of_candidates=frozenset(new for old, new in pairs if called[old] not in refs.fields),
        class_field=class_name,
        model=_only(_picked(own, own_rows).get("model", ())),
        read_from={
            "id": _ids_from(refs.table),
            "reference": refs.read_from,
            "candidate": preds.read_from,
            **({"patient": patient} if patient else {}),
        },
        omitted={reason: len(problem.ids) for reason, problem in omitted.items()},
        omitted_ids={reason: problem.ids[:FIRST] for reason, problem in omitted.items()},
        inputs=inputs,
        notes=tuple(notes),
    )


def _report_fields(
    preds: StudyTable, refs: StudyTable, fields: NamedFields, *, from_files: bool
) -> tuple[ReportFields, ReportFields]:
    is_one = preds is refs
    candidate = reference = ReportFields()
    if fields.candidate is not None:
        candidate = named_field(preds, fields.candidate, "--candidate-field")
    if fields.reference is not None:
        reference = named_field(refs, fields.reference, "--reference-field")
    if is_one and candidate and candidate.names == reference.names:
        raise JudgeError(
            f"--candidate-field and --reference-field both name {candidate.first}; "
            "a report judged against itself has no error"
        )
    candidate = candidate or candidate_field(preds, reference.first if is_one else None)
    if candidate or not is_one:  # without one, two that could be the reference are no matter yet
        reference = reference or reference_fields(refs, candidate.first if is_one else None)
    if not is_one:  # a section can be a candidate's too, where it is sure to be no reference's
        candidate = candidate or candidate_report_fields(preds)
    if candidate and reference:
        return candidate, reference
    table, side = (refs, "reference") if candidate else (preds, "candidate")
    groups = REFERENCE_ROLES if candidate else CANDIDATE_ROLES
    roles = [role for group in groups for role in group]
    roles += ["findings", "impression"] if candidate or not is_one else []
    taken = candidate.names if is_one else ()
    error = no_field(table, side, roles, taken=taken, is_one=is_one, from_files=from_files)
    swapped = not is_one and (candidate_field(refs) if candidate else reference_fields(preds))
    raise JudgeError(f"{error}. Are PREDS and REFS swapped?") if swapped else error


def _with_patient(
    fields: Mapping[str, tuple[object, ...]], name: str
) -> tuple[dict[str, tuple[object, ...]], list[str]]:
    found = named(fields, name)
    if len(found) != 1:
        wrong = f"several fields {name!r}" if found else f"no field {name!r}"
        raise JudgeError(
            f"{wrong}, for --patient-field; the fields beside the reports are: "
            f"{listed(fields, 30) or 'none'}"
        )
    known = FIELD_NAMES["patient"]
    if next((one for one in known if one in fields), None) == found[0]:
        return dict(fields), []  # as it is, it is the one that is taken
    kept = {}
    for key, column in fields.items():
        other = free_name(f"field_{key}", fields) if key == known[0] else key
        kept[known[0] if key == found[0] else other] = column
    return kept, [f"the field {found[0]} is kept as {known[0]}"]


def _only(values: Sequence[object]) -> str | None:
    first = values[0] if values else None
    is_name = isinstance(first, str | int | float) and str(first).strip()
    return str(first) if is_name and all(value == first for value in values) else None


def _ids_from(table: StudyTable) -> str:
    return ROW if table.is_numbered else table.id_field or "the keys"


def _numbered_notes(preds: StudyTable, refs: StudyTable) -> list[str]:
    if not refs.is_numbered:
        return []
    if preds is refs:
        return [f"{refs.name} has no field for the id: its {len(refs):,} records are numbered"]
    joined = f"the {len(refs):,} of {preds.name} belong to the {len(refs):,} of {refs.name}"
    return [f"no ids: record by record, {joined}"]


def _missing(
    preds: Side, refs: Side, rows: Sequence[tuple[int, int]], section: Section
) -> tuple[Problem, Problem]:
    ids = refs.table.ids
    nothing = {ref for _, ref in rows if says_nothing(refs.texts[ref] or "")}
    no_reference = tuple(ids[ref] for _, ref in rows if ref in nothing)
    no_candidate = tuple(
        ids[ref] for pred, ref in rows if ref not in nothing and preds.texts[pred] is None
    )
    return (
        Problem(f"no reference {section} in {refs.name}", no_reference, NO_REFERENCE),
        Problem(f"no candidate text in {preds.name}", no_candidate, NO_CANDIDATE),
    )


def _beside(table: StudyTable, used: set[str]) -> tuple[dict[str, list[object]], tuple[str, ...]]:
    left = {name: column for name, column in table.columns.items() if name not in used}
    unused = [name for name, column in left.items() if is_report_field(name, column)]
    kept = {name: column for name, column in left.items() if name not in unused}
    note = f"{table.name}: not used: {listed(unused)}; used: {listed(sorted(used))}"
    return kept, (*table.notes, note) if unused else table.notes


def _picked(columns: Columns, rows: Sequence[int]) -> dict[str, list[object]]:
    return {name: [column[row] for row in rows] for name, column in columns.items()}
