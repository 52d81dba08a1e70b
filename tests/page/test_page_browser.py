"""The file of a run in a real browser, used as a person uses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import NARROW, WIDE, Watch, axe_in_both_schemes, chromium, expect, ready, watch
from pagemaking import HOSTILE, examples, failed, hostile, write_run

from judge import rubrics
from judge.report.page.file import html_file
from judge.running.folder import Run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LONG = "Indication: cough, fever and a fall from a ladder two weeks ago, on the left side. " * 3
NAMES = ("green", "fineradscore")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of the examples and a hostile one of each rubric, one of many failures, an empty one.

    The examples have a long field, and one of them a long id.
    """
    folder = tmp_path_factory.mktemp("pages")
    runs = {"green-failed": [failed(f"f-{n:03}") for n in range(120)], "green-empty": []}
    for name in (*NAMES, "facts"):
        made = examples(name)
        runs[name] = [
            (replace(one, fields={**one.fields, "note": LONG}), *rest) for one, *rest in made
        ]
        runs[f"{name}-hostile"] = [*made[:3], hostile(rubrics.load(name), HOSTILE)]
    for kind, ends in runs.items():
        rubric = rubrics.load(kind.split("-")[0])
        run = write_run(folder / kind, rubric, ends)
        pieces = html_file(run.summary(), run.table(), run.records(), rubric)
        (folder / f"{kind}.html").write_text("".join(pieces), "utf-8")
    return {kind: folder / f"{kind}.html" for kind in runs}


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)
    yield context.new_page()
    context.close()


@pytest.fixture
def seen(page: Page) -> Iterator[Watch]:
    """What the page does. At the end: it said nothing, and asked for no file but pages."""
    found = watch(page)
    yield found
    found.assert_quiet()
    asked = found.outside("blob:")
    assert asked
    assert all(url.startswith("file:///") and url.endswith(".html") for url in asked)


def show(page: Page, path: Path) -> None:
    page.goto(path.as_uri())
    ready(page)


def ids(page: Page) -> list[str]:
    return page.locator("#list tbody th").all_inner_texts()


def settle(page: Page, n: int) -> None:
    expect(page.locator("#list tbody tr")).to_have_count(n)


def active(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id"))


pytestmark = pytest.mark.usefixtures("seen")


@pytest.mark.parametrize("name", NAMES)
def test_sort_filter_and_search(page: Page, files: dict[str, Path], name: str) -> None:
    show(page, files[name])
    assert len(ids(page)) == 15
    assert ids(page)[0] == "ex-015"
    for first, direction in (("ex-001", "ascending"), ("ex-015", "descending")):
        page.click("[data-sort=study_id]")
        assert ids(page)[0] == first
        assert page.get_attribute("th.id", "aria-sort") == direction
    page.select_option("#filter-class", label="normal")
    settle(page, 5)
    page.select_option("#filter-field_46site", label="harbour")
    page.wait_for_selector("text=of 15 studies")
    assert 0 < len(ids(page)) < 5
    page.click("text=Reset")
    settle(page, 15)
    page.fill("#filter-q", "Tension  PNEUMOTHORAX")
    settle(page, 1)
    assert ids(page) == ["ex-015"]
    assert "1 study of 15" in page.inner_text("#announcer")


def test_the_address_keeps_what_is_asked_for(
    page: Page, files: dict[str, Path], judged_examples: Path
) -> None:
    table = Run(judged_examples).table().set_index("study_id")
    low = table.index[table["green"] <= 0.5]
    some = table.index[table["green"].between(0.1, 0.5)]
    assert 0 < len(some) < len(low)
    show(page, files["green"])
    # Category and severity speak of one error.
    page.select_option("#filter-category", label="(b) missing finding")
    page.select_option("#filter-significance", label="clinically insignificant")
    settle(page, 1)
    page.click("text=Reset")
    page.click("text=By score and further fields")
    page.fill("[id='filter-max_46green']", "0.5")
    settle(page, len(low))
    page.fill("[id='filter-min_46green']", "0.1")
    settle(page, len(some))
    page.reload()
    ready(page)
    assert sorted(ids(page)) == sorted(some)
    page.evaluate("location.hash = '#study=nope'")
    page.locator("#alarm", has_text="no study").wait_for()
    page.evaluate("location.hash = '#class=normal&study=ex-004'")
    page.wait_for_selector("h2:has-text('Study ex-004')")
    page.click("text=All studies")
    settle(page, 5)
    page.go_back()
    page.wait_for_selector("h2:has-text('Study ex-004')")


@pytest.mark.parametrize("name", [*NAMES, "facts"])
def test_the_keyboard_leads_to_a_study_which_shows_why(
    page: Page, files: dict[str, Path], name: str
) -> None:
    show(page, files[name])
    order = ids(page)
    page.locator(".skip").press("Enter")
    page.wait_for_selector("#studies-title:focus")
    page.locator("#list tbody a", has_text="ex-010").press("Enter")
    page.wait_for_selector("#study-title:focus")
    if name in NAMES:  # facts are each of one report
        marks = page.locator(".report mark bdi").all_inner_texts()
        assert marks == ["Severe cardiomegaly", "Mild cardiomegaly"]
        page.keyboard.press("j")
        assert active(page) == "error-0"
        assert page.locator("mark.lit").count() == 2
    if name == "fineradscore":
        assert page.locator("#study del").all_inner_texts() == ["Mild"]
        assert page.locator("#study ins").all_inner_texts() == ["Severe"]
    page.keyboard.press("r")
    assert page.locator(".answer pre").inner_text().strip()
    at = order.index("ex-010")
    page.keyboard.press("n")
    page.wait_for_selector(f"h2:has-text('Study {order[at + 1]}')")
    page.keyboard.press("p")
    page.wait_for_selector("h2:has-text('Study ex-010')")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open] >> text=next study")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.wait_for_selector("#studies:visible")
    page.keyboard.press("/")
    assert active(page) == "filter-q"


