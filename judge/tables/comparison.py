"""Comparisons, the checks of a gate and the figures of `judge metrics` as tables, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
from judge.text import counted, group_value, left_out, listed

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
    models = counted(len(comparison.panel.models), "model", "models")
    if complete:
        tables = _complete(comparison)
    else:
        tables = _printed(comparison)
    return Document(
        title=f"Comparison of {models}",
        facts=tuple(_facts(comparison, compared)),
        notes=comparison.notes,
        tables=tuple(tables),
        signatures=(("signature", comparison.signature),),
    )


def _facts(comparison: Comparison, compared: ComparedRuns | None) -> Iterator[Fact]:
    panel = comparison.panel
    yield "models", str(len(panel.models))
    yield "studies", f"{len(panel.study_ids):,}"
    if compared is not None:
        # By rubric, each judge once; the keys of a dict keep their order.
        judges: dict[str, dict[str, None]] = {}
        for run in compared.runs:
            judges.setdefault(run.rubric, {})[run.judge] = None
        for rubric, names in judges.items():
            yield f"judge of {rubric}", ", ".join(names)
        yield "section", compared.runs[0].section
    if comparison.how or panel.is_clustered:
        yield "resampled by", panel.patient_field or "study"


def _printed(comparison: Comparison) -> Iterator[Table]:
    """Yield the leaderboards of all groups, and the rest for all studies and one metric.

    Of several rubrics the summary comes first, with one row for each model.
    """
    panel = comparison.panel
    if is_of_several_rubrics(comparison):
        yield summary_table(comparison)
    is_wide = len(panel.metrics) > _WIDEST
    parts: dict[str | None, list[Metric]] = {}
    for metric in panel.metrics:
        part = None
        if is_wide:
            part = metric.rubric
        parts.setdefault(part, []).append(metric)
    for index in range(len(comparison.groups)):
        for metrics in parts.values():
            yield board(comparison, index, metrics)
    yield from error_tables(comparison, 0, comparison.order).values()
    if comparison.tests and len(panel.models) > 1:
        for make in (differences_table, ranks_table):
            table = make(comparison, 0, comparison.sorted_by)
            if table.rows:
                yield table
    yield from correlation_tables(comparison)


def _complete(comparison: Comparison) -> Iterator[Table]:
    """Yield all tables for all groups and metrics, which their first columns name."""
    groups = list(enumerate(comparison.groups))
    metrics = comparison.panel.metrics
    for index, group in groups:
        yield _named(comparison, group, board(comparison, index, metrics))
    if is_of_several_rubrics(comparison):
        for index, group in groups:
            table = summary_table(comparison, index, complete=True)
            yield _named(comparison, group, table)
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
    cells: list[Cell] = [row_name(comparison.by, group.key)]
    for field in fields:
        value = group.key.get(field)
        if isinstance(value, int | float | None):
            cells.append(value)
        else:
            cells.append(str(value))
    cells.append(group.n_studies)
    cells += names.values()
    columns = [
        Column("row"),
        *field_columns(fields, table.columns),
        Column("n_studies", "studies", kind=Kind.COUNT),
        *map(Column, names),
        *table.columns,
    ]
    rows = [(*cells, *row) for row in table.rows]
    return replace(table, columns=columns, rows=rows)


def group_name(key: Mapping[str, object]) -> str:
    """Return the name of a group in a heading."""
    if not key:
        return "all studies"
    return ", ".join(f"{name} {group_value(value)}" for name, value in key.items())


def figure(
    estimate: Estimate, metric: Metric, n_studies: int | None = None
) -> ShownEstimate:
    """Return a model's figure; one that rests on fewer than `n_studies` says on how many."""
    note = ""
    if n_studies not in (None, estimate.n):
        note = f"(n {estimate.n})"
    # Why it has no interval stands in no table of models.
    plain = replace(estimate, reason=None)
    kind = figure_kind(is_share=metric.is_share)
    return ShownEstimate(plain, kind, note)


def difference(test: PairTest, metric: Metric, sign: int = 1) -> ShownEstimate:
    """Return a's figure less b's, or with `sign` -1 b's less a's."""
    kind = difference_kind(is_share=metric.is_share)
    if test.difference is None:
        return ShownEstimate(Estimate(), kind)
    low, high = test.low, test.high
    if low is not None and high is not None:
        # With the other sign the lower end is the upper one.
        low, high = sorted((sign * low, sign * high))
    estimate = Estimate(value=sign * test.difference, low=low, high=high)
    return ShownEstimate(estimate, kind)


