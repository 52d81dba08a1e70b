"""Control charts: each metric by period, of all studies and of groups, with its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from judge.monitoring.feed import DATE
from judge.monitoring.models import (
    BaselineEntry,
    ChartEntry,
    Kind,
    PointEntry,
    Side,
)
from judge.monitoring.periods import Every, Period
from judge.rubrics import Rubric
from judge.stats.control_limits import (
    Limits,
    count_limits,
    dispersion_of,
    share_limits,
)
from judge.stats.estimate import Estimate
from judge.stats.intervals import USUAL_DRAWS, Bools, Codes, Values, wilson
from judge.stats.metric import rubric_metrics
from judge.stats.statistic import Statistic
from judge.stats.summary import grouped
from judge.text import counted, group_value
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

UNSCORED = "unscored"
LEAST_STUDIES = 30
"""A baseline of fewer scored studies has no limits."""
USUAL_PERIODS: dict[Every, int] = {"week": 8, "month": 3}
"""The periods of a baseline where none are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartedMetric:
    """A metric of the charts; `statistic` is None for the share of studies without a score."""

    name: str
    label: str
    kind: Kind
    higher_is_better: bool
    statistic: Statistic | None = None

    def values(self, table: pd.DataFrame) -> Values:
        """Return each study's value: 1 or 0 for a share, else a count; NaN without one."""
        if self.statistic is None:
            return (~is_scored(table)).astype(float)
        return study_values(table, self.statistic)

    def estimate(self, values: Values, units: Codes | None) -> Estimate:
        """Return the figure of some studies with its 95% interval, as a run has it."""
        if self.statistic is None:
            return wilson(int(values.sum()), len(values))
        return self.statistic.estimate(values, None, units, USUAL_DRAWS)

    def is_bad(self, values: Values) -> Bools:
        """Return which studies count against the model: those with an error, or unscored."""
        bad: Bools = values == 0
        if self.kind == "u" or not self.higher_is_better:
            bad = values > 0
        return bad


@dataclass(frozen=True, slots=True)
class BaselineRule:
    """The periods that limits are made of: the first `n_periods` of each chart, or a range."""

    n_periods: int
    start: date | None = None
    end: date | None = None

    @classmethod
    def read(cls, text: str | None, every: Every) -> Self:
        """Return the rule of `12` or `2026-01-05:2026-03-01`; raises ValueError for another."""
        if text is None:
            return cls(USUAL_PERIODS[every])
        first, colon, last = text.partition(":")
        if not colon:
            number = int(first)
            if number < 1:
                raise ValueError("at least one period is needed")
            return cls(number)
        start, end = date.fromisoformat(first), date.fromisoformat(last)
        if end < start:
            raise ValueError("the range ends before it begins")
        return cls(0, start, end)

    def words(self, every: Every) -> str:
        """Return the rule in words."""
        if self.start is not None and self.end is not None:
            return f"{self.start} to {self.end}"
        periods = counted(self.n_periods, f"complete {every}", f"complete {every}s")
        return f"the first {periods} of each chart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Studies:
    """The judged studies of a monitor by period.

    `periods` has the period of each row of `table`, `units` the number of its patient, None where
    no patient has several studies. `until` is the last day that counts.
    """

    table: pd.DataFrame
    periods: Sequence[Period]
    units: Codes | None
    until: date

    @classmethod
    def of(
        cls, table: pd.DataFrame, every: Every, units: Codes | None, until: date
    ) -> Self:
        """Return the studies that are dated `until` then; the index is numbered anew."""
        days = [date.fromisoformat(str(day)) for day in table[DATE]]
        is_due = np.array([day <= until for day in days], dtype=bool)
        if units is not None:
            units = units[is_due]
        periods = [Period.of(day, every) for day in days if day <= until]
        kept = table[is_due].reset_index(drop=True)
        return cls(table=kept, periods=periods, units=units, until=until)

    def is_complete(self, period: Period) -> bool:
        """Whether the last day of a period has passed."""
        return period.end <= self.until

    @property
    def last_complete(self) -> Period | None:
        """The last complete period with a study."""
        return max(filter(self.is_complete, self.periods), default=None)

    def rows_of(self, rows: Sequence[int], period: Period) -> list[int]:
        """Return those of some rows that are in a period."""
        return [row for row in rows if self.periods[row] == period]

    def groups(self, by: Sequence[str]) -> list[tuple[dict[str, str], list[int]]]:
        """Return all studies, then the groups of each grouping: their fields, and their rows.

        Raises `JudgeError` for a field that the studies lack.
        """
        every: list[tuple[dict[str, str], list[int]]] = []
        every.append(({}, list(range(len(self.table)))))
        if by:
            for key, rows in grouped(self.table, by):
                named = {name: group_value(value) for name, value in key.items()}
                every.append((named, rows))
        return every


