"""The figures of a comparison of models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from judge import rubrics
from judge.figures import COMPARISON_FIGURES, specs, usual
from judge.figures.files import Figure, FigureSet, count_range, flat, with_unique_names
from judge.stats.correlation import Correlations, correlations
from judge.stats.metric import MINUS, Metric
from judge.stats.scores import (
    Group,
    ItemCounts,
    ScoreMatrix,
    group_figures,
    groups_of,
)
from judge.text import capital, group_value, in_natural_order
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.comparing.floor import ComparisonFloor
    from judge.rubrics.contract import Label
    from judge.stats.intervals import Values
    from judge.stats.significance import Comparison

DATASET_FIELD = "dataset"
MOST_GROUPS = 30
"""Sites, or data sets, that a heat map of ranks has, the largest first."""
_METHODS = ("pearson", "spearman", "kendall")
_TONE_ORDER = ("critical", "serious", "notable", "mild", None, "good")
_MAX_DATASETS = 8
"""Each has a matrix, of Pearson's as in ReXrank's papers; of more only the largest have one."""
_ALL = "all studies"
_FLOOR = "floor: the judge on harmless changes"
_FLOOR_CAPTION = (
    "The upright line is the floor: the same judge's figure on references that were only reworded, "
    "in which there is no error to find."
)
_PERCENTILES = (5, 25, 50, 75, 95)
"""Of the parts of a box plot, from whisker to whisker."""


def comparison_figures(
    comparison: Comparison,
    only: Sequence[str] = (),
    floor: ComparisonFloor | None = None,
) -> FigureSet:
    """Return the figures of a comparison; models come in the order of its leaderboard.

    `only` names some of `COMPARISON_FIGURES`; without it, those that are not drawn on request
    alone. Scores and rates have a mark at each model's `floor`. Raises `JudgeError` for a name of
    which these runs have nothing to draw.
    """
    figures: list[Figure] = []
    for kind in only or usual(COMPARISON_FIGURES):
        make, needed = _KINDS[kind]
        if floor is not None and kind in _BESIDE_FLOOR:
            made = list(_BESIDE_FLOOR[kind](comparison, floor))
        else:
            made = list(make(comparison))
        if only and not made:
            raise JudgeError(f"there is nothing to draw for {kind}: it needs {needed}")
        figures += made
    names = tuple(comparison.panel.models[model] for model in comparison.order)
    unique = with_unique_names(figures)
    return FigureSet(
        "comparison", unique, comparison.signature, comparison.notes, names
    )


def _names(comparison: Comparison) -> list[str]:
    return [flat(model) for model in comparison.panel.models]


def _in_order(comparison: Comparison) -> list[str]:
    names = _names(comparison)
    return [names[model] for model in comparison.order]


def _scores(
    comparison: Comparison, floor: ComparisonFloor | None = None
) -> Iterable[Figure]:
    """The mean of each metric that is not a rate, of all studies and of each data set."""
    panel = comparison.panel
    groups = _groups(panel, DATASET_FIELD)
    if DATASET_FIELD in panel.fields:
        groups = [(_ALL, group_figures(panel, {})), *groups]
    per = "per model and data set" if len(groups) > 1 else "per model"
    for metric in panel.metrics:
        if not metric.is_share:
            title = capital(f"{metric.label} {per}")
            caption = (
                f"{title} with its 95% interval; n is the number of scored studies."
            )
            if floor is not None:
                caption += f" {_FLOOR_CAPTION}"
            spec = _dots(
                comparison, capital(metric.label), groups, {"": metric}, floor=floor
            )
            yield Figure(f"scores_{metric.name}", title, caption, spec)


def _rates(
    comparison: Comparison, floor: ComparisonFloor | None = None
) -> Iterable[Figure]:
    panel = comparison.panel
    shown = [metric for metric in panel.metrics if metric.rubric and metric.is_share]
    groups = _groups(panel, "study_class")
    for rubric in dict.fromkeys(str(metric.rubric) for metric in shown):
        name = rubrics.load(rubric).title
        of_rubric = [metric for metric in shown if metric.rubric == rubric]
        # Two fit a row; a rubric with more rates has a figure a pair.
        for first in range(0, len(of_rubric), 2):
            series = {
                m.label.removesuffix(f" ({name})"): m
                for m in of_rubric[first : first + 2]
            }
            title = f"Studies with {' or '.join(series)} ({name})"
            caption = (
                f"Share of scored {title[0].lower()}{title[1:]}, per model and study class; bars "
                "are 95% Wilson intervals, n is the number of scored studies."
            )
            if floor is not None:
                caption += f" {_FLOOR_CAPTION}"
            yield Figure(
                f"rates_{rubric}" + (f"_{first + 1}" if first else ""),
                title,
                caption,
                _dots(comparison, title, groups, series, is_share=True, floor=floor),
            )


def _dots(
    comparison: Comparison,
    title: str,
    groups: Sequence[tuple[str, Group]],
    series: Mapping[str, Metric],
    *,
    is_share: bool = False,
    floor: ComparisonFloor | None = None,
) -> specs.Spec:
    """Return a panel a group with each model's figures of the metrics in `series`."""
    names, rows = _names(comparison), []
    for group_name, group in groups:
        studies = _studies_of(comparison.panel, group)
        cells = {
            label: group.estimates[metric.name] for label, metric in series.items()
        }
        n: list[int] = []
        for estimates in cells.values():
            n += [estimate.n or 0 for estimate in estimates]
        panel = f"{group_name}, n {count_range(n)}"
        for label, estimates in cells.items():
            for model, estimate in enumerate(estimates):
                row: specs.Row = {
                    "panel": panel,
                    "name": names[model],
                    "series": label,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "n": estimate.n,
                }
                if floor is not None:
                    found = floor.of(series[label], model, studies)
                    row["floor"] = found and found.value.value
                rows.append(row)
    return specs.dots(
        title,
        rows,
        names=_in_order(comparison),
        panels=list(dict.fromkeys(row["panel"] for row in rows)),
        series=list(series),
        axis="with 95% intervals",
        is_share=is_share,
        floor=_FLOOR if any(row.get("floor") is not None for row in rows) else "",
    )


