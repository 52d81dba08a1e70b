"""Readers read blind in a real browser: by keyboard alone, and by mouse and touch."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import NARROW, WIDE, axe, ready, watch
from pagemaking import HOSTILE
from served import Served, readable, until
from support import TOYS

from judge.pages.bundle import READING, RESULTS
from judge.readers import annotation_store as store
from judge.readers.annotation_store import PageReading
from judge.running.folder import RunFolder
from judge.sentences import lines

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Request

TABLET = {"width": 1024, "height": 768}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs of which three studies are drawn; the errors of `lines` are corrections."""
    folder = tmp_path_factory.mktemp("readings")
    corrected = readable(folder, "fineradscore").rename(folder / "lines")
    mine = readable(folder)
    again = shutil.copytree(mine, folder / "again")
    with Served(folder, mine, corrected, again) as running:
        yield running


class ReadingPage:
    """The page of a reader, and the readings that it saved."""

    def __init__(
        self, browser: Browser, service: Served, run: str, reader: str, **more: Any
    ):
        self.run, self.reader = service.folder / run, reader
        self.page = browser.new_context(**{"viewport": WIDE} | more).new_page()
        self.page.goto(f"{service.url}/read?run={run}")
        self.page.fill("#reader-name", reader)
        self.page.keyboard.press("Enter")
        ready(self.page)
        self.page.locator("[data-act=skip]").click()
        self.at(1)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def tap(self, *acts: str) -> None:
        for act in acts:
            self.page.locator(f"[data-act={act}]").tap()

    def at(self, n: int) -> None:
        self.page.wait_for_selector(f"main h2:has-text('{n} of 3')")

    def saved(self) -> list[PageReading]:
        """The last readings, in the order in which the studies were first saved."""
        found = store.current(self.run)
        return [one for (who, _), one in found.items() if who == self.reader]

    def until_saved(
        self, there: Callable[[list[PageReading]], object]
    ) -> list[PageReading]:
        assert until(lambda: there(self.saved())), self.saved()
        return self.saved()


def said(reading: PageReading) -> list[tuple[Any, ...]]:
    return [
        (one.kind, one.labels.get("category"), one.labels.get("significance"), one.side)
        for one in reading.items
    ]


@pytest.mark.ci
def test_two_readers_read_blind_and_apart(service: Served, browser: Browser) -> None:
    anna = ReadingPage(browser, service, "mine", "Anna")
    seen = watch(anna.page)
    anna.page.reload()
    anna.page.wait_for_selector(".editor")
    places = "all => all.map(word => word.getBoundingClientRect()).map(r => [r.x, r.y, r.width])"
    before = anna.page.locator(".reference .words span").evaluate_all(places)
    # The first line of the reference is missing in the candidate; the second matches.
    anna.press("r", "ArrowDown", "b", "1")
    anna.page.wait_for_selector("#card-0")
    anna.press("ArrowDown", "m")
    anna.page.wait_for_selector("#card-1")
    assert anna.page.locator(".reference .marked").count() > 2
    # Marking moves no word.
    assert anna.page.locator(".reference .words span").evaluate_all(places) == before
    # Two words of the candidate, and the level before the category.
    anna.press("v", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "2", "d", "g")
    anna.at(2)
    anna.press("0", "0")  # it asks whether nothing matches here
    anna.at(3)
    anna.page.fill("#comment", "Poor film.")
    anna.press("Escape", "0", "0")
    anna.page.wait_for_selector("h2:has-text('All studies are read')")
    first, second, third = anna.until_saved(
        lambda all_: [r.done for r in all_] == [True] * 3
    )
    record = RunFolder.open(anna.run).record(first.study_id)
    words = [record[one.side][one.start : one.end] for one in first.items if one.side]
    assert words == [one.text for one in first.items]
    assert said(first) == [
        ("error", ("b",), ("significant",), "reference"),
        ("matched", None, None, "reference"),
        ("error", ("d",), ("insignificant",), "candidate"),
    ]
    assert len(words[2].split()) == 2
    assert (second.items, third.items, third.comment) == ((), (), "Poor film.")

    bob = ReadingPage(browser, service, "mine", "Bob", viewport=TABLET, has_touch=True)
    bob.at(1)
    assert bob.page.locator(".card, .marked").count() == 0
    assert "Poor film." not in bob.page.content()
    bob.page.locator(".candidate .words").dblclick(position={"x": 20, "y": 14})
    bob.tap("category-c", "significance-significant")
    bob.page.wait_for_selector("#card-0")
    bob.tap("done")
    bob.at(2)
    (mine,) = bob.until_saved(lambda all_: all_ and all_[0].done)
    assert said(mine) == [("error", ("c",), ("significant",), "candidate")]
    # Whoever comes back begins at the first study that is not done.
    bob.page.reload()
    bob.at(2)
    assert anna.saved() == [first, second, third]
    assert_blind(anna, service, seen.requests)
    seen.assert_quiet()
    assert not seen.outside(service.url, "data:", "blob:")


