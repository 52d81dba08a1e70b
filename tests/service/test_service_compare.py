"""Comparisons in the service: what the command line says of the same runs, and their page."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import NARROW, WIDE, axe, chromium, watch
from click.testing import CliRunner
from served import Served, is_problem, until
from support import EXAMPLES

from judge.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUNS = ("green-good", "green-bad", "fineradscore-bad")
REFS = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
IDS = list(REFS)


def invoke(*args: object) -> Any:
    done = CliRunner().invoke(main, list(map(str, args)))
    assert done.exit_code == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two models, the one judged by both rubrics; nobody writes to them.

    Beside them lies `other`, which judged other references.
    """
    folder = tmp_path_factory.mktemp("judged")
    good = {key: record["section_findings"] for key, record in REFS.items()}
    (folder / "preds_good.json").write_text(json.dumps(good), "utf-8")
    shutil.copy(EXAMPLES / "preds.json", folder / "preds_bad.json")
    for name in RUNS:
        rubric, _, model = name.partition("-")
        files = (folder / f"preds_{model}.json", EXAMPLES / "refs.json")
        invoke(rubric, *files, "--out", folder / "runs" / name, "--section", "findings")
    other = {key: {**record, "section_findings": "Clear lungs."} for key, record in REFS.items()}
    (folder / "refs.json").write_text(json.dumps(other), "utf-8")
    files = (folder / "preds_bad.json", folder / "refs.json")
    invoke("green", *files, "--out", folder / "other", "--section", "findings")
    return folder / "runs"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, judged: Path) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    with Served(folder, "--runs", shutil.copytree(judged, folder / "runs")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def asked(*runs: str, **rest: object) -> list[tuple[str, Any]]:
    """The query; a list is given value by value."""
    lists = [(key, value if isinstance(value, list) else [value]) for key, value in rest.items()]
    return [*(("run", run) for run in runs), *((key, one) for key, all_ in lists for one in all_)]


def test_it_says_what_the_command_line_says(service: Served, judged: Path) -> None:
    query = asked(*RUNS, by="study_class", sort="GREEN", seed=5)
    answer = service.client.get("/v1/comparison", params=query)
    assert answer.status_code == 200, answer.text
    runs = [judged / name for name in RUNS]
    options = ("--by", "study_class", "--sort", "GREEN", "--seed", 5, "--format", "json")
    printed = json.loads(invoke("compare", *runs, *options).stdout)
    found = answer.json()
    assert [run.pop("run") for run in found["runs"]] == list(RUNS)
    assert [run.pop("run") for run in printed["runs"]] == list(map(str, runs))
    assert found == printed


def test_where_runs_are_kept_is_never_told(service: Served) -> None:
    texts = [
        service.client.get(path, params=asked("green-good", "green-bad", **rest)).text
        for path in ("/v1/comparison", "/v1/comparison/overview", "/v1/comparison/columns")
        for rest in ({}, {"name": ["one", "one"]}, {"sort": "nothing"}, {"by": "nothing"})
    ]
    assert not any(str(service.folder) in text for text in texts)
    assert any("green-good and green-bad" in text for text in texts)


@pytest.mark.parametrize("name", ["summary.json", "manifest.json", "studies.parquet"])
def test_nor_of_a_damaged_run(tmp_path: Path, judged: Path, name: str) -> None:
    runs = shutil.copytree(judged, tmp_path / "runs")
    with Served(tmp_path, "--runs", runs) as running:
        assert running.run("green-good")["state"] == "finished"
        path = runs / "green-good" / name
        path.write_bytes(
            path.read_bytes().replace(b'"rates"', b'"r"').replace(b"PAR1", b"    ")[:-9]
        )
        answer = running.client.get("/v1/comparison", params=asked("green-good"))
        assert answer.status_code in (409, 422)
        assert str(tmp_path) not in answer.text


def test_models_can_be_named(service: Served) -> None:
    query = asked("green-good", "green-bad", name=["", "mine"])
    assert service.client.get("/v1/comparison", params=query).json()["models"] == ["good", "mine"]


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ([], 422, "run"),
        (asked("nothing"), 404, "no run 'nothing'"),
        (asked("green-good", "green-good"), 422, "two runs of green"),
        (asked("green-good", name=["a", "b"]), 422, "1 runs, but 2 names"),
        (asked("green-good", sort="nothing"), 422, "no metric 'nothing'"),
        (asked("green-good", by="nothing"), 422, "nothing"),
        (asked("green-good", allow="all"), 422, "allow"),
        (asked("green-good", seed=-1), 422, "seed"),
        (asked(*["green-good"] * 101), 422, "100"),
        (asked(*["green-good"] * 90, resamples=10_000), 422, "ask for fewer"),
    ],
)
def test_what_cannot_be_compared_is_said(
    service: Served, query: list[tuple[str, Any]], status: int, said: str
) -> None:
    assert said in is_problem(service.client.get("/v1/comparison", params=query), status)


