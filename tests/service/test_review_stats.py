"""The judge's precision by the verdicts of readers, their kappa, and stale reviews, by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pytest
from answered_runs import records_of, rewrite
from support import Invoke

from judge import rubrics
from judge.readers.annotation_store import append_entry
from judge.running.folder import RunFolder
from judge.stats.agreement import verdict_kappa
from judge.stats.intervals import draw_resamples, wilson
from judge.study.reviews import (
    REVIEWS,
    Event,
    ReviewSummary,
    RunReviews,
    StudyUnits,
    fingerprints,
    latest,
)

GREEN = rubrics.load("green")
APART = StudyUnits({f"s{row}": row for row in range(40)}, has_patients=False)


def reviewed(
    events: Sequence[Event], errors: Collection[str], units: StudyUnits = APART
) -> ReviewSummary:
    """Of a run all of whose studies have these errors."""
    named = {study: {key: {} for key in errors} for study in units.numbers}
    found = RunReviews.of(latest(events), named, units=units, rubric=GREEN)
    return found.summary


def verdict(reader: str, study: int, error: str, said: str) -> Event:
    name = f"{reader} {study} {error}"
    return Event(name, "now", reader, f"s{study}", error, said, categories=("a",))


def test_precision_by_hand() -> None:
    said = {  # error: categories, then what anna and bob said
        "e1": (("a",), "right", "right"),
        "e2": (("a", "b"), "right", "wrong"),
        "e3": (("b",), "wrong_severity", None),
        "e4": (("b",), "wrong", "wrong"),
        "e5": (("c",), None, "wrong_severity"),
        "gone": (("c",), "right", None),
    }
    events = [
        Event(
            f"{reader} {error}",
            "now",
            reader,
            f"s{row}",
            error,
            verdict,
            categories=categories,
        )
        for row, (error, (categories, *both)) in enumerate(said.items())
        for reader, verdict in zip(("anna", "bob"), both, strict=True)
        if verdict
    ]
    found = reviewed(events, [*said][:-1])
    assert (found.n_reviewed_errors, found.n_studies) == (5, 5)
    assert found.readers == ["anna", "bob"]
    # e1 is right; of e2 one of two said so, which is not more than half.
    strict = {"all": (1, 5), "a": (1, 2), "b": (0, 3), "c": (0, 1), "d": (0, 0)}
    # e3 and e5 are there, of another severity.
    finding = {"all": (3, 5), "a": (1, 2), "b": (1, 3), "c": (1, 1), "d": (0, 0)}
    rest = {"e": (0, 0), "f": (0, 0)}
    rows = {row.code: row for row in found.precision}
    assert {c: (r.precision.k, r.n) for c, r in rows.items()} == strict | rest
    counts = {c: (r.finding_precision.k, r.n) for c, r in rows.items()}
    assert counts == finding | rest
    assert rows["d"].precision.value is None
    row, expected = rows["all"].precision, wilson(1, 5)
    assert (row.value, row.low, row.high) == (
        expected.value,
        expected.low,
        expected.high,
    )
    # The review of the error that is gone counts as stale, and nowhere else.
    assert (found.n_stale, found.stale) == (1, {"anna": 1})
    assert found.stale_note.startswith("1 review is stale (anna 1)")
    assert found.plain()["finding_precision"][0]["k"] == 3


def test_errors_of_one_study_or_patient_are_not_independent() -> None:
    """Forty errors of ten studies, in each all right or all wrong, are worth ten."""
    events = [
        Event(
            f"{row} {n}",
            "now",
            "anna",
            f"s{row}",
            f"e{row}-{n}",
            verdict,
            categories=("a",),
        )
        for row in range(10)
        for n in range(4)
        for verdict in ["wrong" if row < 2 else "right"]
    ]
    errors = [str(event.error) for event in events]
    by_study = reviewed(events, errors).precision[0].precision
    assert (by_study.k, by_study.n) == (32, 40)
    of_errors, of_studies = wilson(32, 40), wilson(8, 10)
    assert by_study.low < of_studies.low < of_errors.low
    numbers = {f"s{row}": row // 2 for row in range(10)}
    patients = StudyUnits(numbers, has_patients=True)
    by_patient = reviewed(events, errors, patients).precision[0].precision
    assert by_patient.low < by_study.low
    # All right, in three studies: as three of three.
    right = [event for event in events if event.study_id in ("s4", "s5", "s6")]
    row = reviewed(right, errors).precision[0].precision
    assert (row.n, row.value, row.high) == (12, 1, 1)
    assert row.low < 0.2 < wilson(3, 3).low


def test_kappa_of_two_reviewers_by_hand() -> None:
    """40 errors of 40 studies: 30 alike, of 20 + 10 + 10 verdicts by each."""
    anna = ["right"] * 20 + ["wrong"] * 10 + ["wrong_severity"] * 10
    bob = anna.copy()
    bob[15:20], bob[20:25] = bob[20:25], bob[15:20]
    events = []
    for row, (first, second) in enumerate(zip(anna, bob, strict=True)):
        events.append(verdict("anna", row, "e", first))
        events.append(verdict("bob", row, "e", second))
    # A third reader reviewed one error, which says nothing.
    events.append(verdict("cleo", 0, "e", "right"))
    found = {
        (pair.first, pair.second): pair for pair in reviewed(events, "e").agreement
    }
    pair = found["anna", "bob"]
    assert (pair.n, pair.n_agreed) == (40, 30)
    expected = 0.5**2 + 0.25**2 + 0.25**2
    kappa = pair.kappa
    assert kappa.value == pytest.approx((0.75 - expected) / (1 - expected))
    assert kappa.low < kappa.value < kappa.high
    other = found["anna", "cleo"]
    assert (other.n, other.n_agreed, other.kappa.value) == (1, 1, None)
    assert other.kappa.reason == "both gave every error the same verdict"


def test_a_kappa_that_is_not_defined_has_a_reason_and_no_value() -> None:
    apart = [verdict("anna", 0, "e", "right"), verdict("bob", 1, "e", "right")]
    (pair,) = reviewed(apart, "e").agreement
    assert (pair.n, pair.kappa.value) == (0, None)
    assert pair.kappa.reason == "the two reviewed no error in common"
    # Few other verdicts: a value, and no interval.
    first = np.array([0] * 18 + [1, 1], float)
    second = np.array([0] * 17 + [1, 1, 1], float)
    resamples = draw_resamples(None, 20, np.random.default_rng(1))
    found = verdict_kappa(first, second, n_verdicts=3, resamples=resamples)
    assert found.value == pytest.approx((0.95 - 0.78) / (1 - 0.78))
    assert found.low is None
    assert "fewer than 5 verdicts" in found.reason


def test_kappa_is_by_study() -> None:
    """Forty errors of five studies: no interval of so few."""
    said = ["right", "wrong"] * 20
    events = []
    for row, first in enumerate(said):
        second = "wrong" if row % 8 == 0 else first
        for reader, word in (("anna", first), ("bob", second)):
            events.append(verdict(reader, row // 8, f"e{row}", word))
    (pair,) = reviewed(events, [f"e{row}" for row in range(40)]).agreement
    assert pair.n == 40
    assert pair.kappa.low is None
    assert "10 studies, there are 5" in pair.kappa.reason


@pytest.fixture
def run(tmp_path: Path, judged_examples: Path) -> Path:
    """A run with two reviews of its first error, a comment, a missed error and a stale review."""
    path = shutil.copytree(judged_examples, tmp_path / "mine")
    opened = RunFolder.open(path)
    for record in opened.records():
        errors = list(fingerprints(record["annotation"], opened.rubric))
        if errors:
            break
    study = record["study_id"]
    at = "2026-11-28T12:00:00+00:00"
    for number, event in enumerate(
        (
            ("anna", errors[0], "right", "", "Effusion."),
            ("bob", errors[0], "wrong_severity", "Small.", "Effusion."),
            ("anna", "0" * 16, "wrong", "", "=Nodule, which it no longer has."),
            ("bob", None, "missed", "", "Rib fracture."),
            ("anna", None, "comment", "Hard to see.", ""),
            ("anna", None, "comment", "Clear.", ""),
        )
    ):
        reader, error, said, comment, text = event
        kept = Event(
            f"id{number}",
            at,
            reader,
            study,
            error,
            said,
            comment=comment,
            categories=("a",),
            text=text,
        )
        append_entry(path / REVIEWS, kept)
    return path


def test_reviews_are_exported(run: Path, invoke: Invoke) -> None:
    data = json.loads(
        invoke("runs", "export", run, "--reviews", "--format", "json").stdout
    )
    assert len(data["reviews"]) == 5
    assert [review["stale"] for review in data["reviews"]].count(True) == 1
    statistics = data["statistics"]
    assert (statistics["n_reviewed_errors"], statistics["n_stale"]) == (1, 1)
    (pair,) = statistics["agreement"]
    assert (pair["readers"], pair["n"], pair["n_agreed"]) == (["anna", "bob"], 1, 0)
    # One error with two verdicts: by chance they never agree.
    assert pair["kappa"]["value"] == 0
    shown = invoke("runs", "export", run, "--reviews")
    assert "0/1 0.0%" in shown.stdout
    assert "1/1 100.0%" in shown.stdout
    assert "1 review is stale (anna 1)" in shown.stdout
    csv = invoke("runs", "export", run, "--reviews", "--format", "csv").stdout
    assert csv.splitlines()[0].startswith("study_id,error,categories,level,text,reader")
    assert len(csv.splitlines()) == 6
    assert "'=Nodule" in csv
    rates = invoke(
        *("runs", "export", run, "--reviews", "--format", "csv", "--table", "precision")
    )
    assert "finding_precision_low" in rates.stdout
    named = invoke("runs", "export", run, "--reviews", "--table", "reviews")
    assert "Rib fracture." in named.stdout


def test_an_export_says_what_it_lacks(run: Path, invoke: Invoke) -> None:
    refused = invoke("runs", "export", run)
    assert "--reviews" in refused.stderr
    (run / REVIEWS).unlink()
    none = invoke("runs", "export", run, "--reviews")
    assert "no reviews" in none.stderr
    assert "0 errors reviewed" in none.stdout
    csv = invoke("runs", "export", run, "--reviews", "--format", "csv").stdout
    assert len(csv.splitlines()) == 1
    (run / REVIEWS).write_text("{}\n")
    damaged = invoke("runs", "export", run, "--reviews")
    assert "damaged in line 1" in damaged.stderr


def test_an_audit_shows_the_reviews(run: Path, invoke: Invoke) -> None:
    shown = invoke("audit", run).stdout
    assert "Worst studies" in shown
    assert "The judge's precision among reviewed errors" in shown
    assert "1 review is stale" in shown
    study = json.loads((run / REVIEWS).read_text().splitlines()[0])["study_id"]
    shown = invoke("audit", run, study).stdout
    assert "- anna: right: Effusion." in shown
    assert "[stale: the study no longer has this error]" in shown
    assert "Hard to see." not in shown


def test_a_review_is_stale_after_the_answers_were_read_anew(
    run: Path, invoke: Invoke
) -> None:
    """The study's answer is no longer one that is read: its reviews are of no error any more."""
    found = RunReviews.read(RunFolder.open(run))
    assert found is not None
    assert (found.summary.n_reviewed_errors, found.summary.n_stale) == (1, 1)
    study = found.events[0].study_id
    records = records_of(run)
    for record in records:
        if record["study_id"] == study:
            record["answer"]["text"] = "I cannot help with that."
    rewrite(run, records)
    assert invoke("runs", "rescore", run).exit_code == 0
    found = RunReviews.read(RunFolder.open(run))
    assert found is not None
    assert (found.summary.n_reviewed_errors, found.summary.n_stale) == (0, 3)
    assert found.summary.stale == {"anna": 2, "bob": 1}
    assert found.summary.agreement == []
    assert found.summary.precision[0].precision.value is None
    # What was missed by the judge is no statement on one of its errors.
    assert found.summary.n_missed == 1


def test_deleted_runs_are_not_listed(
    tmp_path: Path, judged_examples: Path, invoke: Invoke
) -> None:
    shutil.copytree(judged_examples, tmp_path / "runs" / "kept")
    shutil.copytree(judged_examples, tmp_path / "runs" / ".trash" / "gone")
    listed = invoke("runs", tmp_path / "runs").stdout
    assert "kept" in listed
    assert "gone" not in listed
    assert invoke("runs", "list", tmp_path / "runs").stdout == listed
