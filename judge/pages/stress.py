"""What the page of a stress test holds: the report, each pair and its outcome."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from typing import Any

import pandas as pd

from judge.pages import FRONTEND
from judge.pages.comparison import PageFigure, figure_pieces, record_view
from judge.pages.frontend import as_json
from judge.pages.run import counts, declared
from judge.rubrics import Rubric
from judge.rubrics.categories import CATEGORY
from judge.stress.report import StressReport
from judge.study.marks import segments
from judge.tables.stress import facts, tables

MARK = "<!doctype html><!-- judge stress -->"
"""How such a file begins, so that it is known again."""
_PACKET = 40
"""Pairs a packet, about those of one study: they share most of their text, and compress well."""

# What may have come of a pair, in the order in which one can choose them.
CAME = {
    "missed": "missed",
    "found": "found",
    "other_category": "found, in no right category",
    "other_significance": "found, not of the right significance",
    "false_alarm": "false alarm",
    "grave_alarm": "false alarm, {level}",
    "quiet": "correctly quiet",
    "changed": "changed reading",
    "same": "same reading",
    "not_read": "not read",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A candidate: its record in the run, and how many errors the judge found.

    `came` has the names of `CAME` that hold of it; `n_errors` is None where it was not read.
    """

    record: Mapping[str, Any]
    n_errors: int | None
    came: frozenset[str]

    @property
    def fields(self) -> Mapping[str, Any]:
        """What was changed: the fields that `judge stress make` gave the candidate."""
        fields: Mapping[str, Any] = self.record["fields"]
        return fields


def pairs(report: StressReport) -> Iterator[Pair]:
    """Yield the candidates that the report's figures are of, in the order of the run."""
    reading = report.first
    holds = _came(report)
    for row, record in enumerate(reading.run.records()):
        n = reading.table["errors"][row] if reading.table["lost"][row] == "" else math.nan
        came = frozenset(name for name, rows in holds.items() if rows[row])
        yield Pair(record, None if math.isnan(n) else int(n), came)


def _came(report: StressReport) -> dict[str, pd.Series]:
    """Return of which candidates each of `CAME` holds, as the figures count it."""
    scale, table = report.first.scale, report.first.table
    read, group = table["lost"] == "", table["group"]
    single, plain = (group == "error") & read, (group == "unchanged") & read
    changed = table["study_id"].isin([row["id"] for row in report.data["hostile"]])
    has, known, level = table["errors"] > 0, read & bool(scale.errors), table["level"] > 0
    right = table["is_right"] if scale.is_shared else has
    graded = table["is_graded"] if scale.is_shared and scale.level else right
    sure = table["significance"] != "doubtful"
    return {
        "missed": single & known & ~has,
        "found": single & has,
        "other_category": single & has & ~right,
        "other_significance": single & right & ~graded & sure,
        "false_alarm": plain & has,
        "grave_alarm": plain & level,
        "quiet": plain & known & ~has,
        "changed": changed,
        "same": (group == "hostile") & read & ~changed,
        "not_read": ~read,
    }


@dataclass
class Columns:
    """The list of pairs: a value a pair, and the names that numbers stand for."""

    ids: list[str] = field(default_factory=list)
    studies: dict[str, int] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    study: list[int] = field(default_factory=list)
    change: list[int] = field(default_factory=list)
    came: list[list[int]] = field(default_factory=list)
    k: list[int] = field(default_factory=list)
    n_errors: list[int | None] = field(default_factory=list)

    def add(self, pair: Pair) -> None:
        """Take a pair in."""
        fields = pair.fields
        self.ids.append(pair.record["study_id"])
        self.study.append(self.studies.setdefault(fields["study"], len(self.studies)))
        self.change.append(self.changes.setdefault(fields["change"], len(self.changes)))
        self.groups[fields["change"]] = fields["group"]
        self.came.append([at for at, name in enumerate(CAME) if name in pair.came])
        self.k.append(int(fields["k"]))
        self.n_errors.append(pair.n_errors)

    def plain(self) -> dict[str, Any]:
        """Return them as JSON's types."""
        return {
            **{name: getattr(self, name) for name in ("ids", "study", "change", "came", "k")},
            "n_errors": self.n_errors,
            "studies": list(self.studies),
            "changes": [{"name": name, "group": self.groups[name]} for name in self.changes],
            "packet": _PACKET,
        }


