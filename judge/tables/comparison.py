"""A comparison in each format that a machine, a page or a paper can take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from judge import rubrics
from judge.stats.metric import Metric
from judge.stats.scores import Group, ScoreMatrix, item_counts
from judge.stats.significance import Comparison, model_order
from judge.stats.table import fields_of, row_name
from judge.tables.document import markdown_table, markdown_text, own_columns, rows_as_csv
from judge.tables.latex import latex_cells, latex_table, one_line
from judge.tables.leaderboard import (
    EVERYTHING,
    Shown,
    all_tables,
    board,
    columns,
    further_tables,
    panels,
    rows_of,
    summary,
)

_CSV_COLUMNS = (
    *("row", "n_studies", "model", "metric", "label"),
    *("n", "k", "value", "low", "high", "rank", "rank_low", "rank_high", "first", "signature"),
)
_PAIRS_COLUMNS = (
    *("row", "metric", "model", "other", "n", "difference", "low", "high"),
    *("p", "p_holm", "test", "significant", "signature"),
)
_ERRORS_COLUMNS = (
    *("row", "n_studies", "rubric", "model", "category", "category_label", "level", "level_label"),
    *("n", "errors", "per_study", "low", "high", "signature"),
)


def as_data(comparison: Comparison, runs: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the whole comparison as JSON's types: boards, tests, ranks, correlations.

    What has no value is null, never NaN. `runs` describes what was compared.
    """
    panel = comparison.panel
    parts = panels(comparison)
    return {
        "signature": comparison.signature,
        "models": list(panel.models),
        "runs": [dict(run) for run in runs],
        "sort": comparison.sort,
        "by": list(comparison.by),
        "patient_field": panel.patient_field,
        "resampling": asdict(comparison.how) if comparison.how else None,
        "notes": list(comparison.notes),
        "metrics": [asdict(metric) for metric in panel.metrics],
        "groups": [
            {**_group(comparison, index), "errors": _errors(part)}
            for index, part in enumerate(parts)
        ],
        "correlations": asdict(comparison.correlations) if comparison.correlations else None,
    }


def _group(comparison: Comparison, index: int) -> dict[str, Any]:
    panel, group = comparison.panel, comparison.groups[index]
    data: dict[str, Any] = {
        "group": dict(group.key),
        "n_studies": group.n_studies,
        "cells": {
            name: {model: asdict(cell) for model, cell in zip(panel.models, cells, strict=True)}
            for name, cells in group.cells.items()
        },
    }
    if comparison.tests:
        data["tests"] = {
            name: [
                {**asdict(test), "a": panel.models[test.a], "b": panel.models[test.b]}
                | {"significant": test.is_significant}
                for test in tests
            ]
            for name, tests in comparison.tests[index].items()
        }
        data["ranks"] = {
            name: {
                model: asdict(shares) if shares else None
                for model, shares in zip(panel.models, rank_shares, strict=True)
            }
            for name, rank_shares in comparison.rank_shares[index].items()
        }
    return data


def figure_rows(comparison: Comparison) -> list[dict[str, object]]:
    """Return one row a group, model and metric, numbers unrounded, the signature in each.

    The rows for all studies have empty group fields; `row` tells them (`all`) from a group
    whose fields are missing (`group`). A field that is called as a column stands as `by_` and
    its name. `rank_low` to `rank_high` is the rank's 95% interval and `first` the share of
    resamples in which the model was first, empty where nothing was tested. Texts are as they
    are: who opens the file in a spreadsheet has to import them as text.
    """
    fields = own_columns(fields_of(*comparison.by), _CSV_COLUMNS)
    all_shares = comparison.rank_shares or [None] * len(comparison.groups)
    return [
        {
            **_row_of(comparison, group, fields),
            "n_studies": group.n_studies,
            "model": comparison.panel.models[model],
            "metric": metric.name,
            "label": metric.label,
            **asdict(group.cells[metric.name][model]),
            "rank_low": shares and shares.low,
            "rank_high": shares and shares.high,
            "first": shares and shares.shares[0],
            "signature": comparison.signature,
        }
        for group, of_group in zip(comparison.groups, all_shares, strict=True)
        for model in model_order(group, comparison.sort)
        for metric in comparison.panel.metrics
        for shares in [of_group and of_group[metric.name][model]]
    ]


def _row_of(comparison: Comparison, group: Group, fields: Mapping[str, str]) -> dict[str, object]:
    row = row_name(comparison.by, group.key)
    return {"row": row, **{column: group.key.get(name) for name, column in fields.items()}}


def as_csv(comparison: Comparison) -> str:
    """Return the rows of `figure_rows` as CSV."""
    return rows_as_csv(figure_rows(comparison))