def assert_blind(anna: ReadingPage, service: Served, requests: list[str]) -> None:
    """The page asks only for what is blind, by an address that does not name the run."""
    asked = {url.partition("?")[0].removeprefix(service.url) for url in requests}
    paths = {path for path in asked if path.startswith("/v1/")}
    own = ("reading", "reading/study", "readings")
    (blind_id,) = {path.split("/")[3] for path in paths}
    assert paths == {f"/v1/runs/{blind_id}/{end}" for end in own}
    assert not [url for url in (*asked, anna.page.url) if "mine" in url]


def sends_level(request: Request) -> bool:
    """Whether the request saves a reading whose errors have their levels."""
    items = (request.post_data_json or {}).get("items", [])
    return bool(items) and all(item["labels"].get("significance") for item in items)


def test_what_cannot_be_saved_is_said_and_tried_again(
    service: Served, browser: Browser
) -> None:
    reader = ReadingPage(browser, service, "again", "Ivy")
    reader.page.context.route("**/readings", lambda route: route.abort())
    reader.press("ArrowDown", "a", "1")
    reader.page.locator(
        "header", has_text="Not saved: The service does not answer"
    ).wait_for()
    reader.press("u")
    reader.page.locator(".card").wait_for(state="detached")
    # The last of its attempts must have failed too: one that is still to be sent would be
    # saved as soon as the service answers, and take the button away.
    with reader.page.expect_event("requestfailed", sends_level):
        reader.press("ArrowDown", "b", "1")
    reader.page.context.unroute("**/readings")
    reader.page.get_by_role("button", name="Try again").click()
    (reading,) = reader.until_saved(lambda all_: all_)
    assert said(reading)[0][1] == ("b",)


def test_leaving_loses_no_comment_and_no_mark(
    service: Served, browser: Browser
) -> None:
    reader = ReadingPage(browser, service, "again", "Pia")
    reader.page.fill("#comment", "Poor film.")
    reader.press("Escape", "v", "ArrowDown", "n")
    reader.page.locator("#alarm", has_text="Give the mark its labels").wait_for()
    reader.at(1)
    reader.press("a", "1", "n")
    reader.at(2)
    (reading,) = reader.until_saved(lambda all_: all_)
    assert reading.comment == "Poor film."
    reader.page.select_option("#place", "0")
    reader.at(1)
    assert reader.page.input_value("#comment") == "Poor film."


def test_lines_are_corrected_by_keyboard_and_touch(
    service: Served, browser: Browser
) -> None:
    reader = ReadingPage(
        browser, service, "lines", "Anna", viewport=TABLET, has_touch=True
    )
    seen = watch(reader.page)
    reader.press("ArrowDown", "Enter")  # the second line
    reader.page.keyboard.type("Changed.")
    reader.press("Enter")
    reader.page.wait_for_selector(".edit-row del")
    reader.press("a", "d", "3")  # two categories, then the severity
    reader.page.wait_for_selector("#card-0")
    # What is missing is taken from the reference and put in before the line.
    reader.press("r", "ArrowDown", "i", "Enter", "b", "2")
    reader.page.wait_for_selector("#card-1")
    reader.page.locator("[data-line='0']").tap()
    reader.tap("delete", "category-c", "severity-severity1")
    reader.page.wait_for_selector("#card-2")
    (reading,) = reader.until_saved(lambda all_: all_ and len(all_[0].items) == 3)
    missing = lines(RunFolder.open(reader.run).record(reading.study_id)["reference"])[0]
    edits = [(one.edit, one.labels["severity"]) for one in reading.items if one.edit]
    found = [(edit.kind, edit.line, edit.corrected, level) for edit, level in edits]
    assert sorted(found, key=lambda one: one[3]) == [
        ("delete", 0, "", ("severity1",)),
        ("insert", 1, missing, ("severity2",)),
        ("change", 1, "Changed.", ("severity3",)),
    ]
    assert axe(reader.page) == []
    seen.assert_quiet()