@pytest.mark.parametrize("name", [*NAMES, "facts"])
def test_a_hostile_study_does_nothing(page: Page, files: dict[str, Path], name: str) -> None:
    show(page, files[f"{name}-hostile"])
    page.click("text=More tables")
    page.click("text=By score")
    page.get_by_label("Class contains").fill("onError=")
    settle(page, 1)
    # Text that runs from right to left turns nothing beside it.
    for cell in page.locator("tbody td.class bdi").all():
        assert cell.evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"
    page.locator("#list tbody tr").filter(has_text="onerror").locator("a").click()
    page.wait_for_selector("#study")
    page.keyboard.press("j")
    page.keyboard.press("r")
    for button in page.locator("button:has-text('Show all')").all():
        button.click()
    assert "onerror" in page.inner_text("h2#study-title")
    assert page.evaluate("window.struck") is None
    inert = "#study :is(img, script, svg, a[href^='javascript'])"
    assert page.locator(inert).count() == 0
    length = page.locator(".report .text").first.evaluate("node => node.textContent.length")
    assert length > 1_000_000
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDE["width"]


def test_studies_without_a_score_and_no_study_at_all(page: Page, files: dict[str, Path]) -> None:
    show(page, files["green-failed"])
    assert len(ids(page)) == 50
    page.click("text=Last")
    settle(page, 20)
    page.click("text=f-119")
    page.locator("#study", has_text="Failed: timeout").wait_for()
    assert "not scored" in page.inner_text("#study")
    show(page, files["green-empty"])
    assert "No study matches." in page.inner_text("#list")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", NAMES)
def test_everyone_can_use_it_and_print_it(
    page: Page, files: dict[str, Path], name: str, size: dict[str, int]
) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]
    show(page, files[name])
    # What the browser keeps may be anything; the columns that a reader chooses are kept there.
    page.evaluate(f"localStorage.setItem('judge.columns.{name}', '{{\"%zz\": &=&toString=yes')")
    page.reload()
    page.locator("#columns > summary").click()
    page.locator("#columns").get_by_label("note", exact=True).check()
    page.reload()
    page.wait_for_selector("#list thead th:has-text('note')")
    page.click("text=More tables")
    page.click("text=By score")
    page.locator("#columns > summary").click()
    cell = page.locator("#list tbody td", has_text="ladder").first
    assert cell.get_attribute("title") == LONG  # of which one line is shown
    assert axe_in_both_schemes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.click("text=ex-015")
    page.wait_for_selector("#study")
    page.keyboard.press("j")
    page.keyboard.press("r")
    assert axe_in_both_schemes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.emulate_media(media="print")
    assert not any(steps.is_visible() for steps in page.locator(".steps, .top button").all())
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
