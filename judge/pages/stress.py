"""The page of a stress test: the report, and each pair of reports with its outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from judge.study.marks import Segment
from judge.study.view import cell, changed_words, judged_view
from judge.tables.stress import stress_document

MARK = "<!doctype html><!-- judge stress -->"
"""How such a file begins, so that the program knows it again."""

# The outcomes of a pair, in the order in which the page offers them.
OUTCOMES = {
    "missed": "missed",
    "found": "found",
    "false_alarm": "false alarm",
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
    has, known = table["errors"] > 0, read & bool(scale.errors)
    return {
        "missed": single & known & ~has,
        "found": single & has,
        "false_alarm": plain & has,
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
    document = stress_document(data)
    overview = {
        "notes": [data["judge"]["note"]] if data["judge"]["note"] else [],
        "facts": [{"name": name, "value": value} for name, value in document.facts],
        "tables": [table.plain() for table in document.tables],
        "rubric": declared(rubric),
        "outcomes": list(OUTCOMES.values()),
        "signature": data["signature"],
        "has_figures": figures != [],
    }
    yield "columns", as_json({**columns, "packet": PACKET})
    yield "overview", as_json(overview)
    yield from figure_pieces(figures or ())


def _view(record: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Return what the page shows of a pair: the injected change, and the judge's record."""
    fields = record["fields"]
    marked: dict[str, list[Segment]] = {"reference": [], "candidate": []}
    words: list[list[str]] = []
    is_rewritten, is_within = True, False
    for change, text in changed_words(record["reference"], record["candidate"]):
        if change == "same":
            is_rewritten = is_within = False
        elif is_within:
            words[-1].append(text)
        else:
            words.append([text])
            is_within = True
        errors = [] if change == "same" else [len(words) - 1]
        for side, other in (("reference", "in"), ("candidate", "out")):
            if change != other:
                marked[side].append({"text": text, "errors": errors})
    truth, is_read = fields.get("truth"), record["annotation"] is not None
    return {
        **{name: fields.get(name) for name in ("group", "change", "base", "significance")},
        "expected": _expected(fields),
        "categories": [CATEGORY.text(name) for name in truth.split(",")] if truth else [],
        "words": [] if is_rewritten else words,
        "is_rewritten": is_rewritten,
        "marked": marked,
        # The raw answer is shown where it could not be read.
        "record": {**judged_view(record, rubric), "answer": None if is_read else record["answer"]},
    }


def _expected(fields: Mapping[str, Any]) -> str:
    if fields["group"] == "hostile":
        return "the same reading as without the text"
    k = int(fields["k"])
    return "no error" if not k else f"{k} error{'' if k == 1 else 's'}"
