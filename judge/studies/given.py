"""Studies from what Python holds: lists, dictionaries, pandas and datasets.

What has ids is joined by them, what has none goes by its order, and nothing else is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judge.studies.forms import FLAT_TEXT
from judge.studies.join import FIRST
from judge.studies.names import FIELD_NAMES, listed, matching
from judge.studies.pair import Side, pair_tables, paired
from judge.studies.parquet import INDEX
from judge.studies.study_set import StudySet
from judge.studies.table import StudyTable, id_of, to_columns, to_table
from judge.studies.texts import text_of
from judge.types import JudgeError

_IDS = "study_ids"


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

    DataFrames, `datasets` and dictionaries of records are read as the files that they could
    be (`pair_tables`): two joined by id, or one that holds both sides. Dictionaries of texts
    and two Series are joined by their keys and index, other sequences go by their order, with
    the ids "0", "1", ... where they have none; their texts are judged as they are, space
    around them aside. Of these, `study_classes` and `fields` are in the order of the
    references, or by id as they are. Raises `JudgeError` for what cannot be joined, for one
    text where a list belongs, for lengths that differ, and as `pair_tables` does.
    """
    if _is_table(references) or _is_table(candidates):
        more = {_IDS: study_ids, "study_classes": study_classes, "fields": fields}
        if used := [name for name, value in more.items() if value is not None]:
            raise JudgeError(f"a table holds everything; pass nothing beside it: {listed(used)}")
        if candidates is None:
            refs = preds = _table("the table", references, numbered=True)
        else:
            preds, refs = _table("candidates", candidates), _table("references", references)
        return pair_tables(
            preds, refs, section=section, allow_missing=allow_missing, reserved=reserved
        )
    if candidates is None:
        raise JudgeError("candidates are missing; pass them, or one table that holds both sides")
    if section is not None:
        raise JudgeError("section is for tables; texts are judged as they are")
    preds, refs = _texts(references, candidates, study_ids)
    common = set(preds.ids) if study_ids is None else set()

    def along(name: str, values: Any) -> list[Any]:  # noqa: ANN401 - whatever a caller passes
        if common and _has_ids(values) and (_has_ids(references) or _has_ids(candidates)):
            table = _table(name, values)
            found = dict(zip(table.ids, table.columns[FLAT_TEXT], strict=True))
            if lacking := [one for one in refs.ids if one in common and one not in found]:
                raise JudgeError(f"{name} lacks {len(lacking)} studies: {listed(lacking, FIRST)}")
            return [found.get(one) for one in refs.ids]
        column = _list(name, values)
        _check_length(name, len(column), len(refs))
        return column

    beside: dict[str, Sequence[object]] = {}
    for name, column in ({} if fields is None else fields).items():
        beside[name] = along(f"the field {name!r}", column)
    if study_classes is not None:
        beside["study_class"] = along("study_classes", study_classes)
    whole = [text_of(refs, "references", row) for row in range(len(refs))]
    return paired(
        Side("candidates", preds, [text_of(preds, "candidates", n) for n in range(len(preds))]),
        Side("references", refs, whole, whole, beside),
        "report",
        allow_missing=allow_missing,
        reserved=reserved,
    )


def _texts(references: Any, candidates: Any, ids: object) -> tuple[StudyTable, StudyTable]:  # noqa: ANN401
    is_keyed = isinstance(references, Mapping) or isinstance(candidates, Mapping)
    if is_keyed and ids is not None:
        raise JudgeError("the keys of a dictionary are its ids; leave study_ids out")
    if _has_ids(references) and _has_ids(candidates) and ids is None:
        refs, preds = _table("references", references), _table("candidates", candidates)
        return (
            replace(preds, columns={"candidates": preds.columns[FLAT_TEXT]}),
            replace(refs, columns={"references": refs.columns[FLAT_TEXT]}),
        )
    if is_keyed:
        raise JudgeError(
            "a dictionary has ids and a list has none: give both sides as dictionaries or "
            "Series, or both as lists"
        )
    columns = {"references": _list("references", references)}
    n = len(columns["references"])
    if not n:
        raise JudgeError("there are no studies: references is empty")
    if ids is None:
        index = (one.index for one in (references, candidates) if _is_series(one))
        ids = next(index, map(str, range(n)))
    columns |= {"candidates": _list("candidates", candidates), _IDS: _list(_IDS, ids)}
    for name, column in columns.items():
        _check_length(name, len(column), n)
    table = to_table("references and candidates", columns, id_field=_IDS)
    return table, table


def _check_length(name: str, found: int, n: int) -> None:
    if found != n:
        raise JudgeError(f"{name} has {found} values but there are {n} references")


