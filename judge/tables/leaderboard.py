"""A comparison as plain tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from judge import rubrics
from judge.stats.metric import Metric
from judge.stats.scores import Cell, Group, ScoreMatrix, item_counts, parts_of
from judge.stats.significance import Comparison, PairTest, model_order
from judge.tables.run import Table, definitions
from judge.text import NOTHING, group_value, number, percent
from judge.types import JudgeError

TABLES = ("leaderboard", "errors", "tests", "ranks", "correlations")
"""What is printed of a comparison, in this order."""

_WIDEST = 6
"""Metrics that fit beside each other on a page."""

_ALL_PAIRS = 15
"""Up to six models every pair is printed; beyond, each with the next in rank."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Which of the `TABLES` are printed, and which metrics the leaderboards have: None is all."""

    tables: Collection[str] = TABLES
    metrics: tuple[Metric, ...] | None = None


EVERYTHING = Shown()


def check_tables(names: Sequence[str]) -> None:
    """Raise `JudgeError` for a table that a comparison has not."""
    for name in names:
        if name not in TABLES:
            raise JudgeError(f"no table {name!r} in a comparison; choose of {', '.join(TABLES)}")


def figure(cell: Cell, metric: Metric) -> str:
    """Return a figure with its 95% interval: `0.712 [0.690, 0.733]`, a rate `71.0% [65.5, 76.0]`.

    Of a metric whose scale is unknown it is mean ± 1.96 standard errors, `3.21 ± 0.04`.
    """
    return " ".join(filter(None, figure_and_interval(cell, metric)))


def figure_and_interval(cell: Cell, metric: Metric) -> tuple[str, str]:
    """Return the two texts of `figure`; the second is empty where there is no interval."""
    if metric.kind == "rate":
        if cell.low is None or cell.high is None:
            return percent(cell.value), ""
        return percent(cell.value), f"[{100 * cell.low:.1f}, {100 * cell.high:.1f}]"
    if cell.value is None or cell.low is None or cell.high is None:
        return number(cell.value), ""
    if metric.scale is not None:
        return number(cell.value), f"[{number(cell.low)}, {number(cell.high)}]"
    return number(cell.value), f"± {number(cell.high - cell.value)}"


def rank_text(cell: Cell, cells: Sequence[Cell]) -> str:
    """Return a rank, with an equals sign where models share it."""
    if cell.rank is None:
        return NOTHING
    shared = sum(other.rank == cell.rank for other in cells) > 1
    return f"{cell.rank}{'=' if shared else ''}"


def group_name(key: Mapping[str, object]) -> str:
    """Return what a group is called in a heading."""
    if not key:
        return "all studies"
    return ", ".join(f"{name} {group_value(value)}" for name, value in key.items())


def columns(comparison: Comparison, shown: Shown = EVERYTHING) -> list[list[Metric]]:
    """Return the metrics of each table of a leaderboard.

    One table where they fit a page, else one for each rubric and one for what files gave.
    """
    metrics = comparison.panel.metrics if shown.metrics is None else shown.metrics
    if len(metrics) <= _WIDEST:
        return [list(metrics)]
    parts: dict[str | None, list[Metric]] = {}
    for metric in metrics:
        parts.setdefault(metric.rubric, []).append(metric)
    return list(parts.values())


def rows_of(comparison: Comparison, group: Group, metrics: Sequence[Metric]) -> list[int]:
    """Return the models' numbers in a table of these metrics, by the rank of the chosen one.

    A model that no run of a rubric is of does not stand among that rubric's metrics alone.
    """
    is_of_one = len({metric.rubric for metric in metrics}) == 1
    return [
        model
        for model in model_order(group, comparison.sort)
        if not is_of_one or comparison.panel.has_run(model, metrics[0])
    ]


def board(comparison: Comparison, group: Group, metrics: Sequence[Metric]) -> Table:
    """Return the leaderboard of one group, ranked by the metric that was chosen.

    A figure whose denominator is not the group's number of studies says so. Where all its
    metrics are of one rubric, the title names that, and the headings need not. Ranks by a metric
    that has its figures in another table say so.
    """
    by = comparison.sorted_by
    ranked = group.cells[by.name]
    rows = []
    for model in rows_of(comparison, group, metrics):
        cells = [rank_text(ranked[model], ranked), comparison.panel.models[model]]
        for metric in metrics:
            cell = group.cells[metric.name][model]
            short = f" (n {cell.n})" if cell.n != group.n_studies else ""
            cells.append(figure(cell, metric) + short)
        rows.append(tuple(cells))
    title = f"Leaderboard by {by.label}: {group_name(group.key)} ({group.n_studies:,})"
    kinds = {metric.rubric for metric in metrics}
    rubric = next(iter(kinds)) if len(kinds) == 1 else None
    is_part = len(metrics) < len(comparison.panel.metrics)
    if rubric is not None:
        name = rubrics.load(rubric).title
        title += f", {name}" if is_part or name not in by.label else ""
    elif kinds == {None} and is_part:
        title += ", other metrics"
    labels = (metric.label if rubric is None else metric.short for metric in metrics)
    head = ("rank" if by in metrics else f"rank by {by.label}", "model", *labels)
    is_first = group is comparison.groups[0]
    note = definitions((one.label, one.definition) for one in metrics if is_first)
    return Table(title, head, tuple(rows), 2, note)


