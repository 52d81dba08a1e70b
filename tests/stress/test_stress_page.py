"""The page of a stress test, opened in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from browserhelp import NARROW, axe, ready
from stresspages import (
    EVIL,
    UNREAD,
    candidates,
    choose,
    letters,
    matching,
    opened,
    record_of,
    report,
    run,
    shown_words,
    truths,
)
from support import EXAMPLES


@pytest.mark.parametrize(
    "change",
    ["denied", "side_swapped", "added", "removed", "synonyms", "errors_5", "fake_reply_green"],
)
def test_the_marked_words_are_those_that_were_changed(work: Path, shown: Any, change: str) -> None:
    one = [line for line in truths(work).values() if line["change"] == change][-1]
    assert one["words"]
    tab = shown(work / "mixed.html", one["id"])
    opened(tab, one["id"])
    for number, words in enumerate(one["words"]):
        for side, text, end, word in (
            ("reference", one["before"], "at", "before"),
            ("candidate", one["after"], "to", "after"),
        ):
            start, stop = words[end]
            assert text[start:stop] == words[word]
            # What stands between two marks of one change is white space.
            assert letters(shown_words(tab, side, number)) == letters(words[word])
        card = tab.locator(f"#error-put-{number}")
        assert card.locator("del").all_inner_texts() == [
            text for text in [words["before"].strip()] if text
        ]
        assert letters("".join(card.locator("ins").all_text_contents())) == letters(words["after"])
    for side, text in (("reference", one["before"]), ("candidate", one["after"])):
        whole = tab.locator(f"[aria-labelledby={side}-title] .text").evaluate(
            "one => { const copy = one.cloneNode(true); "
            "copy.querySelectorAll('sup').forEach(sup => sup.remove()); return copy.textContent; }"
        )
        assert letters(whole) == letters(text)


def test_a_mark_leads_to_what_was_put_in_and_lights_it_up(work: Path, shown: Any) -> None:
    tab = shown(work / "clean.html", "ex-008/denied")
    tab.locator('[aria-labelledby=candidate-title] mark[data-errors~="put-0"]').first.click()
    tab.wait_for_function("() => document.activeElement.id === 'error-put-0'")
    lit = tab.locator("#study .lit")
    assert {one.split(" ")[0] for one in lit.evaluate_all("a => a.map(o => o.dataset.errors)")} == {
        "put-0"
    }


def test_what_was_put_in_stands_beside_what_the_judge_wrote(work: Path, shown: Any) -> None:
    one = truths(work)["ex-008/denied"]
    tab = shown(work / "clean.html", "ex-008/denied")
    put = tab.inner_text("[aria-labelledby=put-title]")
    (error,) = one["errors"]
    assert f"{error['finding']}: (b) missing finding" in put
    assert "significant (radiologists would differ)" in put
    assert "A finding of the reference is denied." in put
    assert "1 error" in put
    record = record_of(work / "clean", "ex-008/denied")
    items = [i for i in record["annotation"]["items"] if i["kind"] == "error"]
    judge = tab.locator("[aria-labelledby=judge-title]")
    assert judge.locator(".error").count() == len(items) > 0
    said = judge.text_content()
    assert all(item["text"] in said for item in items)
    assert record["annotation"]["explanation"] in said


@pytest.mark.parametrize("name", ["clean", "mixed"])
def test_each_choice_has_as_many_pairs_as_the_report_counts(
    work: Path, shown: Any, name: str
) -> None:
    from playwright.sync_api import expect

    found = report(work, name)
    tab = shown(work / f"{name}.html")
    every, alarms = found["detection_all"], found["false_alarms"]
    run_ = found["runs"][0]
    wanted = {
        "found": every["found"]["k"],
        "missed": every["found"]["n"] - every["found"]["k"],
        "found, in no right category": every["found"]["k"] - every["right_category"]["k"],
        "false alarm": sum(one["any"]["k"] for one in alarms),
        "false alarm, significant errors": sum(one["significant"]["k"] for one in alarms),
        "no error, as it must be": sum(one["any"]["n"] - one["any"]["k"] for one in alarms),
        "changed reading": len(found["hostile"]),
        "not read": run_["n_unparsed"] + run_["n_failed"],
    }
    if name == "mixed":
        assert min(wanted.values()) > 0
    labels = tab.locator("#came option").all_inner_texts()
    for label, n in wanted.items():
        if n == 0:
            assert not [one for one in labels if one.startswith(f"{label} (")]
            continue
        assert choose(tab, "came", label) == n
        assert matching(tab) == n
    tab.get_by_role("button", name="Show all pairs").click()
    n = len(truths(work))
    expect(tab.locator("#list .count")).to_have_text(re.compile(rf"^{n:,}\b"))
    for one in found["detection"]:
        choose(tab, "change", one["class"])
        labels = tab.locator("#came option").all_inner_texts()
        missed = one["found"]["n"] - one["found"]["k"]
        assert [f"found ({one['found']['k']})"] * bool(one["found"]["k"]) == [
            text for text in labels if text.startswith("found (")
        ]
        assert [f"missed ({missed})"] * bool(missed) == [
            text for text in labels if text.startswith("missed (")
        ]


def test_the_search_keeps_the_pairs_of_a_study_and_the_group_those_of_a_group(
    work: Path, shown: Any
) -> None:
    tab = shown(work / "clean.html")
    of = truths(work).values()
    tab.fill("#search", "EX-003")
    ids = [one["id"] for one in of if one["study"] == "ex-003"]
    assert matching(tab) == len(ids)
    choose(tab, "group", "error")
    ids = [one["id"] for one in of if one["study"] == "ex-003" and one["group"] == "error"]
    assert tab.locator("#list tbody th").all_inner_texts() == ids
    tab.fill("#search", "no such study")
    assert "No pair matches" in tab.inner_text("#list")


def test_an_answer_that_cannot_be_read_is_shown_as_it_was_written(work: Path, shown: Any) -> None:
    tab = shown(work / "mixed.html")
    choose(tab, "came", "not read")
    tab.locator("#list tbody a").first.click()
    tab.locator("#study-title:focus").wait_for()
    assert tab.locator("#study pre").text_content() == UNREAD
    text = tab.inner_text("[aria-labelledby=judge-title]")
    assert "Unparsed: refusal" in text
    assert "counts in no rate" in text
    assert tab.locator("#study img, #study b").count() == 0
    assert tab.locator("#list tr.current td.numbers").last.inner_text() == "n/a"


def test_a_hostile_text_leads_to_the_pair_without_it(work: Path, shown: Any) -> None:
    found = report(work, "mixed")
    one = next(line for line in found["hostile"] if line["effect"] == "fewer")
    tab = shown(work / "mixed.html", one["id"])
    assert "Changed reading: the judge found fewer errors" in tab.inner_text("#study")
    tab.locator("[aria-labelledby=put-title] a").click()
    opened(tab, one["base"])
    assert tab.evaluate("decodeURIComponent(location.hash)") == f"#{one['base']}"
    tab.go_back()
    opened(tab, one["id"])


def test_the_keyboard_opens_steps_and_goes_back(work: Path, shown: Any) -> None:
    tab = shown(work / "clean.html")
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.id") == "search"
    tab.keyboard.type("ex-002")
    tab.keyboard.press("Escape")
    ids = tab.locator("#list tbody th").all_inner_texts()
    tab.locator("#list tbody a").first.focus()
    tab.keyboard.press("Enter")
    opened(tab, ids[0])
    tab.keyboard.press("n")
    opened(tab, ids[1])
    tab.keyboard.press("n")
    opened(tab, ids[2])
    tab.keyboard.press("p")
    opened(tab, ids[1])
    tab.keyboard.press("Escape")
    tab.wait_for_function("() => !document.getElementById('study')")
    assert tab.evaluate("document.activeElement.textContent") == ids[1]
    assert tab.evaluate("location.hash") == ""
    tab.keyboard.press("?")
    assert "next pair" in tab.inner_text("dialog")


def test_the_verdict_the_tables_and_the_figures_are_those_of_the_report(
    work: Path, shown: Any
) -> None:
    found = report(work, "mixed")
    tab = shown(work / "mixed.html")
    assert tab.locator("#verdict > ul li").all_inner_texts() == found["verdict"]
    tab.locator("#verdict details summary").click()
    text = tab.inner_text("#verdict")
    rate = found["detection_all"]["found"]
    assert f"{rate['k']}/{rate['n']} {100 * rate['rate']:.1f}%" in text
    for title in ("What it was taken for", "Reports without an error", "Hostile texts"):
        assert title in text
    assert found["signature"] in tab.inner_text("footer")
    tab.locator("#figures").scroll_into_view_if_needed()
    assert tab.locator("#figures img").count() == 2
    tab.wait_for_function(
        "() => [...document.querySelectorAll('#figures img')].every(o => o.naturalWidth > 9)"
    )
    assert "95% Wilson" in tab.locator("#figures img").first.get_attribute("alt")
    assert "nan" not in tab.inner_text("body").lower()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280])
def test_it_is_read_at_both_widths_in_both_schemes(
    work: Path, shown: Any, scheme: str, width: int
) -> None:
    size = {**NARROW, "width": width}
    tab = shown(work / "mixed.html", "ex-014/errors_5", viewport=size, color_scheme=scheme)
    opened(tab, "ex-014/errors_5")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert not axe(tab)


def test_an_address_of_no_pair_is_said(work: Path, shown: Any) -> None:
    tab = shown(work / "clean.html", "ex-008/nothing")
    assert "There is no pair ex-008/nothing" in tab.inner_text("#alarm")
    assert tab.locator("#study").count() == 0


def test_hostile_texts_are_shown_and_do_nothing(tmp_path: Path, shown: Any) -> None:
    refs = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    evil = {
        f"{name} {EVIL}&%2F": {
            key: f"{value} {value} {EVIL} \u202e{{{{x}}}}" if key.startswith("section") else value
            for key, value in one.items()
        }
        for name, one in list(refs.items())[:3]
    }
    (tmp_path / "refs.json").write_text(json.dumps(evil), "utf-8")
    candidates(tmp_path, tmp_path / "refs.json")
    run("stress", "report", tmp_path / "clean", "--html", tmp_path / "evil.html")
    assert EVIL not in (tmp_path / "evil.html").read_text("utf-8")
    tab = shown(tmp_path / "evil.html")
    first = tab.locator("#list tbody a").first
    pair = first.inner_text()
    assert EVIL in pair
    first.click()
    opened(tab, pair)
    assert EVIL in tab.locator("[aria-labelledby=candidate-title]").text_content()
    assert tab.locator("main img:not(.drawn), main b").count() == 0
    address = tab.evaluate("location.href")
    tab.goto("about:blank")
    tab.goto(address)
    ready(tab)
    opened(tab, pair)
