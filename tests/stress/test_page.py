"""The page of a stress test in a real browser, and its figures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answered_runs import records_of, rewrite
from browserhelp import WIDE, chromium, ready, watch
from click.testing import CliRunner
from support import EXAMPLES, write_json

from judge.cli import main
from judge.stress.report import stress_report

EVIL = '</script><img src=x onerror="window.hacked=1"><b>bold</b>'
UNREAD = f"I am sorry, I cannot. {EVIL}"


def run(*words: object) -> None:
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 0, done.output


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of runs of the same candidates: `clean`, `fine` by FineRadScore, and `mixed`.

    In `mixed` some answers cannot be read, and some are those to other candidates. `evil` is of
    other candidates, with hostile words in ids and texts.
    """
    work = tmp_path_factory.mktemp("stress")
    refs = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    evil = {
        f"{name} {EVIL}&%2F": {
            key: f"{value} {value} {EVIL} \u202e{{{{x}}}}" if key.startswith("section") else value
            for key, value in one.items()
        }
        for name, one in list(refs.items())[:2]
    }
    few = {name: refs[name] for name in sorted(refs)[2:]}
    for name, source in (("stress", few), ("hostile", evil)):
        run("stress", "make", write_json(work / f"{name}.json", source), "--out", work / name)
    for rubric, name, made in (
        ("green", "clean", "stress"),
        ("fineradscore", "fine", "stress"),
        ("green", "evil", "hostile"),
    ):
        run(rubric, work / made / "preds.jsonl", work / made / "refs.jsonl", "--out", work / name)
    lines = records_of(work / "clean")
    answers = [one["answer"]["text"] for one in lines]
    for at, one in enumerate(lines):
        if at % 11 == 0:
            one["answer"]["text"] = UNREAD
        elif at % 4 == 0:
            one["answer"]["text"] = answers[(at * 7 + 12) % len(answers)]
    shutil.copytree(work / "clean", work / "answers")
    rewrite(work / "answers", lines)
    run("rescore", work / "answers", "--out", work / "mixed")
    for name in ("clean", "fine", "mixed", "evil"):
        run("stress", "report", work / name, "--html", work / f"{name}.html")
    return work


@pytest.fixture(scope="module")
def browser(work: Path) -> Iterator[Any]:
    assert work.is_dir()  # made before it starts: beside it no judge can be asked
    with chromium() as started:
        yield started


@pytest.fixture
def shown(browser: Any, work: Path) -> Iterator[Any]:
    tabs = []

    def open_page(name: str, pair: str = "", **options: Any) -> Any:
        tab = browser.new_page(**{"viewport": WIDE, **options})
        tabs.append((tab, watch(tab)))
        tab.goto((work / f"{name}.html").as_uri() + (f"#{pair}" if pair else ""))
        ready(tab)
        if pair:
            opened(tab, pair)
        return tab

    yield open_page
    for tab, seen in tabs:
        seen.assert_quiet()
        assert not seen.outside("file:", "blob:")
        assert tab.evaluate("window.hacked") is None
        tab.close()


def opened(tab: Any, pair: str) -> None:
    script = "id => document.getElementById('study-title')?.textContent === 'Pair ' + id"
    tab.wait_for_function(script, arg=pair)


# The text of elements without the numbers of their marks.
PLAIN = (
    "all => all.map(one => { const copy = one.cloneNode(true); "
    "copy.querySelectorAll('sup').forEach(sup => sup.remove()); return copy.textContent; })"
)


@pytest.mark.parametrize("change", ["denied", "side_swapped", "removed"])
def test_the_marked_words_are_those_that_were_changed(work: Path, shown: Any, change: str) -> None:
    """Without them the rest of the two reports is the same."""
    record = [r for r in records_of(work / "mixed") if r["fields"]["change"] == change][-1]
    tab = shown("mixed", record["study_id"])
    rests = []
    for side in ("reference", "candidate"):
        part = tab.locator(f"[aria-labelledby={side}-title]")
        marked = part.locator('mark[data-errors*="put-"]').evaluate_all(PLAIN)
        (whole,) = part.locator(".text").evaluate_all(PLAIN)
        assert "".join(whole.split()) == "".join(record[side].split())
        for text in marked:
            whole = whole.replace(text, "", 1)
        rests.append("".join(whole.split()))
    assert record["reference"] != record["candidate"]
    assert len(rests[0]) == len(rests[1])


def test_what_was_put_in_stands_beside_what_the_judge_wrote(work: Path, shown: Any) -> None:
    tab = shown("clean", "ex-008/denied")
    assert "(b) missing finding" in tab.inner_text("[aria-labelledby=put-title]")
    (record,) = [r for r in records_of(work / "clean") if r["study_id"] == "ex-008/denied"]
    items = [i for i in record["annotation"]["items"] if i["kind"] == "error"]
    part = tab.locator("[aria-labelledby=judge-title]")
    assert part.locator(".error").count() == len(items) > 0
    assert all(item["text"] in part.text_content() for item in items)
    tab.locator('[aria-labelledby=candidate-title] mark[data-errors~="put-0"]').first.click()
    tab.wait_for_function("() => document.activeElement.id === 'error-put-0'")
    tab.keyboard.press("n")
    ids = [r["study_id"] for r in records_of(work / "clean")]
    opened(tab, ids[ids.index("ex-008/denied") + 1])
    tab.keyboard.press("Escape")
    tab.wait_for_function("() => !document.getElementById('study')")
    tab = shown("fine", "ex-008/denied")  # with the candidate's lines
    assert tab.locator("[aria-labelledby=candidate-title] ol.lines li").count() > 0
    assert "line" in tab.locator("[aria-labelledby=judge-title] .error").first.inner_text()


def test_hostile_texts_are_shown_and_do_nothing(work: Path, shown: Any) -> None:
    assert EVIL not in (work / "evil.html").read_text("utf-8")
    tab = shown("evil")
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


@pytest.mark.ci
def test_figures_have_the_rates_of_each_judge(work: Path, tmp_path: Path) -> None:
    from judge.plots import draw_stress
    from judge.plots.output import draw, settings
    from judge.plots.stress import plan
    from judge.plots.style import PAGE

    reports = {name: stress_report(work / name).plain() for name in ("clean", "mixed")}
    for name, key, series in (
        ("stress_detection", "detection", ("found", "right_category")),
        ("stress_false_alarms", "false_alarms", ("any", "significant")),
    ):
        (drawing,) = [one for one in plan(reports).drawings if one.name == name]
        with settings():
            figure = draw(drawing, PAGE)
        panels = [axes for axes in figure.axes if axes.lines and axes.collections]
        for report, axes in zip(reports.values(), panels, strict=True):
            rows = [one for one in report[key] if one[series[0]]["n"]]
            dots = [line for line in axes.lines if line.get_marker() in ("o", "s")]
            for of, marks in zip(series, dots, strict=True):
                wanted = [100 * one[of]["rate"] for one in (report[f"{key}_all"], *rows)]
                assert np.asarray(marks.get_xdata()) == pytest.approx(wanted)
    draw_stress(reports, tmp_path / "figures")
    captions = (tmp_path / "figures" / "captions_stress.md").read_text("utf-8")
    assert all(report["signature"] in captions for report in reports.values())
