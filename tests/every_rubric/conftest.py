"""Two models judged by every rubric there is, the four toy ones among them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support import EXAMPLES, with_rules

from judge.cli import main

MODELS = {"model": EXAMPLES / "preds.json", "itself": EXAMPLES / "refs.json"}


@pytest.fixture(scope="session", params=with_rules())
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder named after its rubric, with a run of each model; nobody writes to it."""
    folder = tmp_path_factory.mktemp("judged") / str(request.param)
    for name, preds in MODELS.items():
        args = [request.param, preds, EXAMPLES / "refs.json", "--out", folder / name]
        done = CliRunner().invoke(main, list(map(str, args)))
        assert done.exit_code == 0, done.stderr
    return folder
