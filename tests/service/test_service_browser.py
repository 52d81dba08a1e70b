"""The service's pages in a real browser: a reader with a keyboard, hostile reports."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import NARROW, WIDE, axe, chromium, ready, watch
from served import Served
from support import EXAMPLES

from judge.service import reviews

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = (
    "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> "
    "</textarea></script> javascript:alert(1) \u202e effusion " + "x" * 20_000
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)
    yield context.new_page()
    context.close()


@pytest.fixture
def service(tmp_path: Path, finished: Path) -> Iterator[Served]:
    with Served(tmp_path, shutil.copytree(finished, tmp_path / "mine")) as running:
        yield running


def test_a_reader_reviews_by_keyboard_alone_and_finds_it_again(service: Served, page: Page) -> None:
    seen = watch(page)
    page.goto(f"{service.url}/runs/mine#study=ex-015")
    ready(page)
    press = page.keyboard.press
    press("j")
    press("a")
    page.wait_for_selector("dialog[open]")
    page.keyboard.type("Anna")
    press("Enter")
    page.wait_for_selector('[data-verdict="right"][aria-pressed="true"]')
    press("j")
    press("d")
    page.wait_for_selector('[data-verdict="wrong"][aria-pressed="true"]')
    press("c")
    page.keyboard.type("Seen twice.")
    press("Tab")
    press("Enter")
    page.wait_for_function(
        "() => fetch('/v1/runs/mine/reviews').then(r => r.json()).then(r => r.events.length === 3)"
    )
    page.reload()
    ready(page)
    page.wait_for_selector('[data-verdict="right"][aria-pressed="true"]')
    assert page.locator('[data-verdict="wrong"][aria-pressed="true"]').count() == 1
    assert page.locator("#comment").input_value() == "Seen twice."
    kept = [(e.reader, e.study_id, e.verdict) for e in reviews.read(service.folder / "mine")]
    assert kept == [("Anna", "ex-015", word) for word in ("right", "wrong", "comment")]
    press("n")
    page.wait_for_function(
        "() => !document.getElementById('study-title').textContent.includes('ex-015')"
    )
    press("Escape")
    page.select_option("#filter-reviewed", label="yes")
    page.wait_for_selector("text=1 of 15 studies")
    assert page.locator("#list tbody th").all_inner_texts() == ["ex-015 ✓\nreviewed"]
    page.select_option("#filter-reviewed", label="not yet")
    page.wait_for_selector("text=14 of 15 studies")
    seen.assert_quiet()
    assert not seen.outside(service.url, "data:")


def test_a_hostile_report_is_shown_as_text(tmp_path: Path, page: Page) -> None:
    ids = {"<img src=x onerror=alert(1)>": HOSTILE, "../../x": "Clear."}
    for name in ("preds", "refs"):
        (tmp_path / f"{name}.json").write_text(json.dumps(ids), "utf-8")
    with Served(tmp_path) as service:
        files = {
            side: (f"{side}.json", (tmp_path / f"{side}.json").read_bytes())
            for side in ("preds", "refs")
        }
        form = {"rubric": "green", "name": "<script>document.title='taken'</script>"}
        name = service.client.post("/v1/runs", data=form, files=files).json()["id"]
        service.until_state(name, "finished")
        seen = watch(page)
        page.goto(f"{service.url}/")
        ready(page)
        page.get_by_text("<script>document.title='taken'</script>").first.wait_for()
        page.goto(f"{service.url}/runs/{name}")
        ready(page)
        page.goto(f"{service.url}/runs/{name}#study=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
        ready(page)
        page.get_by_text("<script>document.title='taken'</script>").first.wait_for()
        assert "taken" not in page.title()
        seen.assert_quiet()
        assert not seen.outside(service.url, "data:")


def test_a_token_opens_the_pages_and_leaves_the_address(
    tmp_path: Path, finished: Path, page: Page
) -> None:
    with Served(tmp_path, finished, "--token", "open sesame") as service:
        page.goto(f"{service.url}/runs/examples")
        page.get_by_label("token").fill("open sesame")
        page.get_by_role("button").click()
        ready(page)
        assert page.url == f"{service.url}/runs/examples"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_list_of_runs_is_accessible(
    service: Served, browser: Browser, size: dict[str, int], scheme: str
) -> None:
    assert EXAMPLES.is_dir()
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{service.url}/")
    ready(page)
    page.get_by_text("mine").first.wait_for()
    page.screenshot(path=service.folder / f"runs-{scheme}-{size['width']}.png")
    assert axe(page) == []
    context.close()


def test_a_run_is_started_on_the_first_page(tmp_path: Path, page: Page) -> None:
    with Served(tmp_path) as running:
        seen = watch(page)
        page.goto(running.url)
        page.wait_for_selector("text=No run yet. Start one above")
        page.set_input_files("[name=preds]", EXAMPLES / "preds_alder.json")
        page.set_input_files("[name=refs]", EXAMPLES / "refs.json")
        page.select_option("[name=rubric]", "fineradscore")
        page.fill("[name=candidate_field]", "no_such_field")
        assert axe(page) == []
        page.click("#start button.main")
        page.wait_for_selector("td:has-text('failed')")
        assert "has no field 'no_such_field'" in page.inner_text("#runs")
        page.fill("[name=candidate_field]", "")
        page.click("#start button.main")
        page.wait_for_selector("td:has-text('finished')")
        row = page.inner_text("tr:has(td:has-text('finished'))")
        for cell in ("alder", "fineradscore", "lexicon", "15", "no significant error"):
            assert cell in row
        (link,) = page.query_selector_all("tr:has(td:has-text('finished')) a:not(.small)")
        link.click()
        page.wait_for_selector("h1:has-text('alder: FineRadScore by lexicon')")
        seen.assert_quiet()
