"""From judges beside readers to the figures that are drawn of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from judge.plots.data import Drawing, Forest, ForestPanel, Plan, Points, PointsPanel
from judge.report.validation import row_name
from judge.report.words import number
from judge.stats.agreement import mean_of
from judge.stats.rates import Estimate
from judge.stats.metric import MINUS
from judge.stats.panel import Values
from judge.stats.bootstrap import generator

JITTER = 0.15
"""How far a point is moved at most, in errors, in each direction."""


def plan(found: Mapping[str, Any], values: Mapping[str, Values]) -> Plan:
    """Return what is drawn of a validation, as `draw_validation` takes it."""
    parts = [*_agreement(found), *_counts(found, values)]
    return Plan(
        "validation",
        tuple(part for part in parts if isinstance(part, Drawing)),
        tuple(part for part in parts if isinstance(part, str)),
        found["signature"],
        tuple(found["notes"]),
        {name: tuple(one["name"] for one in found[name]) for name in ("judges", "readers")},
    )


def _agreement(found: Mapping[str, Any]) -> Iterable[Drawing | str]:
    shown = [one for one in found["ceiling_mean"] if not one["category"]]
    of = {
        one["quantity"]: {
            row_name(each): each
            for each in found["agreement"]
            if each["quantity"] == one["quantity"]
        }
        for one in shown
    }
    rows = tuple(dict.fromkeys(name for each in of.values() for name in each))
    made = [(one, _panel(one, of[one["quantity"]], rows)) for one in shown]
    panels = [panel for _, panel in made if any(panel.rows)]
    yield from (
        f"agreement on {panel.title}: it is defined for no judge" + _undefined([one], of, rows)[:-1]
        for one, panel in made
        if panel not in panels
    )
    if not panels:
        return
    shown = [one for one, panel in made if panel in panels]
    yield Drawing(
        "agreement_kendall",
        "Agreement of judges with the readers (Kendall's tau-b)",
        "Kendall's tau-b of each judge, and each score or metric, with the mean of the readers, "
        "a panel a quantity; bars are 95% bootstrap intervals, n the studies. A score of which "
        "more is better where more of the quantity is worse, or the other way round, is "
        "negated, so that agreement is positive. The band is the readers' ceiling: each reader "
        "against the mean of the others, the least to the greatest, and their mean as a dashed "
        f"line. {' '.join(_ceilings(shown))}{_undefined(shown, of, rows)}",
        Forest("Kendall's tau-b", rows, tuple(panels)),
    )


def _panel(
    ceiling: Mapping[str, Any], of: Mapping[str, Mapping[str, Any]], rows: Sequence[str]
) -> ForestPanel:
    found = [_estimate(of[name]["kendall"]) if name in of else None for name in rows]
    known = tuple(one if one is not None and one.value is not None else None for one in found)
    ends, mean = ceiling["range"]["kendall"], ceiling["kendall"]["value"]
    n = [one.n for one in known if one]
    return ForestPanel(
        ceiling["label"],
        (min(n, default=0), max(n, default=0)),
        known,
        None if ends is None else (mean, *ends),
    )


def _estimate(one: Mapping[str, Any]) -> Estimate:
    return Estimate(one["n"], one["value"], one["low"], one["high"])


def _ceilings(shown: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    for one in shown:
        mean, ends = one["kendall"], one["range"]["kendall"]
        if ends is None:
            yield f"Readers on {one['label']}: none, {mean['reason']}."
            continue
        interval = (
            "no interval"
            if mean["low"] is None
            else f"95% interval of the mean {number(mean['low'])} to {number(mean['high'])}"
        )
        yield (
            f"Readers on {one['label']}: {number(mean['value'])} ({number(ends[0])} to "
            f"{number(ends[1])}; {interval})."
        )


def _undefined(
    shown: Sequence[Mapping[str, Any]],
    of: Mapping[str, Mapping[str, Mapping[str, Any]]],
    rows: Sequence[str],
) -> str:
    reasons = [
        f"{name} on {one['label']}, {cell['kendall'].get('reason') or 'which is undefined'}"
        for one in shown
        for name, cell in of[one["quantity"]].items()
        if cell["kendall"]["value"] is None
    ]
    is_apart = any(name not in of[one["quantity"]] for one in shown for name in rows)
    if is_apart:
        reasons.append(
            "and what is not compared: a judge gives no rating, and a score is held against "
            "counts and ratings"
        )
    return f" n/a: {'; '.join(reasons)}." if reasons else ""


def _counts(found: Mapping[str, Any], values: Mapping[str, Values]) -> Iterable[Drawing | str]:
    names = [one["name"] for one in found["judges"]]
    labels = {one["quantity"]: one["label"] for one in found["limits"] if not one["category"]}
    moved = (
        f"Each point is moved at random by up to {JITTER:g} in both directions (seed "
        f"{found['resampling']['seed']}), so that equal ones can be seen; lines are not."
    )
    for name, label in labels.items():
        of = {one["judge"]: one for one in found["limits"] if one["quantity"] == name}
        clouds = {
            judge: _cloud(values[name], at, len(names), found["resampling"]["seed"], name, judge)
            for at, judge in enumerate(names)
        }
        empty = [judge for judge, (x, _, _) in clouds.items() if not len(x)]
        for judge in empty:
            yield f"{label} of {judge}: no study has both its count and a reader's"
        clouds = {judge: cloud for judge, cloud in clouds.items() if judge not in empty}
        if not clouds:
            continue
        yield Drawing(
            f"counts_{name}",
            f"Counts of judges against those of the readers: {label}",
            f"{label.capitalize()} per study as each judge counts them, against the mean of the "
            f"readers who read it, a point a study, a panel a judge. On the line they are equal. "
            f"{moved}",
            Points(
                label,
                "mean of the readers",
                "judge",
                tuple(
                    PointsPanel(judge, _alike(x, y), x + dx, y + dy, ())
                    for judge, (x, y, (dx, dy)) in clouds.items()
                ),
                is_square=True,
            ),
        )
        yield Drawing(
            f"limits_{name}",
            f"Differences of judges and the readers: {label}",
            f"{label.capitalize()} per study: the count of each judge less the mean of the "
            "readers, against the mean of the two (Bland and Altman). The solid line is the bias, "
            "the dashed ones are the limits of agreement, bias ± 1.96 standard deviations, each "
            f"with its 95% interval as a band. {moved}{_without_limits(of, clouds)}",
            Points(
                label,
                "mean of judge and readers",
                "judge less readers",
                tuple(
                    PointsPanel(
                        judge,
                        _limits(of[judge]),
                        (x + y) / 2 + dx,
                        y - x + dy,
                        tuple(_estimate(of[judge][one]) for one in ("bias", "lower", "upper")),
                    )
                    for judge, (x, y, (dx, dy)) in clouds.items()
                ),
                is_square=False,
            ),
        )


_Cloud = tuple[Values, Values, Values]


def _cloud(grid: Values, at: int, n_judges: int, seed: int, quantity: str, judge: str) -> _Cloud:
    x, y = mean_of(grid[:, n_judges:]), grid[:, at]
    known = ~(np.isnan(x) | np.isnan(y))
    rng = generator(seed, "figure jitter", {"quantity": quantity, "judge": judge})
    return x[known], y[known], rng.uniform(-JITTER, JITTER, size=(2, int(known.sum())))


def _alike(x: Values, y: Values) -> str:
    return f"equal in {int(np.isclose(x, y).sum()):,}"


def _limits(one: Mapping[str, Any]) -> str:
    if one["lower"]["value"] is None:
        return "limits n/a"
    bias, low, high = (_signed(one[name]["value"]) for name in ("bias", "lower", "upper"))
    return f"bias {bias}, {low} to {high}"


def _signed(value: float) -> str:
    return number(value, 2).replace("-", MINUS)


def _without_limits(of: Mapping[str, Mapping[str, Any]], judges: Iterable[str]) -> str:
    said = [
        f" {judge}: {reason}." for judge in judges if (reason := of[judge]["bias"].get("reason"))
    ]
    return "".join(said)
