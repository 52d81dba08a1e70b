"""Which reports go into the page: those of the studies in which models differ most."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, zip_longest

import numpy as np

from judge.report.compare_page.data import rubric_names
from judge.stats.compare import Comparison
from judge.stats.metric import Metric

MOST_RECORDS = 20_000
"""Records of one study, model and rubric; about half a kilobyte each in the file."""

Wanted = dict[tuple[str, str], set[str]]


def wanted(c: Comparison, *, most: int = MOST_RECORDS) -> Wanted:
    """Return the ids of the studies whose records the page shows, by model and rubric.

    All of them where there are no more than `most`. Otherwise, for each pair of models and
    each metric in turn, the study in which the one is furthest ahead of the other, then the
    next, until `most` are taken; the metric that the models are ranked by comes first.
    """
    panel = c.panel
    rubrics = rubric_names(c)
    found: Wanted = {(model, rubric): set() for model in panel.models for rubric in rubrics}
    if not found:
        return found
    if len(panel.study_ids) * len(found) <= most:
        return {key: set(panel.study_ids) for key in found}
    n = 0
    for row, models in _by_difference(c, most):
        for model in models:
            for rubric in rubrics:
                ids = found[panel.models[model], rubric]
                if panel.study_ids[row] not in ids:
                    if n == most:
                        return found
                    ids.add(panel.study_ids[row])
                    n += 1
    return found


def _by_difference(c: Comparison, most: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    panel = c.panel
    metrics = sorted(panel.metrics, key=lambda metric: metric.name != c.sort)
    n_models = len(panel.models)
    # A model by itself is shown where it is worst.
    pairs: list[tuple[int, ...]] = list(permutations(range(n_models), 2))
    pairs = pairs or [(0,)]
    depth = min(len(panel.study_ids), max(1, most // len(pairs)))
    turns = [(metric, pair) for metric in metrics for pair in pairs]
    for rows in zip_longest(*(_furthest(c, metric, pair, depth) for metric, pair in turns)):
        yield from (
            (row, pair) for row, (_, pair) in zip(rows, turns, strict=True) if row is not None
        )


def _furthest(c: Comparison, metric: Metric, pair: tuple[int, ...], depth: int) -> list[int]:
    """Return the rows in which the first of the pair is furthest ahead, the furthest first."""
    values = c.panel.of_study(metric.name) * (1 if metric.study_higher_is_better else -1)
    if len(pair) == 1:
        ahead = -values[:, pair[0]]
        scored = ~np.isnan(ahead)
    else:
        ahead = values[:, pair[0]] - values[:, pair[1]]
        scored = ahead > 0
    rows = np.flatnonzero(scored)
    if len(rows) > depth:
        # Rows of equal distance are taken in their order, so that the choice is always the same.
        edge = np.partition(ahead[rows], len(rows) - depth)[len(rows) - depth]
        rows = rows[ahead[rows] >= edge]
    rows = rows[np.argsort(-ahead[rows], kind="stable")]
    return [int(row) for row in rows[:depth]]
