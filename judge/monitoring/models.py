"""`monitor.json`: the charts of a monitor, its tests of new versions, and its alarms, as types."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

FORMAT = 1
"""The form of `monitor.json` that this program writes."""
Kind = Literal["p", "u"]
Side = Literal["worse", "better"]
Verdict = Literal["worse", "pass", "undecided"]


class _Entry(BaseModel):
    """A part of `monitor.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class BaselineEntry(_Entry):
    """What a chart's limits are made of: `k` in `n` studies from the day `start` to `end`.

    `centre` is k / n, the centre line. `dispersion` is the variance of the studies' counts over
    their mean where that is above 1, else 1; it is 1 for shares.
    """

    start: str
    end: str
    n_periods: int
    k: int
    n: int
    centre: float
    dispersion: float = 1.0


class PointEntry(_Entry):
    """The figure of one period: `k` in `n` studies, and its 95% interval from `low` to `high`.

    `n_studies` were judged and `n_unscored` of them have no score. `lower` and `upper` are the
    control limits of this number of studies: the smallest and the largest figure that is no
    signal. Both are None before there is a baseline. Only a period that is complete and not in the
    baseline has a `signal`.
    """

    period: str
    start: str
    end: str
    is_complete: bool
    in_baseline: bool
    n_studies: int
    n_unscored: int
    k: int
    n: int
    value: float | None
    low: float | None
    high: float | None
    lower: float | None = None
    upper: float | None = None
    signal: Side | None = None


class ChartEntry(_Entry):
    """A control chart of one metric: of all studies, or of those of a `group`.

    `kind` is p for a share of the studies and u for a number per study. Without a `baseline`
    `why_no_limits` says what is missing.
    """

    metric: str
    label: str
    kind: Kind
    higher_is_better: bool
    group: dict[str, str]
    baseline: BaselineEntry | None
    why_no_limits: str = ""
    points: list[PointEntry]


class VersionTestEntry(_Entry):
    """A new version of the model against the one before, by one metric at one look.

    `difference` is the new version's mean less the earlier one's, of the same sites. `p_holm` is
    corrected over the metrics of the look, and compared with `alpha`, the look's part of 0.05.
    """

    version: str
    earlier: str
    period: str
    metric: str
    label: str
    kind: Literal["share", "number"]
    higher_is_better: bool
    n: int
    n_earlier: int
    value: float | None
    baseline: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    alpha: float
    verdict: Verdict
    reason: str = ""


class AlarmStudy(_Entry):
    """A study to open: its id and the run that it was judged in, and how many errors it has."""

    study_id: str
    run: str
    n: int | None


class AlarmEntry(_Entry):
    """A figure of the last complete period that is beyond its limit on the worse side.

    `what` is `chart`, or `version` for a test of a new version, whose `limit` is None. `studies`
    are those that count against the model, the worst first.
    """

    what: Literal["chart", "version"]
    metric: str
    label: str
    group: dict[str, str]
    period: str
    value: float
    limit: float | None
    centre: float | None
    n: int
    sentence: str
    studies: list[AlarmStudy]


class CountsEntry(_Entry):
    """The studies of the feed and of the runs.

    `judged` is the sum of `scored`, `unparsed` and `failed`. Of the others in the feed `unsigned`
    wait for a signed report, `waiting` for the judge, `undrafted` have no draft, `no_date` no date
    that can be read, and `later` one after the last day. `replaced` records were followed by a
    later one of the same study.
    """

    judged: int
    scored: int
    unparsed: int
    failed: int
    unsigned: int
    waiting: int
    undrafted: int
    no_date: int
    later: int
    replaced: int


class SpentEntry(_Entry):
    """What the judge has cost in a calendar month (UTC), and what it may cost; in US dollars."""

    month: str
    dollars: float
    limit: float | None


class MonitorReport(_Entry):
    """What `judge monitor` found: `monitor.json`.

    `last_period` is the last complete period with a study, None before there is one; alarms are of
    it alone. `false_alarms_per_year` is about how many alarms of charts are expected in a year if
    nothing ever changes: `tail` for each chart that can alarm and each period.
    """

    format: int
    made_at: str
    signature: str
    feed: str
    rubric: str
    judge: str
    judge_note: str | None
    section: str
    every: Literal["week", "month"]
    until: str
    baseline: str
    by: list[str]
    tail: float
    last_period: str | None
    counts: CountsEntry
    waiting: list[str]
    n_charts_with_limits: int
    false_alarms_per_year: float
    spent: SpentEntry
    notes: list[str]
    alarms: list[AlarmEntry]
    version_tests: list[VersionTestEntry]
    charts: list[ChartEntry]
