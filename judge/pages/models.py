"""What the pages of results share: the models of their data, in which each value has its text.

A page is given these as JSON, by the service's API or in its own file. Numbers are there for
sorting, filtering and drawing; what is read is always a text that was made here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from judge.rubrics.contract import Tone
from judge.stats.estimate import Estimate
from judge.tables.document import Fact as PrintedFact
from judge.tables.document import Table
from judge.text import natural_rank

Number = int | float
Value = str | int | float
MISSING = -1
"""The code of a study that has no value in a column."""
NO_CLASS = "(none)"
"""What is shown of a study without a class."""
_MAX_CHOICES, _MAX_CHOICE = 200, 100
_FEW_CHOICES = 12


class PageModel(BaseModel):
    """A part of a page's data; all its fields are always there."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class Fact(PageModel):
    """A name, and what is known."""

    name: str
    value: str


def facts_of(facts: Iterable[PrintedFact]) -> list[Fact]:
    """Return facts as a page has them."""
    return [Fact(name=name, value=value) for name, value in facts]


class PrintedTable(PageModel):
    """A table as a terminal prints it; its first `n_left` columns are words."""

    title: str
    head: list[str]
    rows: list[list[str]]
    note: str
    n_left: int

    @classmethod
    def of(cls, table: Table) -> PrintedTable:
        """Return a table as it is printed."""
        return cls(
            title=table.title,
            head=list(table.head),
            rows=[list(row) for row in table.texts],
            note=table.note,
            n_left=table.n_left,
        )


class Noun(PageModel):
    """What is counted: `study`, `studies`."""

    one: str
    many: str


class Tile(PageModel):
    """A headline figure: its name, its value, and what is to be known of it."""

    label: str
    text: str
    more: str


class BarPart(PageModel):
    """A part of a bar: its share of the longest bar there can be."""

    share: float
    tone: Tone | None


class Bar(PageModel):
    """A row of a figure: all that the bar shows is in its `text` too.

    `low` and `high` are the ends of its interval, as shares.
    """

    name: str
    text: str
    parts: list[BarPart]
    low: float | None
    high: float | None


class LegendEntry(PageModel):
    """What a colour means."""

    text: str
    tone: Tone | None


class Bars(PageModel):
    """A figure of bars."""

    title: str
    note: str
    legend: list[LegendEntry]
    rows: list[Bar]


class ShownCode(PageModel):
    """The code of a label, and the label in words."""

    text: str
    title: str


ColumnKind = Literal[
    "id", "class", "score", "count", "codes", "outcome", "field", "number"
]


class ListColumn(PageModel):
    """A column of a list of studies.

    `texts` are its different values in order, least first. `codes` has for each row of the run the
    place of its value among them, -1 where it has none; then `missing` is shown. `numbers` are the
    same values as numbers, null in a column of texts. `parts` has the codes that a text is made of,
    null in other columns. A column that is not `is_shown` is there for a filter.
    """

    name: str
    label: str
    kind: ColumnKind
    tone: Tone | None
    is_shown: bool
    largest_first: bool = Field(description="How it is sorted at first.")
    missing: str
    texts: list[str]
    numbers: list[Number] | None
    codes: list[int]
    parts: list[list[ShownCode]] | None


class Choice(PageModel):
    """A value to filter by: a row fits whose code is one of `codes`."""

    value: str
    text: str
    codes: list[int]


class ListFilter(PageModel):
    """A filter of a list; `name` is what the address calls it.

    `choice`: by one of the `choices`. `text`: by a part of the column's text. `at_least` and
    `at_most`: by the column's number. `items`: by the label of one item, together with the other
    filters of this kind; `ItemCounts` says which columns count them.
    """

    name: str
    label: str
    kind: Literal["choice", "text", "at_least", "at_most", "items"]
    column: str
    choices: list[Choice]
    is_folded: bool


