"""The file of a run in a real browser, used as a person uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import NARROW, WIDE, Watch, axe, axe_in_both_schemes, chromium, ready, watch
from pagemaking import HOSTILE, examples, failed, hostile, write_run
from support import SHAPES

from judge import rubrics
from judge.report.page.file import html_file

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

STRIPPED = HOSTILE.replace("\0", "\ufffd")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page for each rubric, one with nothing but hostile texts, one without studies, ..."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    for name in SHAPES:
        rubric = rubrics.load(name)
        shown, hidden = examples(name), [failed(f"f-{n:03}") for n in range(120)]
        for kind, ends in (
            ("examples", shown),
            ("hostile", [*shown[:3], hostile(rubric, HOSTILE)]),
            ("failed", hidden),
            ("empty", []),
        ):
            run = write_run(folder / f"{name}-{kind}", rubric, ends)
            made[f"{name}-{kind}"] = folder / f"{name}-{kind}.html"
            pieces = html_file(run.summary(), run.table(), run.records(), rubric)
            made[f"{name}-{kind}"].write_text("".join(pieces), "utf-8")
    return made


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)
    yield context.new_page()
    context.close()


def show(page: Page, path: Path, after: str = "") -> Watch:
    seen = watch(page)
    page.goto(path.as_uri() + after)
    ready(page)
    return seen


def ids(page: Page) -> list[str]:
    return page.locator("#list tbody th").all_inner_texts()


def settle(page: Page, n: int) -> None:
    from playwright.sync_api import expect

    expect(page.locator("#list tbody tr")).to_have_count(n)


def quiet(seen: Watch) -> None:
    seen.assert_quiet()
    assert seen.outside("file:///", "blob:") == []
    assert len({url for url in seen.requests if url.startswith("file:")}) == 1


@pytest.mark.parametrize("name", SHAPES)
def test_open_sort_filter_search(page: Page, files: dict[str, Path], name: str) -> None:
    seen = show(page, files[f"{name}-examples"])
    assert "a note" in page.inner_text("header")
    assert ids(page)[0] == "ex-015"
    assert len(ids(page)) == 15
    page.click("[data-sort=study_id]")
    assert ids(page)[0] == "ex-001"
    page.click("[data-sort=study_id]")
    assert ids(page)[0] == "ex-015"
    assert page.get_attribute("th.id", "aria-sort") == "descending"
    page.select_option("#filter-class", label="normal")
    settle(page, 5)
    page.select_option("#filter-class", label="all")
    settle(page, 15)
    page.select_option("#filter-field_46site", label="harbour")
    page.wait_for_selector("text=of 15 studies")
    assert 0 < len(ids(page)) < 15
    page.click("text=Reset")
    settle(page, 15)
    page.fill("#filter-q", "Tension  PNEUMOTHORAX")
    settle(page, 1)
    assert ids(page) == ["ex-015"]
    assert "1 study of 15" in page.inner_text("#announcer")
    page.fill("#filter-q", "nothing of the kind")
    page.wait_for_selector("text=No study matches.")
    quiet(seen)


def test_category_and_severity_speak_of_one_error(page: Page, files: dict[str, Path]) -> None:
    seen = show(page, files["green-examples"])
    page.select_option("#filter-category", label="(b) missing finding")
    page.select_option("#filter-significance", label="clinically insignificant")
    settle(page, 1)
    assert ids(page) == ["ex-014"]
    quiet(seen)


def test_a_range_of_scores(page: Page, files: dict[str, Path]) -> None:
    seen = show(page, files["green-examples"])
    page.click("text=By score and further fields")
    page.fill("[id='filter-max_46green']", "0.5")
    settle(page, 2)
    page.fill("[id='filter-min_46green']", "0.1")
    settle(page, 1)
    assert ids(page) == ["ex-004"]
    page.reload()
    ready(page)
    assert ids(page) == ["ex-004"]
    quiet(seen)


@pytest.mark.parametrize("name", SHAPES)
def test_a_study_shows_why(page: Page, files: dict[str, Path], name: str) -> None:
    seen = show(page, files[f"{name}-examples"])
    page.click("text=ex-010")
    page.wait_for_selector("#study")
    rubric = rubrics.load(name)
    marks = page.locator(".report mark bdi").all_inner_texts()
    # A direct score marks nothing, and facts are each of one report.
    if name not in ("facts", "toy_facts"):
        assert marks == ["Severe cardiomegaly", "Mild cardiomegaly"] * bool(rubric.graded)
    if rubric.graded:
        card = page.locator("#error-0")
        grade = card.locator(".severity").inner_text()
        assert grade in {label.label for label in rubric.grades.labels}
        page.locator(".report mark").first.hover()
        assert page.locator(".error.lit").count() > 0
        card.focus()
        assert page.locator("mark.lit").count() == 2 or name == "toy_facts"
    if rubric.editor:
        assert page.locator("#study del").all_inner_texts() == ["Mild"]
        assert page.locator("#study ins").all_inner_texts() == ["Severe"]
    page.keyboard.press("r")
    assert page.locator(".answer pre").inner_text().strip()
    assert f"{name}:" in page.locator(".answer .mono").inner_text()
    quiet(seen)


def test_keys_walk_through_studies_and_errors(page: Page, files: dict[str, Path]) -> None:
    seen = show(page, files["green-examples"])
    order = ids(page)
    page.keyboard.press("Tab")
    page.click(f"text={order[0]}")
    page.wait_for_selector("#study")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "error-1"
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.id") == "error-0"
    page.keyboard.press("n")
    page.wait_for_selector(f"h2:has-text('Study {order[1]}')")
    page.keyboard.press("p")
    page.wait_for_selector(f"h2:has-text('Study {order[0]}')")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open] >> text=next study")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.wait_for_selector("#studies:visible")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter-q"
    quiet(seen)


def test_the_address_names_the_study_and_the_filter(page: Page, files: dict[str, Path]) -> None:
    seen = show(page, files["green-examples"], "#class=normal&study=ex-004")
    page.wait_for_selector("h2:has-text('Study ex-004')")
    page.click("text=All studies")
    settle(page, 5)
    page.go_back()
    page.wait_for_selector("h2:has-text('Study ex-004')")
    quiet(seen)


def test_an_unknown_study_says_so(page: Page, files: dict[str, Path]) -> None:
    show(page, files["green-examples"], "#study=nope").assert_quiet()
    assert "no study" in page.inner_text("#alarm")


@pytest.mark.parametrize("name", SHAPES)
def test_a_hostile_study_does_nothing(page: Page, files: dict[str, Path], name: str) -> None:
    seen = show(page, files[f"{name}-hostile"])
    page.click("text=More tables")
    page.click("text=By score")
    page.get_by_label("Class contains").fill("onError=")
    settle(page, 1)
    page.locator("#list tbody tr").filter(has_text="onerror").locator("a").click()
    page.wait_for_selector("#study")
    assert "onerror" in page.inner_text("h2#study-title")
    page.keyboard.press("j")
    page.keyboard.press("r")
    for button in page.locator("button:has-text('Show all')").all():
        button.click()
    page.wait_for_timeout(200)
    assert page.evaluate("window.struck") is None
    assert (
        page.locator("#study img, #study script, #study svg, #study a[href^='javascript']").count()
        == 0
    )
    assert (
        page.locator(".report .text").first.evaluate("node => node.textContent.length") > 1_000_000
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDE["width"]
    quiet(seen)


def test_right_to_left_marks_stay_in_their_place(page: Page, files: dict[str, Path]) -> None:
    seen = show(page, files["green-hostile"])
    for cell in page.locator("tbody td.class bdi").all():
        assert cell.evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"
    heading = page.locator("thead th.outcome, thead th.codes").first
    assert heading.evaluate("node => getComputedStyle(node).direction") == "ltr"
    quiet(seen)


@pytest.mark.parametrize("name", SHAPES)
def test_studies_without_a_score(page: Page, files: dict[str, Path], name: str) -> None:
    seen = show(page, files[f"{name}-failed"])
    assert len(ids(page)) == 50
    page.click("text=Last")
    settle(page, 20)
    assert "101 to 120 of 120" in page.inner_text(".pager")
    page.click("text=f-119")
    page.wait_for_selector("#study")
    assert "Failed: timeout" in page.inner_text("#study")
    assert "not scored" in page.inner_text("#study")
    assert page.locator("text=n/a").count() or page.locator("#study .score").count() == 0
    quiet(seen)


@pytest.mark.parametrize("name", SHAPES)
def test_no_study_at_all(page: Page, files: dict[str, Path], name: str) -> None:
    seen = show(page, files[f"{name}-empty"])
    assert "No study matches." in page.inner_text("#list")
    quiet(seen)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_everyone_can_use_it(
    browser: Browser, files: dict[str, Path], name: str, size: dict[str, int]
) -> None:
    context = browser.new_context(viewport=size)
    page = context.new_page()
    seen = show(page, files[f"{name}-examples"])
    page.click("text=More tables")
    page.click("text=By score")
    look = axe_in_both_schemes if size is WIDE else axe  # colours are those of the wide page
    assert look(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.click("text=ex-015")
    page.wait_for_selector("#study")
    page.keyboard.press("j")
    page.keyboard.press("r")
    assert look(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.keyboard.press("?")
    assert look(page) == []
    quiet(seen)
    context.close()
