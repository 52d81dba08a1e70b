"""Studies from Python's own lists."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from judge.studies.classes import find_classes, without_class
from judge.studies.fields import renamed, tidy_column
from judge.studies.join import first_ids
from judge.studies.sections import Section
from judge.studies.study_set import StudySet
from judge.studies.table import encodable, id_of
from judge.types import JudgeError


def from_columns(
    references: Sequence[object],
    candidates: Sequence[object],
    *,
    study_ids: Sequence[object] | None = None,
    study_classes: Sequence[object] | None = None,
    fields: Mapping[str, Sequence[object]] | None = None,
    section: Section = "report",
    reserved: Collection[str] = (),
) -> StudySet:
    """Make a study set from parallel sequences: lists, arrays, columns of a DataFrame.

    Texts are taken as they are, space around them aside; `section` only records what they
    are. Ids are `"0"`, `"1"`, ... unless given, as texts or numbers. An empty candidate is
    a study; a missing one (None, NaN) is an error, and so is a missing or empty reference.
    Without `study_classes` they are taken from a field as `read_pair` does. Raises
    `JudgeError` where lengths differ, ids repeat or a value has the wrong type.
    """
    given = {} if fields is None else dict(fields.items())
    ids = [str(row) for row in range(len(references))] if study_ids is None else study_ids
    columns: dict[str, Sequence[object]] = {"candidates": candidates, "study_ids": ids}
    if study_classes is not None:
        columns["study_classes"] = study_classes
    columns |= {f"the field {name!r}": column for name, column in given.items()}
    _check_lengths(references, columns)
    known_ids = _ids(ids)
    texts = _texts("reference", references, known_ids)
    empty = [study_id for study_id, text in zip(known_ids, texts, strict=True) if not text]
    if empty:
        raise JudgeError(f"{len(empty)} references are empty ({first_ids(empty)})")
    tidy = {
        str(name): tidy_column([_plain(value) for value in column])
        for name, column in given.items()
    }
    if study_classes is None:
        classes, class_field = find_classes(tidy, len(known_ids), None)
        tidy = without_class(tidy, class_field)
    else:
        column = {"study_class": tidy_column([_plain(value) for value in study_classes])}
        classes, class_field = find_classes(column, len(known_ids), None)
    return StudySet(
        study_ids=tuple(known_ids),
        references=tuple(texts),
        candidates=tuple(_texts("candidate", candidates, known_ids)),
        study_classes=classes,
        class_inferred=(False,) * len(known_ids),
        full_references=tuple(texts),
        section=section,
        fields=renamed(tidy, reserved),
        class_field=class_field,
    )


def _check_lengths(references: Sequence[object], columns: Mapping[str, Sequence[object]]) -> None:
    for name, column in {"references": references, **columns}.items():
        if isinstance(column, str | bytes):
            raise JudgeError(f"{name} is one text; give a sequence with one value a study")
        if len(column) != len(references):
            raise JudgeError(
                f"{name} has {len(column)} values but there are {len(references)} references"
            )
    if not len(references):
        raise JudgeError("there are no studies: references is empty")


def _ids(values: Sequence[object]) -> list[str]:
    ids = []
    for row, value in enumerate(values):
        found = id_of(_plain(value))
        if found is None:
            raise JudgeError(f"study_ids[{row}] is {value!r}; an id is a text or a number")
        ids.append(found[0])
    repeated = [study_id for study_id, n in Counter(ids).items() if n > 1]
    if repeated:
        raise JudgeError(f"{len(repeated)} study ids stand more than once ({first_ids(repeated)})")
    return ids


def _texts(side: str, values: Sequence[object], ids: Sequence[str]) -> list[str]:
    texts = []
    for study_id, value in zip(ids, map(_plain, values), strict=True):
        if not isinstance(value, str):
            what = "missing" if value is None else f"a {type(value).__name__}"
            raise JudgeError(f"the {side} of study {study_id!r} is {what}; it must be a text")
        texts.append(encodable(value).replace("\r\n", "\n").replace("\r", "\n").strip())
    return texts


def _plain(value: object) -> object:
    """Return a value of numpy or pandas as Python's own, missing ones as None."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    item = getattr(value, "item", None)
    value = item() if callable(item) else value
    return None if isinstance(value, float) and math.isnan(value) else value
