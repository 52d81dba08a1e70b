"""A gate: whether a run is worse than an earlier one, below a floor, or judged differently."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import ComparedRuns, compare_runs
from judge.stats.estimate import Estimate
from judge.stats.intervals import Bools
from judge.stats.metric import Metric, find
from judge.stats.non_inferiority import DifferenceInterval, difference_interval
from judge.stats.scores import ScoreMatrix, group_figures
from judge.stats.significance import ALPHA, PairTest, Resampling, compare_pairs, holm
from judge.stats.statistic import Ratio
from judge.stats.summary import OUTCOMES
from judge.text import counted
from judge.types import JudgeError, Scored

# The share of studies that were scored, and its floor: lost studies must not let a run pass.
SCORED, LEAST_SCORED = "scored", 0.99

Verdict = Literal["pass", "fail", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One `rule` that a gate checks, and the `reason` of its verdict where that is not plain.

    `difference` is the run's figure less the earlier one's, with its 95% interval: that of the
    paired comparison, or with `non_inferior` that of `difference_interval`. `p_holm` is corrected
    over all tests of the gate. `margin` is how much worse the figure may be.
    """

    metric: str
    label: str
    rule: str
    verdict: Verdict
    value: float | None
    n: int
    baseline: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_holm: float | None = None
    margin: float | None = None
    reason: str = ""
    is_limit: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """All checks of a run, with what a reader must know and what made the numbers.

    `compared` and `not_compared` are the labels of the rubric's metrics that were, and were not,
    compared with the earlier run. `between` says whether two runs or two judges were compared.
    """

    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    signature: str
    compared: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    between: Literal["runs", "judges"] = "runs"

    @property
    def verdict(self) -> Verdict:
        """`fail` if any check fails, else `undecided` if any is undecided, else `pass`."""
        verdicts = {check.verdict for check in self.checks}
        if "fail" in verdicts:
            return "fail"
        if "undecided" in verdicts:
            return "undecided"
        return "pass"

    def plain(self) -> dict[str, Any]:
        """Return the gate as JSON's types."""
        return {"verdict": self.verdict, **asdict(self)}


def gate(
    run: RunChoice,
    earlier: RunChoice | None = None,
    *,
    drift: bool = False,
    floors: Mapping[str, float] | None = None,
    ceilings: Mapping[str, float] | None = None,
    metrics: Sequence[str] = (),
    max_drop: float = 0.0,
    max_drops: Mapping[str, float] | None = None,
    non_inferior: bool = False,
    common: bool = False,
    allow: Collection[str] = (),
    patient_field: str | None = None,
    how: Resampling | None = None,
) -> Gate:
    """Check a run against limits, and against an `earlier` one on the same studies.

    A figure fails where it is worse than the earlier one by more than its margin, in its units:
    `max_drop`, or that of `max_drops` for a metric by name. `drift` fails on a difference in either
    direction, and `non_inferior` where the 95% interval reaches beyond the margin; with both it is
    a test of equivalence. By default all scores, rates, and ratios such as urgent recall are
    compared; `metrics` names others, and those of `max_drops` are compared too.

    A check passes only if it would also pass with every study that was not scored at its worst:
    those of the run as bad as can be, those of the earlier run as good. Otherwise it is undecided.

    `floors` and `ceilings` may name `scored`, the share of studies that were scored. Raises
    `JudgeError` for an unknown metric and as `compare_runs` does.
    """
    how = how or Resampling()
    chosen = [replace(run, model="run")]
    if earlier is not None:
        chosen.append(replace(earlier, model="earlier"))
    compared, comparison = compare_runs(
        chosen, how, common=common, allow=allow, patient_field=patient_field
    )
    how = comparison.how or how
    names = dict.fromkeys(run.rubric for run in compared.runs)
    if len(names) > 1:
        raise JudgeError(
            f"the runs are of {' and '.join(names)}: give two runs of one rubric"
        )
    differing = compared.aligned.differing_texts("candidates") if drift else []
    if differing:
        ids = differing[0][2]
        raise JudgeError(
            f"{run.shown} and {chosen[1].shown} judged other candidates for {len(ids):,} studies, "
            f"{ids[0]!r} among them: drift is measured on the same reports"
        )
    panel = comparison.panel
    unread = unread_studies(compared)
    checks = _limit_checks(compared, unread, floors or {}, ceilings or {})
    if earlier is None:
        return Gate(
            checks=tuple(checks),
            notes=comparison.notes,
            signature=comparison.signature,
        )
    named_margins = {}
    for name, drop in (max_drops or {}).items():
        metric = find(panel.metrics, name)
        named_margins[metric.name] = drop
    tested, empty = tested_metrics(panel, metrics, named_margins)
    margins = {}
    for metric in tested:
        margins[metric.name] = named_margins.get(metric.name, max_drop)
    comparer = _Comparer(
        panel=panel,
        metrics=tuple(tested),
        margins=margins,
        how=how,
        drift=drift,
        non_inferior=non_inferior,
    )
    # Of all studies, which come first, and of the only pair.
    tests = {name: pairs[0] for name, pairs in comparison.tests[0].items()}
    checks += comparer.checks(tests, unread)
    notes = [f"{metric.label} is not compared: neither run has any" for metric in empty]
    labels = [metric.label for metric in tested]
    others = [metric.label for metric in panel.metrics if metric.label not in labels]
    return Gate(
        checks=tuple(checks),
        notes=(*comparison.notes, *notes),
        signature=comparison.signature,
        compared=tuple(labels),
        not_compared=tuple(others),
    )


