"""By which fields two tables are joined.

A wrong pair is a wrong number that looks right, so the rule is strict:

1. A field that the user names, in each table that has it.
2. Otherwise every pair of columns that hold the same values, each once in either table, *joins* the
   tables, whatever the names are: `image_id` and `image_id`, or `id` and `dicom_id`. Reports join
   nothing; nor do two columns of different names that just number the records, unless both are
   called like ids. Where several pairs join the tables, they have to put the same records together;
   where they do not, it is refused. Rows that a program numbered in either table, in their order,
   join nothing where another column does.
3. Otherwise the fields that are called like ids: the usual names, or one name in both tables. The
   strict join then says which studies lack a partner.
4. Otherwise the position, if neither table has ids and both have as many records, and no field says
   that the records stand in another order.

Where one table alone has ids, or both have ids of their own, the user can ask for the position with
`row` in the place of a field. It is refused where the tables have fields that put other records
together. A field that is called `row` is meant before that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Self

from judge.studies.columns import (
    REPORT_ROLES,
    TEXT,
    columns_for,
    find_column,
    find_columns,
    join_names,
    normalise_name,
)
from judge.studies.json_layouts import KEYS
from judge.studies.load import FILE_NAMES, UNNAMED, Table, to_id
from judge.text import counted
from judge.types import JudgeError

POSITION = "position"
"""The field of ids of studies that are joined by their order."""
ROW = "row"
"""What a user names in place of the field of ids to join tables by the order of their records."""

_ID_WORDS = {
    "accession",
    "case",
    "dicom",
    "exam",
    "examination",
    "file",
    "filename",
    "guid",
    "id",
    "identifier",
    "idx",
    "image",
    "imageid",
    "img",
    "index",
    "instance",
    "key",
    "name",
    "no",
    "nr",
    "number",
    "path",
    "record",
    "report",
    "sample",
    "scan",
    "series",
    "sop",
    "study",
    "uid",
    "uuid",
    "volume",
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@dataclass(frozen=True, slots=True)
class Pairing:
    """The columns with the ids of PREDS and of REFS, None where a table has none.

    With `by_request` the user asked for the position: then one column at most is named, whose ids
    are those of both tables.
    """

    preds: str | None
    refs: str | None
    by_position: bool = False
    by_request: bool = False


@dataclass(frozen=True, slots=True)
class _Side:
    """A table, its columns that could be ids, and those that could be ids with each value once."""

    table: Table
    ids: Mapping[str, Sequence[str]]
    unique: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, table: Table) -> Self:
        ids = {}
        unique = {}
        for name in _not_reports(table):
            texts = [to_id(value) for value in table.columns[name]]
            if None in texts:
                continue
            ids[name] = [str(text) for text in texts]
            if len({*texts}) == len(texts):
                unique[name] = ids[name]
        return cls(table, ids, unique)


@dataclass(frozen=True, slots=True)
class _Join:
    """Two columns with ids, and the row of PREDS that each row of REFS goes with."""

    preds: str
    refs: str
    rows: tuple[int | None, ...]
    numbers_rows: bool = False

    @property
    def name(self) -> str:
        """The name of the field, or of both fields."""
        if normalise_name(self.preds) == normalise_name(self.refs):
            return self.refs
        return f"{self.preds} of PREDS with {self.refs} of REFS"

    @property
    def has_common_ids(self) -> bool:
        """Whether any row of REFS goes with one of PREDS."""
        return any(row is not None for row in self.rows)


def choose_ids(
    preds: Table, refs: Table, wanted: str | None = None, *, several: bool = False
) -> Pairing:
    """Return by which columns two tables are joined, by the rule of this module.

    `wanted` is the field that the user names for the ids. With `several`, the ids of REFS may be
    repeated. Raises `JudgeError` where no field, or more than one, joins the tables.
    """
    if wanted is not None and is_by_row(wanted, preds, refs):
        return _by_row(preds, refs)
    if wanted is not None:
        return _named(preds, refs, wanted)
    ours, theirs = _Side.of(preds), _Side.of(refs)
    usual = _usual(ours, theirs)
    joins = _joins(ours, theirs, several=several)
    by_meaning = [join for join in joins if not join.numbers_rows]
    by_number = [join for join in joins if join.numbers_rows]
    joins = sorted(by_meaning or by_number, key=lambda join: _rank(join, preds, refs))
    if not joins and usual is not None:
        return usual
    if not joins:
        _check_position(preds, refs)
        return Pairing(None, None, by_position=True)
    best = joins[0]
    row_numbers = [(join.preds, join.refs) for join in by_number]
    is_number = usual is not None and (usual.preds, usual.refs) in row_numbers
    partial = [] if is_number else _partial(ours, theirs, usual)
    _check_agreement([*joins, *partial])
    has_common_ids = any(join.has_common_ids for join in partial)
    if has_common_ids and not is_id_name(best.refs) and usual is not None:
        return usual
    is_position = best.numbers_rows and best.preds in UNNAMED and best.refs in UNNAMED
    return Pairing(best.preds, best.refs, by_position=is_position)


def is_by_row(wanted: str | None, *tables: Table) -> bool:
    """Return whether `wanted` asks for the order of records, and is no field of a table."""
    if wanted != ROW:
        return False
    return not any(find_columns(table.columns, ROW) for table in tables)


def _by_row(preds: Table, refs: Table) -> Pairing:
    """Return the pairing by position that the user asked for.

    The ids are those of REFS, else of PREDS, where a column has an id of its own for each record.
    Raises `JudgeError` where the tables have not as many records, and where a field that both
    have says that the records stand in another order.
    """
    if len(preds) != len(refs):
        records = counted(len(preds), "record", "records")
        raise JudgeError(
            f"--column id=row: {preds.name} has {records} and {refs.name} {len(refs):,}, so they "
            "cannot be paired by row"
        )
    ours, theirs = _Side.of(preds), _Side.of(refs)
    joins = _joins(ours, theirs, several=False)
    joins += _partial(ours, theirs, _usual(ours, theirs))
    for join in joins:
        for row, place in enumerate(join.rows):
            if place not in (None, row):
                raise JudgeError(
                    f"--column id=row pairs record {row + 1:,} of {refs.name} with record "
                    f"{row + 1:,} of {preds.name}, but by {join.name} it goes with record "
                    f"{place + 1:,}: join them by it, --column id={join.refs}"
                )
    _check_order(preds, refs)
    for side in (theirs, ours):
        likely = (*side.table.usual_ids, *filter(is_id_name, side.unique))
        named = [name for name in likely if name in side.unique and name not in UNNAMED]
        if named and side is theirs:
            return Pairing(None, named[0], by_position=True, by_request=True)
        if named:
            return Pairing(named[0], None, by_position=True, by_request=True)
    return Pairing(None, None, by_position=True, by_request=True)


def _named(preds: Table, refs: Table, wanted: str) -> Pairing:
    """Return the field that the user means; a table that lacks it has its usual ids."""
    fields = []
    for table, other in ((preds, refs), (refs, preds)):
        usual = [name for name in table.usual_ids if name not in UNNAMED]
        is_here = find_columns(table.columns, wanted)
        is_elsewhere = find_columns(other.columns, wanted) and not is_here
        if is_elsewhere and usual:
            fields.append(usual[0])
        else:
            fields.append(find_column(table.columns, wanted, "--column id", table.name))
    ours, theirs = fields
    return Pairing(ours, theirs)


def _joins(ours: _Side, theirs: _Side, *, several: bool) -> list[_Join]:
    """Return the pairs of columns that hold the same values, each once in either table."""
    by_values: dict[frozenset[str], list[str]] = {}
    for name, ids in ours.unique.items():
        by_values.setdefault(frozenset(ids), []).append(name)
    joins = []
    columns = theirs.ids if several else theirs.unique
    for other, ids in columns.items():
        for name in by_values.get(frozenset(ids), ()):
            if not _may_join(name, other, ids):
                continue
            place = {value: row for row, value in enumerate(ours.unique[name])}
            rows = tuple(place[value] for value in ids)
            is_known = bool(columns_for([name], "id") and columns_for([other], "id"))
            is_in_order = rows == tuple(range(len(ours.table)))
            numbers_rows = is_in_order and _number_rows(ids) and not is_known
            joins.append(_Join(name, other, rows, numbers_rows))
    return joins


def _may_join(name: str, other: str, ids: Sequence[str]) -> bool:
    """Return whether columns with the same values join tables, and are not alike by chance."""
    if is_id_name(name) and is_id_name(other):
        return True
    if len({*ids}) < 2:
        return False
    return normalise_name(name) == normalise_name(other) or not _number_rows(ids)


def _number_rows(ids: Sequence[str]) -> bool:
    """Return whether ids are the numbers from 0 or 1 on, in any order."""
    n = len({*ids})
    from_0, from_1 = {str(row) for row in range(n)}, {str(row + 1) for row in range(n)}
    return {*ids} in (from_0, from_1)


def is_id_name(name: str) -> bool:
    """Return whether a column is called like an id: `StudyInstanceUID`, `image_id`, `filename`."""
    if name in (KEYS, FILE_NAMES) or columns_for([name], "id"):
        return True
    return any(word.lower() in _ID_WORDS for word in _WORD.findall(name))


def _rank(join: _Join, preds: Table, refs: Table) -> tuple[int, int, int]:
    """Order joins: usual ids first, then names like ids, then any; one name before two."""
    is_usual = join.refs in refs.usual_ids and join.preds in preds.usual_ids
    if is_usual:
        likeness = 0
    elif is_id_name(join.refs):
        likeness = 1
    else:
        likeness = 2
    has_two_names = normalise_name(join.preds) != normalise_name(join.refs)
    place = 0
    if join.refs in refs.usual_ids:
        place = refs.usual_ids.index(join.refs)
    return likeness, int(has_two_names), place


def _usual(ours: _Side, theirs: _Side) -> Pairing | None:
    """Return the columns that are called like ids, whether or not their values are the same."""
    best = None
    most = -1
    for ours_name, theirs_name in product(ours.table.usual_ids, theirs.table.usual_ids):
        common = {*ours.ids.get(ours_name, ())} & {*theirs.ids.get(theirs_name, ())}
        if len(common) > most:
            best = Pairing(ours_name, theirs_name)
            most = len(common)
    if best is not None:
        return best
    for name in filter(is_id_name, theirs.unique):
        for other in find_columns(ours.unique, name):
            return Pairing(other, name)
    return None


def _partial(ours: _Side, theirs: _Side, usual: Pairing | None) -> list[_Join]:
    """Return how the usual ids join, also where only some of them are in both tables."""
    if usual is None or usual.preds is None or usual.refs is None:
        return []
    if usual.preds not in ours.unique or usual.refs not in theirs.ids:
        return []
    if usual.preds in UNNAMED or usual.refs in UNNAMED:
        return []
    place = {value: row for row, value in enumerate(ours.unique[usual.preds])}
    rows = tuple(place.get(value) for value in theirs.ids[usual.refs])
    return [_Join(usual.preds, usual.refs, rows)]


def _check_agreement(joins: Sequence[_Join]) -> None:
    """Raise `JudgeError` where two joins put other records together."""
    best = joins[0]
    odd = [join for join in joins[1:] if _disagree(best, join)]
    if odd:
        fields = list(dict.fromkeys(join.refs for join in [best, *odd]))
        names = dict.fromkeys(join.name for join in [best, *odd])
        options = " or ".join(f"--column id={field}" for field in fields)
        raise JudgeError(
            f"PREDS and REFS can be joined by {' and by '.join(names)}, which put different "
            f"records together; say which one has the ids: {options}"
        )


def _disagree(one: _Join, other: _Join) -> bool:
    for row, place in zip(one.rows, other.rows, strict=True):
        if row is not None and place is not None and row != place:
            return True
    return False


def _check_position(preds: Table, refs: Table) -> None:
    """Raise `JudgeError` where two tables without common ids cannot go by position."""
    for table, other in ((preds, refs), (refs, preds)):
        named = [name for name in table.usual_ids if name not in UNNAMED]
        if named:
            by_row = ""
            if len(table) == len(other):
                by_row = ", or pair the records in their order with --column id=row"
            raise JudgeError(
                f"{other.name} has no ids to join by, and {table.name} has some in {named[0]}; add "
                f"them to {other.name}{_or_name_them(other)}{by_row}"
            )
    if len(preds) != len(refs):
        raise JudgeError(
            f"{preds.name} and {refs.name} have no ids to join by, and {len(preds):,} records "
            f"against {len(refs):,}: they cannot be paired; add ids{_or_name_them(refs)}"
        )
    _check_order(preds, refs)


def _check_order(preds: Table, refs: Table) -> None:
    """Raise `JudgeError` where both tables have a field whose values stand in another order."""
    for name in _not_reports(refs):
        for alike in find_columns(_not_reports(preds), name):
            theirs = _texts(refs.columns[name])
            ours = _texts(preds.columns[alike])
            if ours != theirs and Counter(ours) == Counter(theirs):
                raise JudgeError(
                    f"{preds.name} and {refs.name} cannot be paired by position, since the "
                    f"values of {name} stand in another order; add ids{_or_name_them(refs)}"
                )


def _not_reports(table: Table) -> list[str]:
    """Return the columns of a table that hold no reports."""
    reports: set[str] = set()
    for role in REPORT_ROLES:
        reports |= {*columns_for(table.columns, role)}
    return [name for name in table.columns if name not in reports]


def _texts(values: Iterable[object]) -> list[str]:
    return [to_id(value) or str(value) for value in values]


def _or_name_them(table: Table) -> str:
    """Return the advice to name a field, where a table has fields beside its reports."""
    if table.file is None and list(table.columns) == [TEXT]:
        return ", or give study_ids for both sides"
    fields = [name for name in _not_reports(table) if name not in UNNAMED]
    if not fields:
        return ""
    return f", or say which field has them with --column id: {join_names(fields)}"
