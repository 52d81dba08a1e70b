"""The figures of stress tests of judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from judge.figures import specs
from judge.figures.figure import Figure, FigureSet, count_range, short_names

_IDENTICAL = "identical"

Report = Mapping[str, Any]


def stress_figures(reports: Mapping[str, Report]) -> FigureSet:
    """Return the figures of stress tests, by the judges' names.

    Args:
        reports: As `judge stress report --format json` prints them.
    """
    parts = [_detection(reports), _false_alarms(reports)]
    return FigureSet(
        "stress test",
        tuple(part for part in parts if isinstance(part, Figure)),
        tuple(part for part in parts if isinstance(part, str)),
        " ; ".join(report["signature"] for report in reports.values()),
        (),
        {"judges": tuple(reports)},
    )


def _detection(reports: Mapping[str, Report]) -> Figure | str:
    labels = {"found": "an error is found", "right_category": "one in a right category is found"}
    return _shares(
        reports,
        ("detection", "class", "all classes"),
        labels,
        ("errors found", "no candidate with one error was read"),
        "stress_detection",
        "Errors that were put in, and found",
        "Share of candidates with one known error in which the judge found an error at all, and "
        "one in a category that is right, by the class of the error that was put in and of all "
        "classes; bars are 95% Wilson intervals, of all classes with the candidates of a study "
        "taken together. In brackets is the number of candidates that were read, as a range where "
        "judges differ.",
        "candidates with one error",
    )


def _false_alarms(reports: Mapping[str, Report]) -> Figure | str:
    level = next(
        (report["level"]["label"] for report in reports.values() if report["level"]),
        "severe errors",
    )
    return _shares(
        reports,
        ("false_alarms", "change", f"all but {_IDENTICAL}"),
        {"any": "an error is found", "significant": f"{level} are found"},
        ("false alarms", "no candidate without an error was read"),
        "stress_false_alarms",
        "False alarms where no finding was changed",
        f"Share of candidates in which the judge found an error, and {level}, though no finding "
        "was changed, by what was done to the reference; bars are 95% Wilson intervals, of the "
        "first row with the candidates of a study taken together. In brackets is the number of "
        "candidates that were read, as a range where judges differ.",
        "candidates without an error",
    )


def _shares(
    reports: Mapping[str, Report],
    source: tuple[str, str, str],
    series: Mapping[str, str],
    missing: tuple[str, str],
    name: str,
    title: str,
    caption: str,
    axis: str,
) -> Figure | str:
    """Draw the rates of a table of the reports, whose rows have a name under `source[1]`."""
    table_name, key, total_name = source
    first = next(iter(series))
    tables = {
        judge: {row[key]: row for row in report[table_name] if _n(row[first])}
        for judge, report in reports.items()
    }
    totals = {judge: report[f"{table_name}_all"] for judge, report in reports.items()}
    order = dict.fromkeys(row[key] for report in reports.values() for row in report[table_name])
    names = [name for name in order if any(name in table for table in tables.values())]
    if not names:
        is_counted = any(total[first] is not None for total in totals.values())
        return f"{missing[0]}: {missing[1] if is_counted else 'the rubric counts no errors'}"
    counted = [field for field in series if any(total[field] for total in totals.values())]
    labels = [_label(total_name, [_n(total[first]) for total in totals.values()])]
    labels += [
        _label(name, [_n(table[name][first]) if name in table else 0 for table in tables.values()])
        for name in names
    ]
    rows = []
    panels = short_names(list(reports))
    for panel, judge in zip(panels, reports, strict=True):
        cells = [totals[judge], *(tables[judge].get(name, {}) for name in names)]
        for label, cell in zip(labels, cells, strict=True):
            for field in counted:
                if field != first and totals[judge][field] is None:
                    continue
                rate = cell.get(field) or {"rate": None, "low": None, "high": None}
                rows.append(
                    {"panel": panel, "name": label, "series": series[field]}
                    | {"value": rate["rate"], "low": rate["low"], "high": rate["high"]}
                    | {"n": _n(cell.get(field))}
                )
    return Figure(
        name,
        title,
        caption,
        specs.dots(
            title,
            rows,
            names=labels,
            panels=panels,
            series=[series[field] for field in counted],
            axis=axis,
            domain=(0, 1),
            percent=True,
        ),
    )


def _label(name: str, read: Sequence[int]) -> str:
    return f"{name.replace('_', ' ')} ({count_range(read)})"


def _n(rate: Mapping[str, Any] | None) -> int:
    return int(rate["n"]) if rate else 0