def is_scored(table: pd.DataFrame) -> Bools:
    """Return which studies of a table have a score."""
    return np.asarray(table["outcome"] == "scored", dtype=bool)


def study_values(table: pd.DataFrame, statistic: Statistic) -> Values:
    """Return the value of each study of a table; NaN where it has none or no score."""
    columns = {}
    for name in statistic.measures:
        columns[name] = table[name].to_numpy(dtype=float, na_value=np.nan)
    values, _ = statistic.study_values(columns)
    return np.where(is_scored(table), values, np.nan)


def charted_metrics(rubric: Rubric) -> list[ChartedMetric]:
    """Return the metrics of a rubric's charts: its rates, errors per study, and the unscored.

    Raises `JudgeError` for a rubric that counts no errors.
    """
    metrics = []
    for metric in rubric_metrics(rubric):
        is_errors = metric.statistic.name == "errors"
        if metric.what == "rate" or is_errors:
            kind: Kind = "u" if is_errors else "p"
            metrics.append(
                ChartedMetric(
                    name=metric.statistic.name,
                    label=metric.short,
                    kind=kind,
                    higher_is_better=metric.higher_is_better,
                    statistic=metric.statistic,
                )
            )
    if not metrics:
        raise JudgeError(
            f"the rubric {rubric.name} counts no errors, so that a monitor has nothing to chart; "
            "take green, fineradscore, crimson or counts"
        )
    metrics.sort(key=lambda metric: metric.kind)
    unscored = ChartedMetric(
        name=UNSCORED, label="studies without a score", kind="p", higher_is_better=False
    )
    return [*metrics, unscored]


def control_charts(
    studies: Studies,
    metrics: Sequence[ChartedMetric],
    by: Sequence[str],
    rule: BaselineRule,
) -> list[ChartEntry]:
    """Return a chart for each metric of all studies, and for each of every group.

    Raises `JudgeError` for a field that the studies lack.
    """
    values = {metric.name: metric.values(studies.table) for metric in metrics}
    charts = []
    for group, rows in studies.groups(by):
        in_group = _Group(studies, group, rows, rule)
        for metric in metrics:
            charts.append(in_group.chart(metric, values[metric.name]))
    return charts


