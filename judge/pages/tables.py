"""Pages of tables with the studies behind them: a stress test, and judges beside readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.comparison import PageFigure, figure_pieces
from judge.pages.run import declared
from judge.rubrics import Rubric
from judge.rubrics.categories import CATEGORY
from judge.study.marks import Segment
from judge.study.view import cell, changed_words, judged_view
from judge.tables.stress import stress_document
from judge.tables.validation import validation_document
from judge.text import counted, group_value

if TYPE_CHECKING:
    from judge.stress.report import StressReport
    from judge.validating.raters import RatedStudies

STRESS, VALIDATION = (
    "<!doctype html><!-- judge stress -->",
    "<!doctype html><!-- judge validate -->",
)


def stress_page(report: StressReport, figures: Sequence[PageFigure] | None = None) -> Iterator[str]:
    """Yield the page as one file; `figures` are None where they cannot be drawn here."""
    title = f"Stress test of {report.data['judge']['name']} ({report.first.run.rubric.title})"
    return page_file(STRESS, "stress", title, _stress_pieces(report, figures))


def _outcomes(report: StressReport) -> dict[str, pd.Series]:
    """Return the candidates of each outcome, counted as the report's figures count them."""
    table = report.first.table
    read, group = table["lost"] == "", table["group"]
    single, plain = (group == "error") & read, (group == "unchanged") & read
    changed = table["study_id"].isin([row["id"] for row in report.data["hostile"]])
    has, known = table["errors"] > 0, read & bool(report.first.scale.errors)
    return {
        "missed": single & known & ~has,
        "found": single & has,
        "false alarm": plain & has,
        "correctly quiet": plain & known & ~has,
        "changed reading": changed,
        "same reading": (group == "hostile") & read & ~changed,
        "not read": ~read,
    }


def _stress_pieces(
    report: StressReport, figures: Sequence[PageFigure] | None
) -> Iterator[tuple[str, bytes]]:
    data, answers, rubric = report.data, report.first, report.first.run.rubric
    effects = {row["id"]: row["effect"] for row in data["hostile"]}
    texts = {
        row.get("change") or row["class"]: row["does"]
        for key in ("detection", "false_alarms", "hostile_all")
        for row in data[key]
    }
    outcomes = pd.DataFrame(_outcomes(report))
    columns: dict[str, list[Any]] = {
        "ids": answers.table["study_id"].tolist(),
        "outcomes": [np.flatnonzero(row).tolist() for row in outcomes.to_numpy(dtype=bool)],
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
            views.append({**_pair_view(record, rubric), **more})
        if not views:
            break
        yield f"packet-{number}", as_json(views)
    document = stress_document(data)
    overview = {
        "notes": [data["judge"]["note"]] if data["judge"]["note"] else [],
        "facts": [{"name": name, "value": value} for name, value in document.facts],
        "tables": [table.plain() for table in document.tables],
        "rubric": declared(rubric),
        "outcomes": list(outcomes.columns),
        "signature": data["signature"],
        "has_figures": figures != [],
    }
    yield "columns", as_json({**columns, "packet": PACKET})
    yield "overview", as_json(overview)
    yield from figure_pieces(figures or ())


def _pair_view(record: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
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
    k = int(fields["k"])
    expected = counted(k, "error", "errors") if k else "no error"
    if fields["group"] == "hostile":
        expected = "the same reading as without the text"
    return {
        **{name: fields.get(name) for name in ("group", "change", "base", "significance")},
        "expected": expected,
        "categories": [CATEGORY.text(name) for name in truth.split(",")] if truth else [],
        "words": [] if is_rewritten else words,
        "is_rewritten": is_rewritten,
        "marked": marked,
        # The raw answer is shown where it could not be read.
        "record": {**judged_view(record, rubric), "answer": None if is_read else record["answer"]},
    }


def validation_page(data: Mapping[str, Any], studies: RatedStudies) -> Iterator[str]:
    """Yield the page of `data`, as `judge validate --format json` has it, as one file."""
    pieces = _validation_pieces(data, studies)
    return page_file(VALIDATION, "validation", "Judges and readers", pieces)


def _validation_pieces(
    data: Mapping[str, Any], studies: RatedStudies
) -> Iterator[tuple[str, bytes]]:
    quantities = {row["quantity"]: row["label"] for row in data["limits"]}
    document = validation_document(data)
    overview = {
        "facts": [{"name": name, "value": value} for name, value in document.head],
        "tables": [table.plain() for table in document.tables],
        "raters": [
            {"name": rater.name, "is_reader": rater.is_reader, "rubric": declared(rater.run.rubric)}
            for rater in studies.raters
        ],
        "quantities": [{"name": name, "label": label} for name, label in quantities.items()],
        "signature": data["signature"],
    }
    yield "overview", as_json(overview)
    columns = {
        "study_id": list(studies.study_ids),
        "study_class": [group_value(name) for name in studies.study_classes],
        "packet": PACKET,
    }
    yield "columns", as_json(columns)
    for number, name in enumerate(quantities):
        # Doubles, rater by rater.
        yield f"counts-{number}", studies.values[name].T.astype("<f8").tobytes()
    raters = list(zip(studies.raters, studies.records(set(studies.study_ids)), strict=True))
    for number, start in enumerate(range(0, len(studies.study_ids), PACKET)):
        packet = [
            [
                {"rater": place, **judged_view(by_id[study_id], rater.run.rubric)}
                for place, (rater, by_id) in enumerate(raters)
                if study_id in by_id
            ]
            for study_id in studies.study_ids[start : start + PACKET]
        ]
        yield f"packet-{number}", as_json(packet)
