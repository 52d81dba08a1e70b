"""Candidates and references as one set of studies: found, joined by study id, and checked."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from os.path import isfile
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from judge.files import open_regular
from judge.manifest import (
    ANNOTATIONS,
    MANIFEST,
    ReportsRecord,
    RunFileError,
    read_line,
    read_old_line,
    read_source_manifest,
)
from judge.signature import studies_digest
from judge.studies.columns import (
    FIELD_NAMES,
    KNOWN_NAMES,
    TEXT,
    NamedFields,
    columns_for,
    find_column,
    find_columns,
    model_of,
    one_type,
    rename_reserved,
    stem_of,
    take_class,
)
from judge.studies.json_layouts import KEYS
from judge.studies.load import (
    STDIN,
    Table,
    by_id,
    load,
    load_object,
    read_table,
    table_of,
    to_id,
    values_of,
)
from judge.studies.pairing import POSITION, Pairing, choose_ids
from judge.studies.sections import (
    Reports,
    Section,
    is_report_field,
    known_section,
    read_reports,
    report_fields,
    usual_section,
)
from judge.studies.study_set import InputFile, StudySet, first_ids
from judge.text import counted
from judge.types import JudgeError, Study

ONLY_IN_PREDS = "only in PREDS"
ONLY_IN_REFS = "only in REFS"
NO_REFERENCE = "no reference section"
NO_CANDIDATE = "no candidate text"
_REFERENCE_WORDS = (
    "ref",
    "refs",
    "reference",
    "references",
    "gt",
    "groundtruth",
    "target",
    "targets",
)
_CANDIDATE_WORDS = (
    "pred",
    "preds",
    "prediction",
    "predictions",
    "hyp",
    "hyps",
    "generated",
)


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
    is_run = all(isfile(f"{preds}/{name}") for name in (MANIFEST, ANNOTATIONS))  # noqa: PTH113
    if refs is None and is_run:
        studies = _read_run(preds, **how)
        return replace(studies, model=model or studies.model)
    if preds == refs == STDIN:
        raise JudgeError("only one of PREDS and REFS can be standard input (-)")
    if refs is None:
        table = other = load(preds, "both", fields)
    else:
        table, other = _load_two(preds, refs, fields)
    studies = (_join_several if fields.several else join_tables)(table, other, **how)
    notes = studies.notes + _swapped_names(preds, refs)
    return replace(
        studies, model=model or studies.model or model_of(preds), notes=notes
    )


def _load_two(
    preds: str, refs: str, fields: NamedFields
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read two files, with the ids by which they are joined."""
    tables = read_table(preds, "preds", fields), read_table(refs, "refs", fields)
    return _with_ids(*tables, choose_ids(*tables, fields.id, several=fields.several))


def _with_ids(
    preds: Table, refs: Table, pairing: Pairing
) -> tuple[pd.DataFrame, pd.DataFrame]:
    frames = by_id(preds, pairing.preds), by_id(refs, pairing.refs)
    for frame in frames:
        frame.attrs["by_position"] = pairing.by_position
    return frames


def _swapped_names(preds: str, refs: str | None) -> tuple[str, ...]:
    """Return a note where the names of the files say that they are in the wrong order."""
    names = [
        re.sub(r"[^a-z]+", " ", stem_of(path or "").lower()).split()
        for path in (preds, refs)
    ]
    is_reference, is_candidate = (
        {*words} for words in (_REFERENCE_WORDS, _CANDIDATE_WORDS)
    )
    if is_reference.isdisjoint(names[0]) or is_candidate.isdisjoint(names[1]):
        return ()
    if is_candidate & {*names[0]} or is_reference & {*names[1]}:
        return ()
    return (
        f"PREDS is {preds} and REFS is {refs}: are they swapped? PREDS comes first",
    )


