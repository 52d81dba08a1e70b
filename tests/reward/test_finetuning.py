"""The recipe trains a judge on readings: the real TRL, a model of random weights, a real gate."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import EXAMPLES, ROOT

from judge.cli import main

pytestmark = pytest.mark.filterwarnings("ignore")
TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module", autouse=True)
def _recipe() -> Iterator[None]:
    """Put the recipe on the path, and import TRL while `tests/vllm` cannot be taken for vLLM."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sys, "path", [one for one in sys.path if Path(one) != ROOT / "tests"]
        )
        importlib.import_module("trl.trainer.sft_trainer")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES / "training"))
        yield


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, its readings, and the training data made of them."""
    folder = tmp_path_factory.mktemp("readings")
    refs = str(EXAMPLES / "refs.json")
    run(
        "green",
        str(EXAMPLES / "preds.json"),
        refs,
        "--section",
        "findings",
        folder / "run",
    )
    readings = (EXAMPLES / "readers" / "readings.jsonl").read_bytes()
    (folder / "run" / "readings.jsonl").write_bytes(readings)
    run("readers", "export", folder / "run", "--for-training", folder / "training")
    return folder


def run(*words: object) -> None:
    *first, out = words
    done = CliRunner().invoke(main, [*map(str, first), "--out", str(out)])
    assert done.exit_code == 0, done.stderr


def make_model(folder: Path, context: int) -> None:
    """Save an untrained model that reads and writes single bytes, with a chat template."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    known = {letter: at for at, letter in enumerate(["<pad>", "<end>", *letters])}
    tokenizer = Tokenizer(models.BPE(vocab=known, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>"
    )
    fast.chat_template = TEMPLATE
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(known),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=context,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)


def test_the_loss_falls_and_a_gate_asks_what_was_trained(
    training: Path, tmp_path: Path
) -> None:
    from finetune_judge import main as train

    make_model(tmp_path / "model", 8192)
    words = ["--model", str(tmp_path / "model"), "--out", str(tmp_path / "mine")]
    steps = ["--steps", "12", "--learning-rate", "0.01", "--cpu"]
    data = training / "training" / "train.jsonl"
    losses = train([str(data), *words, *steps])
    assert len(losses) == 12
    assert all(math.isfinite(loss) for loss in losses)
    assert sum(losses[-3:]) < sum(losses[:3])
    gate = [
        *("gate", "--judge", f"hf:{tmp_path / 'mine'}", "--prompt", "green"),
        *("--against", str(training / "run"), "--max-tokens", "8", "--reask", "0"),
        *("--readers", str(training / "training" / "held-out")),
        *("--out", str(tmp_path / "new"), "--format", "json"),
        *("--give-up-after", "0", "--cache", str(tmp_path / "cache")),
    ]
    done = CliRunner().invoke(main, gate)
    # Twelve steps teach no judge: it answers nothing that can be read, and that never passes.
    assert done.exit_code in (1, 3), done.stderr
    assert json.loads(done.stdout)["verdict"] != "pass"


def test_an_example_that_does_not_fit_the_model_is_refused(
    training: Path, tmp_path: Path
) -> None:
    from finetune_judge import main as train

    make_model(tmp_path / "model", 64)
    words = ["--model", str(tmp_path / "model"), "--out", str(tmp_path / "mine")]
    data = training / "training" / "train.jsonl"
    with pytest.raises(SystemExit, match="longer than the 64 tokens"):
        train([str(data), *words, "--steps", "1", "--cpu"])
    assert not (tmp_path / "mine").exists()
