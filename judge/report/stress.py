"""What a judge made of known errors, as it is printed: tables, and what machines take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from judge.report import words
from judge.report.formats import markdown_table, rows_as_csv
from judge.report.latex import one_line
from judge.report.tables import Table
from judge.report.words import NOTHING, counted, number

_ESTIMATE = ("k", "n", "value", "low", "high")
_COUNTS = ("made", "unparsed", "failed", "undefined")
_DETECTION = {
    "found": "found",
    "right_category": "right category",
    "right_significance": "right significance",
}
_EFFECTS = ("fewer", "more", "other", "unreadable")


def facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what is said above the tables, a name and a value each."""
    judge, candidates, runs = report["judge"], report["candidates"], report["runs"]
    hostile = [row["changed"] for row in report["hostile_all"]]
    n_changed, n_hostile = (sum(rate[name] for rate in hostile) for name in ("k", "n"))
    lost = [f"{n:,} {why}" for why, n in runs[0]["lost"].items() if n]
    studies = counted(candidates["n_studies"], "study", "studies")
    lines = [
        ("errors found", _figure(report["detection_all"]["found"])),
        ("false alarms", _figure(report["false_alarms_all"]["any"])),
        ("changed by hostile texts", f"{n_changed:,} of {n_hostile:,}" if n_hostile else NOTHING),
        ("judge", f"{judge['name']} ({judge['note']})" if judge["note"] else judge["name"]),
        ("rubric", report["rubric"]),
        ("prompt", report["prompt"] or NOTHING),
        ("candidates", f"{candidates['n_candidates']:,} of {studies}"),
        (
            "not read",
            ", ".join(lost) or NOTHING,
        ),
        ("figures of", f"{runs[0]['path']}, of {len(runs)} repeats" if runs[1:] else NOTHING),
    ]
    return [(name, value) for name, value in lines if value != NOTHING]


def tables(report: Mapping[str, Any]) -> list[Table]:
    """Return the tables that have rows."""
    builders = (_detection, _matrix, _alarms, _by_k, _wrong_way, _stability, _hostile)
    return [table for build in builders if (table := build(report)).rows]


def _figure(estimate: Mapping[str, Any] | None) -> str:
    """Return a rate as `153/177 86.4% [80.6, 90.7]`, a mean as `0.712 [0.690, 0.734]`."""
    if estimate is None:
        return NOTHING
    value = {**estimate, "value": _value(estimate)}
    return words.rate(value) if "rate" in estimate else words.estimate(value)


def _value(estimate: Mapping[str, Any]) -> float | None:
    value: float | None = next(
        estimate[key] for key in ("rate", "mean", "value") if key in estimate
    )
    return value


def _name(change: str) -> str:
    return change.replace("_", " ")


def _lost(row: Mapping[str, Any]) -> str:
    return f"{sum(row['lost'].values()):,}"


def _detection(report: Mapping[str, Any]) -> Table:
    every = report["detection_all"]
    names = {name: label for name, label in _DETECTION.items() if every[name] is not None}
    named = [(_name(row["class"]), row) for row in report["detection"]]
    rows = [
        (name, *(_figure(row[figure]) for figure in names), _lost(row))
        for name, row in (*named, ("all", every))
    ]
    head = ("one error", *names.values(), "not read")
    return Table("One error that was put in", head, tuple(rows) if named and names else ())


def _matrix(report: Mapping[str, Any]) -> Table:
    names = [category["name"] for category in report["categories"]]
    labels = ", ".join(category["label"] for category in report["categories"])
    rows = tuple(
        (
            _name(row["class"]),
            f"{row['n']:,}",
            *(f"{row['categories'][name]:,}" for name in names),
            f"{row['none']:,}",
        )
        for row in report["matrix"]
        if row["n"]
    )
    title = f"What it was taken for: candidates with an error of {labels}"
    return Table(title, ("one error", "read", *names, "none"), rows)


