"""What the page of a comparison holds: leaderboard, tests, every value, some of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge import rubrics
from judge.pages import FRONTEND
from judge.pages.frontend import as_json
from judge.pages.run import counts, declared
from judge.rubrics import Rubric
from judge.stats.metric import Metric
from judge.stats.panel import GROUP_FIELDS, Cell, Group, Panel, group_cells, groups_of
from judge.stats.significance import Comparison, PairTest
from judge.study.view import judged_view
from judge.tables.document import definitions, p_value
from judge.tables.leaderboard import (
    correlation_tables,
    difference_and_interval,
    error_tables,
    figure_and_interval,
    group_name,
    judged_tests,
    panels,
)
from judge.text import group_value, in_natural_order

Records = Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]
"""By model and rubric, then by study id: the records as a run keeps them."""

Wanted = dict[tuple[str, str], set[str]]
"""By model and rubric, the ids of studies."""

MARK = "<!doctype html><!-- judge compare -->"
"""How such a file begins, so that it is known again."""
MOST_RECORDS = 20_000
"""Records of one study, model and rubric; about half a kilobyte each in the file."""
_MOST_GROUPS = 100
"""A field with more values than this is no field to choose a group by."""
_PACKET = 40
"""Studies a packet: opening one unpacks its neighbours too, and more compress better."""


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure as a page takes it: its title, what it shows, and the SVG."""

    title: str
    caption: str
    svg: str

    @property
    def words(self) -> dict[str, str]:
        """All but the picture, as JSON's types."""
        return {"title": self.title, "caption": self.caption}


def wanted(c: Comparison, *, most: int = MOST_RECORDS) -> Wanted:
    """Return the ids of the studies whose records the page shows, by model and rubric.

    All of them where there are no more than `most`. Otherwise the studies in which the best and
    the worst model are furthest apart, by each metric in turn, that of the ranks first.
    """
    panel = c.panel
    keys = [(model, rubric) for model in panel.models for rubric in rubric_names(c)]
    n = most // max(1, len(keys))
    if len(panel.study_ids) <= n:
        return {key: set(panel.study_ids) for key in keys}
    metrics = sorted(panel.metrics, key=lambda metric: metric.name != c.sort)
    in_turn = np.stack([_furthest_first(c, metric) for metric in metrics], axis=1).ravel()
    rows = list(dict.fromkeys(in_turn.tolist()))[:n]
    return {key: {panel.study_ids[row] for row in rows} for key in keys}


def _furthest_first(c: Comparison, metric: Metric) -> NDArray[np.intp]:
    values = c.panel.of_study(metric.name) * (1 if metric.study_higher_is_better else -1)
    scored = ~np.isnan(values)
    # A model by itself is shown where it is worst.
    best = 0.0 if values.shape[1] == 1 else np.where(scored, values, -np.inf).max(axis=1)
    apart = best - np.where(scored, values, np.inf).min(axis=1)
    return np.argsort(-apart, kind="stable")


def page(c: Comparison, records: Records, figures: Sequence[PageFigure] = ()) -> Iterator[str]:
    """Yield the file piece by piece; the same input gives the same text.

    `records` are those that `wanted` asked for; a study that they lack is shown without its
    reports.
    """
    title = f"Comparison of {len(c.panel.models)} models"
    return FRONTEND.file(MARK, "comparison", title, _pieces(c, records, figures))


def _pieces(
    c: Comparison, records: Records, figures: Sequence[PageFigure]
) -> Iterator[tuple[str, bytes]]:
    n_judged = len(c.panel.study_ids) * len(c.panel.models) * len(rubric_names(c))
    n_records = {"here": sum(map(len, records.values())), "all": n_judged}
    yield "overview", as_json({**overview(c), "records": n_records})
    yield "columns", as_json({**columns(c), "packets": packet_of_each(c, records)})
    for number_, metric in enumerate(c.panel.metrics):
        yield f"values-{number_}", values(c, metric)
    for number_, packet in enumerate(packets(c, records)):
        yield f"packet-{number_}", as_json(packet)
    yield from figure_pieces(figures)


def figure_pieces(figures: Sequence[PageFigure]) -> Iterator[tuple[str, bytes]]:
    """Yield the words of all figures, then each figure."""
    yield "figures", as_json([figure.words for figure in figures])
    for number_, figure in enumerate(figures):
        yield f"figure-{number_}", figure.svg.encode()


def overview(c: Comparison) -> dict[str, Any]:
    """Return all but the single studies, as JSON's types."""
    panel = c.panel
    return {
        "format": 1,
        "models": list(panel.models),
        "metrics": [_metric(metric) for metric in panel.metrics],
        "sort": c.sort,
        "groups": [*_tested_groups(c), *_other_groups(c)],
        "rubrics": {name: _rubric(name) for name in rubric_names(c)},
        "correlations": [table.plain() for table in correlation_tables(c)],
        "tested": _tested(c),
        "signature": c.signature,
        "notes": list(c.notes),
        "definitions": definitions((one.label, one.definition) for one in panel.metrics),
    }


def rubric_names(c: Comparison) -> tuple[str, ...]:
    """Return the rubrics that the models were judged by."""
    return tuple(dict.fromkeys(m.rubric for m in c.panel.metrics if m.rubric is not None))


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "label": metric.label,
        "short": metric.short,
        "kind": metric.kind,
        "higher": metric.higher_is_better,
        "study_label": metric.study_label,
        "study_higher": metric.study_higher_is_better,
        "rubric": metric.rubric,
    }