class _Group:
    """The studies of one group by period, and the periods of its baseline."""

    def __init__(
        self,
        studies: Studies,
        group: dict[str, str],
        rows: Sequence[int],
        rule: BaselineRule,
    ) -> None:
        self._studies, self._group = studies, group
        self._by_period: dict[Period, list[int]] = {}
        for row in rows:
            self._by_period.setdefault(studies.periods[row], []).append(row)
        self._is_scored = is_scored(studies.table)
        self._baseline, self._lacks = self._baseline_of(rule)

    def chart(self, metric: ChartedMetric, values: Values) -> ChartEntry:
        baseline = self._baseline_entry(metric, values)
        points = [
            self._point(period, metric, values, baseline)
            for period in sorted(self._by_period)
        ]
        why = self._lacks
        if baseline is None and not why:
            why = f"no study of the baseline has a value of {metric.label}"
        return ChartEntry(
            metric=metric.name,
            label=metric.label,
            kind=metric.kind,
            higher_is_better=metric.higher_is_better,
            group=self._group,
            baseline=baseline,
            why_no_limits=why,
            points=points,
        )

    def _baseline_of(self, rule: BaselineRule) -> tuple[list[Period], str]:
        """Return the periods of the baseline, and why there are none."""
        complete = list(filter(self._studies.is_complete, sorted(self._by_period)))
        if rule.start is not None and rule.end is not None:
            chosen = []
            for period in complete:
                if rule.start <= period.start and period.end <= rule.end:
                    chosen.append(period)
            n = self._n_scored(chosen)
            if n < LEAST_STUDIES:
                scored = counted(n, "scored study", "scored studies")
                return [], f"no limits: {scored} in the baseline, of {LEAST_STUDIES}"
            return chosen, ""
        chosen = complete[: rule.n_periods]
        # A quiet start needs longer.
        while self._n_scored(chosen) < LEAST_STUDIES and len(chosen) < len(complete):
            chosen = complete[: len(chosen) + 1]
        n = self._n_scored(chosen)
        if len(chosen) < rule.n_periods:
            every = "week"
            if chosen:
                every = chosen[0].every
            so_far = f"{len(chosen)} of {rule.n_periods} complete {every}s"
            return [], f"no limits yet: {so_far}"
        if n < LEAST_STUDIES:
            scored = counted(n, "scored study", "scored studies")
            return [], f"no limits yet: {scored} of {LEAST_STUDIES}"
        return chosen, ""

    def _n_scored(self, periods: Sequence[Period]) -> int:
        n = 0
        for period in periods:
            n += int(self._is_scored[self._by_period[period]].sum())
        return n

    def _baseline_entry(
        self, metric: ChartedMetric, values: Values
    ) -> BaselineEntry | None:
        if not self._baseline:
            return None
        rows: list[int] = []
        for period in self._baseline:
            rows += self._by_period[period]
        known = values[rows]
        known = known[~np.isnan(known)]
        if not len(known):
            return None
        dispersion = 1.0
        if metric.kind == "u":
            dispersion = dispersion_of(known)
        k = round(float(known.sum()))
        return BaselineEntry(
            start=self._baseline[0].start.isoformat(),
            end=self._baseline[-1].end.isoformat(),
            n_periods=len(self._baseline),
            k=k,
            n=len(known),
            centre=k / len(known),
            dispersion=dispersion,
        )

    def _point(
        self,
        period: Period,
        metric: ChartedMetric,
        values: Values,
        baseline: BaselineEntry | None,
    ) -> PointEntry:
        rows = np.array(self._by_period[period])
        rows_known = rows[~np.isnan(values[rows])]
        known = values[rows_known]
        units = None
        if self._studies.units is not None:
            units = self._studies.units[rows_known]
        n = len(known)
        k = round(float(known.sum()))
        estimate = Estimate(n=0)
        if n:
            estimate = metric.estimate(known, units)
        limits = None
        if baseline is not None and n:
            limits = _limits(metric.kind, baseline, n)
        in_baseline = period in self._baseline
        is_complete = self._studies.is_complete(period)
        signal = None
        is_after = bool(self._baseline) and period > self._baseline[-1]
        if limits is not None and is_complete and is_after:
            signal = _signal(k / n, limits, higher_is_better=metric.higher_is_better)
        return PointEntry(
            period=period.name,
            start=period.start.isoformat(),
            end=period.end.isoformat(),
            is_complete=is_complete,
            in_baseline=in_baseline,
            n_studies=len(rows),
            n_unscored=int((~self._is_scored[rows]).sum()),
            k=k,
            n=n,
            value=k / n if n else None,
            low=estimate.low,
            high=estimate.high,
            lower=None if limits is None else limits.low,
            upper=None if limits is None else limits.high,
            signal=signal,
        )


def _limits(kind: Kind, baseline: BaselineEntry, n: int) -> Limits:
    if kind == "p":
        return share_limits(baseline.k, baseline.n, n)
    return count_limits(baseline.k, baseline.n, n, baseline.dispersion)


def _signal(value: float, limits: Limits, *, higher_is_better: bool) -> Side | None:
    """Return on which side a figure is beyond its limits."""
    direction: Literal["high", "low"]
    if value > limits.high:
        direction = "high"
    elif value < limits.low:
        direction = "low"
    else:
        return None
    if (direction == "high") == higher_is_better:
        return "better"
    return "worse"
