"""How a run's page reads: lines, columns, figures, and where the keyboard is seen to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import NARROW, WIDE, axe, chromium, ready, watch
from pagemaking import examples, failed, write_run

from judge import rubrics
from judge.report.page.file import html_file

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LONG = "Indication: cough, fever and a fall from a ladder two weeks ago, on the left side. " * 3
RUBRICS = ("green", "fineradscore")
OWN = {"note": LONG, "site": "Riverside", "patient": "P1", "ward": "4b", "scanner": "one"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page a rubric, with long ids and fields and a study that is not scored."""
    folder = tmp_path_factory.mktemp("reading")
    made = {}
    for name in RUBRICS:
        ends: list[Any] = [
            (replace(study, study_id=f"{study.study_id}-{'x' * 60 * (at == 3)}", fields=OWN), *rest)
            for at, (study, *rest) in enumerate(examples(name))
        ]
        run = write_run(folder / name, rubrics.load(name), [*ends, failed("f-1")])
        made[name] = folder / f"{name}.html"
        pieces = html_file(run.summary(), run.table(), run.records(), rubrics.load(name))
        made[name].write_text("".join(pieces), "utf-8")
    return made


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def size(request: pytest.FixtureRequest) -> dict[str, int]:
    found: dict[str, int] = request.param
    return found


def opened(browser: Browser, path: Path, size: dict[str, int] = WIDE, after: str = "") -> Page:
    page = browser.new_context(viewport=size).new_page()
    page.goto(path.as_uri() + after)
    ready(page)
    return page


def headings(page: Page) -> list[str]:
    return [text.split(" ▾")[0] for text in page.locator("#list thead th").all_inner_texts()]


def box(page: Page, label: str) -> Any:
    return page.locator("#columns").get_by_label(label, exact=True)


@pytest.mark.parametrize("name", RUBRICS)
def test_a_study_is_one_line_and_what_is_cut_off_is_in_its_title(
    browser: Browser, files: dict[str, Path], name: str, size: dict[str, int]
) -> None:
    page = opened(browser, files[name], size)
    page.locator("#columns > summary").click()
    box(page, "note").check()
    page.wait_for_selector("#list thead th:has-text('note')")
    heights = page.locator("#list tbody tr").evaluate_all(
        "(rows) => rows.map((row) => row.getBoundingClientRect().height)"
    )
    assert len(heights) == 16
    assert max(heights) == min(heights) < 2 * 22
    cut = page.locator("#list tbody :is(td, th)").evaluate_all(
        "(cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth)"
        ".map((cell) => [cell.textContent, cell.title])"
    )
    assert (LONG, LONG) in [tuple(one) for one in cut]
    assert any("x" * 60 in title for _, title in cut)
    assert all(text.removesuffix(" ✓reviewed") == title for text, title in cut)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.context.close()


def test_the_ids_stay_in_sight_when_a_narrow_list_is_scrolled(
    browser: Browser, files: dict[str, Path]
) -> None:
    page = opened(browser, files["green"], NARROW)
    region = page.get_by_role("region", name="List of studies")
    region.evaluate("(own) => { own.scrollLeft = 300; }")
    assert region.evaluate("(own) => own.scrollLeft") > 100
    place = page.locator("#list tbody th").first.bounding_box()
    outer = region.bounding_box()
    assert place
    assert outer
    assert place["x"] == pytest.approx(outer["x"], abs=1)
    assert place["width"] < 0.6 * outer["width"]
    page.context.close()


def test_the_columns_are_the_readers_to_choose_and_are_kept(
    browser: Browser, files: dict[str, Path]
) -> None:
    page = opened(browser, files["green"])
    seen = watch(page)
    first = headings(page)
    # Of the fields those of short values, at most three.
    assert first == [
        *("study", "class", "GREEN", "clinically significant", "clinically insignificant"),
        *("categories", "outcome", "site", "patient", "ward"),
    ]
    page.locator("#columns > summary").focus()
    page.keyboard.press("Enter")
    box(page, "ward").focus()
    page.keyboard.press("Space")
    box(page, "GREEN").uncheck()
    page.get_by_text("Further measures").first.click()
    box(page, "matched findings").check()
    assert axe(page) == []
    chosen = [name for name in first if name not in ("ward", "GREEN")] + ["matched findings"]
    assert headings(page) == chosen
    values = page.locator("#list tbody td.other").all_inner_texts()
    assert sorted(values)[0] == ""  # of the study that is not scored
    assert all(value.isdecimal() for value in values if value)
    page.reload()
    ready(page)
    assert headings(page) == chosen
    assert not box(page, "ward").is_checked()
    page.locator("#columns > summary").click()
    page.get_by_role("button", name="Usual columns").click()
    assert headings(page) == first
    page.reload()
    ready(page)
    assert headings(page) == first
    seen.assert_quiet()
    page.context.close()


