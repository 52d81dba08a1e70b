"""Candidates and references as one set of studies: found, joined by study id, and checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from judge.studies.load import KEYS, STDIN, TEXT, Table, load, load_object, values_of
from judge.studies.names import (
    KNOWN_NAMES,
    ROW,
    Columns,
    NamedFields,
    find_classes,
    listed,
    merge,
    model_of,
    renamed,
    with_patient,
    without_class,
)
from judge.studies.run_folder import is_run, read_run
from judge.studies.sections import SECTIONS, Section, known_section
from judge.studies.study_set import (
    NO_CANDIDATE,
    NO_REFERENCE,
    ONLY_IN_PREDS,
    ONLY_IN_REFS,
    Omitted,
    StudySet,
    check_omitted,
    first_ids,
)
from judge.studies.texts import (
    Cut,
    Reports,
    cut_candidates,
    is_report_field,
    read_reports,
    report_fields,
    says_nothing,
    usual_section,
)
from judge.types import JudgeError


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

    Args:
        preds, refs: Paths, or `-` for standard input. Without `refs`, `preds` holds both sides,
            or is the folder of a run, whose reports are judged again.
        fields: The fields that have unusual names, and how the files are read.
        section: `findings`, `impression` or `report`; by default findings where most references
            have them, else the whole report.
        allow_missing: Leave out, and count, studies that are on one side only or lack a text.
        model: The model that the candidates are of; by default the field `model` where that is
            the same for all studies, else what the file of `preds` is named after.
        reserved: A field of such a name is kept as `field_<name>`.

    Raises `JudgeError` for what is wrong with the input.
    """
    known_section(section)  # before the files, which may be large
    if refs is None and is_run(preds):
        return read_run(
            preds, fields, section, allow_missing=allow_missing, model=model, reserved=reserved
        )
    if preds == refs == STDIN:
        raise JudgeError("only one of PREDS and REFS can be standard input (-)")
    if refs is None:
        table = other = load(preds, "both", fields)
    else:
        table, other = load(preds, "preds", fields), load(refs, "refs", fields)
    every: Mapping[str, tuple[tuple[str, str], ...]] = {}
    notes: tuple[str, ...] = ()
    if fields.several:
        from judge.studies.references import one_each

        table, other, section, every, notes = one_each(table, other, fields, section)
    studies = pair(
        table,
        other,
        fields=fields,
        section=section,
        allow_missing=allow_missing,
        reserved=reserved,
    )
    return replace(
        studies,
        model=model or studies.model or _named_after(preds),
        notes=(*studies.notes, *notes),
        every_reference=tuple(every[one] for one in studies.study_ids) if every else (),
    )


def from_given(
    references: object,
    candidates: object = None,
    *,
    study_ids: object = None,
    study_classes: object = None,
    fields: Mapping[str, object] | None = None,
    section: str | None = None,
    allow_missing: bool = False,
    reserved: Collection[str] = (),
) -> StudySet:
    """Make a study set of reports as a caller in Python has them.

    DataFrames, `datasets` and dictionaries of records are read as files are: two joined by id, or
    one that holds both sides. Dictionaries of texts and Series are joined by their keys and index;
    lists go by their order. Their texts are judged whole where no `section` is named.
    `study_classes` and `fields` are beside texts, in the order of the references, or by id as
    they are. Raises `JudgeError` for what cannot be joined, and as `read_pair` does.
    """
    further = dict(fields or {})
    if study_classes is not None:
        further["study_class"] = study_classes
    if candidates is None:
        preds = refs = load_object("the table", references)
    else:
        sides: dict[str, Any] = {"references": references, "candidates": candidates}
        series = [side for side in sides.values() if _is_series(side)]
        lists = [side for side in sides.values() if _is_list(side)]
        ids = None
        if study_ids is not None:
            if len(lists) + len(series) < len(sides):
                raise JudgeError("the reports have ids of their own; leave study_ids out")
            ids = values_of("study_ids", study_ids)
        elif series and lists:
            ids = list(series[0].index)
        if ids is not None:  # then all go by their order
            sides = {name: list(one) if _is_series(one) else one for name, one in sides.items()}
        refs, preds = (load_object(name, side, ids=ids) for name, side in sides.items())
    are_texts = refs.fields == preds.fields == [TEXT]
    if not are_texts and (further or study_ids is not None):
        raise JudgeError(
            "a table holds everything: pass its study_ids, study_classes and fields in it"
        )
    return pair(
        preds,
        refs,
        section=section or ("report" if are_texts else None),
        allow_missing=allow_missing,
        reserved=reserved,
        beside={name: _along(name, values, preds, refs) for name, values in further.items()},
    )


