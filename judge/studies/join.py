"""Candidates and references as one set of studies: found, joined by study id, and checked."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from os.path import isfile
from pathlib import Path
from typing import Any

import pandas as pd

from judge import jsonio
from judge.studies.columns import (
    FIELD_NAMES,
    KNOWN_NAMES,
    TEXT,
    NamedFields,
    columns_for,
    find_column,
    find_columns,
    join_names,
    model_of,
    one_type,
    rename_reserved,
    take_class,
)
from judge.studies.load import KEYS, STDIN, load, load_object, to_id, values_of
from judge.studies.sections import (
    is_report_field,
    known_section,
    read_reports,
    report_fields,
    says_nothing,
    usual_section,
)
from judge.studies.study_set import InputFile, StudySet, first_ids
from judge.types import JudgeError

ONLY_IN_PREDS = "only in PREDS"
_MANIFEST, _ANNOTATIONS = "manifest.json", "annotations.jsonl"
OLD_FORMAT = 2
"""The form of run folders before this one: their reports and answers are still read."""


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
    """Read candidates and references from files, or `-`, and join them by study id.

    Without `refs`, `preds` holds both sides, or is the folder of a run, whose reports are judged
    again. `allow_missing` leaves out studies that are on one side only or lack a text; a field
    named as one of `reserved` is kept as `field_<name>`. Raises `JudgeError` for a wrong input.
    """
    known_section(section)  # before the files, which may be large
    how: dict[str, Any] = {"fields": fields, "section": section, "reserved": reserved}
    how["allow_missing"] = allow_missing
    # Not Path.is_file: where it cannot be looked at, reading it says why.
    is_run = all(isfile(f"{preds}/{name}") for name in (_MANIFEST, _ANNOTATIONS))  # noqa: PTH113
    if refs is None and is_run:
        studies = _read_run(preds, **how)
        return replace(studies, model=model or studies.model)
    if preds == refs == STDIN:
        raise JudgeError("only one of PREDS and REFS can be standard input (-)")
    table = other = load(preds, "both" if refs is None else "preds", fields)
    if refs is not None:
        other = load(refs, "refs", fields)
    studies = (_join_several if fields.several else join_tables)(table, other, **how)
    return replace(studies, model=model or studies.model or model_of(preds))


def _read_run(
    source: str,
    fields: NamedFields,
    section: str | None,
    **how: Any,  # noqa: ANN401
) -> StudySet:
    """Return the studies of a run as they were judged; a report that a reader lacked is missing."""
    if fields != KNOWN_NAMES:
        raise JudgeError(f"{source} is a run: leave --references and --column out")
    try:
        manifest = jsonio.read((Path(source) / _MANIFEST).read_bytes())
        data = (Path(source) / _ANNOTATIONS).read_bytes()
        lines = enumerate(data.splitlines(keepends=True), 1)
        if manifest["format"] == OLD_FORMAT:  # its lines have no checksum
            records = [jsonio.read(line) for _, line in lines]
        else:
            records = [jsonio.from_line(line, number) for number, line in lines]
        judged, names = manifest["section"], manifest["fields"]
    except OSError as error:
        raise JudgeError(f"cannot read the run {source}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise JudgeError(f"{source} is a damaged run ({error}); make it again") from error
    if manifest.get("combined", {}).get("of") == "reference":
        raise JudgeError(f"{source} is made of several references a study; give PREDS and REFS")
    if section not in (None, judged):
        raise JudgeError(f"{source} is a run of the section {judged}, and has no other")
    by_id = {record["study_id"]: record for record in records}
    references = {name: [record["fields"].get(name) for record in records] for name in names}
    references[judged] = [record["reference"] for record in records]
    blank = None if "reading" in manifest else ""
    candidates = {judged: [record["candidate"] or blank for record in records]}
    index = pd.Index(by_id, name="study_id")
    preds, refs = (pd.DataFrame(side, index, dtype=object) for side in (candidates, references))
    file = InputFile(source, "both", hashlib.sha256(data).hexdigest(), len(records))
    preds.attrs = refs.attrs = {"name": f"the run {source}", "file": file}
    studies = join_tables(preds, refs, section=judged, **how)
    records_kept = [by_id[study_id] for study_id in studies.study_ids]
    classes = tuple(record["study_class"] for record in records_kept)
    class_field = "study_class" if any(classes) else None
    if manifest.get("class_source", "none") != "none" and all(classes):
        class_field = manifest["class_source"]
    files = [file["path"] for file in manifest["inputs"] if file["role"] in ("preds", "both")]
    of_candidates = dict.fromkeys(manifest.get("of_candidates", ()), ())
    return replace(
        studies,
        study_classes=classes,
        class_inferred=tuple(record["class_inferred"] for record in records_kept),
        class_field=class_field,
        of_candidates=frozenset(rename_reserved(of_candidates, how["reserved"])),
        model=manifest.get("model") or (model_of(files[0]) if files else None),
    )


def _join_several(
    preds: pd.DataFrame,
    refs: pd.DataFrame,
    *,
    fields: NamedFields,
    section: str | None,
    **how: Any,  # noqa: ANN401
) -> StudySet:
    """Join tables with several references a study: lists in a cell, or several records of an id."""
    is_one = preds is refs
    refs = _explode(refs, fields)
    source = refs.attrs["name"]
    if refs.index.is_unique:
        raise JudgeError(f"each study of {source} has one reference: leave --references out")
    names = [str(place + 1) for place in refs.groupby(level=0).cumcount()]
    if column := next(iter(find_columns(refs.columns, "reference_id")), None):
        names = ["" if name is None else str(name).strip() for name in refs[column]]
        (study_id, name), n = Counter(zip(refs.index, names, strict=True)).most_common(1)[0]
        if n > 1 or "" in names:
            which = f"{name!r} twice in study {study_id!r}" if n > 1 else "nothing in some record"
            raise JudgeError(f"{source}: {column} tells references apart; it has {which}")
        refs = refs.drop(columns=column)
    _, reference = report_fields(refs if is_one else preds, refs, fields)
    reports = read_reports(refs, reference)
    chosen = known_section(section) or usual_section(reports)
    texts = list(reports[chosen])
    every: dict[str, list[tuple[str, str]]] = {study_id: [] for study_id in refs.index}
    for study_id, name, text in zip(refs.index, names, texts, strict=True):
        if text:
            every[study_id].append((name, text))
    # A study's first record with a text, or its first, in the order of the studies.
    first = refs.iloc[sorted(range(len(refs)), key=lambda row: not texts[row])]
    first = first[~first.index.duplicated()].loc[list(every)]
    studies = join_tables(first if is_one else preds, first, fields=fields, section=chosen, **how)
    notes = studies.notes
    if empty := [study_id for study_id, text in zip(refs.index, texts, strict=True) if not text]:
        notes += (f"empty references, left out: {len(empty):,} ({first_ids(empty)})",)
    every_reference = tuple(tuple(every[study_id]) for study_id in studies.study_ids)
    return replace(studies, notes=notes, every_reference=every_reference)


def _explode(refs: pd.DataFrame, fields: NamedFields) -> pd.DataFrame:
    roles = ("findings", "impression", "report", "reference")
    wanted = {name for role in roles for name in columns_for(refs.columns, role)}
    wanted |= {*find_columns(refs.columns, fields.reference or "")}
    lists = [name for name in refs.columns if name in wanted and list in map(type, refs[name])]
    try:
        exploded = refs.explode(lists) if lists else refs
    except ValueError as error:
        source = refs.attrs["name"]
        raise JudgeError(f"{source}: lists of unlike lengths in {', '.join(lists)}") from error
    return exploded.astype(object).where(exploded.notna(), None)


def from_python(
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

    Tables and dictionaries of records are read as files are. Dictionaries of texts and Series are
    joined by their keys; lists go by their order, and so does all with `study_ids`. Texts are
    judged whole where no `section` is named. Raises `JudgeError` as `read_pair`.
    """
    further = {**(fields or {})}
    if study_classes is not None:
        further["study_class"] = study_classes
    if candidates is None:
        preds = refs = load_object("the table", references)
    else:
        sides = {"references": references, "candidates": candidates}
        for name, side in sides.items() if study_ids is not None else ():
            ids, values = values_of("study_ids", study_ids), values_of(name, side)
            if len(values) != len(ids):
                raise JudgeError(f"{name} has {len(values)} values and there are {len(ids)} ids")
            sides[name] = pd.Series(values, ids, dtype=object)
        refs, preds = (load_object(name, side) for name, side in sides.items())
    are_texts = list(refs) == list(preds) == [TEXT]
    by_id = study_ids is None and refs.index.name == KEYS
    if not are_texts and (further or study_ids is not None):
        raise JudgeError("a table holds everything: put study_ids, study_classes and fields in it")
    beside = {name: values_of(f"the field {name!r}", field) for name, field in further.items()}
    for name, field in further.items():
        n, index = len(beside[name]), getattr(field, "index", None)
        if by_id and isinstance(index, pd.Index) and [*map(to_id, index)] != [*refs.index]:
            raise JudgeError(f"the field {name!r} has another index than the references")
        if n != len(refs):
            raise JudgeError(f"{name!r} has {n} values and there are {len(refs)} references")
    return join_tables(
        preds,
        refs,
        section=section or ("report" if are_texts else None),
        allow_missing=allow_missing,
        reserved=reserved,
        beside=beside,
    )


