"""The page of a comparison, opened in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from browserhelp import chromium
from page_records import FIGURES, records_of
from seeded_comparison import seeded

from judge.report.compare_page.choice import wanted
from judge.report.compare_page.data import PageFigure
from judge.report.compare_page.file import page
from judge.stats.compare import Comparison


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@dataclass
class Opened:
    tab: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def texts(self, selector: str) -> list[str]:
        return [" ".join(text.split()) for text in self.tab.locator(selector).all_inner_texts()]

    def order(self) -> list[str]:
        return self.texts("#board tbody th")


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Iterator[Any]:
    tabs: list[Opened] = []

    def open_page(
        c: Comparison,
        *,
        most: int = 10_000,
        say: Any = str,
        width: int = 1400,
        scheme: str = "light",
        figures: tuple[PageFigure, ...] = FIGURES,
        hash_: str = "",
    ) -> Opened:
        commands = {(model, "green"): "judge audit runs/green" for model in c.panel.models}
        path = tmp_path / f"{len(tabs)}.html"
        records = records_of(wanted(c, most=most), say)
        path.write_text("".join(page(c, records, figures, commands)), "utf-8")
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        opened = Opened(tab)
        tab.on("console", lambda message: opened.said.append(message.text))
        tab.on("pageerror", lambda error: opened.said.append(str(error)))
        tab.on("request", lambda request: opened.asked.append(request.url))
        tab.goto(path.as_uri() + hash_)
        tab.wait_for_selector("#list p")
        tabs.append(opened)
        return opened

    yield open_page
    for opened in tabs:
        outside = [url for url in opened.asked if not url.startswith(("file:", "blob:"))]
        opened.tab.close()
        assert not opened.said
        assert not outside
        assert sum(url.startswith("file:") for url in opened.asked) == 1


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return seeded(3, 120, by=["study_class"], tests=True)
