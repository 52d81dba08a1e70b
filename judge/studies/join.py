"""Candidates and references as one set of studies: found, joined by study id, and checked."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from os.path import isfile
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd

from judge.files import open_regular
from judge.report_sections import FINDINGS, WHOLE_REPORT
from judge.run_files.checked import RunFileError
from judge.run_files.manifest import MANIFEST
from judge.run_files.reading import read_source_manifest
from judge.run_files.study_record import (
    ANNOTATIONS,
    ReportsRecord,
    read_line,
    read_old_line,
)
from judge.signature import studies_digest
from judge.studies.columns import (
    FIELD_NAMES,
    KNOWN_NAMES,
    REPORT_ROLES,
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
from judge.studies.input_table import InputFile, InputPair, InputTable
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
from judge.studies.pairing import POSITION, ROW, Pairing, choose_ids, is_by_row
from judge.studies.sections import (
    Fields,
    Reports,
    is_report_field,
    known_section,
    read_reports,
    report_fields,
    usual_section,
)
from judge.studies.study_set import StudySet, first_ids
from judge.text import counted
from judge.types import JudgeError, Study

ONLY_IN_PREDS = "only in PREDS"
ONLY_IN_REFS = "only in REFS"
NO_REFERENCE = "no reference section"
NO_CANDIDATE = "no candidate text"
_REFERENCE_WORDS = {
    "ref",
    "refs",
    "reference",
    "references",
    "gt",
    "groundtruth",
    "target",
    "targets",
}
_CANDIDATE_WORDS = {
    "pred",
    "preds",
    "prediction",
    "predictions",
    "hyp",
    "hyps",
    "generated",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOptions:
    """How candidates and references are joined.

    `section` is the one that is judged, None for the usual one. `allow_missing` leaves out studies
    that are on one side only or lack a text. A field named as one of `reserved` is kept as
    `field_<name>`. A null candidate is an empty one, and left out only if `null_is_missing`.
    """

    fields: NamedFields = KNOWN_NAMES
    section: str | None = None
    allow_missing: bool = False
    reserved: Collection[str] = ()
    null_is_missing: bool = False


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
    options = JoinOptions(
        fields=fields, section=section, allow_missing=allow_missing, reserved=reserved
    )
    # Not Path.is_file: where it cannot be looked at, reading it says why.
    is_run = all(isfile(f"{preds}/{name}") for name in (MANIFEST, ANNOTATIONS))  # noqa: PTH113
    if refs is None and is_run:
        studies = _read_run(preds, options)
        return replace(studies, model=model or studies.model)
    if preds == refs == STDIN:
        raise JudgeError("only one of PREDS and REFS can be standard input (-)")
    if refs is None:
        pair = InputPair.of_one(_load_one(preds, fields))
    else:
        pair = _load_two(preds, refs, fields)
    join = _join_several if fields.several else join_tables
    studies = join(pair, options)
    notes = studies.notes + _swapped_names(preds, refs)
    return replace(
        studies, model=model or studies.model or model_of(preds), notes=notes
    )


def _load_one(both: str, fields: NamedFields) -> InputTable:
    """Read a file that holds both sides."""
    if fields.id == ROW:
        table = read_table(both, "both", fields)
        if is_by_row(fields.id, table):
            raise JudgeError(
                f"--column id=row pairs the records of two files, and {table.name} holds both "
                "reports of each study: leave it out"
            )
        return by_id(table, find_column(table.columns, ROW, "--column id", table.name))
    return load(both, "both", fields)


def _load_two(preds: str, refs: str, fields: NamedFields) -> InputPair:
    """Read two files, with the ids by which they are joined."""
    ours = read_table(preds, "preds", fields)
    theirs = read_table(refs, "refs", fields)
    pairing = choose_ids(ours, theirs, fields.id, several=fields.several)
    return _with_ids(ours, theirs, pairing)


def _with_ids(preds: Table, refs: Table, pairing: Pairing) -> InputPair:
    ours = by_id(preds, pairing.preds)
    theirs = by_id(refs, pairing.refs)
    ids_from = ""
    if pairing.by_request and pairing.refs is not None:
        ours = replace(ours, frame=ours.frame.set_axis(theirs.frame.index))
        ids_from = f"{pairing.refs} of {theirs.name}"
    elif pairing.by_request and pairing.preds is not None:
        theirs = replace(theirs, frame=theirs.frame.set_axis(ours.frame.index))
        ids_from = f"{pairing.preds} of {ours.name}"
    elif pairing.by_request:
        # One file may number its records from 0 and the other from 1.
        ours = replace(ours, frame=ours.frame.set_axis(theirs.frame.index))
    return InputPair(
        preds=ours,
        refs=theirs,
        is_by_position=pairing.by_position,
        is_by_request=pairing.by_request,
        ids_from=ids_from,
    )


def _swapped_names(preds: str, refs: str | None) -> tuple[str, ...]:
    """Return a note where the names of the files say that they are in the wrong order."""
    if refs is None:
        return ()
    of_preds = _words_of_name(preds)
    of_refs = _words_of_name(refs)
    if of_preds.isdisjoint(_REFERENCE_WORDS) or of_refs.isdisjoint(_CANDIDATE_WORDS):
        return ()
    if of_preds & _CANDIDATE_WORDS or of_refs & _REFERENCE_WORDS:
        return ()
    return (
        f"PREDS is {preds} and REFS is {refs}: are they swapped? PREDS comes first",
    )


def _words_of_name(path: str) -> set[str]:
    """Return the words of a file's name in small letters, without numbers and endings."""
    return {*re.sub(r"[^a-z]+", " ", stem_of(path).lower()).split()}


