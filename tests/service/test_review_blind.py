"""What other readers said in a review is hidden until a reader has spoken."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import chromium, ready, watch
from served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUN = "/v1/runs/mine"
HIDDEN = "2 others have said something; shown after yours"


@pytest.fixture
def service(tmp_path: Path, finished: Path) -> Iterator[Served]:
    with Served(tmp_path, shutil.copytree(finished, tmp_path / "mine")) as running:
        yield running


@pytest.fixture
def browser(service: Served) -> Iterator[Browser]:
    assert service.url  # the service is made first: its run is judged in this process
    with chromium() as started:
        yield started


def test_other_verdicts_are_shown_after_ones_own(service: Served, browser: Browser) -> None:
    study = service.client.get(f"{RUN}/study", params={"id": "ex-015"}).json()
    names = study["fingerprints"]
    assert len(names) > 1
    for reader, verdict in (("Moss", "wrong"), ("Fern", "wrong_severity")):
        for more in (
            *({"verdict": verdict, "error": name} for name in names),
            {"verdict": "comment", "comment": f"{reader} wrote this."},
            {"verdict": "missed", "text": f"{reader} missed this.", "categories": ["b"]},
        ):
            body = {"study_id": "ex-015", "reader": reader, **more}
            assert service.client.post(f"{RUN}/reviews", json=body).status_code == 201
    page = browser.new_context().new_page()
    seen = watch(page)
    page.goto(f"{service.url}/runs/mine#study=ex-015")
    ready(page)
    cards = page.locator(".errors .error")
    said = page.locator(".review .missed")

    def assert_hidden(text: str, n: int = 1) -> None:
        assert text.count(HIDDEN) == n
        assert not [word for word in ("Moss", "Fern") if word in text]

    for at in range(len(names)):
        assert_hidden(cards.nth(at).inner_text())
    assert_hidden(said.inner_text())
    page.keyboard.press("j")
    page.keyboard.press("a")
    page.fill("#reader-name", "Anna")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Moss: wrong")
    assert "Fern: wrong severity" in cards.nth(0).inner_text()
    assert_hidden(cards.nth(1).inner_text())
    assert_hidden(said.inner_text())
    # Taken back, it is hidden again.
    page.keyboard.press("u")
    page.wait_for_function(
        "(words) => document.querySelector('.errors .error').innerText.includes(words)", arg=HIDDEN
    )
    page.fill("#comment", "Half written")
    for at in range(len(names)):
        cards.nth(at).locator("[data-verdict=right]").click()
        page.wait_for_selector(f"#error-{at} [data-verdict=right][aria-pressed=true]")
    page.wait_for_selector("text=Moss missed this.")
    assert "Fern wrote this." in said.inner_text()
    assert HIDDEN not in page.content()
    assert page.locator("#comment").input_value() == "Half written"
    # One of the others sees their own words and not the third reader's.
    page.get_by_role("button", name="Change").click()
    page.fill("#reader-name", "Ivy")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=3 others have said something")
    assert "Moss" not in page.inner_text("main")
    seen.assert_quiet()