def test_practice_is_checked_and_never_saved(service: Served, browser: Browser) -> None:
    page = browser.new_context(viewport=WIDE).new_page()
    seen = watch(page)
    page.goto(f"{service.url}/read?run=mine")
    page.fill("#reader-name", "Moss")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('Practice 1 of 2')")
    before = len(store.read(service.folder / "mine"))
    press = page.keyboard.press
    # The wrong side of the effusion, with another significance than expected.
    for key in ("ArrowDown", "ArrowDown", "c", "2", "g"):
        press(key)
    page.locator(".feedback", has_text="1 of 2 expected errors found").wait_for()
    answer = page.inner_text(".feedback")
    assert "with other labels: The side" in answer
    assert "Not marked: The pneumothorax" in answer
    for key in (
        "v",
        "ArrowDown",
        "ArrowDown",
        "ArrowDown",
        "a",
        "1",
        "j",
        "j",
        "k",
        "1",
        "g",
    ):
        press(key)
    page.locator(".feedback", has_text="2 of 2 expected errors found").wait_for()
    assert "Not marked" not in page.inner_text(".feedback")
    assert axe(page) == []
    page.locator("[data-act=next]").click()
    page.wait_for_selector("h2:has-text('Practice 2 of 2')")
    press("0")
    page.locator(".feedback", has_text="0 of 2").wait_for()
    page.locator("[data-act=next]").click()
    page.wait_for_selector("h2:has-text('1 of 3')")
    assert len(store.read(service.folder / "mine")) == before
    seen.assert_quiet()


def test_a_study_is_timed_and_may_be_left_without_a_judgement(
    service: Served, browser: Browser
) -> None:
    reader = ReadingPage(browser, service, "mine", "Oak")
    page = reader.page
    page.clock.install()
    page.reload()
    reader.at(1)
    page.clock.run_for(20_000)
    hidden = (
        "Object.defineProperty(document, 'hidden', {{value: {}, configurable: true}});"
    )
    event = "document.dispatchEvent(new Event('visibilitychange'))"
    page.evaluate(hidden.format("true") + event)
    page.clock.run_for(500_000)
    page.evaluate(hidden.format("false") + event)
    page.clock.run_for(10_000)
    reader.press("ArrowDown", "a", "1", "g")
    reader.at(2)
    (first,) = reader.until_saved(lambda all_: all_ and all_[0].done)
    assert 29 < (first.seconds or 0) < 40
    reader.press("q")
    page.fill("#why", "The image is needed")
    page.get_by_role("button", name="Save, next study").click()
    reader.at(3)
    second = reader.until_saved(lambda all_: len(all_) == 2)[1]
    assert (second.state, second.cannot_judge) == (
        store.NOT_JUDGED,
        "The image is needed",
    )
    assert "1 of 3 done, 1 not judged" in page.inner_text("header")
    reader.press("p")
    page.get_by_role("button", name="Judge it after all").click()
    reader.until_saved(lambda all_: all_[1].state == store.BEGUN)
    assert axe(page) == []


def test_with_caps_lock_on_browsing_writes_nothing(
    service: Served, browser: Browser
) -> None:
    """A capital letter without Shift is what a browser gets while Caps Lock is on."""
    reader = ReadingPage(browser, service, "mine", "Capo")
    page = reader.page
    reader.press("N")
    reader.at(2)
    reader.press("P")
    reader.at(1)
    reader.press("J", "K", "R", "V", "?")
    page.wait_for_selector("dialog")
    keys = page.locator("dialog dt").all_inner_texts()
    assert len({key.lower() for key in keys}) == len(keys)
    assert {"0", "g", "n", "u"} <= {*keys}
    reader.press("Escape", "N")
    reader.at(2)
    assert reader.saved() == []
    # What writes does the same with Caps Lock and without.
    reader.press("ArrowDown", "A", "1", "G")
    reader.at(3)
    (written,) = reader.until_saved(lambda all_: all_ and all_[0].done)
    assert said(written) == [("error", ("a",), ("significant",), "candidate")]


def test_what_was_written_by_mistake_is_undone_from_the_next_study(
    service: Served, browser: Browser
) -> None:
    reader = ReadingPage(browser, service, "mine", "Una")
    page = reader.page
    reader.press("0")
    reader.at(2)
    undo = page.locator("[data-act=undo]")
    assert "Undo: study 1: done, no errors" in undo.inner_text()
    assert "study 1: done, no errors" in page.inner_text("#announcer")
    reader.until_saved(lambda all_: all_ and all_[0].done)
    reader.press("u")
    reader.at(1)
    reader.until_saved(lambda all_: not all_[0].done)
    assert "0 of 3 done" in page.inner_text("header")
    assert undo.is_disabled()


