"""Files are checked, and what judging them may cost is said, before anything is started."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from browserhelp import NARROW, WIDE, axe_in_both_schemes, chromium, watch
from click.testing import CliRunner
from faultserver import Behaviour, FaultServer
from served import Served, is_problem
from support import EXAMPLES, Invoke

from judge.cli import main
from judge.service.settings import JOBS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MODEL = "model-x"
PRICED = os.pathsep.join(
    filter(None, (str(Path(__file__).parent / "priced"), os.environ.get("PYTHONPATH")))
)
FILES = {"preds": EXAMPLES / "preds_alder.json", "refs": EXAMPLES / "refs.json"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def model() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


def check(service: Served, files: dict[str, Any] | None = None, **form: object) -> httpx.Response:
    named = {side: (path.name, path.read_bytes()) for side, path in FILES.items()}
    data = {"rubric": "green"} | form
    return service.client.post("/v1/runs/check", data=data, files=files or named)


def left_behind(service: Served) -> list[Path]:
    return list((service.folder / "judge-runs" / JOBS).glob(".new-*"))


def test_it_says_what_the_command_line_says_and_keeps_nothing(shared_service: Served) -> None:
    before = shared_service.client.get("/v1/runs").json()
    found = check(shared_service).json()
    done = CliRunner().invoke(main, ["check", *map(str, FILES.values()), "--format", "json"])
    printed = json.loads(done.stdout)
    assert {name: found[name] for name in printed} == printed
    assert found["model"] == "alder"
    assert len(found["first"]) == 3
    assert found["forecast"] is None
    assert found["costs"] == [
        {"name": "cost", "text": "lexicon answers in this process: no requests, no cost"}
    ]
    shown = {fact["name"]: fact["text"] for fact in found["facts"]}
    assert shown["study class"] == "abnormal 10, normal 5"
    assert left_behind(shared_service) == []
    assert shared_service.client.get("/v1/runs").json() == before


@pytest.mark.parametrize(
    ("name", "given", "model"),
    [("preds.json", "", "preds"), ("maira2.json", "", "maira2"), ("maira2.json", "preds", "preds")],
)
def test_the_model_is_named_as_on_the_command_line(
    shared_service: Served, name: str, given: str, model: str
) -> None:
    files = {side: (path.name, path.read_bytes()) for side, path in FILES.items()}
    files["preds"] = (name, files["preds"][1])
    assert check(shared_service, files, model=given).json()["model"] == model


@pytest.mark.parametrize(
    "files",
    [
        {"preds": b'{"a": {"x": 1}}', "refs": b'{"a": {"y": 1}}'},
        {"preds": b'{"a": "Clear."}', "refs": b'{"b": "Clear."}'},
        {"preds": b"{", "refs": b"{}"},
    ],
)
def test_what_is_wrong_with_files_is_said_as_on_the_command_line(
    shared_service: Served, invoke: Invoke, tmp_path: Path, files: dict[str, bytes]
) -> None:
    for side, content in files.items():
        (tmp_path / f"{side}.json").write_bytes(content)
    printed = invoke("check", "preds.json", "refs.json")
    assert printed.exit_code == 2
    uploads = {side: (f"{side}.json", content) for side, content in files.items()}
    says = is_problem(check(shared_service, uploads), 422)
    assert printed.stderr.strip() == f"Error: {says}"
    assert left_behind(shared_service) == []


def test_hostile_files_are_refused_as_they_are_for_a_run(shared_service: Served) -> None:
    deep = b"[" * 200_000
    says = check(shared_service, {"preds": ("p.json", deep), "refs": ("r.json", deep)})
    assert says.status_code in (422, 502)
    assert "Traceback" not in says.text
    is_problem(check(shared_service, {"preds": ("p.exe", b"MZ")}), 415)
    is_problem(check(shared_service, {"preds": ("p.json", b" " * (5 * 2**20))}), 413)
    is_problem(check(shared_service, judge="gpt-4o"), 403)
    is_problem(check(shared_service, prompt="../x.yaml"), 422)
    assert "no such field" in is_problem(check(shared_service, by="nothing"), 422)
    assert left_behind(shared_service) == []


def test_what_it_may_cost_is_known_before_it_is_paid(tmp_path: Path, model: FaultServer) -> None:
    arguments = ("--allow-judge", f"{MODEL}={model.url}", "--budget", 0.3)
    with Served(tmp_path, *arguments, environ={"PYTHONPATH": PRICED}) as service:
        found = check(service, judge=MODEL).json()
        assert model.stats().requests == 0
        coming = found["forecast"]
        assert (coming["requests"], coming["cached"], coming["typical"]) == (15, 0, None)
        # 15 answers of 2,048 tokens, twice each, at 10 dollars a million; prompts at 2.50.
        tokens = coming["worst"]["usage"]["prompt_tokens"]
        dollars = 30 * 2048 * 10e-6 + tokens * 2.5e-6
        assert coming["worst"]["dollars"] == pytest.approx(dollars)
        costs = {cost["name"]: cost["text"] for cost in found["costs"]}
        assert costs["worst"].startswith(f"30 requests, 61,440 tokens out, ${dollars:.2f}")
        assert costs["typical"].startswith("not known")
        assert costs["budget"].startswith("$0.30 of $0.30 left; a run that needs more stops")
        five = {
            side: (path.name, json.dumps(dict(list(json.loads(path.read_text()).items())[:5])))
            for side, path in FILES.items()
        }
        started = service.client.post(
            "/v1/runs", data={"rubric": "green", "judge": MODEL}, files=five
        ).json()
        service.until_state(started["id"], "finished")
        again = check(service, judge=MODEL).json()
        assert again["forecast"]["requests"] == 10
        assert again["forecast"]["cached"] == again["forecast"]["n_seen"] == 5
        assert 0 < again["forecast"]["typical"]["dollars"] < again["forecast"]["worst"]["dollars"]


def test_an_unknown_price_is_said_and_no_key_is_needed(tmp_path: Path) -> None:
    with Served(tmp_path, "--allow-judge", f"{MODEL}=http://10.0.0.1:9/v1") as service:
        found = check(service, judge=MODEL).json()
        assert found["forecast"]["worst"]["dollars"] is None
        costs = {cost["name"]: cost["text"] for cost in found["costs"]}
        assert "cost unknown (no price for this model here)" in costs["worst"]
        assert "budget" not in costs


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_form_checks_before_it_judges(
    tmp_path: Path, model: FaultServer, browser: Browser, size: Any
) -> None:
    arguments = ("--allow-judge", f"{MODEL}={model.url}", "--budget", 50)
    context = browser.new_context(viewport=size)
    page = context.new_page()
    with Served(tmp_path, *arguments, environ={"PYTHONPATH": PRICED}) as service:
        seen = watch(page)
        page.goto(service.url)
        page.wait_for_selector("text=No run yet. Start one above")
        for side, path in FILES.items():
            page.set_input_files(f"[name={side}]", path)
        page.select_option("[name=judge]", MODEL)
        chosen = page.locator("[name=judge] option:checked")
        assert chosen.inner_text() == f"{MODEL} ($50.00 of $50.00 left)"
        page.get_by_role("button", name="Check").click()
        page.wait_for_selector("text=What it may cost")
        shown = page.inner_text("#checked")
        for words in ("alder", "abnormal 10, normal 5", "15 (0 cached, 0 repeated)", "$0."):
            assert words in shown
        page.click("text=The first 3 studies")
        assert "Clear lungs. Normal heart size." in page.inner_text("#checked")
        assert axe_in_both_schemes(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert model.stats().requests == 0
        page.fill("[name=candidate_field]", "nope")
        assert page.inner_text("#checked") == "", "it is of other fields now"
        page.get_by_role("button", name="Check").click()
        page.wait_for_selector("#checked .wrong")
        assert "has no field 'nope'" in page.inner_text("#checked")
        assert axe_in_both_schemes(page) == []
        # A refused answer is one line of the browser's console.
        seen.console.clear()
        page.fill("[name=candidate_field]", "")
        page.get_by_role("button", name="Judge").click()
        page.wait_for_selector("td:has-text('finished')")
        page.wait_for_function(
            "() => document.querySelector('[name=judge] option:checked').text.includes('$49.')"
        )
        spent = tmp_path / "judge-runs" / JOBS / "spent.json"
        spent.write_text(json.dumps({MODEL: 49.999}), "utf-8")
        page.get_by_role("button", name="Judge").click()
        page.wait_for_selector("#checked .wrong")
        assert "$0.00 of $50.00 left" in page.inner_text("#checked")
        seen.console.clear()
        seen.assert_quiet()
    context.close()
