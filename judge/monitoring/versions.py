"""A new version of the model against the one before, on different studies of the same sites.

The studies of two versions are not the same, so `judge gate`'s paired tests do not apply. Versions
are compared within each site, and the differences of the sites are added up [Mantel 1963]: a site
whose patients are sicker counts against neither. What else changed with time is not taken out.

It is looked at a few times only, when the new version has 50, 100, 200, 400, 800 and 1,600 scored
studies, at the end of the period. Each look has a sixth of the 5%, so that a monitor that looks
every night raises no more false alarms than that in all. At each look Holm's method [Holm 1979]
corrects for the metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

import numpy as np

from judge.monitoring.charts import UNSCORED, Studies, is_scored, study_values
from judge.monitoring.feed import DATE, SITE, VERSION
from judge.monitoring.models import Verdict, VersionTestEntry
from judge.monitoring.periods import Period
from judge.rubrics import Rubric
from judge.stats.intervals import Z_95, Bools, Values
from judge.stats.metric import rubric_metrics
from judge.stats.significance import ALPHA, holm

LOOKS = (50, 100, 200, 400, 800, 1600)
"""The numbers of scored studies of a new version at which it is tested."""
LEAST_EARLIER = 50
"""The least number of scored studies of the version before."""
PERIODS_BEFORE = 8
"""How many periods before the first study of a new version its predecessor's studies count."""
_LEAST_OF_SITE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedTest:
    """The difference of two means, the first less the second, within strata.

    `low` and `high` are its 95% interval by the normal distribution, `p` is that of the score test
    [Mantel 1963] on both sides. All are None where no stratum has two values of both, the interval
    also where nothing varies. `n` and `n_earlier` values are in strata that have both.
    """

    n: int
    n_earlier: int
    value: float | None = None
    baseline: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tested:
    """A metric of the test: each study's value, NaN where it has none."""

    name: str
    label: str
    is_share: bool
    higher_is_better: bool
    values: Values


def stratified_test(
    values: Values, is_new: Bools, strata: Sequence[object]
) -> StratifiedTest:
    """Compare the means of the new and of the other values within each stratum.

    A stratum's weight is n_new x n_other / (n_new + n_other). `value` and `baseline` are the plain
    means of the values that are compared.
    """
    places: dict[object, list[int]] = {}
    for row, stratum in enumerate(strata):
        places.setdefault(stratum, []).append(row)
    total = weights = variance = squared_error = 0.0
    used_new: list[Values] = []
    used_other: list[Values] = []
    for rows in places.values():
        here = values[rows]
        new, other = here[is_new[rows]], here[~is_new[rows]]
        if len(new) < _LEAST_OF_SITE or len(other) < _LEAST_OF_SITE:
            continue
        used_new.append(new)
        used_other.append(other)
        n = len(here)
        weight = len(new) * len(other) / n
        total += weight * float(new.mean() - other.mean())
        weights += weight
        variance += weight * float(here.var(ddof=1))
        errors = float(new.var(ddof=1) / len(new) + other.var(ddof=1) / len(other))
        squared_error += weight**2 * errors
    if not weights:
        return StratifiedTest(n=0, n_earlier=0)
    difference = total / weights
    p = 1.0
    low = high = None
    if variance > 0:
        p = math.erfc(abs(total) / math.sqrt(2 * variance))
    if squared_error > 0:
        half = Z_95 * math.sqrt(squared_error) / weights
        low, high = difference - half, difference + half
    all_new, all_other = np.concatenate(used_new), np.concatenate(used_other)
    return StratifiedTest(
        n=len(all_new),
        n_earlier=len(all_other),
        value=float(all_new.mean()),
        baseline=float(all_other.mean()),
        difference=difference,
        low=low,
        high=high,
        p=p,
    )


def version_tests(studies: Studies, rubric: Rubric) -> list[VersionTestEntry]:
    """Return the tests of each version against the one before, at each look that was reached."""
    table = studies.table
    if VERSION not in table.columns:
        return []
    first_days: dict[str, str] = {}
    for version, day in zip(table[VERSION], table[DATE], strict=True):
        if isinstance(version, str):
            first_days[version] = min(day, first_days.get(version, day))
    versions = sorted(first_days, key=lambda version: (first_days[version], version))
    metrics = _tested_metrics(studies, rubric)
    tests = []
    for earlier, version in pairwise(versions):
        start = date.fromisoformat(first_days[version])
        for period in _looks(studies, version):
            tests += _look(studies, metrics, (version, earlier), start, period)
    return tests