def _read_run(
    source: str,
    fields: NamedFields,
    section: str | None,
    **how: Any,  # noqa: ANN401
) -> StudySet:
    """Return the studies of a run as they were judged; a report that a reader lacked is missing."""
    if replace(fields, encoding=None) != KNOWN_NAMES:
        raise JudgeError(f"{source} is a run: leave --references and --column out")
    manifest, path = read_source_manifest(Path(source)), Path(source) / ANNOTATIONS
    try:
        with open_regular(path) as opened:
            data = opened.read()
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    read = read_line if manifest.has_checksums else read_old_line
    lines = data.splitlines(keepends=True)
    records = [read(path, line, number) for number, line in enumerate(lines, 1)]
    judged, names = manifest.section, manifest.fields
    combined = manifest.combined
    known = manifest.digest_here
    if known is not None and studies_digest(map(_study_of, records)) != known:
        raise RunFileError(
            path, "its studies are not those that the run's signature is of"
        )
    if combined is not None and combined.of == "reference":
        raise JudgeError(
            f"{source} is made of several references a study; give PREDS and REFS"
        )
    if section not in (None, judged):
        raise JudgeError(f"{source} is a run of the section {judged}, and has no other")
    by_id = {record["study_id"]: record for record in records}
    if len(by_id) < len(records):
        raise RunFileError(path, "a study is in it twice")
    references = {
        name: [record["fields"].get(name) for record in records] for name in names
    }
    references[judged] = [record["reference"] for record in records]
    # A reader's files may lack candidates, which the reader saw elsewhere.
    is_reader = manifest.reading is not None
    candidates = {judged: [record["candidate"] or None for record in records]}
    index = pd.Index(by_id, name="study_id")
    preds, refs = (
        pd.DataFrame(side, index, dtype=object) for side in (candidates, references)
    )
    file = InputFile(source, "both", hashlib.sha256(data).hexdigest(), len(records))
    preds.attrs = refs.attrs = {"name": f"the run {source}", "file": file, "notes": ()}
    studies = join_tables(preds, refs, section=judged, null_is_missing=is_reader, **how)
    records_kept = [by_id[study_id] for study_id in studies.study_ids]
    classes = tuple(record["study_class"] for record in records_kept)
    class_field = "study_class" if any(classes) else None
    if manifest.class_source != "none" and all(classes):
        class_field = manifest.class_source
    files = [file.path for file in manifest.inputs if file.role in ("preds", "both")]
    of_candidates = dict.fromkeys(manifest.of_candidates, ())
    return replace(
        studies,
        study_classes=classes,
        class_inferred=tuple(record["class_inferred"] for record in records_kept),
        class_field=class_field,
        of_candidates=frozenset(rename_reserved(of_candidates, how["reserved"])),
        model=manifest.model or (model_of(files[0]) if files else None),
    )


