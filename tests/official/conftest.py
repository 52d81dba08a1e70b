"""Where official prompts are kept in these tests, and what they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from authors import STAND_INS

from judge.prompts import official


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder of the test's own; the stand-ins are the official prompts."""
    monkeypatch.setenv("JUDGE_CONFIG", str(tmp_path / "config"))
    monkeypatch.setattr(official, "HOST", "http://127.0.0.1:9")  # nobody is there
    monkeypatch.setenv(
        "NO_PROXY", "127.0.0.1"
    )  # no proxy between a test and its server
    for name, recipe in STAND_INS.items():
        monkeypatch.setitem(official.recipes(), name, recipe)
    return tmp_path / "config"
