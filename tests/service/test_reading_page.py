"""Two readers read blind in a real browser: by keyboard alone, and by mouse and touch."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import NARROW, WIDE, axe, chromium, ready, watch
from readable import RATING, png, readable
from served import Served, until

from judge.readers import kept
from judge.readers.kept import KeptReading
from judge.readers.sample import SAMPLE
from judge.running.folder import Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TABLET = {"width": 1024, "height": 768}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which three studies are drawn; nobody reads in it."""
    return readable(tmp_path_factory.mktemp("drawn"))


@pytest.fixture
def run(drawn: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(drawn, tmp_path / "mine"))


@pytest.fixture
def service(tmp_path: Path, run: Path) -> Iterator[Served]:
    with Served(tmp_path, run) as running:
        yield running


def opened(browser: Browser, service: Served, reader: str, size: Any = WIDE, **more: Any) -> Page:
    page = browser.new_context(viewport=size, **more).new_page()
    page.goto(f"{service.url}/read?run=mine")
    page.fill("#reader-name", reader)
    page.keyboard.press("Enter")
    ready(page)
    page.wait_for_selector(".desk")
    return page


def at(page: Page, n: int) -> None:
    page.wait_for_selector(f"main h2:has-text('{n} of 3')")


def saved(service: Served, reader: str) -> list[KeptReading]:
    """The last readings of a reader, in the order in which the studies were first saved."""
    found = kept.latest(kept.read(service.folder / "mine"))
    return [one for (who, _), one in found.items() if who == reader]


def until_saved(service: Served, reader: str, there: Any) -> list[KeptReading]:
    assert until(lambda: there(saved(service, reader)), 20), saved(service, reader)
    return saved(service, reader)


def said(reading: KeptReading) -> list[tuple[Any, ...]]:
    return [
        (one.kind, one.labels.get("category"), one.labels.get("significance"), one.side, one.text)
        for one in reading.items
    ]


def test_two_readers_read_blind_and_apart(service: Served, browser: Browser) -> None:
    anna = opened(browser, service, "Anna")
    seen = watch(anna)
    bodies: list[bytes] = []
    anna.on("response", lambda answer: bodies.append(answer.body()))
    anna.reload()
    anna.wait_for_selector(".desk")
    press = anna.keyboard.press
    # The first line of the reference is missing in the candidate; the second matches.
    for key in ("r", "ArrowDown", "b", "1"):
        press(key)
    anna.wait_for_selector("#card-0")
    for key in ("ArrowDown", "m"):
        press(key)
    anna.wait_for_selector("#card-1")
    # Two words of the candidate, and the level before the category.
    for key in ("v", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "2", "d", "g"):
        press(key)
    at(anna, 2)
    for key in ("n", "n"):  # it asks whether nothing matches here
        press(key)
    at(anna, 3)
    press("t")
    anna.keyboard.type("Poor film.")
    for key in ("Escape", "n", "n"):
        press(key)
    anna.wait_for_selector("h2:has-text('All 3 studies are read')")
    first, second, third = until_saved(
        service, "Anna", lambda all_: [1 for r in all_ if r.done] == [1] * 3
    )
    record = Run(service.folder / "mine").record(first.study_id)
    words = [record[one.side][one.start : one.end] for one in first.items if one.side]
    assert words == [one.text for one in first.items]
    assert [one[:4] for one in said(first)] == [
        ("error", ("b",), ("significant",), "reference"),
        ("matched", None, None, "reference"),
        ("error", ("d",), ("insignificant",), "candidate"),
    ]
    assert len(words[2].split()) == 2
    assert (second.items, third.items, third.comment) == ((), (), "Poor film.")

    bob = opened(browser, service, "Bob", TABLET, has_touch=True)
    at(bob, 1)
    assert bob.locator(".card, mark").count() == 0
    assert "Poor film." not in bob.content()
    box = bob.locator(".candidate .words").bounding_box()
    assert box
    for x in (12, 90):  # the first word, then all up to another
        bob.touchscreen.tap(box["x"] + x, box["y"] + 14)
    bob.locator("[data-act=category-c]").tap()
    bob.locator("[data-act=significance-significant]").tap()
    bob.wait_for_selector("#card-0")
    bob.locator("[data-act=nothing]").tap()
    bob.get_by_role("alert").get_by_text("marked as wrong (1 error)").wait_for()
    bob.locator("[data-act=done]").tap()
    at(bob, 2)
    bob.locator(".reference .words").dblclick(position={"x": 20, "y": 14})
    bob.locator("[data-act=kind-matched]").click()
    bob.wait_for_selector(".card:has-text('matched finding')")
    # With the mouse, from within one word to within another: whole words are taken.
    box = bob.locator(".candidate .words").bounding_box()
    assert box
    bob.mouse.move(box["x"] + 12, box["y"] + 14)
    bob.mouse.down()
    bob.mouse.move(box["x"] + 110, box["y"] + 14)
    bob.mouse.up()
    for label in ("category-e", "significance-insignificant"):
        bob.locator(f"[data-act={label}]").click()
    bob.wait_for_selector("#card-1")
    bob.locator("[data-act=later]").tap()
    at(bob, 3)
    mine = until_saved(service, "Bob", lambda all_: len(all_) == 2 and len(all_[1].items) == 2)
    assert [one.done for one in mine] == [True, False]
    assert [one[:4] for one in said(mine[0])] == [("error", ("c",), ("significant",), "candidate")]
    assert len(mine[0].items[0].text.split()) > 1
    assert said(mine[1])[0][3:] == ("reference", mine[1].items[0].text)
    assert len(mine[1].items[0].text.split()) == 1
    dragged = mine[1].items[1]
    assert mine[1].texts == kept.digest_of(Run(service.folder / "mine").record(mine[1].study_id))
    candidate = Run(service.folder / "mine").record(mine[1].study_id)["candidate"]
    assert candidate.startswith(dragged.text)
    assert len(dragged.text.split()) > 1
    assert not candidate[len(dragged.text)].isalnum()
    # Whoever comes back begins at the first study that is not done, with what was marked in it.
    bob.reload()
    at(bob, 2)
    assert bob.locator(".card").count() == 2
    assert saved(service, "Anna") == [first, second, third]
    assert_blind(service, bodies, [*seen.requests])
    seen.assert_quiet()
    assert not seen.outside(service.url, "data:")