def _study_of(record: ReportsRecord) -> Study:
    return Study(
        record["study_id"],
        record["reference"],
        record["candidate"],
        record["study_class"],
        fields=record["fields"],
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
        raise JudgeError(
            f"each study of {source} has one reference: leave --references out"
        )
    names = [str(place + 1) for place in refs.groupby(level=0).cumcount()]
    if column := next(iter(find_columns(refs.columns, "reference_id")), None):
        names = ["" if name is None else str(name).strip() for name in refs[column]]
        (study_id, name), n = Counter(zip(refs.index, names, strict=True)).most_common(
            1
        )[0]
        if n > 1 or "" in names:
            which = (
                f"{name!r} twice in study {study_id!r}"
                if n > 1
                else "nothing in some record"
            )
            raise JudgeError(
                f"{source}: {column} tells references apart; it has {which}"
            )
        refs = refs.drop(columns=column)
    _, reference = report_fields(refs if is_one else preds, refs, fields)
    reports = read_reports(refs, reference)
    chosen = known_section(section) or usual_section(reports.table)
    texts = list(reports.table[chosen])
    every: dict[str, list[tuple[str, str]]] = {study_id: [] for study_id in refs.index}
    for study_id, name, text in zip(refs.index, names, texts, strict=True):
        if text:
            every[study_id].append((name, text))
    # A study's first record with a text, or its first, in the order of the studies.
    first = refs.iloc[sorted(range(len(refs)), key=lambda row: not texts[row])]
    first = first[~first.index.duplicated()].loc[list(every)]
    studies = join_tables(
        first if is_one else preds, first, fields=fields, section=chosen, **how
    )
    notes = studies.notes
    if empty := [
        study_id for study_id, text in zip(refs.index, texts, strict=True) if not text
    ]:
        notes += (f"empty references, left out: {len(empty):,} ({first_ids(empty)})",)
    every_reference = tuple(tuple(every[study_id]) for study_id in studies.study_ids)
    return replace(studies, notes=notes, every_reference=every_reference)


def _explode(refs: pd.DataFrame, fields: NamedFields) -> pd.DataFrame:
    roles = ("findings", "impression", "report", "reference")
    wanted = {name for role in roles for name in columns_for(refs.columns, role)}
    wanted |= {*find_columns(refs.columns, fields.reference or "")}
    lists = [
        name
        for name in refs.columns
        if name in wanted and list in map(type, refs[name])
    ]
    try:
        exploded = refs.explode(lists) if lists else refs
    except ValueError as error:
        source = refs.attrs["name"]
        raise JudgeError(
            f"{source}: lists of unlike lengths in {', '.join(lists)}"
        ) from error
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
    named: NamedFields = KNOWN_NAMES,
) -> StudySet:
    """Make a study set of reports as a caller in Python has them.

    Tables and dictionaries of records are read as files are. Dictionaries of texts and Series are
    joined by their keys; lists go by their order, and so does all with `study_ids`. Texts are
    judged whole where no `section` is named. `named` are fields of tables with unusual names.
    Raises `JudgeError` as `read_pair`.
    """
    further = {**(fields or {})}
    if study_classes is not None:
        further["study_class"] = study_classes
    if candidates is None:
        preds = refs = load_object("the table", references, named)
    else:
        sides = {"references": references, "candidates": candidates}
        for name, side in sides.items() if study_ids is not None else ():
            ids, values = values_of("study_ids", study_ids), values_of(name, side)
            if len(values) != len(ids):
                raise JudgeError(
                    f"{name} has {len(values)} values and there are {len(ids)} ids"
                )
            sides[name] = pd.Series(values, ids, dtype=object)
        theirs, ours = (table_of(name, side) for name, side in sides.items())
        preds, refs = _with_ids(ours, theirs, choose_ids(ours, theirs, named.id))
    are_texts = list(refs) == list(preds) == [TEXT]
    by_id = study_ids is None and refs.index.name == KEYS
    if not are_texts and (further or study_ids is not None):
        raise JudgeError(
            "a table holds everything: put study_ids, study_classes and fields in it"
        )
    beside = {
        name: values_of(f"the field {name!r}", field) for name, field in further.items()
    }
    for name, field in further.items():
        n, index = len(beside[name]), getattr(field, "index", None)
        if (
            by_id
            and isinstance(index, pd.Index)
            and [*map(to_id, index)] != [*refs.index]
        ):
            raise JudgeError(
                f"the field {name!r} has another index than the references"
            )
        if n != len(refs):
            raise JudgeError(
                f"{name!r} has {n} values and there are {len(refs)} references"
            )
    return join_tables(
        preds,
        refs,
        fields=named,
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
    null_is_missing: bool = False,
) -> StudySet:
    """Join two tables, which may be one; `beside` are further fields, one value a reference.

    A null candidate is an empty one, and left out only if `null_is_missing`.
    """
    is_one = preds is refs
    candidate, reference = report_fields(preds, refs, fields)
    read_references = read_reports(refs, reference)
    read_candidates = read_reports(
        preds, candidate, are_candidates=True, null_is_missing=null_is_missing
    )
    references, candidates = read_references.table, read_candidates.table
    chosen = known_section(section) or usual_section(references)
    _check_ids(preds, refs)
    study_ids, omitted = _join(references[chosen], candidates[chosen])
    if omitted and not (study_ids and allow_missing):
        raise JudgeError(_mismatch(preds, refs, chosen, omitted))
    notes = [
        *dict.fromkeys(preds.attrs["notes"] + refs.attrs["notes"]),
        *_position_note(preds, refs),
        *([] if section else _section_notes(references, chosen)),
        *_heading_notes(read_references, read_candidates, chosen, study_ids),
    ]
    references, candidates = references.loc[study_ids], candidates.loc[study_ids]
    rows = refs.index.get_indexer(pd.Index(study_ids))
    of_refs = _columns(
        refs, {*reference.values(), *(candidate.values() if is_one else ())}
    )
    of_refs |= beside or {}
    of_refs = {name: [values[row] for row in rows] for name, values in of_refs.items()}
    of_preds = {} if is_one else _columns(preds.loc[study_ids], candidate.values())
    merged = {
        name: one_type(values)
        for name, values in (of_refs | of_preds | of_refs).items()
    }
    classes, class_field, tidy = take_class(merged, len(study_ids), fields.study_class)
    named_patient = fields.patient and find_column(
        tidy, fields.patient, "--column patient"
    )
    final = rename_reserved(tidy, reserved, named_patient)
    patient = named_patient or next(
        (name for name in FIELD_NAMES["patient"] if name in tidy), None
    )
    names_of = list(zip(tidy, final, strict=True))
    if len(study_ids) > 1 and list(references[chosen]) == list(candidates[chosen]):
        notes.append("PREDS and REFS hold the same texts: is it one file twice?")
    notes += [
        f"the field {old} is kept as {new}" for old, new in names_of if old != new
    ]
    # A field `model` of references in a file of their own is of something else, a scanner say.
    models = of_preds if refs.attrs["file"] and not is_one else {**of_refs, **of_preds}
    named = models.get("model", ())
    model_names = {
        str(one).strip() if isinstance(one, str | int | float) else "" for one in named
    }
    if preds.attrs.get("by_position"):
        id_field = POSITION
    elif refs.index.name is None:
        id_field = "row"
    elif is_one or preds.index.name in (None, refs.index.name):
        id_field = str(refs.index.name)
    else:
        id_field = f"{refs.index.name} ({preds.index.name} in PREDS)"
    read_from = {
        "id": id_field,
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
        inputs=tuple(
            filter(None, dict.fromkeys((preds.attrs["file"], refs.attrs["file"])))
        ),
        notes=tuple(notes),
    )


