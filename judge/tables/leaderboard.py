"""The tables of a comparison: leaderboards, errors, tests, ranks and correlations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from judge import rubrics
from judge.rubrics.contract import Label, Rubric, Tally
from judge.stats.metric import Metric
from judge.stats.scores import Cell as Score
from judge.stats.scores import Group, ItemCounts, ScoreMatrix, item_counts, parts_of
from judge.stats.significance import ALPHA, Comparison, PairTest, model_order
from judge.stats.table import fields_of, row_name
from judge.tables.document import (
    Cell,
    Column,
    Estimate,
    Kind,
    Table,
    columns,
    definitions,
    estimate_texts,
    field_columns,
)
from judge.text import group_value

_WIDEST = 6
"""Metrics that fit beside each other on a page."""

_ALL_PAIRS = 15
"""Up to six models every pair is printed; beyond, each with the next in rank."""

_MODEL = Column("model", "model")


def leaderboard_tables(
    comparison: Comparison, metrics: Sequence[Metric] | None = None, *, complete: bool = False
) -> list[Table]:
    """Return what is printed of a comparison: its leaderboards, then the rest.

    `metrics` are the columns of the leaderboards, by default all. `complete` is for CSV: all
    groups, metrics and pairs, each with columns that say which.
    """
    shown = comparison.panel.metrics if metrics is None else metrics
    parts = [list(shown)] if complete else _parts(shown)
    n_groups = range(len(comparison.groups))
    tables = [] if complete else _summary(comparison, parts)
    tables += [
        board(comparison, group, part, complete=complete) for group in n_groups for part in parts
    ]
    if complete:
        for group, panel in zip(comparison.groups, panels(comparison), strict=True):
            order = model_order(group, comparison.sort)
            for table in error_tables(panel, group.key, order, complete=True):
                tables.append(_with_group(comparison, group, table))
    else:
        tables += error_tables(comparison.panel, {}, comparison.order)
    if comparison.tests and len(comparison.panel.models) > 1:
        tested = n_groups if complete else [0]
        chosen = comparison.panel.metrics if complete else [comparison.sorted_by]
        for make in (differences_table, ranks_table):
            made = (
                make(comparison, group, metric, complete=complete)
                for group in tested
                for metric in chosen
            )
            tables += [table for table in made if table.rows]
    return tables + correlation_tables(comparison, complete=complete)


def _parts(metrics: Sequence[Metric]) -> list[list[Metric]]:
    """Return the metrics of each leaderboard: one, or one for each rubric and one for files."""
    if len(metrics) <= _WIDEST:
        return [list(metrics)]
    parts: dict[str | None, list[Metric]] = {}
    for metric in metrics:
        parts.setdefault(metric.rubric, []).append(metric)
    return list(parts.values())


def _with_group(
    comparison: Comparison, group: Group, table: Table, metric: Metric | None = None
) -> Table:
    """Return the table with columns that say which group and which metric it is about."""
    fields = fields_of(*comparison.by)
    values = [group.key.get(field) for field in fields]
    texts = [value if isinstance(value, int | float | None) else str(value) for value in values]
    cells: list[Cell] = [row_name(comparison.by, group.key), *texts, group.n_studies]
    head = [*columns("row"), *field_columns(fields, table.columns)]
    head += columns("n_studies|studies|count", *(["metric"] if metric else []))
    cells += [metric.name] if metric else []
    rows = [(*cells, *row) for row in table.rows]
    return replace(table, columns=[*head, *table.columns], rows=rows)


def group_name(key: Mapping[str, object]) -> str:
    """Return the name of a group in a heading."""
    if not key:
        return "all studies"
    return ", ".join(f"{name} {group_value(value)}" for name, value in key.items())


def panels(comparison: Comparison) -> list[ScoreMatrix]:
    """Return the studies of each of the comparison's groups, in their order."""
    return [part for _, part in parts_of(comparison.panel, comparison.by)]


def metric_kind(metric: Metric) -> Kind:
    """Return how a metric's figures are printed: with ± where its scale is unknown."""
    if metric.kind == "rate":
        return "share"
    return "plus_minus" if metric.scale is None else "number"


def figure(cell: Score, metric: Metric, n_studies: int | None = None) -> Estimate:
    """Return a model's figure; one that rests on fewer than `n_studies` says on how many."""
    note = f"(n {cell.n})" if n_studies not in (None, cell.n) else ""
    return Estimate(
        *(cell.value, cell.low, cell.high, cell.k, cell.n), note=note, kind=metric_kind(metric)
    )


