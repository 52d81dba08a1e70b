"""Lines are corrected on the reading page: changed, deleted, put in, by keyboard and by touch."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import NARROW, WIDE, axe, chromium, watch
from readable import readable
from served import Served
from test_reading_page import at, opened, until_saved

from judge.readers import kept
from judge.running.folder import Run
from judge.sentences import lines

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return readable(tmp_path_factory.mktemp("lines"), "fineradscore")


@pytest.fixture
def service(tmp_path: Path, drawn: Path) -> Iterator[Served]:
    with Served(tmp_path, shutil.copytree(drawn, tmp_path / "mine")) as running:
        yield running


def edits(reading: kept.KeptReading) -> list[tuple[Any, ...]]:
    return [
        (one.edit.kind, one.edit.line, one.edit.corrected, one.labels["severity"])
        for one in reading.items
        if one.edit
    ]


def test_lines_are_corrected_by_keyboard_alone(service: Served, browser: Browser) -> None:
    page = opened(browser, service, "Anna")
    seen = watch(page)
    press = page.keyboard.press
    press("ArrowDown")  # the second line
    press("Enter")
    page.keyboard.type("Changed.")
    press("Enter")
    page.wait_for_selector(".edit-row.change del")
    for key in ("a", "d", "3"):  # two categories, then the severity
        press(key)
    page.wait_for_selector("#card-0")
    # What is missing is taken from the reference and put in before the line.
    for key in ("r", "ArrowDown", "i", "Enter", "b", "2"):
        press(key)
    page.wait_for_selector("#card-1")
    # A line that was changed is corrected again, and the mark keeps its labels.
    press("v")
    press("Enter")
    page.keyboard.type("Changed again.")
    press("Enter")
    page.wait_for_selector(".card:has-text('Changed again.')")
    for key in ("Home", "Delete", "c", "1"):
        press(key)
    page.wait_for_selector("#card-2")
    for key in ("End", "i"):
        press(key)
    page.keyboard.type("At the end.")
    for key in ("Enter", "f", "4"):
        press(key)
    page.wait_for_selector("#card-3")
    (reading,) = until_saved(service, "Anna", lambda all_: all_ and len(all_[0].items) == 4)
    record = Run(service.folder / "mine").record(reading.study_id)
    missing = lines(record["reference"])[0]
    assert sorted(edits(reading), key=lambda one: one[3]) == [
        ("delete", 0, "", ("severity1",)),
        ("insert", 1, missing, ("severity2",)),
        ("change", 1, "Changed again.", ("severity3",)),
        ("insert", None, "At the end.", ("severity4",)),
    ]
    (changed,) = [one for one in reading.items if one.edit and one.edit.kind == "change"]
    assert changed.labels["category"] == ("a", "d")
    rows = page.locator(".edit-rows > li").all_inner_texts()
    assert [row.split()[0] for row in rows[:3]] == ["line", "+", "line"]
    assert rows[-2].split()[-1] == "end."
    press("u")
    until_saved(service, "Anna", lambda all_: len(all_[0].items) == 3)
    assert page.locator(".edit-row.insert").count() == 1
    press("g")
    at(page, 2)
    assert axe(page) == []
    seen.assert_quiet()
    page.context.close()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_lines_are_corrected_by_touch(service: Served, browser: Browser, size: Any) -> None:
    page = opened(browser, service, "Bob", size, has_touch=True)
    page.locator("[data-line='1']").tap()
    page.locator("[data-act=change]").tap()
    page.fill(".writing textarea", "By touch.")
    page.get_by_role("button", name="Take it").tap()
    page.locator("[data-act=cancel]").tap()
    page.wait_for_selector("text=Nothing is marked yet.")
    assert page.locator("del").count() == 0, "what was left is not shown as corrected"
    page.locator("[data-act=delete]").tap()
    for label in ("category-a", "category-b", "category-a", "severity-severity4"):
        page.locator(f"[data-act={label}]").tap()
    page.wait_for_selector("#card-0")
    (reading,) = until_saved(service, "Bob", lambda all_: all_ and all_[0].items)
    assert edits(reading) == [("delete", 1, "", ("severity4",))]
    assert reading.items[0].labels["category"] == ("b",)
    page.locator("#card-0").tap()
    page.locator("[data-act=severity-severity2]").tap()
    (reading,) = until_saved(service, "Bob", lambda all_: edits(all_[0])[0][3] == ("severity2",))
    page.get_by_role("button", name="Delete mark 1").tap()
    page.wait_for_selector("text=Nothing is marked yet.")
    page.locator("[data-act=undo]").tap()
    page.wait_for_selector("#card-0:has-text('actionable')")
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert axe(page) == []
    page.context.close()
