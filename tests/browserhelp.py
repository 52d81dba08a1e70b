"""A real browser for the tests, and what a page did in it.

`chromium()` gives Debian's Chromium, driven by Playwright; a test that asks for it is
skipped with the reason where either is absent, and fails where JUDGE_NEEDS_BROWSER is set.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import Browser, Page, expect, sync_playwright
except ImportError:  # the extra `browser`
    sync_playwright = expect = None
else:
    # How long a page takes is the machine's affair.
    expect.set_options(timeout=30_000)

WIDE = {"width": 1400, "height": 1000}
NARROW = {"width": 390, "height": 844}


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser; skips the test where there is none.

    For the tests of a module, not of a session: Playwright keeps an event loop running in this
    thread, in which nothing can be judged.
    """
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None or sync_playwright is None:
        lacking = "no browser: apt-get install chromium; pip install -e '.[browser]'"
        (pytest.fail if os.environ.get("JUDGE_NEEDS_BROWSER") else pytest.skip)(lacking)
    with sync_playwright() as started:
        # Containers run as root, where Chromium's own sandbox cannot start.
        browser = started.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watch:
    """What a page said and asked for: console messages, errors, dialogs, addresses."""

    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def outside(self, *allowed: str) -> list[str]:
        """The requests that begin with none of `allowed`."""
        return [url for url in self.requests if not url.startswith(allowed)]

    def assert_quiet(self) -> None:
        assert not self.errors
        assert not self.console
        assert not self.dialogs


def watch(page: Page) -> Watch:
    """Write down from now on what `page` does; warnings and errors of the console count."""
    seen = Watch()

    def console(message: Any) -> None:
        if message.type in ("error", "warning"):
            seen.console.append(f"{message.type}: {message.text}")

    def dialog(opened: Any) -> None:
        seen.dialogs.append(opened.message)
        opened.dismiss()

    page.on("console", console)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("dialog", dialog)
    page.on("request", lambda request: seen.requests.append(request.url))
    return seen


def axe(page: Page) -> list[str]:
    """Return what axe-core finds serious or critical on the page as it stands."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def axe_in_both_schemes(page: Page) -> list[str]:
    """Return what axe-core finds on the page as it stands, in light and in dark colours."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += axe(page)
    return found


def ready(page: Page) -> None:
    """Wait until the page has drawn itself."""
    page.wait_for_selector("html[data-ready]", timeout=30_000)