def figure_and_interval(cell: Score, metric: Metric) -> tuple[str, str]:
    """Return the two texts of a figure; the second is empty where there is no interval."""
    return estimate_texts(figure(cell, metric), metric_kind(metric))


def difference(test: PairTest, metric: Metric, sign: int = 1) -> Estimate:
    """Return a's figure less b's, or with `sign` -1 b's less a's."""
    if test.difference is None:
        return Estimate(None)
    low, high = test.low, test.high
    if low is not None and high is not None:
        low, high = sorted((sign * low, sign * high))
    return Estimate(sign * test.difference, low, high, kind=_difference_kind(metric))


def difference_and_interval(test: PairTest, metric: Metric, sign: int = 1) -> tuple[str, str]:
    """Return the two texts of a difference, of rates in percentage points."""
    return estimate_texts(difference(test, metric, sign), _difference_kind(metric))


def _difference_kind(metric: Metric) -> Kind:
    return "points" if metric.kind == "rate" else "difference"


def _models(comparison: Comparison, group: Group, metrics: Sequence[Metric]) -> list[int]:
    """Return the models of a table of these metrics, by rank.

    A table of one rubric has the models that were judged by it.
    """
    is_one_rubric = len({metric.rubric for metric in metrics}) == 1
    return [
        model
        for model in model_order(group, comparison.sort)
        if not is_one_rubric or comparison.panel.has_run(model, metrics[0])
    ]


def board(
    comparison: Comparison, index: int, metrics: Sequence[Metric], *, complete: bool = False
) -> Table:
    """Return the leaderboard of a group, ranked by the metric that was chosen.

    A figure whose denominator is not the group's number of studies says so. A star marks a model
    that a test tells from the next in rank.
    """
    group, by = comparison.groups[index], comparison.sorted_by
    ranks = group.cells[by.name]
    models = _models(comparison, group, metrics)
    ahead = _ahead(comparison, index, models)
    rows = []
    for model in models:
        cells: list[Cell] = [ranks[model].rank, comparison.panel.models[model]]
        for metric in metrics:
            cell = figure(group.cells[metric.name][model], metric, group.n_studies)
            if metric == by and model in ahead:
                cell = replace(cell, note=f"{cell.note} *".strip())
            cells.append(cell)
        rows.append(tuple(cells))
    title, is_one_rubric = _board_title(comparison, group, metrics)
    rank = Column("rank", "rank" if by in metrics else f"rank by {by.label}", "rank")
    labels = [metric.short if is_one_rubric else metric.label for metric in metrics]
    notes = [definitions((m.label, m.definition) for m in metrics)] if index == 0 else []
    if ahead and by in metrics:
        notes.append(f"*: differs from the next in rank, p (Holm) < {ALPHA:g}")
    note = "; ".join(filter(None, notes))
    head = [rank, _MODEL, *_metric_columns(metrics, labels)]
    table = Table("leaderboard", title, head, rows, note)
    return _with_group(comparison, group, table) if complete else table


def _board_title(
    comparison: Comparison, group: Group, metrics: Sequence[Metric]
) -> tuple[str, bool]:
    """Return a leaderboard's title, and whether it names the rubric of all its metrics."""
    by = comparison.sorted_by
    title = f"Leaderboard by {by.label}: {group_name(group.key)} ({group.n_studies:,})"
    names = {metric.rubric for metric in metrics}
    rubric = next(iter(names)) if len(names) == 1 else None
    is_part = len(metrics) < len(comparison.panel.metrics)
    if rubric is not None:
        name = rubrics.load(rubric).title
        title += f", {name}" if is_part or name not in by.label else ""
    elif names == {None} and is_part:
        title += ", other metrics"
    return title, rubric is not None


def _ahead(comparison: Comparison, index: int, models: Sequence[int]) -> set[int]:
    """Return the models that a test tells from the next in rank, by the chosen metric."""
    if not comparison.tests:
        return set()
    tests = {(test.a, test.b): test for test in comparison.tests[index][comparison.sort]}
    return {
        model
        for model, following in pairwise(models)
        if tests[min(model, following), max(model, following)].is_significant
    }