def _studies_of(panel: ScoreMatrix, group: Group) -> list[str] | None:
    """Return the studies of a group, None for that of all."""
    if not group.key:
        return None
    studies = []
    for row, study_id in enumerate(panel.study_ids):
        if all(panel.fields[name][row] == value for name, value in group.key.items()):
            studies.append(study_id)
    return studies


def _boxes(comparison: Comparison) -> Iterable[Figure]:
    """The spread of the studies' values of each metric that is not a rate, by study class."""
    panel = comparison.panel
    parts = _parts(panel, "study_class")
    if "study_class" in panel.fields:
        parts = [({}, panel), *parts]
    per = "per model and study class" if len(parts) > 1 else "per model"
    for metric in panel.metrics:
        if metric.is_share:
            continue
        rows: list[specs.Row] = []
        panels = []
        for key, part in parts:
            of_models = part.study_values(metric.name).T
            scored = [values[~np.isnan(values)] for values in of_models]
            title = f"{_title(key)}, n {count_range(map(len, scored))}"
            panels.append(title)
            for name, values in zip(_names(comparison), scored, strict=True):
                rows.append({"panel": title, "name": name, **_spread(values)})
        if all(row["value"] is None for row in rows):
            continue
        title = f"{capital(metric.study_label)} of single studies, {per}"
        yield Figure(
            f"boxes_{metric.name}",
            title,
            f"{title}. The box is from the first to the third quartile, with a line at the "
            "median; the whiskers end at the 5th and the 95th percentile, and what is beyond "
            "them is not drawn; the diamond is the mean. Percentiles are interpolated between "
            "studies. n is the number of scored studies.",
            specs.boxes(
                title,
                rows,
                names=_in_order(comparison),
                panels=panels,
                axis=f"{metric.study_label} of a study\n"
                "Box: quartiles and median. Whiskers: 5th and 95th percentile. Diamond: mean.",
            ),
        )