def pair(
    preds: Table,
    refs: Table,
    *,
    fields: NamedFields = KNOWN_NAMES,
    section: str | None = None,
    allow_missing: bool = False,
    reserved: Collection[str] = (),
    beside: Columns | None = None,
) -> StudySet:
    """Join two tables, which may be one, as `read_pair` does those of files.

    `beside` are further fields of the references, one value a row.
    """
    candidate, reference = report_fields(preds, refs, fields)
    reports, written = read_reports(refs, reference), read_reports(preds, candidate)
    chosen = known_section(section) or usual_section(reports)
    references, cut = reports[chosen], cut_candidates(written, chosen)
    candidates = [text for text, _ in cut]
    kept, omitted = _join(preds, refs, references, candidates)
    if not kept or not allow_missing:
        names = refs.name if preds is refs else f"{preds.name} and {refs.name}"
        is_blank = NO_REFERENCE in omitted or NO_CANDIDATE in omitted
        ways = _sections(reports, written, chosen) if is_blank else ()
        check_omitted(omitted, f"{names} ({chosen})", ways)
    pred_rows, ref_rows = [pred for pred, _ in kept], [ref for _, ref in kept]
    used = {*reference.names, *(candidate.names if preds is refs else ())}
    of_refs = {**_columns(refs, used, ref_rows), **_picked(beside or {}, ref_rows)}
    of_preds = {} if preds is refs else _columns(preds, {*candidate.names}, pred_rows)
    merged = merge(of_refs, of_preds)
    called, patient = with_patient(merged, fields.patient)
    classes, class_field = find_classes(called, len(kept), fields.study_class)
    tidy = without_class(called, class_field)
    # What each field is called at last, and in its file.
    final = dict(zip(tidy, renamed(tidy, reserved), strict=True))
    original = dict(zip(called, merged, strict=True))
    names_of = [(original[name], new) for name, new in final.items()]
    study_ids = tuple(refs.frame.index[ref_rows])
    tables = (preds,) if preds is refs else (preds, refs)
    notes = _numbered(preds, refs)
    for how in Cut:
        ids = [one for one, row in zip(study_ids, pred_rows, strict=True) if cut[row][1] is how]
        notes += [f"{how.value}: {len(ids)} ({first_ids(ids)})"] if ids else []
    notes += [f"the field {old} is kept as {new}" for old, new in names_of if old != new]
    models = {**(of_refs if preds is refs or refs.file is None else {}), **of_preds}
    read_from = {
        "id": refs.id_field or ROW,
        "reference": ", ".join(reference.names),
        "candidate": ", ".join(candidate.names),
        **({"patient": patient} if patient else {}),
    }
    return StudySet(
        study_ids=study_ids,
        references=tuple(references[row] or "" for row in ref_rows),
        candidates=tuple(candidates[row] or "" for row in pred_rows),
        study_classes=classes,
        class_inferred=(False,) * len(kept),
        full_references=tuple(reports["report"][row] or "" for row in ref_rows),
        section=chosen,
        fields={new: tidy[name] for name, new in final.items()},
        of_candidates=frozenset(new for old, new in names_of if old not in of_refs),
        class_field=class_field,
        model=_only(models.get("model", ())),
        read_from=read_from,
        inputs=tuple(table.file for table in tables if table.file is not None),
        notes=tuple(notes),
    ).without(omitted)


def _sections(reports: Reports, written: Reports, section: Section) -> list[Section]:
    """Return the sections that more studies have than `section`, on both sides."""

    def least(name: Section) -> int:
        return min(sum(map(bool, side[name])) for side in (reports, written))

    return [name for name in reversed(SECTIONS) if least(name) > least(section)]


