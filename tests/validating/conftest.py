"""The examples that three readers read, and the built-in judge's run of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support import EXAMPLES

from judge.cli import main


@pytest.fixture(scope="session")
def read_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `readers` and `judged`. Read it; do not write to it."""
    work = tmp_path_factory.mktemp("read-examples")
    tidy, readers = EXAMPLES / "readers" / "readings.csv", work / "readers"
    for words in (
        ("readers", "import", "tidy", tidy, "--section", "findings", "--out", readers),
        (
            "green",
            readers / "reader-fern",
            "--judge",
            "lexicon",
            "--out",
            work / "judged",
        ),
    ):
        done = CliRunner().invoke(main, list(map(str, words)))
        assert done.exit_code == 0, done.stderr
    return work
