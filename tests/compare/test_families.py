"""Which tests are corrected together, how often signs are flipped, and inverted tests."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from panels import COST, INVERSE, RATE, SCORE, metric_of, panel_of
from scipy import stats

from judge.stats.metric import Metric
from judge.stats.scores import ScoreMatrix
from judge.stats.significance import (
    FLIPS,
    FLIPS_A_TEST,
    Comparison,
    Resampling,
    compare,
    compare_pairs,
    holm,
    invert_flips,
    inverted_mcnemar,
    mcnemar,
    plan,
)
from judge.stats.statistic import Ratio
from judge.tables.comparison import comparison_document
from judge.tables.forms import as_csv
from judge.types import JudgeError

RNG = np.random.default_rng(29)
RATIO = metric_of(Ratio, "ratio", "errors per line", higher=False)


def by_site(family: str = "groups", primary: str | None = None) -> Comparison:
    values = RNG.random((90, 3)) + np.array([0.25, 0.1, 0])
    panel = panel_of({SCORE: values, COST: values**3}, site=["x", "y", "z"] * 30)
    how = Resampling(seed=2, resamples=100, flips=400, family=family, primary=primary)
    return compare(panel, by=["site"], how=how)


def p_values(comparison: Comparison, wanted) -> tuple[list[float], list[float]]:
    """The p-values of the wanted tests, by table and metric, plain and corrected."""
    tests = [
        test
        for table, pairs in enumerate(comparison.tests)
        for name, of_metric in pairs.items()
        if wanted(table, name)
        for test in of_metric
    ]
    return [test.p for test in tests], [test.p_holm for test in tests]


# Families


def test_groups_and_all_studies_have_half_of_five_percent_each() -> None:
    found = by_site()
    for is_group in (False, True):
        plain, corrected = p_values(
            found, lambda table, _, side=is_group: (table > 0) is side
        )
        assert len(plain) == (18 if is_group else 6)
        assert corrected == pytest.approx([min(1, 2 * p) for p in holm(plain)])
    assert "half of 5%" in found.correction
    # Without groups a table is corrected by itself.
    alone = compare(panel_of({SCORE: RNG.random((30, 3))}), how=Resampling(flips=200))
    plain, corrected = p_values(alone, lambda *_: True)
    assert corrected == holm(plain)


@pytest.mark.parametrize(
    ("family", "same"),
    [
        ("table", lambda table, _: table),
        ("metric", lambda table, name: (table, name)),
        ("all", lambda *_: 0),
    ],
)
def test_a_family_is_corrected_by_holm(family: str, same) -> None:
    found = by_site(family)
    places = [(table, name) for table in range(4) for name in ("score", "cost")]
    for key in {same(*place) for place in places}:
        plain, corrected = p_values(found, lambda *place, key=key: same(*place) == key)
        assert corrected == holm(plain)


@pytest.mark.parametrize("family", ["groups", "table", "all"])
def test_a_primary_metric_stands_alone_and_the_others_are_secondary(
    family: str,
) -> None:
    found = by_site(family, "cost")
    for name in ("score", "cost"):
        for tables in ([[0], [1, 2, 3]], [[0], [1], [2], [3]], [[0, 1, 2, 3]]):
            if len(tables) != {"groups": 2, "table": 4, "all": 1}[family]:
                continue
            for some in tables:
                plain, corrected = p_values(
                    found,
                    lambda table, metric, s=some, n=name: table in s and metric == n,
                )
                factor = 2 if family == "groups" else 1
                assert corrected == pytest.approx(
                    [min(1, factor * p) for p in holm(plain)]
                )
    assert (found.sort, found.how.role("cost")) == ("cost", "primary")
    titles = [table.title for table in comparison_document(found).tables]
    assert any(
        title.startswith("Differences in cost (primary metric)") for title in titles
    )
    text = as_csv(comparison_document(found, complete=True), "tests")
    assert {line.split(",")[-2] for line in text.splitlines()[1:]} == {
        "primary",
        "secondary",
    }
    assert "secondary" in found.correction


def test_a_primary_metric_is_found_by_its_label_or_refused() -> None:
    panel = panel_of({SCORE: RNG.random((20, 2)), INVERSE: 1 + RNG.random((20, 2))})
    assert (
        plan(panel.metrics, [panel], Resampling(primary="1/cost")).primary == "inverse"
    )
    with pytest.raises(JudgeError, match="'bleu'"):
        plan(panel.metrics, [panel], Resampling(primary="bleu"))
    with pytest.raises(JudgeError, match="family metric"):
        plan(panel.metrics, [panel], Resampling(primary="score", family="metric"))


# Flips


def planned(n: int, models: int, tables: int = 1, **how: object) -> Resampling:
    values = np.zeros((n, models))
    panel = panel_of({SCORE: values, COST: values})
    return plan(panel.metrics, [panel] * tables, Resampling(**how))


def test_flips_grow_with_the_tests_of_a_family() -> None:
    assert (planned(50, 4).flips, planned(50, 4).refined_flips) == (FLIPS, None)
    assert planned(50, 24).refined_flips == 110_000  # 552 tests
    assert planned(50, 24, primary="score").refined_flips == 55_000
    assert planned(50, 24, family="metric").refined_flips == 55_000
    assert planned(50, 24, tables=3).refined_flips == round(
        FLIPS_A_TEST * 2 * 2 * 552, -3
    )
    assert planned(50, 24, tables=3, family="table").refined_flips == 110_000
    # A number that is given is the number of each test.
    assert planned(50, 24, flips=300) == Resampling(flips=300)


def test_flips_end_at_a_minute_and_a_note_says_what_that_means() -> None:
    assert planned(100_000, 24).refined_flips == 110_000
    assert planned(400_000, 24).refined_flips < 50_000
    assert planned(400_000, 24, tables=20).refined_flips is None
    few = compare(panel_of({SCORE: RNG.random((20, 4))}), how=Resampling(flips=100))
    (note,) = [note for note in few.notes if "flips" in note]
    assert "--flips 120" in note
    assert not any(
        "flips" in note for note in compare(few.panel, how=Resampling()).notes
    )


def test_refined_p_values_are_those_of_all_flips_of_a_small_set() -> None:
    """Of 2**12 flips, 2 reach a difference that has one sign; the others are above 0.01."""
    apart = np.abs(RNG.normal(size=12)) + 0.1
    alike = RNG.normal(size=12)
    values = np.column_stack([apart, np.zeros(12), apart + alike - alike.mean()])
    how = Resampling(flips=FLIPS, refined_flips=200_000)
    first, between, _ = compare_pairs(panel_of({SCORE: values}), {}, how).pairs["score"]
    assert first.p == pytest.approx(2 / 4096, rel=0.3)
    assert first.p * 200_001 == pytest.approx(round(first.p * 200_001))
    assert between.p * (FLIPS + 1) == pytest.approx(round(between.p * (FLIPS + 1)))


@pytest.mark.parametrize("clustered", [False, True])
def test_sums_of_models_less_what_is_missing_are_those_of_pairs(
    clustered: bool,
) -> None:
    values = RNG.normal(size=(11, 4)) + np.array([0.5, 0.2, 0, -0.3])
    values[[0, 3], 0] = values[[3, 7], 1] = values[9, 2] = np.nan
    values[:, 3] = np.nan if clustered else values[:, 3]
    clusters = np.arange(11) // 2 if clustered else np.arange(11)
    panel = panel_of({SCORE: values}, clusters=clusters)
    signs = np.array(list(itertools.product((-1, 1), repeat=clusters.max() + 1)))[
        :, clusters
    ]
    for test in compare_pairs(panel, {}, Resampling(flips=20_000)).pairs["score"]:
        differences = values[:, test.a] - values[:, test.b]
        if np.isnan(differences).all():
            assert test.p is None
            continue
        sums = np.abs(signs @ np.nan_to_num(differences))
        exact = np.mean(sums >= abs(np.nansum(differences)) - 1e-9)
        assert test.p == pytest.approx(exact, abs=0.012)


# Inverted tests


def p_at(differences: np.ndarray, x: float, signs: np.ndarray) -> float:
    moved = differences - x
    return (1 + (np.abs(signs @ moved) >= abs(moved.sum()) - 1e-12).sum()) / (
        1 + len(signs)
    )


def test_the_inverted_interval_ends_where_the_test_begins_to_reject() -> None:
    for n in (10, 25):
        differences = RNG.exponential(size=n) ** 1.5 - 0.7
        signs = RNG.integers(0, 2, (999, n)) * 2.0 - 1
        low, high = invert_flips(
            differences.sum(), n, signs @ differences, signs @ np.ones(n)
        )
        assert low < differences.mean() < high
        for end, inward in ((low, 1e-9), (high, -1e-9)):
            assert p_at(differences, end + inward, signs) >= 0.05
            assert p_at(differences, end - inward, signs) < 0.05


def test_the_inverted_interval_of_normal_differences_is_about_students() -> None:
    differences = RNG.normal(0.3, 1, 80)
    signs = RNG.integers(0, 2, (20_000, 80)) * 2.0 - 1
    found = invert_flips(
        differences.sum(), 80, signs @ differences, signs @ np.ones(80)
    )
    assert found == pytest.approx(
        tuple(stats.ttest_1samp(differences, 0).confidence_interval()), abs=0.02
    )


def skewed_panels(metric: Metric) -> list[ScoreMatrix]:
    """Panels of a skewed and a constant model, of patients with one study or several."""
    panels = []
    for seed in range(60):
        random = np.random.default_rng([5, seed])
        n = int(random.integers(10, 25))
        skewed = 1 + random.exponential(1.0, n) ** 1.5
        if metric.kind == "rate":
            skewed = np.minimum(1.0, np.floor(skewed))
        values = np.column_stack([skewed, np.full(n, 2.3293)])
        if metric.kind == "rate":
            values = (random.random((n, 2)) < [0.95, 0.6]).astype(float)
        panel = panel_of(
            {metric: values}, clusters=random.integers(0, n, n) if seed % 2 else None
        )
        if metric.kind == "ratio":
            per = {metric.name: random.integers(1, 4, (n, 2)).astype(float)}
            panel = ScoreMatrix(
                panel.models, panel.study_ids, panel.metrics, panel.values, {}, per=per
            )
        panels.append(panel)
    return panels


@pytest.mark.parametrize(
    "metric", [SCORE, INVERSE, RATIO, RATE], ids=lambda metric: metric.kind
)
def test_interval_and_p_value_never_disagree(metric: Metric) -> None:
    n_inverted = 0
    for panel in skewed_panels(metric):
        (test,) = compare_pairs(panel, {}, Resampling(resamples=300, flips=499)).pairs[
            metric.name
        ]
        assert not test.contradicts
        if test.interval_by == "inverted test":
            n_inverted += 1
            assert test.low <= test.difference <= test.high
    assert n_inverted


@pytest.mark.parametrize(
    ("b", "c"), list(itertools.combinations_with_replacement(range(0, 14, 2), 2))
)
def test_the_inverted_mcnemar_interval_agrees_with_the_test(b: int, c: int) -> None:
    low, high = inverted_mcnemar(50, b, c)
    assert low <= (b - c) / 50 <= high
    assert (low <= 0 <= high) == (mcnemar(b, c) >= 0.05)
    assert inverted_mcnemar(50, c, b) == pytest.approx((-high, -low))
    if b + c:
        share = (high * 50 / (b + c) + 1) / 2
        x = stats.binom(b + c, share)
        assert (
            c == 0 or b == b + c or x.cdf(b - 1) + x.pmf(b) / 2 == pytest.approx(0.025)
        )


def test_a_few_undefined_resamples_are_left_out() -> None:
    """A ratio whose denominator is 0 in most studies: in two of forty, it has no interval."""
    n = 40
    for n_with, method in ((5, "paired bootstrap"), (2, None)):
        per = np.zeros((n, 2))
        per[:n_with] = 3
        top = np.where(per > 0, RNG.integers(0, 4, (n, 2)), 0.0)
        top[0] = 3, 0
        top[1] = 2, 3
        base = panel_of({RATIO: top})
        panel = ScoreMatrix(
            base.models,
            base.study_ids,
            base.metrics,
            base.values,
            {},
            per={RATIO.name: per},
        )
        (test,) = compare_pairs(panel, {}, Resampling(flips=2_000)).pairs[RATIO.name]
        assert test.interval_by == method
        assert (test.low is None) == (method is None)
        shares = compare_pairs(panel, {}, Resampling(flips=200)).rank_shares[RATIO.name]
        assert (shares[0] is None) == (n_with == 2)


# From the command line


def test_options_of_families(invoke, stock: dict[str, Path]) -> None:
    words = ("compare", stock["green-good"], stock["green-bad"], "--format", "json")
    found = invoke(*words, "--primary", "GREEN", "--family", "all")
    assert found.exit_code == 0, found.stderr
    data = json.loads(found.stdout)
    assert data["resampling"]["primary"] == "green"
    assert "family:all|primary:green" in data["signature"]
    roles = {
        name: tests[0]["role"] for name, tests in data["groups"][0]["tests"].items()
    }
    assert roles.pop("green") == "primary"
    assert set(roles.values()) == {"secondary"}
    for options in (
        ("--primary", "GREEN", "--family", "metric"),
        ("--primary", "GREEN", "--no-tests"),
        ("--family", "all", "--no-tests"),
        ("--primary", "nothing"),
    ):
        done = invoke(*words, *options)
        assert (done.exit_code, done.stdout) == (2, "")