def _read_run(source: str, options: JoinOptions) -> StudySet:
    """Return the studies of a run as they were judged; a report that a reader lacked is missing."""
    if replace(options.fields, encoding=None) != KNOWN_NAMES:
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
    if options.section not in (None, judged):
        raise JudgeError(f"{source} is a run of the section {judged}, and has no other")
    by_id = {record["study_id"]: record for record in records}
    if len(by_id) < len(records):
        raise RunFileError(path, "a study is in it twice")
    references: dict[str, list[Any]] = {}
    for name in names:
        references[name] = [record["fields"].get(name) for record in records]
    references[judged] = [record["reference"] for record in records]
    # A reader's files may lack candidates, which the reader saw elsewhere.
    is_reader = manifest.reading is not None
    candidates = {judged: [record["candidate"] or None for record in records]}
    index = pd.Index(by_id, name="study_id")
    name = f"the run {source}"
    file = InputFile(source, "both", hashlib.sha256(data).hexdigest(), len(records))
    preds = pd.DataFrame(candidates, index, dtype=object)
    refs = pd.DataFrame(references, index, dtype=object)
    pair = InputPair(
        preds=InputTable(name=name, frame=preds, file=file),
        refs=InputTable(name=name, frame=refs, file=file),
    )
    studies = join_tables(
        pair,
        replace(options, fields=KNOWN_NAMES, section=judged, null_is_missing=is_reader),
    )
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
        of_candidates=frozenset(rename_reserved(of_candidates, options.reserved)),
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


def _join_several(pair: InputPair, options: JoinOptions) -> StudySet:
    """Join tables with several references a study: lists in a cell, or several records of an id."""
    refs = _explode(pair.refs, options.fields)
    if refs.frame.index.is_unique:
        raise JudgeError(
            f"each study of {refs.name} has one reference: leave --references out"
        )
    names, refs = _reference_names(refs)
    exploded = InputPair.of_one(refs)
    if not pair.is_one_table:
        exploded = replace(pair, refs=refs)
    _, reference = report_fields(exploded, options.fields)
    reports = read_reports(refs, reference)
    chosen = known_section(options.section) or usual_section(reports.table)
    study_ids = refs.frame.index
    texts = list(reports.table[chosen])
    every: dict[str, list[tuple[str, str]]] = {study_id: [] for study_id in study_ids}
    empty = []
    for study_id, name, text in zip(study_ids, names, texts, strict=True):
        if text:
            every[study_id].append((name, text))
        else:
            empty.append(study_id)
    # A study's first record with a text, or its first, in the order of the studies.
    rows = sorted(range(len(texts)), key=lambda row: not texts[row])
    first = refs.frame.iloc[rows]
    first = first[~first.index.duplicated()].loc[list(every)]
    refs = replace(refs, frame=first)
    joined = InputPair.of_one(refs)
    if not pair.is_one_table:
        joined = replace(pair, refs=refs)
    studies = join_tables(joined, replace(options, section=chosen))
    notes = studies.notes
    if empty:
        notes += (f"empty references, left out: {len(empty):,} ({first_ids(empty)})",)
    every_reference = tuple(tuple(every[study_id]) for study_id in studies.study_ids)
    return replace(studies, notes=notes, every_reference=every_reference)