def join_tables(
    preds: pd.DataFrame,
    refs: pd.DataFrame,
    *,
    fields: NamedFields = KNOWN_NAMES,
    section: str | None = None,
    allow_missing: bool = False,
    reserved: Collection[str] = (),
    beside: Mapping[str, list[Any]] | None = None,
) -> StudySet:
    """Join two tables, which may be one; `beside` are further fields, one value a reference."""
    is_one = preds is refs
    candidate, reference = report_fields(preds, refs, fields)
    references = read_reports(refs, reference)
    candidates = read_reports(preds, candidate, are_candidates=True)
    chosen = known_section(section) or usual_section(references)
    notes = _check_ids(preds, refs)
    study_ids, omitted = _join(references[chosen], candidates[chosen])
    if omitted and not (study_ids and allow_missing):
        names = " and ".join(dict.fromkeys((preds.attrs["name"], refs.attrs["name"])))
        whys = "; ".join(f"{why}: {len(ids):,} ({first_ids(ids)})" for why, ids in omitted.items())
        raise JudgeError(
            f"the studies of {names} ({chosen}) do not match: {whys}; choose another --section, or "
            "leave them out with --allow-missing (allow_missing=True)"
        )
    references, candidates = references.loc[study_ids], candidates.loc[study_ids]
    rows = refs.index.get_indexer(pd.Index(study_ids))
    of_refs = _columns(refs, {*reference.values(), *(candidate.values() if is_one else ())})
    of_refs |= beside or {}
    of_refs = {name: [values[row] for row in rows] for name, values in of_refs.items()}
    of_preds = {} if is_one else _columns(preds.loc[study_ids], candidate.values())
    merged = {name: one_type(values) for name, values in (of_refs | of_preds | of_refs).items()}
    classes, class_field, tidy = take_class(merged, len(study_ids), fields.study_class)
    named_patient = fields.patient and find_column(tidy, fields.patient, "--column patient")
    final = rename_reserved(tidy, reserved, named_patient)
    patient = named_patient or next((name for name in FIELD_NAMES["patient"] if name in tidy), None)
    names_of = list(zip(tidy, final, strict=True))
    is_cut = (candidates[chosen] == "") & (candidates["report"] != "")
    if cut := list(candidates.index[is_cut]):
        why = "candidates with headings but none for the section, judged as empty"
        notes.append(f"{why}: {len(cut):,} ({first_ids(cut)})")
    notes += [f"the field {old} is kept as {new}" for old, new in names_of if old != new]
    # A field `model` of references in a file of their own is of something else, a scanner say.
    models = of_preds if refs.attrs["file"] and not is_one else {**of_refs, **of_preds}
    named = models.get("model", ())
    model_names = {str(one).strip() if isinstance(one, str | int | float) else "" for one in named}
    read_from = {
        "id": str(refs.index.name or "row"),
        "reference": ", ".join(reference.values()),
        "candidate": ", ".join(candidate.values()),
    }
    if patient:
        read_from["patient"] = patient
    return StudySet(
        study_ids=tuple(study_ids),
        references=tuple(references[chosen]),
        candidates=tuple(candidates[chosen]),
        study_classes=classes,
        class_inferred=(False,) * len(study_ids),
        full_references=tuple(references["report"]),
        section=chosen,
        fields=final,
        of_candidates=frozenset(new for old, new in names_of if old not in of_refs),
        class_field=class_field,
        model=(model_names.pop() or None) if len(model_names) == 1 else None,
        read_from=read_from,
        omitted={why: len(ids) for why, ids in omitted.items()},
        omitted_ids={why: tuple(ids[:5]) for why, ids in omitted.items()},
        inputs=tuple(filter(None, dict.fromkeys((preds.attrs["file"], refs.attrs["file"])))),
        notes=tuple(notes),
    )


