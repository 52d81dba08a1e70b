"""A stress test of a judge, as a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judge.run_files.entries import RecognisedEntries, recognised_text
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
_SEVERAL = {
    "put_in": "errors put in",
    "counted": "errors found",
    "all_counted": "as many as put in",
    "right_category": "errors with a right category",
}
_MOST_CHANGED = 20
"""Readings that a hostile text changed which are printed; CSV and JSON have all."""
_LOST = {"lost": "not read"}
_EFFECTS = ("fewer", "more", "other", "unreadable")
_NOT_MADE = (
    Column("change"),
    Column("why", "why not made"),
    Column("made", kind=Kind.COUNT),
    Column("not_made", "not made", kind=Kind.COUNT),
)
Report = Mapping[str, Any]
Rows = Sequence[tuple[str, Mapping[str, Any]]]


def stress_document(report: Report, *, complete: bool = False) -> Document:
    """Return what is printed of a stress test; `complete` has every reading that was changed."""
    judge = report["judge"]
    candidates = report["candidates"]
    runs = report["runs"]
    hostile = [row["changed"] for row in report["hostile_all"]]
    n_changed = sum(rate["k"] for rate in hostile)
    n_hostile = sum(rate["n"] for rate in hostile)
    lost = [f"{n:,} {why}" for why, n in runs[0]["lost"].items() if n]
    studies = counted(candidates["n_studies"], "study", "studies")
    changed = NOTHING
    if n_hostile:
        changed = f"{n_changed:,} of {n_hostile:,}"
    figures_of = NOTHING
    if len(runs) > 1:
        figures_of = f"{runs[0]['path']}, of {len(runs)} repeats"
    facts = [
        ("errors found", _text(report["detection_all"]["found"])),
        ("false alarms", _text(report["false_alarms_all"]["any"])),
        ("changed by hostile texts", changed),
        ("judge", named_judge(judge["name"], judge["note"])),
        ("statements recognised", _recognised(report) or NOTHING),
        ("rubric", report["rubric"]),
        ("prompt", report["prompt"] or NOTHING),
        ("candidates", f"{candidates['n_candidates']:,} of {studies}"),
        ("intervals", _intervals(candidates)),
        ("not read", ", ".join(lost) or NOTHING),
        ("figures of", figures_of),
    ]
    return Document(
        f"Stress test of {judge['name']}",
        tuple(fact for fact in facts if fact[1] != NOTHING),
        tables=tuple(table for table in _tables(report, complete) if table.rows),
        signatures=(("signature", report["signature"]),),
    )


def _intervals(candidates: Report) -> str:
    n_units = candidates["n_units"]
    if n_units == candidates["n_studies"]:
        return "by study"
    return f"by {n_units:,} groups of studies of one patient, or with equal references"


def _tables(report: Report, complete: bool) -> list[Table]:  # noqa: FBT001
    whole = report["detection_all"]
    alarms = report["false_alarms_all"]
    score = report["score"]
    level = report["level"]
    detection = {}
    for name in _DETECTION:
        if whole[name] is not None:
            detection[name] = name.replace("_", " ")
    # Where nothing was put in there is no table, and so no column for what was not read.
    if detection:
        detection |= _LOST
    level_label = "errors"
    alarm_labels = {}
    if level:
        level_label = level["label"]
        alarm_labels["significant"] = level_label
    if alarms["any"]:
        alarm_labels["any"] = "any error"
    if score:
        alarm_labels["score_change"] = f"change of {score['label']}"
    found = list(_by(report["detection"], "class"))
    if found:
        found.append(("all", whole))
    unchanged = list(_by(report["false_alarms"], "change"))
    if alarms["made"]:
        unchanged.append(("all but identical", alarms))
    of_several = report["several_all"]
    several = {
        name: label for name, label in _SEVERAL.items() if of_several[name] is not None
    }
    if several:
        several |= _LOST
    hostile_labels = {"changed": "changed a reading"}
    hostile_labels |= {name: name for name in _EFFECTS}
    return [
        _table(
            "detection",
            "One error that was put in",
            "one error",
            rows=found,
            labels=detection,
        ),
        _table(
            "several",
            "Several errors that were put in",
            "candidates",
            rows=_several(report),
            labels=several,
        ),
        _table(
            "false_alarms",
            "Reports without an error of a finding",
            "nothing changed but",
            rows=unchanged,
            labels=alarm_labels | _LOST,
        ),
        _stability(report["stability"], level_label),
        _table(
            "hostile",
            "Hostile texts",
            "the text",
            rows=_by(report["hostile_all"], "change"),
            labels=hostile_labels,
        ),
        _changed(report, complete=complete),
        _not_made(report["not_made"] or ()),
    ]


def _several(report: Report) -> Rows:
    rows = list(_by(report["several"], "change"))
    if rows:
        rows.append(("all", report["several_all"]))
    return rows


def _changed(report: Report, *, complete: bool) -> Table:
    """Return the readings that a hostile text changed."""
    changed = report["hostile"]
    shown = changed if complete else changed[:_MOST_CHANGED]
    title = "Readings that a hostile text changed"
    if len(shown) < len(changed):
        title += (
            f": {len(shown)} of {len(changed):,}, all with --format csv --table changed"
        )
    head = [Column("study"), Column("text", "the text"), Column("effect")]
    counted = {"errors": "errors"}
    if report["level"]:
        counted["level"] = report["level"]["label"]
    if report["score"]:
        counted["score"] = report["score"]["label"]
    for name, label in counted.items():
        kind = Kind.NUMBER if name == "score" else Kind.COUNT
        head.append(Column(f"{name}_before", f"{label} without it", kind=kind))
        head.append(Column(f"{name}_after", "with it", kind=kind))
    rows = []
    for row in shown:
        cells: list[Cell] = [row["study"], row["change"].replace("_", " ")]
        cells.append(row["effect"])
        for name in counted:
            cells += [row["before"][name], row["after"][name]]
        rows.append(tuple(cells))
    return Table("changed", title, head, rows)


def _not_made(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the changes that could not be made of some references, with the reasons."""
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        if row["not_made"]:
            name = row["change"].replace("_", " ")
            why = _reasons(row["reasons"])
            cells.append((name, why, row["made"], row["not_made"]))
    return Table("not_made", "Changes that could not be made", _NOT_MADE, cells)


