"""The page of judges beside readers, opened in a real browser."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browserhelp import NARROW, WIDE, axe, chromium, ready, watch
from click.testing import CliRunner
from ratedhelp import beside_of, counts_of, made, many, run, studies_of
from support import EXAMPLES

from judge import rubrics
from judge.cli import main
from judge.report.validate_page.data import Beside, PageRater, overview, wanted
from judge.report.validate_page.file import page
from judge.validating.raters import RatedStudies, records

EVIL = '</script><img src=x onerror="window.hacked=1"><b>bold</b>'


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("validate")
    made(path)
    run("validate", path / "judged", "--readers", path / "readers", "--html", path / "page.html")
    return path


@pytest.fixture(scope="module")
def studies(work: Path) -> RatedStudies:
    return studies_of(work)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture
def shown(browser: Any) -> Iterator[Any]:
    tabs = []

    def open_page(path: Path, **given: Any) -> Any:
        tab = browser.new_page(**{"viewport": WIDE, **given})
        tabs.append((tab, watch(tab)))
        tab.goto(path.as_uri())
        ready(tab)
        return tab

    yield open_page
    for tab, seen in tabs:
        seen.assert_quiet()
        assert not seen.outside("file:")
        assert len(seen.requests) == 1
        assert tab.evaluate("window.hacked") is None
        tab.close()


def cells(studies: RatedStudies) -> dict[tuple[float, float], list[str]]:
    found: dict[tuple[float, float], list[str]] = {}
    for one, judge, mean in zip(
        studies.study_ids, *counts_of(studies.values, "errors"), strict=True
    ):
        found.setdefault((judge, mean), []).append(one)
    return found


def dots(tab: Any, figure: str) -> list[tuple[float, float, str]]:
    script = "all => all.map(o => [o.cx.baseVal.value, o.cy.baseVal.value, o.dataset.cell])"
    return [tuple(one) for one in tab.locator(f"#{figure} .dot").evaluate_all(script)]


def test_each_point_stands_where_its_counts_are(
    work: Path, shown: Any, studies: RatedStudies
) -> None:
    tab = shown(work / "page.html")
    of = {f"{judge:g} {mean:.6f}": (judge, mean) for judge, mean in cells(studies)}

    def pair(cell: str) -> tuple[float, float]:
        judge, mean = cell.split(" ")
        return of[f"{float(judge):g} {float(mean):.6f}"]

    for figure in ("against", "differences"):
        drawn = dots(tab, figure)
        assert len(drawn) == len(of)
        pairs = np.array([pair(cell) for _, _, cell in drawn])
        x, y = pairs[:, 1], pairs[:, 0]
        if figure == "differences":
            x, y = pairs.mean(axis=1), pairs[:, 0] - pairs[:, 1]
        for places, values, sign in ((0, x, 1), (1, y, -1)):
            at = np.array([one[places] for one in drawn])
            slope, start = np.polyfit(values, at, 1)
            assert slope * sign > 0
            assert at == pytest.approx(slope * values + start, abs=0.01)
    assert "nan" not in tab.inner_text("body").lower()


def test_a_point_of_one_study_opens_it_with_judge_and_readers(
    work: Path, shown: Any, studies: RatedStudies
) -> None:
    tab = shown(work / "page.html")
    alone = {names[0]: cell for cell, names in cells(studies).items() if len(names) == 1}
    study, (judge, mean) = max(alone.items(), key=lambda one: abs(one[1][0] - one[1][1]))
    at = next(
        n
        for n, (_, _, cell) in enumerate(dots(tab, "against"))
        if float(cell.split()[0]) == judge and abs(float(cell.split()[1]) - mean) < 1e-9
    )
    tab.locator("#against .dot").nth(at).click()
    tab.locator("#study-title:focus").wait_for()
    assert tab.inner_text("#study-title") == f"Study {study}"
    for number, (rater, said) in enumerate(
        zip(studies.raters, records(studies, {study}), strict=True)
    ):
        part = tab.locator(f'[data-rater="{number}"]')
        assert rater.name in part.locator("h4").inner_text()
        assert ("(reader)" in part.locator("h4").inner_text()) == rater.is_reader
        errors = [i for i in said[study]["annotation"]["items"] if i["kind"] == "error"]
        assert part.locator(".error").count() == len(errors)
        text = part.inner_text()
        assert all((item["text"] or "(no text)") in text for item in errors)
    record = records(studies, {study})[0][study]
    for side in ("reference", "candidate"):
        words = tab.locator(f"[aria-labelledby={side}-title] .text").inner_text()
        assert words.replace("\n", " ").split() == record[side].split()
    marks = tab.locator("#study .report mark").count()
    tab.select_option("#marks", "3")
    tab.wait_for_function("n => document.querySelectorAll('#study mark').length < n", arg=marks)


def test_a_point_of_several_lists_its_studies_and_no_other(
    work: Path, shown: Any, studies: RatedStudies
) -> None:
    tab = shown(work / "page.html")
    names = max(cells(studies).values(), key=len)
    tab.locator("#differences .dot").first.click()  # the largest is drawn first
    tab.locator("#list-title:focus").wait_for()
    assert tab.locator("#list tbody th").all_inner_texts() == sorted(names)
    assert tab.locator("#against .dot.chosen").count() == 1
    tab.get_by_role("button", name="Show all studies").click()
    tab.wait_for_function("document.querySelectorAll('#list tbody tr').length === 15")


def test_the_list_begins_where_judge_and_readers_are_furthest_apart(
    work: Path, shown: Any, studies: RatedStudies
) -> None:
    tab = shown(work / "page.html")
    tab.select_option("#quantity", label="significant errors")
    judge, readers = counts_of(studies.values, "significant")
    order = np.lexsort((np.arange(len(judge)), -np.abs(judge - readers)))
    expected = [studies.study_ids[row] for row in order]
    tab.wait_for_function(
        "id => document.querySelector('#list tbody th').innerText === id", arg=expected[0]
    )
    assert tab.locator("#list tbody th").all_inner_texts() == expected
    first = tab.locator("#list tbody tr").first.locator("td").all_inner_texts()
    row = order[0]
    shown_ = [judge[row], readers[row], judge[row] - readers[row]]
    assert first[1:4] == [f"{one:g}" if one % 1 == 0 else f"{one:.2f}" for one in shown_]


def test_who_did_not_read_a_study_said_nothing_of_it(
    work: Path, shown: Any, studies: RatedStudies
) -> None:
    grid = studies.values["errors"]
    row, rater = (int(one[0]) for one in np.nonzero(np.isnan(grid)))
    tab = shown(work / "page.html")
    tab.locator(f'[data-study="{row}"]').click()
    tab.locator("#study-title:focus").wait_for()
    part = tab.locator(f'[data-rater="{rater}"]')
    assert "not read" in part.inner_text()
    assert part.locator(".error").count() == 0
    line = tab.locator("#list tr.current td").all_inner_texts()
    assert line[-(len(studies.raters) - rater)] == "n/a"


def test_the_keyboard_reaches_and_opens_every_point(work: Path, shown: Any) -> None:
    tab = shown(work / "page.html")
    assert tab.locator('#against .dot[tabindex="0"]').count() == 1
    tab.locator('#against .dot[tabindex="0"]').focus()
    places = [tab.evaluate("document.activeElement.cx.baseVal.value")]
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
        places.append(tab.evaluate("document.activeElement.cx.baseVal.value"))
    assert places == sorted(places)
    assert places[-1] > places[0]
    assert tab.locator('#against .dot[tabindex="0"]').count() == 1
    tab.keyboard.press("Enter")
    tab.locator("#study-title:focus, #list-title:focus").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_read_on_a_narrow_screen_in_both_schemes(work: Path, shown: Any, scheme: str) -> None:
    tab = shown(work / "page.html", viewport=NARROW, color_scheme=scheme)
    tab.locator("#list [data-study]").first.click()
    tab.locator("#study-title:focus").wait_for()
    assert tab.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert not axe(tab)


def test_hostile_texts_are_shown_and_do_nothing(tmp_path: Path, shown: Any) -> None:
    text = (EXAMPLES / "readers" / "readings.csv").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    for row in rows:
        row["study_class"] = EVIL
        row["candidate"] += f" {EVIL} \u202e{{{{x}}}}" if row["candidate"] else ""
        row["text"] = f"{row['text']} {EVIL}" if row["text"] else ""
    with (tmp_path / "evil.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    made(tmp_path, tmp_path / "evil.csv")
    evil = studies_of(tmp_path, judge=EVIL)
    of = beside_of(evil)
    every = list(range(len(of.study_ids)))
    text = "".join(page(of, every, records(evil, set(of.study_ids))))
    assert EVIL not in text
    (tmp_path / "evil.html").write_text(text, "utf-8")
    tab = shown(tmp_path / "evil.html")
    tab.locator("#list [data-study]").first.click()
    tab.locator("#study-title:focus").wait_for()
    assert EVIL in tab.locator("[aria-labelledby=candidate-title]").inner_text().replace("\n", "")
    assert tab.locator("main img, main b").count() == 0
    assert EVIL in tab.inner_text("#rater-0")


def several(n: int) -> Beside:
    found, values = many(2, n)
    green = rubrics.load("green")
    names = [*(one["name"] for one in found["judges"]), "fern", "moss", "reed"]
    raters = tuple(PageRater(name, at > 1, green) for at, name in enumerate(names))
    ids = tuple(f"s{at:05}" for at in range(n))
    return Beside(found, raters, ids, (None,) * n, values)


def test_of_many_studies_every_point_has_some_and_rare_ones_all() -> None:
    of = several(4000)
    assert wanted(of, most=5 * 4000) == list(range(4000))
    rows = wanted(of, most=5 * 400)
    assert len(rows) == len(set(rows)) == 400
    assert rows == wanted(of, most=5 * 400)
    for judge in (0, 1):
        mean = of.values["errors"][:, 2:].mean(axis=1)
        sizes: dict[tuple[float, float], list[int]] = {}
        for row, pair in enumerate(zip(of.values["errors"][:, judge], mean, strict=True)):
            sizes.setdefault(pair, []).append(row)
        for whole in sizes.values():
            here = len(set(whole) & set(rows))
            assert here >= 1
            assert len(whole) > 2 or here == len(whole)


def test_a_study_whose_reports_are_not_here_says_so(tmp_path: Path, shown: Any) -> None:
    of = several(60)
    of.found.update(no_rows=[], differences=[], errors=[], preference=[], alt_test=[])
    of.found.update(patient_field=None, agreement=[], ceiling_mean=[])
    assert overview(of, [])["studies"] == {"here": 0, "all": 60}
    (tmp_path / "none.html").write_text("".join(page(of, [], [{}] * 5)), "utf-8")
    tab = shown(tmp_path / "none.html")
    assert "The reports of 0 of 60 studies are in this page" in tab.inner_text("footer")
    tab.locator("#list [data-study]").first.click()
    tab.locator("#study-title:focus").wait_for()
    assert "Its reports are not in this page" in tab.inner_text("#study")
    assert tab.locator("[data-rater]").count() == 4


def test_a_file_of_somebody_elses_stays(work: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("<html>mine</html>")
    words = ["validate", work / "judged", "--readers", work / "readers", "--html", mine]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code
    assert "not a page that judge wrote" in done.output
    assert mine.read_text() == "<html>mine</html>"


def test_the_file_asks_for_nothing_outside(work: Path) -> None:
    text = (work / "page.html").read_text("utf-8")
    assert "default-src 'none'" in text
    assert not re.findall(r"(?:src|href)=[\"']https?:", text)
