"""Comparisons, the checks of a gate and the figures of `judge metrics` as tables, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from judge import rubrics
from judge.comparing.comparison import ComparedRuns
from judge.comparing.gate import Gate
from judge.rubrics.contract import Rubric, Tally
from judge.stats.estimate import Estimate
from judge.stats.metric import Metric
from judge.stats.scores import Cut, Group
from judge.stats.significance import ALPHA, Comparison, PairTest, model_order
from judge.stats.summary import fields_of, row_name
from judge.tables.document import (
    Cell,
    Column,
    Document,
    Fact,
    ShownEstimate,
    Table,
    definitions,
    field_columns,
    table_of,
)
from judge.tables.kinds import Kind, difference_kind, figure_kind
from judge.tables.run import class_facts
from judge.text import counted, group_value, left_out

if TYPE_CHECKING:
    from judge.metrics import ScoredReports

_WIDEST = 6  # metrics that fit beside each other on a page
_ALL_PAIRS = 15  # of six models; of more models each is printed with the next in rank
_MODEL = Column("model")
_CHECKS = (
    Column("metric"),
    Column("rule"),
    Column("verdict"),
    Column("n", "studies", kind=Kind.COUNT),
    Column("baseline", "earlier run", kind=Kind.NUMBER),
    Column("value", "run", kind=Kind.NUMBER),
    Column("difference", kind=Kind.DIFFERENCE),
    Column("p_holm", "p (Holm)", kind=Kind.P),
    Column("reason", "why"),
)
_METRIC_COLUMNS = (
    Column("metric"),
    Column("studies", kind=Kind.COUNT),
    Column("figure", kind=Kind.NUMBER),
)
_VERDICTS = ("fail", "undecided", "pass")


def comparison_document(
    comparison: Comparison,
    compared: ComparedRuns | None = None,
    *,
    complete: bool = False,
) -> Document:
    """Return what is printed of a comparison; `complete` is for CSV: all groups and pairs."""
    return Document(
        f"Comparison of {counted(len(comparison.panel.models), 'model', 'models')}",
        tuple(_facts(comparison, compared)),
        comparison.notes,
        tuple(_complete(comparison) if complete else _printed(comparison)),
        signatures=(("signature", comparison.signature),),
    )


def _facts(comparison: Comparison, compared: ComparedRuns | None) -> Iterator[Fact]:
    panel = comparison.panel
    yield "models", str(len(panel.models))
    yield "studies", f"{len(panel.study_ids):,}"
    if compared is not None:
        for rubric in dict.fromkeys(run.rubric for run in compared.runs):
            judges = dict.fromkeys(
                run.judge for run in compared.runs if run.rubric == rubric
            )
            yield f"judge of {rubric}", ", ".join(judges)
        yield "section", compared.runs[0].section
    if comparison.how or panel.is_clustered:
        yield "resampled by", panel.patient_field or "study"


def _printed(comparison: Comparison) -> Iterator[Table]:
    """Yield the leaderboards of all groups, and the rest for all studies and one metric."""
    panel = comparison.panel
    parts: dict[str | None, list[Metric]] = {}
    for metric in panel.metrics:
        is_wide = len(panel.metrics) > _WIDEST
        parts.setdefault(metric.rubric if is_wide else None, []).append(metric)
    for index in range(len(comparison.groups)):
        yield from (board(comparison, index, part) for part in parts.values())
    yield from error_tables(comparison, 0, comparison.order).values()
    if comparison.tests and len(panel.models) > 1:
        for make in (differences_table, ranks_table):
            table = make(comparison, 0, comparison.sorted_by)
            if table.rows:
                yield table
    yield from correlation_tables(comparison)


def _complete(comparison: Comparison) -> Iterator[Table]:
    """Yield all tables for all groups and metrics, which their first columns name."""
    groups, metrics = [*enumerate(comparison.groups)], comparison.panel.metrics
    for index, group in groups:
        yield _named(comparison, group, board(comparison, index, metrics))
    for index, group in groups:
        order = model_order(group, comparison.sort)
        for rubric, table in error_tables(comparison, index, order).items():
            yield _named(comparison, group, table, rubric=rubric)
    if comparison.tests and len(comparison.panel.models) > 1:
        for make in (partial(differences_table, complete=True), ranks_table):
            for index, group in groups:
                for metric in metrics:
                    table = make(comparison, index, metric)
                    yield _named(comparison, group, table, metric=metric.name)
    yield from correlation_tables(comparison)


def _named(comparison: Comparison, group: Group, table: Table, **names: str) -> Table:
    """Return the table with columns that say which group, and which metric or rubric."""
    fields = fields_of(*comparison.by)
    values = [group.key.get(field) for field in fields]
    texts = [
        value if isinstance(value, int | float | None) else str(value)
        for value in values
    ]
    cells = (
        row_name(comparison.by, group.key),
        *texts,
        group.n_studies,
        *names.values(),
    )
    head = [
        Column("row"),
        *field_columns(fields, table.columns),
        Column("n_studies", "studies", kind=Kind.COUNT),
        *map(Column, names),
    ]
    rows = [(*cells, *row) for row in table.rows]
    return replace(table, columns=[*head, *table.columns], rows=rows)


def group_name(key: Mapping[str, object]) -> str:
    """Return the name of a group in a heading."""
    if not key:
        return "all studies"
    return ", ".join(f"{name} {group_value(value)}" for name, value in key.items())


def figure(
    estimate: Estimate, metric: Metric, n_studies: int | None = None
) -> ShownEstimate:
    """Return a model's figure; one that rests on fewer than `n_studies` says on how many."""
    note = f"(n {estimate.n})" if n_studies not in (None, estimate.n) else ""
    # Why it has no interval stands in no table of models.
    return ShownEstimate(
        replace(estimate, reason=None), figure_kind(is_share=metric.is_share), note
    )


