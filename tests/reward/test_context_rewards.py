"""What the judge is told beside the reports: columns in TRL, keys of `extra_info` in verl."""

from __future__ import annotations

import json
from typing import Any

import pytest
from faultserver import Behaviour, FaultServer
from rewarding import Make, of_studies

from judge import JudgeError


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
