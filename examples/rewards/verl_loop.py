"""Train a report model with the rewards that verl's own reward manager gives for verl_reward.py.

    pip install . verl         # from a checkout of judge
    python examples/rewards/verl_loop.py [STEPS]

verl's trainer needs Ray workers and a GPU. This has its road from the configuration to a reward,
verl's own code, and in place of the trainer a policy gradient in a dozen lines, on a CPU.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

import numpy as np
import torch
from omegaconf import OmegaConf
from toymodel import make, studies
from verl import DataProto
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase
from verl.trainer.ppo.reward import load_reward_manager

HERE = Path(__file__).resolve().parent
GROUP, LENGTH = 8, 4


def main(steps: int) -> list[float]:
    """Train so many steps; returns the mean reward of each."""
    logging.basicConfig(
        level=logging.WARNING
    )  # the reward says what it could not judge
    config = OmegaConf.load(HERE / "verl.yaml")
    config.reward.custom_reward_function.path = str(HERE / "verl_reward.py")
    rows = studies()
    model, tokenizer = make([text for row in rows for text in row.values()])
    manager = load_reward_manager(config, tokenizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    means = []
    for step in range(steps):
        batch = [
            row
            for at in range(4)
            for row in [rows[(4 * step + at) % len(rows)]] * GROUP
        ]
        asked = tokenizer([row["prompt"] for row in batch], return_tensors="pt")
        written = model.generate(
            input_ids=asked.input_ids,
            attention_mask=asked.attention_mask,
            do_sample=True,
            min_new_tokens=LENGTH,
            max_new_tokens=LENGTH,
        )
        answers = written[:, asked.input_ids.shape[1] :]
        data = DataProto.from_dict(
            tensors={
                "prompts": asked.input_ids,
                "responses": answers,
                "attention_mask": torch.ones_like(written),
            },
            non_tensors={
                "data_source": np.array(["examples"] * len(batch), dtype=object),
                "reward_model": np.array(
                    [{"ground_truth": row["report"]} for row in batch]
                ),
                "extra_info": np.array([{} for _ in batch]),
            },
        )
        rewards = manager.loop.run_until_complete(scores(manager, data))
        groups = rewards.view(-1, GROUP)
        gains = (groups - groups.mean(1, keepdim=True)) / (
            groups.std(1, keepdim=True) + 1e-4
        )
        logits = model(written).logits[:, -LENGTH - 1 : -1]
        chosen = logits.log_softmax(-1).gather(2, answers.unsqueeze(2)).sum((1, 2))
        loss = -(gains.view(-1) * chosen).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        means.append(float(rewards.mean()))
    return means


async def scores(manager: RewardManagerBase, data: DataProto) -> torch.Tensor:
    """Return the reward of each completion, all under way together as in verl's reward workers."""
    asked = (manager.run_single(data[at : at + 1]) for at in range(len(data)))
    return torch.tensor([one["reward_score"] for one in await asyncio.gather(*asked)])


if __name__ == "__main__":
    means = main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
    third = max(1, len(means) // 3)
    first, last = sum(means[:third]) / third, sum(means[-third:]) / third
    print(f"mean reward: first third {first:.2f}, last third {last:.2f}")
