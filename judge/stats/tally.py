"""What models get wrong: the items of a rubric by the two facets of its tally."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from judge.stats.estimate import Estimate, mean_interval

if TYPE_CHECKING:
    from judge.rubrics.contract import Rubric
    from judge.stats.panel import Panel

Cut = tuple[str | None, str]
"""A label of the tally's rows, None for all items, and one of its columns."""


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """How many items a model has in each cut of the tally, a scored study.

    The mean over its scored studies with the interval of a mean that is 0 or more; `numerator`
    counts the items. A cut that is undefined, as one that a reader was not asked for, has no
    value and an n of 0. An item with two labels of the rows is in both, and once in all. `model`
    is its number in the panel.
    """

    model: int
    n_scored: int
    cuts: Mapping[Cut, Estimate]


def cuts(rubric: Rubric) -> dict[Cut, str]:
    """Return the measure that counts each cut of a rubric's tally; empty without a tally."""
    tally = rubric.tally
    if tally is None:
        return {}
    rows = [None, *(label.name for label in rubric.facet(tally.rows).labels)]
    found = {}
    for row in rows:
        for column in rubric.facet(tally.columns).labels:
            labels = {tally.columns: column.name} | ({tally.rows: row} if row else {})
            (measure,) = rubric.counting(tally.kind, labels)
            found[row, column.name] = measure.name
    return found


def item_counts(panel: Panel, rubric: Rubric) -> list[ItemCounts]:
    """Return the items of each model that was judged by `rubric`, in the order of the panel.

    A model of which no study was scored is left out, and every model for a rubric without a
    tally.
    """
    found = []
    clusters = panel.clusters if panel.is_clustered else None
    for model, counts in enumerate(panel.tallies.get(rubric.name, ())):
        is_known = ~np.isnan(counts)
        n_scored = int(is_known.any(axis=0).sum())
        if n_scored:
            cells = {}
            for cut, of, known in zip(cuts(rubric), counts, is_known, strict=True):
                values = of[known].astype(float)
                units = None if clusters is None else clusters[known]
                mean = mean_interval(values, (0.0, None), units)
                cells[cut] = replace(mean, numerator=float(values.sum()))
            found.append(ItemCounts(model, n_scored, cells))
    return found
