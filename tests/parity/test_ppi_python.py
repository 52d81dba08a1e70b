"""Corrected rates beside those of the package ppi-python."""

from __future__ import annotations

import numpy as np
import ppi_py
import pytest

from judge.stats.intervals import Z_95
from judge.stats.prediction_powered import corrected
from judge.stats.statistic import Rate

pytestmark = pytest.mark.ci
RATE = Rate("no_error", "no error", measures=("n",), higher_is_better=True)


@pytest.mark.parametrize(("n", "unread"), [(20, 100), (80, 160), (100, 30)])
@pytest.mark.parametrize("missed", [0.0, 0.1, 0.3, 0.5, 0.8])
def test_rates_are_those_of_ppi_python(n: int, unread: int, missed: float) -> None:
    rng = np.random.default_rng(n)
    truth = rng.random(n + unread) < 0.4
    wrong = rng.random(n + unread) < np.where(truth, missed, 0.1)
    f, y = (truth ^ wrong).astype(float), truth.astype(float)
    y[n:] = np.nan
    ours = corrected(f, y, RATE)
    value = ppi_py.ppi_mean_pointestimate(y[:n], f[:n], f[n:]).item()
    assert ours.value == pytest.approx(min(1.0, max(0.0, value)), abs=1e-12)
    low, high = ppi_py.ppi_mean_ci(y[:n], f[:n], f[n:], alpha=0.05, lam=ours.weight)
    # The package divides by n, we by n - 1, and we allow for more errors of the judge.
    variance = ((high - low).item() / 2 / Z_95) ** 2
    wider = np.var(y[:n]) / (n - 1) * n / (n + ours.worth)
    wrong = np.mean((y[:n] - f[:n]) ** 2)
    allowed = (n * wrong + 3.8415 / 2) / (n + 3.8415)
    added = ours.weight**2 * max(0, allowed - wrong) / n
    if ours.worth > 1e-6:
        assert wider - added == pytest.approx(variance, rel=1.5 / min(n, unread))