def difference(test: PairTest, metric: Metric, sign: int = 1) -> ShownEstimate:
    """Return a's figure less b's, or with `sign` -1 b's less a's."""
    kind = difference_kind(is_share=metric.is_share)
    if test.difference is None:
        return ShownEstimate(Estimate(), kind)
    low, high = test.low, test.high
    if low is not None and high is not None:
        low, high = sorted((sign * low, sign * high))
    return ShownEstimate(
        Estimate(value=sign * test.difference, low=low, high=high), kind
    )


def _models(
    comparison: Comparison, group: Group, metrics: Sequence[Metric]
) -> list[int]:
    """Return the models of a table by rank; of one rubric those that were judged by it."""
    is_one_rubric = len({metric.rubric for metric in metrics}) == 1
    return [
        model
        for model in model_order(group, comparison.sort)
        if not is_one_rubric or comparison.panel.has_run(model, metrics[0])
    ]


def board(comparison: Comparison, index: int, metrics: Sequence[Metric]) -> Table:
    """Return the leaderboard of a group; a star marks a model that differs from the next."""
    group, by = comparison.groups[index], comparison.sorted_by
    models = _models(comparison, group, metrics)
    ahead: set[int] = set()
    if comparison.tests and by in metrics:
        tests = {
            (test.a, test.b): test for test in comparison.tests[index][comparison.sort]
        }
        pairs = pairwise(models)
        ahead = {a for a, b in pairs if tests[min(a, b), max(a, b)].is_significant}
    rows = []
    for model in models:
        figures = [
            figure(group.estimates[m.name][model], m, group.n_studies) for m in metrics
        ]
        if model in ahead:
            place = metrics.index(by)
            starred = f"{figures[place].note} *".strip()
            figures[place] = replace(figures[place], note=starred)
        rank = group.ranks[by.name][model]
        rows.append((rank, comparison.panel.models[model], *figures))
    title = f"Leaderboard by {by.label}: {group_name(group.key)} ({group.n_studies:,})"
    names = {metric.rubric for metric in metrics}
    rubric = names.pop() if len(names) == 1 else None
    if rubric and rubrics.load(rubric).title not in by.label:
        title += f", {rubrics.load(rubric).title}"
    head = [
        Column(
            "rank",
            None if by in metrics else f"rank by {by.label}",
            kind=Kind.RANK,
        ),
        _MODEL,
    ]
    for m in metrics:
        better = "high" if m.higher_is_better else "low"
        label = m.short if rubric else m.label
        kind = figure_kind(is_share=m.is_share)
        head.append(Column(m.name, label, kind=kind, better=better))
    notes = ["" if index else definitions((m.label, m.definition) for m in metrics)]
    if ahead:
        role = comparison.how.role(by.name) if comparison.how else None
        of_metric = f" (a {role} metric)" if role else ""
        notes.append(
            f"*: differs from the next in rank, p (Holm) < {ALPHA:g}{of_metric}"
        )
    return Table("leaderboard", title, head, rows, "; ".join(filter(None, notes)))


