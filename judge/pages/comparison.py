"""The page of a comparison: leaderboard, tests, the values of all studies, some of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from judge import rubrics
from judge.figures.files import PageFigure
from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.run import declared
from judge.stats.intervals import Values
from judge.stats.metric import Metric
from judge.stats.scores import Group, RankShares
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
    keys = list(product(panel.models, rubric_names(c)))
    n = most // max(1, len(keys))
    shown = set(panel.study_ids)
    if len(panel.study_ids) > n:
        gaps = _gaps(c)
        largest = np.argsort(-gaps)[:n]
        shown = {panel.study_ids[row] for row in largest}
    return {key: set(shown) for key in keys}


def _gaps(c: Comparison) -> Values:
    """Return by how much the best model of each study is ahead of its worst."""
    metric = next(metric for metric in c.panel.metrics if metric.name == c.sort)
    values = c.panel.study_values(metric.name)
    if not metric.study_higher_is_better:
        values = -values
    scored = ~np.isnan(values)
    worst: Values = np.where(scored, values, np.inf).min(axis=1)
    # A model by itself is shown where it is worst.
    if len(c.panel.models) == 1:
        return -worst
    best: Values = np.where(scored, values, -np.inf).max(axis=1)
    return best - worst


def page(
    c: Comparison, records: Records, figures: Sequence[PageFigure] = ()
) -> Iterator[str]:
    """Yield the page as one file; `records` are those that `wanted` named."""
    title = f"Comparison of {len(c.panel.models)} models"
    return page_file(MARK, "comparison", title, _pieces(c, records, figures))


def _pieces(
    c: Comparison, records: Records, figures: Sequence[PageFigure]
) -> Iterator[tuple[str, bytes]]:
    study_ids = c.panel.study_ids
    n_here = sum(map(len, records.values()))
    n_judged = len(study_ids) * len(c.panel.models) * len(rubric_names(c))
    n_records = {"here": n_here, "all": n_judged}
    shown: set[str] = set()
    for studies in records.values():
        shown |= set(studies)
    rows = [row for row, study_id in enumerate(study_ids) if study_id in shown]
    # The packet of each study; -1 for one that is not shown.
    packets = [-1] * len(study_ids)
    for place, row in enumerate(rows):
        packets[row] = place // PACKET
    yield from number_pieces(c, {"records": n_records}, {"packets": packets})
    for number, start in enumerate(range(0, len(rows), PACKET)):
        views = {}
        for row in rows[start : start + PACKET]:
            views[str(row)] = list(_study(c, records, study_ids[row]))
        yield f"packet-{number}", as_json(views)
    yield from figure_pieces(figures)


def number_pieces(
    c: Comparison, in_overview: Mapping[str, Any], in_columns: Mapping[str, Any]
) -> Iterator[tuple[str, bytes]]:
    """Yield the overview, the columns and each metric's values, with what is given beside them."""
    yield "overview", as_json({**overview(c), **in_overview})
    yield "columns", as_json({**columns(c), **in_columns})
    for number, metric in enumerate(c.panel.metrics):
        values = c.panel.study_values(metric.name)
        # Doubles, model by model; NaN where a study is not scored.
        doubles = values.T.astype("<f8")
        yield f"values-{number}", doubles.tobytes()


def figure_pieces(figures: Sequence[PageFigure]) -> Iterator[tuple[str, bytes]]:
    """Yield the titles and captions of all figures, then the SVG of each."""
    about = [{"title": drawn.title, "caption": drawn.caption} for drawn in figures]
    yield "figures", as_json(about)
    for number, drawn in enumerate(figures):
        yield f"figure-{number}", drawn.svg.encode()


def overview(c: Comparison) -> dict[str, Any]:
    """Return all but the single studies, in JSON's types."""
    metrics = c.panel.metrics
    declarations = {name: declared(rubrics.load(name)) for name in rubric_names(c)}
    correlations = [table.plain() for table in tables.correlation_tables(c)]
    defined = [(metric.label, metric.definition) for metric in metrics]
    return {
        "models": list(c.panel.models),
        "metrics": [_metric(metric) for metric in metrics],
        "sort": c.sort,
        "groups": list(_groups(c)),
        "rubrics": declarations,
        "correlations": correlations,
        "tested": _tested(c),
        "signature": c.signature,
        "notes": list(c.notes),
        "definitions": definitions(defined),
    }


def _metric(metric: Metric) -> dict[str, Any]:
    plain = {name: getattr(metric, name) for name in _METRIC}
    plain["higher"] = metric.higher_is_better
    plain["study_higher"] = metric.study_higher_is_better
    return plain


