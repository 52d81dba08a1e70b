"""The real TRL trains with the rewards, and does with None what docs/python.md says."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

from judge.reward import Reward

# The library's own, of its dependencies.
pytestmark = pytest.mark.filterwarnings("ignore")
GROUP = 4


@pytest.fixture(scope="module", autouse=True)
def _trl() -> None:
    """Import TRL while the folder `tests/vllm` cannot be taken for the library of that name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sys, "path", [one for one in sys.path if Path(one) != ROOT / "tests"]
        )
        importlib.import_module("trl.trainer.grpo_trainer")


def trainer(
    folder: Path, rewards: Any, rows: list[dict[str, Any]] | None = None, **config: Any
) -> Any:
    """A GRPO trainer of the example's toy model; batches hold two groups."""
    from datasets import Dataset
    from toymodel import make, studies
    from trl import GRPOConfig, GRPOTrainer

    known = studies()
    model, tokenizer = make([text for row in known for text in row.values()])
    return GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=rewards,
        train_dataset=Dataset.from_list(rows or known),
        args=GRPOConfig(
            output_dir=str(folder),
            **{
                "max_steps": 2,
                "per_device_train_batch_size": 2 * GROUP,
                "num_generations": GROUP,
                "max_completion_length": 4,
                "learning_rate": 0.01,
                "logging_steps": 1,
                "save_strategy": "no",
                "report_to": "none",
                "use_cpu": True,
                "bf16": False,
                "disable_tqdm": True,
                "shuffle_dataset": False,
                "seed": 0,
                **config,
            },
        ),
    )


def test_the_example_trains_and_the_reward_rises(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from trl_grpo import main

    means = main(24)
    assert len(means) == 24
    assert sum(means[-8:]) / 8 > sum(means[:8]) / 8 + 0.05
    printed = capsys.readouterr().out
    assert "768 completions were scored, 0 were not" in printed
    assert "reward:green" in printed


def test_trl_is_given_the_judges_rewards(tmp_path: Path) -> None:
    with Reward(rubric="fineradscore") as reward:
        of_trl = reward.trl("report")
        training = trainer(tmp_path, of_trl)
        training.train()
        logs = training._logs
        references = [
            row["report"] for row in training.train_dataset for _ in range(GROUP)
        ]
        expected = of_trl(
            prompts=list(logs["prompt"]),
            completions=list(logs["completion"]),
            report=references[: len(logs["completion"])],
        )
    got = list(logs["rewards"]["minus_fineradscore"])
    assert got == pytest.approx(expected)
    assert all(-4 <= one <= -1 for one in got)
    history = training.state.log_history
    assert history[0]["rewards/minus_fineradscore/unscored"] == 0


def test_one_without_a_reward_is_left_out_of_its_group(tmp_path: Path) -> None:
    with Reward(rubric="fineradscore", measure="fineradscore_sum") as reward:
        judged = reward.trl("report")

        def every_second(**given: Any) -> list[float | None]:
            references = [
                text if at % 2 else None for at, text in enumerate(given.pop("report"))
            ]
            return judged(**given, report=references)

        training = trainer(tmp_path, every_second, max_steps=1)
        training.train()
    logs = training._logs
    rewards = list(logs["rewards"]["every_second"])
    advantages = list(logs["advantages"])
    assert any(one != 0 for one in advantages)
    for start in range(0, len(rewards), GROUP):
        known = [one for one in rewards[start : start + GROUP] if not math.isnan(one)]
        assert len(known) == GROUP / 2
        mean = sum(known) / len(known)
        for one, advantage in zip(
            rewards[start : start + GROUP],
            advantages[start : start + GROUP],
            strict=True,
        ):
            # A silent 0 would have an advantage of its own, and shift the others' mean.
            assert advantage == 0 if math.isnan(one) else advantage * (one - mean) >= 0
        assert sum(advantages[start : start + GROUP]) == pytest.approx(0, abs=1e-3)
