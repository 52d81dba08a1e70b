"""The page on paper, on a telephone and in a closed list."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from seeded_comparison import seeded, seeded_panel

from judge.stats.compare import Comparison, compare

NAMES = [f"our-vision-language-model-with-a-long-name-checkpoint-{at:03d}" for at in range(24)]


def on_paper(tab: Any) -> Any:
    tab.emulate_media(media="print")
    # As wide as A4 with its margins, at 96 pixels an inch.
    tab.set_viewport_size({"width": 718, "height": 1000})
    return tab


def test_paper_is_white_whatever_the_screen_is(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison, scheme="dark").tab
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 23, 29)"
    on_paper(tab)
    paper, ink = tab.evaluate(
        "(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))"
    )
    assert (paper, ink) == ("rgb(255, 255, 255)", "rgb(22, 32, 43)")


def test_what_only_a_screen_can_do_is_not_printed(shown: Any) -> None:
    tab = shown(seeded(3, 60)).tab
    tab.locator("#list [data-study]").first.click()
    tab.wait_for_selector("#study")
    on_paper(tab)
    for selector in (".pager", ".steps", ".more"):
        parts = tab.locator(selector)
        assert parts.count()
        assert not any(part.is_visible() for part in parts.all()), selector
    region = tab.locator("#board [role=region]")
    assert region.evaluate("(own) => getComputedStyle(own).overflowX") == "visible"
    assert (
        tab.locator("#board tbody .model").first.evaluate("(own) => getComputedStyle(own).position")
        == "static"
    )


def test_every_sheet_has_the_headings_and_the_last_column(shown: Any, tmp_path: Path) -> None:
    program = shutil.which("pdftotext")
    if program is None:
        pytest.skip("no pdftotext on this machine: apt-get install poppler-utils")
    c = seeded(24, 60, models=NAMES)
    tab = shown(c).tab
    path = tmp_path / "page.pdf"
    tab.pdf(path=str(path), format="A4")
    command = [program, "-layout", str(path), "-"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    sheets = text.split("\f")
    assert "RadCliQ" in sheets[0]
    cells = c.groups[0].cells["radcliq"]
    printed = " ".join("".join(sheets).split())
    assert all(f"{cell.value:.3f}" in printed for cell in cells)
    second = next(sheet for sheet in sheets[1:] if "checkpoint" in sheet.replace("\n", ""))
    for word in ("severity", "errors a", "actionable", "BLEU-2", "RadCliQ"):
        assert word in second


def test_the_rules_between_models_go_through_the_names(shown: Any) -> None:
    tab = shown(seeded(3, 60), width=400).tab
    assert (
        tab.locator("#board table").evaluate("(own) => getComputedStyle(own).borderCollapse")
        == "separate"
    )
    assert (
        tab.locator("#board tbody .model").first.evaluate(
            "(own) => getComputedStyle(own).borderBottomWidth"
        )
        == "1px"
    )


def test_the_rubric_stays_in_sight_when_its_figures_are_scrolled(shown: Any) -> None:
    tab = shown(seeded(3, 60), width=400).tab
    region = tab.locator("#board [role=region]")
    for heading, last in (("GREEN", "green_no_significant_error"),
                          ("FineRadScore", "fineradscore_no_actionable_error")):  # fmt: skip
        metric = tab.locator(f"#board thead th:has([data-sort={last}])")
        region.evaluate(
            "(own, x) => { own.scrollLeft += x; }",
            metric.bounding_box()["x"]
            - tab.locator("#board thead .model").bounding_box()["width"]
            - region.bounding_box()["x"],
        )
        name = tab.locator("#board thead [scope=colgroup] span", has_text=heading)
        models = tab.locator("#board thead .model").bounding_box()
        place = name.bounding_box()
        # A name wider than the one column that is left of its own goes below the models' names.
        in_sight = place["x"] + place["width"] - (models["x"] + models["width"])
        assert in_sight > 0.5 * place["width"]
        own = metric.bounding_box()
        assert place["x"] < own["x"] + own["width"]


def test_words_are_broken_only_where_they_must(shown: Any) -> None:
    panel = seeded_panel(2, 30, fields=("site",))
    sites = tuple("Hospital C" for _ in panel.study_ids)
    c = compare(replace(panel, fields={"site": sites}), sort="green")
    tab = shown(c, width=400).tab
    cell = tab.locator("#list tbody td").first
    height = cell.evaluate("(own) => own.getBoundingClientRect().height")
    assert height < 3 * 24  # at most two lines: after the space


def test_a_link_stands_on_the_line_of_its_row(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison).tab
    top = """(own) => { const range = document.createRange(); range.selectNodeContents(own);
      return range.getBoundingClientRect().bottom; }"""
    row = tab.locator("#list tbody tr").first
    link, beside = row.locator("[data-study] bdi"), row.locator("td bdi").first
    assert link.evaluate(top) == pytest.approx(beside.evaluate(top), abs=0.6)


def test_long_names_keep_their_ends_in_closed_lists(shown: Any) -> None:
    tab = shown(seeded(12, 40, models=NAMES[:12], tests=True)).tab
    for which in ("#pairs-model", "#model-a", "#model-b"):
        options = tab.locator(f"{which} option[title]")
        texts = options.all_inner_texts()
        assert [options.nth(at).get_attribute("title") for at in range(12)] == NAMES[:12]
        assert len(set(texts)) == 12
        assert all(len(text) <= 34 and text.endswith(f"{at:03d}") for at, text in enumerate(texts))
        box = tab.locator(which).bounding_box()
        assert box["width"] <= 352


def test_names_that_differ_in_the_middle_alone_stay_whole(shown: Any) -> None:
    names = [f"a-model-with-quite-a-long-name-{at}-checkpoint-of-the-last-epoch" for at in range(3)]
    tab = shown(seeded(3, 40, models=[*names[:2], "short"])).tab
    assert tab.locator("#model-a option").all_inner_texts() == [*names[:2], "short"]
    assert tab.locator("#model-a").bounding_box()["width"] <= 352


def test_no_heading_is_empty_and_no_landmark_double(shown: Any, comparison: Comparison) -> None:
    module = pytest.importorskip("axe_playwright_python.sync_playwright")
    tab = shown(comparison).tab
    found = module.Axe().run(tab).response["violations"]
    assert [one["id"] for one in found] == []


def test_the_words_for_a_picture_claim_no_table(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison).tab
    for picture in tab.locator(".drawn").all():
        assert "tables" not in picture.get_attribute("alt")


def test_the_ring_of_the_keyboard_does_not_strike_through_the_interval(
    shown: Any, comparison: Comparison
) -> None:
    tab = shown(comparison).tab
    tab.locator("#board [role=region]").focus()
    cell = tab.locator("#board .cell").first
    while not tab.locator("#board .cell:focus").count():
        tab.keyboard.press("Tab")
    ring = cell.evaluate(
        """(own) => { const style = getComputedStyle(own);
          return own.getBoundingClientRect().bottom + parseFloat(style.outlineOffset)
            + parseFloat(style.outlineWidth); }"""
    )
    interval = cell.locator("xpath=following-sibling::span").first
    # Letters begin some pixels below the top of their line.
    assert ring <= interval.bounding_box()["y"] + 2
