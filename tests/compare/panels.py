"""Panels that tests make."""

from __future__ import annotations

import numpy as np

from judge.stats.metric import Metric
from judge.stats.scores import ScoreMatrix

SCORE = Metric("score", "score", "mean", True, "score", True, what="score")
COST = Metric("cost", "cost", "mean", False, "cost", False)
INVERSE = Metric("inverse", "1/cost", "inverse", True, "cost", False, what="score")
RATE = Metric("rate", "no error", "rate", True, "no error", True, what="rate")


def panel_of(
    values: dict[Metric, object], clusters: object = None, **fields: object
) -> ScoreMatrix:
    """A panel of models a, b, c, ... from arrays of studies by models."""
    grids = {
        metric.name: np.asarray(grid, dtype=float) for metric, grid in values.items()
    }
    n, m = next(iter(grids.values())).shape
    return ScoreMatrix(
        tuple("abcdefghijklmnopqrstuvwxyz"[:m])
        if m <= 26
        else tuple(map(str, range(m))),
        tuple(f"s{row}" for row in range(n)),
        tuple(values),
        grids,
        {name: tuple(column) for name, column in fields.items()},
        None if clusters is None else np.asarray(clusters, dtype=np.int64),
        None if clusters is None else "patient",
    )
