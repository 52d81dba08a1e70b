"""The page of a stress test: the report, and each pair of reports with its outcome."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import count, islice
from typing import Any

import numpy as np
import pandas as pd

from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.comparison import PageFigure, figure_pieces
from judge.pages.run import declared
from judge.rubrics import Rubric
from judge.rubrics.categories import CATEGORY
from judge.stress.report import StressReport
from judge.study.marks import segments
from judge.study.view import cell, judged_view
from judge.tables.stress import stress_document

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


def page(report: StressReport, figures: Sequence[PageFigure] | None = None) -> Iterator[str]:
    """Yield the page as one file; records are read once, a packet at a time.

    `figures` are None where they cannot be drawn here.
    """
    title = f"Stress test of {report.data['judge']['name']} ({report.first.run.rubric.title})"
    return page_file(MARK, "stress", title, _pieces(report, figures))


def _pieces(
    report: StressReport, figures: Sequence[PageFigure] | None
) -> Iterator[tuple[str, bytes]]:
    data, answers, rubric = report.data, report.first, report.first.run.rubric
    effects = {row["id"]: row["effect"] for row in data["hostile"]}
    texts = {
        row.get("change") or row["class"]: row["does"]
        for key in ("detection", "false_alarms", "hostile_all")
        for row in data[key]
    }
    outcomes = pd.DataFrame(_outcomes(report)).to_numpy(dtype=bool)
    columns: dict[str, list[Any]] = {
        "ids": answers.table["study_id"].tolist(),
        "outcomes": [np.flatnonzero(row).tolist() for row in outcomes],
        "n_errors": answers.table["errors"].where(answers.table["lost"] == "").map(cell).tolist(),
        **{name: [] for name in ("study", "change", "group", "k")},
    }
    records = answers.run.records()
    for number in count():
        views = []
        for record in islice(records, PACKET):
            fields = record["fields"]
            for name in ("study", "change", "group"):
                columns[name].append(fields[name])
            columns["k"].append(int(fields["k"]))
            more = {"effect": effects.get(record["study_id"]), "does": texts.get(fields["change"])}
            views.append({**_view(record, rubric), **more})
        if not views:
            break
        yield f"packet-{number}", as_json(views)
    level = (data["level"] or {"label": ""})["label"]
    document = stress_document(data)
    overview = {
        "notes": [data["judge"]["note"]] if data["judge"]["note"] else [],
        "facts": [{"name": name, "value": value} for name, value in document.facts],
        "tables": [table.plain() for table in document.tables],
        "rubric": declared(rubric),
        "outcomes": [label.format(level=level) for label in OUTCOMES.values()],
        "signature": data["signature"],
        "has_figures": figures != [],
    }
    yield "columns", as_json({**columns, "packet": PACKET})
    yield "overview", as_json(overview)
    yield from figure_pieces(figures or ())


def _view(record: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Return what the page shows of a pair: the injected change, and the judge's record."""
    fields = record["fields"]
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
            side: segments(record[side], _spans(words[position], places[position]))
            for position, side in enumerate(sides)
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