def page(
    report: Mapping[str, Any],
    rubric: Rubric,
    pairs: Iterable[Pair],
    figures: Sequence[PageFigure] | None = None,
) -> Iterator[str]:
    """Yield the file piece by piece; `pairs` are read once, a packet at a time.

    `report` is as `judge stress report --format json` has it. `figures` are None where they cannot
    be drawn here. The same input gives the same text.
    """
    title = f"Stress test of {report['judge']['name']} ({rubric.title})"
    return FRONTEND.file(MARK, "stress", title, _pieces(report, rubric, pairs, figures))


def _pieces(
    report: Mapping[str, Any],
    rubric: Rubric,
    pairs: Iterable[Pair],
    figures: Sequence[PageFigure] | None,
) -> Iterator[tuple[str, bytes]]:
    columns = Columns()
    for number, packet in enumerate(packets(report, rubric, pairs, columns)):
        yield f"packet-{number}", as_json(packet)
    yield "columns", as_json(columns.plain())
    n = None if figures is None else len(figures)
    yield "overview", as_json({**overview(report, rubric), "n_figures": n})
    yield from figure_pieces(figures or ())


def overview(report: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Return all but the pairs, as JSON's types."""
    level = (report["level"] or {"label": ""})["label"]
    return {
        "format": 1,
        "notes": [report["judge"]["note"]] if report["judge"]["note"] else [],
        "facts": [{"name": name, "value": value} for name, value in facts(report)],
        "tables": [table.plain() for table in tables(report)],
        "rubric": {"title": rubric.title, **declared(rubric), "counts": counts(rubric)},
        "came": [label.format(level=level) for label in CAME.values()],
        "signature": report["signature"],
    }


def packets(
    report: Mapping[str, Any], rubric: Rubric, pairs: Iterable[Pair], columns: Columns
) -> Iterator[list[dict[str, Any]]]:
    """Yield the pairs a packet at a time, and add each to the `columns`."""
    effects = {one["id"]: one["effect"] for one in report["hostile"]}
    does = {
        one.get("change") or one["class"]: one["does"]
        for key in ("detection", "false_alarms", "hostile_all")
        for one in report[key]
    }
    packet = []
    for pair in pairs:
        columns.add(pair)
        effect = effects.get(pair.record["study_id"])
        said = does.get(pair.fields["change"])
        packet.append({**view(pair, rubric), "effect": effect, "does": said})
        if len(packet) == _PACKET:
            yield packet
            packet = []
    if packet:
        yield packet


def view(pair: Pair, rubric: Rubric) -> dict[str, Any]:
    """Return what the page shows of a pair: what was put in, and what the judge wrote.

    Where most of the text was written anew no word is marked.
    """
    record, fields = pair.record, pair.fields
    texts: list[list[str]] = [
        re.findall(r"\s+|\w+|.", record[side]) for side in ("reference", "candidate")
    ]
    matcher = SequenceMatcher(None, texts[0], texts[1], autojunk=False)
    edits = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    whole = matcher.ratio() < _LEAST_SHARED
    words = [("".join(texts[0][a:b]), "".join(texts[1][c:d])) for _, a, b, c, d in edits]
    answer, truth = record["answer"], fields.get("truth")
    return {
        "group": fields["group"],
        "change": fields["change"],
        "expected": _expected(fields),
        "base": fields.get("base"),
        "put_in": [
            {
                "categories": [CATEGORY.text(name) for name in truth.split(",")],
                "significance": fields.get("significance"),
            }
        ]
        if truth
        else [],
        "words": [] if whole else words,
        "whole": whole,
        "marked": {
            side: [
                asdict(one)
                for one in segments(record[side], [] if whole else _places(texts[at], edits, at))
            ]
            for at, side in enumerate(("reference", "candidate"))
        },
        "record": record_view(record, rubric),
        # What could not be read is shown as it was written.
        "answer": answer["text"] if answer and record["annotation"] is None else None,
    }


_LEAST_SHARED = 0.3


def _places(
    words: Sequence[str], edits: Iterable[tuple[str, int, int, int, int]], side: int
) -> list[tuple[tuple[int, int], int]]:
    """Return the characters of one text that each edit changes, with the edit's number."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    edited = [edit[3:] if side else edit[1:3] for edit in edits]
    spans = [(ends[start], ends[end]) for start, end in edited]
    return [(span, number) for number, span in enumerate(spans) if span[0] < span[1]]


def _expected(fields: Mapping[str, Any]) -> str:
    if fields["group"] == "hostile":
        return "the same reading as without the text"
    k = int(fields["k"])
    return "no error" if not k else f"{k} error{'' if k == 1 else 's'}"
