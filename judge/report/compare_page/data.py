"""What the page knows: the leaderboard and its tests, every value, and some of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judge import rubrics
from judge.report.leaderboard import (
    difference_and_interval,
    error_tables,
    figure_and_interval,
    group_name,
    judged_tests,
    p_value,
    panels,
)
from judge.report.overview import counts, declared
from judge.report.view import judged_view
from judge.report.words import group_value, in_natural_order, number
from judge.rubrics import Rubric
from judge.sentences import lines
from judge.stats.compare import Comparison
from judge.stats.metric import Metric
from judge.stats.paired import PairTest
from judge.stats.panel import GROUP_FIELDS, Cell, Group, Panel, group_cells, groups_of

Records = Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]
"""By model and rubric, then by study id: the records as a run keeps them."""

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
        "correlations": _correlations(c),
        "resampling": _resampling(c),
        "signature": c.signature,
        "notes": list(c.notes),
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


def _resampling(c: Comparison) -> dict[str, Any] | None:
    """Return how differences were tested; `patient` is the field whose values were resampled.

    None where nothing was tested. Which test gave a p, each pair says.
    """
    if c.how is None:
        return None
    patient = None if c.panel.clusters is None else c.panel.patient_field
    return {"n": c.how.resamples, "flips": c.how.flips, "seed": c.how.seed, "patient": patient}


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
        if (field,) == c.by or field not in c.panel.fields:
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
        "errors": [
            {"title": table.title, "head": table.head, "rows": table.rows}
            for table in error_tables(part, group.key, order)
        ],
    }


# What is printed is rounded once, by the functions that make the tables of the terminal, so
# that page and table never differ in a digit.


def _cell(cell: Cell, metric: Metric) -> dict[str, Any]:
    figure, interval = figure_and_interval(cell, metric)
    return {"n": cell.n, "rank": cell.rank, "figure": figure, "interval": interval}


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
        "method": test.method,
    }


def _rubric(name: str) -> dict[str, Any]:
    rubric = rubrics.load(name)
    return {"title": rubric.title, **declared(rubric), "counts": counts(rubric)}


def _correlations(c: Comparison) -> dict[str, Any] | None:
    found = c.correlations
    if found is None:
        return None
    return {
        "labels": list(found.labels),
        "n": [list(row) for row in found.n],
        **{
            name: [[number(value, 2) for value in row] for row in getattr(found, name)]
            for name in ("pearson", "spearman", "kendall")
        },
    }


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
    # Corrections name a line of the candidate by its number.
    if any(item["edit"] for item in view["items"]):
        view["lines"] = lines(record["candidate"])
    return view
