"""A stress test of a judge, as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judge.manifest import RecognisedEntries, recognised_text
from judge.stats.estimate import Estimate
from judge.stress.candidates import MADE
from judge.tables.document import (
    Cell,
    Column,
    Document,
    ShownEstimate,
    Table,
    cell_text,
)
from judge.tables.kinds import Kind
from judge.tables.run import named_judge
from judge.text import NOTHING, counted

_DETECTION = ("found", "right_category", "right_significance")
_LOST = {"lost": "not read"}
_EFFECTS = ("fewer", "more", "other", "unreadable")
Report = Mapping[str, Any]
Rows = Sequence[tuple[str, Mapping[str, Any]]]


def stress_document(report: Report) -> Document:
    """Return what is printed of a stress test."""
    judge, candidates, runs = report["judge"], report["candidates"], report["runs"]
    hostile = [row["changed"] for row in report["hostile_all"]]
    n_changed = sum(rate["k"] for rate in hostile)
    n_hostile = sum(rate["n"] for rate in hostile)
    lost = [f"{n:,} {why}" for why, n in runs[0]["lost"].items() if n]
    studies = counted(candidates["n_studies"], "study", "studies")
    facts = [
        ("errors found", _text(report["detection_all"]["found"])),
        ("false alarms", _text(report["false_alarms_all"]["any"])),
        (
            "changed by hostile texts",
            f"{n_changed:,} of {n_hostile:,}" if n_hostile else NOTHING,
        ),
        ("judge", named_judge(judge["name"], judge["note"])),
        ("statements recognised", _recognised(report) or NOTHING),
        ("rubric", report["rubric"]),
        ("prompt", report["prompt"] or NOTHING),
        ("candidates", f"{candidates['n_candidates']:,} of {studies}"),
        ("intervals", _intervals(candidates)),
        ("not read", ", ".join(lost) or NOTHING),
        (
            "figures of",
            f"{runs[0]['path']}, of {len(runs)} repeats" if runs[1:] else NOTHING,
        ),
    ]
    return Document(
        f"Stress test of {judge['name']}",
        tuple(fact for fact in facts if fact[1] != NOTHING),
        tables=tuple(table for table in _tables(report) if table.rows),
        signatures=(("signature", report["signature"]),),
    )


def _intervals(candidates: Report) -> str:
    n_units = candidates["n_units"]
    if n_units == candidates["n_studies"]:
        return "by study"
    return f"by {n_units:,} groups of studies of one patient, or with equal references"


def _tables(report: Report) -> list[Table]:
    whole, alarms = report["detection_all"], report["false_alarms_all"]
    score, level = report["score"], report["level"]
    detection = {n: n.replace("_", " ") for n in _DETECTION if whole[n] is not None}
    of_classes, all_but = (
        _by(report["detection"], "class"),
        ("all but identical", alarms),
    )
    alarm_labels = {}
    if level:
        alarm_labels["significant"] = level["label"]
    if alarms["any"]:
        alarm_labels["any"] = "any error"
    if score:
        alarm_labels["score_change"] = f"change of {score['label']}"
    found, unchanged = [*of_classes], _by(report["false_alarms"], "change")
    if of_classes:
        found.append(("all", whole))
    if alarms["made"]:
        unchanged = [*unchanged, all_but]
    return [
        _table(
            "detection",
            "One error that was put in",
            "one error",
            rows=found,
            labels=detection and detection | _LOST,
        ),
        _table(
            "false_alarms",
            "Reports without an error of a finding",
            "nothing changed but",
            rows=unchanged,
            labels=alarm_labels | _LOST,
        ),
        _stability(report["stability"], level["label"] if level else "errors"),
        _table(
            "hostile",
            "Hostile texts",
            "the text",
            rows=_by(report["hostile_all"], "change"),
            labels={"changed": "changed a reading"} | {name: name for name in _EFFECTS},
        ),
    ]


def _table(
    name: str, title: str, head: str, *, rows: Rows, labels: Mapping[str, str]
) -> Table:
    """Return a row for each of `rows`, with its name and the columns that have a label."""
    shown = [Column("name", head)]
    for key, label in labels.items():
        is_count = all(isinstance(_cell(row[key]), int) for _, row in rows)
        kind = Kind.COUNT if is_count else Kind.NUMBER
        shown.append(Column(key, label, kind=kind))
    if not labels:
        return Table(name, title, shown, ())
    cells: list[tuple[Cell, ...]] = []
    for text, row in rows:
        figures = [_cell(row[key]) for key in labels]
        cells.append((text, *figures))
    return Table(name, title, shown, cells)


def _cell(value: Mapping[str, Any] | int | None) -> Cell:
    """Return a count, or a rate or a mean with its interval."""
    if not isinstance(value, Mapping):
        return value
    if "low" not in value:
        return int(sum(value.values()))  # candidates that were not read, by reason
    kind = Kind.RATE if "rate" in value else Kind.NUMBER
    return ShownEstimate(Estimate.read(value), kind)


def _text(value: Mapping[str, Any] | None) -> str:
    return cell_text(_cell(value), Column("value", kind=Kind.NUMBER))


def _by(rows: Iterable[Mapping[str, Any]], key: str) -> Rows:
    return [(row[key].replace("_", " "), row) for row in rows]


def _stability(repeats: Mapping[str, Any] | None, level: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    if repeats:
        rows = [
            (
                "candidates read each time",
                f"{repeats['n']:,} ({repeats['lost']:,} not)",
            ),
            (f'flip between "no {level}" and some', _cell(repeats["flips"])),
            ("SD of the score within a candidate", repeats["score_sd"]),
        ]
    head = [Column("figure"), Column("value", kind=Kind.NUMBER)]
    return Table("stability", "Asked again", head, rows)


def candidates_document(counts: Mapping[str, Counter[str]]) -> Document:
    """Return how many candidates each change made, and why others were not."""
    rows = []
    for name, reasons in counts.items():
        others = [(reason, k) for reason, k in reasons.most_common() if reason != MADE]
        why = "; ".join(f"{reason} ({k:,})" for reason, k in others)
        rows.append((name, why, reasons[MADE], sum(k for _, k in others)))
    head = [
        Column("change"),
        Column("why", "why not made"),
        Column("made", kind=Kind.COUNT),
        Column("not_made", "not made", kind=Kind.COUNT),
    ]
    return Document(tables=[Table("candidates", "Candidates", head, rows)])


def _recognised(report: Mapping[str, Any]) -> str:
    if report["recognised"] is None:
        return ""
    return recognised_text(RecognisedEntries.model_validate(report["recognised"]))