def _reference_names(refs: InputTable) -> tuple[list[str], InputTable]:
    """Return a name for each reference, and the table without the field that names them.

    Without a field `reference_id`, the references of a study are numbered from 1. Raises
    `JudgeError` where the field does not tell them apart.
    """
    frame = refs.frame
    columns = find_columns(frame.columns, "reference_id")
    if not columns:
        return [str(at + 1) for at in frame.groupby(level=0).cumcount()], refs
    column = columns[0]
    names = ["" if name is None else str(name).strip() for name in frame[column]]
    counts = Counter(zip(frame.index, names, strict=True))
    (study_id, name), n = counts.most_common(1)[0]
    which = None
    if n > 1:
        which = f"{name!r} twice in study {study_id!r}"
    elif "" in names:
        which = "nothing in some record"
    if which is not None:
        raise JudgeError(
            f"{refs.name}: {column} tells references apart; it has {which}"
        )
    return names, replace(refs, frame=frame.drop(columns=column))


def _explode(refs: InputTable, fields: NamedFields) -> InputTable:
    """Return a table with a record for each reference of a list in a cell."""
    frame = refs.frame
    wanted = {*find_columns(frame.columns, fields.reference or "")}
    for role in REPORT_ROLES:
        if role != "candidate":
            wanted |= {*columns_for(frame.columns, role)}
    named = [name for name in frame.columns if name in wanted]
    lists = [name for name in named if list in map(type, frame[name])]
    try:
        exploded = frame.explode(lists) if lists else frame
    except ValueError as error:
        raise JudgeError(
            f"{refs.name}: lists of unlike lengths in {', '.join(lists)}"
        ) from error
    exploded = exploded.astype(object)
    return replace(refs, frame=exploded.where(exploded.notna(), None))


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
        pair = InputPair.of_one(load_object("the table", references, named))
    else:
        if study_ids is not None:
            references = _by_given_ids("references", references, study_ids)
            candidates = _by_given_ids("candidates", candidates, study_ids)
        theirs = table_of("references", references)
        ours = table_of("candidates", candidates)
        pair = _with_ids(ours, theirs, choose_ids(ours, theirs, named.id))
    are_texts = _are_lists_of_texts(pair)
    if not are_texts and (further or study_ids is not None):
        raise JudgeError(
            "a table holds everything: put study_ids, study_classes and fields in it"
        )
    return join_tables(
        pair,
        JoinOptions(
            fields=named,
            section=section or (WHOLE_REPORT if are_texts else None),
            allow_missing=allow_missing,
            reserved=reserved,
        ),
        beside=_fields_beside(pair.refs, further, are_keyed=study_ids is None),
    )


def _by_given_ids(name: str, values: object, study_ids: object) -> pd.Series:
    """Return the values of a side by the ids that the caller gives beside them."""
    ids = values_of("study_ids", study_ids)
    texts = values_of(name, values)
    if len(texts) != len(ids):
        raise JudgeError(f"{name} has {len(texts)} values and there are {len(ids)} ids")
    return pd.Series(texts, ids, dtype=object)


def _are_lists_of_texts(pair: InputPair) -> bool:
    """Return whether both sides are bare texts, without fields."""
    return list(pair.refs.frame) == list(pair.preds.frame) == [TEXT]


def _fields_beside(
    refs: InputTable, further: Mapping[str, object], *, are_keyed: bool
) -> dict[str, list[Any]]:
    """Return the values of each further field, one a reference.

    Raises `JudgeError` for another number of values than of references, and, where both are keyed
    by study, for other keys.
    """
    beside = {}
    has_keys = are_keyed and refs.frame.index.name == KEYS
    for name, field in further.items():
        beside[name] = values_of(f"the field {name!r}", field)
    for name, field in further.items():
        if has_keys and isinstance(field, pd.Series):
            keys = [to_id(key) for key in field.index]
            if keys != list(refs.frame.index):
                raise JudgeError(
                    f"the field {name!r} has another index than the references"
                )
        n = len(beside[name])
        if n != len(refs.frame):
            raise JudgeError(
                f"{name!r} has {n} values and there are {len(refs.frame)} references"
            )
    return beside


