"""The columns of a table of studies: the names that are understood, and the values.

Names are compared without regard to case and punctuation: `Study-ID` is `study_id`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from judge.report_sections import JUDGED_SECTIONS, SECTION_NAMES, WHOLE_REPORT
from judge.types import JudgeError

FIELD_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": (
        "study_id",
        "id",
        "study",
        "accession_number",
        "accession",
        "exam_id",
        "uid",
    ),
    "candidate": (
        "model_prediction",
        "prediction",
        "predicted_report",
        "candidate",
        "candidate_report",
        "generated",
        "generated_report",
        "hypothesis",
        "pred",
        "preds",
        "hyp",
        "hyps",
        "model_output",
        "output",
        "response",
    ),
    **{section.name: section.columns for section in JUDGED_SECTIONS},
    WHOLE_REPORT: ("report", "full_report", "report_text", "text"),
    "reference": (
        "reference",
        "reference_report",
        "ground_truth",
        "ground_truth_report",
        "gt_report",
        "radiologist_report",
        "gt",
        "ref",
        "refs",
        "target",
        "targets",
    ),
    "patient": ("patient", "patient_id", "subject_id", "subject"),
    "study class": ("study_class",),
}
"""The names that a column of each role may have, the likeliest first."""

REPORT_ROLES = ("candidate", "reference", *SECTION_NAMES)
"""The roles of columns that hold reports or their sections."""

Columns = Mapping[str, Sequence[object]]

TEXT = "text"
"""The column of records that are bare texts."""

_RESERVED_NAMES = {
    "study_id",
    "study_class",
    "class_inferred",
    "reference",
    "candidate",
    "outcome",
    "reason",
    "warnings",
    "answer",
    "green",
}
_RESERVED_PREFIXES = ("n_", "significant_", "insignificant_")
_ROLE = re.compile(
    r"\A(preds?|predictions?)[-_.](?=.)|(?<=.)[-_.](preds?|predictions?)\Z|\A-\Z",
    re.IGNORECASE,
)
_ENDS = {
    ".json",
    ".jsonl",
    ".ndjson",
    ".csv",
    ".tsv",
    ".parquet",
    ".gz",
    ".txt",
    ".xlsx",
}
_INT64 = 2**63
_CLASSES = ("normal", "abnormal")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFields:
    """The fields that the user named, None for the usual names, and how the files are read.

    With `several` studies may have several references, which a field `reference_id` tells apart.
    `encoding` is that of text files that are not in UTF-8.
    """

    id: str | None = None
    candidate: str | None = None
    reference: str | None = None
    study_class: str | None = None
    patient: str | None = None
    several: bool = False
    encoding: str | None = None


KNOWN_NAMES = NamedFields()


def normalise_name(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return re.sub(r"[\W_]", "", name.casefold())


def find_columns(columns: Iterable[str], name: str) -> list[str]:
    """Return the columns that a user means by `name`: of that very name, else of its letters."""
    alike = [
        column for column in columns if normalise_name(column) == normalise_name(name)
    ]
    return [name] if name in alike else alike


def columns_for(names: Iterable[str], role: str) -> list[str]:
    """Return the `names` of columns with this role, the likeliest first."""
    wanted = [normalise_name(name) for name in FIELD_NAMES[role]]
    known = [name for name in names if normalise_name(name) in wanted]
    return sorted(known, key=lambda name: wanted.index(normalise_name(name)))


def find_column(
    fields: Iterable[str], wanted: str, option: str, where: str = "the studies"
) -> str:
    """Return the field that a user names with `option`; raises `JudgeError` for an unknown one."""
    fields = list(fields)
    matches = find_columns(fields, wanted)
    if len(matches) == 1:
        return matches[0]
    wrong = "several fields" if matches else "no field"
    there = join_names(fields, 30) or "none"
    raise JudgeError(
        f"{where}: {wrong} {wanted!r}, for {option}; the fields are: {there}"
    )


def join_names(items: Iterable[str], most: int = 10) -> str:
    """Return the first few items as `a, b, c, ...`."""
    shown = list(items)
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")


def model_of(path: str) -> str | None:
    """Return the model that a file is named after, `a` of `preds_a.json.gz`, None of `-`."""
    return _ROLE.sub("", stem_of(path)) or None


def stem_of(path: str) -> str:
    """Return the name of a file without its folder and endings, `preds_a` of `preds_a.json.gz`."""
    stem = Path(path)
    while stem.suffix.lower() in _ENDS:
        stem = stem.with_suffix("")
    return stem.name


def rename_reserved(
    fields: Columns, further: Collection[str] = (), patient: str | None = None
) -> dict[str, tuple[object, ...]]:
    """Return the fields, with `patient` renamed and reserved names as `field_<name>`."""
    reserved = {"", *_RESERVED_NAMES, *further}
    if patient:
        reserved.add("patient")
    columns: dict[str, tuple[object, ...]] = {}
    for name, column in fields.items():
        is_reserved = name in reserved or name.startswith(_RESERVED_PREFIXES)
        if name == patient:
            new = "patient"
        elif is_reserved:
            new = free_name(f"field_{name}", {*fields, *columns})
        else:
            new = name
        columns[new] = tuple(column)
    return columns


def free_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, or the first of `name_2`, `name_3`, ... that isn't taken."""
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(free for free in names if free not in taken)


def one_type(values: Sequence[object]) -> tuple[object, ...]:
    """Return a column of one type, nested values as JSON, None where one is missing or empty."""
    tidy = [_plain_value(value) for value in values]
    kinds = {type(value) for value in tidy if value is not None}
    if len(kinds) < 2:
        return tuple(tidy)
    convert: Callable[[object], object] = as_text
    if kinds == {int, float}:
        convert = _as_fraction
    return tuple(None if value is None else convert(value) for value in tidy)


def _as_fraction(value: object) -> float:
    return float(str(value))


def as_text(value: object) -> str:
    """Return a value as text: true and false in lower case, a whole fraction as a whole number."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _plain_value(value: object) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n").strip() or None
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    is_whole = isinstance(value, int) and -_INT64 <= value < _INT64
    is_fraction = isinstance(value, float) and math.isfinite(value)
    if is_whole or is_fraction:
        return value
    return str(value)


def take_class(
    fields: Mapping[str, tuple[object, ...]], n_studies: int, class_field: str | None
) -> tuple[tuple[str | None, ...], str | None, dict[str, tuple[object, ...]]]:
    """Return each study's class, None where it isn't known, the field that gave it, and the others.

    The field `study_class` goes where it is the class, or says nothing.
    """
    known = columns_for(fields, "study class")
    name = next((name for name in known if any(fields[name])), None)
    if class_field:
        name = find_column(fields, class_field, "--column class")
    others = {
        other: column
        for other, column in fields.items()
        if other not in known or (other != name and set(column) != {None})
    }
    if name is None:
        return (None,) * n_studies, None, others
    return tuple(map(_class_of, fields[name])), name, others


def _class_of(value: object) -> str | None:
    """Return a class as text, the known ones in lower case."""
    if value is None:
        return None
    text = as_text(value)
    if text.lower() in _CLASSES:
        return text.lower()
    return text