def compare_panel(
    panel: ScoreMatrix,
    *,
    margins: Mapping[str, float],
    unread: Bools,
    how: Resampling,
    non_inferior: bool = False,
) -> list[Check]:
    """Return a check of each metric of a panel of two: the first against the second.

    `margins` say by metric how much worse the first may be, `unread` which studies were not scored,
    studies by the two. The verdicts are those of `gate`.
    """
    comparer = _Comparer(
        panel=panel,
        metrics=panel.metrics,
        margins=margins,
        how=how,
        drift=False,
        non_inferior=non_inferior,
    )
    pairs = compare_pairs(panel, {}, how).pairs
    return comparer.checks({name: tests[0] for name, tests in pairs.items()}, unread)


def unread_studies(compared: ComparedRuns) -> Bools:
    """Return which studies were not scored, studies by runs."""
    return ~np.asarray(compared.aligned.is_scored, dtype=bool)


def tested_metrics(
    panel: ScoreMatrix, names: Sequence[str], margins: Mapping[str, float]
) -> tuple[list[Metric], list[Metric]]:
    """Return the metrics that are compared, and those that would be but have no value at all."""
    known = panel.metrics
    named = [find(known, name) for name in names]
    with_margin = [panel.metric(name) for name in margins]
    if named:
        stray = [metric.label for metric in with_margin if metric not in named]
        if stray:
            raise JudgeError(
                f"--max-drop names {stray[0]!r}, which is not compared: name it with --metric too"
            )
        return list(dict.fromkeys(named)), []
    estimates = group_figures(panel).estimates
    chosen: list[Metric] = []
    empty: list[Metric] = []
    for metric in known:
        has_margin = metric in with_margin
        is_usual = metric.what in ("score", "rate") or _is_ratio(metric)
        if not is_usual and not has_margin:
            continue
        # A ratio without anything to count has no value in any study, as urgent recall without an
        # urgent finding. Whatever else has no value leaves the gate undecided.
        has_nothing = _is_ratio(metric) and _is_empty(estimates[metric.name])
        if has_nothing and not has_margin:
            empty.append(metric)
        else:
            chosen.append(metric)
    return chosen, empty


def _is_empty(estimates: Sequence[Estimate]) -> bool:
    return all(estimate.value is None for estimate in estimates)


def _is_ratio(metric: Metric) -> bool:
    return isinstance(metric.statistic, Ratio)


# Limits