def test_pieces_that_are_not_there(service: Served) -> None:
    for path in ("values/99", "figures/99"):
        answer = service.client.get(f"/v1/comparison/{path}", params=asked("green-good"))
        is_problem(answer, 404)


def test_an_unfinished_run_has_nothing_to_compare(tmp_path: Path) -> None:
    with Served(tmp_path, "--allow-judge", "openai:x=http://127.0.0.1:9/v1") as running:
        name = running.start_run(judge="openai:x").json()["id"]
        text = is_problem(running.client.get("/v1/comparison", params=asked(name)), 409)
        assert "has no results yet" in text
        running.client.post(f"/v1/runs/{name}/stop")


def test_a_comparison_is_made_once_until_a_run_changes(tmp_path: Path, judged: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    runs = shutil.copytree(judged, tmp_path / "runs")

    def n_made() -> int:
        return len(list(next(place.glob("judge-compare-*")).iterdir()))

    with Served(tmp_path, "--runs", runs, environ={"TMPDIR": str(place)}) as running:

        def ask(_: int) -> str:
            return running.client.get("/v1/comparison", params=asked("green-good")).text

        with ThreadPoolExecutor(6) as pool:
            assert len(set(pool.map(ask, range(6)))) == 1
        assert n_made() == 1
        path = runs / "green-good" / "manifest.json"
        manifest = json.loads(path.read_text("utf-8"))
        changed = manifest["signature"].replace("omitted:0", "omitted:7")
        path.write_text(json.dumps({**manifest, "signature": changed}), "utf-8")
        assert changed in ask(0)
        assert n_made() == 2


def test_a_comparison_that_breaks_off_says_so_and_is_made_anew(
    tmp_path: Path, judged: Path
) -> None:
    query = asked(*RUNS)
    arguments = ("--runs", shutil.copytree(judged, tmp_path / "runs"))
    with Served(tmp_path, *arguments) as running, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(running.client.get, "/v1/comparison", params=query)
        worker = until(lambda: workers_of(running))
        os.kill(worker[0], signal.SIGKILL)
        assert "broke off" in is_problem(waiting.result(), 502)
        assert running.client.get("/v1/comparison", params=query).status_code == 200


def workers_of(service: Served) -> list[int]:
    """The processes of the service that compare."""
    children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children")
    return [
        int(pid)
        for pid in children.read_text().split()
        if b"judge.service.comparison_worker" in command_of(pid)
    ]


def command_of(pid: str) -> bytes:
    with suppress(OSError):  # it may have ended meanwhile
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def test_the_service_ends_at_once_and_leaves_nothing(tmp_path: Path, judged: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    arguments = ("--runs", shutil.copytree(judged, tmp_path / "runs"))
    with Served(tmp_path, *arguments, environ={"TMPDIR": str(place)}) as running:
        assert running.client.get("/v1/comparison", params=asked("green-good")).status_code == 200
        (kept,) = place.glob("judge-compare-*")
        slow = asked(*RUNS, resamples=10_000, flips=100_000)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(running.client.get, "/v1/comparison", params=slow)
            assert until(lambda: len(list(kept.iterdir())) == 2)
            began = time.monotonic()
            running.process.send_signal(signal.SIGINT)
            running.process.wait(30)
            assert time.monotonic() - began < 15
            waiting.exception()
    assert not list(place.glob("judge-compare-*"))
    assert "Traceback" not in running.said


def test_from_the_list_to_a_studys_own_page(service: Served, browser: Browser) -> None:
    page = browser.new_page(viewport=WIDE)
    seen = watch(page)
    page.goto(service.url)
    page.click("text=Compare runs")
    for name in RUNS:
        page.locator("#ask tr", has_text=name).get_by_role("checkbox").check()
    page.locator("#ask tr", has_text="green-good").get_by_role("textbox").fill("the good one")
    page.locator("#ask").get_by_role("button", name="Compare").press("Enter")
    page.wait_for_selector("#board tbody tr")
    board = page.locator("#board tbody th")
    assert sorted(board.all_inner_texts()) == ["bad", "the good one"]
    page.wait_for_selector(".figures")
    page.evaluate("document.querySelector('.figures').scrollIntoView()")
    picture = page.locator(".figures img[src]").first
    drawn = "async (own) => { await own.decode(); return own.naturalWidth; }"
    assert picture.evaluate(drawn) > 100
    page.locator('[data-cell$=" green"]', has_text="bad").click()
    page.locator("#list [data-study]").first.click()
    page.wait_for_selector("#study .errors")
    text = page.inner_text("#study")
    links = page.locator("#study a", has_text="Open in its run")
    assert links.count() == 3
    study_id = re.search(r"ex-\d+", text)
    assert study_id
    assert REFS[study_id[0]]["section_findings"].split(".")[0] in text
    links.first.click()
    page.wait_for_selector("#study-title")
    assert study_id[0] in page.inner_text("#study-title")
    assert re.search(r"/runs/(green|fineradscore)-(good|bad)#", page.url)
    seen.assert_quiet()
    assert not seen.outside(service.url, "data:")
    page.close()


def test_what_differs_is_said_on_the_page_with_the_form(service: Served, browser: Browser) -> None:
    page = browser.new_page(viewport=NARROW)
    page.goto(f"{service.url}/compare?run=green-good&name=one&run=green-bad&name=one")
    page.wait_for_selector("#alarm bdi")
    assert "two runs of green are of the model 'one'" in page.inner_text("#alarm")
    assert page.locator("#ask[open] tr", has_text="green-bad").get_by_role("checkbox").is_checked()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not axe(page)
    page.close()


def test_the_page_without_a_run(tmp_path: Path, browser: Browser) -> None:
    with Served(tmp_path) as running:
        page = browser.new_page(viewport=WIDE)
        page.goto(f"{running.url}/compare")
        page.wait_for_selector("#ask .empty")
        assert "There is no finished run to compare." in page.inner_text("#ask")
        assert page.locator("#ask button[type=submit]").is_disabled()
        page.close()


def test_references_that_differ_are_both_shown(
    tmp_path: Path, judged: Path, browser: Browser
) -> None:
    runs = shutil.copytree(judged, tmp_path / "runs")
    shutil.copytree(judged.parent / "other", runs / "other")
    query = "run=green-good&name=good&run=other&name=other&allow=references"
    with Served(tmp_path, "--runs", runs) as running:
        page = browser.new_page(viewport=WIDE)
        page.goto(f"{running.url}/compare?{query}")
        page.locator("#list [data-study]").first.click()
        page.wait_for_selector("#study .reference")
        shown = page.inner_text("#study .reference")
        assert "References (they differ)" in shown
        assert "Clear lungs." in shown
        assert page.locator("#study .reference .text").count() == 2
        page.close()
