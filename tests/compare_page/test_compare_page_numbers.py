"""Every number on the page is the table's, rounded once, and the words say how it was tested."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from seeded_comparison import metrics_of, seeded, seeded_panel

from judge.report import leaderboard
from judge.stats.compare import Comparison, compare
from judge.stats.metric import Metric
from judge.stats.paired import Resampling
from judge.stats.panel import Panel

MINUS = "\N{MINUS SIGN}"
N = 16
"""Odd numbers over 16 have an exact half behind the third decimal, as have their percentages."""


def tied_panel() -> Panel:
    """Three models whose figures end in an exact half, and one metric of large values."""
    rng = np.random.default_rng(4)
    green = [m for m in metrics_of() if m.rubric == "green"]
    large = Metric("large", "large", "mean", higher_is_better=True, study_label="large",
                   study_higher_is_better=True)  # fmt: skip
    errors = np.zeros((N, 3))
    errors[:1, 0], errors[:3, 1], errors[:5, 2] = 1, 1, 1
    free = np.ones((N, 3))
    free[:1, 0], free[:5, 1], free[:9, 2] = 0, 0, 0
    values = {
        "green": rng.choice([1 / 16, 3 / 16, 5 / 16, 11 / 16, 1 / 3], (N, 3)),
        "green_errors": errors,
        "green_no_significant_error": free,
        "large": 1241.79 + rng.normal(0, 78, (N, 3)) / 3,
    }
    values["large"][3, 1] = np.nan
    classes = tuple("abnormal" if at % 2 else "normal" for at in range(N))
    ids = tuple(f"study-{at:02d}" for at in range(N))
    fields = {"study_class": classes}
    return Panel(("one", "two", "three"), ids, (*green, large), values, fields)


def compared(sort: str) -> Comparison:
    how = Resampling(seed=7, resamples=50, flips=200)
    return compare(tied_panel(), sort=sort, by=["study_class"], how=how)


def plain(text: str) -> str:
    return " ".join(text.replace(MINUS, "-").split())


def shown_board(tab: Any) -> list[list[str]]:
    rows = tab.locator("#board tbody tr").evaluate_all(
        """(rows) => rows.map((row) => [
          row.cells[0].textContent, row.querySelector("th").textContent,
          ...[...row.querySelectorAll(".numbers:has(.cell)")].map((cell) => [
            ...[...cell.querySelector(".cell").childNodes].filter((node) => node.nodeType === 3)
              .map((node) => node.data),
            ...[...cell.querySelectorAll(":scope > .small")].map((part) => part.textContent),
          ].join(" "))])"""
    )
    return [[plain(text) for text in row] for row in rows]


def shown_tests(tab: Any) -> dict[str, list[str]]:
    rows = tab.locator("#pairs tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return {row[0]: [plain(text) for text in row[1:7]] for row in rows}


@pytest.mark.parametrize("sort", ["green", "green_errors", "green_no_significant_error", "large"])
def test_every_number_is_that_of_the_table(shown: Any, sort: str) -> None:
    c = compared(sort)
    tab = shown(c).tab
    for at, group in enumerate(c.groups):
        label = tab.locator("#group option").nth(at).inner_text()
        tab.select_option("#group", label=label)
        rows = leaderboard.board(c, group, c.panel.metrics).rows
        expected = [[text.replace("(n ", "n = ").replace(")", "") for text in row] for row in rows]
        assert shown_board(tab) == expected
        for row in leaderboard.tests_table(c, at).rows:
            model, other, n, difference, p, holm, _ = row
            tab.select_option("#pairs-model", str(c.panel.models.index(model)))
            found = shown_tests(tab)[other]
            interval = found[1] if found[1] != "n/a" else ""
            assert f"{found[0]} {interval}".strip() == difference
            assert found[2:4] == [p, holm]
            assert found[5] == n


def test_the_data_have_ties_that_rounding_up_would_show_otherwise() -> None:
    c = compared("green_errors")
    texts = " ".join(leaderboard.board(c, c.groups[0], c.panel.metrics).rows[0])
    assert "0.062 [" in texts
    assert "93.8%" in texts
    table = leaderboard.tests_table(compared("green_no_significant_error"), 0)
    assert "0.062" in [row[4] for row in table.rows]


def test_a_difference_is_turned_as_the_table_would(shown: Any) -> None:
    c = compared("large")
    tab = shown(c).tab
    for name, tests in c.tests[0].items():
        metric = c.panel.metric(name)
        tab.select_option("#metric", name)
        for test in tests:
            for model, other, sign in ((test.a, test.b, 1), (test.b, test.a, -1)):
                tab.select_option("#pairs-model", str(model))
                found = shown_tests(tab)[c.panel.models[other]]
                assert tuple(found[:2]) == leaderboard.difference_and_interval(test, metric, sign)


def test_the_values_of_single_studies_are_rounded_as_in_python(shown: Any) -> None:
    c = compared("green")
    tab = shown(c).tab
    for name in ("green", "large"):
        values = c.panel.values[name]
        tab.select_option("#study-metric", name)
        tab.locator("#list .title", has_text=c.panel.metric(name).study_label).wait_for()
        tab.select_option("#model-a", "0")
        tab.select_option("#model-b", "2")
        tab.locator("#list thead th", has_text="B: three").wait_for()
        rows = tab.locator("#list tbody tr").evaluate_all(
            "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        assert len(rows) == N
        for study_id, _, *texts in rows:
            a, b = values[c.panel.study_ids.index(study_id)][[0, 2]]
            assert [plain(text) for text in texts] == [f"{x:.3f}" for x in (a, b, a - b)]
            assert "-" not in "".join(texts)


def test_correlations_are_those_of_the_table(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison).tab
    found = [plain(text) for text in tab.locator("#correlations tbody td").all_text_contents()]
    tables = leaderboard.correlation_tables(comparison)
    assert found == [text for table in tables for row in table.rows for text in row[1:]]


def by_patient(n_patients: int) -> Comparison:
    """Studies of `n_patients`; the last class of studies has no patient twice."""
    panel = seeded_panel(3, 60, fields=("study_class",))
    classes = tuple("several" if at < 40 else "single" for at in range(60))
    clusters = np.array([at % n_patients if at < 40 else 1000 + at for at in range(60)])
    fields = {"study_class": classes, "subject": tuple(map(str, clusters))}
    own = replace(panel, fields=fields, clusters=clusters, patient_field="subject")
    how = Resampling(seed=7, resamples=50, flips=200)
    return compare(own, sort="green", by=["study_class"], how=how)


def test_the_page_names_the_test_that_was_made(shown: Any) -> None:
    tab = shown(by_patient(12)).tab
    rate = "green_no_significant_error"
    words = "#pairs-table > p:last-child"
    assert "50 bootstrap resamples of whole patients (field subject), seed 7" in tab.inner_text(
        words
    )
    assert "p: sign-flip permutation test, 200 random flips, patient by patient." in tab.inner_text(
        words
    )
    tab.select_option("#metric", rate)
    assert "random flips, patient by patient." in tab.inner_text(words)
    assert "McNemar" not in tab.inner_text(words)
    tab.select_option("#group", label="study_class single (20)")
    assert "p: McNemar's test, mid-p (no patient has two studies here)." in tab.inner_text(words)
    assert "flips" not in tab.inner_text(words)


def test_without_patients_studies_are_resampled(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison).tab
    words = "#pairs-table > p:last-child"
    said = tab.inner_text(words)
    assert "50 bootstrap resamples of studies, seed 7." in said
    assert "p: sign-flip permutation test, 200 random flips, study by study." in said
    tab.select_option("#metric", "green_no_significant_error")
    assert "p: McNemar's test, mid-p." in tab.inner_text(words)
    assert "patient" not in tab.inner_text("#pairs")


def test_the_others_come_in_the_order_of_the_board(shown: Any) -> None:
    c = seeded(5, 80, tests=True)
    panel = replace(c.panel, models=tuple("edcba"))
    values = {name: column[:, [3, 0, 4, 1, 2]] for name, column in panel.values.items()}
    how = Resampling(seed=7, resamples=50, flips=200)
    tab = shown(compare(replace(panel, values=values), sort="green", how=how))
    for metric in ("green", "green_errors"):
        tab.tab.select_option("#metric", metric)
        order = tab.order()
        for at, name in enumerate("edcba"):
            tab.tab.select_option("#pairs-model", str(at))
            assert tab.texts("#pairs tbody th") == [other for other in order if other != name]


def test_a_difference_that_rounds_to_nothing_has_no_minus() -> None:
    c = compared("green")
    test = replace(c.tests[0]["green"][0], difference=-0.0001, low=-0.0004, high=0.0)
    for sign in (1, -1):
        found = leaderboard.difference_and_interval(test, c.panel.metric("green"), sign)
        assert found == ("0.000", "[0.000, 0.000]")
