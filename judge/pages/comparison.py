"""The page of a comparison: leaderboard, tests, the values of all studies, some of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from judge import rubrics
from judge.figures.files import PageFigure
from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.run import declared
from judge.stats.metric import Metric
from judge.stats.scores import Group
from judge.stats.significance import Comparison, PairTest
from judge.study.view import judged_view
from judge.tables import comparison as tables
from judge.tables.document import definitions
from judge.tables.kinds import p_value
from judge.text import group_value, in_natural_order

# By model and rubric, then by study id.
Records = Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]
Wanted = dict[tuple[str, str], set[str]]

MARK = "<!doctype html><!-- judge compare -->"
_METRIC = ("name", "label", "short", "kind", "study_label", "rubric")
MOST_RECORDS = 20_000
"""Records of one study, model and rubric; about half a kilobyte each in the file."""


def wanted(c: Comparison, *, most: int = MOST_RECORDS) -> Wanted:
    """Return the studies whose records are shown: where there are many, those that differ most."""
    panel = c.panel
    keys = [(model, rubric) for model in panel.models for rubric in rubric_names(c)]
    n = most // max(1, len(keys))
    if len(panel.study_ids) <= n:
        return {key: set(panel.study_ids) for key in keys}
    metric = next(metric for metric in panel.metrics if metric.name == c.sort)
    values = panel.study_values(metric.name) * (
        1 if metric.study_higher_is_better else -1
    )
    scored = ~np.isnan(values)
    # A model by itself is shown where it is worst.
    best = (
        0.0 if values.shape[1] == 1 else np.where(scored, values, -np.inf).max(axis=1)
    )
    gap = best - np.where(scored, values, np.inf).min(axis=1)
    return {key: {panel.study_ids[row] for row in np.argsort(-gap)[:n]} for key in keys}


def page(
    c: Comparison, records: Records, figures: Sequence[PageFigure] = ()
) -> Iterator[str]:
    """Yield the page as one file; `records` are those that `wanted` named."""
    title = f"Comparison of {len(c.panel.models)} models"
    return page_file(MARK, "comparison", title, _pieces(c, records, figures))


def _pieces(
    c: Comparison, records: Records, figures: Sequence[PageFigure]
) -> Iterator[tuple[str, bytes]]:
    n_judged = len(c.panel.study_ids) * len(c.panel.models) * len(rubric_names(c))
    n_records = {"here": sum(map(len, records.values())), "all": n_judged}
    ids = {study_id for studies in records.values() for study_id in studies}
    rows = [row for row, study_id in enumerate(c.panel.study_ids) if study_id in ids]
    packets = [-1] * len(
        c.panel.study_ids
    )  # the packet of each study, -1 for one not shown
    for place, row in enumerate(rows):
        packets[row] = place // PACKET
    yield from number_pieces(c, {"records": n_records}, {"packets": packets})
    for number, start in enumerate(range(0, len(rows), PACKET)):
        packet = rows[start : start + PACKET]
        views = {
            str(row): list(_study(c, records, c.panel.study_ids[row])) for row in packet
        }
        yield f"packet-{number}", as_json(views)
    yield from figure_pieces(figures)


def number_pieces(
    c: Comparison, in_overview: Mapping[str, Any], in_columns: Mapping[str, Any]
) -> Iterator[tuple[str, bytes]]:
    """Yield the overview, the columns and each metric's values, with what is given beside them."""
    yield "overview", as_json({**overview(c), **in_overview})
    yield "columns", as_json({**columns(c), **in_columns})
    for number, metric in enumerate(c.panel.metrics):
        # Doubles, model by model; NaN where a study is not scored.
        yield (
            f"values-{number}",
            c.panel.study_values(metric.name).T.astype("<f8").tobytes(),
        )


def figure_pieces(figures: Sequence[PageFigure]) -> Iterator[tuple[str, bytes]]:
    """Yield the titles and captions of all figures, then the SVG of each."""
    yield (
        "figures",
        as_json([{"title": f.title, "caption": f.caption} for f in figures]),
    )
    for number, drawn in enumerate(figures):
        yield f"figure-{number}", drawn.svg.encode()