def summary(comparison: Comparison, shown: Shown = EVERYTHING) -> list[Table]:
    """Return a row a model of all studies, where the leaderboards are several.

    It has each rubric's first metric and its rates, and all that came from files, as figures
    alone; their intervals and the rest follow in the leaderboards.
    """
    parts = columns(comparison, shown)
    metrics = [
        metric
        for part in parts
        for at, metric in enumerate(part)
        if at == 0 or metric.kind == "rate" or metric.rubric is None
    ]
    if len(parts) < 2:
        return []
    by, group = comparison.sorted_by, comparison.groups[0]
    ranked = group.cells[by.name]
    rows = tuple(
        (
            rank_text(ranked[model], ranked),
            comparison.panel.models[model],
            *(
                figure_and_interval(group.cells[metric.name][model], metric)[0]
                for metric in metrics
            ),
        )
        for model in model_order(group, by.name)
    )
    short = Counter(metric.short for metric in metrics)
    head = (one.short if short[one.short] == 1 else one.label for one in metrics)
    title = f"Summary, ranked by {by.label}: {group_name(group.key)} ({group.n_studies:,})"
    return [Table(title, ("rank", "model", *head), rows, n_left=2)]


def error_tables(
    panel: ScoreMatrix, key: Mapping[str, object], order: Sequence[int]
) -> list[Table]:
    """Return what each model gets wrong, a table a rubric with a tally.

    `panel` has the studies of one group, whose fields are `key`; models come in `order`. The
    figures are items a study that was scored for the model; where those are not all of the
    group it says how many. An item with several labels of the tally's rows is counted for each
    of them, and once in the last column.
    """
    found = []
    for name in panel.tallies:
        rubric = rubrics.load(name)
        tally = rubric.tally
        counts = {one.model: one for one in item_counts(panel, rubric)}
        if tally is None or not counts:
            continue
        across, down = rubric.facet(tally.rows), rubric.facet(tally.columns)
        some = {label for one in counts.values() for (label, _), n in one.cuts.items() if n.value}
        shown = [one for one in across.labels if one.modality is None or one.name in some]
        labels = [*(label.name for label in shown), None]
        n_studies = len(panel.study_ids)
        short = {model: one.n_scored < n_studies for model, one in counts.items()}
        rows = tuple(
            (
                level.label,
                panel.models[model] + (f" (n {counts[model].n_scored:,})" if short[model] else ""),
                *(number(counts[model].cuts[label, level.name].value) for label in labels),
            )
            for level in down.labels
            for model in order
            if model in counts
        )
        title = f"{tally.title}, per study: {group_name(key)} ({n_studies:,}), {rubric.title}"
        texts = [across.text(label.name) for label in shown]
        if across.has_codes:  # whole labels for columns would not fit a page
            title += f": {', '.join(texts)}"
            texts = [f"({label.name})" for label in shown]
        head = (down.label, "model", *texts, f"all {rubric.kind(tally.kind).plural}")
        found.append(Table(title, head, rows, n_left=2))
    return found


def panels(comparison: Comparison) -> list[ScoreMatrix]:
    """Return the studies of each of the comparison's groups, in their order."""
    return [part for _, part in parts_of(comparison.panel, comparison.by)]


def judged_tests(comparison: Comparison, index: int, metric: Metric) -> list[PairTest]:
    """Return a group's tests by a metric, of models that were judged by its rubric."""
    return [
        test
        for test in comparison.tests[index][metric.name]
        if all(comparison.panel.has_run(model, metric) for model in (test.a, test.b))
    ]


def shown_pairs(comparison: Comparison, index: int) -> list[PairTest]:
    """Return the tests that are printed of a group, by the metric that models are ranked by.

    All of them where there are few, else each model with the next in rank.
    """
    tests = judged_tests(comparison, index, comparison.sorted_by)
    if len(tests) <= _ALL_PAIRS:
        return tests
    order = rows_of(comparison, comparison.groups[index], [comparison.sorted_by])
    pairs = {(test.a, test.b): test for test in tests}
    return [pairs[min(one, other), max(one, other)] for one, other in pairwise(order)]


