"""Which reports go into the page: those of the studies in which models differ most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judge.report.compare_page.data import rubric_names
from judge.stats.compare import Comparison
from judge.stats.metric import Metric

MOST_RECORDS = 20_000
"""Records of one study, model and rubric; about half a kilobyte each in the file."""

Wanted = dict[tuple[str, str], set[str]]


def wanted(c: Comparison, *, most: int = MOST_RECORDS) -> Wanted:
    """Return the ids of the studies whose records the page shows, by model and rubric.

    All of them where there are no more than `most`. Otherwise the studies in which the best and
    the worst model are furthest apart, by each metric in turn, that of the ranks first.
    """
    panel = c.panel
    keys = [(model, rubric) for model in panel.models for rubric in rubric_names(c)]
    n = most // max(1, len(keys))
    if len(panel.study_ids) <= n:
        return {key: set(panel.study_ids) for key in keys}
    metrics = sorted(panel.metrics, key=lambda metric: metric.name != c.sort)
    in_turn = np.stack([_furthest_first(c, metric) for metric in metrics], axis=1).ravel()
    rows = list(dict.fromkeys(in_turn.tolist()))[:n]
    return {key: {panel.study_ids[row] for row in rows} for key in keys}


def _furthest_first(c: Comparison, metric: Metric) -> NDArray[np.intp]:
    values = c.panel.of_study(metric.name) * (1 if metric.study_higher_is_better else -1)
    scored = ~np.isnan(values)
    # A model by itself is shown where it is worst.
    best = 0.0 if values.shape[1] == 1 else np.where(scored, values, -np.inf).max(axis=1)
    apart = best - np.where(scored, values, np.inf).min(axis=1)
    return np.argsort(-apart, kind="stable")