def error_tables(
    comparison: Comparison, index: int, order: Sequence[int]
) -> dict[str, Table]:
    """Return the errors of each model of a group by category and level, a table for each rubric.

    `order` has the models' numbers, as the rows come.
    """
    panel, group = comparison.panel, comparison.groups[index]
    where = f"{group_name(group.key)} ({group.n_studies:,})"
    tables = {}
    for name, of_models in comparison.errors[index].items():
        rubric = rubrics.load(name)
        counts = {count.model: count.cuts for count in of_models}
        if rubric.tally is None or not counts:
            continue
        by_model = {
            panel.models[model]: counts[model] for model in order if model in counts
        }
        tables[name] = _error_table(rubric, rubric.tally, by_model, where)
    return tables


def _error_table(
    rubric: Rubric,
    tally: Tally,
    counts: Mapping[str, Mapping[Cut, Estimate]],
    where: str,
) -> Table:
    categories, levels = rubric.facet(tally.rows), rubric.facet(tally.columns)
    found = set()
    for cuts in counts.values():
        found |= {category for (category, _), cut in cuts.items() if cut.value}
    shown = [
        label
        for label in categories.labels
        if label.modality is None or label.name in found
    ]
    names = (*(label.name for label in shown), None)
    rows: list[tuple[Cell, ...]] = []
    for level in levels.labels:
        for model, cuts in counts.items():
            figures = []
            for cut in (cuts[name, level.name] for name in names):
                k = int(cut.numerator or 0) if cut.n else None
                figures.append(
                    Estimate(value=cut.value, low=cut.low, high=cut.high, k=k, n=cut.n)
                )
            rows.append((level.label, model, *figures))
    title = f"{tally.title}, and per study: {where}, {rubric.title}"
    if categories.has_codes:  # whole labels for columns would not fit a page
        title += f": {', '.join(categories.text(label.name) for label in shown)}"
    head = [Column("level", levels.label), _MODEL]
    for label in shown:
        text = (
            f"({label.name})" if categories.has_codes else categories.text(label.name)
        )
        name = label.label.replace(" ", "_")
        head.append(Column(name, text, kind=Kind.PER_STUDY))
    items = rubric.kind(tally.kind).plural
    head.append(Column("all", f"all {items}", kind=Kind.PER_STUDY))
    return Table("errors", title, head, rows)


def judged_tests(comparison: Comparison, index: int, metric: Metric) -> list[PairTest]:
    """Return a group's tests by a metric, of models that were judged by its rubric."""
    panel = comparison.panel
    return [
        test
        for test in comparison.tests[index][metric.name]
        if panel.has_run(test.a, metric) and panel.has_run(test.b, metric)
    ]


def differences_table(
    comparison: Comparison, index: int, metric: Metric, *, complete: bool = False
) -> Table:
    """Return the paired tests of a group by a metric, of many models those of next ranks."""
    group, models = comparison.groups[index], comparison.panel.models
    tests: Sequence[PairTest] = comparison.tests[index][metric.name]
    more = ""
    if not complete:
        tests = judged_tests(comparison, index, metric)
    if not complete and len(tests) > _ALL_PAIRS:
        order = _models(comparison, group, [metric])
        pairs, n = {(test.a, test.b): test for test in tests}, len(tests)
        tests = [pairs[min(pair), max(pair)] for pair in pairwise(order)]
        more = f", {len(tests)} of {n} pairs"
    ranks = {model: rank for rank, model in enumerate(model_order(group, metric.name))}
    role = comparison.how.role(metric.name) if comparison.how else None
    rows = []
    for test in sorted(tests, key=lambda test: sorted((ranks[test.a], ranks[test.b]))):
        first, second = sorted((test.a, test.b), key=ranks.__getitem__)
        row: tuple[Cell, ...] = (
            models[first],
            models[second],
            test.n,
            difference(test, metric, 1 if first == test.a else -1),
            test.p,
            test.p_holm,
            test.method,
        )
        if complete:
            row = (*row, test.is_significant, test.interval_by or "", role or "")
        rows.append(row)
    head = [
        _MODEL,
        Column("other"),
        Column("n", "studies", kind=Kind.COUNT),
        Column("difference", kind=Kind.DIFFERENCE),
        Column("p", kind=Kind.P),
        Column("p_holm", "p (Holm)", kind=Kind.P),
        Column("test"),
    ]
    if complete:
        head += [Column("significant"), Column("interval"), Column("role")]
    kind = f" ({role} metric)" if role else ""
    title = f"Differences in {metric.label}{kind}: {group_name(group.key)}{more}"
    return Table("tests", title, head, rows, comparison.correction)


