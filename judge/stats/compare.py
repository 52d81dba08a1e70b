"""Everything that is said of several models on the same studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from judge.stats.correlation import without_noise
from judge.stats.metric import MINUS, Metric, find
from judge.stats.paired import PairTest, Resampling, Tested, compare_pairs, few_flips
from judge.stats.panel import Group, Panel, RankShares, Values, group_cells, groups_of
from judge.stats.resample import LEAST_UNITS
from judge.types import JudgeError

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


@dataclass(frozen=True)
class Comparison:
    """A leaderboard with its tests.

    `order` lists the models' numbers in the panel, best first by the metric `sort`; those
    without a figure come last. `groups` begins with all studies, then one a group of `by`.
    `tests` and `rank_shares` have one entry a group, by metric; they are empty where no tests
    were asked for.
    """

    panel: Panel
    sort: str
    order: tuple[int, ...]
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    tests: tuple[Mapping[str, tuple[PairTest, ...]], ...]
    rank_shares: tuple[Mapping[str, tuple[RankShares | None, ...]], ...]
    correlations: Correlations | None
    how: Resampling | None
    signature: str
    notes: tuple[str, ...] = ()

    @property
    def sorted_by(self) -> Metric:
        """The metric that the models are ranked by."""
        return self.panel.metric(self.sort)


def compare(
    panel: Panel,
    *,
    sort: str | None = None,
    by: Sequence[str] = (),
    how: Resampling | None = None,
    signature: str = "",
    notes: Sequence[str] = (),
) -> Comparison:
    """Compare the models of `panel`, ranked by `sort`, a metric's name or label.

    By default that is the first of the metrics of which the most models have a figure. Without
    `how` nothing is tested. Raises `JudgeError` for an unknown metric or field, and where no study
    is left to compare.
    """
    if not panel.study_ids:
        raise JudgeError("no study to compare")
    asked = find(panel.metrics, sort) if sort is not None else None
    parts = [({}, panel), *(groups_of(panel, by) if by else [])]
    groups = tuple(group_cells(part, key) for key, part in parts)
    results = [compare_pairs(part, key, how) for key, part in parts] if how else []
    all_cells = groups[0].cells
    metric = asked or max(
        panel.metrics, key=lambda m: sum(cell.value is not None for cell in all_cells[m.name])
    )
    more = []
    if panel.is_clustered:
        more.append(f"intervals of single figures are by {panel.patient_field}")
    more += _lacking(panel, groups, results)
    if how:
        more += _test_notes(results, how)
    scores = [m for m in panel.metrics if m.what in ("score", "other")]
    return Comparison(
        panel=panel,
        sort=metric.name,
        order=model_order(groups[0], metric.name),
        by=tuple(dict.fromkeys(by)),
        groups=groups,
        tests=tuple(result.pairs for result in results),
        rank_shares=tuple(result.rank_shares for result in results),
        correlations=correlations(panel) if len(scores) > 1 else None,
        how=how,
        signature=signature,
        notes=(*notes, *more),
    )


def _test_notes(results: Sequence[Tested], how: Resampling) -> list[str]:
    pairs = results[0].pairs
    n = max(
        sum(test.p is not None for metric in family for test in pairs[metric])
        for family in how.families(pairs)
    )
    notes = []
    if n > 1:
        what = "the pairs of models of each metric" if how.family == "metric" else "a table"
        alone = f"; those of {how.primary} are corrected by themselves" if how.primary else ""
        notes.append(f"p (Holm) is corrected for all tests of {what}, up to {n:,}{alone}")
    if (too_few := few_flips(results, how)) is not None:
        notes.append(too_few)
    tests = [test for result in results for of in result.pairs.values() for test in of]
    if any(test.p is not None and test.n_units < LEAST_UNITS for test in tests):
        notes.append(
            f"differences of fewer than {LEAST_UNITS} patients or studies have no interval"
        )
    if any(test.contradicts for test in tests):
        notes.append(
            "an interval that excludes 0 beside p above 0.05, or the other way, is a close case: "
            "bootstrap and test are two methods; go by p"
        )
    return notes


_LACK = {
    "inverse": "the mean {} of {} is 0 or less",
    "ratio": "what the {} of {} is divided by is 0",
}


def _lacking(panel: Panel, groups: Sequence[Group], results: Sequence[Tested]) -> list[str]:
    """Return notes of the models without a reciprocal or a ratio, in some group or resample."""
    notes = []
    for metric in panel.metrics:
        if metric.kind not in _LACK:
            continue
        lack = _LACK[metric.kind]
        cells = [group.cells[metric.name] for group in groups]
        own = [
            {model for model, cell in enumerate(of) if cell.n and cell.value is None}
            for of in cells
        ]
        drawn = [set(result.no_reciprocal[metric.name]) for result in results]
        if any(own):
            notes.append(
                f"{lack.format(metric.study_label, _models(panel, own))}: "
                f"{metric.label} is not defined and n/a there"
            )
        if any(drawn):
            notes.append(
                f"{lack.format(metric.study_label, _models(panel, drawn))} in some resamples: "
                f"{metric.label} has no intervals of differences and no shares of ranks there"
            )
    return notes


def _models(panel: Panel, found: Sequence[set[int]]) -> str:
    names = ", ".join(panel.models[model] for model in sorted(set().union(*found)))
    n = sum(map(bool, found))
    return names if len(found) == 1 else f"{names} (in {n} of {len(found)} groups)"


def model_order(group: Group, metric: str) -> tuple[int, ...]:
    """Return the models' numbers by their rank in a group, those without one last."""
    ranks = [cell.rank for cell in group.cells[metric]]
    last = len(ranks) + 1
    return tuple(sorted(range(len(ranks)), key=lambda model: ranks[model] or last))


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
        tuple(
            m.study_label if m.study_higher_is_better else f"{MINUS} {m.study_label}"
            for m in metrics
        ),
        tuple(map(tuple, n.tolist())),
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

    # Values that differ in the last bit alone are ties.
    table = pd.DataFrame(dict(enumerate(map(without_noise, columns))))
    # About their mean, since pandas' sums lose digits where values are far from 0.
    table = table - table.mean() if method == "pearson" else table
    found = table.corr(method=method).to_numpy(copy=True)
    # Kendall's of a column with itself is 1 in pandas, even where the column is constant.
    is_constant = [len(np.unique(column[~np.isnan(column)])) < 2 for column in columns]
    found[is_constant, is_constant] = np.nan
    # One metric may be a multiple of the other: rounding must not step beyond 1.
    clipped = np.clip(found, -1.0, 1.0)
    return tuple(tuple(None if np.isnan(v) else float(v) for v in row) for row in clipped)
