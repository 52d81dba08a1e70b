"""Readers read blind in a real browser: by keyboard alone, and by mouse and touch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import WIDE, axe, ready, watch
from served import RATING, Served, readable, until

from judge.readers import kept
from judge.readers.kept import KeptReading
from judge.running.folder import Run
from judge.sentences import lines

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TABLET = {"width": 1024, "height": 768}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs of which three studies are drawn; the errors of `lines` are corrections."""
    folder = tmp_path_factory.mktemp("readings")
    corrected = readable(folder, "fineradscore").rename(folder / "lines")
    mine = readable(folder)
    again = shutil.copytree(mine, folder / "again")
    bare = shutil.copytree(mine, folder / "bare", ignore=lambda *_: ["sample.json"])
    with Served(folder, mine, corrected, again, bare) as running:
        yield running


class Desk:
    """A reader's page, and what was saved of it."""

    def __init__(self, browser: Browser, service: Served, run: str, reader: str, **more: Any):
        self.run, self.reader = service.folder / run, reader
        self.page = browser.new_context(**{"viewport": WIDE} | more).new_page()
        self.page.goto(f"{service.url}/read?run={run}")
        self.page.fill("#reader-name", reader)
        self.page.keyboard.press("Enter")
        ready(self.page)
        self.page.wait_for_selector(".desk")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def tap(self, *acts: str) -> None:
        for act in acts:
            self.page.locator(f"[data-act={act}]").tap()

    def at(self, n: int) -> None:
        self.page.wait_for_selector(f"main h2:has-text('{n} of 3')")

    def saved(self) -> list[KeptReading]:
        """The last readings, in the order in which the studies were first saved."""
        found = kept.latest(kept.read(self.run))
        return [one for (who, _), one in found.items() if who == self.reader]

    def until_saved(self, there: Callable[[list[KeptReading]], object]) -> list[KeptReading]:
        assert until(lambda: there(self.saved())), self.saved()
        return self.saved()


def said(reading: KeptReading) -> list[tuple[Any, ...]]:
    return [
        (one.kind, one.labels.get("category"), one.labels.get("significance"), one.side)
        for one in reading.items
    ]


def test_two_readers_read_blind_and_apart(service: Served, browser: Browser) -> None:
    anna = Desk(browser, service, "mine", "Anna")
    seen = watch(anna.page)
    bodies: list[bytes] = []
    anna.page.on("response", lambda answer: bodies.append(answer.body()))
    anna.page.reload()
    anna.page.wait_for_selector(".desk")
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
    anna.press("v", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "2", "d", "G")
    anna.at(2)
    anna.press("N", "N")  # it asks whether nothing matches here
    anna.at(3)
    anna.press("C")
    anna.page.keyboard.type("Poor film.")
    anna.press("Escape", "N", "N")
    anna.page.wait_for_selector("h2:has-text('All 3 studies are read')")
    first, second, third = anna.until_saved(lambda all_: [r.done for r in all_] == [True] * 3)
    record = Run(anna.run).record(first.study_id)
    words = [record[one.side][one.start : one.end] for one in first.items if one.side]
    assert words == [one.text for one in first.items]
    assert said(first) == [
        ("error", ("b",), ("significant",), "reference"),
        ("matched", None, None, "reference"),
        ("error", ("d",), ("insignificant",), "candidate"),
    ]
    assert len(words[2].split()) == 2
    assert (second.items, third.items, third.comment) == ((), (), "Poor film.")

    bob = Desk(browser, service, "mine", "Bob", viewport=TABLET, has_touch=True)
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
    assert_blind(anna, service, bodies, seen.requests)
    seen.assert_quiet()
    assert not seen.outside(service.url, "data:", "blob:")


def assert_blind(anna: Desk, service: Served, bodies: list[bytes], requests: list[str]) -> None:
    """Nothing that the page loaded says what the judge said, or asks what would."""
    assert len(bodies) > 10
    for record in Run(anna.run).records():
        annotation = record["annotation"]
        told = [annotation["explanation"], *(item["text"] for item in annotation["items"])]
        for words in told:
            if words and words not in record["reference"] + record["candidate"]:
                assert not [body for body in bodies if json.dumps(words)[1:-1].encode() in body]
    assert not [body for body in bodies if RATING.encode() in body]
    asked = {url.partition("?")[0].removeprefix(service.url) for url in requests}
    paths = {path for path in asked if path.startswith("/v1/")}
    own = ("reading", "reading/study", "readings")
    (blind_id,) = {path.split("/")[3] for path in paths}
    assert paths == {f"/v1/runs/{blind_id}/{end}" for end in own}
    assert not [url for url in (*asked, anna.page.url) if "mine" in url]


def test_nothing_is_lost_while_the_service_is_away(service: Served, browser: Browser) -> None:
    port = service.url.rpartition(":")[2]
    desk = Desk(browser, service, "again", "Ivy")
    desk.page.wait_for_load_state("networkidle")  # the next study has been fetched ahead
    service.kill()
    desk.press("ArrowDown", "a", "1")
    desk.page.wait_for_selector("#saved.waiting:has-text('Not saved yet')")
    desk.press("G")
    desk.at(2)
    desk.press("ArrowDown", "b", "2")
    desk.page.wait_for_selector("#card-0")
    assert desk.saved() == []
    context = desk.page.context
    desk.page.close()
    service.start(port)
    desk.page = context.new_page()
    desk.page.goto(f"{service.url}/read?run=again")
    desk.at(2)
    saved = desk.until_saved(lambda all_: len(all_) == 2)
    first, second = sorted(saved, key=lambda one: not one.done)
    assert (first.done, second.done) == (True, False)
    assert [said(one)[0][1] for one in (first, second)] == [("a",), ("b",)]
    desk.page.wait_for_selector("#saved.saved")


