"""Repeats and prompts: what flips, how far scores and counts agree, what that does to a rate."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scriptedhelp import Answers, Said, at_random, by_text, judged, line, written

from judge.stats.reliability import intraclass, within_variance
from judge.stress.report import report_of
from judge.types import JudgeError

# Six targets by four judges [Shrout and Fleiss 1979, table 2].
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)


def test_the_published_example() -> None:
    found = intraclass(SHROUT_FLEISS)
    assert found.value == pytest.approx(0.17, abs=0.005)  # their table 4
    means = SHROUT_FLEISS.mean(axis=1)
    between = 4 * sum((one - means.mean()) ** 2 for one in means) / 5
    within = ((SHROUT_FLEISS - means[:, None]) ** 2).sum() / 18
    assert (between, within) == pytest.approx((11.24, 6.26), abs=0.01)  # their table 3
    from scipy.stats import f

    ratio = between / within
    low, high = ratio / f.ppf(0.975, 5, 18), ratio * f.ppf(0.975, 18, 5)
    ends = (low - 1) / (low + 3), (high - 1) / (high + 3)
    assert (found.low, found.high) == pytest.approx(ends)
    assert within_variance(SHROUT_FLEISS) == pytest.approx(within)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(2000):
        values = rng.normal(size=(30, 1)) + rng.normal(size=(30, 3))  # an ICC of one half
        found = intraclass(values)
        held += found.low < 0.5 < found.high  # type: ignore[operator]
    assert 0.935 < held / 2000 < 0.965


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([[1, 1], [1, 1]], (None, None, None)),  # nothing differs
        ([[1, 1], [2, 2], [0, 0]], (1.0, None, None)),
        ([[1, 2]], (None, None, None)),
        ([[1], [2]], (None, None, None)),
        ([[0, 2], [2, 0]], (-1.0, -1.0, None)),
    ],
)
def test_what_has_no_icc(values: list, wanted: tuple) -> None:
    found = intraclass(np.array(values, float))
    assert found.value == wanted[0]
    assert found.low == pytest.approx(wanted[1]) if wanted[1] else found.low is None
    assert (found.high is None) == (found.low is None)


def candidates(folder: Path, n_studies: int = 4, n_changes: int = 3) -> Path:
    names = ("identical", "reordered", "bulleted", "upper_case")[:n_changes]
    studies = [f"s{at}" for at in range(n_studies)]
    return written(folder, [line(s, name, "unchanged") for s in studies for name in names])


def said(folder: Path, made: Path, readings: list[Answers], *, prompts: list[str] | None = None):
    runs = [
        judged(made, folder / "runs" / str(at), of, repeat=0 if prompts else at, prompt=prompt)
        for at, of in enumerate(readings)
        for prompt in [prompts[at] if prompts else None]
    ]
    return report_of(runs, made).plain()


def test_repeats_by_hand(tmp_path: Path) -> None:
    """Four studies of three candidates; two candidates of one study flip, one answer is lost."""
    made = candidates(tmp_path / "made")
    grave: Said = [("a", 4)]
    answers: list[dict[str, Said]] = [
        {"identical s0.": grave, "reordered s0.": grave, "bulleted s3.": grave},
        {"reordered s0.": grave, "bulleted s3.": grave, "upper s9.": grave},
        {"identical s0.": grave, "bulleted s3.": [("a", 4), ("b", 1)], "identical s2.": "bad"},
    ]
    found = said(tmp_path, made, [by_text(one) for one in answers])
    one = found["stability"]["repeats"]
    assert found["repeats"] == 3
    assert found["stability"]["prompts"] is found["stability"]["why"] is None
    assert (one["n"], one["n_studies"], one["lost"]) == (11, 4, 1)
    assert (one["flips"]["k"], one["flips"]["n"]) == (2, 11)
    # The two are of one study: worth fewer than 11.
    p, sums = 2 / 11, [2 - 6 / 11, -6 / 11, -4 / 11, -6 / 11]
    worth = 11 / (4 / 3 * sum(x * x for x in sums) / 11 / (p * (1 - p)))
    z = 1.959963984540054
    middle = (p + z * z / 2 / worth) / (1 + z * z / worth)
    half = z / (1 + z * z / worth) * math.sqrt(p * (1 - p) / worth + z * z / 4 / worth**2)
    assert worth < 11
    ends = (one["flips"]["low"], one["flips"]["high"])
    assert ends == pytest.approx((middle - half, middle + half))
    # GREEN is 2 / (2 + 1) with the error and 1 without: two candidates move by a third.
    within = [np.var(v, ddof=1) for v in ([2 / 3, 1, 2 / 3], [2 / 3, 2 / 3, 1])]
    assert one["score_sd"] == pytest.approx(math.sqrt(sum(within) / 11))
    counts = np.zeros((11, 3))
    counts[0], counts[1], counts[2] = (1, 0, 1), (1, 1, 0), (1, 1, 2)
    assert one["icc"] == intraclass(counts).plain()
    clean = (1 / 3 + 1 / 3) / 11  # the mean variance of 0s and 1s: 1/3 of those that flip
    assert one["rate"]["k"] == 8  # of the first reading
    assert one["rate"]["again"] == pytest.approx(z * math.sqrt(clean / 11))
    mean = (2 * 1 / 3 + 8) / 11
    assert one["rate"]["share"] == pytest.approx(clean / (mean * (1 - mean)))
    assert [(each["of"], each["k"]) for each in one["rates"]] == [
        ("repeat 0", 8),
        ("repeat 1", 9),
        ("repeat 2", 9),
    ]
    assert any("2 of 11" in text and "flip" in text for text in found["verdict"])


def test_a_rate_read_again_moves_as_much_as_is_said(tmp_path: Path) -> None:
    """`again` of many readings, and the spread of the rates of these readings."""
    made = candidates(tmp_path / "made", 25, 4)
    readings = [at_random(seed, bad=0) for seed in range(40)]
    one = said(tmp_path, made, readings)["stability"]["repeats"]
    spread = np.std([each["rate"] for each in one["rates"]], ddof=1)
    assert 1.96 * spread == pytest.approx(one["rate"]["again"], rel=0.3)
    # All that is seen is chance here, which a rate that was read once holds already.
    assert one["rate"]["share"] == pytest.approx(1, abs=0.1)
    assert abs(one["icc"]["value"]) < 0.1


def test_a_judge_that_stands_still(tmp_path: Path) -> None:
    made = candidates(tmp_path / "made", 5)
    one = said(tmp_path, made, [at_random(1, bad=0)] * 2)["stability"]["repeats"]
    assert (one["flips"]["k"], one["flips"]["n"]) == (0, 15)
    # No flip in 15 candidates of 5 studies is worth no flip in 5.
    assert one["flips"]["high"] == pytest.approx(1.959963984540054**2 / (5 + 1.959963984540054**2))
    assert one["score_sd"] == 0
    assert one["icc"] == {"value": 1.0, "low": None, "high": None}
    assert (one["rate"]["again"], one["rate"]["share"]) == (0, 0)


def test_prompts_are_compared_by_their_first_reading(tmp_path: Path) -> None:
    made = candidates(tmp_path / "made")
    runs = [
        judged(made, tmp_path / f"{name}{at}", at_random(seed, bad=0), prompt=name, repeat=at)
        for seed, (name, at) in enumerate([("b", 0), ("a", 1), ("a", 0), ("b", 1)])
    ]
    found = report_of(runs, made).plain()
    assert found["prompts"] == ["b", "a"]
    assert [(one["prompt"], one["repeat"]) for one in found["runs"]] == [
        *(("b", 0), ("b", 1), ("a", 0), ("a", 1))
    ]
    assert found["stability"]["prompts"]["of"] == ["b", "a"]
    assert found["stability"]["prompts"]["rate"] is None  # they do not differ by chance alone
    assert found["stability"]["repeats"]["of"] == ["repeat 0", "repeat 1"]
    first = report_of(runs[0], made).plain()
    assert first["detection"] == found["detection"]
    assert first["false_alarms"] == found["false_alarms"]
    assert first["stability"]["repeats"] is first["stability"]["prompts"] is None
    assert "read once" in first["stability"]["why"]


def test_one_judge_and_no_reading_twice(tmp_path: Path) -> None:
    made = candidates(tmp_path / "made")
    one, twin = (judged(made, tmp_path / name, at_random(1)) for name in ("one", "twin"))
    other = judged(made, tmp_path / "other", at_random(1), name="other", repeat=1)
    fine = judged(made, tmp_path / "fine", at_random(1), rubric="fineradscore", repeat=1)
    with pytest.raises(JudgeError, match=r"one and .*twin are the same reading \(prompt none"):
        report_of([one, twin], made)
    with pytest.raises(JudgeError, match=r"two judges, scripted and other; .*judge compare takes"):
        report_of([one, other], made)
    with pytest.raises(JudgeError, match="two rubrics, green and fineradscore"):
        report_of([one, fine], made)
