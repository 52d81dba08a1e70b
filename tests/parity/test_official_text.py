"""The prompt that radeval ships is GREEN's official one."""

from __future__ import annotations

import os
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from support import Invoke

from judge import prompts


def test_the_text_that_radeval_ships_is_the_official_one(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_CONFIG", str(tmp_path / "config"))
    spec = PathFinder.find_spec("radeval")
    assert spec is not None
    copy = Path(str(spec.origin)).parent / "metrics" / "green_score" / "utils.py"
    result = invoke("prompts", "fetch", "green-official", "--from", copy)
    assert result.exit_code == 0, result.output
    prompt = prompts.load("green-official", os.environ)
    assert (prompt.words, prompt.layout) == (300, "green")
    (turn,) = prompt.messages("THE REFERENCE", "THE CANDIDATE")
    assert turn.content.index("THE REFERENCE") < turn.content.index("THE CANDIDATE")