def _list(name: str, values: Any) -> list[Any]:  # noqa: ANN401 - whatever a caller passes
    """Return `values` as a list with None for what pandas holds to be missing."""
    if isinstance(values, str | bytes):
        raise JudgeError(f"{name} is one text; give a list with one value a study")
    if isinstance(values, Mapping | set | frozenset) or not isinstance(values, Iterable):
        kind = type(values).__name__
        raise JudgeError(f"{name} is a {kind}; give a list with one value a study")
    return [_plain(value) for value in values]


def _plain(value: object) -> object:
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    item = getattr(value, "item", None)
    value = item() if callable(item) and getattr(value, "size", 1) == 1 else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _table(name: str, given: Any, *, numbered: bool = False) -> StudyTable:  # noqa: ANN401
    """Return what holds ids as a table; texts without a field are the field `text`.

    `numbered` lets the rows of a table without an id be numbered from 0. Raises
    `JudgeError` for what has no ids, and for ids that are none.
    """
    columns, by_key = _columns(name, given), _has_ids(given)
    columns = {key: [_plain(value) for value in column] for key, column in columns.items()}
    n = len(next(iter(columns.values()), ()))
    if not n:
        raise JudgeError(f"{name} holds no study")
    named = matching(columns, "id")
    if numbered and not named:
        columns.setdefault(INDEX, list(range(n)))
    if not named and INDEX not in columns:
        raise JudgeError(
            f"{name} has no ids to join by: no column such as {listed(FIELD_NAMES['id'], 2)}, and "
            f"its rows are only numbered; its columns are: {listed(columns)}"
        )
    table = to_table(name, columns, id_field=INDEX if by_key else None, fallback=INDEX)
    # A key may stand in its record again; a pandas index beside ids is no field of the user's.
    ids = list(zip(table.ids, table.id_kinds, strict=True))
    again = [one for one in named if by_key and list(map(id_of, columns[one])) == ids]
    kept = {key: column for key, column in columns.items() if key not in (INDEX, *again)}
    return replace(table, columns=kept)


def _columns(name: str, given: Any) -> dict[str, list[Any]]:  # noqa: ANN401
    if _is_dataset(given):
        if isinstance(given, Mapping):
            raise JudgeError(f"{name} has splits; pass one of them: {listed(map(str, given))}")
        return to_columns(name, given)
    if isinstance(given, Mapping):
        return _keyed(name, given)
    if _is_series(given):
        return {INDEX: given.index.tolist(), FLAT_TEXT: given.tolist()}
    if not _is_frame(given):
        kind = type(given).__name__
        raise JudgeError(
            f"{name} is a {kind} beside a table, and has no ids to be joined by; give a table "
            "too, or a dictionary or Series with the ids"
        )
    if repeated := sorted({str(one) for one in given.columns[given.columns.duplicated()]}):
        raise JudgeError(f"{name} has columns of the same name: {listed(repeated)}; rename them")
    columns = {str(column): given[column].tolist() for column in given.columns}
    index = given.index
    if list(index) != list(range(len(index))):
        label = INDEX if index.name is None or str(index.name) in columns else str(index.name)
        columns[label] = index.tolist()
        if label != INDEX and not matching(columns, "id"):
            columns[INDEX] = columns.pop(label)
    return columns


def _keyed(name: str, given: Mapping[Any, Any]) -> dict[str, list[Any]]:
    values = [_plain(value) for value in given.values()]
    odd = next((v for v in values if not (v is None or isinstance(v, str | Mapping))), None)
    if odd is not None:
        raise JudgeError(
            f"{name} is a dictionary that holds a {type(odd).__name__}; it must have one report "
            "for each study id. For columns, pass pandas.DataFrame(...)"
        )
    if not any(isinstance(value, Mapping) for value in values):
        return {FLAT_TEXT: values, INDEX: list(given)}
    if any(isinstance(value, str) for value in values):
        raise JudgeError(f"{name} is a dictionary of texts and of records; give one of the two")
    records = [dict(value) if isinstance(value, Mapping) else {} for value in values]
    return {**to_columns(name, records), INDEX: list(given)}


def _is_table(given: object) -> bool:
    if isinstance(given, Mapping) and not _is_dataset(given):
        return any(isinstance(value, Mapping) for value in given.values())
    return _is_dataset(given) or _is_frame(given)


def _has_ids(given: object) -> bool:
    return isinstance(given, Mapping) or _is_series(given)


# Libraries that need not be installed, or not be imported, are known by name.


def _is_series(given: object) -> bool:
    return ("pandas", "Series") in _kinds(given)


def _is_frame(given: object) -> bool:
    return ("pandas", "DataFrame") in _kinds(given)


def _is_dataset(given: object) -> bool:
    return _kinds(given)[0][0] == "datasets"


def _kinds(given: object) -> list[tuple[str, str]]:
    return [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(given).__mro__]
