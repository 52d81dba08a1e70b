"""The page of a comparison in the service: what it gets from the runs, and its form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import NARROW, WIDE, chromium, ready
from click.testing import CliRunner
from served import Served
from support import EXAMPLES

from judge import rubrics
from judge.cli import main
from judge.report.compare_page import data

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    args = ["fineradscore", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", folder / "a"]
    done = CliRunner().invoke(main, list(map(str, args)))
    assert done.exit_code == 0, done.stderr
    with Served(folder, folder / "a") as running:
        yield running


def opened(browser: Browser, service: Served, query: str, size: Any = WIDE) -> Any:
    page = browser.new_page(viewport=size)
    page.goto(f"{service.url}/compare{query}")
    return page


def test_corrections_speak_of_the_same_lines_as_in_the_file(
    service: Served, browser: Browser
) -> None:
    page = opened(browser, service, "?run=a")
    page.wait_for_selector("#list [data-study]")
    n_lines: list[int] = []
    for at in (0, 7, 14):
        button = page.locator("#list [data-study]").nth(at)
        study_id = button.inner_text()
        button.click()
        page.locator("#study-title", has_text=study_id).wait_for()
        asked = {"id": study_id, "record": "true"}
        record = service.client.get("/v1/runs/a/study", params=asked).json()["record"]
        lines = data.record_view(record, rubrics.load("fineradscore")).get("lines", [])
        n_lines.append(len(lines))
        assert page.locator("#study .lines li").all_inner_texts() == lines
    assert max(n_lines) > 1
    page.close()


def test_what_was_not_tested_names_the_field_of_the_form(service: Served, browser: Browser) -> None:
    page = opened(browser, service, "?run=a")
    page.wait_for_selector("#list [data-study]")
    # A single model has nothing to be tested against: the words are those of two.
    words = page.evaluate(
        """async () => {
          const folder = document.querySelector("script[src*=main]").src.replace("main.js", "");
          const { serviceTransport } = await import(`${folder}transports.js`);
          return serviceTransport(new URLSearchParams()).howToTest("site");
        }"""
    )
    assert 'write site into "Test and rank within each"' in words
    page.locator("#ask summary").click()
    page.get_by_label("Test and rank within each").wait_for()
    page.close()


def test_the_form_asks_for_a_run_and_fits_a_telephone(service: Served, browser: Browser) -> None:
    page = opened(browser, service, "", NARROW)
    page.wait_for_selector("#ask table")
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert page.locator("#ask label", has_text="a").first.bounding_box()["height"] < 30
    page.get_by_role("button", name="Compare").click()
    page.locator("#alarm", has_text="Tick the runs to compare first.").wait_for()
    assert page.url.endswith("/compare")
    page.locator("#ask tbody").get_by_role("checkbox").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("#board tbody tr")
    page.close()