def _summary(comparison: Comparison, parts: Sequence[Sequence[Metric]]) -> list[Table]:
    """Return a row for each model over all studies, where the leaderboards are several.

    It has each rubric's first metric and its rates, and all that came from files, without
    intervals.
    """
    if len(parts) < 2:
        return []
    metrics = [
        metric
        for part in parts
        for position, metric in enumerate(part)
        if position == 0 or metric.kind == "rate" or metric.rubric is None
    ]
    by, group = comparison.sorted_by, comparison.groups[0]
    rows = [
        (
            *(group.cells[by.name][model].rank, comparison.panel.models[model]),
            *(Estimate(group.cells[metric.name][model].value) for metric in metrics),
        )
        for model in model_order(group, by.name)
    ]
    short = Counter(metric.short for metric in metrics)
    labels = [m.short if short[m.short] == 1 else m.label for m in metrics]
    head = [Column("rank", "rank", "rank"), _MODEL, *_metric_columns(metrics, labels)]
    title = f"Summary, ranked by {by.label}: {group_name(group.key)} ({group.n_studies:,})"
    return [Table("leaderboard", title, head, rows)]


def _metric_columns(metrics: Sequence[Metric], labels: Sequence[str]) -> list[Column]:
    return [
        Column(m.name, label, metric_kind(m), "high" if m.higher_is_better else "low")
        for m, label in zip(metrics, labels, strict=True)
    ]


def error_tables(
    panel: ScoreMatrix, key: Mapping[str, object], order: Sequence[int], *, complete: bool = False
) -> list[Table]:
    """Return the errors of each model by category, per scored study, a table for each rubric.

    `panel` has the studies of one group, whose fields are `key`; models come in `order`. An error
    with several categories is counted in each of them, and once in the last column.
    """
    tables = []
    for name in panel.tallies:
        rubric = rubrics.load(name)
        counts = {count.model: count for count in item_counts(panel, rubric)}
        if rubric.tally is not None and counts:
            parts = (panel, rubric, rubric.tally, key, order, counts)
            tables.append(_error_table(*parts, complete=complete))
    return tables


def _error_table(
    panel: ScoreMatrix,
    rubric: Rubric,
    tally: Tally,
    key: Mapping[str, object],
    order: Sequence[int],
    counts: Mapping[int, ItemCounts],
    *,
    complete: bool,
) -> Table:
    categories, grades = rubric.facet(tally.rows), rubric.facet(tally.columns)
    shown = [
        label
        for label in categories.labels
        if label.modality is None
        or any(
            count.cuts[label.name, grade.name].value
            for count in counts.values()
            for grade in grades.labels
        )
    ]
    labels: list[Label | None] = [*shown, None]
    n_studies = len(panel.study_ids)

    def row(grade: Label, model: int) -> tuple[Cell, ...]:
        count, name = counts[model], panel.models[model]
        cuts = [count.cuts[label.name if label else None, grade.name] for label in labels]
        if complete:
            errors = [int(cut.numerator or 0) if cut.n else None for cut in cuts]
            figures = [
                Estimate(cut.value, cut.low, cut.high, k, cut.n)
                for cut, k in zip(cuts, errors, strict=True)
            ]
            return (rubric.name, grade.label, name, *figures)
        short = f" (n {count.n_scored:,})" if count.n_scored < n_studies else ""
        return (grade.label, name + short, *(cut.value for cut in cuts))

    title = f"{tally.title}, per study: {group_name(key)} ({n_studies:,}), {rubric.title}"
    if categories.has_codes:  # whole labels for columns would not fit a page
        title += f": {', '.join(categories.text(label.name) for label in shown)}"
    left = columns(f"{tally.columns}|{grades.label}")
    if complete:
        left = columns("rubric", f"level|{grades.label}")
    head = [*left, _MODEL]
    for label in shown:
        text = f"({label.name})" if categories.has_codes else categories.text(label.name)
        head.append(Column(label.label.replace(" ", "_"), text, "number"))
    head.append(Column("all", f"all {rubric.kind(tally.kind).plural}", "number"))
    rows = [row(grade, model) for grade in grades.labels for model in order if model in counts]
    return Table("errors", title, head, rows)


def judged_tests(comparison: Comparison, index: int, metric: Metric) -> list[PairTest]:
    """Return a group's tests by a metric, of models that were judged by its rubric."""
    return [
        test
        for test in comparison.tests[index][metric.name]
        if all(comparison.panel.has_run(model, metric) for model in (test.a, test.b))
    ]


