"""The stand-in for `vllm`, and the real one with a model that was taught."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import children
import pytest
from serving import Taught


@pytest.fixture(autouse=True)
def others() -> None:
    """What other tests left running, such as a browser's driver, is none of ours."""
    children.OTHERS.clear()
    children.OTHERS.update(children.below(os.getpid()))


@pytest.fixture
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An executable that stands in for `vllm`, where the program looks for it."""
    script = tmp_path / "vllm"
    code = Path(__file__).with_name("standin.py")
    script.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {code} "$@"\n', "utf-8"
    )
    script.chmod(0o700)
    monkeypatch.setenv("JUDGE_VLLM", str(script))
    return script


@pytest.fixture
def folder(taught_model: Taught, tmp_path: Path) -> Path:
    """A folder with the eight studies."""
    taught_model.write(tmp_path)
    return tmp_path