def _spread(values: Values) -> dict[str, float | int | None]:
    """Return the parts of a box, None where there are no values."""
    parts = ("low", "q1", "median", "q3", "high")
    spread: dict[str, float | int | None] = {"n": len(values), "value": None}
    if not len(values):
        return spread | dict.fromkeys(parts)
    percentiles = np.percentile(values, _PERCENTILES)
    spread["value"] = float(values.mean())
    for part, percentile in zip(parts, percentiles, strict=True):
        spread[part] = float(percentile)
    return spread


def _errors(comparison: Comparison) -> Iterable[Figure]:
    for rubric_name, of_models in comparison.errors[0].items():
        rubric = rubrics.load(rubric_name)
        counts = {count.model: count for count in of_models}
        if rubric.tally is None or not counts:
            continue
        rows, columns = (
            rubric.facet(rubric.tally.rows),
            rubric.facet(rubric.tally.columns),
        )
        items = rubric.kind(rubric.tally.kind).plural
        levels = sorted(columns.labels, key=lambda label: _TONE_ORDER.index(label.tone))
        panels = {None: f"all {items}"} | {
            row.name: rows.text(row.name) for row in rows.labels
        }
        n = count_range(count.n_scored for count in counts.values())
        title = f"{rubric.tally.title} ({rubric.title})"
        bars: list[specs.Row] = []
        for category, panel in panels.items():
            for model, name in enumerate(_names(comparison)):
                for level, value in _segments(counts.get(model), category, levels):
                    bar = {
                        "panel": panel,
                        "name": name,
                        "level": level.label,
                        "value": value,
                    }
                    bars.append(bar)
        yield Figure(
            f"errors_{rubric_name}",
            title,
            f"{capital(items)} per scored study of each model, as judged by {rubric.title}, "
            f"stacked by {columns.label}, the most severe on the left; the number is the total. "
            f"One of several {rows.plural} counts in each of them, and once in 'all {items}'. "
            f"n is {n} scored studies per model.",
            specs.stacks(
                title,
                bars,
                names=_in_order(comparison),
                panels=list(panels.values()),
                levels=[level.label for level in levels],
                axis=f"{items} per scored study",
            ),
        )


def _segments(
    count: ItemCounts | None, row: str | None, levels: Sequence[Label]
) -> list[tuple[Label, float | None]]:
    """Return the mean of each level; None for all where one is not known, as their sum is not."""
    means = [count.cuts[row, level.name].value if count else None for level in levels]
    return [
        (level, None if None in means else mean)
        for level, mean in zip(levels, means, strict=True)
    ]


def _all_ranks(comparison: Comparison) -> Iterable[Figure]:
    yield from _ranks(comparison, "site")
    yield from _ranks(comparison, DATASET_FIELD)


def _ranks(comparison: Comparison, field: str) -> Iterable[Figure]:
    panel, metric = comparison.panel, comparison.panel.metric(comparison.sort)
    groups = [
        named for named in _groups(panel, field) if named[1].key.get(field) is not None
    ]
    if len(panel.models) < 2 or not groups:
        return
    groups = sorted(groups, key=lambda named: -named[1].n_studies)[:MOST_GROUPS]
    labels = [f"{title} ({group.n_studies:,})" for title, group in groups]
    title = f"Rank by {metric.label} in each {'data set' if field == DATASET_FIELD else field}"
    rows: list[specs.Row] = []
    for label, (_, group) in zip(labels, groups, strict=True):
        for name, rank in zip(
            _names(comparison), group.ranks[metric.name], strict=True
        ):
            rows.append({"down": name, "across": label, "value": rank})
    worst = max((row["value"] for row in rows if row["value"] is not None), default=1)
    yield Figure(
        f"ranks_{metric.name}" + ("_by_dataset" if field == DATASET_FIELD else ""),
        title,
        f"{title}, the {MOST_GROUPS} largest at most, with the number of studies in brackets; 1 is "
        "the best, models with equal figures share the better rank. n/a: no scored study.",
        specs.heat_map(
            title,
            rows,
            down=_in_order(comparison),
            across=labels,
            scale={"scheme": "blues", "domain": [1, max(2, worst)], "reverse": True},
            light=f"datum.value <= {1 + 0.4 * (worst - 1)}",
        ),
    )


