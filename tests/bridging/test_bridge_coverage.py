"""The intervals of a bridge hold the truth as often as they say, between judges of known bias."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from types import ModuleType

import pytest
from support import ROOT


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return import_module("bench_bridge")


def shares(
    bench: ModuleType, name: str, repetitions: int
) -> tuple[dict[str, float], Counter[str]]:
    (scenario,) = [one for one in bench.SCENARIOS if name in one.name]
    truth = bench.truth_of(scenario)
    n: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for seed in range(repetitions):
        for what, is_hit in bench.covered(scenario, seed, truth, 300):
            n[what] += 1
            hits[what] += is_hit
    return {what: hits[what] / n[what] for what in n}, n


INTERVALS = ("shift", "restated", "difference")


def test_a_few_repetitions(bench: ModuleType) -> None:
    """Three models each, so that 15 repetitions are some 30 independent intervals or more."""
    found, _ = shares(bench, "100 of 400", 15)
    for what, share in found.items():
        if what.startswith(INTERVALS):
            assert share >= 0.75, (what, share)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["usual", "three studies per patient", "10% without"])
def test_intervals_cover_the_truth(bench: ModuleType, name: str) -> None:
    """Give or take 3.5 standard errors of 95% of the repetitions, and two points below."""
    repetitions = 60
    found, _ = shares(bench, name, repetitions)
    half = 3.5 * (0.95 * 0.05 / repetitions) ** 0.5
    for what, share in found.items():
        if what.startswith((*INTERVALS, "slope")):
            assert share >= 0.93 - half, (what, share)
    assert found["wrong answer"] <= 0.05 + half


@pytest.mark.ci
def test_the_same_judge_is_found_to_be_the_same(bench: ModuleType) -> None:
    found, n = shares(bench, "the same answers", 30)
    assert found["shift rate"] == found["shift count"] == 1
    assert n["answer yes"] == 90
    assert not n["answer no"]
