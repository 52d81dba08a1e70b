"""The figures of judges beside readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from judge.figures import specs
from judge.figures.figure import Figure, FigureSet, count_range, short_names
from judge.stats.agreement import mean_of
from judge.stats.intervals import Values
from judge.stats.metric import MINUS
from judge.tables.validation import row_name
from judge.text import number


def validation_figures(validation: Mapping[str, Any], values: Mapping[str, Values]) -> FigureSet:
    """Return the figures of a validation.

    Args:
        validation: What `judge validate --format json` prints.
        values: By quantity an array of studies by raters, the judges first; NaN is no value.
    """
    parts = [*_agreement(validation), *_counts(validation, values)]
    return FigureSet(
        "validation",
        tuple(part for part in parts if isinstance(part, Figure)),
        tuple(part for part in parts if isinstance(part, str)),
        validation["signature"],
        tuple(validation["notes"]),
        {
            kind: tuple(rater["name"] for rater in validation[kind])
            for kind in ("judges", "readers")
        },
    )


def _agreement(validation: Mapping[str, Any]) -> Iterable[Figure | str]:
    ceilings = [row for row in validation["ceiling_mean"] if not row["category"]]
    cells = {
        ceiling["quantity"]: {
            row_name(row): row
            for row in validation["agreement"]
            if row["quantity"] == ceiling["quantity"]
        }
        for ceiling in ceilings
    }
    raters = list(dict.fromkeys(name for by_name in cells.values() for name in by_name))
    shown = []
    for ceiling in ceilings:
        if any(row["kendall"]["value"] is not None for row in cells[ceiling["quantity"]].values()):
            shown.append(ceiling)
        else:
            reasons = _undefined([ceiling], cells, raters)[:-1]
            yield f"agreement on {ceiling['label']}: it is defined for no judge{reasons}"
    if not shown:
        return
    names = short_names(raters, 36)
    rows = []
    for ceiling in shown:
        by_name = cells[ceiling["quantity"]]
        known = [row["kendall"]["n"] for row in by_name.values() if row["kendall"]["value"]]
        ends = ceiling["range"]["kendall"] or (None, None)
        band = {"band_mean": ceiling["kendall"]["value"] if ends[0] is not None else None}
        band |= {"band_low": ends[0], "band_high": ends[1]}
        for name, rater in zip(names, raters, strict=True):
            cell = by_name.get(rater, {}).get("kendall", {})
            rows.append(
                {"panel": f"{ceiling['label']}, n {count_range(known)}", "name": name, "series": ""}
                | {end: cell.get(end) for end in ("value", "low", "high")}
                | band
            )
    yield Figure(
        "agreement_kendall",
        "Agreement of judges with the readers (Kendall's tau-b)",
        "Kendall's tau-b of each judge, and each score or metric, with the mean of the readers, "
        "a panel a quantity; bars are 95% bootstrap intervals, n is the number of studies. A "
        "score of which more is better where more of the quantity is worse, or the other way "
        "round, is negated, so that agreement is positive. The band is the readers' ceiling: each "
        "reader against the mean of the others, the least to the greatest, and their mean as a "
        f"dashed line. {' '.join(map(_ceiling, shown))}{_undefined(shown, cells, raters)}",
        specs.dots(
            "Agreement with the readers",
            rows,
            names=names,
            panels=list(dict.fromkeys(row["panel"] for row in rows)),
            axis="Kendall's tau-b",
        ),
        {"rows": tuple(raters)},
    )


def _ceiling(row: Mapping[str, Any]) -> str:
    mean, ends = row["kendall"], row["range"]["kendall"]
    if ends is None:
        return f"Readers on {row['label']}: none, {mean['reason']}."
    interval = "no interval"
    if mean["low"] is not None:
        interval = f"95% interval of the mean {number(mean['low'])} to {number(mean['high'])}"
    return (
        f"Readers on {row['label']}: {number(mean['value'])} ({number(ends[0])} to "
        f"{number(ends[1])}; {interval})."
    )


def _undefined(
    ceilings: Sequence[Mapping[str, Any]],
    cells: Mapping[str, Mapping[str, Mapping[str, Any]]],
    raters: Sequence[str],
) -> str:
    reasons = [
        f"{name} on {ceiling['label']}, {row['kendall'].get('reason') or 'which is undefined'}"
        for ceiling in ceilings
        for name, row in cells[ceiling["quantity"]].items()
        if row["kendall"]["value"] is None
    ]
    if any(name not in cells[ceiling["quantity"]] for ceiling in ceilings for name in raters):
        reasons.append(
            "and what is not compared: a judge gives no rating, and a score is held against "
            "counts and ratings"
        )
    return f" n/a: {'; '.join(reasons)}." if reasons else ""


def _counts(validation: Mapping[str, Any], values: Mapping[str, Values]) -> Iterable[Figure | str]:
    judges = [judge["name"] for judge in validation["judges"]]
    short = short_names(judges, 24)
    labels = {row["quantity"]: row["label"] for row in validation["limits"] if not row["category"]}
    for quantity, label in labels.items():
        limits = {row["judge"]: row for row in validation["limits"] if row["quantity"] == quantity}
        readers = mean_of(values[quantity][:, len(judges) :])
        counts: list[specs.Row] = []
        differences: list[specs.Row] = []
        reasons = ""
        for index, judge in enumerate(judges):
            judge_counts = values[quantity][:, index]
            known = ~(np.isnan(judge_counts) | np.isnan(readers))
            if not known.any():
                yield f"{label} of {judge}: no study has both its count and a reader's"
                continue
            x, y = readers[known], judge_counts[known]
            panel = f"{short[index]}, equal in {int(np.isclose(x, y).sum()):,} of {len(x):,}"
            counts += _bubbles(panel, x, y)
            row = limits[judge]
            lines = {
                f"{name}{suffix}": row[name][end]
                for name in ("bias", "lower", "upper")
                for suffix, end in (("", "value"), ("_low", "low"), ("_high", "high"))
            }
            title = f"{short[index]}, {_limits(row)}"
            differences += [bubble | lines for bubble in _bubbles(title, (x + y) / 2, y - x)]
            if reason := row["bias"].get("reason"):
                reasons += f" {judge}: {reason}."
        if not counts:
            continue
        area = "The area of a bubble is the number of studies."
        yield Figure(
            f"counts_{quantity}",
            f"Counts of judges against those of the readers: {label}",
            f"{label.capitalize()} per study as each judge counts them, against the mean of the "
            f"readers who read it, a panel a judge. On the line they are equal. {area}",
            specs.bubbles(
                f"{label.capitalize()} per study",
                counts,
                panels=list(dict.fromkeys(row["panel"] for row in counts)),
                across="mean of the readers",
                down="judge",
                is_square=True,
            ),
        )
        yield Figure(
            f"limits_{quantity}",
            f"Differences of judges and the readers: {label}",
            f"{label.capitalize()} per study: the count of each judge less the mean of the "
            "readers, against the mean of the two (Bland and Altman). The solid line is the bias, "
            "the dashed ones are the limits of agreement, bias ± 1.96 standard deviations, each "
            f"with its 95% interval as a band. {area}{reasons}",
            specs.bubbles(
                f"{label.capitalize()} per study: judge less readers",
                differences,
                panels=list(dict.fromkeys(row["panel"] for row in differences)),
                across="mean of judge and readers",
                down="judge less readers",
                is_square=False,
            ),
        )


def _bubbles(panel: str, x: Values, y: Values) -> list[specs.Row]:
    """Return one row for all studies at one place: a figure of 10,000 studies stays small."""
    places = Counter(zip(x.round(6).tolist(), y.round(6).tolist(), strict=True))
    return [
        {"panel": panel, "x": across, "y": down, "n": n}
        for (across, down), n in sorted(places.items())
    ]


def _limits(row: Mapping[str, Any]) -> str:
    if row["lower"]["value"] is None:
        return "limits n/a"
    bias, low, high = (
        number(row[name]["value"], 2).replace("-", MINUS) for name in ("bias", "lower", "upper")
    )
    return f"bias {bias}, {low} to {high}"
