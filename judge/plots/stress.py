"""From stress tests of judges to the figures that are drawn of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judge.plots.data import Drawing, Plan, Rates, RatesPanel
from judge.stats.panel import Cell

# The first of the classes that are alike: findings, places, degrees, devices, comparisons, and
# what a report says against itself. A line stands above each.
_FIRST = (
    "side_swapped",
    "severity_changed",
    "device_changed",
    "comparison_changed",
    "contradicted",
)
_SAME = "identical"
_NOTHING = Cell(0, None, None, None, None, None)

Report = Mapping[str, Any]


def plan(named: Mapping[str, Report]) -> Plan:
    """Return what is drawn of stress tests, as `draw_stress` takes them."""
    judges, reports = tuple(named), tuple(named.values())
    parts = [_detection(judges, reports), _false_alarms(judges, reports)]
    return Plan(
        "stress test",
        tuple(part for part in parts if isinstance(part, Drawing)),
        tuple(part for part in parts if isinstance(part, str)),
        " ; ".join(one["signature"] for one in reports),
        (),
        {"judges": judges},
    )


def _detection(judges: Sequence[str], reports: Sequence[Report]) -> Drawing | str:
    tables = [
        {one["class"]: one for one in report["detection"] if _n(one["found"])} for report in reports
    ]
    totals = [report["detection_all"] for report in reports]
    names = _in_order([[one["class"] for one in report["detection"]] for report in reports], tables)
    if not names:
        return _why_not("errors found", totals, "found", "no candidate with one error was read")
    labels = ("an error is found", "an error in a right category is found")
    panels = _panels(judges, names, tables, totals, ("found", "right_category"))
    breaks = (1, *(at for at, name in enumerate(names, 1) if name in _FIRST))
    return Drawing(
        "stress_detection",
        "Errors that were put in, and found",
        "Share of candidates with one known error in which the judge found an error at all, and "
        "one in a category that is right, by the class of the error that was put in and of all "
        "classes; bars are 95% Wilson intervals, of all classes with the candidates of a study "
        "taken together. In brackets stand the candidates that were read, as a range "
        "where judges differ. A line stands between classes that are not alike.",
        Rates(
            _rows("all", names, tables, totals, "found"),
            labels[: _most(panels)],
            "candidates with one error",
            panels,
            breaks=breaks,
        ),
    )


def _false_alarms(judges: Sequence[str], reports: Sequence[Report]) -> Drawing | str:
    tables = [
        {one["change"]: one for one in report["false_alarms"] if _n(one["any"])}
        for report in reports
    ]
    totals = [report["false_alarms_all"] for report in reports]
    given = [[one["change"] for one in report["false_alarms"]] for report in reports]
    names = _in_order(given, tables)
    if not names:
        return _why_not("false alarms", totals, "any", "no candidate without an error was read")
    levels = [one["level"]["label"] for one in reports if one["level"]]
    level = levels[0] if levels else "grave errors"
    labels = ("an error is found", f"{level} are found")
    panels = _panels(judges, names, tables, totals, ("any", "significant"))
    return Drawing(
        "stress_false_alarms",
        "False alarms where no finding was changed",
        f"Share of candidates in which the judge found an error, and {level}, though no finding "
        "was changed, by what was done to the reference; bars are 95% Wilson intervals, of the "
        "first row with the candidates of a study taken together. The field "
        f"of {_SAME}, the reference itself, is shaded. In brackets are the candidates that were "
        "read, as a range where judges differ.",
        Rates(
            _rows(f"all but {_SAME}", names, tables, totals, "any"),
            labels[: _most(panels)],
            "candidates without an error",
            panels,
            breaks=(1,),
            marked=tuple(at for at, name in enumerate(names, 1) if name == _SAME),
        ),
    )


def _why_not(what: str, totals: Sequence[Mapping[str, Any]], of: str, read: str) -> str:
    is_counted = any(one[of] is not None for one in totals)
    return f"{what}: {read if is_counted else 'the rubric counts no errors'}"


def _in_order(given: Iterable[Iterable[str]], tables: Sequence[Mapping[str, Any]]) -> list[str]:
    names = dict.fromkeys(name for each in given for name in each)
    return [name for name in names if any(name in table for table in tables)]


def _rows(
    whole: str,
    names: Sequence[str],
    tables: Sequence[Mapping[str, Any]],
    totals: Sequence[Mapping[str, Any]],
    of: str,
) -> tuple[str, ...]:
    read = [[_n(one[of]) for one in totals]]
    read += [[_n(table[name][of]) if name in table else 0 for table in tables] for name in names]
    shown = (whole, *(name.replace("_", " ") for name in names))
    return tuple(f"{name} ({_range(n)})" for name, n in zip(shown, read, strict=True))


def _range(n: Sequence[int]) -> str:
    low, high = min(n), max(n)
    return f"{low:,}" if low == high else f"{low:,}\N{EN DASH}{high:,}"


def _panels(
    judges: Sequence[str],
    names: Sequence[str],
    tables: Sequence[Mapping[str, Any]],
    totals: Sequence[Mapping[str, Any]],
    series: Sequence[str],
) -> tuple[RatesPanel, ...]:
    found = []
    for judge, table, total in zip(judges, tables, totals, strict=True):
        rows = [total, *(table.get(name, {}) for name in names)]
        cells = tuple(
            tuple(_cell(row.get(of)) for row in rows)
            for of in series
            if of == series[0] or total[of] is not None
        )
        n = _n(total[series[0]])
        found.append(RatesPanel(judge, (n, n), cells))
    return tuple(found)


def _most(panels: Sequence[RatesPanel]) -> int:
    return max(len(panel.series) for panel in panels)


def _n(rate: Mapping[str, Any] | None) -> int:
    return int(rate["n"]) if rate else 0


def _cell(rate: Mapping[str, Any] | None) -> Cell:
    if rate is None:
        return _NOTHING
    return Cell(rate["n"], rate["k"], rate["rate"], rate["low"], rate["high"], None)
