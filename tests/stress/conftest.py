"""The page of a stress test in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browserhelp import WIDE, chromium, ready, watch
from stresspages import candidates, mixed, run


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stress")
    candidates(path)
    mixed(path)
    for name in ("clean", "mixed"):
        run("stress", "report", path / name, "--html", path / f"{name}.html")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture
def shown(browser: Any) -> Iterator[Any]:
    tabs = []

    def open_page(path: Path, pair: str = "", **given: Any) -> Any:
        tab = browser.new_page(**{"viewport": WIDE, **given})
        tabs.append((tab, watch(tab)))
        tab.goto(path.as_uri() + (f"#{pair}" if pair else ""))
        ready(tab)
        return tab

    yield open_page
    for tab, seen in tabs:
        seen.assert_quiet()
        assert not seen.outside("file:", "blob:")
        assert tab.evaluate("window.hacked") is None
        tab.close()
