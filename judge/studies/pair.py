"""Candidates and references as one set of studies: found, joined by study id, and checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.studies.load import KEYS, STDIN, load, load_object, values_of
from judge.studies.names import (
    KNOWN_NAMES,
    ROW,
    NamedFields,
    find_classes,
    listed,
    merge,
    model_of,
    renamed,
    take_patient,
    without_class,
)
from judge.studies.run_folder import is_run, read_run
from judge.studies.sections import (
    CUT_AT_HEADING,
    NO_SECTION,
    SECTIONS,
    TEXT,
    Section,
    cut_candidates,
    is_report_field,
    known_section,
    read_reports,
    report_fields,
    says_nothing,
    usual_section,
)
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
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd


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
    how: dict[str, Any] = {"allow_missing": allow_missing, "reserved": reserved}
    if refs is None and is_run(preds):
        studies = read_run(preds, fields, section, **how)
        return replace(studies, model=model or studies.model)
    if preds == refs == STDIN:
        raise JudgeError("only one of PREDS and REFS can be standard input (-)")
    if refs is None:
        table = other = load(preds, "both", fields)
    else:
        table, other = load(preds, "preds", fields), load(refs, "refs", fields)
    if fields.several:
        from judge.studies.references import pair_several

        studies = pair_several(table, other, fields, section, **how)
    else:
        studies = pair(table, other, fields=fields, section=section, **how)
    return replace(studies, model=model or studies.model or _named_after(preds))


def _named_after(source: str) -> str | None:
    if source == STDIN:
        return None
    path = Path(source).absolute()
    is_split = (path.parent / "dataset_dict.json").is_file()  # called `test`, say
    return model_of(str(path.parent if is_split else path))


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
    lists go by their order, and so does all with `study_ids`. Texts are judged whole where no
    `section` is named. `study_classes` and `fields` are beside texts, in the order of the
    references, or by id as they are. Raises `JudgeError` for what cannot be joined, and as
    `read_pair` does.
    """
    further = dict(fields or {})
    if study_classes is not None:
        further["study_class"] = study_classes
    if candidates is None:
        preds = refs = load_object("the table", references)
    else:
        sides = {"references": references, "candidates": candidates}
        if study_ids is not None:
            sides = _by_ids(values_of("study_ids", study_ids), sides)
        refs, preds = (load_object(name, side) for name, side in sides.items())
    are_texts = list(refs) == list(preds) == [TEXT]
    if not are_texts and (further or study_ids is not None):
        raise JudgeError(
            "a table holds everything: pass its study_ids, study_classes and fields in it"
        )
    by_order = study_ids is not None or refs.index.name != KEYS
    return pair(
        preds,
        refs,
        section=section or ("report" if are_texts else None),
        allow_missing=allow_missing,
        reserved=reserved,
        beside={
            name: _beside(name, values, refs, by_order=by_order) for name, values in further.items()
        },
    )


def _by_ids(ids: list[Any], sides: Mapping[str, object]) -> dict[str, object]:
    import pandas as pd

    columns = {name: values_of(name, side) for name, side in sides.items()}
    for name, values in columns.items():
        if len(values) != len(ids):
            raise JudgeError(f"{name} has {len(values)} values and there are {len(ids)} ids")
    return {name: pd.Series(values, ids, dtype=object) for name, values in columns.items()}


def _beside(name: str, given: Any, refs: pd.DataFrame, *, by_order: bool) -> list[Any]:  # noqa: ANN401
    what = f"the field {name!r}"
    if not by_order and (isinstance(given, Mapping) or hasattr(given, "to_frame")):
        known = load_object(what, given)[TEXT].to_dict()
        if lacking := [study_id for study_id in refs.index if study_id not in known]:
            raise JudgeError(f"{what} lacks {len(lacking)} studies: {first_ids(lacking)}")
        return [known[study_id] for study_id in refs.index]
    values = values_of(what, given)
    if len(values) != len(refs):
        raise JudgeError(f"{what} has {len(values)} values but there are {len(refs)} references")
    return values


