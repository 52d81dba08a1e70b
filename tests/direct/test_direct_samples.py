"""Several answers to the same question: their mean and their spread, or no score."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from sampling_server import GONE, SamplingServer
from support import Invoke

from judge.running.folder import Run

IDS = [f"study-{at:04}" for at in range(4)]
SCORES: dict[str, list[float | str]] = {
    IDS[0]: [70, 80, 90],
    IDS[1]: [10, 10, 10],
    IDS[2]: [0, 100, 50],
    IDS[3]: [55.5, 66.5, 61],
}


@pytest.fixture
def both(tmp_path: Path) -> Path:
    path = tmp_path / "both.json"
    pairs = {key: {"report": f"{key}. Clear.", "prediction": "Effusion."} for key in IDS}
    path.write_text(json.dumps(pairs), "utf-8")
    return path


def asked(url: str, tmp_path: Path, out: str, *more: object) -> list[object]:
    how = ["--judge", "m", "--base-url", url, "--cache", tmp_path / "cache", "--reask", 0]
    return [*how, "--out", tmp_path / out, "--format", "json", *more]


def test_the_mean_and_the_spread_are_kept(invoke: Invoke, both: Path, tmp_path: Path) -> None:
    args = ("--temperature", 0.7, "--samples", 3)
    with SamplingServer(SCORES) as server:
        done = invoke("direct", both, *asked(server.url, tmp_path, "run", *args))
        assert done.exit_code == 0, done.stderr
        assert set(server.asked.values()) == {3}
        assert {body["temperature"] for body in server.bodies} == {0.7}
        again = invoke("direct", both, *asked(server.url, tmp_path, "again", *args))
        assert set(server.asked.values()) == {3}, "each answer has its own place in the cache"
    table = Run(tmp_path / "run").table().set_index("study_id")
    for key, given in SCORES.items():
        scores = [float(one) for one in given]
        assert table.loc[key, "direct"] == pytest.approx(sum(scores) / 3)
        assert table.loc[key, "spread"] == pytest.approx(stdev(scores))
        assert table.loc[key, "findings"] == pytest.approx(100 - sum(scores) / 3)
    data = json.loads(done.stdout)
    assert data["statistics"] == json.loads(again.stdout)["statistics"]
    assert "|samples:3|" in data["signature"]
    assert data["statistics"]["spread"]["value"] == pytest.approx(table["spread"].mean())
    text = invoke("audit", tmp_path / "run", IDS[0]).stdout
    assert "direct score 80" in text
    assert "spread of the answers: 10" in text
    assert "It is worth 70" in text
    before = (tmp_path / "run/studies.csv").read_bytes()
    done = invoke("rescore", tmp_path / "run")
    assert "0 of 4 studies read differently" in done.stderr
    assert (tmp_path / "run/studies.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("lacking", "outcome", "reason"),
    [
        ('{"reasons": "I cannot tell."}', "unparsed", "missing field"),
        (GONE, "failed", "content filter"),
    ],
)
def test_a_study_that_lacks_an_answer_has_no_score(
    invoke: Invoke, both: Path, tmp_path: Path, lacking: str, outcome: str, reason: str
) -> None:
    """No mean over fewer: a failure never becomes a score."""
    answers: dict[str, list[float | str]] = {**SCORES, IDS[2]: [20, lacking, 30]}
    args = ("--temperature", 0.7, "--samples", 3, "--min-coverage", 0)
    with SamplingServer(answers) as server:
        done = invoke("direct", both, *asked(server.url, tmp_path, "run", *args))
    assert done.exit_code == 0, done.stderr
    run = Run(tmp_path / "run")
    record: Any = run.record(IDS[2])
    assert (record["outcome"], record["reason"], record["measures"]) == (outcome, reason, None)
    assert "sample" in record["detail"]
    assert run.table()["direct"].isna().sum() == 1
    assert json.loads(done.stdout)["n_scored"] == 3


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ((), "would give the same answer 3 times"),
        (("--temperature", 0), "a --temperature above 0"),
        (("--temperature", 0.7, "--seed", 1), "no --seed"),
    ],
)
def test_the_same_answer_is_not_counted_several_times(
    invoke: Invoke, both: Path, how: tuple[object, ...], says: str
) -> None:
    done = invoke("direct", both, "--judge", "gpt-4o", "--samples", 3, "--dry-run", *how)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