def _check_ids(preds: pd.DataFrame, refs: pd.DataFrame) -> None:
    """Raise `JudgeError` where a table has an id more than once."""
    for frame in (preds, refs):
        if twice := list(dict.fromkeys(frame.index[frame.index.duplicated()])):
            several = "; --references takes several of a study" if frame is refs else ""
            ids = f"{len(twice)} ({first_ids(twice)})"
            raise JudgeError(
                f"{frame.attrs['name']} has ids more than once: {ids}{several}"
            )


def _mismatch(
    preds: pd.DataFrame,
    refs: pd.DataFrame,
    section: Section,
    omitted: Mapping[str, list[str]],
) -> str:
    """Return why some studies cannot be judged, and what would help."""
    names = " and ".join(dict.fromkeys((preds.attrs["name"], refs.attrs["name"])))
    if preds.index.intersection(refs.index).empty:
        ids = (f"{frame.attrs['name']} has {len(frame):,} ({first_ids(list(frame.index))})"
               for frame in (preds, refs))  # fmt: skip
        hint = (
            _alike(preds, refs)
            or "correct the ids, or name their field with --column id=FIELD"
        )
        return f"{names} have no id in common: {' and '.join(ids)}; {hint}"
    whys = "; ".join(
        f"{why}: {len(ids):,} ({first_ids(ids)})" for why, ids in omitted.items()
    )
    n_left = len({*preds.index} | {*refs.index}) - sum(map(len, omitted.values()))
    advice = []
    if any(why in (ONLY_IN_PREDS, ONLY_IN_REFS) for why in omitted):
        advice.append("correct the ids")
    if any(why in (NO_REFERENCE, NO_CANDIDATE) for why in omitted):
        advice.append("choose another section (--section)")
    if n_left:
        advice.append(f"judge the other {n_left:,} with --allow-missing")
    return f"not every study of {names} can be judged ({section}): {whys}; {', or '.join(advice)}"


def _alike(preds: pd.DataFrame, refs: pd.DataFrame) -> str:
    """Return how ids that are written in two ways would match, or ""."""
    for how, change in _WRITTEN_OTHERWISE.items():
        ours, theirs = ({change(one) for one in frame.index} for frame in (preds, refs))
        common = ours & theirs
        if common and len(ours) == len(preds) and len(theirs) == len(refs):
            return f"{len(common):,} would match {how}; write them alike in both files"
    return ""


