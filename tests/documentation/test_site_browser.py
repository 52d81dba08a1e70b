"""The site in Chromium: quiet, accessible, as wide as the window, and searched offline."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import axe, chromium, watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FIRST = ""
PAGES = (
    *(FIRST, "tutorial/", "compared/", "reference/commands/", "reference/commands/rubric/"),
    *("reference/python/annotate/", "reference/files/annotations/", "reference/rubrics/green/"),
)


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = functools.partial(_Handler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        serving.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.mark.parametrize("width", [1280, 380])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_quiet_and_accessible(
    browser: Browser, address: str, width: int, scheme: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    seen = watch(page)
    for name in PAGES:
        page.goto(address + name)
        page.wait_for_function("typeof document$ !== 'undefined'")
        assert page.locator("h1").count() == 1
        shown = page.evaluate("document.body.dataset.mdColorScheme")
        assert shown == ("slate" if scheme == "dark" else "default")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert axe(page) == [], name
    seen.assert_quiet()
    assert seen.outside(address) == []
    page.close()


def test_search_finds_an_option_without_a_network(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    seen = watch(page)
    page.goto(address + FIRST)
    page.wait_for_function("typeof document$ !== 'undefined'")
    page.locator("input.md-search__input").click()
    page.keyboard.type("max-outage")
    # The whole word: what is found for its first letters are other pages.
    result = "a.md-search-result__link[href*='reference/commands'][href*='h=max+outage']"
    found = page.locator(result).first
    found.wait_for(timeout=20_000)
    found.click()
    page.wait_for_url("**/reference/commands/**")
    assert "--max-outage" in page.locator("article").inner_text()
    seen.assert_quiet()
    assert seen.outside(address) == []
    page.close()
