"""A run as a page shows it first: facts, tables, figures, and what its studies can be sorted by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judge.report.tables import headline, tables
from judge.report.words import group_value
from judge.rubrics import Level, Rubric, Score
from judge.types import Category

if TYPE_CHECKING:
    import pandas as pd

_MOST_CHOICES = 200
"""A field with more values than this is filtered by typing, not by choosing."""
_LONGEST_CHOICE = 100
_MOST_VALUES = 12
_BINS = 20


def overview(summary: Mapping[str, Any], table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Return what a page shows of a run, in JSON's types.

    `rubric` and `categories` label all that studies name. `facts` and `tables` are those of
    the terminal. `figures` hold `rates` (a row a group and the last for all), `errors` (per
    category, the number at each level) and `scores` (a histogram a score). `columns` are the
    columns of the list of studies, `filters` what it can be narrowed by.
    """
    return {
        "rubric": _rubric(rubric),
        "categories": {category.value: category.label for category in Category},
        "judge": summary["judge"],
        "prompt": summary["prompt"],
        "signature": summary["signature"],
        "n_studies": summary["n_studies"],
        "n_scored": summary["n_scored"],
        "facts": headline(summary, rubric),
        "tables": [
            {"title": one.title, "head": one.head, "rows": one.rows, "n_left": one.n_left}
            for one in tables(summary, rubric)
        ],
        "figures": {
            "rates": _rates(summary),
            "errors": [
                {
                    "category": row["category"],
                    "levels": {level.name: row[level.name]["n"] for level in rubric.levels},
                }
                for row in summary["errors"]
            ],
            "scores": [_histogram(table, score) for score in rubric.scores],
        },
        "columns": _columns(table, rubric),
        "filters": _filters(table, rubric),
    }


def cell(value: Any) -> str | int | float | None:  # noqa: ANN401 - a cell of any column
    """Return a cell of the table of studies as JSON and a filter know it.

    A number stays one, whole ones without a fraction, whatever column type a missing value
    made of them; a truth value is `true` or `false`; None where there is none.
    """
    import pandas as pd

    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if not math.isfinite(value):
            return None if math.isnan(value) else str(value)
        return int(value) if value.is_integer() else value
    return value if isinstance(value, int | str) else str(value)


def field_names(table: pd.DataFrame, rubric: Rubric) -> list[str]:
    """Return the columns of the table that are fields of the user's own, in order."""
    ours = {"study_id", "study_class", "class_inferred", "outcome", "reason", "remarks"}
    ours |= {score.name for score in (*rubric.scores, *rubric.checks)}
    ours |= {"n_significant", "n_insignificant", "n_actionable", "n_matched"}
    ours |= {f"n_{level.name}" for level in rubric.levels}
    ours |= {f"{level.name}_{category}" for level in rubric.levels for category in Category}
    return [str(name) for name in table.columns if name not in ours]


def _rubric(rubric: Rubric) -> dict[str, Any]:
    return {
        "name": rubric.name,
        "title": rubric.title,
        "summary": rubric.summary,
        "has_matched": rubric.has_matched,
        "has_edits": rubric.corrected is not None,
        "levels": [
            {
                "name": level.name,
                "label": level.label,
                "significant": level.significant,
                "actionable": level.actionable,
                "tone": tone,
            }
            for level, tone in zip(rubric.levels, tones(rubric.levels), strict=True)
        ],
        "scores": [_score(score) for score in rubric.scores],
        "checks": [_score(check) for check in rubric.checks],
    }


def _score(score: Score) -> dict[str, Any]:
    return {
        "name": score.name,
        "label": score.label,
        "higher_is_better": score.higher_is_better,
    }


def tones(levels: Sequence[Level]) -> list[str]:
    """Return how each level is coloured: `mild` or `notable`, `serious` or `critical`.

    The stronger of each two is for the gravest of several levels that are significant, or
    are not; a scale is written from one end to the other, and its significant end is the
    graver.
    """
    graver_first = levels[0].significant and not levels[-1].significant
    ordered = list(reversed(levels)) if graver_first else list(levels)
    found = {}
    for significant, names in ((False, ("mild", "notable")), (True, ("serious", "critical"))):
        alike = [level for level in ordered if level.significant is significant]
        for level in alike:
            gravest = len(alike) > 1 and level is alike[-1]
            found[level.name] = names[gravest]
    return [found[level.name] for level in levels]


def _rates(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    keys = ("n_studies", "n_scored", "no_significant_error", "no_actionable_error")
    found = []
    for row in summary["rates"]:
        group = ", ".join(group_value(row[name]) for name in summary["by"])
        found.append({"group": group, **{key: row[key] for key in keys}})
    found.append({"group": "all", **{key: summary[key] for key in keys}})
    return found


def _histogram(table: pd.DataFrame, score: Score) -> dict[str, Any]:
    """Return how many scored studies have which score: one bin a value, or bins of a width.

    A bin holds its lower edge, the last one its upper edge too.
    """
    values = [float(value) for value in table[score.name].dropna()]
    whole = all(value.is_integer() for value in values)
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    if whole and high - low < _MOST_VALUES:
        first = int(low)
        bins = [(float(at), float(at)) for at in range(first, int(high) + 1)] if values else []
        at = [int(value) - first for value in values]
    else:
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        width = (high - low) / _BINS
        bins = [(low + n * width, low + (n + 1) * width) for n in range(_BINS)]
        at = [min(_BINS - 1, int((value - low) / width)) for value in values]
    counts = [0] * len(bins)
    for place in at:
        counts[place] += 1
    return {
        **_score(score),
        "n": len(values),
        "bins": [
            {"low": low, "high": high, "n": n} for (low, high), n in zip(bins, counts, strict=True)
        ],
    }


def _columns(table: pd.DataFrame, rubric: Rubric) -> list[dict[str, str]]:
    columns = [("study_id", "study", "id"), ("study_class", "class", "class")]
    columns += [(score.name, score.label, "score") for score in rubric.scores]
    columns += [(f"n_{level.name}", level.label, "count") for level in rubric.levels]
    columns += [("categories", "categories", "categories"), ("outcome", "outcome", "outcome")]
    columns += [(name, name, "field") for name in field_names(table, rubric)]
    return [{"name": name, "label": label, "kind": kind} for name, label, kind in columns]


def _filters(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    scores = {}
    for score in rubric.scores:
        values = table[score.name].dropna()
        if len(values):
            scores[score.name] = {"low": float(values.min()), "high": float(values.max())}
    return {
        "classes": _choices(table["study_class"]),
        "no_class": bool(table["study_class"].isna().any()),
        "outcomes": _choices(table["outcome"]) or [],
        "scores": scores,
        "fields": [
            {"name": name, "values": _choices(table[name])} for name in field_names(table, rubric)
        ],
    }


def _choices(column: pd.Series[Any]) -> list[str] | None:
    """Return the values of a column as text, sorted; None for too many, or too long ones."""
    values = {str(known) for value in column if (known := cell(value)) is not None}
    if len(values) > _MOST_CHOICES or any(len(value) > _LONGEST_CHOICE for value in values):
        return None
    return sorted(values)
