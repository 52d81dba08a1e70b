"""Services for the tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import chromium
from served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def shared_service(
    tmp_path_factory: pytest.TempPathFactory, judged_examples: Path
) -> Iterator[Served]:
    """A service over its own run `example-run`, whose figures the tests leave as they were."""
    folder = tmp_path_factory.mktemp("service")
    # Tests write reviews, which nobody else who reads `judged_examples` should meet.
    run = tmp_path_factory.mktemp("shared") / "example-run"
    shutil.copytree(judged_examples, run)
    with Served(folder, run, "--max-upload", 4) as running:
        yield running


@pytest.fixture(scope="module")
def browser(judged_examples: Path) -> Iterator[Browser]:
    """While it is up no run can be judged in this process, which has an event loop then."""
    assert judged_examples.is_dir()
    with chromium() as started:
        yield started