def overview(c: Comparison) -> dict[str, Any]:
    """Return all but the single studies, in JSON's types."""
    panel = c.panel
    return {
        "models": list(panel.models),
        "metrics": [
            {name: getattr(metric, name) for name in _METRIC}
            | {
                "higher": metric.higher_is_better,
                "study_higher": metric.study_higher_is_better,
            }
            for metric in panel.metrics
        ],
        "sort": c.sort,
        "groups": list(_groups(c)),
        "rubrics": {name: declared(rubrics.load(name)) for name in rubric_names(c)},
        "correlations": [table.plain() for table in tables.correlation_tables(c)],
        "tested": _tested(c),
        "signature": c.signature,
        "notes": list(c.notes),
        "definitions": definitions((m.label, m.definition) for m in panel.metrics),
    }


def rubric_names(c: Comparison) -> tuple[str, ...]:
    """Return the rubrics that the models were judged by."""
    return tuple(
        dict.fromkeys(m.rubric for m in c.panel.metrics if m.rubric is not None)
    )


def _tested(c: Comparison) -> str:
    """Return in words how differences were tested, empty where nothing was tested."""
    if c.how is None:
        return ""
    unit = "studies" if c.panel.clusters is None else "whole patients"
    methods = {
        test.method for tests in c.tests for pairs in tests.values() for test in pairs
    }
    refined = ""
    if c.how.refined_flips is not None:
        refined = f", {c.how.refined_flips:,} where p is below 0.01"
    return (
        f"Paired on the studies scored for both. Interval: {c.how.resamples:,} bootstrap resamples "
        f"of {unit}, seed {c.how.seed}. p: {' or '.join(sorted(filter(None, methods)))} "
        f"({c.how.flips:,} random flips where it flips signs{refined})."
        + (f" {c.correction}." if c.correction else "")
    )


def _groups(c: Comparison) -> Iterator[dict[str, Any]]:
    for index in in_natural_order([group.key for group in c.groups]):
        group = c.groups[index]
        ranks = c.rank_shares[index] if c.rank_shares else {}
        intervals = {
            name: [share and {"low": share.low, "high": share.high} for share in shares]
            for name, shares in ranks.items()
        }
        yield {
            "name": tables.group_name(group.key),
            "key": {name: group_value(value) for name, value in group.key.items()},
            "n": group.n_studies,
            "cells": {metric.name: _cells(group, metric) for metric in c.panel.metrics},
            "errors": [
                table.plain()
                for table in tables.error_tables(c, index, c.order).values()
            ],
            "tests": {
                metric.name: [
                    _test(test, metric)
                    for test in tables.judged_tests(c, index, metric)
                ]
                for metric in (c.panel.metrics if c.tests else ())
            },
            "rank_intervals": intervals,
        }


# Numbers are rounded by the functions that print the terminal's tables, so that both agree.


def _cells(group: Group, metric: Metric) -> list[dict[str, Any]]:
    """Return a metric's figure and rank of each model."""
    cells = []
    for one, rank in zip(
        group.estimates[metric.name], group.ranks[metric.name], strict=True
    ):
        printed = tables.figure(one, metric).printed()
        cells.append(
            {
                "n": one.n,
                "rank": rank,
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "figure": printed.figure,
                "interval": printed.brackets,
            }
        )
    return cells


def _test(test: PairTest, metric: Metric) -> dict[str, Any]:
    differences = [tables.difference(test, metric, sign).printed() for sign in (1, -1)]
    return {
        **{name: getattr(test, name) for name in ("a", "b", "n", "is_significant")},
        "differences": [
            {"text": one.figure, "interval": one.brackets} for one in differences
        ],
        "p": p_value(test.p),
        "p_holm": p_value(test.p_holm),
    }


def columns(c: Comparison) -> dict[str, Any]:
    """Return the columns of the list of studies, and the metrics with whole values only."""
    known = {
        metric.name: c.panel.study_values(metric.name) for metric in c.panel.metrics
    }
    return {
        "study_id": list(c.panel.study_ids),
        "fields": {name: _field(values) for name, values in c.panel.fields.items()},
        "whole": [
            name
            for name, grid in known.items()
            if not np.any(grid[~np.isnan(grid)] % 1)
        ],
    }


def _field(values: Sequence[object]) -> dict[str, Any]:
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(group_value(value), len(numbers)) for value in values]
    return {"values": list(numbers), "rows": rows}


def _study(c: Comparison, records: Records, study_id: str) -> Iterator[dict[str, Any]]:
    for (model, rubric), studies in records.items():
        if study_id in studies:
            record = judged_view(studies[study_id], rubrics.load(rubric))
            yield {"model": c.panel.models.index(model), "rubric": rubric, **record}
