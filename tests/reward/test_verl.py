"""verl's own loader and reward manager take the function, as its reward workers use them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support import EXAMPLES

from judge import JudgeError

pytestmark = pytest.mark.filterwarnings("ignore")
HEAD = "from judge.reward import Reward\n"


class Words:
    """A tokenizer of words, as much of one as a reward manager needs."""

    def __init__(self, words: list[str]) -> None:
        self._words = words

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        assert skip_special_tokens
        return " ".join(self._words[n] for n in ids.tolist())


def manager(path: Path, manager_name: str = "naive", **also: Any) -> Any:
    """verl's reward manager for a file, by the configuration of the example."""
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import load_reward_manager

    config = OmegaConf.load(EXAMPLES / "rewards" / "verl.yaml")
    config.reward.custom_reward_function.path = str(path)
    config.reward.custom_reward_function.update(also)
    config.reward.reward_manager.name = manager_name
    return load_reward_manager(config, Words(["No", "pneumothorax.", "<pad>"]))


def rewarded(of: Any, references: list[str]) -> list[Any]:
    """What verl's manager makes of the completion "No pneumothorax." beside each reference."""
    import numpy as np
    import torch
    from verl import DataProto

    n = len(references)
    attention = torch.ones((n, 5), dtype=torch.long)
    attention[:, -1] = 0
    data = DataProto.from_dict(
        tensors={
            "prompts": torch.zeros((n, 2), dtype=torch.long),
            "responses": torch.tensor([[0, 1, 2]] * n),
            "attention_mask": attention,
        },
        non_tensors={
            "data_source": np.array(["set"] * n, dtype=object),
            "reward_model": np.array([{"ground_truth": one} for one in references]),
            "extra_info": np.array([{} for _ in references]),
        },
    )

    async def all_of_them() -> list[Any]:
        asked = (of.run_single(data[at : at + 1]) for at in range(n))
        return await asyncio.gather(*asked, return_exceptions=True)

    return of.loop.run_until_complete(all_of_them())  # type: ignore[no-any-return]


def test_the_example_file_rewards_what_verl_passes() -> None:
    of = manager(EXAMPLES / "rewards" / "verl_reward.py")
    found = rewarded(
        of,
        ["No pneumothorax.", "Large pneumothorax.", "Kein Pneumothorax, kein Erguss."],
    )
    assert [one["reward_score"] for one in found[:2]] == [1.0, 0.0]
    assert isinstance(found[2], JudgeError)  # rules do not judge a report in German
    assert found[0]["reward_extra_info"] == {"acc": 1.0}


def test_the_example_trains_on_verls_rewards() -> None:
    from verl_loop import main

    means = main(20)
    assert len(means) == 20
    assert sum(means[-6:]) / 6 > sum(means[:6]) / 6 + 0.03
