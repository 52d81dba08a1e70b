"""What the judge is told beside the reports: columns in TRL, keys of `extra_info` in verl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from faultserver import Behaviour, FaultServer
from rewarding import Make, of_studies

from judge import JudgeError
from judge.reward import Reward


def test_the_judge_is_told_what_the_columns_say(made: Make) -> None:
    columns: dict[str, Any] = {
        **of_studies(0),
        "age": [81],
        "secret": ["not told"],
        "before": ["Old rib fracture."],
    }
    with FaultServer(Behaviour(record=True), rubric="crimson") as server:
        reward = made(rubric="crimson", prior_field="before", base_url=server.url)
        with pytest.raises(JudgeError, match="no field 'before'"):
            reward.trl()(prompts=[""], completions=["Clear."], reference=["Clear."])
        first = reward.trl()(prompts=[""], completions=["Clear."], **columns)
        second = reward.verl()(
            "set", "Clear.", of_studies(1)["reference"][0], {"age": 81, "before": None}
        )
        asked = [json.dumps(one) for one in server.requests()]
    assert all(isinstance(one, float) for one in (*first, second))
    assert len(asked) == 2
    assert ["81" in one for one in asked] == [True, True]
    assert ["Old rib fracture." in one for one in asked] == [True, False]
    assert not any("not told" in one for one in asked)


@pytest.mark.parametrize("name", ["before", "Before", "be-fore"])
def test_a_batch_without_an_earlier_report_is_no_mistake(name: str) -> None:
    with Reward(prior_field="before") as reward:
        found = reward.trl()(
            prompts=[""] * 2,
            completions=["No effusion."] * 2,
            reference=["No effusion."] * 2,
            **{name: [None, None]},
        )
        assert found == [1.0, 1.0]


def test_a_key_that_extra_info_lacks_is_told_as_nothing_and_said_once(
    made: Make, caplog: pytest.LogCaptureFixture
) -> None:
    told: dict[str, Any] = {"prior_field": "before", "context_fields": ["age"], "modality": "kind"}
    with FaultServer(Behaviour(record=True), rubric="crimson") as server:
        reward = made(rubric="crimson", base_url=server.url, **told).verl()
        for n, extra in enumerate([{}, {"Before": None, "age": "63"}, {"kind": "ct"}, None]):
            reward("set", "Clear.", of_studies(n)["reference"][0], extra)
        asked = [json.dumps(one) for one in server.requests()]
        with_code = made(rubric="crimson", base_url=server.url, modality="CT").verl()
        with_code("set", "Clear.", of_studies(0)["reference"][0], {})
    assert ["63" in one for one in asked] == [False, True, False, False]
    assert caplog.messages == [
        f"an extra_info has no {name!r}: nothing is told there (said once)"
        for name in ("age", "before", "kind")
    ]


@pytest.mark.parametrize(
    "age", [pd.Index([63]), pd.Series([63]), np.array([63]), (63,)], ids=lambda one: type(one)
)
def test_a_column_may_be_any_list(made: Make, age: object) -> None:
    with FaultServer(Behaviour(record=True), rubric="crimson") as server:
        reward = made(rubric="crimson", base_url=server.url).trl()
        reward(prompts=[""], completions=["Clear."], **of_studies(0), age=age)
        (asked,) = (json.dumps(one) for one in server.requests())
    assert "63" in asked


class Tensor:
    """What has values, and is no list of Python's."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[int]:
        return iter([63])


@pytest.mark.parametrize("column", [Tensor(), "63", b"6", {0: "63"}, 63], ids=lambda one: type(one))
def test_a_column_that_is_no_list_is_named_where_it_would_be_told(column: object) -> None:
    given: dict[str, Any] = {"prompts": [""], "completions": ["No effusion."]}
    kind = type(column).__name__
    with Reward(rubric="crimson", prior_field="before") as reward:
        for name in ("Age", "be_fore", "reference"):
            columns = {"reference": ["No effusion."], "before": [None], name: column}
            with pytest.raises(JudgeError, match=f"column '{name}' is no list but a {kind}: give"):
                reward.trl()(**given, **columns)
        told_nothing = {"reference": ["No effusion."], "before": [None], "trainer_state": column}
        assert reward.trl()(**given, **told_nothing) == [1.0]
