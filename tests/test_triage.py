"""Recall and precision of urgent findings, by hand, and in rates, compare and validate."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from support import EXAMPLES, Invoke

from judge import rubrics
from judge.rubrics.categories import error_item
from judge.rubrics.derived import restrict
from judge.stats.summary import TableBuilder, summarise
from judge.types import Annotation, Edit, Item, Measures, Scored, Study

CRIMSON, FINERADSCORE = rubrics.load("crimson"), rubrics.load("fineradscore")
URGENT, ACTIONABLE = "urgent", "actionable_not_urgent"


def crimson_reply(
    reference: list[str], candidate: list[str], pairs: list[tuple[int, int]]
) -> Annotation:
    """Read an answer with findings of these significances, of which `pairs` match."""
    ids = {"R": reference, "P": candidate}
    findings = {
        letter: [
            {
                "id": f"{letter}{number}",
                "finding": f"{letter}{number} x",
                "clinical_significance": level,
            }
            for number, level in enumerate(levels)
        ]
        for letter, levels in ids.items()
    }
    matched = [{"ref_id": f"R{ref}", "pred_id": f"P{pred}"} for ref, pred in pairs]
    alone = {
        letter: [
            finding["id"]
            for number, finding in enumerate(findings[letter])
            if number not in {pair[column] for pair in pairs}
        ]
        for column, letter in enumerate("RP")
    }
    reply = {
        "reference_findings": findings["R"],
        "predicted_findings": findings["P"],
        "matched_findings": matched,
        "errors": {
            "false_findings": alone["P"],
            "missing_findings": alone["R"],
            "attribute_errors": [],
        },
    }
    return CRIMSON.parse(json.dumps(reply), Study("s", "x", "y"))


def summary(rubric: rubrics.Rubric, annotations: list[Annotation]) -> dict[str, Any]:
    """Return the statistics of studies with these annotations."""
    table = TableBuilder(rubric, [])
    for number, annotation in enumerate(annotations):
        study = Study(f"s{number}", "x", "y")
        table.add(study, Scored(annotation), rubric.measured(annotation, study))
    return summarise(table.build(), rubric)["statistics"]


def counts(measures: Measures) -> list[float | None]:
    names = ("reference", "reported", "candidate", "supported")
    return [measures[f"n_urgent_{name}"] for name in names]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (crimson_reply([URGENT, URGENT], [URGENT], [(0, 0)]), [2, 1, 1, 1]),
        (crimson_reply([URGENT], [ACTIONABLE], [(0, 0)]), [1, 1, 0, 0]),
        (crimson_reply([ACTIONABLE], [URGENT, URGENT], [(0, 1)]), [0, 0, 2, 1]),
        (crimson_reply([URGENT], [URGENT, URGENT], [(0, 0), (0, 1)]), [1, 1, 2, 2]),
        (crimson_reply([ACTIONABLE], [], []), [0, 0, 0, 0]),
        (Annotation((Item("reference_finding", "Effusion"),)), [None] * 4),
        (Annotation((Item("match", "Effusion"),)), [None] * 4),
    ],
    ids=[
        "missed",
        "graded lower",
        "graded higher",
        "one to two",
        "none",
        "no grade",
        "no link",
    ],
)
def test_urgent_findings_of_a_study(
    annotation: Annotation, expected: list[float | None]
) -> None:
    assert counts(CRIMSON.measured(annotation, Study("s", "x", "y"))) == expected


def test_recall_and_precision_are_ratios_of_sums() -> None:
    statistics = summary(
        CRIMSON,
        [
            crimson_reply([URGENT, URGENT, ACTIONABLE], [URGENT], [(0, 0)]),
            crimson_reply([URGENT], [URGENT, URGENT, URGENT], [(0, 2)]),
            crimson_reply([ACTIONABLE], [], []),
        ],
    )
    recall, precision = statistics["urgent_recall"], statistics["urgent_precision"]
    assert (recall["numerator"], recall["denominator"], recall["value"]) == (
        2,
        3,
        2 / 3,
    )
    assert (precision["numerator"], precision["denominator"], precision["value"]) == (
        2,
        4,
        0.5,
    )
    assert recall["n"] == precision["n"] == 3
    assert statistics["no_missed_urgent"]["k"] == 2
    nothing = summary(CRIMSON, [crimson_reply([ACTIONABLE], [], [])])["urgent_recall"]
    assert (nothing["value"], nothing["denominator"]) == (None, 0)


def correction(severity: int, *categories: str) -> Item:
    return error_item(
        categories, "severity", f"severity{severity}", "why", Edit("insert", None, "z")
    )


def test_fineradscore_says_what_urgent_is_missed_or_false() -> None:
    missed = Annotation(
        (correction(3, "b"), correction(4, "b", "c"), correction(2, "b"))
    )
    false = Annotation((correction(4, "a"), correction(3, "c")))
    study = Study("s", "x", "y")
    measured = [
        FINERADSCORE.measured(one, study) for one in (missed, false, Annotation())
    ]
    assert [one["n_missed_urgent"] for one in measured] == [2, 0, 0]
    assert [one["n_false_urgent"] for one in measured] == [0, 1, 0]
    statistics = summary(FINERADSCORE, [missed, false, Annotation()])
    assert (
        statistics["no_missed_urgent"]["k"],
        statistics["no_missed_urgent"]["n"],
    ) == (2, 3)
    assert statistics["no_false_urgent"]["k"] == 2
    assert "urgent_recall" not in statistics
    without_categories = restrict(
        FINERADSCORE, {"category": "no category was asked for"}
    )
    assert without_categories.measured(missed, study)["n_missed_urgent"] is None
    without_emergent = restrict(
        FINERADSCORE, {"severity4": "the scale ends with urgent"}
    )
    assert without_emergent.measured(missed, study)["n_missed_urgent"] == 2


def test_rates_and_compare_print_them(invoke: Invoke, tmp_path: Path) -> None:
    refs, outs = EXAMPLES / "refs.json", []
    for name in ("first", "second"):
        outs.append(f"{name}={tmp_path / name}")
        preds = EXAMPLES / "preds.json" if name == "first" else refs
        assert invoke("crimson", preds, refs, "--out", tmp_path / name).exit_code == 0
    rates = invoke("rates", tmp_path / "first", "--format", "json")
    recall = json.loads(rates.stdout)["statistics"]["urgent_recall"]
    assert recall["denominator"] > 0
    assert "urgent recall" in invoke("rates", tmp_path / "first").stdout
    compared = json.loads(invoke("compare", *outs, "--format", "json").stdout)
    names = [metric["name"] for metric in compared["metrics"]]
    assert {"crimson_urgent_recall", "crimson_urgent_precision"} <= {*names}


def test_validate_holds_a_judge_against_readers(invoke: Invoke, tmp_path: Path) -> None:
    reports = {
        "tension": ("Tension pneumothorax on the left.", "The lungs are clear."),
        "effusion": ("Small right pleural effusion.", "The lungs are clear."),
        "clear": ("The lungs are clear.", "The lungs are clear."),
    }
    rows = [("tension", "b", 4, 1), ("effusion", "b", 2, 1), ("clear", "", "", 0)]
    with (tmp_path / "readings.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        columns = ("category", "level", "count", "reference", "candidate")
        writer.writerow(["study_id", "reader", *columns])
        writer.writerows([name, "fern", *of, *reports[name]] for name, *of in rows)
    readers, judged = tmp_path / "readers", tmp_path / "judged"
    done = invoke(
        "readers", "import", "tidy", tmp_path / "readings.csv", "--out", readers
    )
    assert done.exit_code == 0, done.stderr
    done = invoke(
        "fineradscore", readers / "reader-fern", "--judge", "lexicon", "--out", judged
    )
    assert done.exit_code == 0, done.stderr
    words = ("validate", judged, "--readers", readers)
    found = json.loads(invoke(*words, "--format", "json").stdout)
    (judge,) = [
        row
        for row in found["no_missed_urgent_error"]
        if row.get("judge") and row["study_class"] is None
    ]
    assert (judge["sensitivity"]["k"], judge["sensitivity"]["n"]) == (1, 1)
    assert (judge["specificity"]["k"], judge["specificity"]["n"]) == (2, 2)
    assert "missed urgent error" in invoke(*words).stdout
