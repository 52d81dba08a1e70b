"""A run that is being judged, seen under way, stopped, and as it becomes its own page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browserhelp import NARROW, WIDE, Watch, axe_in_both_schemes, ready, watch
from faultserver import Behaviour, FaultServer
from served import Served, is_problem, until

from judge.files import WRITING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MODEL = "model-x"
N = 60
LONG = 3.0
"""Seconds for an answer, so that a run is not over before the browser shows it."""


@pytest.fixture
def slow() -> Iterator[FaultServer]:
    """A model that takes a while for each answer."""
    with FaultServer(Behaviour(latency=0.2)) as running:
        yield running


@pytest.fixture
def service(tmp_path: Path, slow: FaultServer) -> Iterator[Served]:
    with Served(tmp_path, "--offer", f"{MODEL}={slow.url}") as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)
    yield context.new_page()
    context.close()


def opened(page: Page, address: str) -> Watch:
    seen = watch(page)
    page.goto(address)
    ready(page)
    return seen


def begun(service: Served, n: int = 3) -> str:
    """Start a run, and wait until some of its studies have ended."""
    name: str = service.start_run(N, judge=MODEL, model="alder").json()["id"]

    def some() -> bool:
        known = progress(service, name)["preliminary"]
        return known is not None and known["n_ended"] >= n

    assert until(some), service.run(name)
    return name


def progress(service: Served, name: str) -> dict[str, Any]:
    found: dict[str, Any] = service.client.get(f"/v1/runs/{name}/progress").json()
    return found


def test_what_is_known_before_the_end_never_looks_final(
    service: Served, slow: FaultServer
) -> None:
    name = begun(service)
    found = progress(service, name)
    run, known = found["run"], found["preliminary"]
    assert run["state_text"] == "being judged"
    assert re.fullmatch(r"\d+ of 60 studies", run["progress"]["text"])
    # The counts are written once a second, and studies as they end.
    assert run["progress"]["price_text"] in ("", "price so far unknown")
    assert [action["name"] for action in run["actions"]] == ["stop"]
    assert known["title"] == "alder: GREEN by model-x"
    assert known["warning"].startswith("Preliminary: ")
    assert "no random sample" in known["warning"]
    for figure in known["figures"]:
        assert figure["text"].endswith(" so far")
        assert "[" not in figure["text"]
        assert figure["of"].endswith("of 60")
    first = known["studies"][0]
    study = service.client.get(
        f"/v1/runs/{name}/progress/study", params={"row": 0}
    ).json()
    assert study["study_id"] == first["study_id"]
    assert study["findings"]["outcome"] == "scored"
    is_problem(
        service.client.get(f"/v1/runs/{name}/progress/study", params={"row": 999}), 404
    )
    errors = known["errors"]
    counts = [int(error["text"].split(":")[0]) for error in errors]
    assert counts == sorted(counts, reverse=True)
    assert errors[0]["examples"]
    # The results themselves are not there.
    is_problem(service.client.get(f"/v1/runs/{name}/results"), 409)
    slow.set_faults(latency=0.0)
    service.until_state(name, "finished")
    found = progress(service, name)
    assert found["preliminary"] is None
    assert found["look_again_after"] is None
    is_problem(
        service.client.get(f"/v1/runs/{name}/progress/study", params={"row": 0}), 409
    )


@pytest.mark.ci
def test_a_run_is_watched_from_its_start_to_its_results(
    service: Served, slow: FaultServer, page: Page
) -> None:
    name = begun(service)
    slow.set_faults(latency=LONG)
    seen = opened(page, service.url)
    page.get_by_role("link", name=name).click()
    ready(page)
    page.wait_for_selector("#list tbody a")
    assert "Preliminary:" in page.inner_text(".note.preliminary")
    assert page.locator("#status progress").count() == 1
    assert "so far" in page.locator(".tile-value").first.inner_text()
    before = page.inner_text("#status")
    page.wait_for_function(
        "(text) => document.querySelector('#status').innerText !== text", arg=before
    )
    assert axe_in_both_schemes(page) == []
    # A study that is open stays so when the run is finished.
    link = page.locator("#list tbody a").nth(1)
    study = link.inner_text()
    link.click()
    page.wait_for_selector("#study .report")
    assert page.evaluate("document.activeElement.id") == "study-title"
    assert axe_in_both_schemes(page) == []
    slow.set_faults(latency=0.0)
    page.wait_for_selector("#study [data-act=Next]")
    assert study in page.inner_text("#study-title")
    assert page.locator(".preliminary").count() == 0
    page.get_by_role("link", name="All studies").click()
    page.wait_for_selector("#studies-title")
    assert f"{N}" in page.inner_text("#list")
    seen.assert_quiet()


@pytest.mark.ci
def test_a_run_that_was_stopped_shows_why_and_goes_on(
    service: Served, slow: FaultServer, page: Page
) -> None:
    name = begun(service)
    slow.set_faults(latency=LONG)
    seen = opened(page, f"{service.url}/runs/{name}")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Resume").wait_for()
    assert "Stopped (interrupted)" in page.inner_text("#status")
    assert "no answer is paid for twice" in page.inner_text("#status")
    # What was judged is still to be seen, also by who comes later.
    page.reload()
    ready(page)
    page.wait_for_selector("#list tbody a")
    assert "Preliminary:" in page.inner_text(".note.preliminary")
    page.set_viewport_size(NARROW)
    assert axe_in_both_schemes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    slow.set_faults(latency=0.0)
    page.get_by_role("button", name="Resume").press("Enter")
    page.wait_for_selector("text=Read blind")
    assert page.locator(".preliminary").count() == 0
    seen.assert_quiet()


def judging(folder: Path, slow: FaultServer, out: Path) -> subprocess.Popen[bytes]:
    """`judge green ... --out` in a process of its own, as in a terminal."""
    refs = {f"study-{at:04}": f"study-{at:04}. Clear lungs." for at in range(N)}
    preds = dict.fromkeys(refs, "The lungs are clear. Small left effusion.")
    (folder / "alder.json").write_text(json.dumps(preds))
    (folder / "refs.json").write_text(json.dumps(refs))
    words = ["green", "alder.json", "refs.json", "--judge", MODEL]
    words += ["--base-url", slow.url, "--out", str(out), "--cache", "cache"]
    environ = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI")}
    return subprocess.Popen(
        [sys.executable, "-m", "judge", *words], cwd=folder, env=environ
    )


@pytest.mark.ci
def test_a_run_that_a_terminal_judges_is_shown_while_it_goes_on(
    tmp_path: Path, slow: FaultServer
) -> None:
    """Named on the command line, and found in the folder of runs; killed, and gone on with."""
    for out, named in ((tmp_path / "birch", True), (tmp_path / "runs" / "oak", False)):
        slow.set_faults(latency=0.2)
        folder = tmp_path / out.name
        (tmp_path / f"of-{out.name}").mkdir()
        process = judging(tmp_path / f"of-{out.name}", slow, out)
        assert until(lambda out=out: list((out / WRITING).glob("*/begun.json")))
        shown = [out] if named else ["--runs", tmp_path / "runs"]
        with Served(tmp_path, *shown) as service:
            known = until(
                lambda s=service, n=out.name: (
                    (found := progress(s, n))["preliminary"]["n_ended"] > 2 and found
                )
            )
            run = known["run"]
            assert (run["state"], run["judge"], run["model"]) == (
                "running",
                MODEL,
                "alder",
            )
            assert run["progress"]["total"] == N
            assert run["actions"] == []
            process.send_signal(signal.SIGKILL)
            process.wait()
            known = progress(service, out.name)
            assert known["run"]["state"] == "stopped"
            assert "ended too early" in known["run"]["detail"]
            assert "run it again" in known["run"]["advice"]
            assert known["preliminary"]["n_ended"] > 2
            slow.set_faults(latency=0.0)
            with judging(tmp_path / f"of-{out.name}", slow, out) as process:
                assert process.wait() == 0
            assert service.run(out.name)["state"] == "finished"
        assert folder.name == out.name
