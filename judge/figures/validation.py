"""The figures of judges beside readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from judge.figures import VALIDATION_FIGURES, specs, usual
from judge.figures.files import (
    Figure,
    FigureSet,
    count_range,
    flat,
    with_unique_names,
)
from judge.stats.agreement import limits_of_agreement, mean_of
from judge.tables.validation import row_name
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.rubrics.quantities import SharedMeasure
    from judge.stats.intervals import Values
    from judge.validating.raters import RatedStudies

Report = Mapping[str, Any]

_READERS = "each reader, against the others"
_JUDGES_SERIES = "judge: estimate and 95% interval"
_READERS_SERIES = "readers: mean and range, which is no interval"
_LINES = (
    "bias and its 95% interval",
    "limits: bias \N{PLUS-MINUS SIGN} 1.96 sd, with 95% intervals",
)
_LINE_OF = {"bias": _LINES[0], "lower": _LINES[1], "upper": _LINES[1]}
_MEAN_OF_READERS = "the mean of the readers"
_MOST_LETTERS = 60


def validation_figures(
    validation: Report, studies: RatedStudies, only: Sequence[str] = ()
) -> FigureSet:
    """Return the figures of what `judge validate --format json` prints, and of its studies.

    `only` names some of `VALIDATION_FIGURES`; without it, those that are not drawn on request
    alone. Raises `JudgeError` for a name of which there is nothing to draw.
    """
    figures: list[Figure] = []
    for kind in only or usual(VALIDATION_FIGURES):
        make, needed = _KINDS[kind]
        made = list(make(validation, studies))
        if only and not made:
            raise JudgeError(f"there is nothing to draw for {kind}: it needs {needed}")
        figures += made
    raters = [*validation["judges"], *validation["readers"]]
    return FigureSet(
        "validation",
        with_unique_names(figures),
        validation["signature"],
        tuple(validation["notes"]),
        tuple(rater["name"] for rater in raters),
    )


def _agreement(validation: Report, _studies: RatedStudies) -> Iterable[Figure]:
    rows = []
    for ceiling in validation["ceiling_mean"]:
        if ceiling["category"]:
            continue
        cells = [
            (flat(row_name(row)), row["kendall"])
            for row in validation["agreement"]
            if row["quantity"] == ceiling["quantity"]
        ]
        if all(cell["value"] is None for _, cell in cells):
            continue
        low, high = ceiling["range"]["kendall"] or (None, None)
        readers = {"value": ceiling["kendall"]["value"], "low": low, "high": high}
        panel = f"{ceiling['label']}, n {count_range(c['n'] for _, c in cells if c['value'])}"
        for name, cell in [(_READERS, readers), *cells]:
            row = {
                "panel": panel,
                "name": name,
                "series": _READERS_SERIES if cell is readers else _JUDGES_SERIES,
                "value": cell.get("value"),
                "low": cell.get("low"),
                "high": cell.get("high"),
            }
            rows.append(row)
    if rows:
        title = "Agreement of judges with the readers (Kendall's tau-b)"
        yield Figure(
            "agreement_kendall",
            title,
            "Kendall's tau-b of each judge, score or metric with the mean of the readers, a panel "
            "a quantity; thin bars are 95% bootstrap intervals, n is the number of studies. A "
            "score of which more is better where more of the quantity is worse, or the other way "
            "round, is negated, so that agreement is positive. The first row is the readers' "
            "ceiling: each reader against the mean of the others, their mean and, as a broad pale "
            "band, the least to the greatest, which is a range and no interval.",
            specs.dots(
                title,
                rows,
                names=_different(rows, "name"),
                panels=_different(rows, "panel"),
                series=[_JUDGES_SERIES, _READERS_SERIES],
                ranges=_READERS_SERIES,
                axis="Kendall's tau-b",
            ),
        )


def _different(rows: Sequence[specs.Row], field: str) -> list[str]:
    """Return the different values of a field, in the order of the rows."""
    return list(dict.fromkeys(row[field] for row in rows))


@dataclass(frozen=True, slots=True)
class _Compared:
    """One count of two raters on the same studies, with its bias and limits of agreement."""

    label: str
    first: Values
    second: Values
    found: Report


def _limits(validation: Report, studies: RatedStudies) -> Iterator[Figure]:
    """Each judge against the mean of the readers, and each two judges."""
    n_judges = len(studies.judges)
    totals = [quantity for quantity in _counts(studies) if not quantity.category]
    of_readers = {(row["quantity"], row["judge"]): row for row in validation["limits"]}
    for column, judge in enumerate(studies.judges):
        compared = []
        for quantity in totals:
            found = of_readers.get((quantity.name, judge.name))
            if found is not None:
                values = studies.values[quantity.name]
                readers = mean_of(values[:, n_judges:])
                row = _Compared(quantity.label, values[:, column], readers, found)
                compared.append(row)
        yield from _limits_of_pair(
            compared,
            first=_shown(judge.name),
            second=_MEAN_OF_READERS,
            name=f"limits_{judge.name}",
        )
    units = studies.clusters
    if units is None:
        units = np.arange(len(studies.study_ids))
    for first, second in combinations(range(n_judges), 2):
        compared = []
        for quantity in totals:
            values = studies.values[quantity.name]
            other = values[:, [second]]
            found = limits_of_agreement(values[:, first], other, units)
            row = _Compared(quantity.label, values[:, first], values[:, second], found)
            compared.append(row)
        names = [studies.judges[first].name, studies.judges[second].name]
        yield from _limits_of_pair(
            compared,
            first=_shown(names[0]),
            second=_shown(names[1]),
            name=f"limits_{'_'.join(names)}",
        )


def _limits_of_pair(
    compared: Sequence[_Compared], *, first: str, second: str, name: str
) -> Iterator[Figure]:
    """Yield the limits of agreement of two raters, a panel a count; nothing without any."""
    rows: list[specs.Row] = []
    panels = []
    for count in compared:
        found = count.found
        if found["bias"]["value"] is None:
            continue
        panel = (
            f"{flat(count.label)}, n {found['n']:,}\n"
            f"bias {_with_interval(found['bias'])}\n"
            f"lower limit {_with_interval(found['lower'])}\n"
            f"upper limit {_with_interval(found['upper'])}"
        )
        panels.append(panel)
        for part, line in _LINE_OF.items():
            estimate = found[part]
            row = {
                "panel": panel,
                "line": line,
                "value": estimate["value"],
                "low": estimate.get("low"),
                "high": estimate.get("high"),
            }
            rows.append(row)
        means = (count.first + count.second) / 2
        differences = count.first - count.second
        for (mean, difference), n in _points(means, differences):
            point = {
                "panel": panel,
                "mean": mean,
                "difference": difference,
                "studies": n,
            }
            rows.append(point)
    if not panels:
        return
    title = f"Limits of agreement: {first} and {second}"
    caption = (
        f"{title} [Bland and Altman 1999]. Each circle is at the difference of both counts of a "
        "study and at their mean; its area is the number of studies there. The solid line is the "
        "bias, the mean difference; the dashed lines are the limits of agreement, bias "
        "\N{PLUS-MINUS SIGN} 1.96 standard deviations of the differences; bands are 95% "
        "intervals (Student's t, by patient where a patient has several studies). Counts are "
        "whole and skewed, so the limits are rough. n is the number of studies with both counts."
    )
    spec = specs.limits(
        title,
        rows,
        panels=panels,
        lines=_LINES,
        x_axis="mean of both, errors per study",
        y_axis="difference, errors per study",
        subtitle=f"difference: {first} less {second}",
    )
    yield Figure(name, title, caption, spec)


def _judged_counts(_validation: Report, studies: RatedStudies) -> Iterator[Figure]:
    """Each judge's count of errors of each study against the mean of the readers'."""
    n_judges = len(studies.judges)
    for column, judge in enumerate(studies.judges):
        rows: list[specs.Row] = []
        panels = []
        for quantity in _counts(studies):
            values = studies.values[quantity.name]
            own = values[:, column]
            readers = mean_of(values[:, n_judges:])
            both = ~np.isnan(own) & ~np.isnan(readers)
            if not both.any():
                continue
            own_mean = own[both].mean()
            readers_mean = readers[both].mean()
            panel = (
                f"{flat(quantity.label)}, n {both.sum():,}\n"
                f"mean: judge {own_mean:.2f}, readers {readers_mean:.2f}"
            )
            panels.append(panel)
            # The line of equality goes to the largest count, and is seen where all are 0.
            end = max(1.0, float(own[both].max()), float(readers[both].max()))
            rows.append({"panel": panel, "end": end})
            for (x, y), n in _points(readers, own):
                rows.append({"panel": panel, "x": x, "y": y, "studies": n})
        if not panels:
            continue
        title = f"Error counts: {_shown(judge.name)} against the readers"
        caption = (
            f"{title}. Each circle is at the count of the judge and at the mean count of the "
            "readers of a study; its area is the number of studies there. On the dashed line both "
            "are equal; above it the judge counts more. n is the number of studies with both "
            "counts, over which the means are taken."
        )
        spec = specs.scatter(
            title,
            rows,
            panels=panels,
            x_axis="readers' mean, errors per study",
            y_axis="judge, errors per study",
            subtitle="dashed line: equal counts; above it the judge counts more",
        )
        yield Figure(f"counts_{judge.name}", title, caption, spec)


def _counts(studies: RatedStudies) -> list[SharedMeasure]:
    return [quantity for quantity in studies.quantities if quantity.role == "count"]


def _points(x: Values, y: Values) -> Iterator[tuple[tuple[float, float], int]]:
    """Yield each place that a study has, and how many studies are there."""
    known = ~np.isnan(x) & ~np.isnan(y)
    pairs = zip(x[known].round(6).tolist(), y[known].round(6).tolist(), strict=True)
    # Studies at one place are one circle: 10,000 studies are as quick to draw as 100.
    yield from sorted(Counter(pairs).items())


def _with_interval(estimate: Report) -> str:
    text = _signed(estimate["value"])
    if estimate.get("low") is None:
        return text
    return f"{text} [{_signed(estimate['low'])}, {_signed(estimate['high'])}]"


def _signed(value: float) -> str:
    """Return a number with two digits; one that rounds to zero has no sign."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def _shown(name: str) -> str:
    """Return the name of a judge for a title."""
    name = flat(name)
    if len(name) > _MOST_LETTERS:
        return f"{name[: _MOST_LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
    return name


_KINDS: dict[str, tuple[Callable[[Report, RatedStudies], Iterable[Figure]], str]] = {
    "agreement": (_agreement, "a quantity on which judges and readers can be compared"),
    "limits": (_limits, "three studies with counts of a judge and of a reader"),
    "counts": (_judged_counts, "a study with counts of a judge and of a reader"),
}
"""How each of `VALIDATION_FIGURES` is drawn, and what it needs."""
