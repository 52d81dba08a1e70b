"""Correlations against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panels import COST, INVERSE, RATE, SCORE, panel_of
from scipy import stats

from judge.stats.correlation import correlation, correlations

MEASURES = [
    ("pearson", stats.pearsonr),
    ("spearman", stats.spearmanr),
    ("kendall", stats.kendalltau),
]


@pytest.mark.parametrize(("method", "theirs"), MEASURES)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=60)
)
def test_against_scipy_with_ties(method, theirs, pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=float).T
    ((xx, xy), (yx, yy)) = correlation([x, y], method)
    assert xx == (None if len(set(x)) == 1 else 1)
    assert yy == (None if len(set(y)) == 1 else 1)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert xy is yx is None
    else:
        assert xy == yx == pytest.approx(theirs(x, y).statistic, abs=1e-9)


def test_agreement_is_positive_whatever_the_direction() -> None:
    rng = np.random.default_rng(3)
    good = rng.random((100, 2))
    found = correlations(panel_of({SCORE: good, INVERSE: 5 - good, RATE: good > 0.5}))
    assert found.names == ("score", "inverse")
    assert found.labels == ("score", "\N{MINUS SIGN} cost")
    assert found.pearson[0][1] == pytest.approx(1)
    assert found.kendall[1][0] == pytest.approx(1)
    assert found.n == ((200, 200), (200, 200))


def test_studies_with_one_value_only_are_left_out() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.random((50, 2)), rng.random((50, 2))
    one[:10], other[5:20, 0] = np.nan, np.nan
    found = correlations(panel_of({SCORE: one, COST: other}))
    both = ~(np.isnan(one) | np.isnan(other))
    assert found.n[0][1] == both.sum() == 70
    assert found.spearman[0][1] == pytest.approx(
        stats.spearmanr(one[both], -other[both]).statistic
    )


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_size_of_the_values_does_not_matter(scale: float) -> None:
    x, y = np.array([1.0, 2, 4, 5]), np.array([2.0, 1, 5, 4])
    wanted = pytest.approx(stats.pearsonr(x, y).statistic)
    assert correlation([scale * x, scale * y], "pearson")[0][1] == wanted
    close = 1e12 + np.array([0.0, 1, 3, 4])
    assert correlation([close, y], "pearson")[0][1] == wanted
