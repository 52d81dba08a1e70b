"""A run as a page shows it first: facts, tables, figures, and what its studies can be sorted by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from judge.rubrics.contract import Measure, Rubric, Statistic
from judge.stats.table import FIXED, codes, fields_of, worst_order
from judge.tables.run import headline, run_title, tables
from judge.text import group_value, number, percent

if TYPE_CHECKING:
    import pandas as pd

_MOST_CHOICES = 200
"""A field with more values than this is filtered by typing, not by choosing."""
_LONGEST_CHOICE = 100
_MOST_VALUES = 12
_SHORT = 40
"""Characters of a field's longest value that is shown in the list of studies from the start."""
_FEW_FIELDS = 3
_BINS = 20
_OF_SUMMARY = ("judge", "prompt", "signature", "n_studies", "n_scored")
_OF_MEASURE = ("name", "label", "unit", "higher_is_better", "undefined")


def overview(summary: Mapping[str, Any], table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Return what a page shows of a run, in JSON's types.

    `rubric` labels all that studies name. `facts` and `tables` are those of the terminal.
    `figures` hold `rates` (for each rate a row a group and the last for all), `tally` (for each
    of its rows the number in each column, None without one) and `scores` (a histogram a
    score). `columns` are the columns of the list of studies, `filters` what it can be narrowed
    by.
    """
    return {
        "title": run_title(summary, rubric),
        "rubric": _rubric(rubric),
        **{name: summary[name] for name in _OF_SUMMARY},
        "headline": [_tile(summary, one) for one in rubric.shown("groups")],
        "facts": [
            {"name": name, "value": value}
            for name, value in headline(summary, rubric, figures=False)
        ],
        "tables": [table.plain() for table in tables(summary, rubric)],
        "figures": {
            "rates": [_rates(summary, one) for one in rubric.shown("groups") if one.kind == "rate"],
            "tally": _tally(summary, rubric),
            "scores": [_histogram(table, score) for score in rubric.with_role("score")],
        },
        "columns": _columns(table, rubric),
        "filters": _filters(table, rubric),
    }


def index(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    """Return the columns by name and the order of the rows, the worst study's first.

    A column holds a value a study, in the order of the table, as `cell` gives it. The codes
    of a study's items stand under the plural of their facet, such as `categories`.
    """
    names = ["study_id", "study_class", "outcome", "reason"]
    names += [measure.name for measure in rubric.measures if measure.role != "check"]
    names += field_names(table, rubric)
    columns: dict[str, list[Any]] = {
        name: [cell(v) for v in table[name].tolist()] for name in names
    }
    if rubric.codes:
        columns[rubric.codes.plural] = list(codes(table, rubric))
    return {"order": worst_order(table, rubric), "columns": columns}


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
    ours = {*FIXED, *(measure.name for measure in rubric.measures)}
    return [str(name) for name in table.columns if name not in ours]


def _rubric(rubric: Rubric) -> dict[str, Any]:
    return {
        "name": rubric.name,
        "title": rubric.title,
        "summary": rubric.summary,
        "has_edits": rubric.editor is not None,
        **declared(rubric),
        "scores": [_measure(measure) for measure in rubric.with_role("score")],
        "checks": [_measure(measure) for measure in rubric.with_role("check")],
    }


def declared(rubric: Rubric) -> dict[str, Any]:
    """Return what a page needs to show items: their kinds, and what labels are called."""
    return {
        "codes": rubric.codes and rubric.codes.name,
        "kinds": [asdict(kind) for kind in rubric.kinds],
        "facets": [
            {
                "name": facet.name,
                "label": facet.label,
                "plural": facet.plural,
                "labels": [{**asdict(one), "text": facet.text(one.name)} for one in facet.labels],
            }
            for facet in rubric.facets
        ],
    }


def counts(rubric: Rubric) -> list[dict[str, str | None]]:
    """Return the counts that lists of studies show, each with its tone."""
    return [
        {"name": one.name, "label": one.label, "tone": _tone(one, rubric)}
        for one in rubric.with_role("count")
    ]


def _measure(measure: Measure) -> dict[str, Any]:
    return {name: getattr(measure, name) for name in _OF_MEASURE}


def _tile(summary: Mapping[str, Any], statistic: Statistic) -> dict[str, Any]:
    """Return a statistic of all studies, with its value and its interval as text too."""
    value = summary["statistics"][statistic.name]
    form = percent if statistic.kind == "rate" else number
    has_interval = value["low"] is not None
    ends = [form(value["low"]), form(value["high"])] if has_interval else []
    return {
        "label": statistic.label,
        "text": form(value["value"]),
        "interval": " to ".join(ends),
        "is_share": statistic.kind == "rate",
        **{name: value[name] for name in ("value", "low", "high")},
    }


def _rates(summary: Mapping[str, Any], statistic: Statistic) -> dict[str, Any]:
    by = fields_of(*summary["by"])
    rows = [
        (", ".join(group_value(row[name]) for name in by if name in row), row)
        for row in summary["rates"]
    ]
    return {
        **{name: getattr(statistic, name) for name in ("name", "label", "definition")},
        "rows": [
            {"group": group, **block["statistics"][statistic.name]}
            for group, block in (*rows, ("all", summary))
        ],
    }


def _tally(summary: Mapping[str, Any], rubric: Rubric) -> dict[str, Any] | None:
    tally = rubric.tally
    if tally is None:
        return None
    columns = rubric.facet(tally.columns).labels

    def n(row: str, column: str) -> int | None:
        (measure,) = rubric.counting(tally.kind, {tally.rows: row, tally.columns: column})
        found: int | None = summary["totals"][measure.name]["n"]
        return found

    counts = [
        (row, {column.name: n(row.name, column.name) for column in columns})
        for row in rubric.facet(tally.rows).labels
    ]
    return {
        "title": tally.title,
        "rows": tally.rows,
        "columns": tally.columns,
        "counts": [
            {"name": row.name, "n": found}
            for row, found in counts
            if row.modality is None or any(found.values())
        ],
    }


def _histogram(table: pd.DataFrame, score: Measure) -> dict[str, Any]:
    """Return how many scored studies have which score: one bin a value, or bins of a width.

    A bin holds its lower edge, the last one its upper edge too. Where all scores are whole
    numbers, each bin holds as many of them as the next: no gap is of the bins' own making.
    """
    values = [float(value) for value in table[score.name].dropna()]
    whole = all(value.is_integer() for value in values)
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    if whole:
        first, last = int(low), int(high)
        wide = 1 if last - first < _MOST_VALUES else -(-(last - first + 1) // _BINS)
        starts = range(first, last + 1, wide) if values else range(0)
        bins = [(float(start), float(start + wide - 1)) for start in starts]
        at = [(int(value) - first) // wide for value in values]
    else:
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        width = (high - low) / _BINS
        bins = [(low + n * width, low + (n + 1) * width) for n in range(_BINS)]
        at = [min(_BINS - 1, int((value - low) / width)) for value in values]
    counts = Counter(at)
    return {
        **_measure(score),
        "n": len(values),
        "whole": whole,
        "bins": [{"low": low, "high": high, "n": counts[n]} for n, (low, high) in enumerate(bins)],
    }


def _columns(table: pd.DataFrame, rubric: Rubric) -> list[dict[str, Any]]:
    """Return what the list of studies can show, and what it shows until a reader chooses.

    That is all but the outcome where there is only one, measures in the role `other`, and
    fields beyond the first few of short values.
    """
    fields = field_names(table, rubric)
    short = [name for name in fields if _longest(table[name]) <= _SHORT][:_FEW_FIELDS]
    tones = {one["name"]: one["tone"] for one in counts(rubric)}
    columns = [("study_id", "study", "id", True), ("study_class", "class", "class", True)]
    for role in ("score", "count"):
        columns += [(one.name, one.label, role, True) for one in rubric.with_role(role)]
    columns += [(one.plural, one.plural, "codes", True) for one in [rubric.codes] if one]
    columns += [("outcome", "outcome", "outcome", table["outcome"].nunique() > 1)]
    columns += [(name, name, "field", name in short) for name in fields]
    columns += [(one.name, one.label, "other", False) for one in rubric.with_role("other")]
    whole = {measure.name for measure in rubric.measures if measure.is_whole}
    return [
        {
            "name": name,
            "label": label,
            "kind": kind,
            "tone": tones.get(name),
            "whole": name in whole,
            "shown": shown,
        }
        for name, label, kind, shown in columns
    ]


def _longest(column: pd.Series[Any]) -> int:
    return max((len(str(cell(value) or "")) for value in column), default=0)


def _tone(measure: Measure, rubric: Rubric) -> str | None:
    labels = dict(measure.counts.labels) if measure.counts else {}
    tones = [rubric.facet(facet)[name].tone for facet, name in labels.items()]
    return tones[0] if len(tones) == 1 else None


def _filters(table: pd.DataFrame, rubric: Rubric) -> dict[str, Any]:
    scores = {score.name: table[score.name].dropna() for score in rubric.with_role("score")}
    narrowing = [facet.name for facet in (rubric.codes, rubric.grades) if facet]
    counts = {m.name: dict(m.counts.labels) for m in rubric.measures if m.counts}
    return {
        # Facets whose labels studies can be narrowed by, and the columns that count them.
        "labels": [one for one in narrowing if any(one in labels for labels in counts.values())],
        "counts": [{"name": name, "labels": labels} for name, labels in counts.items() if labels],
        "classes": _choices(table["study_class"]),
        "no_class": bool(table["study_class"].isna().any()),
        "outcomes": _choices(table["outcome"]) or [],
        "scores": {
            name: {"low": float(values.min()), "high": float(values.max())}
            for name, values in scores.items()
            if len(values)
        },
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
