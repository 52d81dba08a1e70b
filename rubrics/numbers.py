"""The numbers that a rubric gives: those of a study, and those of a set of studies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Literal

Scale = tuple[float | None, float | None]
"""The least and the greatest value that a study can have; None where there is no such end."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The items that a measure counts: those of a kind that carry all of the labels.

    An item with two values of a facet is counted for both.
    """

    kind: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a study, a column of the table of studies.

    `undefined` says in a few words when a study has none ("no fact in the candidate"); None
    for a measure that every scored study has. `role` is where it is shown: a `score` in lists,
    filters and histograms, a `count` in lists, a `check` with the scores of a single study,
    `other` in the table of studies, and in lists where a reader asks for it. `counts` is there
    for a measure that counts items; `needs` names what else it is made of that not every reader
    is asked for (`rubrics.reading`): a kind of items, a label (the end of a scale), the `edit` of
    an item, the `reference`.
    """

    name: str
    label: str
    scale: Scale = (0, None)
    higher_is_better: bool = False
    role: Literal["score", "count", "check", "other"] = "other"
    unit: str = ""
    is_whole: bool = False
    undefined: str | None = None
    counts: Counted | None = None
    needs: tuple[str, ...] = ()

    def has(self, value: float) -> bool:
        """Whether a study can have this value."""
        low, high = self.scale
        return (
            isinstance(value, (float, int, Real))
            and (low is None or value >= low)
            and (high is None or value <= high)
            and math.isfinite(value)
            and not (self.is_whole and value % 1)
        )


@dataclass(frozen=True, slots=True)
class Statistic:
    """One number of a set of studies.

    A `mean` is that of the sum of the `measures` over the studies that have them; with
    `is_reciprocal` it is 1 / that mean. A `rate` is the share of the studies of which all the
    `measures` are 0. A `ratio` is the sum of the `measures` over all studies divided by that of
    `per`. Studies of which a measure is undefined are in neither part, and are counted beside
    it. Means have a normal interval on the `scale`, which has to hold all values of the measure;
    rates have Wilson's, ratios one by bootstrap.

    `label` is short; `definition` says what it is where other rubrics' statistics stand beside
    it. `study_label` is what it says of one study. `shown` is where it is printed: at the `head`
    of a run, for each of the `groups`, and where models are compared (`compare`). `rexrank` is
    the column of ReXrank's result tables that it fills.
    """

    name: str
    label: str
    kind: Literal["mean", "rate", "ratio"]
    measures: tuple[str, ...]
    higher_is_better: bool
    per: tuple[str, ...] = ()
    is_reciprocal: bool = False
    scale: Scale = (0, None)
    definition: str | None = None
    study_label: str | None = None
    shown: frozenset[Literal["head", "groups", "compare"]] = frozenset({"groups", "compare"})
    rexrank: str | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A measure that studies are sorted by, and whether its largest value comes first."""

    measure: str
    largest_first: bool