def pair_rows(comparison: Comparison) -> list[dict[str, object]]:
    """Return one row a group, metric and pair of models: the paired tests, if there are any.

    Groups are as in `figure_rows`. `significant` says whether `p_holm` is below 0.05.
    """
    models = comparison.panel.models
    fields = own_columns(fields_of(*comparison.by), _PAIRS_COLUMNS)
    figures = ("n", "difference", "low", "high", "p", "p_holm")
    return [
        {
            **_row_of(comparison, group, fields),
            "metric": name,
            "model": models[test.a],
            "other": models[test.b],
            **{figure: getattr(test, figure) for figure in figures},
            "test": test.method,
            "significant": test.is_significant,
            "signature": comparison.signature,
        }
        for group, tests in zip(comparison.groups, comparison.tests, strict=False)
        for name, pairs in tests.items()
        for test in pairs
    ]


def pairs_as_csv(comparison: Comparison) -> str:
    """Return the rows of `pair_rows` as CSV."""
    fields = own_columns(fields_of(*comparison.by), _PAIRS_COLUMNS).values()
    head = [_PAIRS_COLUMNS[0], *fields, *_PAIRS_COLUMNS[1:]]
    return rows_as_csv(pair_rows(comparison), head)


def error_rows(comparison: Comparison) -> list[dict[str, object]]:
    """Return one row a group, rubric, model, category and level: `errors` in `n` scored studies.

    The columns are called after what both built-in rubrics tally: `category` is the label of the
    tally's rows, empty for all of a level, and `level` that of its columns. `per_study` is
    errors / n, with its 95% interval. Groups are as in `figure_rows`.
    """
    fields = own_columns(fields_of(*comparison.by), _ERRORS_COLUMNS)
    return [
        {
            **_row_of(comparison, group, fields),
            "n_studies": group.n_studies,
            **row,
            "signature": comparison.signature,
        }
        for group, part in zip(comparison.groups, panels(comparison), strict=True)
        for row in _errors(part)
    ]


def _errors(panel: ScoreMatrix) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name in panel.tallies:
        rubric = rubrics.load(name)
        if rubric.tally is None:
            continue
        categories, levels = rubric.facet(rubric.tally.rows), rubric.facet(rubric.tally.columns)
        rows += [
            {
                "rubric": name,
                "model": panel.models[counts.model],
                "category": category,
                "category_label": category and categories[category].label,
                "level": level,
                "level_label": levels[level].label,
                "n": found.n,
                "errors": int(found.numerator or 0) if found.n else None,
                "per_study": found.value,
                "low": found.low,
                "high": found.high,
            }
            for counts in item_counts(panel, rubric)
            for (category, level), found in counts.cuts.items()
        ]
    return rows


def errors_as_csv(comparison: Comparison) -> str:
    """Return the rows of `error_rows` as CSV."""
    fields = own_columns(fields_of(*comparison.by), _ERRORS_COLUMNS).values()
    head = [_ERRORS_COLUMNS[0], *fields, *_ERRORS_COLUMNS[1:]]
    return rows_as_csv(error_rows(comparison), head)


def as_markdown(comparison: Comparison, shown: Shown = EVERYTHING) -> str:
    """Return the tables as Markdown, notes and signature last."""
    parts = [markdown_table(table) for table in all_tables(comparison, shown)]
    parts += [f"Note: {markdown_text(note)}." for note in comparison.notes]
    return "\n\n".join([*parts, f"Signature: `{one_line(comparison.signature)}`"])


def as_latex(comparison: Comparison, shown: Shown = EVERYTHING) -> str:
    """Return the tables as LaTeX for the package booktabs, the best of each column in bold.

    Titles, notes and the signature are comments.
    """
    has_boards = "leaderboard" in shown.tables
    boards = [
        _latex_board(comparison, group, metrics)
        for group in (comparison.groups if has_boards else ())
        for metrics in columns(comparison, shown)
    ]
    first = map(latex_table, summary(comparison, shown) if has_boards else ())
    tables = [*first, *boards, *map(latex_table, further_tables(comparison, shown))]
    parts = [r"% needs \usepackage{booktabs}", *tables]
    parts += [f"% note {one_line(note)}" for note in comparison.notes]
    return "\n\n".join([*parts, f"% signature {one_line(comparison.signature)}"])


def _latex_board(comparison: Comparison, group: Group, metrics: Sequence[Metric]) -> str:
    table = board(comparison, group, metrics)
    rows = []
    for model, row in zip(rows_of(comparison, group, metrics), table.rows, strict=True):
        cells = latex_cells(table, row)
        for column, metric in enumerate(metrics, start=2):
            if group.cells[metric.name][model].rank == 1:
                cells[column] = rf"\textbf{{{cells[column]}}}"
        rows.append(cells)
    return latex_table(table, rows)