def join_tables(
    pair: InputPair,
    options: JoinOptions,
    *,
    beside: Mapping[str, list[Any]] | None = None,
) -> StudySet:
    """Join candidates and references by study id, in the order of the references.

    `beside` are further fields, with a value for each record of the references. Raises
    `JudgeError` where ids are repeated, where no study can be judged, and, unless
    `allow_missing`, where some study cannot be.
    """
    candidate, reference = report_fields(pair, options.fields)
    references = read_reports(pair.refs, reference)
    candidates = read_reports(
        pair.preds,
        candidate,
        are_candidates=True,
        null_is_missing=options.null_is_missing,
    )
    chosen = known_section(options.section) or usual_section(references.table)
    _check_ids(pair)
    study_ids, omitted = _join(references.table[chosen], candidates.table[chosen])
    if omitted and not (study_ids and options.allow_missing):
        raise JudgeError(_mismatch(pair, chosen, omitted))
    notes = list(dict.fromkeys(pair.preds.notes + pair.refs.notes))
    notes += _position_note(pair)
    if not options.section:
        notes += _section_notes(references.table, chosen)
    notes += _heading_notes(references, candidates, chosen, study_ids)

    texts = references.table.loc[study_ids]
    candidate_texts = candidates.table.loc[study_ids]
    of_refs, of_preds = _fields_of(
        pair, study_ids, candidate, reference, beside=beside or {}
    )
    # The fields stand in the order of the references' table, whose values count.
    merged = of_refs | of_preds | of_refs
    tidy_fields = {name: one_type(values) for name, values in merged.items()}
    classes, class_field, tidy = take_class(
        tidy_fields, len(study_ids), options.fields.study_class
    )
    named_patient = None
    if options.fields.patient:
        named_patient = find_column(tidy, options.fields.patient, "--column patient")
    final = rename_reserved(tidy, options.reserved, named_patient)
    renamed = list(zip(tidy, final, strict=True))
    if len(study_ids) > 1 and list(texts[chosen]) == list(candidate_texts[chosen]):
        notes.append("PREDS and REFS hold the same texts: is it one file twice?")
    for old, new in renamed:
        if old != new:
            notes.append(f"the field {old} is kept as {new}")

    read_from = {
        "id": _id_field(pair),
        "reference": ", ".join(reference.values()),
        "candidate": ", ".join(candidate.values()),
    }
    patients = [name for name in FIELD_NAMES["patient"] if name in tidy]
    if named_patient:
        read_from["patient"] = named_patient
    elif patients:
        read_from["patient"] = patients[0]
    return StudySet(
        study_ids=tuple(study_ids),
        references=tuple(texts[chosen]),
        candidates=tuple(candidate_texts[chosen]),
        study_classes=classes,
        class_inferred=(False,) * len(study_ids),
        full_references=tuple(texts[WHOLE_REPORT]),
        section=chosen,
        fields=final,
        of_candidates=frozenset(new for old, new in renamed if old not in of_refs),
        class_field=class_field,
        model=_model_in_fields(pair, of_refs, of_preds),
        read_from=read_from,
        omitted={why: len(ids) for why, ids in omitted.items()},
        omitted_ids={why: tuple(ids[:5]) for why, ids in omitted.items()},
        inputs=pair.files,
        notes=tuple(notes),
    )


