"""Panels that tests make."""

from __future__ import annotations

import numpy as np

from judge.stats.metric import Metric, What
from judge.stats.scores import ScoreMatrix
from judge.stats.statistic import InverseMean, Mean, Rate, Statistic


def metric_of(
    kind: type[Statistic],
    name: str,
    label: str | None = None,
    *,
    higher: bool = True,
    study_label: str | None = None,
    what: What = "other",
) -> Metric:
    """A metric whose values have no known scale."""
    statistic = kind(name, name, measures=(name,), higher_is_better=higher, scale=None)
    return Metric(
        name=name,
        label=label or name,
        statistic=statistic,
        study_label=study_label or label or name,
        what=what,
    )


SCORE = metric_of(Mean, "score", what="score")
COST = metric_of(Mean, "cost", higher=False)
INVERSE = metric_of(InverseMean, "inverse", "1/cost", study_label="cost", what="score")
RATE = metric_of(Rate, "rate", "no error", what="rate")


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
