"""`judge errors RUN RUN`: which model makes an error more often, counted by hand."""

from __future__ import annotations

import csv
import io
import json
from math import comb
from pathlib import Path
from typing import Any

import pytest
from answered_runs import answered, green, missing
from support import Invoke

from judge import recurring_errors
from judge.stats.paired import holm

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
BIRCH = texts((EFFUSION, range(3)), (EFFUSION, range(20, 22)), (PNEUMOTHORAX, range(4, 14)))


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Runs on 40 studies; the last is not scored for alder, the one before not for birch."""
    alder = {**ALDER, "s39": None, "s38": missing(EFFUSION)}
    birch = {**BIRCH, "s38": "no answer to read", "s39": missing(PNEUMOTHORAX)}
    return answered(tmp_path / "alder", alder), answered(tmp_path / "birch", birch)


def mid_p(b: int, c: int) -> float:
    """McNemar's mid-p by its definition."""
    n, least = b + c, min(b, c)
    p = (2 * sum(comb(n, k) for k in range(least)) + comb(n, least)) / 2**n
    return min(1.0, p)


def data(invoke: Invoke, *args: object) -> dict[str, Any]:
    done = invoke("errors", *args, "--format", "json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def refused(invoke: Invoke, *args: object) -> str:
    done = invoke("errors", *args)
    assert done.exit_code == 2
    assert not done.stdout
    return str(done.stderr)


def test_shares_are_of_the_studies_that_both_scored(two: tuple[Path, Path], invoke: Invoke) -> None:
    found = data(invoke, *two)
    assert (found["n_studies"], found["n_scored"], found["n_tested"]) == (40, 38, 2)
    effusion, pneumothorax, nodule = found["errors"]
    assert [one["finding"] for one in found["errors"]] == [
        *("pleural effusion", "pneumothorax", "nodule")
    ]
    alder, birch = (effusion["models"][name] for name in ("alder", "birch"))
    assert (alder["k"], alder["n"], birch["k"], birch["n"]) == (20, 38, 5, 38)
    assert (effusion["n_either"], effusion["ratio"]) == (22, 4.0)
    # Of each model the studies in which it alone has the error.
    assert (alder["examples"], birch["examples"]) == (["s03", "s04", "s05"], ["s20", "s21"])
    assert pneumothorax["models"]["birch"]["k"] == 10
    # Three studies are too few to test.
    assert (nodule["n_either"], nodule["ratio"], nodule["test"]) == (3, None, None)


def test_p_is_mcnemars_and_corrected_for_the_groups_that_are_tested(
    two: tuple[Path, Path], invoke: Invoke
) -> None:
    effusion, pneumothorax, _ = data(invoke, *two)["errors"]
    wanted = [mid_p(17, 2), mid_p(4, 6)]
    assert [one["test"]["p"] for one in (effusion, pneumothorax)] == pytest.approx(wanted)
    # Holm's of two: the smaller is doubled.
    assert effusion["test"]["p_holm"] == pytest.approx(2 * wanted[0])
    assert pneumothorax["test"]["p_holm"] == pytest.approx(wanted[1])
    assert effusion["test"]["difference"] == pytest.approx(15 / 38)
    assert (effusion["test"]["significant"], pneumothorax["test"]["significant"]) == (True, False)
    stats = pytest.importorskip("scipy.stats")
    exact = stats.binomtest(2, 19).pvalue
    assert effusion["test"]["p"] == pytest.approx(exact - stats.binom.pmf(2, 19, 0.5))


def test_what_a_test_supports_is_said_in_a_sentence(two: tuple[Path, Path], invoke: Invoke) -> None:
    done = invoke("errors", *two)
    assert done.exit_code == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    at = lines.index("Differences that a test supports, of 2 tests:")
    assert 2 * mid_p(17, 2) < 0.001
    assert lines[at + 1] == (
        "(b) missing finding, pleural effusion: alder in 52.6% of 38 studies, birch in 13.2%, "
        "4.0 times as often (p < 0.001, Holm)"
    )
    assert lines[at + 2].startswith("signature compare:1|models:2|")
    assert lines[at + 2].rpartition("|")[2].startswith("errors:10+lexicon-")
    assert "studies 40, 38 of them scored for both" in lines
    assert "Errors in 10 studies or more of either model" in lines
    assert "test mcnemar mid-p, of 2 groups, with Holm's correction for all of them" in lines
    row = next(line for line in lines if line.startswith("(b) missing finding pleural effusion 20"))
    assert row.startswith(
        "(b) missing finding pleural effusion 20/38 52.6% 5/38 13.2% +39.5 points"
    )
    assert row.endswith("s03, s04, s05")


def test_the_model_that_makes_it_more_often_comes_first_in_the_sentence(
    two: tuple[Path, Path], invoke: Invoke
) -> None:
    told = data(invoke, *reversed(two))["told"]
    assert told[1].startswith(
        "(b) missing finding, pleural effusion: alder in 52.6% of 38 studies, birch in 13.2%"
    )


def test_no_ratio_where_the_other_has_none(tmp_path: Path, invoke: Invoke) -> None:
    first = answered(tmp_path / "a", texts((EFFUSION, range(20))))
    found = data(invoke, first, answered(tmp_path / "b", texts()))
    assert found["told"][1] == (
        "(b) missing finding, pleural effusion: a in 50.0% of 40 studies, b in none "
        "(p < 0.001, Holm)"
    )
    assert found["errors"][0]["ratio"] is None


def test_without_a_supported_difference_it_says_that(tmp_path: Path, invoke: Invoke) -> None:
    first = answered(tmp_path / "a", texts((EFFUSION, range(12))))
    second = answered(tmp_path / "b", texts((EFFUSION, range(2, 12))))
    done = invoke("errors", first, second)
    assert (
        "No test supports a difference between a and b: no p is below 0.05 after Holm's "
        "correction for 1 test." in done.stdout
    )
    assert "times as often" not in done.stdout
    third = answered(tmp_path / "c", texts())
    fourth = answered(tmp_path / "d", texts((EFFUSION, range(9))))
    text = invoke("errors", third, fourth).stdout
    assert "No error is in 10 studies or more of either model, of 40 scored for both" in text


def test_patients_with_several_studies_are_flipped_together(tmp_path: Path, invoke: Invoke) -> None:
    # All 20 errors of alder's are of two patients: two coins decide, which is no evidence.
    patients = {study_id: f"p{number // 10}" for number, study_id in enumerate(IDS)}
    first = answered(tmp_path / "a", texts((EFFUSION, range(20))), patients=patients)
    second = answered(tmp_path / "b", texts(), patients=patients)
    found = data(invoke, first, second)
    assert found["patient_field"] == "patient"
    test = found["errors"][0]["test"]
    assert test["method"] == "sign-flip permutation test"
    assert test["p"] == pytest.approx(0.5, abs=0.03)
    assert not test["significant"]
    assert "sign-flip permutation test by patient" in invoke("errors", first, second).stdout
    alone = data(invoke, first, second, "--patient-field", "none")
    assert alone["patient_field"] is None
    assert alone["errors"][0]["test"]["p"] == pytest.approx(mid_p(20, 0))


def test_csv_and_python_have_a_row_a_group(two: tuple[Path, Path], invoke: Invoke) -> None:
    done = invoke("errors", *two, "--format", "csv", "--top", 1)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["finding"], row["model"], row["k"], row["k_other"]) for row in rows] == [
        ("pleural effusion", "alder", "20", "5"),
        ("pneumothorax", "alder", "8", "10"),
        ("nodule", "alder", "3", "0"),
    ]
    assert rows[0]["examples"] == "s03; s04; s05"
    assert (rows[0]["significant"], rows[2]["p_holm"]) == ("True", "")
    frame = recurring_errors(*two)
    assert list(frame.columns) == list(rows[0])
    assert frame["p"].tolist()[:2] == pytest.approx([mid_p(17, 2), mid_p(4, 6)])
    assert holm(frame["p"].tolist()[:2]) == pytest.approx(frame["p_holm"].tolist()[:2])


