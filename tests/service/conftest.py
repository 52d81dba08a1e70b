"""Services for the tests."""

from __future__ import annotations

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
    """A service over the run `example-run`, for tests that leave that run as it was."""
    folder = tmp_path_factory.mktemp("service")
    with Served(folder, judged_examples, "--max-upload", 4) as running:
        yield running


@pytest.fixture(scope="module")
def browser(judged_examples: Path) -> Iterator[Browser]:
    """While it is up no run can be judged in this process, which has an event loop then."""
    assert judged_examples.is_dir()
    with chromium() as started:
        yield started