def test_a_name_that_is_not_given_is_asked_for_once(
    service: Served, browser: Browser
) -> None:
    page = browser.new_context(viewport=WIDE).new_page()
    seen = watch(page)
    page.goto(f"{service.url}/read?run=mine")
    page.wait_for_selector("#reader-name")
    page.keyboard.press("Escape")
    page.wait_for_selector("main:has-text('Your name is needed')")
    ready(page)
    assert page.locator("dialog").count() == 0
    assert axe(page) == []
    page.get_by_role("button", name="Enter your name").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Enter your name").click()
    page.fill("#reader-name", "Late")
    page.keyboard.press("Enter")
    page.wait_for_selector("h2:has-text('Practice 1 of 2')")
    seen.assert_quiet()


def test_leaving_leads_to_no_score(service: Served, browser: Browser) -> None:
    reader = ReadingPage(browser, service, "mine", "Lea")
    page = reader.page
    links = "all => all.map(link => link.getAttribute('href'))"
    assert page.locator("a").evaluate_all(links) == ["#main"]
    page.fill("#comment", "Not finished.")
    page.get_by_role("button", name="Leave").click()
    page.wait_for_selector("h1:has-text('Thank you, Lea')")
    (kept,) = reader.until_saved(lambda all_: all_)
    assert kept.comment == "Not finished."
    page.wait_for_selector("main:has-text('you can close this page')")
    reader.press("u", "n", "0")
    assert page.locator("h1:has-text('Thank you, Lea')").count() == 1
    assert page.locator("a").evaluate_all(links) == ["#main"]
    assert axe(page) == []
    page.get_by_role("button", name="Go on reading").click()
    reader.at(1)
    assert page.input_value("#comment") == "Not finished."


@pytest.mark.ci
@pytest.mark.parametrize("act", ["both", "theirs"])
def test_two_tabs_of_one_reader_lose_nothing(
    service: Served, browser: Browser, act: str
) -> None:
    first = ReadingPage(browser, service, "again", f"Tab {act}")
    page = first.page.context.new_page()
    page.goto(first.page.url)
    page.wait_for_selector("h2:has-text('1 of 3')")
    first.press("ArrowDown", "a", "1")
    (kept,) = first.until_saved(lambda all_: all_ and all_[0].items)
    for key in ("ArrowDown", "ArrowDown", "b", "2"):
        page.keyboard.press(key)
    page.wait_for_selector(".conflict:has-text('Study 1 was changed elsewhere')")
    assert first.saved() == [kept]
    assert axe(page) == []
    # The mark that was made here is still there, and going on is possible.
    assert page.locator(".card").count() == 1
    page.keyboard.press("n")
    page.wait_for_selector("h2:has-text('2 of 3')")
    page.locator(f"[data-act={act}]").click()
    page.wait_for_selector("h2:has-text('1 of 3')")
    page.locator(".conflict").wait_for(state="detached")
    if act == "both":
        first.until_saved(lambda all_: len(all_[0].items) == 2)
        assert page.locator(".card").count() == 2
        return
    assert page.locator(".card strong").all_inner_texts() == ["clinically significant"]
    # What was given up comes back by undo.
    page.keyboard.press("u")
    first.until_saved(lambda all_: said(all_[0])[0][1] == ("b",))


@pytest.mark.ci
def test_guidelines_define_each_label_in_the_judges_words(
    service: Served, browser: Browser
) -> None:
    reader = ReadingPage(browser, service, "mine", "Guy")
    reader.page.click("summary")
    shown = reader.page.inner_text("#guidelines")
    assert "the candidate leaves it out or denies it" in shown
    assert "would it change what a physician does for this patient" in shown
    assert axe(reader.page) == []


PRACTICE = """\
practice:
- indication: Pain.
  reference: The fracture is on the right.
  candidate: The fracture is on the left.
  errors:
  - name: the side
    side: candidate
    words: left
    labels: {category: [c], step: [major]}
    why: It is on the right.
  lesson: Sides matter.
"""