def p_value(value: float | None) -> str:
    """Return a p-value; below 0.001 it says just that."""
    if value is None:
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def tests_table(comparison: Comparison, index: int) -> Table:
    """Return the paired tests of a group, the better model of each pair first."""
    metric = comparison.sorted_by
    models = comparison.panel.models
    tests = judged_tests(comparison, index, metric)
    shown = shown_pairs(comparison, index)
    ranks = {model: i for i, model in enumerate(model_order(comparison.groups[index], metric.name))}
    rows = []
    for test in sorted(shown, key=lambda t: sorted((ranks[t.a], ranks[t.b]))):
        first, second = sorted((test.a, test.b), key=ranks.__getitem__)
        parts = difference_and_interval(test, metric, 1 if first == test.a else -1)
        rows.append(
            (
                *(models[first], models[second], str(test.n), " ".join(filter(None, parts))),
                *(p_value(test.p), p_value(test.p_holm), test.method),
            )
        )
    more = "" if len(shown) == len(tests) else f", {len(shown)} of {len(tests)} pairs"
    title = f"Differences in {metric.label}: {group_name(comparison.groups[index].key)}{more}"
    head = ("model", "other", "studies", "difference", "p", "p (Holm)", "test")
    return Table(title, head, tuple(rows), 2, comparison.correction)


def difference_and_interval(test: PairTest, metric: Metric, sign: int = 1) -> tuple[str, str]:
    """Return a difference, of rates in percentage points, and its 95% interval.

    With `sign` -1 it is b's figure less a's. The second text is empty where there is no
    interval.
    """
    if test.difference is None:
        return NOTHING, ""
    scale, digits, unit = (100, 1, " points") if metric.kind == "rate" else (1, 3, "")
    text = f"{signed(sign * scale * test.difference, digits)}{unit}"
    if test.low is None or test.high is None:
        return text, ""
    low, high = sorted((sign * test.low, sign * test.high))
    return text, f"[{signed(scale * low, digits)}, {signed(scale * high, digits)}]"


def signed(value: float, digits: int) -> str:
    """Return a difference with its sign; one that is rounded to 0 has none."""
    text = f"{value:+z.{digits}f}"
    return text.lstrip("+") if float(text) == 0 else text


def ranks_table(comparison: Comparison, index: int) -> Table:
    """Return how sure each model's rank is: its 95% interval and how often it came first."""
    group, metric = comparison.groups[index], comparison.sorted_by
    cells, rank_shares = group.cells[metric.name], comparison.rank_shares[index][metric.name]
    rows = []
    for model in rows_of(comparison, group, [metric]):
        shares = rank_shares[model]
        row = [comparison.panel.models[model], rank_text(cells[model], cells)]
        if shares is None:
            row += [NOTHING] * 4
        else:
            row.append(f"{shares.low} to {shares.high}")
            row += [percent(sum(shares.shares[:top])) for top in (1, 2, 3)]
        rows.append(tuple(row))
    title = f"Ranks by {metric.label}: {group_name(group.key)}"
    head = ("model", "rank", "95% interval", "first", "first 2", "first 3")
    return Table(title, head, tuple(rows))


def correlation_tables(comparison: Comparison) -> list[Table]:
    """Return how the metrics correlate over studies, a table a measure."""
    found = comparison.correlations
    if found is None:
        return []
    least, most = min(map(min, found.n)), max(map(max, found.n))
    counts = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    title = f"Correlation over studies and models, n {counts}: "
    measures = {
        "Pearson": found.pearson,
        "Spearman": found.spearman,
        "Kendall tau-b": found.kendall,
    }
    tables = []
    for name, matrix in measures.items():
        cells = ([number(value, 2) for value in row] for row in matrix)
        rows = tuple((label, *row) for label, row in zip(found.labels, cells, strict=True))
        tables.append(Table(title + name, ("", *found.labels), rows))
    return tables


def all_tables(comparison: Comparison, shown: Shown = EVERYTHING) -> list[Table]:
    """Return what is printed of a comparison: its leaderboards, then the rest."""
    boards = [
        board(comparison, group, metrics)
        for group in comparison.groups
        for metrics in columns(comparison, shown)
    ]
    has_boards = "leaderboard" in shown.tables
    boards = [*summary(comparison, shown), *boards] if has_boards else []
    return boards + further_tables(comparison, shown)


def further_tables(comparison: Comparison, shown: Shown = EVERYTHING) -> list[Table]:
    """Return the errors, tests, ranks and correlations.

    Those of single groups are in the machine-readable formats only.
    """
    tables = []
    if "errors" in shown.tables:
        tables += error_tables(comparison.panel, {}, comparison.order)
    if comparison.tests and len(comparison.panel.models) > 1:
        if "tests" in shown.tables:
            tables.append(tests_table(comparison, 0))
        if "ranks" in shown.tables:
            tables.append(ranks_table(comparison, 0))
    return tables + (correlation_tables(comparison) if "correlations" in shown.tables else [])