def _join(
    preds: Table,
    refs: Table,
    references: Sequence[str | None],
    candidates: Sequence[str | None],
) -> tuple[list[tuple[int, int]], Omitted]:
    """Return the rows that belong together, in the references' order, and the ids left out.

    Raises `JudgeError` where an id is there twice, and where none is in common.
    """
    _check_ids(preds, refs)
    of_preds, of_refs = preds.frame.index, refs.frame.index
    omitted: dict[str, list[str]] = {ONLY_IN_PREDS: list(of_preds.difference(of_refs, sort=False))}
    kept = []
    for ref, pred in enumerate(map(int, of_preds.get_indexer(of_refs))):
        if pred < 0:
            why = ONLY_IN_REFS
        elif says_nothing(references[ref] or ""):
            why = NO_REFERENCE
        elif candidates[pred] is None:
            why = NO_CANDIDATE
        else:
            kept.append((pred, ref))
            continue
        omitted.setdefault(why, []).append(refs.frame.index[ref])
    if len(omitted.get(ONLY_IN_REFS, ())) == len(refs):
        ids = [f"{side.name} has {len(side)} ids ({first_ids(side.ids)})" for side in (preds, refs)]
        raise JudgeError(f"no study in common: {', '.join(ids)}")
    return kept, {why: tuple(ids) for why, ids in omitted.items() if ids}


def _check_ids(preds: Table, refs: Table) -> None:
    for table in (preds, refs):
        ids = table.frame.index
        if twice := list(dict.fromkeys(ids[ids.duplicated()])):
            several = "; --references takes several references of a study" if table is refs else ""
            raise JudgeError(
                f"{table.name} has ids more than once: {len(twice)} ({first_ids(twice)}); keep one "
                f"record of each{several}"
            )
    numbered = [table for table in (preds, refs) if table.id_field is None]
    if len(numbered) == 1 or (numbered and len(preds) != len(refs)):
        n, sides = len(numbered), ", ".join(f"{side.name} {len(side):,}" for side in (preds, refs))
        raise JudgeError(
            f"{numbered[0].name} has no ids to join by (its fields are: "
            f"{listed(numbered[0].fields)}; records: {sides}); name the field that holds them "
            f"(--id-field), or {f'go by the order with --id-field {ROW}' if n == 1 else 'mend it'}"
        )


def _columns(table: Table, used: Collection[str], rows: Sequence[int]) -> dict[str, list[Any]]:
    """Return the fields beside the reports, for some rows."""
    columns = {name: table.column(name) for name in table.fields if name not in used}
    return _picked({k: v for k, v in columns.items() if not is_report_field(k, v)}, rows)


def _picked(columns: Columns, rows: Sequence[int]) -> dict[str, list[Any]]:
    return {name: [column[row] for row in rows] for name, column in columns.items()}


def _numbered(preds: Table, refs: Table) -> list[str]:
    if refs.file is None or refs.id_field is not None:
        return []
    names = " and ".join(dict.fromkeys((preds.name, refs.name)))
    return [f"no ids: the {len(refs):,} records of {names} are numbered, and go by their order"]


def _only(values: Sequence[object]) -> str | None:
    first = values[0] if values else None
    is_name = isinstance(first, str | int | float) and str(first).strip()
    return str(first) if is_name and all(value == first for value in values) else None


def _named_after(source: str) -> str | None:
    path = Path(source)
    if path.is_dir():
        path = path.resolve()  # a folder may be given as `.`
        is_split = (path.parent / "dataset_dict.json").is_file()  # called `test`, say
        return model_of(str(path.parent if is_split else path))
    return model_of(str(path.absolute()) if path.is_file() else source)


def _along(name: str, values: Any, preds: Table, refs: Table) -> list[Any]:  # noqa: ANN401
    if not _is_list(values) and refs.id_field == KEYS:
        table = load_object(f"the field {name!r}", values)
        known = dict(zip(table.ids, table.column(TEXT), strict=True))
        common = set(preds.ids)
        if lacking := [one for one in refs.ids if one in common and one not in known]:
            raise JudgeError(
                f"the field {name!r} lacks {len(lacking)} studies: {first_ids(lacking)}"
            )
        return [known.get(one) for one in refs.ids]
    column = values_of(f"the field {name!r}", values)
    if len(column) != len(refs):
        raise JudgeError(
            f"the field {name!r} has {len(column)} values but there are {len(refs)} references"
        )
    return column


def _is_list(given: object) -> bool:
    is_table = hasattr(given, "columns") or hasattr(given, "features")
    return not (is_table or isinstance(given, Mapping) or _is_series(given))


def _is_series(given: object) -> bool:
    return hasattr(given, "to_frame")