@pytest.mark.ci
@pytest.mark.parametrize("has_file", [False, True])
def test_a_rubric_of_a_package_has_its_own_practice_or_none(
    browser: Browser, tmp_path: Path, has_file: bool
) -> None:
    toys = shutil.copytree(TOYS, tmp_path / "toys")
    if has_file:
        (toys / "toy_scale" / "reading.yaml").write_text(PRACTICE, "utf-8")
    run = readable(tmp_path, "toy_scale")
    with Served(tmp_path, run, environ={"PYTHONPATH": str(toys)}) as service:
        page = browser.new_context(viewport=WIDE).new_page()
        page.goto(f"{service.url}/read?run=mine")
        page.fill("#reader-name", "Toy")
        page.keyboard.press("Enter")
        if not has_file:
            page.wait_for_selector("h2:has-text('1 of 3')")
            page.click("summary")
            shown = page.inner_text("#guidelines")
            assert "This rubric has no practice studies." in shown
            assert "Practice studies" not in shown
            for key in ("ArrowDown", "c", "3", "g"):
                page.keyboard.press(key)
            page.wait_for_selector("h2:has-text('2 of 3')")
            return
        page.wait_for_selector("h2:has-text('Practice 1 of 1')")
        page.keyboard.press("0")
        page.wait_for_selector(".feedback")
        said = page.inner_text(".feedback")
        assert "Expected: (c) wrong location, major. It is on the right." in said


@pytest.mark.ci
def test_the_page_fits_a_phone(service: Served, browser: Browser) -> None:
    reader = ReadingPage(
        browser, service, "mine", "Fay", viewport=NARROW, has_touch=True
    )
    page = reader.page
    words = page.locator(".candidate .words span")
    words.last.tap()
    reader.tap("category-c", "significance-significant")
    page.wait_for_selector("#card-0")
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) <= NARROW["width"]
    # A word that is chosen is not below the labels.
    words.first.tap()
    page.wait_for_selector("[data-act=category-a]")
    word, bar = words.first.bounding_box(), page.locator(".bar").bounding_box()
    assert word is not None
    assert bar is not None
    assert word["y"] + word["height"] <= bar["y"]
    assert axe(page) == []


def test_the_scripts_of_the_page_ask_for_nothing_that_a_judge_said() -> None:
    script = READING.script
    address = r"(?:[\"'`]|\}/)/?(v1/[a-z]+|reading[a-z/]*)"
    assert {*re.findall(address, script)} == {
        "v1/runs",
        "reading",
        "reading/study",
        "reading/practice",
        "reading/line",
        "readings",
    }
    for word in ("/reviews", "/search", "/annotations", "/data/", "overview"):
        assert word not in script
    assert "/reviews" in RESULTS.script


@pytest.mark.ci
def test_twenty_hostile_studies_are_read_by_keyboard_alone(
    browser: Browser, tmp_path: Path
) -> None:
    refs = {f"s{at:02}": f"No effusion {at}. {HOSTILE}" for at in range(20)}
    preds = dict.fromkeys(refs, f"Small effusion. {HOSTILE}")
    for name, reports in (("refs", refs), ("preds", preds)):
        (tmp_path / f"{name}.json").write_text(json.dumps(reports), "utf-8")
    for command in (
        ("green", "preds.json", "refs.json", "--out", "mine"),
        ("readers", "sample", "mine", "-n", "20"),
    ):
        program = [sys.executable, "-m", "judge", *command]
        # Studies that cannot be judged are read all the same.
        subprocess.run(program, check=False, cwd=tmp_path, capture_output=True)
    with Served(tmp_path, tmp_path / "mine") as service:
        page = browser.new_context(viewport=WIDE).new_page()
        seen = watch(page)
        page.goto(f"{service.url}/read?run=mine")
        page.keyboard.type("Kay")
        page.keyboard.press("Enter")
        page.locator("[data-act=skip]").click()
        for at in range(20):
            page.wait_for_selector(f"h2:has-text('{at + 1} of 20')")
            if at == 0:
                assert HOSTILE in page.inner_text(".candidate .words")
                inert = "main :is(img, script, svg, iframe, [onerror])"
                assert page.locator(inert).count() == 0
            keys = ("ArrowDown", "a", "1", "g") if at % 2 else ("0",)
            for key in keys:
                page.keyboard.press(key)
        page.wait_for_selector("h2:has-text('All studies are read')")
        assert axe(page) == []
        seen.assert_quiet()
        assert until(
            lambda: all(one.done for one in store.current(tmp_path / "mine").values())
        )
    kept = store.current(tmp_path / "mine")
    assert len(kept) == 20
    assert sum(len(reading.items) for reading in kept.values()) == 10