def _limit_checks(
    compared: ComparedRuns,
    unread: Bools,
    floors: Mapping[str, float],
    ceilings: Mapping[str, float],
) -> list[Check]:
    panel = compared.panel
    outcomes = compared.runs[0].outcomes
    n_studies = sum(outcomes.values())
    share_scored = None
    if n_studies:
        share_scored = outcomes.get(OUTCOMES[Scored], 0) / n_studies
    all_floors = {SCORED: LEAST_SCORED, **floors}
    limits = [(name, limit, True) for name, limit in all_floors.items()]
    limits += [(name, limit, False) for name, limit in ceilings.items()]
    estimates = group_figures(panel).estimates
    checks = []
    for name, limit, is_floor in limits:
        if name == SCORED:
            metric_name, label = SCORED, "studies scored"
            value = worst = share_scored
            n = n_studies
        else:
            metric = find(panel.metrics, name)
            metric_name, label = metric.name, metric.label
            estimate = estimates[metric_name][0]
            value = estimate.value
            worst = _extreme(panel, metric, unread, lowest=is_floor)
            n = estimate.n or 0
        verdict: Verdict = "undecided"
        reason = "no study has this figure"
        if value is not None:
            verdict, reason = _limit_verdict(
                value,
                worst,
                limit,
                unread,
                is_floor=is_floor,
            )
        rule = f"at most {limit:g}"
        if is_floor:
            rule = f"at least {limit:g}"
        check = Check(
            metric=metric_name,
            label=label,
            rule=rule,
            verdict=verdict,
            value=value,
            n=n,
            reason=reason,
            is_limit=True,
        )
        checks.append(check)
    return checks


def _limit_verdict(
    value: float, worst: float | None, limit: float, unread: Bools, *, is_floor: bool
) -> tuple[Verdict, str]:
    """Return the verdict on a figure, and its reason; `worst` is with unread studies at worst."""

    def is_met(figure: float) -> bool:
        if is_floor:
            return figure >= limit
        return figure <= limit

    if not is_met(value):
        return "fail", ""
    n_unread = int(unread[:, 0].sum())
    n = counted(n_unread, "study without a score", "studies without a score")
    if worst is None:
        return "undecided", f"with the {n} it could have any value"
    if not is_met(worst):
        return "undecided", f"with the {n} at the worst it would be {worst:.3f}"
    return "pass", ""


def _extreme(
    panel: ScoreMatrix, metric: Metric, unread: Bools, *, lowest: bool
) -> float | None:
    """Return the run's figure with its unread studies at that end of the scale which moves it most.

    None where the scale has no such end.
    """
    # The figure of a reciprocal falls as the values of the studies rise.
    at_low = lowest != metric.statistic.is_reversed
    filled = filled_panel(panel, metric, unread, {0: at_low})
    if filled is None:
        return None
    return group_figures(filled).estimates[metric.name][0].value


def filled_panel(
    panel: ScoreMatrix, metric: Metric, unread: Bools, at_low: Mapping[int, bool]
) -> ScoreMatrix | None:
    """Return the panel of one metric with values in the place of unread studies.

    `at_low` says by run whether that is the least or the greatest value of the scale. None where
    there are unread studies and the scale has no such end, as for a ratio of sums.
    """
    values = panel.values[metric.name].copy()
    low, high = metric.statistic.ends
    for run, is_low in at_low.items():
        rows = unread[:, run]
        if not rows.any():
            continue
        end = high
        if is_low:
            end = low
        if end is None:
            return None
        values[rows, run] = end
    per = {}
    if metric.name in panel.per:
        per[metric.name] = panel.per[metric.name]
    return replace(
        panel,
        metrics=(metric,),
        values={metric.name: values},
        per=per,
        tallies={},
    )


# Comparison with the earlier run


