"""The service's pages in a real browser: readers with a keyboard, hostile reports, a new run."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import WIDE, Watch, axe, expect, ready, watch
from served import Served, all_events, until
from support import EXAMPLES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

TAKEN = "<script>document.title='taken'</script>"
HOSTILE = (
    f"{TAKEN}<img src=x onerror=\"document.title='taken'\"> "
    "</textarea></script> javascript:alert(1) \u202e effusion " + "x" * 20_000
)
HIDDEN = "2 other reviews, hidden until you decide"


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, judged_examples: Path
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("pages")
    runs = [
        shutil.copytree(judged_examples, folder / name) for name in ("mine", "other")
    ]
    with Served(folder, *runs) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)
    yield context.new_page()
    context.close()


def opened(page: Page, address: str) -> Watch:
    seen = watch(page)
    page.goto(address)
    ready(page)
    return seen


def test_a_reader_reviews_by_keyboard_alone_and_finds_it_again(
    service: Served, page: Page
) -> None:
    seen = opened(page, f"{service.url}/runs/mine#study=ex-015")
    press = page.keyboard.press
    press("j")
    press("r")
    page.wait_for_selector("dialog[open]")
    page.keyboard.type("Anna")
    press("Enter")
    page.wait_for_selector('[data-act="right"][aria-pressed="true"]')
    press("j")
    press("w")
    page.wait_for_selector('[data-act="wrong"][aria-pressed="true"]')
    page.fill("#comment", "Seen twice.")
    press("Escape")
    page.wait_for_function(
        "() => fetch('/v1/runs/mine/reviews').then(r => r.json())"
        ".then(r => r.events.filter(e => e.study_id === 'ex-015').length === 3)"
    )
    page.reload()
    page.wait_for_selector('[data-act="right"][aria-pressed="true"]')
    assert page.locator("#comment").input_value() == "Seen twice."
    events = all_events(service.folder / "mine")
    kept = [(e.reader, e.verdict) for e in events if e.study_id == "ex-015"]
    assert kept == [("Anna", word) for word in ("right", "wrong", "comment")]
    seen.assert_quiet()
    assert not seen.outside(service.url, "data:")


def test_a_comment_is_of_the_reader_who_wrote_it(service: Served, page: Page) -> None:
    def comments() -> list[tuple[str, str]]:
        found = all_events(service.folder / "other")
        return [(e.reader, e.comment) for e in found if e.study_id == "ex-014"]

    def name(reader: str) -> None:
        page.fill("#reader-name", reader)
        page.keyboard.press("Enter")
        page.wait_for_selector(f"text=Reviewing as {reader}")

    seen = opened(page, f"{service.url}/runs/other#study=ex-014")
    page.fill("#comment", "Ann wrote this.")
    page.keyboard.press("Escape")  # left, it is saved
    name("Ann")
    assert until(comments) == [("Ann", "Ann wrote this.")]
    assert page.input_value("#comment") == "Ann wrote this."
    page.get_by_role("button", name="Change", exact=True).click()
    name("Bob")
    expect(page.locator("#comment")).to_have_value("")
    page.fill("#comment", "Bob wrote this.")
    page.keyboard.press("Escape")
    assert until(lambda: len(comments()) == 2)
    page.get_by_role("button", name="Change", exact=True).click()
    name("Ann")
    expect(page.locator("#comment")).to_have_value("Ann wrote this.")
    assert comments() == [("Ann", "Ann wrote this."), ("Bob", "Bob wrote this.")]
    seen.assert_quiet()


def held_by(page: Page, address: str) -> list[Route]:
    """The requests for what `address` matches, from now on: they wait until they are let go."""
    held: list[Route] = []
    page.route(re.compile(address), lambda route: held.append(route))
    return held


def wait_for_held(page: Page, held: list[Route], count: int) -> None:
    for _ in range(1500):
        if len(held) >= count:
            return
        page.wait_for_timeout(20)
    raise TimeoutError(f"{len(held)} of {count} requests were made")


def test_a_verdict_is_of_the_study_that_is_shown(service: Served, page: Page) -> None:
    """A study that was stepped over may arrive after the one that is shown."""
    seen = opened(page, f"{service.url}/runs/other#study=ex-015")
    page.evaluate("localStorage.setItem('judge.reader', 'Sue')")
    page.reload()
    ready(page)
    held = held_by(page, r"/study\?row=")
    page.keyboard.press("n")
    page.keyboard.press("p")
    wait_for_held(page, held, 2)
    passed_over, shown = held
    for route in (shown, passed_over):
        with page.expect_response(re.compile(r"/study/review\?")):
            route.continue_()
    expect(page.locator("#study-title bdi")).to_have_text("ex-015")
    page.keyboard.press("w")
    expect(page.locator('[data-act="wrong"][aria-pressed="true"]')).to_have_count(1)
    written = [e for e in all_events(service.folder / "other") if e.reader == "Sue"]
    assert [(event.study_id, event.verdict) for event in written] == [
        ("ex-015", "wrong")
    ]
    page.keyboard.press("w")
    expect(page.locator('[data-act="wrong"][aria-pressed="true"]')).to_have_count(0)
    seen.assert_quiet()


def test_back_in_the_list_a_study_on_its_way_does_not_open(
    service: Served, page: Page
) -> None:
    seen = opened(page, f"{service.url}/runs/other")
    held = held_by(page, r"/study\?row=")
    page.locator("#list tbody a").first.click()
    wait_for_held(page, held, 1)
    page.go_back()
    page.wait_for_function("() => !location.hash.includes('study')")
    with page.expect_response(re.compile(r"/study/review\?")):
        held[0].continue_()
    page.wait_for_timeout(200)
    assert page.locator("#study").count() == 0
    assert page.locator("#list").is_visible()
    seen.assert_quiet()


def test_of_a_comparison_the_study_is_that_of_the_list_shown(
    service: Served, page: Page
) -> None:
    """A group that was chosen and arrives late has other rows."""
    seen = opened(page, f"{service.url}/compare?run=mine&run=other&by=study_class")
    held = held_by(page, r"/groups/")
    ids = page.locator("#list tbody a").all_inner_texts()
    page.select_option("[data-act=group]", index=1)
    wait_for_held(page, held, 1)
    page.locator("#list tbody a").nth(3).click()
    expect(page.locator("#study-title bdi")).to_have_text(ids[3])
    with page.expect_response(re.compile(r"/groups/")):
        held[0].continue_()
    page.wait_for_timeout(200)
    page.keyboard.press("n")
    expect(page.locator("#study-title bdi")).to_have_text(ids[4])
    assert page.url.endswith(f"study={ids[4]}")
    seen.assert_quiet()


def test_quick_clicks_and_keys_are_taken_one_after_the_other(
    service: Served, page: Page
) -> None:
    seen = opened(page, f"{service.url}/runs/mine#study=ex-012")
    page.evaluate("localStorage.setItem('judge.reader', 'Pia')")
    page.reload()
    ready(page)
    held = held_by(page, r"/reviews$")
    page.click("text=Add an error that the judge missed")
    page.fill("#missed-text", "A small nodule.")
    add = page.get_by_role("button", name="Add", exact=True)
    add.click()
    add.click()
    wait_for_held(page, held, 1)
    page.fill("#missed-text", "A second one.")
    page.unroute_all()  # which lets go
    expect(page.locator(".missed li")).to_have_count(1)
    # What was typed meanwhile is still there.
    expect(page.locator("#missed-text")).to_have_value("A second one.")

    # The same key twice gives a verdict and takes it back.
    page.locator(".errors .error").first.focus()
    page.keyboard.press("r")
    page.keyboard.press("r")
    expect(page.locator("#announcer")).to_contain_text("verdict withdrawn")
    written = [e for e in all_events(service.folder / "mine") if e.reader == "Pia"]
    assert [event.verdict for event in written] == ["missed", "right", "none"]
    seen.assert_quiet()


def test_with_caps_lock_on_browsing_writes_nothing(service: Served, page: Page) -> None:
    """What the keys send then: capital letters, of which none may be a verdict by case alone."""
    seen = opened(page, f"{service.url}/runs/other#study=ex-015")
    page.evaluate("localStorage.setItem('judge.reader', 'Cap')")
    page.reload()
    ready(page)
    for key in "JDDKNNPP":
        page.keyboard.press(f"Shift+{key}")
    expect(page.locator("#study-title bdi")).to_have_text("ex-015")
    page.keyboard.press("Shift+J")
    page.keyboard.press("j")
    assert page.locator("#study .error:focus").count() == 1
    # A key that writes says so, and how it is taken back; the same key takes it back.
    page.keyboard.press("Shift+W")
    expect(page.locator("#announcer")).to_contain_text(
        "Choose “Wrong” again to withdraw"
    )
    saved = page.locator(".error .tools .small", has_text="Saved: Wrong.")
    expect(saved).to_have_count(1)
    written = [e for e in all_events(service.folder / "other") if e.reader == "Cap"]
    assert [event.verdict for event in written] == ["wrong"]
    page.keyboard.press("w")
    expect(page.locator("#announcer")).to_contain_text("verdict withdrawn")
    expect(saved).to_have_count(0)
    page.keyboard.press("?")
    keys = page.locator("dialog[open] dt").all_inner_texts()
    assert len({key.casefold() for key in keys}) == len(keys) > 8
    assert {"r", "w", "s"} <= {*keys}
    page.keyboard.press("Escape")
    seen.assert_quiet()


def test_a_comment_stays_when_nobody_says_who_is_reviewing(
    service: Served, page: Page
) -> None:
    def comments() -> list[tuple[str, str]]:
        found = all_events(service.folder / "mine")
        return [(e.reader, e.comment) for e in found if e.study_id == "ex-004"]

    seen = opened(page, f"{service.url}/runs/mine#study=ex-004")
    page.fill("#comment", "A word of mine.")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]")
    page.get_by_role("button", name="Cancel", exact=True).click()
    note = page.locator(".review .wrong", has_text="Not saved: who is reviewing?")
    expect(note).to_be_visible()
    assert page.input_value("#comment") == "A word of mine."
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("Escape")  # back to the list, and into the study again
    page.wait_for_selector("#studies:visible")
    page.locator("#list a", has_text="ex-004").click()
    page.wait_for_selector("#study-title")
    assert page.input_value("#comment") == "A word of mine."
    expect(note).to_be_visible()
    assert comments() == []
    page.get_by_role("button", name="Save the comment").click()
    page.fill("#reader-name", "Dora")
    page.keyboard.press("Enter")
    assert until(comments) == [("Dora", "A word of mine.")]
    expect(note).to_have_count(0)
    assert axe(page) == []
    # A missed error that is added can be withdrawn, where it is.
    page.click("text=Add an error that the judge missed")
    page.fill("#missed-text", "A rib fracture.")
    page.get_by_role("button", name="Add", exact=True).click()
    line = page.locator(".missed li", has_text="A rib fracture.")
    expect(line).to_be_visible()
    assert page.input_value("#missed-text") == ""
    line.get_by_role("button", name="Withdraw").click()
    expect(line).to_have_count(0)
    seen.assert_quiet()


def test_other_verdicts_are_shown_after_ones_own(service: Served, page: Page) -> None:
    run = "/v1/runs/other"
    shown = service.client.get(f"{run}/study/review", params={"id": "ex-015"}).json()
    names = [item["error"] for item in shown["items"]]
    for reader, verdict in (("Moss", "wrong"), ("Fern", "wrong_severity")):
        for more in (
            *({"verdict": verdict, "error": name} for name in names),
            {"verdict": "comment", "comment": f"{reader} wrote this."},
        ):
            body = {"study_id": "ex-015", "reader": reader, **more}
            assert service.client.post(f"{run}/reviews", json=body).status_code == 201
    seen = opened(page, f"{service.url}/runs/other#study=ex-015")
    cards = page.locator(".errors .error")

    def assert_hidden(text: str) -> None:
        assert text.count(HIDDEN) == 1
        assert not [word for word in ("Moss", "Fern") if word in text]

    for at in range(len(names)):
        assert_hidden(cards.nth(at).inner_text())
    assert_hidden(page.locator(".review .missed").inner_text())
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.fill("#reader-name", "Anna")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Moss: wrong")
    assert "Fern: wrong significance" in cards.nth(0).inner_text()
    assert_hidden(cards.nth(1).inner_text())
    page.keyboard.press("r")  # taken back, it is hidden again
    page.wait_for_function(
        "(words) => document.querySelector('.errors .error').innerText.includes(words)",
        arg=HIDDEN,
    )
    seen.assert_quiet()


@pytest.mark.ci
def test_a_run_of_hostile_files_is_started_and_shown_as_text(
    service: Served, page: Page, tmp_path: Path
) -> None:
    file = tmp_path / "hostile.json"
    file.write_text(json.dumps({TAKEN: HOSTILE, "../x": "Clear."}))
    seen = opened(page, service.url)
    page.click("text=Start a run")
    for side in ("preds", "refs"):
        page.set_input_files(f"[name={side}]", file)
    page.fill("[name=candidate_field]", "no_such_field")
    page.click("#start button.main")
    page.wait_for_selector("#runs .run:has-text('no_such_field')")
    page.fill("[name=candidate_field]", "")
    page.click("#start button.main")
    assert axe(page) == []
    page.locator(".run:has-text('hostile'):has(input) a").first.click()
    ready(page)
    page.get_by_role("link", name=TAKEN).first.click()
    page.wait_for_selector("#study-title")
    assert TAKEN in page.inner_text("#study-title")
    assert "taken" not in page.title()
    seen.assert_quiet()


@pytest.mark.ci
def test_a_run_is_checked_started_renamed_and_restored(
    page: Page, tmp_path: Path
) -> None:
    """By mouse; the file of both reports needs its columns named, as the check says."""
    with Served(tmp_path, "--offer", "gpt-6-luna", "--budget", "0.01") as service:
        seen = opened(page, service.url)
        files = {side: EXAMPLES / f"{side}.json" for side in ("preds", "refs")}
        for side, file in files.items():
            page.set_input_files(f"[name={side}]", file)
        assert page.locator("[name=prompt]").is_disabled()
        page.select_option("[name=judge]", "gpt-6-luna")
        page.select_option("[name=prompt]", "green-structured")
        page.select_option("[name=reasoning_effort]", "low")
        page.fill("[name=max_cost]", "0.01")
        page.click("#check")
        page.wait_for_selector(
            "#refused .wrong:has-text('more than the limit of cost')"
        )
        shown = page.inner_text("#refused")
        assert "its key is missing" in shown
        assert "15" in shown
        assert axe(page) == []
        page.select_option("[name=judge]", "lexicon")
        page.fill("[name=max_cost]", "")
        page.select_option("[name=section]", "findings")
        page.fill("[name=class_field]", "site")
        page.fill("[name=model]", "alder")
        page.click("#start button.main")
        link = page.locator("#runs .run:has(input) a")
        link.wait_for()
        (name,) = [run["id"] for run in service.client.get("/v1/runs").json()["runs"]]
        page.get_by_role("button", name=f"Rename {name}").click()
        page.fill("#run-name", "../out")
        page.get_by_role("button", name="Rename", exact=True).last.click()
        page.locator("#alarm", has_text="cannot be a run's name").wait_for()
        seen.console.clear()  # a refused answer is a line of the console
        page.get_by_role("button", name=f"Rename {name}").click()
        page.fill("#run-name", "alder-2")
        page.get_by_role("button", name="Rename", exact=True).last.click()
        page.get_by_role("link", name="alder-2", exact=True).wait_for()
        page.get_by_role("button", name="Delete alder-2").click()
        page.get_by_role("button", name="Delete", exact=True).last.click()
        page.wait_for_selector("#runs .empty")
        page.click("text=Trash (1)")
        assert axe(page) == []
        page.get_by_role("button", name="Restore alder-2").click()
        page.get_by_role("link", name="alder-2", exact=True).wait_for()
        summary = service.client.get("/v1/runs/alder-2").json()["summary"]
        assert summary["section"] == "findings"
        seen.assert_quiet()


def test_the_list_goes_on_asking_after_a_failure(service: Served, page: Page) -> None:
    answers = iter(["running", "nothing"])

    def listed(route: Route) -> None:
        state = next(answers, None)
        if state == "nothing":
            route.abort()
            return
        answer = route.fetch()
        runs = [
            run | ({"state": state} if state else {}) for run in answer.json()["runs"]
        ]
        listed = answer.json() | {"runs": runs}
        listed["look_again_after"] = 1 if state else None
        route.fulfill(response=answer, json=listed)

    page.route("**/v1/runs", listed)
    opened(page, service.url)
    page.locator("#alarm", has_text="does not answer").wait_for()
    page.get_by_role("link", name="other", exact=True).wait_for()  # what it is by now
    page.locator("#alarm", has_text="does not answer").wait_for(state="detached")


@pytest.mark.ci
def test_runs_are_compared_from_the_list_to_a_studys_own_page(
    service: Served, page: Page
) -> None:
    seen = opened(page, service.url)
    page.click("text=Compare the ticked runs")
    page.locator("#ask").get_by_role("button", name="Compare").click()
    page.locator("#alarm", has_text="Tick the runs to compare").wait_for()
    for name in ("mine", "other"):
        page.get_by_role("checkbox", name=f"Compare {name}").check()
    page.fill("[name=by]", "nothing")
    page.locator("#ask").get_by_role("button", name="Compare").click()
    page.locator("#alarm", has_text="nothing").wait_for()
    assert page.inner_text("h1") == "These runs cannot be compared"
    seen.console.clear()  # a refused answer is a line of the console
    page.get_by_role("link", name="Change what is compared").click()
    page.fill("[name=by]", "")
    page.locator("#ask").get_by_role("button", name="Compare").press("Enter")
    page.wait_for_selector("#board tbody tr")
    assert axe(page) == []
    names = page.locator("#board tbody th").all_inner_texts()
    # Two runs of one model are told apart by their names.
    assert sorted(names) == ["preds (mine)", "preds (other)"]
    page.locator("#list tbody a").nth(3).click()
    page.locator("#study-title:focus").wait_for()
    title, address = page.inner_text("#study-title"), page.url
    page.locator("#study a", has_text="Open in its run").first.click()
    page.wait_for_url("**/runs/*")
    page.wait_for_selector("#study-title")
    page.go_back()
    ready(page)
    page.locator("#study-title").wait_for()
    assert (page.inner_text("#study-title"), page.url) == (title, address)
    seen.assert_quiet()
