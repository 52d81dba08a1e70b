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
    counts the items. An item with two labels of the rows is in both, and once in all. `model` is
    its number in the panel.
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
    counted = cuts(rubric)
    grids = panel.tallies.get(rubric.name)
    if grids is None:
        return []
    found = []
    for model in range(len(panel.models)):
        columns = grids[:, :, model]
        scored = columns[:, ~np.isnan(columns).any(axis=0)]
        if scored.shape[1]:
            estimates = [
                replace(mean_interval(one.tolist(), (0, None)), numerator=float(one.sum()))
                for one in scored
            ]
            cells = dict(zip(counted, estimates, strict=True))
            found.append(ItemCounts(model, scored.shape[1], cells))
    return found
