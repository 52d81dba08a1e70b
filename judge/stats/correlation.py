"""How metrics agree over studies: Pearson, Spearman and Kendall's tau-b."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from judge.stats.metric import negated_label
from judge.stats.panel import Panel, Values

Matrix = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Correlations:
    """The correlation of each pair of metrics, metrics by metrics.

    `labels` have a minus where values were negated. `n` counts the pairs of a study and
    a model that have both values. A cell is None where there are fewer than two, or one of the
    metrics has one value only.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    n: tuple[tuple[int, ...], ...]
    pearson: Matrix
    spearman: Matrix
    kendall: Matrix


def correlations(panel: Panel) -> Correlations:
    """Return how the scores agree over all studies and models together.

    Takes the rubrics' scores and the metrics that came from files, study by study. Where
    less is better the values are negated, so that agreement is positive.
    """
    metrics = [metric for metric in panel.metrics if metric.what in ("score", "other")]
    columns = [
        panel.of_study(metric.name).ravel() * (1 if metric.study_higher_is_better else -1)
        for metric in metrics
    ]
    known = ~np.isnan(columns)
    n = known.astype(int) @ known.T.astype(int)
    return Correlations(
        tuple(metric.name for metric in metrics),
        tuple(negated_label(metric) for metric in metrics),
        tuple(tuple(map(int, row)) for row in n),
        correlation(columns, "pearson"),
        correlation(columns, "spearman"),
        correlation(columns, "kendall"),
    )


def correlation(
    columns: Sequence[Values], method: Literal["pearson", "spearman", "kendall"]
) -> Matrix:
    """Return the correlation of each pair of `columns`, over the rows where both have a value.

    Equal values share their mean rank in Spearman's; Kendall's is tau-b. None where fewer
    than two pairs are known, or one of the two has a single value.
    """
    import pandas as pd

    table = pd.DataFrame(dict(enumerate(columns)))
    # About their mean, since pandas' sums lose digits where values are far from 0.
    table = table - table.mean() if method == "pearson" else table
    found = table.corr(method=method).to_numpy(copy=True)
    # Kendall's of a column with itself is 1 in pandas, even where the column is constant.
    is_constant = [len(np.unique(column[~np.isnan(column)])) < 2 for column in columns]
    found[is_constant, is_constant] = np.nan
    # One metric may be a multiple of the other: rounding must not step beyond 1.
    clipped = np.clip(found, -1.0, 1.0)
    return tuple(tuple(None if np.isnan(v) else float(v) for v in row) for row in clipped)
