"""What holds of every page of results, as a file and from the service, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from answered_runs import records_of
from browserhelp import (
    NARROW,
    WIDE,
    Watch,
    axe_in_both_schemes,
    chromium,
    expect,
    ready,
    watch,
)
from made_pages import EVIL, all_pages, comparison, comparison_text, rated_studies
from pagemaking import write_run
from served import Served

from judge import prompts, rubrics
from judge.pages.comparison import wanted
from judge.pages.run import page as run_page
from judge.rubrics.categories import error_item
from judge.running.folder import RunFolder
from judge.tables import comparison as tables_of
from judge.tables import kinds
from judge.types import Annotation, Completion, Edit, Scored, Study, Usage

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

VIEWS = ("green", "fineradscore", "comparison", "validation")
COMPARED = "compare?run=green&run=fineradscore&allow=judge"
SERVED = ("runs/green", COMPARED)
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return all_pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def service(made: Path) -> Iterator[Served]:
    names = ("green", "fineradscore", "facts", "green-evil", "asked")
    with Served(made, *(made / name for name in names)) as running:
        yield running


@pytest.fixture(scope="module")
def browser(made: Path) -> Iterator[Browser]:
    assert made.is_dir()  # made before it starts: beside it no judge can be asked
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)
    yield context.new_page()
    context.close()


@pytest.fixture
def seen(page: Page) -> Iterator[Watch]:
    """What the page does. At the end: it said nothing, and asked for nothing but itself."""
    found = watch(page)
    yield found
    found.assert_quiet()
    assert page.evaluate("window.struck") is None
    asked = found.outside("blob:", "data:")
    assert asked
    assert all(url.startswith(("file:///", "http://127.0.0.1:")) for url in asked)
    assert (
        len({url for url in asked if url.startswith("file:")})
        <= len(page.context.pages) + 2
    )


pytestmark = pytest.mark.usefixtures("seen")


def show(page: Page, address: Path | str) -> None:
    page.goto(address.as_uri() if isinstance(address, Path) else address)
    ready(page)


def ids(page: Page) -> list[str]:
    return page.locator("#list tbody th").all_inner_texts()


def settle(page: Page, n: int) -> None:
    expect(page.locator("#list tbody tr")).to_have_count(n)


def open_first(page: Page) -> None:
    page.locator("#list tbody a").first.press("Enter")
    page.wait_for_selector("#study-title:focus")


def open_everything(page: Page) -> None:
    """Unfold what is folded, and ask for more of long lists and texts."""
    page.evaluate(
        "document.querySelectorAll('main details').forEach((one) => { one.open = true; })"
    )
    more = re.compile("^Show (all|more)")
    for button in page.locator("main button:visible", has_text=more).all():
        button.click()


def assert_fits(page: Page) -> None:
    width = page.viewport_size["width"] if page.viewport_size else 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def rows_of(page: Page, table: str) -> list[list[str]]:
    rows: list[list[str]] = page.locator(f"{table} tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return [
        [" ".join(text.replace(MINUS, "-").split()) for text in row] for row in rows
    ]


@pytest.mark.ci
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("view", VIEWS)
def test_everyone_can_use_it_and_print_it(
    page: Page, made: Path, view: str, size: dict[str, int]
) -> None:
    page.set_viewport_size(size)  # type: ignore[arg-type]
    show(page, made / f"{view}.html")
    open_everything(page)
    assert axe_in_both_schemes(page) == []
    assert_fits(page)
    n = page.locator("img.drawn").count()
    assert n or view != "comparison"
    page.emulate_media(media="print", color_scheme="light")
    drawn = "all => all.filter(one => one.complete && one.naturalWidth && one.offsetHeight).length"
    assert (
        page.locator("img.drawn").evaluate_all(drawn) == n
    )  # none waits to be scrolled to
    hidden = page.locator(".steps, .filters, .params, .top button").all()
    assert not any(one.is_visible() for one in hidden)
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")
    open_first(page)
    open_everything(page)
    assert axe_in_both_schemes(page) == []
    assert_fits(page)


@pytest.mark.parametrize("view", [*VIEWS, "facts", *SERVED])
def test_the_keyboard_leads_to_a_study_and_back(
    page: Page, made: Path, service: Served, view: str
) -> None:
    show(page, f"{service.url}/{view}" if view in SERVED else made / f"{view}.html")
    order = ids(page)
    page.locator(".skip").press("Enter")
    page.wait_for_selector("#studies-title:focus")
    page.locator("#list tbody a").nth(1).press("Enter")
    page.wait_for_selector("#study-title:focus")
    if page.locator("#study .error").count():
        page.keyboard.press("j")
        page.wait_for_selector("#study .error:focus")
    text = page.locator(".report.candidate .text").first
    before = text.inner_text()
    page.keyboard.press("d")
    assert before.split()[-1] in text.inner_text()
    page.keyboard.press("d")
    for key, at in (("n", 2), ("p", 1), ("p", 0), ("n", 1)):
        page.keyboard.press(key)
        page.wait_for_function(
            "id => document.querySelector('#study-title bdi').innerText === id",
            arg=order[at],
        )
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open] >> text=next error")
    page.keyboard.press("Escape")
    page.reload()  # the address has the study
    ready(page)
    assert page.locator("#study-title bdi").inner_text() == order[1]
    page.keyboard.press("Escape")
    page.wait_for_selector("#studies:visible")
    page.evaluate("location.hash = '#study=nope&odd=1'")
    page.locator("#alarm", has_text="nope").wait_for()
    assert ids(page) == order


@pytest.mark.parametrize("view", [*VIEWS, "facts", "runs/green"])
def test_hostile_texts_do_nothing(
    page: Page, made: Path, service: Served, view: str
) -> None:
    served = view.startswith("runs/")
    if not served:
        assert EVIL not in (made / f"{view}-evil.html").read_text("utf-8")
    show(page, f"{service.url}/{view}-evil" if served else made / f"{view}-evil.html")
    open_everything(page)
    if view in ("green", "fineradscore", "facts"):
        page.fill("#filter-q", "onerror")
        settle(page, 1)
    open_first(page)
    page.keyboard.press("j")
    open_everything(page)
    assert "onerror" in page.inner_text("#study")
    inert = "main :is(img:not(.drawn), script, svg, iframe, [onerror], a[href^='javascript'])"
    assert page.locator(inert).count() == 0
    # Text that runs from right to left turns nothing beside it.
    for cell in page.locator("#study dd bdi").all():
        assert cell.evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"
    assert_fits(page)


def test_a_script_from_elsewhere_is_refused(
    page: Page, made: Path, seen: Watch
) -> None:
    show(page, made / "green.html")
    refused = page.evaluate(
        "try { document.body.innerHTML = '<b>x</b>'; '' } catch (e) { e.name }"
    )
    assert refused == "TypeError"
    assert any("TrustedHTML" in text or "Trusted" in text for text in seen.console)
    seen.console.clear()


@pytest.mark.parametrize(
    ("view", "address"),
    [
        ("runs/green", ""),
        ("runs/green", "class=normal&sort=measure.green"),
        ("runs/green", "q=hernia"),
        ("runs/green", "study=ex-010"),
        (COMPARED, ""),
        (COMPARED, "metric=fineradscore_sum"),
        (COMPARED, "study=ex-010"),
    ],
)
def test_file_and_service_show_the_same(
    page: Page, made: Path, service: Served, view: str, address: str
) -> None:
    """Stress tests and validations have no page in the service."""
    file = made / ("compared.html" if view == COMPARED else "green.html")
    texts = []
    for start in (file.as_uri(), f"{service.url}/{view}"):
        page.goto("about:blank")
        show(page, f"{start}#{address}")
        parts = page.locator(
            "#study .reports, #list, .tiles, .figures:not(#figures *), .error-head, .matched, "
            "#board, #pairs, #errors, #correlations"
        )
        texts.append([text for text in parts.all_inner_texts() if text])
    assert texts[0] == texts[1] != []


@pytest.mark.usefixtures("seen")
def test_a_link_that_asks_for_what_is_not_there_says_so(
    page: Page, made: Path, service: Served
) -> None:
    odd = "offset=-5&sort=nothing&descending=x&facet.none=a"
    show(page, f"{(made / 'green.html').as_uri()}#{odd}")
    settle(page, 15)
    show(page, f"{(made / 'green.html').as_uri()}#min.green=abc&class=odd&sort=nothing")
    assert "No study matches" in page.inner_text("#list")
    page.click("text=Reset")
    settle(page, 15)
    # In a tab of its own: the browser writes lines about this answer, and about an icon that it
    # looks for, into the console of the tab, whenever it likes.
    other = page.context.new_page()
    answer = other.goto(f"{service.url}/runs/nope")
    assert answer is not None
    assert answer.status == 404
    assert "no run 'nope'" in other.inner_text("body")
    other.close()
    show(page, f"{service.url}/runs/facts")
    assert page.get_by_role("link", name="Read blind").count() == 0
    show(page, f"{service.url}/runs/green")
    assert page.get_by_role("link", name="Read blind").count() == 1


def test_what_was_asked_is_shown(page: Page, made: Path, service: Served) -> None:
    record = records_of(made / "asked")[0]
    question = prompts.load("green").messages(record["reference"], record["candidate"])
    for start in ((made / "asked.html").as_uri(), f"{service.url}/runs/asked"):
        show(page, f"{start}#study=1")
        page.click(".answer summary")
        page.locator(".answer li", has_text="What was asked").wait_for()
        shown = page.inner_text(".answer")
        for message in question:
            assert " ".join(message.content.split()) in " ".join(shown.split())


def test_file_and_service_find_the_same(
    page: Page, made: Path, service: Served
) -> None:
    """In ids, fields, both reports, errors, matched findings, explanations and why it failed."""
    found = []
    for start in ((made / "green.html").as_uri(), f"{service.url}/runs/green"):
        page.goto("about:blank")
        show(page, start)
        of_start = []
        for words in (
            "EX-01",
            "riverside",
            "trauma\u00a0Indication",
            "severe  CARDIOMEGALY",
            "reference says",
            "rules of lexicon",
            "nothing of it",
        ):
            page.fill("#filter-q", words)
            expect(page).to_have_url(re.compile(r"#q="))
            page.wait_for_function(
                "words => new URLSearchParams(location.hash.slice(1)).get('q') === words",
                arg=words,
            )
            of_start.append(ids(page))
        found.append(of_start)
    assert found[0] == found[1]
    assert [len(studies) > 0 for studies in found[0]] == [True] * 6 + [False]


@pytest.mark.ci
def test_a_report_of_two_megabytes_opens(page: Page, tmp_path: Path) -> None:
    rubric = rubrics.load("fineradscore")
    text = f"{EVIL}. " + "The heart is large. " * 100_000
    edits = [Edit("change", n, EVIL) for n in range(2000)]
    annotation = Annotation(
        tuple(error_item(["a"], "severity", "severity3", EVIL, e) for e in edits)
    )
    study = Study("long", text, text, "normal", fields={})
    answer = Completion("{}", "stop", "model-1", Usage(1200, 34, 200))
    end = (study, Scored(annotation), rubric.measured(annotation, study), answer)
    file = tmp_path / "long.html"
    file.write_text(
        "".join(run_page(write_run(tmp_path / "long", rubric, [end]))), "utf-8"
    )
    show(page, f"{file.as_uri()}#study=long")
    page.locator("#study-title").wait_for()
    assert page.locator("#study *").count() < 20_000
    page.keyboard.press("j")
    page.locator("#study .error:focus").wait_for()
    page.click(".answer summary")
    assert "1,200 asked (200 cached by the provider)" in page.inner_text(".answer")


def test_a_run_is_filtered_sorted_and_searched(page: Page, made: Path) -> None:
    table = RunFolder.open(made / "green").table().set_index("study_id")
    show(page, made / "green.html")
    assert (len(ids(page)), ids(page)[0]) == (15, "ex-015")
    for first, direction in (("ex-001", "ascending"), ("ex-015", "descending")):
        page.click("[data-act='sort study_id']")
        assert ids(page)[0] == first
        assert page.get_attribute("th.id", "aria-sort") == direction
    page.click("text=Reset")
    # Category and significance are of one error.
    page.select_option("#filter-facet_46category", label="(b) missing finding")
    settle(page, int((table["significant_b"] + table["insignificant_b"] > 0).sum()))
    page.select_option("#filter-facet_46significance", label="clinically insignificant")
    settle(page, int((table["insignificant_b"] > 0).sum()))
    page.click("text=Reset")
    page.click("text=By score and further fields")
    page.fill("#filter-min_46green", "0.5")
    settle(page, int((table["green"] >= 0.5).sum()))
    page.reload()
    ready(page)
    settle(page, int((table["green"] >= 0.5).sum()))
    page.click("text=Reset")
    page.fill("#filter-q", "Tension  PNEUMOTHORAX")
    settle(page, 1)
    assert ids(page) == ["ex-015"]
    assert "1 study of 15" in page.inner_text("#announcer")


@pytest.mark.parametrize("view", ["green", "fineradscore"])
def test_an_error_is_marked_in_the_reports(page: Page, made: Path, view: str) -> None:
    show(page, f"{(made / f'{view}.html').as_uri()}#study=ex-010")
    marks = page.locator(".report mark bdi").all_inner_texts()
    assert [text.rstrip(".") for text in marks] == [
        "Severe cardiomegaly",
        "Mild cardiomegaly",
    ]
    page.keyboard.press("j")
    assert page.locator("mark.lit").count() == 2
    if view == "fineradscore":
        assert page.locator(".edit-rows del").inner_text().strip() == "Mild"
        assert page.locator(".edit-rows ins").inner_text().strip() == "Severe"
    page.click(".answer summary")
    assert page.locator(".answer pre").inner_text().strip()
    page.keyboard.press("d")
    assert page.locator(".candidate del").all_inner_texts() == ["Severe"]
    assert page.locator(".candidate ins").all_inner_texts() == ["Mild"]


def test_the_numbers_of_a_comparison_are_those_of_its_tables(
    page: Page, made: Path
) -> None:
    c = comparison()
    show(page, made / "comparison.html")
    models = c.panel.models
    for at, group in enumerate(c.groups):
        name = tables_of.group_name(group.key)
        page.select_option("#param-group", name)
        expected = tables_of.board(c, c.groups.index(group), c.panel.metrics).texts
        cells = [[text.split(" ") for text in row] for row in expected]
        words = (
            "rows => rows.map(row => [...row.querySelectorAll('.cell')]"
            ".map(cell => cell.textContent))"
        )
        figures = page.locator("#board tbody tr").evaluate_all(words)
        for row, shown in zip(cells, figures, strict=True):
            wanted_ = [words_[0] for words_ in row[2:] if words_ != ["n/a"]]
            assert [text.replace(MINUS, "-") for text in shown] == wanted_
        for metric_name, tests in c.tests[at].items():
            metric = c.panel.metric(metric_name)
            page.select_option("#param-metric", metric_name)
            for test in tests[:2]:
                page.select_option("#param-a", models[test.a])
                (row,) = [
                    one for one in rows_of(page, "#pairs") if one[0] == models[test.b]
                ]
                turned = tables_of.difference(test, metric).printed()
                assert row[1:3] == [turned.figure, turned.brackets or "n/a"]
                assert row[3] == kinds.p_value(test.p)
                assert row[4].startswith(kinds.p_value(test.p_holm))
                assert row[5].split(" ")[0] == str(test.n)
    shown_ = [row[1:] for row in rows_of(page, "#correlations")]
    tables = tables_of.correlation_tables(c)
    texts = [row[1:] for table in tables for row in table.texts]
    assert shown_ == [[text.replace(MINUS, "-") for text in row] for row in texts]


def test_a_number_of_the_leaderboard_lists_its_studies(page: Page, made: Path) -> None:
    c = comparison()
    show(page, made / "comparison.html")
    first, last = c.order[0], c.order[-1]
    page.locator(f'[data-act="{last} fineradscore_sum"]').press("Enter")
    page.locator("#studies-title:focus").wait_for()
    values = c.panel.values["fineradscore_sum"]
    a, b, by = (page.input_value(f"#param-{name}") for name in ("a", "b", "metric"))
    assert (a, by) == (c.panel.models[last], "fineradscore_sum")
    ahead = values[:, c.panel.models.index(b)] - values[:, last]  # less is better
    known = ahead[~np.isnan(ahead)]
    equal = (known == 0).sum()
    text = (
        f"A ahead: {(known > 0).sum()}, equal: {equal}, A behind: {(known < 0).sum()}, "
    )
    assert text in page.inner_text("#list .count")
    study = c.panel.study_ids.index(ids(page)[0])
    assert ahead[study] == np.nanmin(ahead)  # where it loses most
    page.select_option("#param-metric", "green")
    page.select_option("#param-a", c.panel.models[first])
    page.locator("#list thead th", has_text=f"A: {c.panel.models[first]}").wait_for()
    green = c.panel.values["green"]
    order = c.panel.models.index(page.input_value("#param-b"))
    for row in rows_of(page, "#list")[:10]:
        left, right = green[c.panel.study_ids.index(row[0])][[first, order]]
        assert row[-3:] == [f"{x:.3f}" for x in (left, right, left - right)]
    open_first(page)
    assert f"candidate of {c.panel.models[first]}" in page.inner_text("#study")
    assert page.locator("#study .findings-of").count() == 4  # two models, two rubrics


def test_reports_that_are_not_in_the_page(page: Page, tmp_path: Path) -> None:
    c = comparison()
    file = tmp_path / "few.html"
    file.write_text(comparison_text(c, most=300), "utf-8")
    show(page, file)
    here = wanted(c, most=300)[c.panel.models[0], "green"]
    assert "This page holds" in page.inner_text("footer")
    page.select_option("#filter-here", label="yes")
    page.wait_for_selector(f"text={len(here)} of 120 studies")
    page.select_option("#filter-here", label="no")
    page.wait_for_selector(f"text={120 - len(here)} of 120 studies")
    open_first(page)
    assert "judge audit" in page.inner_text("#study")


def test_judge_and_readers_are_beside_each_other(page: Page, made: Path) -> None:
    work = made / "validation"
    studies = rated_studies(work / "readers", work / "judged")
    grid = studies.values["errors"]
    show(page, made / "validation.html")
    page.select_option("#param-quantity", "errors")
    apart = np.abs(grid[:, 0] - np.nanmean(grid[:, 1:], axis=1))
    expect(page.locator("#list tbody th").first).to_have_text(
        studies.study_ids[int(np.nanargmax(apart))]
    )
    row, rater = (int(one[0]) for one in np.nonzero(np.isnan(grid)))
    page.evaluate("id => { location.hash = `#study=${id}`; }", studies.study_ids[row])
    page.wait_for_selector(f"#study-title:has-text('{studies.study_ids[row]}')")
    columns: list[Any] = page.locator(".findings-of").all()
    assert len(columns) == len(studies.raters)
    assert "not read" in columns[rater].inner_text()
    assert studies.raters[1].name in columns[1].inner_text()
