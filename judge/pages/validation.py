"""What the page of judges and readers holds: tables, all counts, some of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judge.pages import FRONTEND
from judge.pages.comparison import record_view
from judge.pages.frontend import as_json
from judge.pages.run import counts, declared
from judge.rubrics import Rubric
from judge.stats.agreement import mean_of
from judge.stats.correlation import Codes
from judge.stats.panel import Values
from judge.tables.validation import facts, tables
from judge.text import group_value

MARK = "<!doctype html><!-- judge validate -->"
"""How such a file begins, so that it is known again."""
MOST_RECORDS = 20_000
"""Records of one study and rater; about half a kilobyte each in the file."""
_PACKET = 20
"""Studies a packet: opening one unpacks its neighbours too, and more compress better."""


Records = Sequence[Mapping[str, Mapping[str, Any]]]
"""A rater's records by study id, a rater each: as a run keeps them."""


@dataclass(frozen=True, slots=True)
class PageRater:
    """A judge or a reader as the page calls them, and the rubric as they used it."""

    name: str
    is_reader: bool
    rubric: Rubric


@dataclass(frozen=True, slots=True)
class Beside:
    """What raters, the judges first, said of studies, beside what `validate` `found` in it.

    `values` has by quantity an array of studies by raters, NaN for nothing said.
    """

    found: Mapping[str, Any]
    raters: tuple[PageRater, ...]
    study_ids: tuple[str, ...]
    study_classes: tuple[str | None, ...]
    values: Mapping[str, Values]

    @property
    def n_judges(self) -> int:
        """How many of the raters are judges."""
        return sum(not rater.is_reader for rater in self.raters)

    @property
    def counted(self) -> dict[str, str]:
        """The quantities that are counts, each with its label, in their order."""
        return {one["quantity"]: one["label"] for one in self.found["limits"]}

    @property
    def categories(self) -> frozenset[str]:
        """The quantities that are counts of one category."""
        return frozenset(one["quantity"] for one in self.found["limits"] if one["category"])


def wanted(of: Beside, *, most: int = MOST_RECORDS) -> list[int]:
    """Return the studies, by row, whose reports the page has.

    All of them where that is no more than `most` records. Otherwise one study of each cell in
    turn, a cell being what a judge and the readers counted alike: so every cell has some, and
    those of few studies, where judge and readers are far apart, have all. Of cells with as many
    before them, the furthest apart comes first.
    """
    n = len(of.study_ids)
    n_wanted = most // len(of.raters)
    if n <= n_wanted:
        return list(range(n))
    turns: list[tuple[Codes, Codes, Values]] = []
    for name in of.counted:
        if name in of.categories:
            continue
        grid = of.values[name]
        readers = mean_of(grid[:, of.n_judges :])
        for judge in grid[:, : of.n_judges].T:
            rows = np.flatnonzero(~(np.isnan(judge) | np.isnan(readers)))
            pairs = np.column_stack([judge[rows], readers[rows]])
            cell = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
            turns.append((rows, _place_within(cell), np.abs(judge[rows] - readers[rows])))
    if not turns:
        return list(range(n_wanted))
    rows, places = (np.concatenate([turn[at] for turn in turns]) for at in (0, 1))
    apart = np.concatenate([turn[2] for turn in turns])
    in_turn = rows[np.lexsort((rows, -apart, places))]
    return sorted(int(row) for row in list(dict.fromkeys(in_turn.tolist()))[:n_wanted])


def _place_within(group: Codes) -> Codes:
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], group[order])
    places = np.empty(len(group), dtype=np.intp)
    places[order] = np.arange(len(group)) - starts
    return places


def page(of: Beside, rows: Sequence[int], records: Records) -> Iterator[str]:
    """Yield the file piece by piece; `records` are those of the studies in `rows`.

    A study without them is shown with its counts alone. The same input gives the same text.
    """
    return FRONTEND.file(MARK, "validation", "Judges and readers", _pieces(of, rows, records))


def _pieces(of: Beside, rows: Sequence[int], records: Records) -> Iterator[tuple[str, bytes]]:
    yield "overview", as_json(overview(of, rows))
    yield "columns", as_json(columns(of, rows))
    for number, name in enumerate(of.counted):
        yield f"counts-{number}", counted(of, name)
    for number, packet in enumerate(packets(of, rows, records)):
        yield f"packet-{number}", as_json(packet)


def overview(of: Beside, rows: Sequence[int]) -> dict[str, Any]:
    """Return all but the single studies, as JSON's types."""
    found = of.found
    return {
        "format": 1,
        "facts": [{"name": name, "value": value} for name, value in facts(found)],
        "tables": [table.plain() for table in tables(found)],
        "raters": [
            {
                "name": rater.name,
                "is_reader": rater.is_reader,
                "rubric": {
                    "title": rater.rubric.title,
                    **declared(rater.rubric),
                    "counts": counts(rater.rubric),
                },
            }
            for rater in of.raters
        ],
        "quantities": [{"name": name, "label": label} for name, label in of.counted.items()],
        "limits": [
            {
                "quantity": one["quantity"],
                "judge": one["judge"],
                "reason": one["bias"].get("reason"),
                **{
                    name: {end: one[name][end] for end in ("value", "low", "high")}
                    for name in ("bias", "lower", "upper")
                },
            }
            for one in found["limits"]
        ],
        "studies": {"here": len(rows), "all": len(of.study_ids)},
        "signature": found["signature"],
    }


def columns(of: Beside, rows: Sequence[int]) -> dict[str, Any]:
    """Return ids and classes of all studies, and the packet of each one's reports, -1 for none."""
    packets = [-1] * len(of.study_ids)
    for place, row in enumerate(rows):
        packets[row] = place // _PACKET
    return {
        "study_id": list(of.study_ids),
        "study_class": [group_value(one) for one in of.study_classes],
        "packets": packets,
    }


def counted(of: Beside, name: str) -> bytes:
    """Return the counts of a quantity as numbers of 8 bytes, rater by rater; NaN for nothing."""
    return of.values[name].T.astype("<f8").tobytes()


def packets(of: Beside, rows: Sequence[int], records: Records) -> Iterator[dict[str, Any]]:
    """Yield the studies' reports, a packet at a time: by row, what each rater said."""
    for start in range(0, len(rows), _PACKET):
        yield {
            str(row): [
                {"rater": at, **record_view(said[of.study_ids[row]], rater.rubric)}
                for at, (rater, said) in enumerate(zip(of.raters, records, strict=True))
                if of.study_ids[row] in said
            ]
            for row in rows[start : start + _PACKET]
        }
