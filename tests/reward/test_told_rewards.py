"""What the judge is told beside the reports: columns in TRL, keys of `extra_info` in verl."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

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
