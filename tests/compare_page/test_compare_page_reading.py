"""What a reader meets on the page: where the eye and the keyboard are, and the words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from seeded_comparison import seeded, seeded_panel

from judge.stats.compare import Comparison, compare

NAMES = [f"vision-language-{at:02d}-finetuned-mimic-cxr-v2" for at in range(24)]


def opened_study(tab: Any) -> Any:
    tab.tab.locator("#list [data-study]").first.click()
    tab.tab.wait_for_selector("#study")
    return tab.tab.locator("#study")


def box(locator: Any) -> dict[str, float]:
    found = locator.bounding_box()
    return {**found, "right": found["x"] + found["width"], "bottom": found["y"] + found["height"]}


@pytest.mark.parametrize("width", [800, 390])
def test_what_the_keyboard_reaches_is_in_sight(shown: Any, width: int) -> None:
    tab = shown(seeded(3, 60, models=NAMES[:3]), width=width)
    region = tab.tab.locator("#board [role=region]")
    region.focus()
    cells = []
    for key in ["Tab"] * 22 + ["Shift+Tab"] * 20:
        tab.tab.keyboard.press(key)
        reached = tab.tab.locator("#board [data-cell]:focus")
        if reached.count():
            place = box(reached)
            names = box(tab.tab.locator("#board tbody th").first)
            cells.append(reached.get_attribute("data-cell"))
            assert place["x"] >= names["right"] - 1, cells[-1]
            assert place["right"] <= box(region)["right"] + 1, cells[-1]
    assert len(set(cells)) >= 11


def test_the_mouse_moves_nothing_away_before_the_click(shown: Any) -> None:
    tab = shown(seeded(3, 60), width=800)
    region = tab.tab.locator("#board [role=region]")
    region.evaluate("(own) => { own.scrollLeft = 60; }")
    cell = tab.tab.locator('[data-cell="0 green_errors"]')
    place = box(cell)
    tab.tab.mouse.move(place["x"] + 8, place["y"] + 8)
    tab.tab.mouse.down()
    assert region.evaluate("(own) => own.scrollLeft") == 60
    tab.tab.mouse.up()
    tab.tab.locator("#studies-title:focus").wait_for()


def test_the_leaderboard_of_both_rubrics_fits_and_else_says_that_it_scrolls(shown: Any) -> None:
    c = seeded(24, 60, models=NAMES, tests=True)
    hint = "#board .more"
    wide = shown(c, width=1400).tab
    region = wide.locator("#board [role=region]")
    assert region.evaluate("(own) => own.scrollWidth <= own.clientWidth")
    assert not wide.is_visible(hint)
    narrow = shown(c, width=800).tab
    narrow.wait_for_selector(hint)
    assert "scroll sideways" in narrow.inner_text(hint)
    narrow.set_viewport_size({"width": 1400, "height": 900})
    narrow.wait_for_selector(hint, state="hidden")


def test_a_rubric_is_named_once_above_its_metrics(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    blocks = tab.tab.locator("#board thead [scope=colgroup]")
    assert blocks.all_inner_texts() == ["GREEN", "FineRadScore", "Other metrics"]
    headings = tab.texts("#board thead [data-sort]")
    assert headings[1].startswith("errors per study ↓")
    assert not any("(" in text for text in headings)
    assert "Rank, 95% interval" in tab.texts("#board thead th")
    spans = tab.tab.locator("#board colgroup").evaluate_all("(all) => all.map((one) => one.span)")
    assert spans == [3, 3, 5, 2]
    assert sum(spans) == tab.tab.locator("#board tbody tr").first.locator("td, th").count()
    assert "a number opens the studies" in tab.tab.inner_text("#board")


def test_a_number_opens_its_studies_and_ranks_nothing_anew(
    shown: Any, comparison: Comparison
) -> None:
    tab = shown(comparison)
    before = tab.tab.inner_text("#board"), tab.tab.inner_text("#pairs")
    tab.tab.click('[data-cell="0 fineradscore_sum"]')
    tab.tab.locator("#studies-title:focus").wait_for()
    assert (tab.tab.inner_text("#board"), tab.tab.inner_text("#pairs")) == before
    assert tab.tab.input_value("#metric") == "green"
    assert tab.tab.input_value("#study-metric") == "fineradscore_sum"
    assert "severity sum (lower is better)" in tab.tab.inner_text("#list")
    tab.tab.select_option("#study-metric", "green_errors")
    assert tab.tab.input_value("#metric") == "green"
    tab.tab.select_option("#metric", "bleu2")
    assert tab.tab.input_value("#study-metric") == "green_errors"
    tab.tab.locator("#pairs [data-pair]").first.click()
    tab.tab.locator("#list .title", has_text="BLEU-2 (higher is better)").wait_for()
    assert tab.tab.input_value("#study-metric") == "bleu2"


def test_figures_can_be_read_on_a_telephone(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison, width=390).tab
    tab.locator("#figures").scroll_into_view_if_needed()
    picture = tab.locator(".drawn[src]").first
    picture.wait_for()
    assert box(picture)["width"] >= 640  # 7 points of 7 inches are then 9 pixels
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_id_stays_on_one_line(shown: Any) -> None:
    panel = seeded_panel(2, 30)
    long = ("CXR1000_IM-0003-1001 of the second visit", *panel.study_ids[1:])
    tab = shown(compare(replace(panel, study_ids=long), sort="green"), width=390).tab
    tab.select_option("#model-b", "")
    heights = tab.locator("#list [data-study]").evaluate_all(
        "(all) => all.map((one) => [one.textContent.length, one.getBoundingClientRect().height])"
    )
    assert all(height < 36 for length, height in heights if length < 20)
    assert all(height < 60 for _, height in heights)


@pytest.mark.parametrize("width", [800, 1000])
def test_both_candidates_stand_beside_each_other_below_the_reference(
    shown: Any, comparison: Comparison, width: int
) -> None:
    study = opened_study(shown(comparison, width=width))
    reference, a, b = (box(study.locator(".report").nth(at)) for at in range(3))
    assert a["y"] == b["y"]
    assert a["y"] >= reference["bottom"]
    assert b["x"] >= a["right"]
    assert reference["width"] == pytest.approx(b["right"] - a["x"], abs=1)


def test_corrections_speak_of_lines_with_numbers(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison, say=lambda text: f"{text} is clear. And more.")
    study = opened_study(tab)
    lines = study.locator(".lines").first
    assert lines.get_attribute("start") == "0"
    texts = lines.locator("li").all_inner_texts()
    assert [text.split()[0] for text in texts] == ["candidate", "And"]
    assert "Change line 0 to: " in study.inner_text()


def test_a_candidate_without_corrections_stands_as_it_was_written(shown: Any) -> None:
    c = seeded(2, 30, others=False)
    green = tuple(metric for metric in c.panel.metrics if metric.rubric == "green")
    values = {metric.name: c.panel.values[metric.name] for metric in green}
    tab = shown(compare(replace(c.panel, metrics=green, values=values)))
    study = opened_study(tab)
    assert study.locator(".lines").count() == 0
    assert "candidate of" in study.inner_text()


def test_one_study_has_errors_or_none_in_the_list_and_in_itself(
    shown: Any, comparison: Comparison
) -> None:
    tab = shown(comparison)
    tab.tab.select_option("#study-metric", "green_no_significant_error")
    tab.tab.locator("#list .title", has_text="significant errors (GREEN)").wait_for()
    listed = tab.texts("#list tbody tr:first-child td")[-3:]
    assert listed == ["none", "some", "ahead"]
    assert "significant errors (GREEN) (none is better)" in tab.tab.inner_text("#list")
    study = opened_study(tab)
    facts = " ".join(study.locator(".facts").first.inner_text().split())
    assert "significant errors (GREEN) none" in facts
    assert re.search(r"(?<!significant )errors \(GREEN\) \d", facts)
    assert "a study" not in facts
    assert "no significant" not in facts


def test_from_study_to_study_and_back_to_the_list(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    page = tab.tab
    n = int(re.search(r"of (\d+) studies", page.inner_text("#list .count"))[1])  # type: ignore[index]
    opened_study(tab)
    back, on = page.locator("#study [data-next='-1']"), page.locator("#study [data-next='1']")
    assert back.is_disabled()
    assert f"1 of {n}" in page.inner_text("#study .steps")
    ids = tab.texts("#list [data-study]")
    on.focus()
    for at in range(1, 26):
        page.keyboard.press("Enter")
        page.locator("#study .steps", has_text=f"{at + 1} of {n}").wait_for()
        page.locator("#study [data-next='1']:focus").wait_for()
        if at < 25:
            assert ids[at] in page.inner_text("#study-title")
    # The list has turned its page with the study.
    assert tab.texts("#list tr.current [data-study]") == tab.texts("#list [data-study]")[:1]
    assert tab.texts("#list [data-study]") != ids
    page.get_by_role("button", name="Back to the list").press("Enter")
    page.locator("#list tr.current [data-study]:focus").wait_for()


def test_what_was_not_tested_says_how_to_test_it(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    options = tab.texts("#group option")
    sites = [text.split(" (")[0] for text in options if text.startswith("site ")]
    numbers = [int(text.split()[-1]) for text in sites]
    assert numbers == sorted(numbers)
    assert max(numbers) > 9
    tab.tab.select_option("#group", label=next(text for text in options if "site Site 9" in text))
    said = "Nothing was tested for site Site 9 alone. To test it, run judge compare again"
    assert f"{said} with --by site." in tab.tab.inner_text("#pairs")
    untested = shown(seeded(2, 30))
    assert "made without tests" in untested.tab.inner_text("#pairs")


def test_a_page_without_all_reports_says_which_it_has(shown: Any) -> None:
    tab = shown(seeded(2, 200), most=30)
    assert tab.texts("#list thead th")[-1] == "Reports on this page?"
    assert tab.texts("#list tbody tr:first-child td")[-1] in ("yes", "no, in the runs")


def test_what_is_turned_round_says_so_in_the_table(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    heads = tab.texts("#correlations details[open] thead th")
    minus = "\N{MINUS SIGN}"
    assert heads == ["GREEN", f"{minus} highest severity", f"{minus} severity sum", *heads[3:]]
    assert heads[3:] == ["BLEU-2", f"{minus} RadCliQ-v1"]
    assert f"{minus} before a metric: less is better" in tab.tab.inner_text("#correlations")
