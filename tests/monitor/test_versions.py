"""A new version of the model against the one before: by site, at a few looks only."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from feeds import day_of, judged_table, studies_of

from judge import rubrics
from judge.monitoring.models import VersionTestEntry
from judge.monitoring.versions import LOOKS, stratified_test, version_tests

GREEN = rubrics.load("green")


def test_of_one_site_the_test_of_shares_is_mantel_haenszels() -> None:
    """Chi-square without continuity correction, (N - 1) (ad - bc)^2 over the margins."""
    a, b, c, d = 30, 20, 45, 15
    values = np.repeat([1.0, 0.0, 1.0, 0.0], [a, b, c, d])
    is_new = np.repeat([True, True, False, False], [a, b, c, d])
    found = stratified_test(values, is_new, ["site"] * len(values))
    n = a + b + c + d
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    chi_square = (n - 1) * (a * d - b * c) ** 2 / margins
    assert found.p == pytest.approx(math.erfc(math.sqrt(chi_square / 2)))
    assert found.difference == pytest.approx(0.6 - 0.75)
    assert (found.value, found.baseline) == (0.6, 0.75)
    assert (found.n, found.n_earlier) == (50, 60)
    error = math.sqrt(0.24 * 50 / 49 / 50 + 0.1875 * 60 / 59 / 60)
    assert found.low == pytest.approx(-0.15 - 1.959964 * error)


def test_a_site_with_sicker_patients_counts_against_no_version() -> None:
    """The new version is used where errors are frequent, and is as good there as the old one."""
    sites, values, is_new = [], [], []
    for site, rate, n_new, n_old in (("ward", 0.5, 90, 10), ("clinic", 0.9, 10, 90)):
        for new, n in ((True, n_new), (False, n_old)):
            good = round(rate * n)
            values += [1.0] * good + [0.0] * (n - good)
            is_new += [new] * n
            sites += [site] * n
    together = stratified_test(
        np.array(values), np.array(is_new), ["one"] * len(values)
    )
    by_site = stratified_test(np.array(values), np.array(is_new), sites)
    assert together.p is not None
    assert together.p < 1e-6
    assert by_site.difference == pytest.approx(0)
    assert by_site.p == pytest.approx(1)


def test_sites_with_one_version_are_left_out_and_nothing_may_vary() -> None:
    values = np.array([1.0, 1.0, 0.0, 0.0])
    is_new = np.array([True, True, False, False])
    alone = stratified_test(values, is_new, ["a", "a", "b", "b"])
    assert (alone.n, alone.difference, alone.p) == (0, None, None)
    same = stratified_test(np.ones(4), is_new, ["a"] * 4)
    assert (same.difference, same.low, same.p) == (0.0, None, 1.0)


def table_of(new: list[list[int]], n_old_weeks: int = 10) -> pd.DataFrame:
    """Weeks of 40 studies by version 1, one in ten with an error, then those of version 2."""
    old = judged_table([(week, [1] * 4 + [0] * 36) for week in range(n_old_weeks)])
    later = judged_table(list(enumerate(new, n_old_weeks)))
    return pd.concat([old.assign(version="1"), later.assign(version="2")])


def entries(new: list[list[int]], until: str) -> list[VersionTestEntry]:
    return version_tests(studies_of(table_of(new), until), GREEN)


def test_a_new_version_is_tested_at_a_few_looks() -> None:
    worse = [[1] * 16 + [0] * 24] * 12
    found = entries(worse, day_of(30))
    looks = list(dict.fromkeys(test.period for test in found))
    # 40 studies a week: 50 after two weeks, 100 after three, 200 after five, 400 after ten.
    assert looks == ["2026-W13", "2026-W14", "2026-W16", "2026-W21"]
    first = {test.metric: test for test in found if test.period == looks[0]}
    rate = first["no_significant_error"]
    assert (rate.version, rate.earlier, rate.n, rate.n_earlier) == ("2", "1", 80, 320)
    assert (rate.value, rate.baseline, rate.verdict) == (0.6, 0.9, "worse")
    assert rate.alpha == pytest.approx(0.05 / len(LOOKS))
    assert rate.p is not None
    assert rate.p_holm is not None
    assert rate.p < rate.p_holm < rate.alpha
    assert first["green"].verdict == "worse"
    assert first["errors"].verdict == "worse"
    assert first["unscored"].verdict == "pass"
    # In the middle of the week of a look nothing is tested.
    assert entries(worse, day_of(11, 5)) == []
    assert entries(worse, day_of(12, 5)) == found[:4]


def test_a_better_version_and_too_few_studies_raise_no_alarm() -> None:
    better = entries([[0] * 40] * 2, day_of(30))
    assert {test.verdict for test in better} == {"pass"}
    few = version_tests(
        studies_of(table_of([[1] * 40] * 2, n_old_weeks=1), day_of(30)), GREEN
    )
    assert {test.verdict for test in few} == {"undecided"}
    assert few[0].reason == "fewer than 50 studies of a version"
    assert version_tests(studies_of(judged_table([(0, [0])]), day_of(9)), GREEN) == []
