"""The comparison's page in the service: the form that asks for runs, and the way back to it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import WIDE, axe, chromium
from click.testing import CliRunner
from served import Served
from support import EXAMPLES

from judge.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two runs: one of a file that names its model, one whose studies do."""
    folder = tmp_path_factory.mktemp("two")
    refs = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    named = [
        {"id": key, "model": "MAIRA-2", "candidate": record["section_findings"]}
        for key, record in refs.items()
    ]
    (folder / "preds.json").write_text(json.dumps(named), "utf-8")
    shutil.copy(EXAMPLES / "preds.json", folder / "preds_ours.json")
    for out, file in (("first", "preds_ours.json"), ("second", "preds.json")):
        args = ["green", folder / file, EXAMPLES / "refs.json", "--out", folder / out]
        done = CliRunner().invoke(main, [*map(str, args), "--section", "findings"])
        assert done.exit_code == 0, done.stderr
    with Served(folder, folder / "first", folder / "second") as running:
        yield running


@pytest.fixture(scope="module")
def browser(two: Served) -> Iterator[Browser]:
    """Started after the runs were judged: its event loop would be in their way."""
    assert two.url
    with chromium() as started:
        yield started


def opened(browser: Browser, service: Served, query: str) -> Any:
    page = browser.new_page(viewport=WIDE)
    page.goto(f"{service.url}/compare{query}")
    return page


def test_the_list_of_runs_names_the_models_that_are_compared(two: Served) -> None:
    runs = {run["id"]: run["model"] for run in two.client.get("/v1/runs").json()["runs"]}
    assert runs == {"first": "ours", "second": "MAIRA-2"}
    query = [("run", run) for run in runs]
    compared = two.client.get("/v1/comparison", params=query).json()["models"]
    assert compared == list(runs.values())


def test_the_form_says_which_model_a_run_is(two: Served, browser: Browser) -> None:
    page = opened(browser, two, "")
    page.wait_for_selector("#ask table")
    boxes = page.locator("#ask [data-model]")
    assert boxes.evaluate_all("(all) => all.map((own) => own.placeholder)") == ["ours", "MAIRA-2"]
    page.close()


def test_one_box_ticks_all_runs(two: Served, browser: Browser) -> None:
    page = opened(browser, two, "?run=second")
    page.wait_for_selector("#board tbody tr")
    page.locator("#ask > summary").click()
    every, own = page.locator("#run-all"), page.locator("#ask [name=run]")
    assert every.evaluate("(own) => own.indeterminate")
    every.check()
    assert all(box.is_checked() for box in own.all())
    own.first.uncheck()
    assert every.evaluate("(own) => own.indeterminate && !own.checked")
    every.check()
    every.uncheck()
    assert not any(box.is_checked() for box in own.all())
    assert not axe(page)
    page.close()


def test_back_from_a_studys_own_page_opens_it_again(two: Served, browser: Browser) -> None:
    page = opened(browser, two, "?run=first&run=second")
    page.locator("#list [data-study]").nth(3).click()
    page.locator("#study-title:focus").wait_for()
    title = page.inner_text("#study-title")
    address = page.url
    assert "?run=first&run=second#" in address
    page.locator("#study a", has_text="Open in its run").first.click()
    page.wait_for_selector("#study-title")
    page.wait_for_url("**/runs/*")
    page.go_back()
    page.locator("#opened #study-title").wait_for()
    assert page.inner_text("#study-title") == title
    assert page.url == address
    # Other runs begin anew.
    page.locator("#ask > summary").click()
    page.locator("#ask [name=run]").first.uncheck()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("#board tbody tr")
    page.wait_for_function("document.querySelectorAll('#board tbody tr').length === 1")
    assert page.url.endswith("/compare?run=second&name=")
    page.close()