def _check_ids(preds: pd.DataFrame, refs: pd.DataFrame) -> list[str]:
    tables = {frame.attrs["name"]: frame for frame in (preds, refs)}
    for name, frame in tables.items():
        if twice := list(dict.fromkeys(frame.index[frame.index.duplicated()])):
            several = "; --references takes several of a study" if frame is refs else ""
            ids = f"{len(twice)} ({first_ids(twice)})"
            raise JudgeError(f"{name} has ids more than once: {ids}{several}")
    numbered = [name for name, frame in tables.items() if frame.index.name is None]
    if numbered and (len(numbered) < len(tables) or len(preds) != len(refs)):
        name, there = numbered[0], join_names(tables[numbered[0]].columns)
        raise JudgeError(
            f"{name} has no ids to join by; name the field (--column id, study_ids in Python), one "
            f"of {there}; records: {len(preds):,} and {len(refs):,}"
        )
    if not numbered or refs.attrs["file"] is None:
        return []
    names = " and ".join(tables)
    return [f"no ids: the {len(refs):,} records of {names} are numbered, and go by their order"]


def _join(references: pd.Series, candidates: pd.Series) -> tuple[list[str], dict[str, list[str]]]:
    """Return the ids of the studies in the references' order, and those left out, by why."""
    reasons = {one: ONLY_IN_PREDS for one in candidates.index if one not in references.index}
    for study_id, reference in zip(references.index, references, strict=True):
        if study_id not in candidates.index:
            reasons[study_id] = "only in REFS"
        elif says_nothing(reference or ""):
            reasons[study_id] = "no reference section"
        elif candidates[study_id] is None:
            reasons[study_id] = "no candidate text"
    omitted: dict[str, list[str]] = {}
    for study_id, reason in reasons.items():
        omitted.setdefault(reason, []).append(study_id)
    return [study_id for study_id in references.index if study_id not in reasons], omitted


def _columns(frame: pd.DataFrame, used: Collection[str]) -> dict[str, list[Any]]:
    columns = {name: list(frame[name]) for name in frame.columns if name not in used}
    return {name: values for name, values in columns.items() if not is_report_field(name, values)}