def ranks_table(comparison: Comparison, index: int, metric: Metric) -> Table:
    """Return how sure each model's rank is: its 95% interval and how often it came first."""
    group = comparison.groups[index]
    ranks = group.ranks[metric.name]
    rank_shares = comparison.rank_shares[index][metric.name]
    rows: list[tuple[Cell, ...]] = []
    for model in _models(comparison, group, [metric]):
        shares, rank = rank_shares[model], ranks[model]
        figures: list[Cell] = [None] * 4
        if shares is not None:
            tops = (sum(shares.shares[:top]) for top in (1, 2, 3))
            place = Estimate(value=rank, low=shares.low, high=shares.high)
            figures = [place, *tops]
        rows.append((comparison.panel.models[model], rank, *figures))
    head = [
        _MODEL,
        Column("rank", kind=Kind.RANK),
        Column("interval", "95% interval", kind=Kind.RANGE),
        Column("first", kind=Kind.SHARE),
        Column("first_2", "first 2", kind=Kind.SHARE),
        Column("first_3", "first 3", kind=Kind.SHARE),
    ]
    return Table(
        "ranks", f"Ranks by {metric.label}: {group_name(group.key)}", head, rows
    )


def correlation_tables(comparison: Comparison) -> list[Table]:
    """Return the correlations of the metrics over studies, a table for each coefficient."""
    correlations = comparison.correlations
    if correlations is None:
        return []
    ends = {min(map(min, correlations.n)), max(map(max, correlations.n))}
    counts = " to ".join(f"{n:,}" for n in sorted(ends))
    labels = correlations.labels
    head = [
        Column("coefficient"),
        Column("metric"),
        *(Column(label, kind=Kind.NUMBER, digits=2) for label in labels),
    ]
    matrices = {
        "Pearson": correlations.pearson,
        "Spearman": correlations.spearman,
        "Kendall tau-b": correlations.kendall,
    }
    title, tables = f"Correlation over studies and models, n {counts}", []
    for name, matrix in matrices.items():
        rows = [(name, label, *row) for label, row in zip(labels, matrix, strict=True)]
        tables.append(Table("correlations", f"{title}: {name}", head, rows))
    return tables


def metrics_document(scored: ScoredReports, by: Sequence[str]) -> Document:
    """Return a table of all studies, and one for each grouping with a row a group and metric."""
    studies = scored.studies
    facts = [("section", studies.section), ("studies", f"{len(studies):,}")]
    if studies.omitted:
        facts.append(("left out", left_out(studies.omitted)))
    facts += class_facts(sum(studies.class_inferred), len(studies))
    found = scored.patients()
    if found:
        facts.append(("intervals", f"by {found[0]}: some have several studies"))
    if any(scores.figures for scores in scored.scores):
        draws = scored.set_of_draws()
        facts.append(("bootstrap", f"{draws.resamples:,} resamples, seed {draws.seed}"))
    tables = []
    for grouping in by or ("",):
        fields = grouping.split(",") if grouping else []
        entries = []
        for key, figures in scored.figures(fields):
            for metric, estimate in figures:
                entry = {
                    "group": group_name(key),
                    "metric": metric.label,
                    "studies": estimate.n,
                    "figure": figure(estimate, metric),
                }
                entries.append(entry)
        head = [*_METRIC_COLUMNS]
        if fields:
            head.insert(0, Column("group", "studies of"))
        tables.append(table_of("metrics", f"Metrics of {scored.model}", head, entries))
    return Document(facts=facts, tables=tables)


