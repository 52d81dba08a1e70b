"""Several references of a study: a list of texts in a file's cell, or several records of one id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from judge.studies.context import CONTEXT_FIELDS
from judge.studies.load import Table
from judge.studies.names import NamedFields, as_text, matching, named, plain, the_field
from judge.studies.sections import Section, known_section
from judge.studies.study_set import first_ids
from judge.studies.texts import is_reference, read_reports, report_fields, usual_section
from judge.types import JudgeError

REFERENCE_ID = "reference_id"
_MOST_NAMES = 50

Named = Mapping[str, tuple[tuple[str, str], ...]]
"""The references of each study by its id, each with what it is called."""


def one_each(
    preds: Table, refs: Table, fields: NamedFields, section: str | None
) -> tuple[Table, Table, Section, Named, tuple[str, ...]]:
    """Return candidates and references with one reference a study, the section, and all of them.

    The one is a study's first that has the section. Raises `JudgeError` where no study has two,
    for a reader without a name or with two texts, and for records of one study that differ in its
    class or in what they say of the patient. Notes come last.
    """
    is_one = preds is refs
    lists = [
        name
        for name in refs.fields
        if plain(name) != plain(fields.candidate or "")
        and any(isinstance(value, list) for value in refs.column(name))
        and (plain(name) == plain(fields.reference or "") or is_reference(name))
    ]
    if lists:
        try:
            frame = refs.frame.explode(lists)
        except ValueError as error:
            raise JudgeError(
                f"{refs.name}: {', '.join(lists)} have lists of different lengths"
            ) from error
        refs = replace(refs, frame=frame.astype(object).where(frame.notna(), None))
    if refs.frame.index.is_unique:
        raise JudgeError(
            f"each study of {refs.name} has one reference: leave --references out (several are a "
            f"list of texts, or records of one id, which {REFERENCE_ID} may tell apart)"
        )
    names, notes, refs = _names(refs, fields)
    _, found = report_fields(refs if is_one else preds, refs, fields)
    reports = read_reports(refs, found)
    chosen = known_section(section) or usual_section(reports)
    texts = reports[chosen]
    _check_alike(refs, fields)
    every: dict[str, list[tuple[str, str]]] = {study_id: [] for study_id in refs.ids}
    for study_id, name, text in zip(refs.ids, names, texts, strict=True):
        if text:
            every[study_id].append((name, text))
    if empty := [one for one, text in zip(refs.ids, texts, strict=True) if not text]:
        notes.append(f"empty references, left out: {len(empty):,} ({first_ids(empty)})")
    # A study's first record with a text, or its first, in the order of the studies.
    rows = sorted(range(len(refs)), key=lambda row: not texts[row])
    frame = refs.frame.iloc[rows]
    frame = frame[~frame.index.duplicated()].loc[list(every)]
    first = replace(refs, frame=frame)
    by_id = {study_id: tuple(own) for study_id, own in every.items()}
    return first if is_one else preds, first, chosen, by_id, tuple(notes)


def _check_alike(refs: Table, fields: NamedFields) -> None:
    """Raise where records of a study differ in its class or in what the judge is told."""
    roles = ("study class", "study class, true or false")
    known = {plain(name) for role in roles for name in matching(refs.fields, role)}
    known |= {plain(fields.study_class or ""), *map(plain, CONTEXT_FIELDS)}
    for name in refs.fields:
        if plain(name) not in known:
            continue
        texts = refs.frame[name].map(as_text, na_action="ignore").str.strip().str.lower()
        texts = texts.where(texts != "")
        counts = texts.groupby(level=0).nunique()
        if (counts > 1).any():
            study_id = counts.index[counts > 1][0]
            values = " and ".join(texts.loc[study_id].dropna().unique())
            raise JudgeError(
                f"{refs.name}: study {study_id!r} has the {name} {values} in its records; "
                "give it one"
            )


def _names(refs: Table, fields: NamedFields) -> tuple[list[str], list[str], Table]:
    """Return what each reference is called, notes, and the table without the field of the names.

    By that field, else by its place among the study's.
    """
    places = [str(place + 1) for place in refs.frame.groupby(level=0).cumcount()]
    if fields.reference_id:
        column = the_field(refs.fields, fields.reference_id, "--reference-id-field", refs.name)
    elif named(refs.fields, REFERENCE_ID):
        column = named(refs.fields, REFERENCE_ID)[0]
    else:
        return places, [], refs
    names = ["" if value is None else str(value).strip() for value in refs.column(column)]
    refs = replace(refs, frame=refs.frame.drop(columns=column))
    if "" in names:
        study_id = refs.ids[names.index("")]
        raise JudgeError(f"{refs.name}: a reference of study {study_id!r} has no {column}")
    pairs = Counter(zip(refs.ids, names, strict=True))
    for (study_id, name), n in pairs.items():
        if n > 1:
            raise JudgeError(
                f"{refs.name}: study {study_id!r} has two references with the {column} {name!r}; "
                "keep one"
            )
    if (n := len(set(names))) > _MOST_NAMES:
        note = f"the field {column} has {n:,} values: references are called by their place instead"
        return places, [note], refs
    return names, [], refs