def assert_blind(service: Served, bodies: list[bytes], requests: list[str]) -> None:
    """Nothing that the page loaded says what the judge said, or asks what would."""
    assert len(bodies) > 10
    for record in Run(service.folder / "mine").records():
        annotation = record["annotation"]
        told = [annotation["explanation"], *(item["text"] for item in annotation["items"])]
        for words in told:
            if words and words not in record["reference"] + record["candidate"]:
                assert not [body for body in bodies if words.encode() in body]
    assert not [body for body in bodies if RATING.encode() in body]
    asked = {url.partition("?")[0].removeprefix(service.url) for url in requests}
    paths = {path for path in asked if path.startswith("/v1/")}
    assert paths == {f"/v1/runs/mine/{end}" for end in ("reading", "reading/study", "readings")}


def test_a_mark_is_changed_deleted_and_taken_back_over_studies(
    service: Served, browser: Browser
) -> None:
    page = opened(browser, service, "Anna")
    press = page.keyboard.press
    for key in ("ArrowDown", "a", "1", "ArrowDown", "b", "2", "j", "f", "1"):
        press(key)
    (reading,) = until_saved(
        service, "Anna", lambda all_: all_ and said(all_[0])[0][1:3] == (("f",), ("significant",))
    )
    assert [one[1] for one in said(reading)] == [("f",), ("b",)]
    for key in ("k", "x"):
        press(key)
    until_saved(service, "Anna", lambda all_: len(all_[0].items) == 1)
    press("g")
    at(page, 2)
    press("Control+z")  # done
    at(page, 1)
    page.wait_for_selector("[data-act=done]:has-text('Done, next')")
    press("u")  # deleted
    page.wait_for_selector("#card-1")
    for _ in range(3):
        press("u")
    page.wait_for_selector("#card-0:has-text('false finding')")
    until_saved(service, "Anna", lambda all_: [o[1] for o in said(all_[0])] == [("a",)])
    press("u")
    page.wait_for_selector("text=Nothing is marked yet.")
    (reading,) = until_saved(service, "Anna", lambda all_: not all_[0].items)
    assert not reading.done
    # What is half made is left by Escape, and holds a study back until then.
    for key in ("ArrowDown", "a", "g"):
        press(key)
    page.get_by_role("alert").get_by_text("A mark is not whole yet").wait_for()
    for key in ("Escape", "n"):
        press(key)
    at(page, 2)