def test_a_choice_for_one_rubric_is_none_for_another(
    browser: Browser, files: dict[str, Path]
) -> None:
    page = opened(browser, files["green"])
    page.locator("#columns > summary").click()
    box(page, "class").uncheck()
    assert "class" not in headings(page)
    page.goto(files["fineradscore"].as_uri())
    ready(page)
    assert "class" in headings(page)
    assert {"highest severity", "1 not actionable"} <= set(headings(page))
    page.context.close()


def test_what_the_browser_keeps_may_be_anything(browser: Browser, files: dict[str, Path]) -> None:
    page = opened(browser, files["green"])
    first = headings(page)
    page.evaluate("localStorage.setItem('judge.columns.green', '{\"%zz\": &=&toString=yes')")
    page.reload()
    ready(page)
    assert headings(page) == first
    page.context.close()


def test_a_list_sorted_by_a_column_says_so(browser: Browser, files: dict[str, Path]) -> None:
    page = opened(browser, files["green"], after="#sort=n_matched")
    assert "by matched findings" in page.inner_text("#list .count")
    assert "matched findings" not in headings(page)
    page.context.close()


def outline(page: Page) -> tuple[str, str]:
    found = page.evaluate(
        "(style => [document.activeElement.tagName, style.outlineStyle])"
        "(getComputedStyle(document.activeElement))"
    )
    return found[0], found[1]


def test_a_heading_has_no_frame_and_a_control_has(browser: Browser, files: dict[str, Path]) -> None:
    page = opened(browser, files["green"])
    page.locator("#list tbody a").first.focus()
    assert outline(page) == ("A", "solid")
    page.keyboard.press("Enter")
    page.wait_for_selector("#study-title:focus")
    assert outline(page) == ("H2", "none")
    page.keyboard.press("Tab")
    page.keyboard.press("j")
    assert outline(page) == ("LI", "solid")
    page.context.close()


@pytest.mark.parametrize(
    ("after", "title"), [("", "#studies-title"), ("#study=f-1", "#study-title")]
)
def test_the_link_to_the_studies_leads_to_a_heading_without_a_frame(
    browser: Browser, files: dict[str, Path], after: str, title: str
) -> None:
    page = opened(browser, files["green"], after=after)
    page.locator(".skip").focus()
    assert outline(page) == ("A", "solid")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{title}:focus")
    assert outline(page) == ("H2", "none")
    page.keyboard.press("Tab")
    assert outline(page)[1] == "solid"
    page.context.close()


@pytest.mark.parametrize("name", RUBRICS)
@pytest.mark.parametrize("width", [1400, 1100, 800, 380])
def test_the_figures_leave_no_hole(
    browser: Browser, files: dict[str, Path], name: str, width: int
) -> None:
    page = opened(browser, files[name], {"width": width, "height": 900})
    outer = page.locator("#overview .figures").bounding_box()
    assert outer
    rows: dict[float, list[dict[str, float]]] = {}
    for figure in page.locator("#overview .figure").all():
        place = figure.bounding_box()
        assert place
        rows.setdefault(place["y"], []).append({**place})
    assert max(map(len, rows.values())) == (2 if width > 1000 else 1)
    assert sum(map(len, rows.values())) == {"green": 3, "fineradscore": 5}[name]
    bottom = outer["y"]
    for top, row in sorted(rows.items()):
        assert len({one["height"] for one in row}) == 1
        gaps = 16 * (len(row) - 1)
        assert sum(one["width"] for one in row) + gaps == pytest.approx(outer["width"], abs=1)
        assert top - bottom == pytest.approx(0 if top == min(rows) else 16, abs=1)
        bottom = top + row[0]["height"]
    page.context.close()


@pytest.mark.parametrize("name", RUBRICS)
def test_a_column_is_as_high_as_its_number(
    browser: Browser, files: dict[str, Path], name: str
) -> None:
    page = opened(browser, files[name])
    for histogram in page.locator(".histogram").all():
        bars = histogram.locator(".column").evaluate_all(
            """(all) => all.map((one) => [Number(one.querySelector(".column-n").textContent),
              one.querySelector(".column-fill").getBoundingClientRect().height])"""
        )
        most, highest = max(bars)
        assert highest > 60
        assert all(height == pytest.approx(highest * n / most, abs=1) for n, height in bars)
    page.context.close()