class ItemCounts(PageModel):
    """The columns that count the items which carry all of some labels, by the filters' names."""

    labels: dict[str, str]
    columns: list[str]


class StudyList(PageModel):
    """The studies of a page in columns, with the filters of the list.

    `order` are the rows in the order in which the list begins, which `ordered` names. A file has
    its studies in packets of `packet`.
    """

    noun: Noun
    order: list[int]
    ordered: str
    columns: list[ListColumn]
    filters: list[ListFilter]
    item_counts: list[ItemCounts]
    packet: int


STUDIES = Noun(one="study", many="studies")


def list_column(
    name: str,
    label: str,
    values: Sequence[Value | None],
    *,
    kind: ColumnKind,
    text: Callable[[Any], str] = str,
    tone: Tone | None = None,
    is_shown: bool = True,
    largest_first: bool = False,
    missing: str = "",
    parts: Callable[[str], list[ShownCode]] | None = None,
) -> ListColumn:
    """Return a column of these values; `text` prints one, `parts` gives the codes in one."""
    # 1 and "1" are two values, and so is each of its texts.
    found = {
        (type(value).__name__, value): value for value in values if value is not None
    }
    different = sorted(found, key=lambda key: natural_rank(found[key]))
    places = {key: place for place, key in enumerate(different)}
    codes = []
    for value in values:
        code = MISSING
        if value is not None:
            code = places[type(value).__name__, value]
        codes.append(code)
    numbers: list[Number] | None = []
    for key in different:
        value = found[key]
        if isinstance(value, str) or numbers is None:
            numbers = None
        else:
            numbers.append(value)
    shown_parts = None
    if parts is not None:
        shown_parts = [parts(str(found[key])) for key in different]
    return ListColumn(
        name=name,
        label=label,
        kind=kind,
        tone=tone,
        is_shown=is_shown,
        largest_first=largest_first,
        missing=missing,
        texts=[text(found[key]) for key in different],
        numbers=numbers,
        codes=codes,
        parts=shown_parts,
    )


def value_filter(
    name: str, label: str, column: ListColumn, *, is_folded: bool | None = None
) -> ListFilter:
    """Return a filter by the values of a column; of too many, or long ones, by a part of them.

    Without `is_folded` one with few values is in sight, and one with a single value is not.
    """
    codes: dict[str, list[int]] = {}
    for code, text in enumerate(column.texts):
        codes.setdefault(text, []).append(code)
    is_long = any(len(text) > _MAX_CHOICE for text in codes)
    if is_long or len(codes) > _MAX_CHOICES:
        return ListFilter(
            name=name,
            label=f"{label} contains",
            kind="text",
            column=column.name,
            choices=[],
            is_folded=is_folded is not False,
        )
    choices = [
        Choice(value=text, text=text, codes=of_text) for text, of_text in codes.items()
    ]
    if is_folded is None:
        is_folded = not 2 <= len(choices) <= _FEW_CHOICES
    return ListFilter(
        name=name,
        label=label,
        kind="choice",
        column=column.name,
        choices=choices,
        is_folded=is_folded,
    )


def range_filters(name: str, label: str, column: ListColumn) -> list[ListFilter]:
    """Return the filters by the least and by the largest number of a column."""
    ends: Mapping[Literal["at_least", "at_most"], tuple[str, str]] = {
        "at_least": ("min", "at least"),
        "at_most": ("max", "at most"),
    }
    filters = []
    for kind, (prefix, words) in ends.items():
        end = ListFilter(
            name=f"{prefix}.{name}",
            label=f"{label} {words}",
            kind=kind,
            column=column.name,
            choices=[],
            is_folded=True,
        )
        filters.append(end)
    return filters


def interval_ends(estimate: Estimate) -> tuple[float | None, float | None]:
    """Return the ends of an interval, none where there is no value."""
    if estimate.value is None:
        return None, None
    return estimate.low, estimate.high