def _without_folder_and_ending(study_id: str) -> str:
    return PurePosixPath(study_id.replace("\\", "/")).stem.casefold()


_WRITTEN_OTHERWISE: Mapping[str, Callable[[str], str]] = {
    "without regard to case and blanks": lambda one: "".join(one.casefold().split()),
    "without leading zeros": lambda one: one.strip().lstrip("0"),
    "without folders and file endings": _without_folder_and_ending,
}


def _position_note(preds: pd.DataFrame, refs: pd.DataFrame) -> list[str]:
    """Return the note that two tables are joined by position, if they are."""
    # Lists of texts from Python go by their order, as the caller knows.
    are_lists = refs.attrs["file"] is None and list(preds) == list(refs) == [TEXT]
    if are_lists or not preds.attrs.get("by_position"):
        return []
    names = " and ".join(dict.fromkeys((preds.attrs["name"], refs.attrs["name"])))
    return [
        f"joined by position: {names} have no ids in common, so record 1 goes with record 1"
    ]


def _section_notes(references: pd.DataFrame, chosen: Section) -> list[str]:
    """Return a note where the whole report is judged although some references have findings."""
    n_findings = int(references["findings"].notna().sum())
    if chosen != "report" or not n_findings:
        return []
    has = counted(n_findings, "reference has", "references have")
    note = (
        f"whole reports are judged: {has} findings, of {len(references):,}; --section findings "
        "judges these alone"
    )
    return [note]


def _heading_notes(
    references: Reports,
    candidates: Reports,
    chosen: Section,
    study_ids: Collection[str],
) -> list[str]:
    """Return what headings did: texts that are not judged, and a few reports with headings."""
    notes = []
    for side, reports in (("candidates", candidates), ("references", references)):
        n_split = len(reports.split)
        if 0 < 2 * n_split < reports.n_whole:
            has = "has headings" if n_split == 1 else "have headings"
            notes.append(
                f'{n_split:,} of {reports.n_whole:,} {side} {has} such as "Findings:" '
                f"({first_ids(list(reports.split))}), and the others none"
            )
    if chosen == "report":
        return notes
    cut = {}
    empty = []
    for study_id in study_ids:
        parts = candidates.split.get(study_id)
        if parts is None:
            continue
        judged = candidates.table.at[study_id, chosen]
        others = [part for part in parts.besides(chosen) if part.text != judged]
        if others and not judged:
            empty.append(study_id)
        elif others:
            cut[study_id] = others[0]
    if cut:
        study_id, part = next(iter(cut.items()))
        n_words = counted(len(part.text.split()), "word", "words")
        notes.append(
            f"{len(cut):,} of {counted(len(study_ids), 'candidate', 'candidates')} hold more than "
            f'the {chosen}, which is not judged ({study_id}: {n_words} below "{part.label}")'
        )
    if empty:
        why = f"candidates with headings but none for the {chosen}, judged as empty"
        notes.append(f"{why}: {len(empty):,} ({first_ids(empty)})")
    return notes


def _join(
    references: pd.Series, candidates: pd.Series
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the ids of the studies in the references' order, and those left out, by why."""
    reasons = {
        one: ONLY_IN_PREDS for one in candidates.index if one not in references.index
    }
    for study_id, reference in zip(references.index, references, strict=True):
        if study_id not in candidates.index:
            reasons[study_id] = ONLY_IN_REFS
        elif reference is None:
            reasons[study_id] = NO_REFERENCE
        elif candidates[study_id] is None:
            reasons[study_id] = NO_CANDIDATE
    omitted: dict[str, list[str]] = {}
    for study_id, reason in reasons.items():
        omitted.setdefault(reason, []).append(study_id)
    return [
        study_id for study_id in references.index if study_id not in reasons
    ], omitted


def _columns(frame: pd.DataFrame, used: Collection[str]) -> dict[str, list[Any]]:
    columns = {name: list(frame[name]) for name in frame.columns if name not in used}
    return {
        name: values
        for name, values in columns.items()
        if not is_report_field(name, values)
    }
