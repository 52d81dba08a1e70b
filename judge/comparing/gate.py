"""A gate: whether a run is worse than an earlier one, below a floor, or judged differently."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import compare_runs
from judge.stats.metric import Metric, find
from judge.stats.significance import ALPHA, PairTest, Resampling, holm
from judge.stats.summary import OUTCOMES
from judge.types import Annotated, JudgeError

# The share of studies that were scored, and its floor: lost studies must not let a run pass.
SCORED, LEAST_SCORED = "scored", 0.99

Verdict = Literal["pass", "fail", "undecided"]


@dataclass(frozen=True, slots=True)
class Check:
    """One `rule` that a gate checks, and the `reason` if undecided; `p_holm` is over all tests."""

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
    reason: str = ""
    is_limit: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """All checks of a run, with what a reader must know and what made the numbers."""

    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    signature: str

    @property
    def verdict(self) -> Verdict:
        """`fail` if any check fails, else `undecided` if any is undecided, else `pass`."""
        verdicts = {check.verdict for check in self.checks}
        return next(verdict for verdict in ("fail", "undecided", "pass") if verdict in verdicts)

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
    non_inferior: bool = False,
    common: bool = False,
    allow: Collection[str] = (),
    patient_field: str | None = None,
    how: Resampling | None = None,
) -> Gate:
    """Check a run against limits, and against an `earlier` one on the same studies.

    A figure fails where it is worse than the earlier one by more than `max_drop`, in its units;
    `drift` fails on a difference in either direction, and `non_inferior` where the 95% interval
    reaches beyond `max_drop`. `floors` and `ceilings` may name `scored`, the share of studies that
    were scored. Raises `JudgeError` for an unknown metric and as `compare_runs` does.
    """
    how = how or Resampling()
    chosen = [replace(run, model="run")]
    if earlier is not None:
        chosen.append(replace(earlier, model="earlier"))
    compared, comparison = compare_runs(
        chosen, how, common=common, allow=allow, patient_field=patient_field
    )
    if len(names := dict.fromkeys(run.rubric for run in compared.runs)) > 1:
        raise JudgeError(f"the runs are of {' and '.join(names)}: give two runs of one rubric")
    if drift and (differing := compared.aligned.differing_texts("candidates")):
        ids = differing[0][2]
        raise JudgeError(
            f"{run.shown} and {chosen[1].shown} judged other candidates for {len(ids):,} studies, "
            f"{ids[0]!r} among them: drift is measured on the same reports"
        )
    known = comparison.panel.metrics
    outcomes = compared.runs[0].outcomes
    n_studies = sum(outcomes.values())
    scored = outcomes.get(OUTCOMES[Annotated], 0) / n_studies if n_studies else None
    least = {SCORED: LEAST_SCORED, **(floors or {})}
    limits = [("at least", limit) for limit in least.items()]
    limits += [("at most", limit) for limit in (ceilings or {}).items()]
    checks = []
    for words, (name, limit) in limits:
        value, n, label = scored, n_studies, "studies scored"
        if name != SCORED:
            metric = find(known, name)
            cell = comparison.groups[0].cells[metric.name][0]
            name, value, n, label = metric.name, cell.value, cell.n, metric.label
        verdict: Verdict = "undecided"
        reason = "no study has this figure"
        if value is not None:
            is_met = value >= limit if words == "at least" else value <= limit
            verdict, reason = "pass" if is_met else "fail", ""
        rule = f"{words} {limit:g}"
        checks.append(Check(name, label, rule, verdict, value, n, reason=reason, is_limit=True))
    if earlier is not None:
        tested = [find(known, name) for name in metrics] or [
            metric for metric in known if metric.what in ("score", "rate")
        ]
        margin = f" by more than {max_drop:g}" if max_drop else ""
        tests = [comparison.tests[0][metric.name][0] for metric in tested]
        corrected = holm([test.p for test in tests])
        for metric, test, p_holm in zip(tested, tests, corrected, strict=True):
            test = replace(test, p_holm=p_holm)
            verdict, reason = _verdict(
                metric, test, max_drop, drift=drift, non_inferior=non_inferior
            )
            value, baseline = (cell.value for cell in comparison.groups[0].cells[metric.name])
            rule = f"{'no drift' if drift else 'no worse'}{margin}"
            checks.append(
                Check(
                    *(metric.name, metric.label, rule, verdict, value, test.n, baseline),
                    *(test.difference, test.low, test.high, p_holm, reason),
                )
            )
    return Gate(tuple(checks), comparison.notes, comparison.signature)


def _verdict(
    metric: Metric, test: PairTest, max_drop: float, *, drift: bool, non_inferior: bool
) -> tuple[Verdict, str]:
    """Return what a paired test says of a figure, and why it says nothing."""
    if test.p_holm is None or test.difference is None:
        return "undecided", "too few studies are scored in both runs for a test"
    if test.low is not None and test.high is not None:
        ends = (test.low, test.high)
    elif non_inferior or (max_drop and test.difference):
        return "undecided", "the difference has no interval on the studies scored in both runs"
    else:
        ends = (test.difference, test.difference)
    # Turned so that more is better.
    least, most = ends if metric.higher_is_better else (-ends[1], -ends[0])
    is_shown = test.p_holm < ALPHA
    if is_shown and (most < -max_drop or (drift and least > max_drop)):
        return "fail", ""
    if non_inferior and (least < -max_drop or (drift and most > max_drop)):
        return "fail", "a larger difference cannot be excluded"
    return "pass", ""
