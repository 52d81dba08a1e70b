"""Services for the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from served import Served
from support import EXAMPLES

from judge.cli import main


def pytest_ignore_collect() -> bool | None:
    """Leave these tests out where the extra is not installed."""
    try:
        import fastapi  # noqa: F401
    except ImportError:
        return True
    return None


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the built-in judge over the examples; nobody writes to it."""
    out = tmp_path_factory.mktemp("finished") / "examples"
    args = ["green", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", out]
    done = CliRunner().invoke(main, list(map(str, args)))
    assert done.exit_code == 0, done.stderr
    return out


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory: pytest.TempPathFactory, finished: Path) -> Iterator[Served]:
    """A service over the examples for tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("service")
    with Served(folder, finished, "--max-upload", 4) as running:
        yield running
