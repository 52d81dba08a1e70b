"""The screens of a comparison in a browser: for a meeting, and of what two see differently."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import httpx
import pytest
from answered_runs import answered, green
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
from click.testing import CliRunner
from made_pages import EVIL, cli
from served import Served
from support import EXAMPLES

from judge.cli import main
from judge.comparing.alignment import RunChoice
from judge.comparing.comparison import compare_runs, records
from judge.pages.comparison import ComparisonPage, wanted
from judge.pages.screens import Screens

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Each run and page is made, and a service started, before the first of them.
pytestmark = pytest.mark.ci

MODELS = ("alder", "birch")
N_MODELS = 14


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two models; pages of their comparison, of readers, of many models, of evil words."""
    folder = tmp_path_factory.mktemp("screens")
    runs = folder / "runs"
    for model in MODELS:
        files = (EXAMPLES / f"preds_{model}.json", EXAMPLES / "refs.json")
        cli("green", *files, "--out", runs / model)
    # Another judge of the same reports, who sees less.
    cli("fineradscore", EXAMPLES / "preds_birch.json", EXAMPLES / "refs.json",
        "--out", runs / "birch-fine")  # fmt: skip
    cli("page", runs / "alder", runs / "birch", "--out", folder / "meeting.html")
    cli("import", "tidy", EXAMPLES / "readers" / "readings.csv", "--section", "findings",
        "--out", folder / "readers")  # fmt: skip
    cli("green", folder / "readers" / "reader-fern", "--out", folder / "judged")
    cli("page", folder / "judged", "--readers", folder / "readers",
        "--out", folder / "readers.html")  # fmt: skip
    with (folder / "disagreements.csv").open("w", encoding="utf-8") as file:
        words = ("validate", folder / "judged", "--readers", folder / "readers")
        options = ("--table", "disagreements", "--format", "csv")
        done = CliRunner().invoke(main, list(map(str, (*words, *options))))
        file.write(done.stdout)
    many = []
    for at in range(N_MODELS):
        name = f"a-model-with-quite-a-long-name-{at:03}-checkpoint-of-the-last-epoch"
        many.append(f"{name}={runs / MODELS[at % 2]}")
    cli("page", *many, "--no-tests", "--out", folder / "many.html")
    evil = {
        f"{EVIL} {at}": green({"b": f"1. Effusion {EVIL.replace(';', ',')}"})
        for at in range(3)
    }
    first = answered(folder / "evil-1", evil, judge="j-1")
    second = answered(folder / "evil-2", dict.fromkeys(evil, green()), judge="j-2")
    choices = [RunChoice(first, "first", EVIL), RunChoice(second, "second", "other")]
    compared, comparison = compare_runs(choices, None, allow=("judge",))
    screens = Screens(compared, comparison)
    page = ComparisonPage.of(compared, comparison)
    text = page.file(records(compared, wanted(comparison)), screens)
    (folder / "evil.html").write_text("".join(text), "utf-8")
    return folder


@pytest.fixture(scope="module")
def service(made: Path) -> Iterator[Served]:
    with Served(made, "--runs", made / "runs") as running:
        yield running


@pytest.fixture(scope="module")
def browser(made: Path) -> Iterator[Browser]:
    """Started after all that is judged in this process."""
    assert made.is_dir()
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport=WIDE)
    yield page
    page.close()


@pytest.fixture
def seen(page: Page) -> Iterator[Watch]:
    seen = watch(page)
    yield seen
    seen.assert_quiet()


def show(page: Page, address: Path | str, view: str) -> None:
    if isinstance(address, Path):
        address = address.as_uri()
    page.goto(f"{address}#view={view}")
    ready(page)
    page.wait_for_selector(f"#{view} table")