def gate_document(gate: Gate) -> Document:
    """Return the verdict and the checks behind it, the failed ones first."""
    checks = sorted(gate.checks, key=lambda check: _VERDICTS.index(check.verdict))
    facts: list[tuple[str, str]] = [("verdict", gate.verdict)]
    if gate.compared:
        facts.append(("compared", ", ".join(gate.compared)))
    if gate.not_compared:
        facts.append(("not compared", ", ".join(gate.not_compared)))
    tested = ("baseline", "difference", "p_holm")
    entries = [
        {**asdict(check), "metric": check.label}
        | {
            "difference": Estimate(
                value=check.difference, low=check.low, high=check.high
            )
        }
        | (dict.fromkeys(tested, "") if check.is_limit else {})
        for check in checks
    ]
    return Document(
        "Gate",
        facts=tuple(facts),
        notes=gate.notes,
        tables=(table_of("checks", "Checks", _CHECKS, entries),),
        signatures=(("signature", gate.signature),),
    )


def as_data(
    comparison: Comparison, runs: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return the whole comparison as JSON's types; what has no value is null, never NaN."""
    panel = comparison.panel
    return {
        "signature": comparison.signature,
        "models": list(panel.models),
        "runs": [dict(run) for run in runs],
        "sort": comparison.sort,
        "by": list(comparison.by),
        "patient_field": panel.patient_field,
        "resampling": asdict(comparison.how) if comparison.how else None,
        "notes": list(comparison.notes),
        "metrics": [metric.plain() for metric in panel.metrics],
        "groups": [
            {**_group(comparison, index), "errors": _errors(comparison, index)}
            for index in range(len(comparison.groups))
        ],
        "correlations": asdict(comparison.correlations)
        if comparison.correlations
        else None,
    }


def _group(comparison: Comparison, index: int) -> dict[str, Any]:
    models, group = comparison.panel.models, comparison.groups[index]

    def by_model(figures: Sequence[Any]) -> dict[str, Any]:
        plain = (asdict(figure) if figure else None for figure in figures)
        return dict(zip(models, plain, strict=True))

    data: dict[str, Any] = {
        "group": dict(group.key),
        "n_studies": group.n_studies,
        "cells": {},
    }
    for name in group.estimates:
        cells = zip(models, _ranked(group, name), strict=True)
        data["cells"][name] = dict(cells)
    if comparison.tests:
        data["tests"] = {}
        for name, tests in comparison.tests[index].items():
            data["tests"][name] = [_test(comparison, name, test) for test in tests]
        shares = comparison.rank_shares[index]
        data["ranks"] = {
            name: by_model(of_models) for name, of_models in shares.items()
        }
    return data


def _test(comparison: Comparison, metric: str, test: PairTest) -> dict[str, Any]:
    """Return a test as JSON's types, with the models' names."""
    models, how = comparison.panel.models, comparison.how
    return {
        **asdict(test),
        "a": models[test.a],
        "b": models[test.b],
        "significant": test.is_significant,
        "role": how.role(metric) if how else None,
    }


def _ranked(group: Group, metric: str) -> list[dict[str, Any]]:
    """Return each model's figure and rank as JSON's types."""
    pairs = zip(group.estimates[metric], group.ranks[metric], strict=True)
    return [
        {
            "n": estimate.n,
            "k": estimate.k,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "rank": rank,
        }
        for estimate, rank in pairs
    ]


def _errors(comparison: Comparison, index: int) -> list[dict[str, object]]:
    """Return a group's errors by rubric, model, category and level as JSON's types."""
    models = comparison.panel.models
    rows: list[dict[str, object]] = []
    for name, of_models in comparison.errors[index].items():
        rubric = rubrics.load(name)
        if rubric.tally is None:
            continue
        categories = rubric.facet(rubric.tally.rows)
        levels = rubric.facet(rubric.tally.columns)
        for counts in of_models:
            for (category, level), cut in counts.cuts.items():
                row: dict[str, object] = {
                    "rubric": name,
                    "model": models[counts.model],
                    "category": category,
                    "category_label": category and categories[category].label,
                    "level": level,
                    "level_label": levels[level].label,
                    "n": cut.n,
                    "errors": int(cut.numerator or 0) if cut.n else None,
                    "per_study": cut.value,
                    "low": cut.low,
                    "high": cut.high,
                }
                rows.append(row)
    return rows