def _printed_tests(comparison: Comparison, index: int, metric: Metric) -> list[PairTest]:
    """Return the tests that are printed: all where there are few, else those of next ranks."""
    tests = judged_tests(comparison, index, metric)
    if len(tests) <= _ALL_PAIRS:
        return tests
    order = _models(comparison, comparison.groups[index], [metric])
    pairs = {(test.a, test.b): test for test in tests}
    return [pairs[min(pair), max(pair)] for pair in pairwise(order)]


def differences_table(
    comparison: Comparison, index: int, metric: Metric, *, complete: bool = False
) -> Table:
    """Return the paired tests of a group by a metric, the better model of each pair first."""
    group, models = comparison.groups[index], comparison.panel.models
    tests: Sequence[PairTest] = comparison.tests[index][metric.name]
    shown = tests if complete else _printed_tests(comparison, index, metric)
    ranks = {model: rank for rank, model in enumerate(model_order(group, metric.name))}
    rows = []
    for test in sorted(shown, key=lambda test: sorted((ranks[test.a], ranks[test.b]))):
        first, second = sorted((test.a, test.b), key=ranks.__getitem__)
        cells: tuple[Cell, ...] = (
            *(models[first], models[second], test.n),
            difference(test, metric, 1 if first == test.a else -1),
            *(test.p, test.p_holm, test.method),
        )
        rows.append((*cells, test.is_significant) if complete else cells)
    n = len(judged_tests(comparison, index, metric))
    more = "" if len(shown) == n else f", {len(shown)} of {n} pairs"
    head = columns(
        *("model", "other", "n|studies|count", f"difference||{_difference_kind(metric)}"),
        *("p||p", "p_holm|p (Holm)|p", "test", *(["significant"] if complete else [])),
    )
    title = f"Differences in {metric.label}: {group_name(group.key)}{more}"
    table = Table("tests", title, head, rows, comparison.correction)
    return _with_group(comparison, group, table, metric) if complete else table


def ranks_table(
    comparison: Comparison, index: int, metric: Metric, *, complete: bool = False
) -> Table:
    """Return how sure each model's rank is: its 95% interval and how often it came first."""
    group = comparison.groups[index]
    cells, rank_shares = group.cells[metric.name], comparison.rank_shares[index][metric.name]
    rows, models = [], _models(comparison, group, [metric])
    tops = [top for top in (1, 2, 3) if complete or top == 1 or top < len(models)]
    for model in models:
        shares, rank = rank_shares[model], cells[model].rank
        row: list[Cell] = [comparison.panel.models[model], rank]
        if rank is not None and not complete:
            row[1] = f"{rank}{'=' if sum(cell.rank == rank for cell in cells) > 1 else ''}"
        if shares is None:
            row += [None] * (1 + len(tops))
        else:
            row.append(Estimate(rank, shares.low, shares.high))
            row += [sum(shares.shares[:top]) for top in tops]
        rows.append(tuple(row))
    head = columns(
        *("model", "rank||count", "interval|95% interval|range"),
        *("first||share", "first_2|first 2|share", "first_3|first 3|share")[: len(tops)],
    )
    title = f"Ranks by {metric.label}: {group_name(group.key)}"
    table = Table("ranks", title, head, rows)
    return _with_group(comparison, group, table, metric) if complete else table


def correlation_tables(comparison: Comparison, *, complete: bool = False) -> list[Table]:
    """Return the correlations of the metrics over studies, a table for each coefficient."""
    correlations = comparison.correlations
    if correlations is None:
        return []
    least, most = min(map(min, correlations.n)), max(map(max, correlations.n))
    counts = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    title = f"Correlation over studies and models, n {counts}: "
    labels = correlations.labels
    head = [Column("metric", ""), *(Column(text, text, "number", digits=2) for text in labels)]
    tables = []
    for name, matrix in (
        ("Pearson", correlations.pearson),
        ("Spearman", correlations.spearman),
        ("Kendall tau-b", correlations.kendall),
    ):
        rows: list[tuple[Cell, ...]] = [
            (label, *row) for label, row in zip(labels, matrix, strict=True)
        ]
        if complete:
            rows = [(name, *row) for row in rows]
        left = [Column("coefficient", "")] if complete else []
        tables.append(Table("correlations", title + name, [*left, *head], rows))
    return tables
