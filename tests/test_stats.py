"""Intervals, the table of studies and what is said of a set."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from judge import rubrics
from judge.stats.intervals import mean_interval, wilson
from judge.stats.summary import rates, summarise
from judge.stats.table import TableBuilder
from judge.stats.worst import worst_rows
from judge.types import (
    Annotated,
    Annotation,
    Category,
    Failed,
    JudgeError,
    Study,
    StudyCounts,
    Unparsed,
)

GREEN = rubrics.load("green")


def counts(significant: str = "", insignificant: str = "", matched: int = 0) -> StudyCounts:
    by_category = {
        (level, category): letters.count(category)
        for level, letters in (("significant", significant), ("insignificant", insignificant))
        for category in Category
    }
    score = matched / (matched + len(significant)) if matched else 0.0
    return StudyCounts(
        by_level={"significant": len(significant), "insignificant": len(insignificant)},
        by_category=by_category,
        n_significant=len(significant),
        n_insignificant=len(insignificant),
        n_actionable=None,
        n_matched=matched,
        scores={"green": score},
    )


def table() -> pd.DataFrame:
    builder = TableBuilder(GREEN, ["site"])
    read = Annotated(Annotation(errors=()))
    odd = Annotated(Annotation(errors=(), remarks=("counts differ",)))
    rows = [
        ("1", "normal", "x", read, counts(matched=4)),
        ("2", "normal", "y", odd, counts("ab", "c", matched=2)),
        ("3", "abnormal", "x", read, counts("a", matched=0)),
        ("4", "abnormal", "y", Unparsed("empty"), None),
        ("5", "abnormal", None, Failed("timeout"), None),
    ]
    for study_id, study_class, site, outcome, row in rows:
        builder.add(Study(study_id, "r", "c", study_class, fields={"site": site}), outcome, row)
    return builder.build()


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_scipy(k_n: tuple[int, int]) -> None:
    k, n = k_n
    rate = wilson(k, n)
    expected = reference.binomtest(k, n).proportion_ci(0.95, method="wilson")
    assert rate.rate == k / n
    assert rate.low == pytest.approx(expected.low, abs=1e-12)
    assert rate.high == pytest.approx(expected.high, abs=1e-12)
    assert 0 <= rate.low <= rate.rate <= rate.high <= 1


def test_a_rate_of_nothing_has_no_number() -> None:
    rate = wilson(0, 0)
    assert (rate.rate, rate.low, rate.high) == (None, None, None)


@pytest.mark.parametrize(("k", "n"), [(2, 1), (-1, 3)])
def test_an_impossible_rate_is_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="no rate"):
        wilson(k, n)


def test_mean_interval_is_1_96_standard_errors() -> None:
    mean = mean_interval([0.0, 0.5, 1.0, 1.0])
    half = 1.96 * math.sqrt(((0.625**2) + (0.125**2) + 2 * (0.375**2)) / 3 / 4)
    assert mean.mean == pytest.approx(0.625)
    assert mean.low == pytest.approx(0.625 - half)
    assert mean.high == pytest.approx(0.625 + half)


def test_mean_of_one_has_no_interval_and_of_none_no_mean() -> None:
    assert mean_interval([0.5]).mean == 0.5
    assert mean_interval([0.5]).low is None
    assert mean_interval([]).mean is None


def test_a_score_goes_with_an_annotated_outcome_only() -> None:
    builder = TableBuilder(GREEN, [])
    with pytest.raises(ValueError, match="annotated outcome only"):
        builder.add(Study("1", "", ""), Unparsed("empty"), counts())
    with pytest.raises(ValueError, match="annotated outcome only"):
        builder.add(Study("1", "", ""), Annotated(Annotation(errors=())), None)


def test_table_has_no_number_where_there_is_no_annotation() -> None:
    lost = table().query("outcome != 'annotated'")
    numbers = [
        c for c in lost if c == "green" or c.startswith(("n_", "significant_", "insignificant_"))
    ]
    assert len(numbers) == 17
    assert lost[numbers].isna().all().all()
    assert list(lost["reason"]) == ["empty", "timeout"]


def test_table_has_the_promised_columns() -> None:
    letters = "abcdef"
    assert list(table().columns) == [
        *("study_id", "study_class", "class_inferred", "site", "outcome", "reason", "remarks"),
        *("green", "n_significant", "n_insignificant", "n_actionable", "n_matched"),
        *(f"significant_{letter}" for letter in letters),
        *(f"insignificant_{letter}" for letter in letters),
    ]
    assert table()["n_actionable"].isna().all()


def test_summary_counts_what_was_not_scored_beside_the_rate() -> None:
    summary = summarise(table(), GREEN)
    assert [summary[f"n_{k}"] for k in ("studies", "scored", "unparsed", "failed")] == [5, 3, 1, 1]
    assert summary["scores"]["green"]["mean"] == pytest.approx((1 + 0.5 + 0) / 3)
    abnormal, normal = summary["rates"]
    assert normal["study_class"] == "normal"
    assert normal["no_significant_error"]["k"] == 1
    assert normal["no_significant_error"]["n"] == 2
    assert abnormal["n_studies"] == 3
    assert abnormal["no_significant_error"]["n"] == abnormal["n_scored"] == 1
    assert abnormal["no_significant_error"]["rate"] == 0
    assert abnormal["no_actionable_error"] is None
    assert summary["reasons"] == {"unparsed: empty": 1, "failed: timeout": 1}
    assert summary["remarks"] == {"counts differ": 1}
    assert summary["errors"][0]["significant"] == {"n": 2, "per_study": pytest.approx(2 / 3)}
    assert summary["errors"][2]["insignificant"]["n"] == 1
    assert summary["matched"] == {"n": 6, "per_study": 2.0}


def test_rates_by_two_fields_and_by_a_missing_value() -> None:
    rows = rates(table(), GREEN, ["site", "study_class"])
    assert [(row["site"], row["study_class"], row["n_studies"]) for row in rows] == [
        ("x", "abnormal", 1),
        ("x", "normal", 1),
        ("y", "abnormal", 1),
        ("y", "normal", 1),
        (None, "abnormal", 1),
    ]


def test_a_class_without_a_scored_study_has_no_rate() -> None:
    only_lost = table().query("outcome == 'failed'")
    (row,) = rates(only_lost, GREEN, ["study_class"])
    assert row["no_significant_error"] == {"k": 0, "n": 0, "rate": None, "low": None, "high": None}
    assert row["scores"]["green"]["mean"] is None


@pytest.mark.parametrize("by", [["ward"], [], ["study_class", "ward"]])
def test_an_unknown_field_is_refused(by: list[str]) -> None:
    with pytest.raises(JudgeError, match=r"ward|no field"):
        rates(table(), GREEN, by)


def test_worst_first_and_only_scored() -> None:
    rows = worst_rows(table(), GREEN, 10)
    assert [row["study_id"] for row in rows] == ["2", "3", "1"]
    assert rows[0]["categories"] == "abc"


def test_whole_numbers_stay_whole_beside_a_study_without_one() -> None:
    builder = TableBuilder(GREEN, ["site", "dose", "big"])
    read = Annotated(Annotation(errors=()))
    for row, fields in enumerate([(3, 0.5, 2**70), (None, None, None)]):
        named = dict(zip(("site", "dose", "big"), fields, strict=True))
        builder.add(Study(str(row), "x", "y", "normal", fields=named), read, counts(matched=1))
    built = builder.build()
    assert built["site"].tolist() == [3, pd.NA]
    assert built.to_csv(index=False).splitlines()[1].split(",")[3:6] == ["3", "0.5", str(2**70)]