def test_two_windows_keep_what_is_not_saved_yet(service: Served, browser: Browser) -> None:
    desk = Desk(browser, service, "again", "Olga")
    first, context = desk.page, desk.page.context
    second = context.new_page()
    second.goto(first.url)
    second.wait_for_selector(".desk")
    second.keyboard.press("n")
    second.wait_for_selector("main h2:has-text('2 of 3')")
    context.route("**/readings", lambda route: route.abort())
    for page, code in ((first, "a"), (second, "b")):
        for key in ("ArrowDown", code, "1"):
            page.keyboard.press(key)
        page.wait_for_selector("#saved.waiting")
    first.close()
    second.close()
    context.unroute("**/readings")
    desk.page = context.new_page()
    desk.page.goto(f"{service.url}/read?run=again")
    saved = desk.until_saved(lambda all_: len(all_) == 2)
    assert sorted(said(one)[0][1] for one in saved) == [("a",), ("b",)]
    desk.page.wait_for_selector("#saved.saved")
    assert desk.page.evaluate("Object.keys(localStorage)") == ["judge.reader"]


def test_leaving_loses_no_comment_and_no_mark(service: Served, browser: Browser) -> None:
    desk = Desk(browser, service, "again", "Pia")
    desk.press("C")
    desk.page.keyboard.type("Poor film.")
    desk.page.reload()
    desk.page.wait_for_selector(".desk")
    assert desk.page.input_value("#comment") == "Poor film."
    (reading,) = desk.until_saved(lambda all_: all_)
    assert reading.comment == "Poor film."
    desk.press("ArrowDown", "n")
    desk.page.locator("#alarm", has_text="Give the mark its labels").wait_for()
    desk.at(1)
    desk.press("a", "1", "n")
    desk.at(2)


def test_what_was_marked_in_other_reports_is_given_up(service: Served, browser: Browser) -> None:
    desk = Desk(browser, service, "again", "Uma")
    desk.page.context.route("**/readings", lambda route: route.abort())
    desk.press("ArrowDown", "a", "1")
    desk.page.wait_for_selector("#saved.waiting")
    kept_here = "Object.keys(localStorage).filter(key => key.startsWith('judge.unsaved'))"
    desk.page.evaluate(
        f"{kept_here}.forEach(key => localStorage.setItem(key, JSON.stringify("
        "{...JSON.parse(localStorage.getItem(key)), texts: 'of others'})))"
    )
    desk.page.reload()
    desk.page.locator("#alarm", has_text="have changed").wait_for()
    desk.page.wait_for_selector("#saved.saved")
    desk.page.context.unroute("**/readings")
    assert desk.page.locator(".card").count() == 0
    assert desk.page.evaluate(kept_here) == []
    desk.press("ArrowDown", "b", "2")
    (reading,) = desk.until_saved(lambda all_: all_)
    assert said(reading)[0][1] == ("b",)


def test_lines_are_corrected_by_keyboard_and_touch(service: Served, browser: Browser) -> None:
    desk = Desk(browser, service, "lines", "Anna", viewport=TABLET, has_touch=True)
    seen = watch(desk.page)
    desk.press("ArrowDown", "Enter")  # the second line
    desk.page.keyboard.type("Changed.")
    desk.press("Enter")
    desk.page.wait_for_selector(".edit-row.change del")
    desk.press("a", "d", "3")  # two categories, then the severity
    desk.page.wait_for_selector("#card-0")
    # What is missing is taken from the reference and put in before the line.
    desk.press("r", "ArrowDown", "i", "Enter", "b", "2")
    desk.page.wait_for_selector("#card-1")
    desk.page.locator("[data-line='0']").tap()
    desk.tap("delete", "category-c", "severity-severity1")
    desk.page.wait_for_selector("#card-2")
    (reading,) = desk.until_saved(lambda all_: all_ and len(all_[0].items) == 3)
    missing = lines(Run(desk.run).record(reading.study_id)["reference"])[0]
    edits = [(one.edit, one.labels["severity"]) for one in reading.items if one.edit]
    found = [(edit.kind, edit.line, edit.corrected, level) for edit, level in edits]
    assert sorted(found, key=lambda one: one[3]) == [
        ("delete", 0, "", ("severity1",)),
        ("insert", 1, missing, ("severity2",)),
        ("change", 1, "Changed.", ("severity3",)),
    ]
    assert axe(desk.page) == []
    seen.assert_quiet()


def test_the_sample_is_drawn_on_the_page(service: Served, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{service.url}/read?run=bare")
    page.fill("#reader-name", "Anna")
    page.keyboard.press("Enter")
    page.fill("#draw-n", "4")
    page.get_by_role("button", name="Draw them").click()
    page.wait_for_selector(".desk h2:has-text('1 of 4')")
    page.locator("#guidelines > summary").click()
    assert "missing finding" in page.inner_text("#guidelines")
    assert axe(page) == []