def _reasons(reasons: Mapping[str, int]) -> str:
    return "; ".join(f"{reason} ({n:,})" for reason, n in reasons.items())


def _table(
    name: str, title: str, head: str, *, rows: Rows, labels: Mapping[str, str]
) -> Table:
    """Return a row for each of `rows`, with its name and the columns that have a label."""
    shown = [Column("name", head)]
    for key, label in labels.items():
        kind = Kind.NUMBER
        column = [_cell(row[key]) for _, row in rows]
        if all(isinstance(cell, int) for cell in column):
            kind = Kind.COUNT
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
    kind = Kind.NUMBER
    if "rate" in value:
        kind = Kind.RATE
    return ShownEstimate(Estimate.read(value), kind)


def _text(value: Mapping[str, Any] | None) -> str:
    return cell_text(_cell(value), Column("value", kind=Kind.NUMBER))


def _by(rows: Iterable[Mapping[str, Any]], key: str) -> Rows:
    return [(row[key].replace("_", " "), row) for row in rows]


def _stability(repeats: Mapping[str, Any] | None, level: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    if repeats:
        n_read = f"{repeats['n']:,} ({repeats['lost']:,} not)"
        rows = [
            ("candidates read each time", n_read),
            (f'flip between "no {level}" and some', _cell(repeats["flips"])),
            ("SD of the score within a candidate", repeats["score_sd"]),
        ]
    head = [Column("figure"), Column("value", kind=Kind.NUMBER)]
    return Table("stability", "Asked again", head, rows)


def candidates_document(counts: Mapping[str, Counter[str]]) -> Document:
    """Return how many candidates each change made, and why others were not."""
    rows = []
    for name, reasons in counts.items():
        why_not = {why: k for why, k in reasons.most_common() if why != MADE}
        n_not_made = sum(why_not.values())
        rows.append((name, _reasons(why_not), reasons[MADE], n_not_made))
    return Document(tables=[Table("candidates", "Candidates", _NOT_MADE, rows)])


def _recognised(report: Mapping[str, Any]) -> str:
    if report["recognised"] is None:
        return ""
    return recognised_text(RecognisedEntries.model_validate(report["recognised"]))
