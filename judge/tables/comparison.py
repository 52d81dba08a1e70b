"""A comparison as a document, as JSON's types, and as ReXrank's result table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from judge import rubrics
from judge.stats.metric import Metric
from judge.stats.scores import ScoreMatrix, item_counts
from judge.stats.significance import Comparison
from judge.tables.document import Document, Fact
from judge.tables.leaderboard import leaderboard_tables, panels

if TYPE_CHECKING:
    from judge.comparing.comparison import ComparedRuns


def comparison_document(
    comparison: Comparison,
    compared: ComparedRuns | None = None,
    metrics: Sequence[Metric] | None = None,
    *,
    complete: bool = False,
) -> Document:
    """Return what is printed of a comparison; `complete` and `metrics` as `leaderboard_tables`."""
    n = len(comparison.panel.models)
    return Document(
        f"Comparison of {n} model{'' if n == 1 else 's'}",
        tuple(_facts(comparison, compared)),
        comparison.notes,
        tuple(leaderboard_tables(comparison, metrics, complete=complete)),
        signatures=(("signature", comparison.signature),),
    )


def _facts(comparison: Comparison, compared: ComparedRuns | None) -> list[Fact]:
    panel = comparison.panel
    facts = [("models", str(len(panel.models))), ("studies", f"{len(panel.study_ids):,}")]
    if compared is not None:
        for rubric in dict.fromkeys(run.rubric for run in compared.runs):
            judges = dict.fromkeys(run.judge for run in compared.runs if run.rubric == rubric)
            facts.append((f"judge of {rubric}", ", ".join(judges)))
        facts.append(("section", compared.runs[0].section))
    if panel.is_clustered or (comparison.how and len(panel.models) > 1):
        facts.append(("resampled by", panel.patient_field or "study"))
    return facts


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
                "n": cut.n,
                "errors": int(cut.numerator or 0) if cut.n else None,
                "per_study": cut.value,
                "low": cut.low,
                "high": cut.high,
            }
            for counts in item_counts(panel, rubric)
            for (category, level), cut in counts.cuts.items()
        ]
    return rows
