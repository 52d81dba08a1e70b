"""Everything that is said of several models on the same studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.stats.correlation import Correlations, correlations
from judge.stats.metric import Metric, find
from judge.stats.paired import PairTest, Resampling, compare_pairs, few_flips
from judge.stats.panel import Group, Panel, group_cells, groups_of
from judge.stats.ranks import RankShares
from judge.types import JudgeError


@dataclass(frozen=True)
class Comparison:
    """A leaderboard with its tests.

    `order` lists the models' numbers in the panel, best first by the metric `sort`; those
    without a figure come last. `groups` begins with all studies, then one a group of `by`.
    `tests` and `places` have one entry a group, by metric; they are empty where no tests
    were asked for. The family of Holm's correction is all pairs of one metric and group.
    """

    panel: Panel
    sort: str
    order: tuple[int, ...]
    by: tuple[str, ...]
    groups: tuple[Group, ...]
    tests: tuple[Mapping[str, tuple[PairTest, ...]], ...]
    places: tuple[Mapping[str, tuple[RankShares | None, ...]], ...]
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
    """Compare the models of `panel`, ranked by `sort` (a name or label; default: the first).

    Without `how` nothing is tested; with too few flips for so many models a note says so.
    Raises `JudgeError` for an unknown metric or field, and where no study is left to compare.
    """
    if not panel.study_ids:
        raise JudgeError("no study to compare")
    metric = panel.metrics[0] if sort is None else find(panel.metrics, sort)
    parts = [({}, panel), *(groups_of(panel, by) if by else [])]
    groups = tuple(group_cells(part, key) for key, part in parts)
    results = [compare_pairs(part, key, how) for key, part in parts] if how else []
    too_few = few_flips(results, how) if how else None
    scores = [m for m in panel.metrics if m.what in ("score", "other")]
    return Comparison(
        panel=panel,
        sort=metric.name,
        order=model_order(groups[0], metric.name),
        by=tuple(dict.fromkeys(by)),
        groups=groups,
        tests=tuple(result.pairs for result in results),
        places=tuple(result.places for result in results),
        correlations=correlations(panel) if len(scores) > 1 else None,
        how=how,
        signature=signature,
        notes=(*notes, *([too_few] if too_few else [])),
    )


def model_order(group: Group, metric: str) -> tuple[int, ...]:
    """Return the models' numbers by their place in a group, those without one last."""
    places = [cell.rank for cell in group.cells[metric]]
    last = len(places) + 1
    return tuple(sorted(range(len(places)), key=lambda at: places[at] or last))