def _models(
    comparison: Comparison, group: Group, metrics: Sequence[Metric]
) -> list[int]:
    """Return the models of a table by rank; of one rubric those that were judged by it."""
    order = model_order(group, comparison.sort)
    is_one_rubric = len({metric.rubric for metric in metrics}) == 1
    if not is_one_rubric:
        return list(order)
    metric = metrics[0]
    return [model for model in order if comparison.panel.has_run(model, metric)]


def board(comparison: Comparison, index: int, metrics: Sequence[Metric]) -> Table:
    """Return the leaderboard of a group; a star marks a model that differs from the next."""
    group = comparison.groups[index]
    by = comparison.sorted_by
    models = _models(comparison, group, metrics)
    ahead: set[int] = set()
    if comparison.tests and by in metrics:
        tests = comparison.tests[index][comparison.sort]
        ahead = _ahead(models, tests)
    rows = []
    for model in models:
        figures = []
        for metric in metrics:
            estimate = group.estimates[metric.name][model]
            shown = figure(estimate, metric, group.n_studies)
            if metric == by and model in ahead:
                starred = f"{shown.note} *".strip()
                shown = replace(shown, note=starred)
            figures.append(shown)
        rank = group.ranks[by.name][model]
        rows.append((rank, comparison.panel.models[model], *figures))
    title = f"Leaderboard by {by.label}: {group_name(group.key)} ({group.n_studies:,})"
    names = {metric.rubric for metric in metrics}
    rubric = None
    if len(names) == 1:
        rubric = names.pop()
    if rubric:
        rubric_title = rubrics.load(rubric).title
        if rubric_title not in by.label:
            title += f", {rubric_title}"
    rank_label = None
    if by not in metrics:
        rank_label = f"rank by {by.label}"
    head = [Column("rank", rank_label, kind=Kind.RANK), _MODEL]
    head += [_metric_column(metric, is_one_rubric=bool(rubric)) for metric in metrics]
    notes = []
    # The definitions stand below the first table only.
    if index == 0:
        notes.append(definitions((m.label, m.definition) for m in metrics))
    if ahead:
        note = f"*: differs from the next in rank, p (Holm) < {ALPHA:g}"
        role = _role(comparison, by)
        if role:
            note += f" (a {role} metric)"
        notes.append(note)
    note = "; ".join(filter(None, notes))
    return Table("leaderboard", title, columns=head, rows=rows, note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """The columns of one rubric, or of files, in the summary of several rubrics.

    `ranked_by` is the metric of its ranks; None where a model has no figure of it, or the
    metrics are of files.
    """

    rubric: str | None
    title: str
    metrics: tuple[Metric, ...]
    ranked_by: Metric | None
    without_run: tuple[str, ...]


def is_of_several_rubrics(comparison: Comparison) -> bool:
    """Return whether the models were judged by two rubrics or more."""
    return len(_rubrics_of(comparison)) > 1


def _rubrics_of(comparison: Comparison) -> list[str]:
    names = dict.fromkeys(metric.rubric for metric in comparison.panel.metrics)
    return [name for name in names if name is not None]


def _blocks(comparison: Comparison, group: Group) -> list[_Block]:
    """Return the blocks of a group's summary: each rubric's, then that of the files' metrics."""
    panel = comparison.panel
    blocks = []
    for name in _rubrics_of(comparison):
        metrics = [metric for metric in panel.metrics if metric.rubric == name]
        main = [metric for metric in metrics if metric.what in ("score", "rate")]
        if all(metric.is_share for metric in main):
            # A rubric without a score is known by its first figure.
            main = list(dict.fromkeys((metrics[0], *main)))
        by = main[0]
        if comparison.sorted_by in main:
            by = comparison.sorted_by
        ranked_by = None
        if None not in group.ranks[by.name]:
            ranked_by = by
        missing = panel.without_run.get(name, frozenset())
        block = _Block(
            rubric=name,
            title=rubrics.load(name).title,
            metrics=tuple(main),
            ranked_by=ranked_by,
            without_run=tuple(panel.models[model] for model in sorted(missing)),
        )
        blocks.append(block)
    of_files = tuple(metric for metric in panel.metrics if metric.rubric is None)
    if of_files:
        block = _Block(
            rubric=None,
            title="from files",
            metrics=of_files,
            ranked_by=None,
            without_run=(),
        )
        blocks.append(block)
    return blocks


def summary_table(
    comparison: Comparison, index: int = 0, *, complete: bool = False
) -> Table:
    """Return one row for each model with a block of columns for each rubric.

    A block has the rubric's scores and rates (of a rubric without scores its first figure), without
    intervals, and a rank by the first of them, or by the metric that models are ranked by where it
    is one of them. It has no rank where a model has no figure. The cells of a model without a run
    by the rubric are empty. `index` is the number of the group of studies, 0 for all; `complete`,
    for CSV, has the intervals.
    """
    group = comparison.groups[index]
    panel = comparison.panel
    blocks = _blocks(comparison, group)
    nothing: Cell = ""
    if complete:
        nothing = None
    rows = []
    for model in model_order(group, comparison.sort):
        cells: list[Cell] = [panel.models[model]]
        for block in blocks:
            figures: list[Cell] = []
            if block.ranked_by:
                figures.append(group.ranks[block.ranked_by.name][model])
            for metric in block.metrics:
                estimate = group.estimates[metric.name][model]
                figures.append(
                    _summary_figure(
                        estimate, metric, group.n_studies, complete=complete
                    )
                )
            if panel.models[model] in block.without_run:
                figures = [nothing] * len(figures)
            cells += figures
        rows.append(tuple(cells))
    head = [_MODEL]
    for block in blocks:
        head += _summary_columns(block)
    by = comparison.sorted_by
    where = f"{group_name(group.key)} ({group.n_studies:,})"
    title = f"Summary of {len(_rubrics_of(comparison))} rubrics, ordered by {by.label}: {where}"
    note = _summary_note(blocks)
    return Table("summary", title, columns=head, rows=rows, note=note)


def _summary_figure(
    estimate: Estimate, metric: Metric, n_studies: int, *, complete: bool
) -> ShownEstimate:
    shown = figure(estimate, metric, n_studies)
    if complete:
        return shown
    # The interval stands in the leaderboard; here it would make the row too wide.
    return replace(shown, estimate=replace(shown.estimate, low=None, high=None))


def _summary_columns(block: _Block) -> list[Column]:
    columns = []
    if block.ranked_by:
        name = f"rank_by_{block.ranked_by.name}"
        columns.append(Column(name, "rank", kind=Kind.RANK, block=block.title))
    for metric in block.metrics:
        column = _metric_column(metric, is_one_rubric=True)
        if not block.ranked_by:
            # The best of some models would look like the best of all.
            column = replace(column, better="")
        columns.append(replace(column, block=block.title))
    return columns


def _summary_note(blocks: Sequence[_Block]) -> str:
    """Return what the ranks are by, why a rubric has none, and what an empty cell says."""
    ranked = [block.ranked_by.label for block in blocks if block.ranked_by]
    notes = []
    if ranked:
        notes.append(f"rank: by {listed(ranked)}")
    for block in blocks:
        if block.without_run:
            lacking = listed(block.without_run)
            verb = "has"
            if len(block.without_run) > 1:
                verb = "have"
            notes.append(
                f"{block.title}: {lacking} {verb} no run by it (empty cells), so no ranks are "
                "given"
            )
        elif block.rubric and not block.ranked_by:
            notes.append(
                f"{block.title}: no ranks are given, since a model has no figure by it"
            )
    return "; ".join(notes)


def _ahead(models: Sequence[int], tests: Iterable[PairTest]) -> set[int]:
    """Return the models, in order of rank, that a test finds to differ from the next."""
    differing = {(test.a, test.b) for test in tests if test.is_significant}
    ahead = set()
    for model, following in pairwise(models):
        # A test names the two in the order of the comparison's models.
        pair = (min(model, following), max(model, following))
        if pair in differing:
            ahead.add(model)
    return ahead


def _metric_column(metric: Metric, *, is_one_rubric: bool) -> Column:
    label = metric.label
    if is_one_rubric:
        label = metric.short
    better = "low"
    if metric.higher_is_better:
        better = "high"
    kind = figure_kind(is_share=metric.is_share)
    return Column(metric.name, label, kind=kind, better=better)


def _role(comparison: Comparison, metric: Metric) -> str | None:
    """Return whether a metric is primary; None where nothing was said of it."""
    if comparison.how is None:
        return None
    return comparison.how.role(metric.name)


def error_tables(
    comparison: Comparison, index: int, order: Sequence[int]
) -> dict[str, Table]:
    """Return the errors of each model of a group by category and level, a table for each rubric.

    `order` has the models' numbers, as the rows come.
    """
    panel = comparison.panel
    group = comparison.groups[index]
    where = f"{group_name(group.key)} ({group.n_studies:,})"
    tables = {}
    for name, of_models in comparison.errors[index].items():
        rubric = rubrics.load(name)
        counts = {count.model: count.cuts for count in of_models}
        if rubric.tally is None or not counts:
            continue
        by_model = {}
        for model in order:
            if model in counts:
                by_model[panel.models[model]] = counts[model]
        tables[name] = _error_table(rubric, rubric.tally, by_model, where)
    return tables


def _error_table(
    rubric: Rubric,
    tally: Tally,
    counts: Mapping[str, Mapping[Cut, Estimate]],
    where: str,
) -> Table:
    categories = rubric.facet(tally.rows)
    levels = rubric.facet(tally.columns)
    found = set()
    for cuts in counts.values():
        found |= {category for (category, _), cut in cuts.items() if cut.value}
    # A category of another modality is shown where it was found.
    shown = []
    for label in categories.labels:
        if label.modality is None or label.name in found:
            shown.append(label)
    names: list[str | None] = [label.name for label in shown]
    names.append(None)
    rows: list[tuple[Cell, ...]] = []
    for level in levels.labels:
        for model, cuts in counts.items():
            figures = [_as_estimate(cuts[name, level.name]) for name in names]
            rows.append((level.label, model, *figures))
    texts = {label.name: categories.text(label.name) for label in shown}
    title = f"{tally.title}, and per study: {where}, {rubric.title}"
    # Whole labels for columns would not fit a page: the title explains the codes.
    if categories.has_codes:
        title += f": {', '.join(texts.values())}"
        texts = {name: f"({name})" for name in texts}
    head = [Column("level", levels.label), _MODEL]
    for label in shown:
        name = label.label.replace(" ", "_")
        head.append(Column(name, texts[label.name], kind=Kind.PER_STUDY))
    items = rubric.kind(tally.kind).plural
    head.append(Column("all", f"all {items}", kind=Kind.PER_STUDY))
    return Table("errors", title, head, rows)


def _n_errors(cut: Estimate) -> int | None:
    """Return how many errors were counted; None where no study was scored."""
    if not cut.n:
        return None
    return int(cut.numerator or 0)


def _as_estimate(cut: Estimate) -> Estimate:
    return Estimate(
        value=cut.value,
        low=cut.low,
        high=cut.high,
        k=_n_errors(cut),
        n=cut.n,
    )


def judged_tests(comparison: Comparison, index: int, metric: Metric) -> list[PairTest]:
    """Return a group's tests by a metric, of models that were judged by its rubric."""
    panel = comparison.panel
    tests = []
    for test in comparison.tests[index][metric.name]:
        if panel.has_run(test.a, metric) and panel.has_run(test.b, metric):
            tests.append(test)
    return tests


def differences_table(
    comparison: Comparison, index: int, metric: Metric, *, complete: bool = False
) -> Table:
    """Return the paired tests of a group by a metric, of many models those of next ranks."""
    group = comparison.groups[index]
    models = comparison.panel.models
    tests: Sequence[PairTest] = comparison.tests[index][metric.name]
    more = ""
    if not complete:
        tests = judged_tests(comparison, index, metric)
        n = len(tests)
        if n > _ALL_PAIRS:
            pairs = {(test.a, test.b): test for test in tests}
            order = _models(comparison, group, [metric])
            tests = [pairs[min(pair), max(pair)] for pair in pairwise(order)]
            more = f", {len(tests)} of {n} pairs"
    role = _role(comparison, metric)
    by_rank = model_order(group, metric.name)
    places = {model: place for place, model in enumerate(by_rank)}
    # By the places of the two models, the better one first.
    ordered: dict[tuple[int, int], PairTest] = {}
    for test in tests:
        a, b = places[test.a], places[test.b]
        ordered[min(a, b), max(a, b)] = test
    rows = []
    for _, test in sorted(ordered.items()):
        first, second, sign = test.a, test.b, 1
        if places[first] > places[second]:
            first, second, sign = test.b, test.a, -1
        row: list[Cell] = [
            models[first],
            models[second],
            test.n,
            difference(test, metric, sign),
            test.p,
            test.p_holm,
            test.method,
        ]
        if complete:
            row.append(test.is_significant)
            row.append(test.interval_by or "")
            row.append(role or "")
        rows.append(tuple(row))
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
    kind = ""
    if role:
        kind = f" ({role} metric)"
    title = f"Differences in {metric.label}{kind}: {group_name(group.key)}{more}"
    return Table("tests", title, head, rows, note=comparison.correction)


def ranks_table(comparison: Comparison, index: int, metric: Metric) -> Table:
    """Return how sure each model's rank is: its 95% interval and how often it came first."""
    group = comparison.groups[index]
    ranks = group.ranks[metric.name]
    rank_shares = comparison.rank_shares[index][metric.name]
    rows: list[tuple[Cell, ...]] = []
    for model in _models(comparison, group, [metric]):
        shares = rank_shares[model]
        rank = ranks[model]
        figures: list[Cell] = [None] * 4
        if shares is not None:
            figures = [Estimate(value=rank, low=shares.low, high=shares.high)]
            for top in (1, 2, 3):
                figures.append(sum(shares.shares[:top]))
        rows.append((comparison.panel.models[model], rank, *figures))
    head = [
        _MODEL,
        Column("rank", kind=Kind.RANK),
        Column("interval", "95% interval", kind=Kind.RANGE),
        Column("first", kind=Kind.SHARE),
        Column("first_2", "first 2", kind=Kind.SHARE),
        Column("first_3", "first 3", kind=Kind.SHARE),
    ]
    title = f"Ranks by {metric.label}: {group_name(group.key)}"
    return Table("ranks", title, head, rows)


def correlation_tables(comparison: Comparison) -> list[Table]:
    """Return the correlations of the metrics over studies, a table for each coefficient."""
    correlations = comparison.correlations
    if correlations is None:
        return []
    n_pairs: set[int] = set()
    for of_metric in correlations.n:
        n_pairs |= set(of_metric)
    low, high = min(n_pairs), max(n_pairs)
    counts = f"{low:,}"
    if low != high:
        counts += f" to {high:,}"
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
    tables = []
    for name, matrix in matrices.items():
        title = f"Correlation over studies and models, n {counts}: {name}"
        rows = [(name, label, *row) for label, row in zip(labels, matrix, strict=True)]
        tables.append(Table("correlations", title, head, rows))
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
        fields = []
        if grouping:
            fields = grouping.split(",")
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


def metrics_data(scored: ScoredReports, by: Sequence[str]) -> dict[str, Any]:
    """Return the same figures as JSON's types, those of all studies first."""
    groups: list[dict[str, Any]] = []
    for grouping in by or ("",):
        fields = grouping.split(",") if grouping else []
        for key, figures in scored.figures(fields):
            # Each grouping begins with all studies.
            if groups and not key:
                continue
            of_group = {metric.name: estimate.plain() for metric, estimate in figures}
            groups.append({"group": dict(key), "metrics": of_group})
    return {
        "model": scored.model,
        "section": scored.studies.section,
        "n_studies": len(scored.studies),
        "groups": groups,
    }


def gate_document(gate: Gate) -> Document:
    """Return the verdict and the checks behind it, the failed ones first."""
    checks = sorted(gate.checks, key=lambda check: _VERDICTS.index(check.verdict))
    facts: list[tuple[str, str]] = [("verdict", gate.verdict)]
    if gate.compared:
        facts.append(("compared", ", ".join(gate.compared)))
    if gate.not_compared:
        facts.append(("not compared", ", ".join(gate.not_compared)))
    tested = ("baseline", "difference", "p_holm")
    entries = []
    for check in checks:
        difference = Estimate(value=check.difference, low=check.low, high=check.high)
        entry = asdict(check)
        entry["metric"] = check.label
        entry["difference"] = difference
        # A limit is compared with a number, not with an earlier run.
        if check.is_limit:
            entry |= dict.fromkeys(tested, "")
        entries.append(entry)
    return Document(
        "Gate",
        facts=tuple(facts),
        notes=gate.notes,
        tables=(table_of("checks", "Checks", _checks_head(gate), entries),),
        signatures=(("signature", gate.signature),),
    )


def _checks_head(gate: Gate) -> tuple[Column, ...]:
    if gate.between == "runs":
        return _CHECKS
    labels = {"baseline": "old judge", "value": "new judge"}
    head = []
    for column in _CHECKS:
        head.append(replace(column, label=labels.get(column.name, column.label)))
    return tuple(head)


def as_data(
    comparison: Comparison, runs: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return the whole comparison as JSON's types; what has no value is null, never NaN."""
    panel = comparison.panel
    groups = []
    for index in range(len(comparison.groups)):
        group = _group(comparison, index)
        group["errors"] = _errors(comparison, index)
        group["summary"] = _summary(comparison, index)
        groups.append(group)
    resampling = None
    if comparison.how:
        resampling = asdict(comparison.how)
    correlations = None
    if comparison.correlations:
        correlations = asdict(comparison.correlations)
    return {
        "signature": comparison.signature,
        "models": list(panel.models),
        "runs": [dict(run) for run in runs],
        "sort": comparison.sort,
        "by": list(comparison.by),
        "patient_field": panel.patient_field,
        "resampling": resampling,
        "notes": list(comparison.notes),
        "metrics": [metric.plain() for metric in panel.metrics],
        "groups": groups,
        "correlations": correlations,
    }


def _group(comparison: Comparison, index: int) -> dict[str, Any]:
    models = comparison.panel.models
    group = comparison.groups[index]
    cells = {}
    for name in group.estimates:
        ranked = _ranked(group, name)
        cells[name] = dict(zip(models, ranked, strict=True))
    data: dict[str, Any] = {
        "group": dict(group.key),
        "n_studies": group.n_studies,
        "cells": cells,
    }
    if comparison.tests:
        data["tests"] = {}
        for name, tests in comparison.tests[index].items():
            data["tests"][name] = [_test(comparison, name, test) for test in tests]
        data["ranks"] = {}
        for name, of_models in comparison.rank_shares[index].items():
            by_model: dict[str, Any] = dict.fromkeys(models)
            for model, shares in zip(models, of_models, strict=True):
                if shares:
                    by_model[model] = asdict(shares)
            data["ranks"][name] = by_model
    return data


def _test(comparison: Comparison, metric: str, test: PairTest) -> dict[str, Any]:
    """Return a test as JSON's types, with the models' names."""
    models = comparison.panel.models
    role = None
    if comparison.how:
        role = comparison.how.role(metric)
    plain = asdict(test)
    plain["a"] = models[test.a]
    plain["b"] = models[test.b]
    plain["significant"] = test.is_significant
    plain["role"] = role
    return plain


def _ranked(group: Group, metric: str) -> list[dict[str, Any]]:
    """Return each model's figure and rank as JSON's types."""
    estimates = group.estimates[metric]
    ranks = group.ranks[metric]
    ranked = []
    for estimate, rank in zip(estimates, ranks, strict=True):
        cell = {
            "n": estimate.n,
            "k": estimate.k,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "rank": rank,
        }
        ranked.append(cell)
    return ranked


def _summary(comparison: Comparison, index: int) -> list[dict[str, Any]]:
    """Return the rows of the summary as JSON's types; empty where there is one rubric.

    Each model has its figures by rubric: null where it has no run by it.
    """
    if not is_of_several_rubrics(comparison):
        return []
    group = comparison.groups[index]
    models = comparison.panel.models
    blocks = _blocks(comparison, group)
    rows = []
    for model in model_order(group, comparison.sort):
        of_rubrics: dict[str, Any] = {}
        for block in blocks:
            if block.rubric is None:
                continue
            of_rubrics[block.rubric] = None
            if models[model] not in block.without_run:
                of_rubrics[block.rubric] = _in_block(group, block, model)
        rows.append({"model": models[model], "rubrics": of_rubrics})
    return rows


def _in_block(group: Group, block: _Block, model: int) -> dict[str, Any]:
    """Return a model's rank by a rubric, by what, and its figures."""
    rank, ranked_by = None, None
    if block.ranked_by:
        ranked_by = block.ranked_by.name
        rank = group.ranks[ranked_by][model]
    figures = {}
    for metric in block.metrics:
        estimate = group.estimates[metric.name][model]
        figures[metric.name] = {
            "n": estimate.n,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
        }
    return {"rank": rank, "ranked_by": ranked_by, "figures": figures}


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
                # None is the count of all categories.
                category_label = None
                if category is not None:
                    category_label = categories[category].label
                row: dict[str, object] = {
                    "rubric": name,
                    "model": models[counts.model],
                    "category": category,
                    "category_label": category_label,
                    "level": level,
                    "level_label": levels[level].label,
                    "n": cut.n,
                    "errors": _n_errors(cut),
                    "per_study": cut.value,
                    "low": cut.low,
                    "high": cut.high,
                }
                rows.append(row)
    return rows