def rubric_names(c: Comparison) -> tuple[str, ...]:
    """Return the rubrics that the models were judged by."""
    # The keys of a dict: each name once, in the order of the metrics.
    names: dict[str, None] = {}
    for metric in c.panel.metrics:
        if metric.rubric is not None:
            names[metric.rubric] = None
    return tuple(names)


def _tested(c: Comparison) -> str:
    """Return in words how differences were tested, empty where nothing was tested."""
    if c.how is None:
        return ""
    unit = "studies"
    if c.panel.clusters is not None:
        unit = "whole patients"
    used: set[str] = set()
    for tests in c.tests:
        for pairs in tests.values():
            used |= {test.method for test in pairs if test.method}
    methods = " or ".join(sorted(used))
    refined = ""
    if c.how.refined_flips is not None:
        refined = f", {c.how.refined_flips:,} where p is below 0.01"
    text = (
        f"Paired on the studies scored for both. Interval: {c.how.resamples:,} bootstrap resamples "
        f"of {unit}, seed {c.how.seed}. p: {methods} "
        f"({c.how.flips:,} random flips where it flips signs{refined})."
    )
    if c.correction:
        text += f" {c.correction}."
    return text


def _groups(c: Comparison) -> Iterator[dict[str, Any]]:
    for index in in_natural_order([group.key for group in c.groups]):
        group = c.groups[index]
        cells = {}
        tests = {}
        for metric in c.panel.metrics:
            cells[metric.name] = _cells(group, metric)
            if c.tests:
                judged = tables.judged_tests(c, index, metric)
                tests[metric.name] = [_test(test, metric) for test in judged]
        intervals = {}
        if c.rank_shares:
            for name, shares in c.rank_shares[index].items():
                intervals[name] = [_rank_interval(share) for share in shares]
        errors = tables.error_tables(c, index, c.order).values()
        yield {
            "name": tables.group_name(group.key),
            "key": {name: group_value(value) for name, value in group.key.items()},
            "n": group.n_studies,
            "cells": cells,
            "errors": [table.plain() for table in errors],
            "tests": tests,
            "rank_intervals": intervals,
        }


def _rank_interval(shares: RankShares | None) -> dict[str, int] | None:
    """Return a rank's interval; None for a model that has no rank."""
    if shares is None:
        return None
    return {"low": shares.low, "high": shares.high}


# Numbers are rounded by the functions that print the terminal's tables, so that both agree.


def _cells(group: Group, metric: Metric) -> list[dict[str, Any]]:
    """Return a metric's figure and rank of each model."""
    cells = []
    estimates = group.estimates[metric.name]
    ranks = group.ranks[metric.name]
    for estimate, rank in zip(estimates, ranks, strict=True):
        printed = tables.figure(estimate, metric).printed()
        cell = {
            "n": estimate.n,
            "rank": rank,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "figure": printed.figure,
            "interval": printed.brackets,
        }
        cells.append(cell)
    return cells


def _test(test: PairTest, metric: Metric) -> dict[str, Any]:
    differences = []
    # The page shows a pair in either order.
    for sign in (1, -1):
        printed = tables.difference(test, metric, sign).printed()
        differences.append({"text": printed.figure, "interval": printed.brackets})
    return {
        "a": test.a,
        "b": test.b,
        "n": test.n,
        "is_significant": test.is_significant,
        "differences": differences,
        "p": p_value(test.p),
        "p_holm": p_value(test.p_holm),
    }


def columns(c: Comparison) -> dict[str, Any]:
    """Return the columns of the list of studies, and the metrics with whole values only."""
    panel = c.panel
    whole = []
    for metric in panel.metrics:
        values = panel.study_values(metric.name)
        known = values[~np.isnan(values)]
        if not np.any(known % 1):
            whole.append(metric.name)
    return {
        "study_id": list(panel.study_ids),
        "fields": {name: _field(values) for name, values in panel.fields.items()},
        "whole": whole,
    }


def _field(values: Sequence[object]) -> dict[str, Any]:
    """Return the different values of a field, and which of them each study has."""
    numbers: dict[str, int] = {}
    rows = []
    for value in values:
        text = group_value(value)
        if text not in numbers:
            numbers[text] = len(numbers)
        rows.append(numbers[text])
    return {"values": list(numbers), "rows": rows}


def _study(c: Comparison, records: Records, study_id: str) -> Iterator[dict[str, Any]]:
    for (model, rubric), studies in records.items():
        if study_id in studies:
            record = judged_view(studies[study_id], rubrics.load(rubric))
            yield {"model": c.panel.models.index(model), "rubric": rubric, **record}