@dataclass(frozen=True, kw_only=True)
class _Comparer:
    """What is compared, by which margins and how; the run is the panel's first model."""

    panel: ScoreMatrix
    metrics: tuple[Metric, ...]
    margins: Mapping[str, float]
    how: Resampling
    drift: bool
    non_inferior: bool

    def checks(self, tests: Mapping[str, PairTest], unread: Bools) -> list[Check]:
        """Return a check of each metric by these tests."""
        panels = dict.fromkeys((metric.name for metric in self.metrics), self.panel)
        verdicts = self._verdicts(panels, tests)
        worst = [self._worst_verdicts(unread, side) for side in self._sides()]
        n_unread = int(unread.any(axis=1).sum())
        n = counted(n_unread, "study without a score", "studies without a score")
        estimates = group_figures(self.panel).estimates
        checks = []
        for metric in self.metrics:
            verdict, reason, test, ends = verdicts[metric.name]
            if verdict == "pass":
                for side in worst:
                    if side[metric.name] is None:
                        verdict = "undecided"
                        reason = f"with the {n} it could differ by any amount"
                    elif side[metric.name] != "pass":
                        verdict = "undecided"
                        reason = f"with the {n} at the worst it would not pass"
            margin = self.margins[metric.name]
            of_run, of_earlier = estimates[metric.name]
            check = Check(
                metric=metric.name,
                label=metric.label,
                rule=self._rule(margin),
                verdict=verdict,
                value=of_run.value,
                n=test.n,
                baseline=of_earlier.value,
                difference=test.difference,
                low=ends.low,
                high=ends.high,
                p_holm=test.p_holm,
                margin=margin,
                reason=reason,
            )
            checks.append(check)
        return checks

    def _rule(self, margin: float) -> str:
        rule = "no worse"
        if self.drift:
            rule = "no drift"
        if margin:
            rule += f" by more than {margin:g}"
        return rule

    def _sides(self) -> list[bool]:
        """Return for which directions the worst case is tried: whether the run is the worse one."""
        if self.drift:
            return [True, False]
        return [True]

    def _worst_verdicts(
        self,
        unread: Bools,
        run_is_worse: bool,  # noqa: FBT001
    ) -> dict[str, Verdict | None]:
        """Return the verdicts with the unread studies at their worst; None where there is none."""
        if not unread.any():
            return {metric.name: "pass" for metric in self.metrics}
        panels: dict[str, ScoreMatrix] = {}
        tests: dict[str, PairTest] = {}
        for metric in self.metrics:
            name = metric.name
            run_at_low = metric.study_higher_is_better == run_is_worse
            at_low = {0: run_at_low, 1: not run_at_low}
            filled = filled_panel(self.panel, metric, unread, at_low)
            if filled is not None:
                group = compare_pairs(filled, {}, self.how)
                panels[name] = filled
                (tests[name],) = group.pairs[name]
        of_filled = self._verdicts(panels, tests)
        verdicts: dict[str, Verdict | None] = {}
        for metric in self.metrics:
            verdicts[metric.name] = None
            if metric.name in of_filled:
                verdict, *_ = of_filled[metric.name]
                verdicts[metric.name] = verdict
        return verdicts

    def _verdicts(
        self, panels: Mapping[str, ScoreMatrix], tests: Mapping[str, PairTest]
    ) -> dict[str, tuple[Verdict, str, PairTest, DifferenceInterval]]:
        metrics = [metric for metric in self.metrics if metric.name in panels]
        corrected = holm([tests[metric.name].p for metric in metrics])
        verdicts = {}
        for metric, p_holm in zip(metrics, corrected, strict=True):
            test = replace(tests[metric.name], p_holm=p_holm)
            ends = DifferenceInterval(test.low, test.high)
            if self.non_inferior:
                ends = difference_interval(panels[metric.name], metric, self.how.draws)
            verdict, reason = self._verdict(metric, test, ends)
            verdicts[metric.name] = (verdict, reason, test, ends)
        return verdicts

    def _verdict(
        self, metric: Metric, test: PairTest, ends: DifferenceInterval
    ) -> tuple[Verdict, str]:
        """Return what a paired test says of a figure, and why it says nothing."""
        margin = self.margins[metric.name]
        if test.p_holm is None or test.difference is None:
            return "undecided", "too few studies are scored in both runs for a test"
        has_interval = test.low is not None and test.high is not None
        # Without an interval a difference is known from 0 only, and not from a margin.
        is_shown = test.p_holm < ALPHA and (has_interval or not margin)
        if is_shown:
            least, most = _turned(metric, test.low, test.high, test.difference)
            if most < -margin or (self.drift and least > margin):
                return "fail", ""
        if self.non_inferior:
            if ends.low is None or ends.high is None:
                return "undecided", ends.reason
            least, most = _turned(metric, ends.low, ends.high, test.difference)
            if least < -margin or (self.drift and most > margin):
                return "fail", "a larger difference cannot be excluded"
        elif not has_interval and margin and test.difference:
            why = "the difference has no interval on the studies scored in both runs"
            return "undecided", why
        return "pass", ""


def _turned(
    metric: Metric, low: float | None, high: float | None, difference: float
) -> tuple[float, float]:
    """Return the ends of a difference so that more is better; without them the difference."""
    if low is None or high is None:
        low = high = difference
    if metric.higher_is_better:
        return low, high
    return -high, -low
