"""Several references of a study: a list of texts in a file's cell, or several records of one id."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from judge.studies.context import CONTEXT_FIELDS
from judge.studies.names import NamedFields, as_text, matching, named, plain, the_field
from judge.studies.pair import pair
from judge.studies.sections import known_section, read_reports, report_fields, usual_section
from judge.studies.study_set import StudySet, first_ids
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

REFERENCE_ID = "reference_id"


def pair_several(
    preds: pd.DataFrame,
    refs: pd.DataFrame,
    fields: NamedFields,
    section: str | None,
    *,
    allow_missing: bool,
    reserved: Collection[str],
) -> StudySet:
    """Join two tables, which may be one, of which studies have several references.

    In `references` is a study's first that has the section, and in `every_reference` are all.
    Raises `JudgeError` as `pair` does, where no study has two, for a reader without a name or with
    two texts, and for records of one study that differ in its class or its context.
    """
    is_one = preds is refs
    refs = _exploded(refs, fields)
    if refs.index.is_unique:
        raise JudgeError(
            f"each study of {refs.attrs['name']} has one reference: leave --references out "
            "(several are a list of texts, or records of one id)"
        )
    column = fields.reference_id or next(iter(named(refs, REFERENCE_ID)), None)
    if column is None:
        names = [str(place + 1) for place in refs.groupby(level=0).cumcount()]
    else:
        column = the_field(refs, column, "--reference-id-field", refs.attrs["name"])
        names = _names(refs, column)
        refs = refs.drop(columns=column)
    _check_alike(refs, fields)
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
    studies = pair(
        first if is_one else preds,
        first,
        fields=fields,
        section=chosen,
        allow_missing=allow_missing,
        reserved=reserved,
    )
    empty = [study_id for study_id, text in zip(refs.index, texts, strict=True) if not text]
    note = f"empty references, left out: {len(empty):,} ({first_ids(empty)})"
    return replace(
        studies,
        notes=(*studies.notes, *([note] if empty else [])),
        every_reference=tuple(tuple(every[study_id]) for study_id in studies.study_ids),
    )


def _exploded(refs: pd.DataFrame, fields: NamedFields) -> pd.DataFrame:
    """Return the table with a record for each text of the lists in its fields of references."""
    roles = ("findings", "impression", "report", "reference")
    wanted = {
        plain(fields.reference or ""),
        *(plain(n) for role in roles for n in matching(refs, role)),
    }
    lists = [
        name
        for name in refs
        if plain(name) in wanted - {plain(fields.candidate or "")} and list in map(type, refs[name])
    ]
    try:
        exploded = refs.explode(lists) if lists else refs
    except ValueError as error:
        raise JudgeError(
            f"{refs.attrs['name']}: {', '.join(lists)} have lists of different lengths"
        ) from error
    return exploded.astype(object).where(exploded.notna(), None)


def _names(refs: pd.DataFrame, column: str) -> list[str]:
    names = ["" if value is None else str(value).strip() for value in refs[column]]
    pairs = refs.index.to_frame().assign(name=names)
    for study_id, name in pairs[pairs["name"].eq("") | pairs.duplicated()].to_numpy():
        fault = f"has two references with the {column} {name!r}; keep one"
        fault = fault if name else f"has a reference without {column}"
        raise JudgeError(f"{refs.attrs['name']}: study {study_id!r} {fault}")
    return names


def _check_alike(refs: pd.DataFrame, fields: NamedFields) -> None:
    roles = ("study class", "study class, true or false")
    wanted = {plain(name) for role in roles for name in matching(refs, role)}
    wanted |= {plain(fields.study_class or ""), *map(plain, CONTEXT_FIELDS)}
    for name in (name for name in refs if plain(name) in wanted):
        texts = refs[name].map(as_text, na_action="ignore").str.strip().str.lower()
        counts = texts.where(texts != "").groupby(level=0).nunique()
        if (counts > 1).any():
            study_id = counts.index[counts > 1][0]
            raise JudgeError(
                f"{refs.attrs['name']}: study {study_id!r} has more than one {name} in its "
                "records; give it one"
            )
