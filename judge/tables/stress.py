"""What a judge made of known errors, as it is printed: tables, and what machines take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judge import text
from judge.tables.document import markdown_table, rows_as_csv
from judge.tables.latex import one_line
from judge.tables.run import Table
from judge.text import NOTHING, counted, number

_ESTIMATE = ("k", "n", "value", "low", "high")
_COUNTS = ("made", "unparsed", "failed", "undefined")
_DETECTION = {
    "found": "found",
    "right_category": "right category",
    "right_significance": "right significance",
}
_LOST = {"lost": "not read"}
_EFFECTS = ("fewer", "more", "other", "unreadable")
Rows = list[tuple[str, Mapping[str, Any]]]


def facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what is said above the tables, a name and a value each."""
    judge, candidates, runs = report["judge"], report["candidates"], report["runs"]
    hostile = [row["changed"] for row in report["hostile_all"]]
    n_changed, n_hostile = (sum(rate[name] for rate in hostile) for name in ("k", "n"))
    lost = [f"{n:,} {why}" for why, n in runs[0]["lost"].items() if n]
    studies = counted(candidates["n_studies"], "study", "studies")
    lines = [
        ("errors found", _cell(report["detection_all"]["found"])),
        ("false alarms", _cell(report["false_alarms_all"]["any"])),
        ("changed by hostile texts", f"{n_changed:,} of {n_hostile:,}" if n_hostile else NOTHING),
        ("judge", f"{judge['name']} ({judge['note']})" if judge["note"] else judge["name"]),
        ("rubric", report["rubric"]),
        ("prompt", report["prompt"] or NOTHING),
        ("candidates", f"{candidates['n_candidates']:,} of {studies}"),
        ("not read", ", ".join(lost) or NOTHING),
        ("figures of", f"{runs[0]['path']}, of {len(runs)} repeats" if runs[1:] else NOTHING),
    ]
    return [(name, value) for name, value in lines if value != NOTHING]


def tables(report: Mapping[str, Any]) -> list[Table]:
    """Return the tables that have rows."""
    builders = (_detection, _matrix, _alarms, _by_k, _wrong_way, _stability, _hostile)
    return [table for build in builders if (table := build(report)).rows]


def _table(
    title: str,
    head: str,
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    columns: Mapping[str, str],
) -> Table:
    """Return a row for each of `rows`, with its name and the columns that have a label."""
    cells = tuple((name, *(_cell(row[key]) for key in columns)) for name, row in rows)
    return Table(title, (head, *columns.values()), cells if columns else ())


def _cell(value: Mapping[str, Any] | int | None) -> str:
    """Return a count, a rate as `153/177 86.4% [80.6, 90.7]` or a mean with its interval."""
    if value is None:
        return NOTHING
    if not isinstance(value, Mapping):
        return f"{value:,}"
    if "low" not in value:
        return f"{sum(value.values()):,}"  # candidates that were not read, by why
    estimate = {**value, "value": _value(value)}
    return text.rate(estimate) if "rate" in value else text.estimate(estimate)


def _value(estimate: Mapping[str, Any]) -> float | None:
    value: float | None = next(
        estimate[key] for key in ("rate", "mean", "value") if key in estimate
    )
    return value


def _by_change(rows: Iterable[Mapping[str, Any]], key: str = "change") -> Rows:
    return [(row[key].replace("_", " "), row) for row in rows]


def _detection(report: Mapping[str, Any]) -> Table:
    every = report["detection_all"]
    columns = {name: label for name, label in _DETECTION.items() if every[name] is not None}
    rows = _by_change(report["detection"], "class")
    rows += [("all", every)] if rows else []
    return _table("One error that was put in", "one error", rows, columns and columns | _LOST)


def _matrix(report: Mapping[str, Any]) -> Table:
    names = {category["name"]: category["name"] for category in report["categories"]}
    labels = ", ".join(category["label"] for category in report["categories"])
    rows = [(name, row | row["categories"]) for name, row in _by_change(report["matrix"], "class")]
    title = f"What it was taken for: candidates with an error of {labels}"
    return _table(title, "one error", rows, {"n": "read", **names, "none": "none"})


def _alarms(report: Mapping[str, Any]) -> Table:
    score, level, every = report["score"], report["level"], report["false_alarms_all"]
    columns = {
        **({"significant": level["label"]} if level else {}),
        **({"any": "any error"} if every["any"] else {}),
        **({"score_change": f"change of {score['label']}"} if score else {}),
        **_LOST,
    }
    rows = _by_change(report["false_alarms"])
    rows += [("all but identical", every)] if every["made"] else []
    return _table("Reports without an error of a finding", "nothing changed but", rows, columns)


def _by_k(report: Mapping[str, Any]) -> Table:
    score = {"score": report["score"]["label"]} if report["score"] else {}
    rows = [(str(row["k"]), row) for row in report["monotone"]["by_k"]]
    title = "By the number of errors put in: fewer studies bear more"
    return _table(title, "put in", rows, {"n": "read", "count": "errors found", **score})


def _wrong_way(report: Mapping[str, Any]) -> Table:
    labels = {"count": "fewer errors found", "score": "a better score"}
    rates = report["monotone"]["wrong_way"]
    rows = [(labels[name], {"rate": rates[name]}) for name in labels if rates[name]]
    title = "Studies that move the wrong way with one more error"
    return _table(title, "wrong way", rows, {"rate": "studies"})


def _stability(report: Mapping[str, Any]) -> Table:
    repeats = report["stability"] or {}
    level = report["level"]["label"] if report["level"] else "errors"
    rows = repeats and (
        ("candidates read each time", f"{repeats['n']:,} ({repeats['lost']:,} not)"),
        (f'flip between "no {level}" and some', _cell(repeats["flips"])),
        ("SD of the score within a candidate", number(repeats["score_sd"])),
        ("ICC(1,1) of the number of errors", _cell(repeats["icc"])),
    )
    return Table("Asked again", ("figure", "value"), tuple(rows))


def _hostile(report: Mapping[str, Any]) -> Table:
    columns = {"changed": "changed a reading"} | {name: name for name in _EFFECTS}
    return _table("Hostile texts", "the text", _by_change(report["hostile_all"]), columns)


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