def n_pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize("name", ["meeting", "many", "evil"])
@pytest.mark.usefixtures("seen")
def test_the_screen_for_a_meeting_is_one_page_of_paper(
    page: Page, made: Path, name: str
) -> None:
    show(page, made / f"{name}.html", "meeting")
    pdf = page.pdf(prefer_css_page_size=True)
    assert n_pages(pdf) == 1
    # A4, landscape.
    box = re.search(rb"/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert box is not None
    assert [round(float(side)) for side in box.groups()] == [842, 595]
    # The list is another page, and long.
    page.goto(f"{(made / f'{name}.html').as_uri()}#")
    page.wait_for_selector("#studies")
    assert n_pages(page.pdf(prefer_css_page_size=True)) > 1


@pytest.mark.usefixtures("seen")
def test_what_is_printed_is_on_the_paper(page: Page, made: Path) -> None:
    show(page, made / "many.html", "meeting")
    page.emulate_media(media="print")
    # The paper within its margins, at 96 pixels an inch.
    page.set_viewport_size({"width": 1062, "height": 733})
    assert page.evaluate("document.documentElement.scrollWidth") <= 1062
    assert page.evaluate("document.documentElement.scrollHeight") <= 733
    size = (
        "parseFloat(getComputedStyle(document.querySelector('.meeting td')).fontSize)"
    )
    # Five points can still be read.
    assert page.evaluate(size) >= 6.66
    expect(page.locator("#meeting .steps")).to_be_hidden()
    expect(page.locator(".meeting .frequent a").first).to_be_visible()


@pytest.mark.parametrize(
    ("name", "view"),
    [("meeting", "meeting"), ("readers", "differences"), ("evil", "differences")],
)
def test_everyone_can_use_the_screens(
    page: Page, seen: Watch, made: Path, name: str, view: str
) -> None:
    show(page, made / f"{name}.html", view)
    assert axe_in_both_schemes(page) == []
    page.set_viewport_size(NARROW)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= NARROW["width"]
    assert seen.outside("file:", "blob:", "data:") == []
    assert page.evaluate("window.struck") is None


@pytest.mark.usefixtures("seen")
def test_the_way_to_the_screen_to_a_study_and_back(page: Page, made: Path) -> None:
    page.goto((made / "meeting.html").as_uri())
    ready(page)
    page.get_by_role("link", name="One screen for a meeting").click()
    expect(page.locator("#meeting-title")).to_be_focused()
    rows = page.locator(".meeting tbody tr")
    expect(rows).to_have_count(2)
    assert "alder" in rows.nth(0).inner_text()
    error = rows.nth(1).locator(".frequent li").first
    text = error.inner_text()
    link = error.locator("a")
    study_id = link.inner_text()
    link.click()
    expect(page.locator("#study-title")).to_contain_text(study_id)
    # The study of that model, with an error of the category and the finding that the row names.
    expect(page.get_by_role("region", name="A: birch")).to_be_visible()
    finding = text.splitlines()[0].split(") ", 1)[1]
    expect(page.locator(".findings")).to_contain_text(
        re.compile(finding, re.IGNORECASE)
    )
    page.get_by_role("link", name="All studies").click()
    expect(page.locator("#meeting")).to_be_visible()
    expect(page.locator(":focus")).to_have_attribute("data-study", study_id)
    page.get_by_role("link", name="Back to the comparison").click()
    expect(page.locator("#board")).to_be_visible()
    expect(page.locator("#meeting")).to_have_count(0)


@pytest.mark.usefixtures("seen")
def test_errors_stand_side_by_side_and_are_filtered(page: Page, made: Path) -> None:
    show(page, made / "readers.html", "differences")
    page.get_by_label("Who").select_option("lexicon and fern")
    rows = page.locator(".differing tbody")
    assert [text.split()[0] for text in rows.all_inner_texts()] == [
        *("ex-015", "ex-009", "ex-012")
    ]
    tip = rows.nth(1).locator("td").all_inner_texts()
    assert tip[0].split("\n") == ["significant for one", "(c) wrong location"]
    assert tip[1].startswith("clinically significant")
    assert tip[2].split("\n\n") == [
        "clinically insignificant",
        "the tip is in the superior vena cava",
    ]
    status = page.locator("#differences [role=status]")
    page.get_by_label("Difference").select_option("significant, seen by one")
    expect(status).to_have_text("1 study")
    page.get_by_label("Category").select_option("(c) wrong location")
    expect(status).to_have_text("0 studies")
    page.get_by_label("Difference").select_option("all differences")
    expect(rows.locator("a")).to_have_text(["ex-009"])
    rows.locator("a").click()
    expect(page.locator("#study-title")).to_contain_text("ex-009")
    expect(page.locator(".findings")).to_contain_text("lexicon (judge)")
    page.keyboard.press("Escape")
    # What was chosen is still chosen.
    expect(rows.locator("a")).to_be_focused()
    expect(status).to_have_text("1 study")


@pytest.mark.usefixtures("seen")
def test_the_page_has_the_rows_of_the_table(page: Page, made: Path) -> None:
    found = made / "disagreements.csv"
    show(page, made / "readers.html", "differences")
    shown = []
    for name in page.get_by_label("Who").locator("option").all_inner_texts():
        page.get_by_label("Who").select_option(name)
        page.wait_for_selector(".differing")
        for study in page.locator(".differing tbody").all():
            study_id = study.locator("th").inner_text()
            for row in study.locator("tr:has(td)").all():
                cells = row.locator("td").all_inner_texts()
                label = cells[0].split("\n")[0]
                shown.append([*name.split(" and "), study_id, label])
    rows = list(csv.reader(found.read_text("utf-8").splitlines()))[1:]
    assert shown == [row[:4] for row in rows]


# The service


@pytest.mark.usefixtures("seen")
def test_the_service_shows_the_screen_and_leads_to_the_run(
    page: Page, service: Served
) -> None:
    query = urlencode([("run", "alder"), ("run", "birch")])
    show(page, f"{service.url}/compare?{query}", "meeting")
    expect(page.locator(".meeting tbody tr")).to_have_count(2)
    link = page.locator(".meeting .frequent a").first
    study_id = link.inner_text()
    assert link.get_attribute("href") == f"/runs/alder#study={study_id}"
    link.click()
    ready(page)
    expect(page.locator("#study-title")).to_contain_text(study_id)


@pytest.mark.usefixtures("seen")
def test_a_single_run_has_the_screen_too(page: Page, service: Served) -> None:
    show(page, f"{service.url}/compare?run=alder", "meeting")
    expect(page.locator(".meeting tbody tr")).to_have_count(1)


@pytest.mark.usefixtures("seen")
def test_the_service_compares_two_judges_of_the_same_reports(
    page: Page, service: Served
) -> None:
    query = urlencode([("run", "birch"), ("run", "birch-fine")])
    page.goto(f"{service.url}/compare?{query}#view=differences")
    ready(page)
    expect(page.locator("#differences")).to_contain_text(
        "birch (GREEN) and birch (FineRadScore): 15 studies scored by both"
    )
    page.goto(f"{service.url}/compare?run=birch#view=differences")
    page.reload()
    ready(page)
    expect(page.locator("#differences")).to_contain_text("Compare runs of one file")


def test_the_routes_are_documented_and_answer(service: Served) -> None:
    with httpx.Client(base_url=service.url, timeout=60) as client:
        documented = client.get("/openapi.json").json()["paths"]
        for path in ("meeting", "disagreements", "disagreements/{place}"):
            assert "get" in documented[f"/v1/comparison/{path}"]
        query = {"run": ["birch", "birch-fine"]}
        meeting = client.get("/v1/comparison/meeting", params=query).json()
        assert [rubric["name"] for rubric in meeting["rubrics"]] == [
            *("fineradscore", "green")
        ]
        pairs = client.get("/v1/comparison/disagreements", params=query).json()["pairs"]
        assert len(pairs) == 1
        studies = client.get("/v1/comparison/disagreements/0", params=query)
        assert "studies" in studies.json()
        missing = client.get("/v1/comparison/disagreements/1", params=query)
        assert missing.status_code == 404
        unknown = client.get("/v1/comparison/meeting", params={"run": ["nothing"]})
        assert unknown.status_code == 404