def test_nothing_is_lost_while_the_service_is_away(
    tmp_path: Path, run: Path, browser: Browser
) -> None:
    with Served(tmp_path, run) as service:
        port = service.url.rpartition(":")[2]
        page = opened(browser, service, "Anna")
        page.wait_for_load_state("networkidle")  # the next study has been fetched ahead
        service.kill()
        for key in ("ArrowDown", "a", "1"):
            page.keyboard.press(key)
        page.wait_for_selector("#saved.waiting:has-text('Not saved yet')")
        page.keyboard.press("g")
        at(page, 2)
        for key in ("ArrowDown", "b", "2"):
            page.keyboard.press(key)
        page.wait_for_selector("#card-0")
        assert saved(service, "Anna") == []
        context = page.context
        page.close()
        with Served(tmp_path, run, "--port", port) as again:
            page = context.new_page()
            page.goto(f"{again.url}/read?run=mine")
            at(page, 2)
            page.wait_for_selector("#saved.saved")
            first, second = until_saved(again, "Anna", lambda all_: len(all_) == 2)
            assert (first.done, second.done) == (True, False)
            assert [said(one)[0][1] for one in (first, second)] == [("a",), ("b",)]
            assert page.locator(".card").count() == 1
            again.kill()
            page.keyboard.press("n")
            page.get_by_role("alert").get_by_text("marked as wrong").wait_for()
            page.keyboard.press("x")
            page.keyboard.press("j")
            page.keyboard.press("x")
            page.wait_for_selector("#saved.waiting")
            again.start()
            until_saved(again, "Anna", lambda all_: not all_[1].items)
            page.wait_for_selector("#saved.saved")


def test_without_a_sample_the_page_says_how_to_draw_one(service: Served, browser: Browser) -> None:
    (service.folder / "mine" / SAMPLE).unlink()
    page = browser.new_context().new_page()
    page.goto(f"{service.url}/")
    page.get_by_role("link", name="Read mine blind").click()
    page.fill("#reader-name", "Anna")
    page.keyboard.press("Enter")
    page.get_by_text("judge sample RUN -n 100").wait_for()
    assert page.locator("button", has_text="wrong").count() == 0
    assert axe(page) == []


@pytest.mark.parametrize(
    ("size", "scheme"), [(WIDE, "light"), (TABLET, "dark"), (NARROW, "light"), (NARROW, "dark")]
)
def test_it_is_accessible_and_nothing_is_cut_off(
    seen_service: Served, browser: Browser, size: Any, scheme: Any
) -> None:
    page = opened(browser, seen_service, f"Eve {size} {scheme}", size, color_scheme=scheme)
    seen = watch(page)
    for key in ("r", "ArrowDown", "m", "ArrowDown", "a"):
        page.keyboard.press(key)
    page.wait_for_selector("#card-0")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    if size["width"] > 1000:
        heights = page.locator(".card").evaluate_all("(all) => all.map((one) => one.offsetHeight)")
        assert max(heights) < 48, "a card is one line"
        # Both reports and all buttons are in sight, whatever was marked.
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        below = page.locator(".bar, .steps").evaluate_all(
            "(all) => all.map((one) => one.scrollHeight - one.clientHeight)"
        )
        assert max(below) <= 0
    page.keyboard.press("?")
    page.wait_for_selector("dialog.help")
    assert axe(page) == []
    seen.assert_quiet()
    page.context.close()


@pytest.fixture(scope="module")
def seen_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service that shows images; of the first study one is there and one is not."""
    folder = tmp_path_factory.mktemp("images")
    (folder / "images").mkdir()
    (folder / "images" / "a.png").write_bytes(png())
    run = readable(folder, images=dict.fromkeys(range(15), '["a.png", "../refs.json"]'))
    with Served(folder, run, "--images", folder / "images") as running:
        yield running


def test_an_image_is_zoomed_by_keys_wheel_and_buttons(
    seen_service: Served, browser: Browser
) -> None:
    page = opened(browser, seen_service, "Zoe")
    image = page.locator(".view img")
    until(lambda: image.evaluate("(one) => one.naturalWidth") == 40)

    def zoom() -> float:
        width: float = image.evaluate(
            "(one) => one.getBoundingClientRect().width / one.offsetWidth"
        )
        return width

    assert zoom() == pytest.approx(1, rel=0.01)
    page.keyboard.press("+")
    page.keyboard.press("+")
    assert zoom() == pytest.approx(1.4**2, rel=0.01)
    page.keyboard.press("-")
    assert zoom() == pytest.approx(1.4, rel=0.01)
    page.keyboard.press("0")
    assert zoom() == pytest.approx(1, rel=0.01)
    page.locator(".view").hover(position={"x": 10, "y": 10})
    page.mouse.wheel(0, -400)
    assert until(lambda: zoom() > 2)
    box = page.locator(".view").bounding_box()
    left = image.evaluate("(one) => one.getBoundingClientRect().left")
    assert box
    assert abs(left - box["x"]) < 30, "what is under the pointer stays there"
    page.get_by_role("button", name="Show the whole image").click()
    assert zoom() == pytest.approx(1, rel=0.01)
    page.get_by_role("button", name="Next image").click()
    page.get_by_text("This image cannot be shown").wait_for()
    page.context.close()
