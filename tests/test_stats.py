"""Intervals, the table of studies and what is said of a set."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from judge import rubrics
from judge.stats.correlation import correlation
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    Z_95,
    inverse,
    mean_interval,
    ratio_interval,
    wilson,
)
from judge.stats.summary import TableBuilder, summarise, worst_rows
from judge.types import (
    Annotation,
    Category,
    Failed,
    JudgeError,
    Measures,
    Scale,
    Scored,
    Study,
    Unparsed,
)

GREEN = rubrics.load("green")


def counts(
    significant: str = "", insignificant: str = "", matched: int = 0
) -> Measures:
    return {
        "green": matched / (matched + len(significant)) if matched else 0.0,
        "n_significant": len(significant),
        "n_insignificant": len(insignificant),
        "n_matched": matched,
        **{
            f"significant_{category}": significant.count(category)
            for category in Category
        },
        **{
            f"insignificant_{category}": insignificant.count(category)
            for category in Category
        },
    }


def table() -> pd.DataFrame:
    builder = TableBuilder(GREEN, ["site"])
    read = Scored(Annotation())
    odd = Scored(Annotation(warnings=("counts differ",)))
    rows = [
        ("1", "normal", "x", read, counts(matched=4)),
        ("2", "normal", "y", odd, counts("ab", "c", matched=2)),
        ("3", "abnormal", "x", read, counts("a", matched=0)),
        ("4", "abnormal", "y", Unparsed("empty"), None),
        ("5", "abnormal", None, Failed("timeout"), None),
    ]
    for study_id, study_class, site, outcome, row in rows:
        builder.add(
            Study(study_id, "r", "c", study_class, fields={"site": site}), outcome, row
        )
    return builder.build()


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_scipy(k_n: tuple[int, int]) -> None:
    k, n = k_n
    rate = wilson(k, n)
    expected = reference.binomtest(k, n).proportion_ci(0.95, method="wilson")
    assert rate.value == k / n
    assert rate.low == pytest.approx(expected.low, abs=1e-12)
    assert rate.high == pytest.approx(expected.high, abs=1e-12)
    assert 0 <= rate.low <= rate.value <= rate.high <= 1


SCALES: dict[str, Scale] = {
    "GREEN": (0.0, 1.0),
    "highest severity": (1.0, 4.0),
    "severity sum": (0.0, None),
    "less than nothing": (-1.0, 1.0),
}


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
@given(data=st.data())
def test_an_interval_stays_on_its_scale(scale: Scale, data: st.DataObject) -> None:
    low, high = scale
    most = 1e6 if high is None else high
    values = data.draw(
        st.lists(st.floats(low, most, allow_subnormal=False), min_size=2)
    )
    mean = mean_interval(values, scale)
    near = 1e-9 * max(1, abs(mean.value))
    assert low <= mean.low <= mean.value + near
    assert mean.value - near <= mean.high
    assert high is None or mean.high <= high
    assert mean.low < mean.high


def test_an_interval_does_not_leave_the_scale_where_the_normal_one_does() -> None:
    values = [1.0, 1.0, 1.0, 1.0, 0.0]
    assert mean_interval(values).high == pytest.approx(1.192)
    found = mean_interval(values, (0, 1))
    # logit(0.8) ± 1.96 · 0.2 / (0.8 · 0.2), turned back
    assert found.low == pytest.approx(1 / (1 + math.exp(-math.log(4) + Z_95 * 1.25)))
    assert found.high == pytest.approx(1 / (1 + math.exp(-math.log(4) - Z_95 * 1.25)))
    # log(2) ± 1.96 · (1 / √3) / 2
    counted = mean_interval([1.0, 2.0, 3.0], (0, None))
    assert counted.low == pytest.approx(2 * math.exp(-Z_95 / math.sqrt(3) / 2))
    assert counted.high == pytest.approx(2 * math.exp(Z_95 / math.sqrt(3) / 2))


@pytest.mark.parametrize("n", [2, 1000])
def test_studies_that_are_all_alike_have_an_interval_too(n: int) -> None:
    """What was not seen in n studies may be there in one of n: the interval is no point."""
    ends = ((1.0, (0, 1)), (0.0, (0, 1)), (4.0, (1, 4)), (1.0, (1, 4)))
    for value, scale in ends:
        at_end = mean_interval([value] * n, scale)
        whole = wilson(n if value == scale[1] else 0, n)
        width = scale[1] - scale[0]
        assert at_end.low == pytest.approx(scale[0] + width * (whole.low or 0))
        assert at_end.high == pytest.approx(scale[0] + width * (whole.high or 0))
    none = mean_interval([0.0] * n, (0, None))
    assert (none.low, none.high) == (0, pytest.approx(Z_95**2 / n))
    for value, wide in ((0.5, (0, 1)), (2.0, (1, 4)), (3.0, (0, None))):
        alike = mean_interval([value] * n, wide)
        assert wide[0] < alike.low < value < alike.high
        assert alike.high - alike.low < 12 / n


def test_a_reciprocal_stays_on_its_scale_and_covers_what_the_mean_covers() -> None:
    for values in ([4.0, 4.0, 4.0, 1.0], [1.0] * 4, [4.0] * 4, [1.0, 2.0]):
        mean = mean_interval(values, (1, 4))
        turned = inverse(mean, (1, 4))
        assert 0.25 <= turned.low < turned.high <= 1
        assert (1 / turned.high, 1 / turned.low) == pytest.approx((mean.low, mean.high))
    plain = inverse(mean_interval([1.0, 1.0, 1.0, 4.0]))
    assert plain.high > 1


def test_mean_interval_is_1_96_standard_errors() -> None:
    assert (mean_interval([0.5]).value, mean_interval([0.5]).low) == (0.5, None)
    assert mean_interval([]).value is None
    mean = mean_interval([0.0, 0.5, 1.0, 1.0])
    half = 1.96 * math.sqrt(((0.625**2) + (0.125**2) + 2 * (0.375**2)) / 3 / 4)
    assert mean.value == pytest.approx(0.625)
    assert mean.low == pytest.approx(0.625 - half)
    assert mean.high == pytest.approx(0.625 + half)


def test_a_score_goes_with_a_scored_study_only() -> None:
    builder = TableBuilder(GREEN, [])
    with pytest.raises(ValueError, match="scored study only"):
        builder.add(Study("1", "", ""), Unparsed("empty"), counts())
    with pytest.raises(ValueError, match="scored study only"):
        builder.add(Study("1", "", ""), Scored(Annotation()), None)


def test_summary_counts_what_was_not_scored_beside_the_rate() -> None:
    summary = summarise(table(), GREEN)
    assert [summary[f"n_{k}"] for k in ("studies", "scored", "unparsed", "failed")] == [
        5,
        3,
        1,
        1,
    ]
    assert summary["statistics"]["green"]["value"] == pytest.approx((1 + 0.5 + 0) / 3)
    abnormal, normal = summary["rates"]
    assert normal["study_class"] == "normal"
    rate = normal["statistics"]["no_significant_error"]
    assert (rate["k"], rate["n"]) == (1, 2)
    assert abnormal["n_studies"] == 3
    rate = abnormal["statistics"]["no_significant_error"]
    assert rate["n"] == abnormal["n_scored"] == 1
    assert rate["value"] == 0
    assert set(summary["statistics"]) == {one.name for one in GREEN.statistics}
    assert summary["reasons"] == {"unparsed: empty": 1, "failed: timeout": 1}
    assert summary["warnings"] == {"counts differ": 1}
    assert summary["totals"]["significant_a"] == {
        "n": 2,
        "per_study": pytest.approx(2 / 3),
    }
    assert summary["totals"]["insignificant_c"]["n"] == 1
    assert summary["totals"]["n_matched"] == {"n": 6, "per_study": 2.0}


def test_studies_without_an_annotation_have_no_number() -> None:
    lost = table().query("outcome != 'scored'")
    numbers = [
        c for c in lost if c == "green" or re.match("(n|significant|insignificant)_", c)
    ]
    assert len(numbers) == 16
    assert lost[numbers].isna().all().all()
    assert list(lost["reason"]) == ["empty", "timeout"]
    (row,) = summarise(lost, GREEN, ["study_class"])["rates"]
    none = {"n": 0, "value": None, "low": None, "high": None, "n_undefined": 0}
    assert row["statistics"]["no_significant_error"] == {**none, "k": 0}
    assert row["statistics"]["green"] == none


def test_bounds_are_the_figures_if_all_unread_were_best_or_worst() -> None:
    found = summarise(table(), GREEN)
    abnormal, normal = found["rates"]
    for block, score, rate in ((found, (1.5, 3.5), (1, 3)), (abnormal, (0, 2), (0, 2))):
        figures, n = block["statistics"], block["n_studies"]
        assert figures["green"]["bounds"] == pytest.approx([end / n for end in score])
        bounded = figures["no_significant_error"]["bounds"]
        assert bounded == pytest.approx([end / n for end in rate])
        assert "bounds" not in figures["errors"]
    assert all("bounds" not in one for one in normal["statistics"].values())
    # Of a reciprocal the best is the greatest.
    (turned,) = (s for s in rubrics.load("fineradscore").statistics if s.is_reversed)
    assert turned.bounds(Estimate(n=3, value=1 / 2), 1) == pytest.approx(
        (4 / 10, 4 / 7)
    )


def test_rates_by_two_fields_and_by_a_missing_value() -> None:
    rows = summarise(table(), GREEN, ["site,study_class", "study_class"])["rates"]
    assert [(row["study_class"], row["n_studies"]) for row in rows[5:]] == [
        ("abnormal", 3),
        ("normal", 2),
    ]
    assert [
        (row["site"], row["study_class"], row["n_studies"]) for row in rows[:5]
    ] == [
        ("x", "abnormal", 1),
        ("x", "normal", 1),
        ("y", "abnormal", 1),
        ("y", "normal", 1),
        (None, "abnormal", 1),
    ]
    for by in (["ward"], []):
        with pytest.raises(JudgeError, match=r"ward|no field"):
            summarise(table(), GREEN, by)


def test_worst_first_and_only_scored() -> None:
    rows = worst_rows(table(), GREEN, 10)
    assert [row["study_id"] for row in rows] == ["2", "3", "1"]
    assert rows[0]["categories"] == "abc"


def test_whole_numbers_stay_whole_beside_a_study_without_one() -> None:
    builder = TableBuilder(GREEN, ["site", "dose", "big"])
    read = Scored(Annotation())
    for row, fields in enumerate([(3, 0.5, 2**70), (None, None, None)]):
        named = dict(zip(("site", "dose", "big"), fields, strict=True))
        builder.add(
            Study(str(row), "x", "y", "normal", fields=named), read, counts(matched=1)
        )
    built = builder.build()
    assert built["site"].tolist() == [3, pd.NA]
    assert built.to_csv(index=False).splitlines()[1].split(",")[3:6] == [
        "3",
        "0.5",
        str(2**70),
    ]


def test_no_interval_has_a_width_of_nought() -> None:
    """Values that are all alike are no proof that others would be."""
    same = mean_interval([0.3] * 12)
    assert (same.value, same.low, same.high) == (pytest.approx(0.3), None, None)
    ratio = ratio_interval(np.full(9, 0.3), np.ones(9))
    assert (ratio.value, ratio.low) == (pytest.approx(0.3), None)


def test_values_that_differ_in_the_last_bit_are_ties() -> None:
    x = np.array([0.1 + 0.2, 0.3, 0.3, 0.5, 0.9])
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    for method in ("spearman", "kendall"):
        got, wanted = (correlation([a, y], method)[0][1] for a in (x, np.round(x, 9)))
        assert got == pytest.approx(wanted)


def test_a_summary_says_whose_intervals_they_are() -> None:
    builder = TableBuilder(GREEN, ["patient", "site"])
    for row in range(24):
        fields = {"patient": f"p{row // 2}", "site": row // 2 % 2}
        numbers = counts("a" * (row // 2 % 3), matched=2)
        builder.add(
            Study(str(row), "r", "c", "x", fields=fields),
            Scored(Annotation()),
            numbers,
        )
    by_patient = summarise(builder.build(), GREEN, ["site"])
    by_study = summarise(builder.build(), GREEN, ["site"], "none")
    assert (by_patient["intervals_by"], "intervals_by" in by_study) == (
        "patient",
        False,
    )
    sets = ([summary, *summary["rates"]] for summary in (by_patient, by_study))
    for wider, narrower in zip(*sets, strict=True):
        for name, narrow in narrower["statistics"].items():
            wide = wider["statistics"][name]
            assert wide["value"] == narrow["value"]
            assert wide["high"] - wide["low"] > narrow["high"] - narrow["low"]
    with pytest.raises(JudgeError, match="'ward'"):
        summarise(builder.build(), GREEN, ["site"], "ward")
