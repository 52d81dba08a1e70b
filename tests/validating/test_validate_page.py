"""The page of judges beside readers in a real browser, and the figures of the same numbers."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browserhelp import NARROW, WIDE, axe_in_both_schemes, chromium, ready, watch
from click.testing import CliRunner
from support import EXAMPLES

from judge.cli import main
from judge.comparing.names import RunChoice
from judge.report.validate_page.data import Beside, PageRater
from judge.report.validate_page.file import page
from judge.validating.raters import RatedStudies, rated, raters, readers_below, records
from judge.validating.validation import validate

EVIL = '</script><img src=x onerror="window.hacked=1"><b>bold</b>'


def studies_of(work: Path, judge: str = "lexicon") -> RatedStudies:
    below = readers_below(RunChoice(work / "readers", "readers"))
    judges = raters([RunChoice(work / "judged", "judged", judge)], readers=False)
    return rated(judges, raters(below, readers=True))


def beside(studies: RatedStudies) -> Beside:
    sides = tuple(PageRater(one.name, one.is_reader, one.run.rubric) for one in studies.raters)
    of = (studies.study_ids, studies.study_classes, studies.values)
    return Beside(validate(studies), sides, *of)


def counts_of(studies: RatedStudies, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The judge's counts, and the mean of the readers who read each study."""
    grid = studies.values[name]
    return grid[:, 0], np.nanmean(grid[:, 1:], axis=1)


@pytest.fixture(scope="module")
def studies(read_examples: Path) -> RatedStudies:
    return studies_of(read_examples)


@pytest.fixture(scope="module")
def pages(read_examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the examples and that of the same with hostile words."""
    work = tmp_path_factory.mktemp("pages")

    def run(*words: object) -> None:
        done = CliRunner().invoke(main, list(map(str, words)))
        assert done.exit_code == 0, done.stderr

    sides = (read_examples / "judged", "--readers", read_examples / "readers")
    run("validate", *sides, "--html", work / "page.html")
    readings = (EXAMPLES / "readers" / "readings.csv").read_text("utf-8")
    rows = list(csv.DictReader(readings.splitlines()))
    for row in rows:
        row["study_class"] = EVIL
        row["candidate"] += f" {EVIL} \u202e{{{{x}}}}" if row["candidate"] else ""
        row["text"] = f"{row['text']} {EVIL}" if row["text"] else ""
    with (work / "evil.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    readers = work / "readers"
    run("import", "tidy", work / "evil.csv", "--section", "findings", "--out", readers)
    run("green", readers / "reader-fern", "--judge", "lexicon", "--out", work / "judged")
    evil = studies_of(work, judge=EVIL)
    every = list(range(len(evil.study_ids)))
    text = "".join(page(beside(evil), every, records(evil, set(evil.study_ids))))
    assert EVIL not in text
    (work / "evil.html").write_text(text, "utf-8")
    return work


@pytest.fixture(scope="module")
def browser(pages: Path) -> Iterator[Any]:
    assert pages.is_dir()  # made before it starts: beside it no judge can be asked
    with chromium() as started:
        yield started


@pytest.fixture
def shown(browser: Any, pages: Path) -> Iterator[Any]:
    tabs = []

    def open_page(name: str = "page.html", **options: Any) -> Any:
        tab = browser.new_page(**{"viewport": WIDE, **options})
        tabs.append((tab, watch(tab)))
        tab.goto((pages / name).as_uri())
        ready(tab)
        return tab

    yield open_page
    for tab, seen in tabs:
        seen.assert_quiet()
        assert len(seen.requests) == 1
        assert tab.evaluate("window.hacked") is None
        tab.close()


def cells(studies: RatedStudies) -> dict[tuple[float, float], list[str]]:
    """The studies of each pair of counts, of the judge and of the readers."""
    found: dict[tuple[float, float], list[str]] = {}
    for one, judge, mean in zip(studies.study_ids, *counts_of(studies, "errors"), strict=True):
        found.setdefault((judge, mean), []).append(one)
    return found


def test_each_point_is_where_its_counts_are(shown: Any, studies: RatedStudies) -> None:
    tab = shown()
    every = np.array(list(cells(studies)))
    for figure, x, y in (
        ("against", every[:, 1], every[:, 0]),
        ("differences", every.mean(axis=1), every[:, 0] - every[:, 1]),
    ):
        script = "all => all.map(o => [o.cx.baseVal.value, o.cy.baseVal.value])"
        drawn = np.array(tab.locator(f"#{figure} .dot").evaluate_all(script))
        assert len(drawn) == len(every)
        for at, values, sign in ((0, x, 1), (1, y, -1)):
            places, expected = np.sort(drawn[:, at]), np.sort(sign * values)
            slope, start = np.polyfit(expected, places, 1)
            assert slope > 0
            assert places == pytest.approx(slope * expected + start, abs=0.01)
    assert "nan" not in tab.inner_text("body").lower()


def test_points_open_their_studies_with_judge_and_readers(
    shown: Any, studies: RatedStudies
) -> None:
    tab = shown()
    names = max(cells(studies).values(), key=len)
    tab.locator("#differences .dot").first.click()  # the largest is drawn first
    tab.locator("#list-title:focus").wait_for()
    assert tab.locator("#list tbody th").all_inner_texts() == sorted(names)
    # A study that a reader has not read.
    row, rater = (int(one[0]) for one in np.nonzero(np.isnan(studies.values["errors"])))
    study = studies.study_ids[row]
    tab = shown()
    tab.locator(f'[data-study="{row}"]').click()
    tab.locator("#study-title:focus").wait_for()
    assert tab.inner_text("#study-title") == f"Study {study}"
    for at, said in enumerate(records(studies, {study})):
        part = tab.locator(f'[data-rater="{at}"]')
        assert studies.raters[at].name in part.locator("h4").inner_text()
        if at == rater:
            assert "not read" in part.inner_text()
            continue
        errors = [i for i in said[study]["annotation"]["items"] if i["kind"] == "error"]
        assert part.locator(".error").count() == len(errors)
    record = records(studies, {study})[0][study]
    for side in ("reference", "candidate"):
        words = tab.locator(f"[aria-labelledby={side}-title] .text").inner_text()
        assert words.split() == record[side].split()


def test_it_is_read_on_a_narrow_screen_in_both_schemes(shown: Any) -> None:
    tab = shown(viewport=NARROW)
    tab.locator("#list [data-study]").first.click()
    tab.locator("#study-title:focus").wait_for()
    assert tab.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert not axe_in_both_schemes(tab)


def test_hostile_texts_are_shown_and_do_nothing(shown: Any) -> None:
    tab = shown("evil.html")
    tab.locator("#list [data-study]").first.click()
    tab.locator("#study-title:focus").wait_for()
    assert EVIL in tab.locator("[aria-labelledby=candidate-title]").inner_text().replace("\n", "")
    assert tab.locator("main img, main b").count() == 0
    assert EVIL in tab.inner_text("#rater-0")