def pair(
    preds: pd.DataFrame,
    refs: pd.DataFrame,
    *,
    fields: NamedFields = KNOWN_NAMES,
    section: str | None = None,
    allow_missing: bool = False,
    reserved: Collection[str] = (),
    beside: Mapping[str, list[Any]] | None = None,
) -> StudySet:
    """Join two tables, which may be one, as `read_pair` does those of files.

    `beside` are further fields of the references, one value a row.
    """
    is_one = preds is refs
    candidate, reference = report_fields(preds, refs, fields)
    references, written = read_reports(refs, reference), read_reports(preds, candidate)
    chosen = known_section(section) or usual_section(references)
    candidates = cut_candidates(written, chosen)
    notes = _check_ids(preds, refs)
    study_ids, omitted = _join(references[chosen].to_dict(), candidates["text"].to_dict())
    if not study_ids or not allow_missing:
        names = " and ".join(dict.fromkeys((preds.attrs["name"], refs.attrs["name"])))
        is_blank = NO_REFERENCE in omitted or NO_CANDIDATE in omitted
        better = _better_sections(references, written, chosen) if is_blank else ()
        check_omitted(omitted, f"{names} ({chosen})", better)
    references, candidates = references.loc[study_ids], candidates.loc[study_ids]
    rows = refs.index.get_indexer(study_ids)
    of_refs = _columns(refs, {*reference.values(), *(candidate.values() if is_one else ())})
    of_refs |= beside or {}
    of_refs = {name: [values[row] for row in rows] for name, values in of_refs.items()}
    of_preds = {} if is_one else _columns(preds.loc[study_ids], candidate.values())
    merged = merge(of_refs, of_preds)
    called, patient = take_patient(merged, fields.patient)
    classes, class_field = find_classes(called, len(study_ids), fields.study_class)
    tidy = without_class(called, class_field)
    final = renamed(tidy, reserved)
    # What each field is called in its file, and at last.
    first_names = dict(zip(called, merged, strict=True))
    names_of = [(first_names[name], new) for name, new in zip(tidy, final, strict=True)]
    for how in (CUT_AT_HEADING, NO_SECTION):
        ids = [*candidates.index[candidates["how"] == how]]
        notes += [f"{how}: {len(ids)} ({first_ids(ids)})"] if ids else []
    notes += [f"the field {old} is kept as {new}" for old, new in names_of if old != new]
    # A field `model` of references in a file of their own is of something else, a scanner say.
    models = of_preds if refs.attrs["file"] and not is_one else {**of_refs, **of_preds}
    files = dict.fromkeys((preds.attrs["file"], refs.attrs["file"]))
    return StudySet(
        study_ids=tuple(study_ids),
        references=tuple(references[chosen]),
        candidates=tuple(candidates["text"]),
        study_classes=classes,
        class_inferred=(False,) * len(study_ids),
        full_references=tuple(references["report"]),
        section=chosen,
        fields=final,
        of_candidates=frozenset(new for old, new in names_of if old not in of_refs),
        class_field=class_field,
        model=_only(models.get("model", ())),
        read_from={
            "id": refs.index.name or ROW,
            "reference": ", ".join(reference.values()),
            "candidate": ", ".join(candidate.values()),
            **({"patient": patient} if patient else {}),
        },
        inputs=tuple(filter(None, files)),
        notes=tuple(notes),
    ).without(omitted)


def _check_ids(preds: pd.DataFrame, refs: pd.DataFrame) -> list[str]:
    """Return a note where records are numbered; raises where the ids cannot be joined by."""
    tables = {frame.attrs["name"]: frame for frame in (preds, refs)}
    for name, frame in tables.items():
        if twice := list(dict.fromkeys(frame.index[frame.index.duplicated()])):
            several = "; --references takes several references of a study" if frame is refs else ""
            raise JudgeError(
                f"{name} has ids more than once: {len(twice)} ({first_ids(twice)}); keep one "
                f"record of each{several}"
            )
    numbered = [name for name, frame in tables.items() if frame.index.name is None]
    if numbered and (len(numbered) < len(tables) or len(preds) != len(refs)):
        raise JudgeError(
            f"{numbered[0]} has no ids to join by (its fields are: "
            f"{listed(tables[numbered[0]])}; records: {len(preds):,} and {len(refs):,}); name the "
            f"field that holds them (--id-field), or join by order with --id-field {ROW}"
        )
    if not preds.index.isin(refs.index).any():
        sides = [f"{name} has {first_ids(list(frame.index))}" for name, frame in tables.items()]
        raise JudgeError(f"no study in common: {'; '.join(sides)}")
    if not numbered or refs.attrs["file"] is None:
        return []
    names = " and ".join(tables)
    return [f"no ids: the {len(refs):,} records of {names} are numbered, and go by their order"]


def _join(
    references: Mapping[str, str | None], candidates: Mapping[str, str | None]
) -> tuple[list[str], Omitted]:
    """Return the ids of the studies in the references' order, and those left out, by why."""
    only_in_preds = [study_id for study_id in candidates if study_id not in references]
    omitted = {ONLY_IN_PREDS: only_in_preds} if only_in_preds else {}
    study_ids = []
    for study_id, reference in references.items():
        if study_id not in candidates:
            omitted.setdefault(ONLY_IN_REFS, []).append(study_id)
        elif says_nothing(reference or ""):
            omitted.setdefault(NO_REFERENCE, []).append(study_id)
        elif candidates[study_id] is None:
            omitted.setdefault(NO_CANDIDATE, []).append(study_id)
        else:
            study_ids.append(study_id)
    return study_ids, omitted


def _better_sections(
    references: pd.DataFrame, candidates: pd.DataFrame, section: Section
) -> list[Section]:
    """Return the sections that more studies have than `section`, on both sides."""

    def least(name: Section) -> int:
        return min(sum(map(bool, side[name])) for side in (references, candidates))

    return [name for name in reversed(SECTIONS) if least(name) > least(section)]


def _columns(frame: pd.DataFrame, used: Collection[str]) -> dict[str, list[Any]]:
    """Return the fields beside the reports."""
    columns = {name: list(frame[name]) for name in frame if name not in used}
    return {name: values for name, values in columns.items() if not is_report_field(name, values)}


def _only(values: Sequence[object]) -> str | None:
    first = values[0] if values else None
    is_name = isinstance(first, str | int | float) and str(first).strip()
    return str(first) if is_name and all(value == first for value in values) else None
