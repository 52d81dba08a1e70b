"""Train a report model on GREEN with TRL's GRPO, the built-in judge as reward.

    pip install . trl          # from a checkout of judge
    python examples/rewards/trl_grpo.py [STEPS]

Takes half a minute on a CPU. Your own data, model and judge take a change each: (1) to (3).
"""

from __future__ import annotations

import logging
import sys
import tempfile

from datasets import Dataset
from toymodel import make, studies
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from judge.reward import Reward


def main(steps: int) -> list[float]:
    """Train so many steps; returns the mean reward of each."""
    logging.basicConfig(
        level=logging.WARNING
    )  # the reward says what it could not judge
    rows = studies()  # (1) your prompts, with the radiologist's report in a column
    model, tokenizer = make(
        [text for row in rows for text in row.values()]
    )  # (2) your model
    with (
        Reward(
            rubric="green", judge="lexicon"
        ) as reward,  # (3) judge="vllm:..." or "gpt-6-luna"
        tempfile.TemporaryDirectory() as folder,
    ):
        trainer = GRPOTrainer(
            model=model,
            processing_class=tokenizer,
            reward_funcs=reward.trl("report"),
            train_dataset=Dataset.from_list(rows),
            args=GRPOConfig(
                output_dir=folder,
                max_steps=steps,
                per_device_train_batch_size=32,
                num_generations=8,
                max_completion_length=4,
                learning_rate=0.01,
                logging_steps=1,
                save_strategy="no",
                report_to="none",
                use_cpu=True,
                bf16=False,
                disable_tqdm=True,
                seed=0,
            ),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        print(
            f"{reward.n_scored} completions were scored, {reward.unscored.total()} were not"
        )
        print(f"by {reward.signature}")
    return [row["reward"] for row in trainer.state.log_history if "reward" in row]


if __name__ == "__main__":
    means = main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
    third = max(1, len(means) // 3)
    first, last = sum(means[:third]) / third, sum(means[-third:]) / third
    print(f"mean reward: first third {first:.2f}, last third {last:.2f}")
