"""A stress test of a judge, as a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judge.tables.document import Cell, Column, Document, Estimate, Fact, Kind, Table, cell_text
from judge.text import NOTHING, counted

_DETECTION: dict[str, str] = {
    "found": "found",
    "right_category": "right category",
    "right_significance": "right significance",
}
_LOST = {"lost": "not read"}
_EFFECTS = ("fewer", "more", "other", "unreadable")
Report = Mapping[str, Any]
Rows = list[tuple[str, Mapping[str, Any]]]


def stress_document(report: Report) -> Document:
    """Return what is printed of a stress test."""
    title = f"Stress test of {report['judge']['name']}"
    signatures = (("signature", report["signature"]),)
    return Document(title, tuple(facts(report)), (), tuple(tables(report)), signatures=signatures)


def facts(report: Report) -> list[Fact]:
    """Return the facts above the tables."""
    judge, candidates, runs = report["judge"], report["candidates"], report["runs"]
    hostile = [row["changed"] for row in report["hostile_all"]]
    n_changed, n_hostile = (sum(rate[name] for rate in hostile) for name in ("k", "n"))
    lost = [f"{n:,} {why}" for why, n in runs[0]["lost"].items() if n]
    studies = counted(candidates["n_studies"], "study", "studies")
    lines = [
        ("errors found", _text(report["detection_all"]["found"])),
        ("false alarms", _text(report["false_alarms_all"]["any"])),
        ("changed by hostile texts", f"{n_changed:,} of {n_hostile:,}" if n_hostile else NOTHING),
        ("judge", f"{judge['name']} ({judge['note']})" if judge["note"] else judge["name"]),
        ("rubric", report["rubric"]),
        ("prompt", report["prompt"] or NOTHING),
        ("candidates", f"{candidates['n_candidates']:,} of {studies}"),
        ("not read", ", ".join(lost) or NOTHING),
        ("figures of", f"{runs[0]['path']}, of {len(runs)} repeats" if runs[1:] else NOTHING),
    ]
    return [(name, value) for name, value in lines if value != NOTHING]


def tables(report: Report) -> list[Table]:
    """Return the tables that have rows."""
    builders = (_detection, _alarms, _by_k, _wrong_way, _stability, _hostile)
    return [table for build in builders if (table := build(report)).rows]


def _table(
    name: str,
    title: str,
    head: str,
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    labels: Mapping[str, str],
) -> Table:
    """Return a row for each of `rows`, with its name and the columns that have a label."""
    columns = [Column("name", head)]
    for key, label in labels.items():
        is_count = all(isinstance(_cell(row[key]), int) for _, row in rows)
        columns.append(Column(key, label, "count" if is_count else "number"))
    cells = tuple((text, *(_cell(row[key]) for key in labels)) for text, row in rows)
    return Table(name, title, tuple(columns), cells if labels else ())


def _cell(value: Mapping[str, Any] | int | None) -> Cell:
    """Return a count, or a rate or a mean with its interval."""
    if not isinstance(value, Mapping):
        return value
    if "low" not in value:
        return int(sum(value.values()))  # candidates that were not read, by reason
    kind: Kind = "rate" if "rate" in value else "number"
    return Estimate.read(value, kind)


def _text(value: Mapping[str, Any] | None) -> str:
    return cell_text(_cell(value), Column("", "", "number"))


def _by_change(rows: Iterable[Mapping[str, Any]], key: str = "change") -> Rows:
    return [(row[key].replace("_", " "), row) for row in rows]


def _detection(report: Report) -> Table:
    whole = report["detection_all"]
    labels = {name: label for name, label in _DETECTION.items() if whole[name] is not None}
    rows = _by_change(report["detection"], "class")
    rows += [("all", whole)] if rows else []
    title = "One error that was put in"
    return _table("detection", title, "one error", rows, labels and labels | _LOST)


def _alarms(report: Report) -> Table:
    score, level, whole = report["score"], report["level"], report["false_alarms_all"]
    labels = {
        **({"significant": level["label"]} if level else {}),
        **({"any": "any error"} if whole["any"] else {}),
        **({"score_change": f"change of {score['label']}"} if score else {}),
        **_LOST,
    }
    rows = _by_change(report["false_alarms"])
    rows += [("all but identical", whole)] if whole["made"] else []
    title = "Reports without an error of a finding"
    return _table("false_alarms", title, "nothing changed but", rows, labels)


def _by_k(report: Report) -> Table:
    score = {"score": report["score"]["label"]} if report["score"] else {}
    rows = [(str(row["k"]), row) for row in report["monotone"]["by_k"]]
    title = "By the number of errors put in: fewer studies bear more"
    return _table(
        "monotone", title, "put in", rows, {"n": "read", "count": "errors found", **score}
    )


def _wrong_way(report: Report) -> Table:
    labels = {"count": "fewer errors found", "score": "a better score"}
    rates = report["monotone"]["wrong_way"]
    rows = [(labels[name], {"rate": rates[name]}) for name in labels if rates[name]]
    title = "Studies that move the wrong way with one more error"
    return _table("wrong_way", title, "wrong way", rows, {"rate": "studies"})


def _stability(report: Report) -> Table:
    repeats = report["stability"] or {}
    level = report["level"]["label"] if report["level"] else "errors"
    rows: tuple[tuple[Cell, ...], ...] = ()
    if repeats:
        rows = (
            ("candidates read each time", f"{repeats['n']:,} ({repeats['lost']:,} not)"),
            (f'flip between "no {level}" and some', _cell(repeats["flips"])),
            ("SD of the score within a candidate", repeats["score_sd"]),
        )
    columns = (Column("figure", "figure"), Column("value", "value", "number"))
    return Table("stability", "Asked again", columns, rows)


def _hostile(report: Report) -> Table:
    labels = {"changed": "changed a reading"} | {name: name for name in _EFFECTS}
    rows = _by_change(report["hostile_all"])
    return _table("hostile", "Hostile texts", "the text", rows, labels)
