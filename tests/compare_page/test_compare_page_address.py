"""What is shown stands in the address: links and the browser's Back lead to it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from seeded_comparison import seeded

from judge.stats.compare import Comparison


def asked(tab: Any) -> dict[str, str]:
    found = parse_qs(urlsplit(tab.url).fragment, keep_blank_values=True)
    return {name: values[0] for name, values in found.items()}


def open_first(tab: Any) -> str:
    line = tab.locator("#list [data-study]").first
    study_id = line.inner_text()
    line.click()
    tab.locator("#study-title:focus").wait_for()
    return str(study_id)


def test_the_address_says_what_is_shown(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison).tab
    assert not urlsplit(tab.url).fragment
    tab.select_option("#group", label=tab.locator("#group option").nth(1).inner_text())
    tab.select_option("#metric", "fineradscore_sum")
    tab.select_option("#model-a", "2")
    tab.select_option("#model-b", "")
    tab.select_option("#study-metric", "bleu2")
    tab.select_option("#first", "b")
    tab.select_option("#pairs-model", "1")
    names = comparison.panel.models
    assert asked(tab) == {
        "group": "study_class abnormal",
        "metric": "fineradscore_sum",
        "model": names[1],
        "a": names[2],
        "b": "",
        "by": "bleu2",
        "first": "b",
    }
    tab.select_option("#metric", "green")
    assert "metric" not in asked(tab)


def test_a_link_opens_the_same_pair_and_study(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison).tab
    tab.select_option("#group", label=tab.locator("#group option").nth(2).inner_text())
    tab.select_option("#model-a", "2")
    tab.select_option("#model-b", "1")
    tab.locator("[data-step=Next]").click()
    study_id = open_first(tab)
    assert asked(tab)["study"] == study_id
    before = tab.inner_text("#study"), tab.inner_text("#list"), tab.inner_text("#board")
    again = shown(comparison, hash_="#" + urlsplit(tab.url).fragment).tab
    again.locator("#study-title:focus").wait_for()
    assert (again.inner_text("#study"), again.inner_text("#list")) == before[:2]
    assert again.inner_text("#board") == before[2]
    assert again.input_value("#model-a") == "2"
    assert again.locator("#list tr.current").count() == 1
    again.wait_for_function(
        "document.querySelector('#study-title').getBoundingClientRect().top < innerHeight"
    )


def test_a_link_to_a_study_names_both_models(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison).tab
    study_id = open_first(tab)
    first, second = (comparison.panel.models[at] for at in comparison.order[:2])
    assert asked(tab) == {"a": first, "b": second, "study": study_id}


def test_back_closes_a_study_and_forward_opens_it(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison).tab
    study_id = open_first(tab)
    tab.locator("#study [data-next='1']").click()
    tab.locator("#study .steps", has_text="2 of").wait_for()
    other = tab.inner_text("#study-title")
    assert study_id not in other
    tab.go_back()
    tab.wait_for_selector("#study", state="detached")
    tab.locator("#list [data-study]:focus").wait_for()
    assert not urlsplit(tab.url).fragment
    tab.go_forward()
    tab.wait_for_selector("#study")
    assert tab.inner_text("#study-title") == other


def test_to_look_at_other_models_closes_the_study(shown: Any, comparison: Comparison) -> None:
    tab = shown(comparison).tab
    open_first(tab)
    tab.select_option("#model-a", "2")
    tab.wait_for_selector("#study", state="detached")
    assert "study" not in asked(tab)


def test_what_the_comparison_does_not_have_is_said(shown: Any) -> None:
    c = seeded(3, 40)
    hash_ = f"#a={c.panel.models[2]}&study=nothing&constructor=1&by=bleu2"
    tab = shown(c, hash_=hash_).tab
    assert "The address asks for what this comparison does not have" in tab.inner_text("#alarm")
    assert tab.locator("#study").count() == 0
    assert tab.input_value("#model-a") == "2"
    assert tab.input_value("#study-metric") == "bleu2"


def test_names_of_any_letters_come_back(shown: Any) -> None:
    names = ["a&b=c#d+e%20", "模型 甲", "ünï <b>"]
    c = seeded(3, 40, models=names)
    tab = shown(c).tab
    tab.select_option("#model-a", "0")
    tab.select_option("#model-b", "2")
    open_first(tab)
    assert (asked(tab)["a"], asked(tab)["b"]) == (names[0], names[2])
    again = shown(c, hash_="#" + urlsplit(tab.url).fragment).tab
    again.locator("#study-title:focus").wait_for()
    assert (again.input_value("#model-a"), again.input_value("#model-b")) == ("0", "2")
    assert not again.inner_text("#alarm")
