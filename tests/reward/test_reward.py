"""Rewards are the judge's measures, never a 0 for what it could not judge, and asked for once."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from faultserver import Behaviour, Fault, FaultServer, always
from rewarding import Last, Make, examples, expected, of_studies
from support import with_rules

import judge
from judge import JudgeError, RequestPolicy, RunStoppedError, annotate, rubrics
from judge.reward import Reward

NO_REWARDS = {
    "counts": set(),
    "crimson": {
        *("n_urgent_reference", "n_urgent_candidate"),
        *("reference_weight", "matched_weight", "false_weight", "missing_weight"),
        *("n_reference_findings", "n_candidate_findings", "n_matches"),
    },
    "attributes": {
        "n_reference_findings",
        "n_candidate_findings",
        "n_matches",
        "n_urgent_reference",
        "n_urgent_candidate",
        "location_right",
        "side_right",
        "size_right",
        "severity_right",
        "morphology_right",
        "certainty_right",
        "comparison_right",
    },
    "facts": {
        *("n_reference", "n_reference_not_mentioned", "n_reference_contradicted"),
        *("n_candidate", "n_candidate_not_mentioned"),
    },
    "fineradscore": {"closeness_candidate", "closeness_corrected"},
    "green": {"n_matched"},
}
"""Of which more or less says nothing of how good a report is, or that are checks."""


@pytest.mark.parametrize("rubric", sorted({*with_rules()} & {*rubrics.built_in()}))
def test_a_reward_is_the_measure_and_more_is_better(rubric: str) -> None:
    references, candidates = examples()
    table = annotate(references, candidates, rubric=rubric)
    for measure in rubrics.load(rubric).measures:
        if measure.name in NO_REWARDS.get(rubric, ()):
            with pytest.raises(JudgeError, match="is no reward"):
                Reward(rubric=rubric, measure=measure.name)
            continue
        with Reward(rubric=rubric, measure=measure.name) as reward:
            found = reward.trl("report")(
                prompts=[""] * len(references),
                completions=candidates,
                report=references,
            )
        sign = 1 if measure.higher_is_better else -1
        wanted = [
            None if pd.isna(value) else sign * value for value in table[measure.name]
        ]
        assert found == wanted, measure.name
        assert all(one is None or str(one) != "-0.0" for one in found)
        assert reward.name == ("" if sign == 1 else "minus_") + measure.name


def test_what_has_no_reward_is_none_counted_and_logged(
    made: Make, server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.set_faults(
        studies={
            "study-0001": always(Fault.MALFORMED),
            "study-0002": always(Fault.TOO_LONG),
        }
    )
    reward = made()
    references = [*of_studies(0, 1, 2)["reference"], None, float("nan"), "___"]
    logged: dict[str, float] = {}
    found = reward.trl()(
        prompts=[""] * 6,
        completions=["Clear."] * 6,
        reference=references,
        log_metric=logged.__setitem__,
    )
    assert found == [expected(0), None, None, None, None, None]
    assert reward.unscored.total() == 5
    assert reward.unscored["no reference"] == 3
    assert {"unparsed", "failed"} <= {one.split(",")[0] for one in reward.unscored}
    assert reward.n_scored == 1
    assert logged == {"rewards/green/unscored": pytest.approx(5 / 6)}
    (message,) = caplog.messages
    assert message.startswith(
        "5 of 6 completions have no reward green (3 no reference; "
    )


@pytest.mark.parametrize("version", ["1.5.1", "1.6.0"])
def test_a_trl_that_makes_none_a_zero_needs_a_value(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"trl-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: trl\nVersion: {version}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    columns: dict[str, Any] = {
        "prompts": [""],
        "completions": ["a"],
        "reference": [None],
    }
    with Reward() as reward:
        assert reward.trl(unscored=-1)(**columns) == [-1.0]
        if version == "1.6.0":
            assert reward.trl()(**columns) == [None]
        else:
            with pytest.raises(JudgeError, match="unscored="):
                reward.trl()


def test_an_undefined_measure_is_none() -> None:
    with Reward(rubric="facts", measure="f1") as reward:
        found = reward.trl()(
            prompts=[""], completions=[""], reference=["Small effusion."]
        )
    assert found == [None]
    assert list(reward.unscored) == ["undefined, no fact in one of the reports"]


def test_verl_gets_an_error_or_the_value_that_the_user_set(
    made: Make, server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.set_faults(studies={"study-0001": always(Fault.MALFORMED)})
    lost = of_studies(1)["reference"][0]
    with pytest.raises(JudgeError, match=r"no reward green \(unparsed, .*unscored=0.0"):
        made().verl()("set", "Clear.", lost)
    with pytest.raises(JudgeError, match=r"\(no reference\)"):
        made().verl()("set", "Clear.", None)
    # Some of verl's reward managers make a 0 of an error without a word.
    assert [one.levelname for one in caplog.records] == ["ERROR"] * 2
    caplog.clear()
    assert made().verl(unscored=-0.5)("set", "Clear.", lost, extra_info=None) == -0.5
    assert "it gets -0.5" in caplog.messages[0]
    with pytest.raises(JudgeError, match="unscored must be a finite number"):
        made().verl(unscored=math.nan)
    score = made().verl()
    assert score(
        data_source="set",
        solution_str="Clear.",
        ground_truth=of_studies(0)["reference"][0],
        extra_info={"num_turns": 1, "rollout_reward_scores": {}},
        reward_router_address="elsewhere",
    ) == expected(0)


def test_a_batch_is_asked_together_and_nothing_twice(
    made: Make, server: FaultServer
) -> None:
    server.set_faults(latency=0.2)
    reward = made(policy=RequestPolicy(concurrency=32)).trl()
    group = [n for n in range(16) for _ in range(4)]
    found = reward(prompts=[""] * 64, completions=["Clear."] * 64, **of_studies(*group))
    assert found == [expected(n) for n in group]
    seen = server.stats()
    assert seen.requests == 16
    assert seen.in_flight_max > 1
    assert reward(prompts=[""], completions=["Clear."], **of_studies(3)) == [
        expected(3)
    ]
    # Another one, as in another process or after a restart, finds the answers on disk.
    again = made().trl()(
        prompts=[""] * 64, completions=["Clear."] * 64, **of_studies(*group)
    )
    assert again == found
    assert server.stats().requests == 16


def test_money_ends_for_all_calls_together(made: Make, server: FaultServer) -> None:
    limited = made(judge="gpt-4o", policy=RequestPolicy(max_cost=1e-9)).trl()
    for _ in range(2):
        with pytest.raises(RunStoppedError, match=r"max-cost|price"):
            limited(prompts=[""], completions=["Clear."], **of_studies(0))
    assert server.stats().requests == 0


def test_the_signature_names_what_made_the_rewards(made: Make) -> None:
    line = made(measure="n_significant", sampling={"seed": 7}).signature
    assert line.startswith("green:4|judge:model-x|prompt:green-structured@")
    assert "seed=7" in line
    assert f"|reward:minus_n_significant|version:{judge.__version__}" in line
    shown = Reward(
        rubric="crimson", context_fields=["age"], modality="ct", report=str.strip
    )
    assert "|context:['age']|modality:ct|reward:crimson(str.strip)|" in shown.signature
    assert "context" not in Reward(rubric="crimson").signature


def test_a_completion_without_a_report_has_no_reward(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def after_thought(text: str) -> str | None:
        return text.partition("</think>")[2] if "</think>" in text else None

    with Reward(report=after_thought) as reward:
        found = reward.trl()(
            prompts=[""] * 4,
            completions=[
                [{"role": "assistant", "content": "An effusion?</think>No effusion."}],
                *("No effusion.", "</think>", "No effusion."),
            ],
            reference=["No effusion.", "No effusion.", "No effusion.", None],
        )
        assert found == [1.0, None, 0.0, None]
        assert reward.unscored == {"no report in the completion": 1, "no reference": 1}
        assert "1 no report in the completion" in caplog.text
        with pytest.raises(JudgeError, match=r"\(no report in the completion\)"):
            reward.verl()("set", "No effusion.", "No effusion.")


def test_the_judge_is_shown_what_the_columns_hold(made: Make) -> None:
    columns: dict[str, Any] = {
        **of_studies(0),
        "age": [81],
        "secret": ["not shown"],
        "before": ["Old rib fracture."],
    }
    with FaultServer(Behaviour(record=True), rubric="crimson") as server:
        reward = made(
            rubric="crimson",
            context_fields=["age"],
            prior_field="before",
            base_url=server.url,
        )
        with pytest.raises(JudgeError, match="'before'"):
            reward.verl()("set", "Clear.", "Clear.", {"age": 81})
        with pytest.raises(JudgeError, match="2 values of 'before'"):
            reward.trl()(
                prompts=[""], completions=["C."], **{**columns, "before": ["a", "b"]}
            )
        first = reward.trl()(prompts=[""], completions=["Clear."], **columns)
        second = reward.verl()(
            "set", "Clear.", of_studies(1)["reference"][0], {"age": 81, "before": None}
        )
        # The only prior report is of a row without a reference.
        third = reward.trl()(
            prompts=[""] * 2,
            completions=["Clear."] * 2,
            reference=[None, of_studies(2)["reference"][0]],
            age=[81, 81],
            before=["Old rib fracture.", None],
        )
        asked = [json.dumps(one) for one in server.requests()]
    assert all(isinstance(one, float) for one in (*first, second))
    assert third[0] is None
    assert isinstance(third[1], float)
    assert len(asked) == 3
    assert ["81" in one for one in asked] == [True, True, True]
    assert ["Old rib fracture." in one for one in asked] == [True, False, False]
    assert not any("not shown" in one for one in asked)


@pytest.mark.ci
def test_a_process_ends_quietly_with_its_judge_open(
    server: FaultServer, tmp_path: Any
) -> None:
    program = (
        "from judge.reward import Reward\n"
        f"r = Reward(judge='model-x', base_url={server.url!r}, cache={str(tmp_path)!r})\n"
        "print(r.verl()('set', 'Clear.', 'study-0000. Clear.'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0
    assert float(done.stdout) == expected(0)
    assert "Traceback" not in done.stderr
    assert "Unclosed" not in done.stderr


def test_a_copy_for_another_process_is_made_of_the_same_arguments(made: Make) -> None:
    reward = made(report=Last(), measure="n_significant", policy=RequestPolicy(reask=0))
    asked = ("set", "REPORT: Clear.", of_studies(0)["reference"][0])
    found = reward.verl()(*asked)
    with pickle.loads(pickle.dumps(reward)) as copy:
        assert (copy.name, copy.signature) == (reward.name, reward.signature)
        assert copy.n_scored == 0
        assert copy.verl()(*asked) == found
        assert copy.n_scored == 1
