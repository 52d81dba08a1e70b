"""Each printed number is that of the model, pair and metric that it stands beside."""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise

import numpy as np
import pytest
from panels import COST, INVERSE, RATE, SCORE, panel_of

from judge.report.leaderboard import correlation_tables, ranks_table
from judge.report.leaderboard import tests_table as table_of_tests
from judge.report.leaderboard_formats import as_csv, as_latex, as_rexrank, pairs_as_csv
from judge.stats.compare import Comparison, compare
from judge.stats.metric import KNOWN
from judge.stats.paired import Resampling

FEW = Resampling(1, resamples=100, flips=100)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def decimals(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"[-+]?\d+\.\d+", text)]


def is_printed(text: str, p: float | None) -> bool:
    """Whether `text` is this p, in three decimals or as too small for them."""
    assert p is not None
    if text.startswith("<"):
        return p < decimals(text)[0]
    return decimals(text) == pytest.approx([p], abs=6e-4)


@pytest.fixture
def by_cost() -> Comparison:
    """Three models by a metric of which less is better: b before a before c."""
    rng = np.random.default_rng(6)
    base, noise = rng.random((80, 1)), rng.normal(0, 0.2, (80, 3))
    cost = base + np.array([0.05, 0.0, 0.1]) + noise
    panel = panel_of({COST: cost, SCORE: rng.random((80, 3))})
    return compare(panel, how=Resampling(2, resamples=200, flips=500))


@pytest.fixture
def known() -> Comparison:
    """By BLEU-2 c is first, a and d are equal, b is last; by RadCliQ it is the other way round."""
    bleu = np.array([[0.5, 0.2, 0.9, 0.5], [0.7, 0.4, 0.8, 0.7], [0.6, 0.3, 0.7, 0.6]])
    return compare(panel_of({KNOWN["bleu2"]: bleu, KNOWN["radcliq"]: bleu + 1}), how=FEW)


# Tables


def test_a_difference_is_that_of_the_better_model_less_the_other(by_cost: Comparison) -> None:
    names = by_cost.panel.models
    rows = table_of_tests(by_cost, 0).rows
    assert [row[:2] for row in rows] == [("b", "a"), ("b", "c"), ("a", "c")]
    tests = {frozenset((names[t.a], names[t.b])): t for t in by_cost.tests[0]["cost"]}
    for one, other, n, difference, p, p_holm, method in rows:
        test = tests[frozenset((one, other))]
        assert test.difference is not None
        assert test.low is not None
        assert test.high is not None
        shown, *ends = decimals(difference)
        turned = names[test.a] != one
        wanted = (-test.high, -test.low) if turned else (test.low, test.high)
        assert shown == pytest.approx(-abs(test.difference), abs=6e-4)  # less is better
        assert ends == pytest.approx(wanted, abs=6e-4)
        assert (n, method) == (str(test.n), test.method)
        assert is_printed(p, test.p)
        assert is_printed(p_holm, test.p_holm)
    # A pair is turned and another is not, and p is not its own correction.
    assert any(t.p != t.p_holm for t in tests.values())
    assert {names.index(row[0]) < names.index(row[1]) for row in rows} == {True, False}


def test_a_rank_has_its_interval_and_the_shares_of_first_first_two_first_three(
    by_cost: Comparison,
) -> None:
    names = by_cost.panel.models
    rows = ranks_table(by_cost, 0).rows
    assert [row[:2] for row in rows] == [("b", "1"), ("a", "2"), ("c", "3")]
    for row in rows:
        found = by_cost.rank_shares[0]["cost"][names.index(row[0])]
        assert found is not None
        assert row[2] == f"{found.low} to {found.high}"
        shares = [100 * sum(found.shares[:top]) for top in (1, 2, 3)]
        assert [decimals(text)[0] for text in row[3:]] == pytest.approx(shares, abs=0.06)
    ends = [row[2].split(" to ") for row in rows]
    assert any(low != high for low, high in ends)


def test_a_difference_of_rates_is_in_points() -> None:
    # 40 of 50 studies less 10 of 50.
    values = np.array([[1, 0]] * 30 + [[1, 1]] * 10 + [[0, 0]] * 10, dtype=float)
    comparison = compare(panel_of({RATE: values}), how=FEW)
    (row,) = table_of_tests(comparison, 0).rows
    (test,) = comparison.tests[0]["rate"]
    assert test.low is not None
    assert test.high is not None
    assert row[3].startswith("+60.0 points [")
    wanted = [60, 100 * test.low, 100 * test.high]
    assert decimals(row[3]) == pytest.approx(wanted, abs=0.06)