def test_what_cannot_be_compared_is_refused(
    two: tuple[Path, Path], tmp_path: Path, invoke: Invoke
) -> None:
    alder, birch = two
    assert "one run or two, not 3" in refused(invoke, alder, birch, alder)
    fine = answered(tmp_path / "fine", dict.fromkeys(IDS, '{"corrections": []}'), "fineradscore")
    assert "errors are compared between runs of one rubric" in refused(invoke, alder, fine)
    other = answered(tmp_path / "other", texts(), judge="test-2")
    assert "they differ in the judge of green" in refused(invoke, alder, other)
    assert invoke("errors", alder, other, "--allow", "judge").exit_code == 0
    apart = answered(tmp_path / "apart", {"x1": green(), "x2": green()})
    assert "the runs have no study in common" in refused(invoke, alder, apart)
    fewer = answered(tmp_path / "fewer", {study_id: ALDER[study_id] for study_id in IDS[:30]})
    assert "--common compares on those that all have" in refused(invoke, birch, fewer)
    assert data(invoke, birch, fewer, "--common")["n_scored"] == 30
    assert "name their models: NAME=" in refused(invoke, alder, alder)
    none = answered(tmp_path / "none", dict.fromkeys(IDS))
    assert "none of 40 studies was scored in both" in refused(invoke, alder, none)


def test_annotations_that_do_not_fit_their_table_are_refused(
    two: tuple[Path, Path], invoke: Invoke
) -> None:
    alder, birch = two
    path = alder / "annotations.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    lines[0] |= dict.fromkeys(("annotation", "measures", "detail"))
    lines[0] |= {"outcome": "failed", "reason": "timeout"}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert "hold 37 of 38 studies that its table has scored" in refused(invoke, alder, birch)
