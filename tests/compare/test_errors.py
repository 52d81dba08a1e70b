"""`judge errors`: what recurs in one run, and which of two models makes an error more often."""

from __future__ import annotations

import io
import json
from math import comb
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from answered_runs import answered, green, records_of, rewrite
from judged_runs import refused
from support import Invoke

from judge import recurring_errors
from judge.running.folder import RunFolder
from judge.stats.significance import holm

Two = tuple[Path, Path]


def missing(*texts: str) -> str:
    """A GREEN answer with these missing findings, all of them significant."""
    return green({"b": f"{len(texts)}. {'; '.join(texts)}"} if texts else {})


def data(invoke: Invoke, *args: object) -> dict[str, Any]:
    done = invoke("errors", *args, "--format", "json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# Entries with a warning


def test_errors_that_may_be_none_are_counted_shown_and_can_be_left_out(
    tmp_path: Path, invoke: Invoke
) -> None:
    denied = "No findings are missing"
    answers = {
        "s0": missing(denied, "left effusion"),
        "s1": missing(denied),
        "s2": missing("left effusion"),
    }
    run = answered(tmp_path / "alder", answers)
    summary = json.loads(invoke("rates", run, "--format", "json").stdout)
    assert summary["warnings"] == {"not about these reports": 2}
    assert summary["n_warnings"] == {"not about these reports": 2}
    assert summary["n_scored"] == 3
    shown = invoke("rates", run).stdout
    assert "2 entries in 2 studies share no word with either report" in " ".join(
        shown.split()
    )
    table = invoke("rates", run, "--table", "warnings", "--format", "csv").stdout
    assert "not about these reports,2,2" in table
    audit = invoke("audit", run, "s0").stdout
    assert f"not about these reports: {denied}" in " ".join(audit.split())
    found = data(invoke, run, "--min-studies", 1)
    assert sum(error["n_errors"] for error in found["errors"]) == 4
    assert any("2 errors with a warning" in note for note in found["notes"])
    sure = data(invoke, run, "--min-studies", 1, "--without-warnings")
    assert sum(error["n_errors"] for error in sure["errors"]) == 2
    assert any("left out: 2 errors" in note for note in sure["notes"])
    other = answered(tmp_path / "birch", answers)
    both, left = (
        data(invoke, run, other, "--min-studies", 1, *flags)
        for flags in ([], ["--without-warnings"])
    )
    assert both["signature"] != left["signature"]
    assert len(both["errors"]) > len(left["errors"])
    assert len(recurring_errors(run, min_studies=1, without_warnings=True)) == 1


# One run

ANSWERS = {
    "s0": green(insignificant={"b": "1. Tiny pleural effusion"}),
    "s1": green(
        {"b": "1. Missing left pleural effusion in the reference"}, {"a": "1. Nodule"}
    ),
    "s2": missing("The candidate fails to mention the pleural effusion"),
    "s3": missing("Right effusion", "Left effusion"),
    "s4": missing("Pneumothorax with pleural effusion"),
    "s5": green({"f": "1. Nothing is said of earlier studies"}),
    "s6": green(insignificant={"f": "1. The interval change"}),
    "s7": green(),
    "s8": "Pleural effusion is missing, that is all.",
    "s9": None,
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return answered(tmp_path / "alder", ANSWERS)


def test_errors_are_grouped_and_counted(run: Path, invoke: Invoke) -> None:
    found = data(invoke, run)
    assert (found["model"], data(invoke, f"birch={run}")["model"]) == ("alder", "birch")
    counts = [
        found[f"n_{name}"] for name in ("studies", "scored", "unparsed", "failed")
    ]
    assert counts == [10, 8, 1, 1]
    effusion, other = found["errors"]
    assert (effusion["category"], effusion["finding"]) == ("b", "pleural effusion")
    # s0, s1, s2, s3 twice, s4; neither the answer that was not read nor the one that is not there.
    assert (effusion["n_errors"], effusion["n_grave"], effusion["k"]) == (6, 5, 5)
    assert (effusion["n"], effusion["value"]) == (8, 5 / 8)
    # The insignificant one of s0 comes last of all, so it is none of the three.
    assert effusion["examples"] == ["s1", "s2", "s3"]
    assert (other["category"], other["finding"], other["k"]) == ("f", None, 2)
    # An error about two findings is counted for each, and that is said.
    every = data(invoke, run, "--min-studies", 1)
    groups = {(one["category"], one["finding"]): one for one in every["errors"]}
    assert groups["b", "pneumothorax"]["examples"] == ["s4"]
    assert groups["a", "nodule"]["n_grave"] == 0
    assert len(groups) == 4


def test_csv_and_python_have_every_group(
    run: Path, invoke: Invoke, tmp_path: Path
) -> None:
    done = invoke("errors", run, "--format", "csv", "--min-studies", 1)
    printed = pd.read_csv(io.StringIO(done.stdout))
    assert printed["studies_k"].tolist() == [5, 2, 1, 1]
    frame = recurring_errors(RunFolder.open(run), min_studies=1)
    pd.testing.assert_frame_equal(frame, printed, check_dtype=False)
    none = answered(tmp_path / "none", {"s0": green(), "s1": None})
    assert data(invoke, none)["errors"] == []


# Two runs

N = 40
IDS = [f"s{number:02}" for number in range(N)]
EFFUSION, PNEUMOTHORAX, NODULE = "Left effusion", "A pneumothorax", "A nodule"


def texts(*errors: tuple[str, range]) -> dict[str, str | None]:
    """An answer for each study with the errors whose range holds its number."""
    return {
        study_id: missing(*(text for text, where in errors if number in where))
        for number, study_id in enumerate(IDS)
    }


# Effusion: 17 studies of alder's alone, 3 of both, 2 of birch's alone. Pneumothorax: 4, 4, 6.
ALDER = texts((EFFUSION, range(20)), (PNEUMOTHORAX, range(8)), (NODULE, range(3)))
BIRCH = texts(
    (EFFUSION, range(3)), (EFFUSION, range(20, 22)), (PNEUMOTHORAX, range(4, 14))
)


@pytest.fixture
def two(tmp_path: Path) -> Two:
    """Runs on 40 studies; the last is not scored for alder, the one before not for birch."""
    alder = {**ALDER, "s39": None, "s38": missing(EFFUSION)}
    birch = {**BIRCH, "s38": "no answer to read", "s39": missing(PNEUMOTHORAX)}
    return answered(tmp_path / "alder", alder), answered(tmp_path / "birch", birch)


def mid_p(b: int, c: int) -> float:
    """McNemar's mid-p by its definition."""
    n, least = b + c, min(b, c)
    p = (2 * sum(comb(n, k) for k in range(least)) + comb(n, least)) / 2**n
    return min(1.0, p)


def test_shares_and_tests_are_of_the_studies_that_both_scored(
    two: Two, invoke: Invoke
) -> None:
    found = data(invoke, *two)
    assert (found["n_studies"], found["n_scored"], found["n_tested"]) == (40, 38, 2)
    effusion, pneumothorax, nodule = found["errors"]
    alder, birch = (effusion["models"][name] for name in ("alder", "birch"))
    assert (alder["k"], alder["n"], birch["k"], birch["n"]) == (20, 38, 5, 38)
    assert (effusion["n_either"], effusion["ratio"]) == (22, 4.0)
    # Of each model the studies in which it alone has the error.
    assert (alder["examples"], birch["examples"]) == (
        ["s03", "s04", "s05"],
        ["s20", "s21"],
    )
    # Three studies are too few to test.
    assert (nodule["n_either"], nodule["ratio"], nodule["test"]) == (3, None, None)
    tests = [one["test"] for one in (effusion, pneumothorax)]
    wanted = [mid_p(17, 2), mid_p(4, 6)]
    assert [one["p"] for one in tests] == pytest.approx(wanted)
    assert [one["p_holm"] for one in tests] == pytest.approx(holm(wanted))
    assert tests[0]["difference"] == pytest.approx(15 / 38)
    assert [one["significant"] for one in tests] == [True, False]


def test_patients_with_several_studies_are_flipped_together(
    tmp_path: Path, invoke: Invoke
) -> None:
    # All 20 errors of alder's are of two patients: two coins decide, which is no evidence.
    fields = {
        "patient": {study_id: f"p{number // 10}" for number, study_id in enumerate(IDS)}
    }
    first = answered(tmp_path / "a", texts((EFFUSION, range(20))), fields=fields)
    second = answered(tmp_path / "b", texts(), fields=fields)
    found = data(invoke, first, second)
    test = found["errors"][0]["test"]
    assert (found["patient_field"], test["method"]) == (
        "patient",
        "sign-flip permutation test",
    )
    assert test["p"] == pytest.approx(0.5, abs=0.03)
    alone = data(invoke, first, second, "--patient-field", "none")
    assert alone["patient_field"] is None
    assert alone["errors"][0]["test"]["p"] == pytest.approx(mid_p(20, 0))
    assert alone["errors"][0]["ratio"] is None


def test_what_cannot_be_compared_is_refused(
    two: Two, tmp_path: Path, invoke: Invoke
) -> None:
    alder, birch = two

    def refuses(*words: object) -> str:
        return refused(invoke, *words, command="errors")

    assert "3" in refuses(alder, birch, alder)
    fine = answered(
        tmp_path / "fine", dict.fromkeys(IDS, '{"corrections": []}'), "fineradscore"
    )
    assert "one rubric" in refuses(alder, fine)
    other = answered(tmp_path / "other", texts(), judge="test-2")
    assert "--allow judge" in refuses(alder, other)
    assert invoke("errors", alder, other, "--allow", "judge").exit_code == 0
    fewer = answered(
        tmp_path / "fewer", {study_id: ALDER[study_id] for study_id in IDS[:30]}
    )
    assert "--common" in refuses(birch, fewer)
    assert data(invoke, birch, fewer, "--common")["n_scored"] == 30
    assert "NAME=" in refuses(alder, alder)
    assert "judge audit" in refuses(
        alder, answered(tmp_path / "none", dict.fromkeys(IDS))
    )
    # Annotations that do not fit their table.
    lines = records_of(alder)
    lines[0] |= dict.fromkeys(("annotation", "measures"))
    lines[0] |= {"outcome": "failed", "reason": "timeout", "detail": ""}
    rewrite(alder, lines)
    assert "annotations.jsonl is damaged: line 1" in refuses(alder, birch)