def _correlations(comparison: Comparison) -> Iterable[Figure]:
    panel, table = comparison.panel, comparison.correlations
    if table is None:
        return
    yield from (_matrix(table, method) for method in _METHODS)
    parts = [
        named for named in _parts(panel, DATASET_FIELD) if named[0].get(DATASET_FIELD)
    ]
    if len(parts) > 1:
        parts.sort(key=lambda named: -len(named[1].study_ids))
        for key, part in parts[:_MAX_DATASETS]:
            yield _matrix(correlations(part), "pearson", _title(key))


def _matrix(table: Correlations, method: str, dataset: str = "") -> Figure:
    labels = [flat(label) for label in table.labels]
    title = (
        f"{method.capitalize()} correlation of metrics{dataset and f' in {dataset}'}"
    )
    cells: list[specs.Row] = []
    n_pairs: list[int] = []
    for row, line in enumerate(getattr(table, method)):
        n_pairs += table.n[row]
        for column, value in enumerate(line):
            cell = {"down": labels[row], "across": labels[column], "value": value}
            cells.append(cell)
    pairs = count_range(n_pairs)
    return Figure(
        f"correlation_{method}" + (f"_{dataset}" if dataset else ""),
        title,
        f"{title}, over the reports of all models that have both values, n {pairs}. A metric with "
        f"{MINUS} is negated, since less of it is better.",
        specs.heat_map(
            f"{title}, n {pairs}",
            cells,
            down=labels,
            across=labels,
            scale={"scheme": "redblue", "domain": [-1, 1], "reverse": True},
            light="abs(datum.value) > 0.65",
            form=".2f",
            widest=f"{MINUS}0.00",
        ),
    )


def _parts(
    panel: ScoreMatrix, field: str
) -> list[tuple[dict[str, object], ScoreMatrix]]:
    """Return the groups of `field` in natural order; all studies without the field."""
    parts = groups_of(panel, [field] if field in panel.fields else [])
    return [parts[index] for index in in_natural_order([key for key, _ in parts])]


def _groups(panel: ScoreMatrix, field: str) -> list[tuple[str, Group]]:
    return [
        (_title(key), group_figures(part, key)) for key, part in _parts(panel, field)
    ]


def _title(key: Mapping[str, object]) -> str:
    return flat(", ".join(map(group_value, key.values()))) or _ALL


_KINDS: dict[str, tuple[Callable[[Comparison], Iterable[Figure]], str]] = {
    "scores": (_scores, "a metric that is not a rate"),
    "rates": (_rates, "a rubric that has a rate"),
    "errors": (_errors, "a rubric that sorts errors into categories"),
    "ranks": (
        _all_ranks,
        f"two models and a field `site` or `{DATASET_FIELD}` of the studies",
    ),
    "correlations": (_correlations, "two metrics or more"),
    "boxes": (_boxes, "a metric that is not a rate, and scored studies"),
}
"""How each of `COMPARISON_FIGURES` is drawn, and what it needs."""

_BESIDE_FLOOR: dict[str, Callable[[Comparison, ComparisonFloor], Iterable[Figure]]] = {
    "scores": _scores,
    "rates": _rates,
}
"""Those that have a mark at the floor."""
