"""What the tests of comparisons share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from judged_runs import COPIED, PREDS, judged

Two = tuple[Path, Path]


@pytest.fixture(scope="session")
def stock(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of two rubrics: `good` copies the references, `bad` is the examples. Read them only."""
    folder = tmp_path_factory.mktemp("stock")
    return {
        f"{rubric}-{name}": judged(folder, name, preds, rubric)
        for rubric in ("green", "fineradscore")
        for name, preds in (("good", COPIED), ("bad", PREDS))
    }


@pytest.fixture
def two(stock: dict[str, Path], tmp_path: Path) -> Two:
    """Copies of the runs of GREEN that the test may change."""
    good, bad = (
        shutil.copytree(stock[name], tmp_path / name)
        for name in ("green-good", "green-bad")
    )
    return good, bad


@pytest.fixture
def fine(stock: dict[str, Path]) -> Two:
    """The runs of FineRadScore. Read them only."""
    return stock["fineradscore-good"], stock["fineradscore-bad"]
