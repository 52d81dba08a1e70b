"""How many studies to read: the formula against a simulation, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import EXAMPLES, Invoke

from judge.readers import kept
from judge.readers.kept import MarkedItem, new_reading
from judge.running.folder import Run
from judge.stats.planning import plan


def table(both: int, judge: int, reader: int, neither: int) -> list[tuple[bool, float]]:
    """Studies read: both say yes, the judge alone, the reader alone, neither."""
    cells = ((True, 1.0, both), (True, 0.0, judge), (False, 1.0, reader), (False, 0.0, neither))
    return [(of, label) for of, label, n in cells for _ in range(n)]


def labels(share: float, n: int) -> list[bool]:
    return [at < share * n for at in range(n)]


def test_before_the_first_reading_it_is_the_worst_case() -> None:
    found = plan(labels(0.7, 5000), [], 5000, 0.1)
    assert found.needed == found.needed_alone == 385  # (2 x 1.96 / 0.1)^2 / 4 = 384.1
    assert found.reader_rate is found.agreement is found.width_now is None
    assert (found.n_read, found.judge_rate) == (0, 0.7)
    assert plan(labels(0.7, 200), [], 200, 0.1).needed is None


def test_a_judge_that_agrees_saves_readings_and_a_useless_one_costs_none() -> None:
    good = plan(labels(0.4, 5000), table(38, 2, 2, 58), 5000, 0.1)
    useless = plan(labels(0.4, 5000), table(16, 24, 24, 36), 5000, 0.1)
    contrary = plan(labels(0.4, 5000), table(2, 38, 38, 22), 5000, 0.1)
    assert good.needed is not None
    assert good.needed < 0.45 * good.needed_alone
    assert useless.needed == useless.needed_alone
    assert contrary.needed == contrary.needed_alone
    assert good.agreement == pytest.approx(0.96)
    assert good.reader_rate == pytest.approx(0.4)


def test_no_few_readings_promise_certainty() -> None:
    same = plan(labels(0.5, 1000), table(2, 0, 0, 2), 1000, 0.1)
    assert same.needed is not None
    assert same.needed > 100
    never = plan(labels(0.0, 1000), table(0, 0, 0, 10), 1000, 0.1)
    assert never.needed == never.needed_alone
    assert never.needed_alone > 100
    assert plan([], [], 50, 0.5).judge_rate is None


@given(
    st.tuples(*[st.integers(0, 30)] * 4),
    st.floats(0, 1),
    st.integers(1, 2000),
    st.floats(0.02, 0.9),
)
def test_whatever_was_seen_it_is_a_number_or_none(
    cells: tuple[int, int, int, int], share: float, n: int, width: float
) -> None:
    n_studies = n + sum(cells)
    found = plan(labels(share, n_studies), table(*cells), n_studies, width)
    assert found.needed is None or max(2, sum(cells)) <= found.needed <= n_studies
    assert found.width_now is None or 0 < found.width_now < 10
    if found.needed is not None and sum(cells) < found.needed <= found.needed_alone:
        assert found.width_now is None or found.width_now > width
    # The judge never makes it worse.
    if found.needed_alone <= n_studies:
        assert found.needed is not None
        assert found.needed <= max(found.needed_alone, sum(cells))


def test_several_readers_of_a_study_count_by_their_share() -> None:
    half = plan(labels(0.5, 100), [(True, 0.5), (False, 0.0)], 100, 0.3)
    assert half.reader_rate == 0.25
    assert half.agreement == 0.75


def test_with_so_many_readings_the_interval_is_as_narrow() -> None:
    """The spread of the corrected rate over 4,000 samples of the size that the plan names."""
    n_studies, width = 2000, 0.12
    cells = np.array([0.45, 0.15, 0.05, 0.35])  # both, the judge alone, the reader alone, neither
    found = plan(labels(0.6, n_studies), table(45, 15, 5, 35), n_studies, width)
    n, random = found.needed, np.random.default_rng(1)
    assert n is not None
    assert 100 < n < 200 < found.needed_alone
    estimates = []
    for _ in range(4000):
        of = random.choice(4, size=n_studies, p=cells)
        judge, reader = (of < 2).astype(float), ((of == 0) | (of == 2)).astype(float)
        read = slice(0, n)
        unread = judge[n:]
        cov = np.cov(reader[read], judge[read])[0, 1]
        tuning = np.clip(cov / ((1 + n / len(unread)) * judge.var()), 0, 1)
        estimates.append(tuning * unread.mean() + (reader[read] - tuning * judge[read]).mean())
    assert 2 * 1.96 * float(np.std(estimates)) == pytest.approx(width, rel=0.05)
    assert float(np.mean(estimates)) == pytest.approx(0.5, abs=0.003)


def _plan(invoke: Invoke, run: Path, *options: object) -> dict[str, object]:
    done = invoke("sample", run, "--plan", "--format", "json", *options)
    assert done.exit_code == 0, done.stderr
    (found,) = json.loads(done.stdout)["rates"]
    assert isinstance(found, dict)
    return found


def test_a_plan_from_readings_and_from_readers_runs(
    invoke: Invoke, example_run: Path, tmp_path: Path
) -> None:
    table_ = invoke("sample", example_run, "--plan")
    assert "over 15" in table_.stdout
    assert "no study was read yet: planned for the worst case" in table_.stderr
    assert _plan(invoke, example_run, "--width", 0.6)["needed"] == 11
    errors = {"category": ("a",), "significance": ("significant",)}
    for n, record in enumerate(Run(example_run).records()):
        wrong = [MarkedItem("error", errors)] * (record["measures"]["n_significant"] > 0)
        kept.append(example_run, new_reading("ash", record, wrong, done=n < 12))
    found = _plan(invoke, example_run, "--width", 0.6)
    assert (found["rate"], found["n_read"]) == ("no_significant_error", 12)
    assert found["agreement"] == 1.0
    assert found["needed"] == 12  # as many as were read: they do already
    assert math.isfinite(float(str(found["width_now"])))
    files = ("--section", "findings", "--out", tmp_path / "readers")
    assert invoke("import", "tidy", EXAMPLES / "readers/readings.csv", *files).exit_code == 0
    readers = [("--readings", tmp_path / "readers" / f"reader-{name}") for name in ("fern", "reed")]
    one = _plan(invoke, example_run, *readers[0])
    assert (one["n_read"], one["reader_rate"]) == (15, 0.4)
    two = _plan(invoke, example_run, *readers[0], *readers[1])
    assert two["n_read"] == 15
    assert two["reader_rate"] != one["reader_rate"]


def test_what_cannot_be_planned(invoke: Invoke, example_run: Path, tmp_path: Path) -> None:
    refs = {"ex-001": "Heart is normal."}
    for name in ("refs", "preds"):
        (tmp_path / f"{name}.json").write_text(json.dumps(refs))
    for ids, out in (("ex-001", "other"), ("zz", "apart")):
        for name in ("refs", "preds"):
            (tmp_path / f"{name}.json").write_text(json.dumps({ids: "Heart is normal."}))
        done = invoke("green", "preds.json", "refs.json", "--section", "report", "--out", out)
        assert done.exit_code == 0, done.stderr
    for options, words in (
        (("-n", 5), "--plan draws none"),
        (("--width", 0), "0"),
        (("--width", 1), "1"),
        (("--readings", "other"), "the candidate of study 'ex-001' is another"),
        (("--readings", "apart"), "have no study in common"),
    ):
        done = invoke("sample", example_run, "--plan", *options)
        assert done.exit_code == 2, options
        assert words in done.stderr
