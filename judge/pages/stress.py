"""The page of a stress test: the report, and each pair of reports with its outcome."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

import pandas as pd

from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.comparison import PageFigure, figure_pieces
from judge.pages.run import declared
from judge.rubrics import Rubric
from judge.rubrics.categories import CATEGORY
from judge.stress.report import StressReport
from judge.study.marks import segments
from judge.study.view import judged_view
from judge.tables.stress import facts, tables

MARK = "<!doctype html><!-- judge stress -->"
"""How such a file begins, so that the program knows it again."""
_LEAST_SHARED = 0.3
"""Reports that share less of their text are shown without marked words."""

# The outcomes of a pair, in the order in which the page offers them.
OUTCOMES = {
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
    """A candidate of a stress test: its record, the errors found (None if unread), its outcomes.

    The record's `fields` say what was changed, as `judge stress` wrote them.
    """

    record: Mapping[str, Any]
    n_errors: int | None
    outcomes: frozenset[str]


def pairs(report: StressReport) -> Iterator[Pair]:
    """Yield the candidates that the report's figures count, in the order of the run."""
    reading, rows_of = report.first, _outcomes(report)
    for row, record in enumerate(reading.run.records()):
        n = reading.table["errors"][row] if reading.table["lost"][row] == "" else math.nan
        outcomes = frozenset(name for name, rows in rows_of.items() if rows[row])
        yield Pair(record, None if math.isnan(n) else int(n), outcomes)


def _outcomes(report: StressReport) -> dict[str, pd.Series]:
    """Return the candidates of each outcome, counted as the report's figures count them."""
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


def page(
    report: Mapping[str, Any],
    rubric: Rubric,
    pairs: Iterable[Pair],
    figures: Sequence[PageFigure] | None = None,
) -> Iterator[str]:
    """Yield the page as one file; `pairs` are read once, a packet at a time.

    `report` is as `judge stress report --format json` has it; `figures` are None where they
    cannot be drawn here.
    """
    title = f"Stress test of {report['judge']['name']} ({rubric.title})"
    return page_file(MARK, "stress", title, _pieces(report, rubric, pairs, figures))


def _pieces(
    report: Mapping[str, Any],
    rubric: Rubric,
    pairs: Iterable[Pair],
    figures: Sequence[PageFigure] | None,
) -> Iterator[tuple[str, bytes]]:
    effects = {row["id"]: row["effect"] for row in report["hostile"]}
    texts = {
        row.get("change") or row["class"]: row["does"]
        for key in ("detection", "false_alarms", "hostile_all")
        for row in report[key]
    }
    columns: dict[str, list[Any]] = {
        name: [] for name in ("ids", "study", "change", "group", "outcomes", "k", "n_errors")
    }
    rest, n = iter(pairs), 0
    while packet := list(islice(rest, PACKET)):
        views = []
        for pair in packet:
            fields, study_id = pair.record["fields"], pair.record["study_id"]
            columns["ids"].append(study_id)
            for name in ("study", "change", "group"):
                columns[name].append(fields[name])
            columns["outcomes"].append(
                [i for i, name in enumerate(OUTCOMES) if name in pair.outcomes]
            )
            columns["k"].append(int(fields["k"]))
            columns["n_errors"].append(pair.n_errors)
            more = {"effect": effects.get(study_id), "does": texts.get(fields["change"])}
            views.append({**view(pair, rubric), **more})
        yield f"packet-{n}", as_json(views)
        n += 1
    yield "columns", as_json({**columns, "packet": PACKET})
    yield "overview", as_json({**overview(report, rubric), "has_figures": figures != []})
    yield from figure_pieces(figures or ())


def overview(report: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Return all but the pairs, in JSON's types."""
    level = (report["level"] or {"label": ""})["label"]
    return {
        "notes": [report["judge"]["note"]] if report["judge"]["note"] else [],
        "facts": [{"name": name, "value": value} for name, value in facts(report)],
        "tables": [table.plain() for table in tables(report)],
        "rubric": declared(rubric),
        "outcomes": [label.format(level=level) for label in OUTCOMES.values()],
        "signature": report["signature"],
    }


def view(pair: Pair, rubric: Rubric) -> dict[str, Any]:
    """Return what the page shows of a pair: the injected change, and the judge's record."""
    record, fields = pair.record, pair.record["fields"]
    sides = ("reference", "candidate")
    words = [re.findall(r"\s+|\w+|.", record[side]) for side in sides]
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    is_rewritten = matcher.ratio() < _LEAST_SHARED
    edits = [] if is_rewritten else [e for e in matcher.get_opcodes() if e[0] != "equal"]
    places = [[edit[1:3] for edit in edits], [edit[3:5] for edit in edits]]
    truth, is_read = fields.get("truth"), record["annotation"] is not None
    return {
        **{name: fields.get(name) for name in ("group", "change", "base", "significance")},
        "expected": _expected(fields),
        "categories": [CATEGORY.text(name) for name in truth.split(",")] if truth else [],
        "words": [
            tuple("".join(text[slice(*part)]) for text, part in zip(words, edit, strict=True))
            for edit in zip(*places, strict=True)
        ],
        "is_rewritten": is_rewritten,
        "marked": {
            side: [asdict(part) for part in segments(record[side], _spans(words[at], places[at]))]
            for at, side in enumerate(sides)
        },
        # The raw answer is shown where it could not be read.
        "record": {**judged_view(record, rubric), "answer": None if is_read else record["answer"]},
    }


def _spans(
    words: Sequence[str], edits: Iterable[tuple[int, int]]
) -> list[tuple[tuple[int, int], int]]:
    """Return the characters that each edit of some words changes, with the edit's number."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    spans = [((ends[start], ends[end]), number) for number, (start, end) in enumerate(edits)]
    return [(span, number) for span, number in spans if span[0] < span[1]]


def _expected(fields: Mapping[str, Any]) -> str:
    if fields["group"] == "hostile":
        return "the same reading as without the text"
    k = int(fields["k"])
    return "no error" if not k else f"{k} error{'' if k == 1 else 's'}"
