"""An afternoon of a radiologist: twenty blind readings, ten reviews and one comparison.

At a desk by keyboard, on a phone by touch, and by mouse; light and dark. No page says anything in
the console, axe finds nothing, and what was meant is what is kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import NARROW, WIDE, Watch, axe, ready, watch
from served import Served, all_events, until

from judge.readers import annotation_store as store

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

N_READ, N_REVIEWED = 20, 10
IDS = [f"s{at:02}" for at in range(N_READ)]
SIDES = ("left", "right")
pytestmark = pytest.mark.ci


def command(folder: Path, *words: str) -> None:
    program = [sys.executable, "-m", "judge", *words]
    subprocess.run(program, check=True, cwd=folder, capture_output=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of which one always has the wrong side, both judged; all studies are drawn."""
    made = tmp_path_factory.mktemp("afternoon")
    rest = "The heart is normal in size."
    refs = dict.fromkeys(IDS, f"Small left pleural effusion. {rest}")
    (made / "refs.json").write_text(json.dumps(refs), "utf-8")
    for side in SIDES:
        preds = dict.fromkeys(IDS, f"Small {side} pleural effusion. {rest}")
        (made / f"{side}.json").write_text(json.dumps(preds), "utf-8")
        command(made, "green", f"{side}.json", "refs.json", "--out", side)
    command(made, "readers", "sample", "right", "-n", str(N_READ))
    return made


def opened(browser: Browser, address: str, **device: Any) -> tuple[Page, Watch]:
    page = browser.new_context(**device).new_page()
    seen = watch(page)
    page.goto(address)
    return page, seen


def name_reader(page: Page, name: str) -> None:
    page.fill("#reader-name", name)
    page.keyboard.press("Enter")


def read_at_the_desk(page: Page, at: int) -> None:
    page.wait_for_selector(f"main h2:has-text('{at + 1} of {N_READ}')")
    # The first line of the candidate is in the wrong place; the second agrees.
    for key in ("v", "ArrowDown", "c", "1", "ArrowDown", "m", "g"):
        page.keyboard.press(key)


def read_on_the_phone(page: Page, at: int) -> None:
    page.wait_for_selector(f"main h2:has-text('{at + 1} of {N_READ}')")
    page.locator(".candidate [data-word='1']").first.tap()
    page.locator("[data-act=category-c]").tap()
    page.locator("[data-act=significance-significant]").tap()
    page.wait_for_selector("#card-0")
    page.locator("[data-act=done]").tap()
    # There is no matching finding: the page asks once whether that is meant.
    here = page.locator(f"main h2:has-text('{at + 1} of {N_READ}')")
    if here.count():
        page.locator("[data-act=done]").tap()


def review(page: Page, at: int, *, by_touch: bool, is_new: bool = False) -> None:
    """Say that an error is right; a browser that is new to her asks who she is."""
    page.wait_for_selector(f"#study-title:has-text('{IDS[at]}')")
    if by_touch:
        page.locator("[data-act=right]").first.tap()
    else:
        page.keyboard.press("j")
        page.keyboard.press("r")
    if is_new:
        page.wait_for_selector("dialog[open]")
        name_reader(page, "Kay")
    page.wait_for_selector('[data-act="right"][aria-pressed="true"]')


def test_an_afternoon(browser: Browser, folder: Path) -> None:
    with Served(folder, folder / "left", folder / "right") as service:
        reading = f"{service.url}/read?run=right"
        desk, seen_at_desk = opened(
            browser, reading, viewport=WIDE, color_scheme="dark"
        )
        name_reader(desk, "Kay")
        desk.locator("[data-act=skip]").click()
        for at in range(N_READ // 2):
            read_at_the_desk(desk, at)
        desk.wait_for_selector(f"main h2:has-text('{N_READ // 2 + 1} of {N_READ}')")
        assert until(lambda: len(store.current(folder / "right")) == N_READ // 2)
        assert axe(desk) == []
        desk.context.close()

        # She goes on with her phone: what is done is not shown again.
        phone, seen_on_phone = opened(
            browser, reading, viewport=NARROW, has_touch=True, is_mobile=True
        )
        name_reader(phone, "Kay")
        for at in range(N_READ // 2, N_READ):
            read_on_the_phone(phone, at)
        phone.wait_for_selector("h2:has-text('All studies are read')")
        assert axe(phone) == []
        kept = store.current(folder / "right")
        assert until(lambda: len(store.current(folder / "right")) == N_READ)
        kept = store.current(folder / "right")
        assert {reader for reader, _ in kept} == {"Kay"}
        for one in kept.values():
            errors = [item for item in one.items if item.kind == "error"]
            (error,) = errors
            assert error.labels["category"] == ("c",)
            assert error.labels["significance"] == ("significant",)
            assert one.done

        run = f"{service.url}/runs/right"
        for at in range(N_REVIEWED // 2):
            phone.goto(f"{run}#study={IDS[at]}")
            ready(phone)
            review(phone, at, by_touch=True)
        assert axe(phone) == []
        phone.context.close()
        desk, seen_reviewing = opened(browser, run, viewport=WIDE)
        for at in range(N_REVIEWED // 2, N_REVIEWED):
            desk.goto(f"{run}#study={IDS[at]}")
            ready(desk)
            review(desk, at, by_touch=False, is_new=at == N_REVIEWED // 2)
        assert until(lambda: len(all_events(folder / "right")) == N_REVIEWED)
        verdicts = {(one.study_id, one.verdict) for one in all_events(folder / "right")}
        assert verdicts == {(key, "right") for key in IDS[:N_REVIEWED]}

        # The comparison, by mouse.
        desk.goto(service.url)
        ready(desk)
        for side in SIDES:
            desk.get_by_role("checkbox", name=f"Compare {side}").check()
        desk.locator("#ask").get_by_role("button", name="Compare").click()
        desk.wait_for_selector("#board tbody tr")
        better, worse = desk.locator("#board tbody th").all_inner_texts()
        assert better.startswith("left")
        assert "differs significantly from right" in better
        assert worse == "right"
        desk.get_by_role("link", name="One screen for a meeting").click()
        desk.wait_for_selector(".meeting")
        assert axe(desk) == []
        for seen in (seen_at_desk, seen_on_phone, seen_reviewing):
            seen.assert_quiet()
            assert not seen.outside(service.url, "data:", "blob:")
