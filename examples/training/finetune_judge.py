"""Fine-tune a judge on readings, with TRL.

    pip install trl
    judge readers export RUN --for-training --prompt green --out training
    python examples/training/finetune_judge.py training/train.jsonl --model MODEL --out my-judge
    judge gate --judge vllm:my-judge --prompt green --against RUN --readers training/held-out

`--prompt` is the same in the second and the last line: a judge knows the words that it was trained
on. Only the readers' answers are learnt, not the reports. MODEL is an instruct model, by its name
or its folder. For a model of several billion weights on one GPU, add a LoRA (`peft_config` of
`SFTTrainer`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer


def main(arguments: list[str] | None = None) -> list[float]:
    """Train, save model and tokenizer, and return the loss of each step."""
    options = parser().parse_args(arguments)
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModelForCausalLM.from_pretrained(options.model)
    rows = examples(options.examples)
    refuse_long(rows, tokenizer, model.config.max_position_embeddings)
    trainer = SFTTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(rows),
        args=SFTConfig(
            output_dir=str(options.out),
            num_train_epochs=options.epochs,
            max_steps=options.steps,
            per_device_train_batch_size=options.batch,
            learning_rate=options.learning_rate,
            # The loss is of the answers alone, and no example is cut.
            completion_only_loss=True,
            max_length=None,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            bf16=options.bf16,
            use_cpu=options.cpu,
            seed=options.seed,
        ),
    )
    trainer.train()
    trainer.save_model(str(options.out))
    tokenizer.save_pretrained(options.out)
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("examples", type=Path)
    made.add_argument("--model", required=True)
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--epochs", type=float, default=3)
    made.add_argument("--steps", type=int, default=-1, help="Stop after so many steps.")
    made.add_argument("--batch", type=int, default=1)
    made.add_argument("--learning-rate", type=float, default=1e-5)
    made.add_argument("--bf16", action="store_true")
    made.add_argument("--cpu", action="store_true")
    made.add_argument("--seed", type=int, default=1)
    return made


def examples(path: Path) -> list[dict[str, Any]]:
    """Return the question and the answer of each example, as TRL asks for them."""
    rows = []
    for line in path.read_text("utf-8").splitlines():
        *question, answer = json.loads(line)["messages"]
        rows.append({"prompt": question, "completion": [answer]})
    return rows


def refuse_long(rows: list[dict[str, Any]], tokenizer: Any, most: int) -> None:  # noqa: ANN401
    """End where an example does not fit the model: cut, it would teach an unfinished answer."""
    n_long = 0
    for row in rows:
        tokens = tokenizer.apply_chat_template(
            row["prompt"] + row["completion"], tokenize=True, return_dict=True
        )
        n_long += len(tokens["input_ids"]) > most
    if n_long:
        raise SystemExit(
            f"{n_long} of {len(rows)} examples are longer than the {most} tokens of the model; "
            "choose a model of a longer context"
        )


if __name__ == "__main__":
    main()
