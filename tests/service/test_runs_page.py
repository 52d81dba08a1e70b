"""The list of runs in a browser, on a desk and on a phone: names, offers, and its height."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import WIDE, axe_in_both_schemes, ready, watch
from served import Served, is_problem

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE = {"width": 400, "height": 800}
HIGHEST = 140
LONG = "a-name-that-somebody-has-given-to-say-all-of-model-prompt-and-site-" + "x" * 40


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, judged_examples: Path
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("list")
    places = ("a/good", "b/good", "c/Läufe", f"judge-runs/{LONG}", "judge-runs/mine")
    runs = [shutil.copytree(judged_examples, folder / place) for place in places]
    for run in runs:
        manifest = json.loads((run / "manifest.json").read_text("utf-8"))
        manifest["model"] = f"a model with a name that is long enough for two {run}"
        (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with Served(folder, "a/good", "b/good", "c/Läufe") as running:
        failed = running.start_run(candidate_field="no_such_field").json()["id"]
        running.until_state(failed, "failed")
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)
    yield context.new_page()
    context.close()


def test_folders_of_one_name_have_names_that_a_person_knows(service: Served) -> None:
    listed = {run["id"]: run for run in service.client.get("/v1/runs").json()["runs"]}
    assert {"a-good", "b-good", "Laufe", "mine", LONG} < {*listed}
    for name in ("a-good", "b-good", "Laufe"):
        assert service.client.get(listed[name]["address"]).status_code == 200
        # They are named on the command line, and keep their places.
        assert [action["name"] for action in listed[name]["actions"]] == ["compare"]
    said = is_problem(service.client.get("/v1/runs/good"), 404)
    assert "a-good" in said
    assert "b-good" in said
    own = [action["name"] for action in listed["mine"]["actions"]]
    assert own == ["compare", "rename", "delete"]


def test_what_cannot_go_on_is_not_offered_to(service: Served) -> None:
    (run,) = [
        run
        for run in service.client.get("/v1/runs").json()["runs"]
        if run["state"] == "failed"
    ]
    assert [action["name"] for action in run["actions"]] == ["delete"]
    assert "no_such_field" in run["detail"]
    assert "report column (candidate_field)" in run["detail"]
    assert "start a new run" in run["advice"]
    answer = service.client.post(f"/v1/runs/{run['id']}/resume")
    assert "start a new run" in is_problem(answer, 409)


@pytest.mark.ci
def test_on_a_phone_a_run_is_a_small_card(service: Served, page: Page) -> None:
    page.set_viewport_size(PHONE)
    seen = watch(page)
    page.goto(service.url)
    ready(page)
    heights = page.locator(".run").evaluate_all(
        "cards => cards.map(card => card.getBoundingClientRect().height)"
    )
    assert len(heights) == 6
    assert max(heights) <= HIGHEST
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert axe_in_both_schemes(page) == []
    # Each button can be hit with a finger, and does what it says.
    for button in page.locator(".run button").all():
        box = button.bounding_box()
        assert box
        assert box["height"] >= 24
    page.get_by_role("checkbox", name="Compare a-good").check()
    page.get_by_role("checkbox", name="Compare b-good").check()
    page.get_by_role("link", name="b-good").click()
    ready(page)
    assert page.url.endswith("/runs/b-good")
    page.go_back()
    ready(page)
    page.set_viewport_size(WIDE)
    assert axe_in_both_schemes(page) == []
    seen.assert_quiet()


@pytest.mark.ci
def test_a_failed_run_says_on_its_page_what_to_do(service: Served, page: Page) -> None:
    seen = watch(page)
    page.goto(service.url)
    ready(page)
    page.locator(".run:has-text('no_such_field') a").click()
    ready(page)
    said = page.inner_text("#status")
    assert "no_such_field" in said
    assert "Nothing was judged." in said
    assert page.get_by_role("button", name="Resume").count() == 0
    assert axe_in_both_schemes(page) == []
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete", exact=True).last.click()
    page.wait_for_selector("text=Trash (1)")
    page.click("text=Trash (1)")
    page.get_by_role("button", name="Restore").click()
    page.wait_for_selector(".run:has-text('no_such_field')")
    seen.assert_quiet()