def _fields_of(
    pair: InputPair,
    study_ids: list[str],
    candidate: Fields,
    reference: Fields,
    *,
    beside: Mapping[str, list[Any]],
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Return the fields beside the reports: of the references' table, and of another one.

    `candidate` and `reference` are the columns that hold the reports.
    """
    refs = pair.refs.frame
    rows = refs.index.get_indexer(pd.Index(study_ids))
    used = {*reference.values()}
    if pair.is_one_table:
        used |= {*candidate.values()}
    of_refs = {}
    for name, values in (_columns(refs, used) | {**beside}).items():
        of_refs[name] = [values[row] for row in rows]
    if pair.is_one_table:
        return of_refs, {}
    return of_refs, _columns(pair.preds.frame.loc[study_ids], candidate.values())


def _id_field(pair: InputPair) -> str:
    """Return the name of the field of ids, as it is shown."""
    of_preds = pair.preds.frame.index.name
    of_refs = pair.refs.frame.index.name
    if pair.ids_from:
        return f"{POSITION}, called by {pair.ids_from}"
    if pair.is_by_position:
        return POSITION
    if of_refs is None:
        return "row"
    if pair.is_one_table or of_preds in (None, of_refs):
        return str(of_refs)
    return f"{of_refs} ({of_preds} in PREDS)"


def _model_in_fields(
    pair: InputPair,
    of_refs: Mapping[str, list[Any]],
    of_preds: Mapping[str, list[Any]],
) -> str | None:
    """Return the model that wrote all candidates by their field `model`, None for several."""
    names = of_preds.get("model")
    # In a file of their own, a field `model` of references is of something else, a scanner say.
    has_own_file = pair.refs.file is not None and not pair.is_one_table
    if names is None and not has_own_file:
        names = of_refs.get("model")
    models = set()
    for name in names or ():
        models.add(str(name).strip() if isinstance(name, str | int | float) else "")
    if len(models) != 1:
        return None
    return models.pop() or None


def _check_ids(pair: InputPair) -> None:
    """Raise `JudgeError` where a table has an id more than once."""
    for table in (pair.preds, pair.refs):
        index = table.frame.index
        repeated = list(dict.fromkeys(index[index.duplicated()]))
        if not repeated:
            continue
        message = (
            f"{table.name} has ids more than once: {len(repeated)} "
            f"({first_ids(repeated)})"
        )
        if table is pair.refs:
            message += "; --references takes several of a study"
        raise JudgeError(message)


def _mismatch(pair: InputPair, section: str, omitted: Mapping[str, list[str]]) -> str:
    """Return why some studies cannot be judged, and what would help."""
    preds = pair.preds.frame.index
    refs = pair.refs.frame.index
    if preds.intersection(refs).empty:
        advice = _alike(preds, refs)
        if not advice:
            advice = "correct the ids, or name their field with --column id=FIELD"
        return (
            f"{pair.names} have no id in common: {_ids_of(pair.preds)} and "
            f"{_ids_of(pair.refs)}; {advice}"
        )
    whys = []
    n_omitted = 0
    for why, ids in omitted.items():
        whys.append(f"{why}: {len(ids):,} ({first_ids(ids)})")
        n_omitted += len(ids)
    n_left = len({*preds} | {*refs}) - n_omitted
    advices = []
    if ONLY_IN_PREDS in omitted or ONLY_IN_REFS in omitted:
        advices.append("correct the ids")
    if NO_REFERENCE in omitted or NO_CANDIDATE in omitted:
        advices.append("choose another section (--section)")
    if n_left:
        advices.append(f"judge the other {n_left:,} with --allow-missing")
    return (
        f"not every study of {pair.names} can be judged ({section}): {'; '.join(whys)}; "
        f"{', or '.join(advices)}"
    )


def _ids_of(table: InputTable) -> str:
    ids = list(table.frame.index)
    return f"{table.name} has {len(ids):,} ({first_ids(ids)})"


def _alike(preds: pd.Index, refs: pd.Index) -> str:
    """Return how ids that are written in two ways would match, or ""."""
    for how, change in _WRITTEN_OTHERWISE.items():
        ours = set(map(change, preds))
        theirs = set(map(change, refs))
        stay_apart = len(ours) == len(preds) and len(theirs) == len(refs)
        if ours & theirs and stay_apart:
            n = len(ours & theirs)
            return f"{n:,} would match {how}; write them alike in both files"
    return ""


def _without_folder_and_ending(study_id: str) -> str:
    return PurePosixPath(study_id.replace("\\", "/")).stem.casefold()


_WRITTEN_OTHERWISE: Mapping[str, Callable[[str], str]] = {
    "without regard to case and blanks": lambda one: "".join(one.casefold().split()),
    "without leading zeros": lambda one: one.strip().lstrip("0"),
    "without folders and file endings": _without_folder_and_ending,
}


def _position_note(pair: InputPair) -> list[str]:
    """Return the note that two tables are joined by position, if they are."""
    # Lists of texts from Python go by their order, as the caller knows.
    are_lists = pair.refs.file is None and _are_lists_of_texts(pair)
    if pair.is_by_request:
        ids = "their numbers"
        if pair.ids_from:
            ids = pair.ids_from
        note = (
            f"joined by position, as --column id=row asks: record 1 of {pair.preds.name} goes with "
            f"record 1 of {pair.refs.name}, and so on; the ids are {ids}"
        )
        return [note]
    if are_lists or not pair.is_by_position:
        return []
    return [
        f"joined by position: {pair.names} have no ids in common, so record 1 goes with record 1"
    ]


def _section_notes(references: pd.DataFrame, chosen: str) -> list[str]:
    """Return a note where the whole report is judged although some references have findings."""
    n_findings = int(references[FINDINGS].notna().sum())
    if chosen != WHOLE_REPORT or not n_findings:
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
    chosen: str,
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
    if chosen == WHOLE_REPORT:
        return notes
    return notes + _notes_of_cuts(candidates, chosen, study_ids)


def _notes_of_cuts(
    candidates: Reports, chosen: str, study_ids: Collection[str]
) -> list[str]:
    """Return what of the candidates is not judged since it is of another section."""
    notes = []
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
    reasons = {}
    for study_id in candidates.index:
        if study_id not in references.index:
            reasons[study_id] = ONLY_IN_PREDS
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
    kept = [study_id for study_id in references.index if study_id not in reasons]
    return kept, omitted


def _columns(frame: pd.DataFrame, used: Collection[str]) -> dict[str, list[Any]]:
    """Return the columns of a table beside those that are `used` and further reports."""
    columns = {}
    for name in frame.columns:
        values = list(frame[name])
        if name not in used and not is_report_field(name, values):
            columns[name] = values
    return columns
