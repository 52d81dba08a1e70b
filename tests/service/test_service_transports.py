"""One page, two ways to its data: a run's file and its service show the same studies."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browserhelp import WIDE, chromium, ready, watch
from click.testing import CliRunner
from served import Served
from support import EXAMPLES

from judge.cli import main
from judge.report.view import search_text, study_view
from judge.running.folder import Run

if TYPE_CHECKING:
    from playwright.sync_api import Page

Row = dict[str, str]


def n(row: Row, *names: str) -> int:
    return sum(int(row[name]) for name in names)


FILTERS: dict[str, Callable[[Row], bool]] = {
    "": lambda _: True,
    "class=abnormal": lambda row: row["study_class"] == "abnormal",
    "class=": lambda _: False,
    "outcome=failed": lambda _: False,
    "category=b&significance=significant": lambda row: n(row, "significant_b") > 0,
    "category=b": lambda row: n(row, "significant_b", "insignificant_b") > 0,
    "significance=insignificant": lambda row: n(row, "n_insignificant") > 0,
    "field.site=harbour": lambda row: row["site"] == "harbour",
    "has.context=COUGH": lambda row: "cough" in row["context"].lower(),
    "min.green=0.5&max.green=0.9": lambda row: 0.5 <= float(row["green"]) <= 0.9,
    "field.n_significant=1&class=normal": lambda row: (
        row["n_significant"] == "1" and row["study_class"] == "normal"
    ),
}
SEARCHES = (
    *("Pneumothorax  EFFUSION", "nosuchword", "ex-01", "harbour", "missing", "the lungs"),
    *("effusion&class=abnormal", "%20 ", "\u202e"),
)
SORTS = ("green", "study_id&descending=true", "context", "n_significant&descending=true", "reason")


@pytest.fixture(scope="module")
def corrected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the same studies whose errors are corrections."""
    out = tmp_path_factory.mktemp("corrected") / "run"
    args = ["fineradscore", EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", out]
    done = CliRunner().invoke(main, list(map(str, args)))
    assert done.exit_code == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def pages(finished: Path, corrected: Path, shared_service: Served) -> Iterator[dict[str, Page]]:
    """The page of the run in a file, and that of the service, in a browser.

    While it is up no run can be judged in this process.
    """
    assert corrected.is_dir()
    file = shared_service.folder / "examples.html"
    done = CliRunner().invoke(main, ["audit", str(finished), "--html", str(file)])
    assert done.exit_code == 0, done.stderr
    addresses = {"file": file.as_uri(), "service": f"{shared_service.url}/runs/examples"}
    with chromium() as browser:
        opened = {name: browser.new_page(viewport=WIDE) for name in addresses}
        for name, page in opened.items():
            page.goto(addresses[name])
            ready(page)
        yield opened


@pytest.fixture(scope="module")
def table(finished: Path) -> list[Row]:
    with (finished / "studies.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def listed(page: Page, query: str) -> list[str]:
    """The ids of the list for what stands after the # of the address."""
    drawn = """query => new Promise((done) => {
      const list = document.getElementById("list");
      const ids = () => [...list.querySelectorAll("tbody th a")].map((link) => link.textContent);
      const watcher = new MutationObserver(() => { watcher.disconnect(); done(ids()); });
      watcher.observe(list, { childList: true });
      if (location.hash === `#${query}`) { watcher.disconnect(); done(ids()); }
      location.hash = query;
    })"""
    found: list[str] = page.evaluate(drawn, query)
    return found


@pytest.mark.parametrize("query", FILTERS)
def test_filters_hold_for_every_study_and_leave_none_out(
    pages: dict[str, Page], table: list[Row], query: str
) -> None:
    expected = sorted(row["study_id"] for row in table if FILTERS[query](row))
    found = {name: listed(page, f"{query}&sort=study_id") for name, page in pages.items()}
    assert found == {"file": expected, "service": expected}


@pytest.mark.parametrize("words", SEARCHES)
def test_a_search_finds_the_same_in_both(pages: dict[str, Page], words: str) -> None:
    file, service = (listed(page, f"q={words}") for page in pages.values())
    assert file == service


def test_a_search_finds_what_is_there(
    pages: dict[str, Page], finished: Path, shared_service: Served
) -> None:
    with (finished / "annotations.jsonl").open(encoding="utf-8") as file:
        records = list(map(json.loads, file))
    words = ("pneumothorax", "effusion")
    holding = {r["study_id"] for r in records if all(w in json.dumps(r).lower() for w in words)}
    found = listed(pages["service"], f"q={'+'.join(words)}")
    assert found
    assert set(found) <= holding
    rows = shared_service.client.get("/v1/runs/examples/search", params={"q": " ".join(words)})
    assert {records[row]["study_id"] for row in rows.json()["rows"]} == set(found)


def test_both_search_the_same_text(pages: dict[str, Page], finished: Path, corrected: Path) -> None:
    views, texts = [], []
    for run in (Run(finished), Run(corrected)):
        records = list(run.records())
        fields = {"age": 3.0, "weight": 70.5, "is_late": True, "none": None, "n": 12}
        failed = {"annotation": None, "counts": None, "scores": None, "detail": "No ANSWER."}
        records.append({**records[0], **failed, "reason": "timeout", "fields": fields})
        views += [study_view(record, run.rubric) for record in records]
        texts += [search_text(record) for record in records]
    found = pages["service"].evaluate(
        """async (views) => {
          const folder = document.querySelector("script[src*=main]").src.replace("main.js", "");
          const { searched } = await import(`${folder}transports.js`);
          return views.map(searched);
        }""",
        views,
    )
    assert found == texts
    assert any(view["items"] and view["items"][0]["edit"] for view in views)
    assert texts[-1].endswith("timeout\nno answer.")


@pytest.mark.parametrize("sort", SORTS)
def test_both_sort_alike(pages: dict[str, Page], table: list[Row], sort: str) -> None:
    file, service = (listed(page, f"sort={sort}") for page in pages.values())
    assert file == service
    assert sorted(file) == [row["study_id"] for row in table]
    if sort == "green":
        by_id = {row["study_id"]: float(row["green"]) for row in table}
        assert [by_id[each] for each in file] == sorted(by_id.values())


def test_the_worst_come_first(pages: dict[str, Page], table: list[Row]) -> None:
    worst = max(table, key=lambda row: int(row["n_significant"]))["study_id"]
    for page in pages.values():
        assert listed(page, "class=abnormal")
        assert listed(page, "")[0] == worst


def test_pages_cover_all_studies_once(pages: dict[str, Page], table: list[Row]) -> None:
    for page in pages.values():
        assert len(listed(page, "sort=study_id&offset=4")) == len(table) - 4
        assert listed(page, "offset=100") == []


@pytest.mark.parametrize(
    "query",
    [
        *("sort=nothing", "category=z", "significance=worse", "field.nothing=1", "min.green=high"),
        *("offset=-1", "surprise=1", "min.=1", "__proto__=1", "field.__proto__=1"),
    ],
)
def test_a_condition_that_cannot_be_met_is_said(pages: dict[str, Page], query: str) -> None:
    for page in pages.values():
        seen = watch(page)
        listed(page, "class=normal")
        assert len(listed(page, query)) == 15
        assert query.split("=")[0] in page.inner_text("#alarm")
        page.click("#alarm button")
        seen.assert_quiet()


def test_neighbours_are_those_of_the_list(pages: dict[str, Page]) -> None:
    for page in pages.values():
        order = listed(page, "class=abnormal")
        page.click(f"#list >> text={order[1]}")
        page.wait_for_selector(f"h2:has-text('Study {order[1]}')")
        assert f"2 of {len(order)}" in page.inner_text(".steps")
        page.keyboard.press("n")
        page.wait_for_selector(f"h2:has-text('Study {order[2]}')")
        page.keyboard.press("Escape")
        page.wait_for_selector("#studies:visible")


def test_an_index_is_unpacked_for_whoever_takes_no_gzip(shared_service: Served) -> None:
    address = "/v1/runs/examples/studies"
    packed = shared_service.client.get(address)
    plain = shared_service.client.get(address, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    found = plain.json()
    assert sorted(found["order"]) == list(range(15))
    assert {len(column) for column in found["columns"].values()} == {15}