def _tested(c: Comparison) -> str:
    """Return how differences were tested, in words; empty where nothing was tested."""
    if c.how is None:
        return ""
    is_by_patient = c.panel.clusters is not None
    unit = "whole patients" if is_by_patient else "studies"
    methods = {test.method for tests in c.tests for pairs in tests.values() for test in pairs}
    return (
        f"Paired on the studies scored for both. Interval: {c.how.resamples:,} bootstrap resamples "
        f"of {unit}, seed {c.how.seed}. p: {' or '.join(sorted(filter(None, methods)))} "
        f"({c.how.flips:,} random flips where it flips signs)."
        + (f" {c.correction}." if c.correction else "")
    )


def _tested_groups(c: Comparison) -> Iterator[dict[str, Any]]:
    parts = panels(c)
    for index in in_natural_order([group.key for group in c.groups]):
        group = c.groups[index]
        rank_shares = c.rank_shares[index] if c.rank_shares else {}
        yield {
            **_group(group, parts[index], c.order),
            "tests": {
                metric.name: [_test(test, metric) for test in judged_tests(c, index, metric)]
                for metric in (c.panel.metrics if c.tests else ())
            },
            "rank_intervals": {
                name: [one and {"low": one.low, "high": one.high} for one in found]
                for name, found in rank_shares.items()
            },
        }


def _other_groups(c: Comparison) -> Iterator[dict[str, Any]]:
    for field in GROUP_FIELDS:
        if field in c.by or field not in c.panel.fields:
            continue
        parts = groups_of(c.panel, [field])
        if len(parts) <= _MOST_GROUPS:
            for index in in_natural_order([key for key, _ in parts]):
                key, part = parts[index]
                group = _group(group_cells(part, key), part, c.order)
                yield {**group, "tests": {}, "rank_intervals": {}}


def _group(group: Group, part: Panel, order: Sequence[int]) -> dict[str, Any]:
    return {
        "name": group_name(group.key),
        "key": {name: group_value(value) for name, value in group.key.items()},
        "n": group.n_studies,
        "cells": {
            metric.name: [_cell(cell, metric) for cell in group.cells[metric.name]]
            for metric in part.metrics
        },
        "errors": [table.plain() for table in error_tables(part, group.key, order)],
    }


# What is printed is rounded once, by the functions that make the tables of the terminal, so
# that page and table never differ in a digit.


def _cell(cell: Cell, metric: Metric) -> dict[str, Any]:
    figure, interval = figure_and_interval(cell, metric)
    ends = {"value": cell.value, "low": cell.low, "high": cell.high}
    return {"n": cell.n, "rank": cell.rank, "figure": figure, "interval": interval, **ends}


def _test(test: PairTest, metric: Metric) -> dict[str, Any]:
    found = (difference_and_interval(test, metric, sign) for sign in (1, -1))
    return {
        "a": test.a,
        "b": test.b,
        "n": test.n,
        "differences": [{"text": text, "interval": interval} for text, interval in found],
        "p": p_value(test.p),
        "p_holm": p_value(test.p_holm),
        "is_significant": test.is_significant,
    }


def _rubric(name: str) -> dict[str, Any]:
    rubric = rubrics.load(name)
    return {"title": rubric.title, **declared(rubric), "counts": counts(rubric)}


def columns(c: Comparison) -> dict[str, Any]:
    """Return the columns of the list of studies: ids, fields, and which values are all whole."""
    known = {metric.name: c.panel.of_study(metric.name) for metric in c.panel.metrics}
    return {
        "study_id": list(c.panel.study_ids),
        "fields": {name: _field(values) for name, values in c.panel.fields.items()},
        "whole": [name for name, of in known.items() if not np.any(of[~np.isnan(of)] % 1)],
    }


def values(c: Comparison, metric: Metric) -> bytes:
    """Return the studies' values as numbers of 8 bytes, model by model; NaN is not scored."""
    return c.panel.of_study(metric.name).T.astype("<f8").tobytes()


def _field(values: Sequence[object]) -> dict[str, Any]:
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(group_value(value), len(numbers)) for value in values]
    return {"values": list(numbers), "rows": rows}


def packet_of_each(c: Comparison, records: Records) -> list[int]:
    """Return for each study the number of the packet that holds its reports, -1 for none."""
    numbers = {row: packet for packet, rows in enumerate(_packets(c, records)) for row in rows}
    return [numbers.get(row, -1) for row in range(len(c.panel.study_ids))]


def packets(c: Comparison, records: Records) -> Iterator[dict[str, Any]]:
    """Yield the studies' reports, a packet at a time: by row, what each model and rubric has."""
    for rows in _packets(c, records):
        yield {str(row): list(_study(c, records, c.panel.study_ids[row])) for row in rows}


def _packets(c: Comparison, records: Records) -> list[list[int]]:
    known = {study_id for found in records.values() for study_id in found}
    rows = [row for row, study_id in enumerate(c.panel.study_ids) if study_id in known]
    return [rows[start : start + _PACKET] for start in range(0, len(rows), _PACKET)]


def _study(c: Comparison, records: Records, study_id: str) -> Iterator[dict[str, Any]]:
    for (model, rubric), studies in records.items():
        if study_id in studies:
            record = record_view(studies[study_id], rubrics.load(rubric))
            yield {"model": c.panel.models.index(model), "rubric": rubric, **record}


def record_view(record: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Return what the page shows of a record: of its measures the counts alone."""
    view = judged_view(record, rubric)
    measures = record["measures"]
    view["measures"] = measures and {m.name: measures[m.name] for m in rubric.with_role("count")}
    return view