def _tested_metrics(studies: Studies, rubric: Rubric) -> list[_Tested]:
    """Return the scores, rates and errors of a rubric, and the share without a score."""
    table = studies.table
    metrics = []
    for metric in rubric_metrics(rubric):
        statistic = metric.statistic
        is_mean = statistic.kind in ("mean", "rate")
        if not is_mean:
            continue
        tested = _Tested(
            name=statistic.name,
            label=metric.short,
            is_share=metric.is_share,
            higher_is_better=metric.higher_is_better,
            values=study_values(table, statistic),
        )
        metrics.append(tested)
    unscored = _Tested(
        name=UNSCORED,
        label="studies without a score",
        is_share=True,
        higher_is_better=False,
        values=(~is_scored(table)).astype(float),
    )
    return [*metrics, unscored]


def _looks(studies: Studies, version: str) -> Iterator[Period]:
    """Yield the complete periods at whose end the version first has the studies of a look."""
    table = studies.table
    counts: dict[Period, int] = {}
    is_of_it = (table[VERSION] == version) & is_scored(table)
    for row in np.flatnonzero(is_of_it).tolist():
        period = studies.periods[row]
        counts[period] = counts.get(period, 0) + 1
    n = 0
    reached = 0
    for period in sorted(counts):
        n += counts[period]
        if not studies.is_complete(period):
            return
        n_reached = sum(n >= look for look in LOOKS)
        if n_reached > reached:
            reached = n_reached
            yield period


def _look(
    studies: Studies,
    metrics: Sequence[_Tested],
    versions: tuple[str, str],
    start: date,
    period: Period,
) -> list[VersionTestEntry]:
    """Return the tests of all metrics with the studies until the end of a period."""
    version, earlier = versions
    first = Period.of(start, period.every).before(PERIODS_BEFORE).start.isoformat()
    last = period.end.isoformat()
    table = studies.table
    in_time = table[DATE].between(first, last)
    rows = np.flatnonzero(in_time & table[VERSION].isin(versions))
    chosen = table.take(rows)
    is_new = (chosen[VERSION] == version).to_numpy(dtype=bool)
    strata: Sequence[object] = [""] * len(chosen)
    if SITE in chosen.columns:
        strata = [str(site) for site in chosen[SITE]]
    results = []
    for metric in metrics:
        values = metric.values[rows]
        is_known = ~np.isnan(values)
        known = [strata[row] for row in np.flatnonzero(is_known).tolist()]
        results.append(stratified_test(values[is_known], is_new[is_known], known))
    corrected = holm([result.p for result in results])
    alpha = ALPHA / len(LOOKS)
    entries = []
    for metric, result, p_holm in zip(metrics, results, corrected, strict=True):
        verdict, reason = _verdict(metric, result, p_holm, alpha)
        entries.append(
            VersionTestEntry(
                version=version,
                earlier=earlier,
                period=period.name,
                metric=metric.name,
                label=metric.label,
                kind="share" if metric.is_share else "number",
                higher_is_better=metric.higher_is_better,
                n=result.n,
                n_earlier=result.n_earlier,
                value=result.value,
                baseline=result.baseline,
                difference=result.difference,
                low=result.low,
                high=result.high,
                p=result.p,
                p_holm=p_holm,
                alpha=alpha,
                verdict=verdict,
                reason=reason,
            )
        )
    return entries


def _verdict(
    metric: _Tested, result: StratifiedTest, p_holm: float | None, alpha: float
) -> tuple[Verdict, str]:
    """Return what a test says of the new version, and why it says nothing."""
    if p_holm is None or result.difference is None:
        return "undecided", "no site has studies of both versions"
    n = min(result.n, result.n_earlier)
    if n < LEAST_EARLIER:
        return "undecided", f"fewer than {LEAST_EARLIER} studies of a version"
    is_lower = result.difference < 0
    if p_holm < alpha and is_lower == metric.higher_is_better:
        return "worse", ""
    return "pass", ""