def _alarms(report: Mapping[str, Any]) -> Table:
    score, level, every = report["score"], report["level"], report["false_alarms_all"]
    heads = {
        **({"significant": level["label"]} if level else {}),
        **({"any": "any error"} if every["any"] else {}),
        **({"score_change": f"change of {score['label']}"} if score else {}),
    }
    named = [(_name(row["change"]), row) for row in report["false_alarms"]]
    if every["made"]:
        named.append(("all but identical", every))
    rows = tuple(
        (name, *(_figure(row[figure]) for figure in heads), _lost(row)) for name, row in named
    )
    head = ("nothing changed but", *heads.values(), "not read")
    return Table("Reports without an error of a finding", head, rows)


def _by_k(report: Mapping[str, Any]) -> Table:
    score = report["score"]
    heads = {"count": "errors found"} | ({"score": score["label"]} if score else {})
    rows = tuple(
        (str(row["k"]), f"{row['n']:,}", *(_figure(row[name]) for name in heads))
        for row in report["monotone"]["by_k"]
    )
    title = "By the number of errors put in: fewer studies bear more"
    return Table(title, ("put in", "read", *heads.values()), rows)


def _wrong_way(report: Mapping[str, Any]) -> Table:
    labels = {"count": "fewer errors found", "score": "a better score"}
    rates = report["monotone"]["wrong_way"]
    rows = tuple(
        (label, _figure(rates[name]))
        for name, label in labels.items()
        if rates[name] and rates[name]["n"]
    )
    title = "Studies that move the wrong way with one more error"
    return Table(title, ("wrong way", "studies"), rows)


def _stability(report: Mapping[str, Any]) -> Table:
    repeats = report["stability"] or {}
    level = report["level"]["label"] if report["level"] else "errors"
    rows = repeats and (
        ("candidates read each time", f"{repeats['n']:,} ({repeats['lost']:,} not)"),
        (f'flip between "no {level}" and some', _figure(repeats["flips"])),
        ("SD of the score within a candidate", number(repeats["score_sd"])),
        ("ICC(1,1) of the number of errors", _figure(repeats["icc"])),
    )
    return Table("Asked again", ("figure", "value"), tuple(rows))


def _hostile(report: Mapping[str, Any]) -> Table:
    rows = tuple(
        (_name(row["change"]), _figure(row["changed"]), *(f"{row[name]:,}" for name in _EFFECTS))
        for row in report["hostile_all"]
    )
    return Table("Hostile texts", ("the text", "changed a reading", *_EFFECTS), rows)


def as_markdown(report: Mapping[str, Any]) -> str:
    """Return the tables as Markdown, the signature last."""
    parts = [markdown_table(table) for table in tables(report)]
    return "\n\n".join([*parts, f"Signature: `{one_line(report['signature'])}`"])


def as_csv(report: Mapping[str, Any]) -> str:
    """Return one row a figure, unrounded: the key of the JSON that has it, of what, and which."""
    rows = [
        {
            "table": table,
            "name": name,
            "figure": figure,
            **{key: estimate.get(key) for key in _ESTIMATE},
            "value": _value(estimate),
            **{key: ({**row, **(row.get("lost") or {})}).get(key) for key in _COUNTS},
            "signature": report["signature"],
        }
        for table, name, row in _entries(report)
        for figure, estimate in row.items()
        if isinstance(estimate, Mapping) and {"low", "high"} <= estimate.keys()
    ]
    return rows_as_csv(rows, ("table", "name", "figure", *_ESTIMATE, *_COUNTS, "signature"))


def _entries(report: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for table, key in (("detection", "class"), ("false_alarms", "change")):
        yield from ((table, row[key], row) for row in report[table])
        yield table, "all", report[f"{table}_all"]
    for row in report["monotone"]["by_k"]:
        yield "monotone", str(row["k"]), row
    yield "wrong_way", "all", report["monotone"]["wrong_way"]
    yield from (("hostile", row["change"], row) for row in report["hostile_all"])
    if repeats := report["stability"]:
        yield "stability", "all", {key: repeats[key] for key in ("flips", "icc")}
