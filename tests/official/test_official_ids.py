"""The ids of a GREEN prompt are those that transformers 4.40.0 makes (see make_ids.py)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from judge import prompts
from judge.backends import local
from judge.backends.local import Encoder
from judge.prompts import Prompt
from judge.types import JudgeError

HERE = Path(__file__).parent
MADE = json.loads((HERE / "ids.json").read_text("utf-8"))
USER = MADE["template"].replace("$", "$$")
PROMPT = Prompt(
    name="stand-in",
    version=1,
    rubric="green",
    user=USER.replace("{text1}", "$reference").replace("{text2}", "$candidate"),
    words=300,
    layout=prompts.GREEN,
)


def encoder(folder: Path, prompt: Prompt = PROMPT) -> Encoder:
    return local.load_encoder(local.find(str(folder), {}), prompt)


def folder_of(tmp_path: Path, kind: str) -> Path:
    """A copy of a tokenizer with the configuration that every model has."""
    folder = tmp_path / kind
    shutil.copytree(HERE / "trained" / kind, folder)
    if not (folder / "config.json").exists():
        (folder / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    return folder


@pytest.mark.parametrize("kind", sorted(MADE["ids"]))
@pytest.mark.parametrize("case", sorted(MADE["cases"]))
def test_ids_are_those_of_the_official_pipeline(
    tmp_path: Path, kind: str, case: str
) -> None:
    reports = MADE["cases"][case]
    messages = PROMPT.messages(reports["reference"], reports["candidate"])
    assert (
        encoder(folder_of(tmp_path, kind)).encode(messages) == MADE["ids"][kind][case]
    )


def test_a_model_without_a_tokenizer_says_so(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", "utf-8")
    with pytest.raises(JudgeError, match=r"no tokenizer\.json"):
        encoder(tmp_path)