def test_of_many_models_each_is_shown_with_the_next_in_rank() -> None:
    values = np.random.default_rng(9).random((60, 8))
    comparison = compare(panel_of({SCORE: values}), how=FEW)
    table = table_of_tests(comparison, 0)
    names = [comparison.panel.models[at] for at in comparison.order]
    assert [row[:2] for row in table.rows] == list(pairwise(names))
    assert table.title.endswith(", 7 of 28 pairs")


def test_each_table_of_correlations_is_of_its_measure() -> None:
    rng = np.random.default_rng(8)
    x = rng.random((50, 1))
    values = {SCORE: np.exp(5 * x), INVERSE: 2 - x + 0.3 * rng.random((50, 1))}
    comparison = compare(panel_of(values))
    found = comparison.correlations
    assert found is not None
    tables = {table.title.split(": ")[1]: table for table in correlation_tables(comparison)}
    shown = [tables[name].rows[0][2] for name in ("Pearson", "Spearman", "Kendall tau-b")]
    measures = (found.pearson, found.spearman, found.kendall)
    assert shown == [f"{matrix[0][1]:.2f}" for matrix in measures]
    assert len(set(shown)) == 3


def test_tables_of_correlations_say_over_how_many_pairs() -> None:
    values = np.random.default_rng(2).random((50, 2))
    some = np.where(np.arange(50)[:, None] < 20, values, np.nan)
    for other, n in ((values, "100"), (some, "40 to 100")):
        tables = correlation_tables(compare(panel_of({SCORE: values, INVERSE: 1 - other})))
        assert {table.title.split(": ")[0] for table in tables} == {
            f"Correlation over studies and models, n {n}"
        }


# For machines and papers


def test_models_stand_in_csv_by_rank_with_their_own_figures(known: Comparison) -> None:
    rows = [row for row in rows_of(as_csv(known)) if row["metric"] == "bleu2"]
    assert [(row["rank"], row["model"]) for row in rows] == [
        *(("1", "c"), ("2", "a"), ("2", "d"), ("4", "b"))
    ]
    assert [float(row["value"]) for row in rows] == pytest.approx([0.8, 0.6, 0.6, 0.3])
    rows = [row for row in rows_of(as_csv(known)) if row["metric"] == "radcliq"]
    assert [row["rank"] for row in rows] == ["4", "2", "2", "1"]


def test_ranks_stand_in_csv_with_their_interval_and_the_share_of_firsts(
    known: Comparison,
) -> None:
    for row in rows_of(as_csv(known)):
        shares = known.rank_shares[0][row["metric"]][known.panel.models.index(row["model"])]
        assert shares is not None
        assert (row["rank_low"], row["rank_high"]) == (str(shares.low), str(shares.high))
        assert float(row["first"]) == shares.shares[0]
    untested = rows_of(as_csv(compare(known.panel)))
    assert {(row["rank_low"], row["rank_high"], row["first"]) for row in untested} == {("", "", "")}


def test_models_with_equal_figures_share_their_rank_in_rexranks_table(known: Comparison) -> None:
    rows = rows_of(as_rexrank(known))
    assert [(row["Rank"], row["Model Name"], row["BLEU"]) for row in rows] == [
        *(("1", "c", "0.800"), ("2", "a", "0.600"), ("2", "d", "0.600"), ("4", "b", "0.300"))
    ]


def test_a_difference_in_csv_is_that_of_model_less_other(known: Comparison) -> None:
    figures = {(row["metric"], row["model"]): float(row["value"]) for row in rows_of(as_csv(known))}
    rows = rows_of(pairs_as_csv(known))
    assert len(rows) == 12
    for row in rows:
        one, other = (figures[row["metric"], row[name]] for name in ("model", "other"))
        difference = float(row["difference"])
        assert difference == pytest.approx(one - other)
        assert float(row["low"]) <= difference + 1e-9
        assert float(row["high"]) >= difference - 1e-9


def test_significant_in_csv_is_after_holms_correction() -> None:
    values = np.random.default_rng(0).normal(size=(40, 4)) + np.array([0, 0.45, 0.5, 0.1])
    rows = rows_of(pairs_as_csv(compare(panel_of({SCORE: values}), how=Resampling(1, 100, 2000))))
    assert any(float(row["p"]) < 0.05 <= float(row["p_holm"]) for row in rows)
    assert [row["significant"] for row in rows] == [
        str(float(row["p_holm"]) < 0.05) for row in rows
    ]


def test_latex_has_the_best_of_each_column_in_bold_and_nothing_else(known: Comparison) -> None:
    lines = [line for line in as_latex(known).splitlines() if line.endswith(r"\\")]
    cells = [[cell.strip() for cell in line.split("&")] for line in lines[1:5]]
    assert [line[1] for line in cells] == ["c", "a", "d", "b"]
    bold = {
        (line[1], column)
        for line in cells
        for column, cell in enumerate(line)
        if r"\textbf" in cell
    }
    assert bold == {("c", 2), ("b", 3)}
