"""What the page knows: the leaderboard and its tests, every value, and some of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judge import rubrics
from judge.report.compare_page.packing import Codes
from judge.report.leaderboard import (
    difference_and_interval,
    figure_and_interval,
    group_name,
    p_value,
)
from judge.report.natural import in_natural_order
from judge.report.overview import tones
from judge.report.words import group_value, number
from judge.sentences import lines
from judge.stats.compare import Comparison
from judge.stats.metric import Metric, label_of_a_study, short_label
from judge.stats.paired import PairTest
from judge.stats.panel import GROUP_FIELDS, Cell, Group, group_cells, groups_of
from judge.stats.ranks import RankShares
from judge.types import Category

Records = Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]
"""By model and rubric, then by study id: the records as a run keeps them."""

_MOST_GROUPS = 100
"""A field with more values than this is no field to choose a group by."""
_PACKET = 40
"""Studies a packet: opening one unpacks its neighbours too, and more compress better."""


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
        "categories": {str(category): category.label for category in Category},
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
        "short": short_label(metric),
        "kind": metric.kind,
        "higher": metric.higher_is_better,
        "study_label": label_of_a_study(metric),
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
    for at in in_natural_order([group.key for group in c.groups]):
        group = c.groups[at]
        tests = c.tests[at] if c.tests else {}
        places = c.places[at] if c.places else {}
        yield {
            **_group(group, c.panel.metrics),
            "tests": {
                name: [_test(test, c.panel.metric(name)) for test in found]
                for name, found in tests.items()
            },
            "places": {name: [_place(p) for p in found] for name, found in places.items()},
        }


def _other_groups(c: Comparison) -> Iterator[dict[str, Any]]:
    """Yield the groups of the usual fields, untested where they were not asked for."""
    for field in GROUP_FIELDS:
        if (field,) == c.by or field not in c.panel.fields:
            continue
        parts = groups_of(c.panel, [field])
        if len(parts) <= _MOST_GROUPS:
            for at in in_natural_order([key for key, _ in parts]):
                key, part = parts[at]
                group = _group(group_cells(part, key), c.panel.metrics)
                yield {**group, "tests": {}, "places": {}}


def _group(group: Group, metrics: Sequence[Metric]) -> dict[str, Any]:
    return {
        "name": group_name(group.key),
        "key": {name: group_value(value) for name, value in group.key.items()},
        "n": group.n_studies,
        "cells": {
            metric.name: [_cell(cell, metric) for cell in group.cells[metric.name]]
            for metric in metrics
        },
    }


# What is printed is rounded once, by the functions that make the tables of the terminal, so
# that page and table never differ in a digit.


def _cell(cell: Cell, metric: Metric) -> list[Any]:
    """Return denominator and rank, and as text the figure and its interval."""
    return [cell.n, cell.rank, *figure_and_interval(cell, metric)]


def _test(test: PairTest, metric: Metric) -> list[Any]:
    """Return the models, their studies, what is printed, whether it is significant, the test."""
    texts = (*difference_and_interval(test, metric), p_value(test.p), p_value(test.p_holm))
    return [test.a, test.b, test.n, *texts, test.is_significant, test.method]


def _place(place: RankShares | None) -> list[int] | None:
    return None if place is None else [place.low, place.high]


def _rubric(name: str) -> dict[str, Any]:
    rubric = rubrics.load(name)
    return {
        "title": rubric.title,
        "levels": {
            level.name: {"label": level.label, "tone": tone}
            for level, tone in zip(rubric.levels, tones(rubric.levels), strict=True)
        },
    }


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


def columns(c: Comparison, codes: Mapping[str, Codes]) -> dict[str, Any]:
    """Return the columns of the list of studies: ids, fields, and how the values are coded."""
    return {
        "study_id": list(c.panel.study_ids),
        "fields": {name: _field(values) for name, values in c.panel.fields.items()},
        "values": {
            name: {"unique": list(code.unique), "width": code.width} for name, code in codes.items()
        },
    }


def _field(values: Sequence[object]) -> dict[str, Any]:
    """Return a field as its different values and, for each study, the number of its own."""
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(group_value(value), len(numbers)) for value in values]
    return {"values": list(numbers), "rows": rows}


def packet_of_each(c: Comparison, records: Records) -> list[int]:
    """Return for each study the number of the packet that holds its reports, -1 for none."""
    numbers = {row: at for at, rows in enumerate(_packets(c, records)) for row in rows}
    return [numbers.get(row, -1) for row in range(len(c.panel.study_ids))]


def packets(c: Comparison, records: Records) -> Iterator[dict[str, Any]]:
    """Yield the studies' reports, a packet at a time: by row, then by `model rubric`."""
    for rows in _packets(c, records):
        yield {str(row): _study(c, records, c.panel.study_ids[row]) for row in rows}


def _packets(c: Comparison, records: Records) -> list[list[int]]:
    known = {study_id for found in records.values() for study_id in found}
    rows = [row for row, study_id in enumerate(c.panel.study_ids) if study_id in known]
    return [rows[at : at + _PACKET] for at in range(0, len(rows), _PACKET)]


def _study(c: Comparison, records: Records, study_id: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (model, rubric), studies in records.items():
        if study_id in studies:
            found[f"{c.panel.models.index(model)} {rubric}"] = _record(studies[study_id])
    return found


def _record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a record."""
    kept = {
        name: record[name] for name in ("reference", "candidate", "outcome", "reason", "detail")
    }
    annotation = record["annotation"]
    if annotation:
        kept["errors"] = annotation["errors"]
        kept["matched"] = annotation["matched"]
        kept["explanation"] = annotation["explanation"]
        kept["remarks"] = annotation["remarks"]
        # Corrections name a line of the candidate by its number.
        if any(error["edit"] for error in annotation["errors"]):
            kept["lines"] = lines(record["candidate"])
    return kept
