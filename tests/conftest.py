"""What the tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import settings
from support import EXAMPLES, SHARED, Invoke

from judge.cli import main

# No test is timed: how long an example takes is the machine's affair.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def shared() -> Path:
    """The folder of real reports, which is not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("the shared real reports are not here")
    return SHARED


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run the command line in an empty folder: `invoke("green", preds, refs)`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def call(*args: object, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(main, list(map(str, args)), input=stdin)

    return call


@pytest.fixture
def example_run(invoke: Invoke, tmp_path: Path) -> Path:
    """A run of the built-in judge over the example studies."""
    out = tmp_path / "example-run"
    done = invoke("green", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", out)
    assert done.exit_code == 0, done.stderr
    return out
