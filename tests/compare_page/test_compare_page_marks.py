"""A study of the comparison: each model's counts, and the words that its errors speak of."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest
from browserhelp import axe
from page_records import FIGURES
from seeded_comparison import seeded, seeded_panel

from judge.stats.compare import Comparison, compare

QUOTING = 'The candidate says "for study", the reference says "reference of".'


def quoting(text: str) -> str:
    return QUOTING if text.startswith("error of") else text


def opened_study(tab: Any) -> Any:
    tab.tab.locator("#list [data-study]").first.click()
    tab.tab.locator("#study-title:focus").wait_for()
    return tab.tab.locator("#study")


def marks(study: Any, report: str) -> list[tuple[str, str]]:
    """The marked words of a report, each with the numbers that stand behind them."""
    found = study.locator(f".report[aria-labelledby={report}] mark").evaluate_all(
        "(all) => all.map((one) => [one.querySelector('bdi').textContent,"
        " one.querySelector('sup').dataset.numbers])"
    )
    return [(text, numbers) for text, numbers in found]


def counts(study: Any, letter: str) -> list[dict[str, str]]:
    """Of each rubric what stands beside the words for it."""
    return [
        {
            fact.locator("dt").inner_text(): fact.locator("dd").inner_text()
            for fact in listed.locator("div").all()
        }
        for listed in study.locator(f"[aria-labelledby=candidate-{letter}] .counts").all()
    ]


def test_each_model_has_its_counts(shown: Any, comparison: Comparison) -> None:
    study = opened_study(shown(comparison))
    grades = ("1 not actionable", "2 actionable, non-urgent", "3 urgent", "4 emergent")
    green = ("clinically significant", "clinically insignificant", "matched findings")
    for letter in "AB":
        assert counts(study, letter) == [dict.fromkeys(green, "1"), dict.fromkeys(grades, "1")]
    assert study.locator(".pill.tone-critical").count() == 2


def test_the_words_of_the_errors_are_marked_in_all_three_reports(
    shown: Any, comparison: Comparison
) -> None:
    tab = shown(comparison, say=quoting)
    study = opened_study(tab)
    assert marks(study, "reference-title") == [("reference of", "A1,A2,B1,B2")]
    for letter in "AB":
        assert marks(study, f"candidate-{letter}") == [("for study", f"{letter}1,{letter}2")]
        words = study.locator(f"[aria-labelledby=candidate-{letter}] .lines").inner_text()
        assert words.startswith("candidate of ")
    # The gravest of the errors that speak of the words gives them their tone.
    assert study.locator("mark.tone-serious").count() == 3
    study.locator("[aria-labelledby=candidate-B] mark").click()
    card = study.locator(".error:focus")
    assert card.locator(".error-number").inner_text().split() == ["Error", "B1"]
    assert "marked in the reference and the candidate" in card.inner_text()
    assert study.locator("[aria-labelledby=reference-title] mark.lit").count() == 1
    assert study.locator("[aria-labelledby=candidate-A] mark.lit").count() == 0
    described = study.locator("mark").first.get_attribute("aria-describedby").split()
    assert [study.locator(f"#{one}").inner_text() for one in described] == [QUOTING] * 4
    assert axe(tab.tab) == []


def test_the_reader_chooses_whose_errors_are_marked(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison, say=quoting)
    study = opened_study(tab)
    assert tab.tab.input_value("#marks") == "green"
    tab.tab.focus("#marks")
    tab.tab.select_option("#marks", "fineradscore")
    tab.tab.locator("#marks:focus").wait_for()
    numbers = [",".join(f"{letter}{at}" for at in (1, 2, 3, 4)) for letter in "AB"]
    for letter, wanted in zip("AB", numbers, strict=True):
        ((text, shown_), *more) = marks(study, f"candidate-{letter}")
        assert not more
        assert (text, shown_) == ("for study", wanted)
    assert "marks=fineradscore" in tab.tab.url
    _, _, address = tab.tab.url.partition("#")
    again = shown(comparison, say=quoting, hash_=f"#{address}").tab
    again.locator("#study-title").wait_for()
    assert again.input_value("#marks") == "fineradscore"
    assert marks(again.locator("#study"), "candidate-A") == [("for study", "A1,A2,A3,A4")]


def test_what_the_list_is_compared_by_chooses_the_marks(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison)
    tab.tab.select_option("#study-metric", "fineradscore_sum")
    tab.tab.locator("#list .title", has_text="severity sum").wait_for()
    opened_study(tab)
    assert tab.tab.input_value("#marks") == "fineradscore"


def test_a_reference_with_other_line_breaks_is_one_with_all_its_marks(shown: Any) -> None:
    breaks = cycle([" ", "\n", "  "])

    def say(text: str) -> str:
        return text.replace(" ", next(breaks)) if text.startswith("reference") else quoting(text)

    study = opened_study(shown(seeded(2, 30), say=say))
    assert study.locator("#reference-title").inner_text() == "Reference"
    ((words, numbers),) = marks(study, "reference-title")
    assert (words.split(), numbers) == (["reference", "of"], "A1,A2,B1,B2")


def test_lines_that_leave_out_what_has_no_letter_keep_their_marks(shown: Any) -> None:
    def say(text: str) -> str:
        before = "No effusion. ..\n* * *\nHeart normal.\n"
        return before + text if text.startswith("candidate") else quoting(text)

    study = opened_study(shown(seeded(2, 30), say=say))
    lines = study.locator("[aria-labelledby=candidate-A] .lines li").all_inner_texts()
    assert [line.split()[0] for line in lines] == ["No", "Heart", "candidate"]
    assert marks(study, "candidate-A") == [("for study", "A1,A2")]


def test_one_rubric_has_nothing_to_choose(shown: Any) -> None:
    c = seeded(2, 30, others=False)
    green = tuple(metric for metric in c.panel.metrics if metric.rubric == "green")
    values = {metric.name: c.panel.values[metric.name] for metric in green}
    tab = shown(compare(replace(c.panel, metrics=green, values=values)), say=quoting)
    study = opened_study(tab)
    assert study.locator("#marks").count() == 0
    assert marks(study, "candidate-A") == [("for study", "A1,A2")]


@pytest.mark.parametrize("width", [1400, 390])
def test_a_study_is_one_line_of_the_list(shown: Any, width: int) -> None:
    panel = seeded_panel(2, 30, fields=("site",))
    site = "The Royal Infirmary of a town with a long name, west wing, second floor"
    ids = (f"CXR1000_IM-0003-1001 {'of the second visit ' * 4}", *panel.study_ids[1:])
    sites = tuple(site for _ in panel.study_ids)
    c = compare(replace(panel, fields={"site": sites}, study_ids=ids), sort="green")
    tab = shown(c, width=width).tab
    tab.select_option("#model-b", "")
    heights = tab.locator("#list tbody tr").evaluate_all(
        "(rows) => rows.map((row) => row.getBoundingClientRect().height)"
    )
    assert max(heights) == min(heights) < 2 * 22
    cell = tab.locator("#list tbody td").first
    assert cell.evaluate("(own) => own.scrollWidth > own.clientWidth")
    assert cell.get_attribute("title") == site
    titles = tab.locator("#list tbody th").evaluate_all("(all) => all.map((one) => one.title)")
    assert set(titles) <= set(ids)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_the_headings_of_a_step_have_no_frame(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison).tab
    style = "getComputedStyle(document.activeElement).outlineStyle"
    tab.locator("#list [data-study]").first.focus()
    assert tab.evaluate(style) == "solid"
    tab.keyboard.press("Enter")
    tab.locator("#study-title:focus").wait_for()
    assert tab.evaluate(style) == "none"
    tab.locator("#board .cell").first.press("Enter")
    tab.locator("#studies-title:focus").wait_for()
    assert tab.evaluate(style) == "none"
    tab.keyboard.press("Tab")
    assert tab.evaluate(style) == "solid"


@pytest.mark.parametrize(("width", "n_across"), [(1400, 2), (1100, 2), (800, 1), (390, 1)])
def test_the_figures_stand_side_by_side_without_a_hole(
    shown: Any, comparison: Comparison, width: int, n_across: int
) -> None:
    tab = shown(comparison, width=width, figures=(*FIGURES, FIGURES[0])).tab
    for at in range(3):
        picture = tab.locator(f'.drawn[data-figure="{at}"]')
        picture.evaluate("(own) => own.scrollIntoView()")
        picture.and_(tab.locator("[src]")).wait_for()
    outer = tab.locator(".figures").bounding_box()
    places = [one.bounding_box() for one in tab.locator(".figures .figure").all()]
    rows = {top: [one for one in places if one["y"] == top] for top in {p["y"] for p in places}}
    assert sorted(map(len, rows.values())) == ([1, 2] if n_across == 2 else [1, 1, 1])
    for row in rows.values():
        assert len({one["height"] for one in row}) == 1
        total = sum(one["width"] for one in row) + 16 * (len(row) - 1)
        assert total == pytest.approx(outer["width"], abs=1)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
