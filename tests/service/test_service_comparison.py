"""Comparisons in the service: what the command line says of the same runs, once for all who ask."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from served import PATIENCE, Served, is_problem, until
from support import EXAMPLES, write_json

from judge.cli import main
from judge.service import comparisons
from judge.service.comparisons import Comparisons

COMPARISON = "/v1/comparison"
RUNS = ("green-good", "green-bad", "fineradscore-bad")
REFS = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs of two models, the one judged by both rubrics; studies have a household."""
    folder = tmp_path_factory.mktemp("compared")
    refs = {
        key: {**record, "household": f"h{at // 3}"}
        for at, (key, record) in enumerate(REFS.items())
    }
    write_json(folder / "refs.json", refs)
    good = {key: record["section_findings"] for key, record in REFS.items()}
    write_json(folder / "preds_good.json", good)
    shutil.copy(EXAMPLES / "preds.json", folder / "preds_bad.json")
    for name in RUNS:
        rubric, _, model = name.partition("-")
        files = (str(folder / f"preds_{model}.json"), str(folder / "refs.json"))
        out = ("--out", str(folder / "runs" / name), "--section", "findings")
        assert CliRunner().invoke(main, [rubric, *files, *out]).exit_code == 0
    (folder / "temporary").mkdir()
    environ = {"TMPDIR": str(folder / "temporary")}
    with Served(folder, "--runs", folder / "runs", environ=environ) as running:
        yield running


def asked(*runs: str, **rest: object) -> list[tuple[str, Any]]:
    """The query; a list is given value by value."""
    lists = [
        (key, value if isinstance(value, list) else [value])
        for key, value in rest.items()
    ]
    return [
        *(("run", run) for run in runs),
        *((key, one) for key, all_ in lists for one in all_),
    ]


def test_a_comparison_is_asked_for_part_by_part(service: Served) -> None:
    query = asked(*RUNS, by="study_class")

    def part(path: str) -> httpx.Response:
        return service.client.get(f"{COMPARISON}{path}", params=query)

    overview = part("").json()
    assert overview["groups"][0]["label"] == "all studies (15)"
    names = [entry["run"] for entry in overview["runs"]]
    assert sorted(names) == sorted(RUNS)
    studies = part("/studies").json()
    assert sorted(studies["study_id"]) == sorted(REFS)
    assert studies["packets"] is None
    rows = []
    for place, group in enumerate(overview["groups"]):
        found = part(f"/groups/{place}").json()
        assert found["name"] == group["name"]
        assert len(found["rankings"]) == len(overview["metrics"])
        rows.append(len(found["rows"]))
    assert rows[0] == sum(rows[1:]) == len(REFS)
    for place in range(len(overview["models"])):
        columns = part(f"/values/{place}").json()["columns"]
        assert [column["name"] for column in columns] == [
            metric["name"] for metric in overview["metrics"]
        ]
    figures = part("/figures").json()
    assert bool(figures["figures"]) is not bool(figures["missing"])
    for place in range(len(figures["figures"])):  # none without vl-convert
        drawn = part(f"/figures/{place}")
        assert drawn.headers["content-type"] == "image/svg+xml"
        assert drawn.text.startswith("<svg")
    for path in (
        f"/figures/{len(figures['figures'])}",
        f"/groups/{len(overview['groups'])}",
        f"/values/{len(overview['models'])}",
    ):
        is_problem(part(path), 404)
    is_problem(part("/groups/-1"), 422)
    is_problem(part("/groups/overview"), 422)


def test_every_part_is_documented(service: Served) -> None:
    paths = service.client.get("/openapi.json").json()["paths"]
    of_comparisons = [path for path in paths if path.startswith(COMPARISON)]
    assert len(of_comparisons) == 9
    assert not any(path.startswith("/data/") for path in paths)
    assert service.client.get("/data/comparison/overview").status_code == 404


def test_two_runs_of_one_model_are_told_apart(service: Served) -> None:
    runs = service.folder / "runs"
    shutil.copytree(runs / "green-good", runs / "again")
    try:
        query = asked("green-good", "again", "fineradscore-bad", "green-bad")
        overview = service.client.get(COMPARISON, params=query).json()
    finally:
        shutil.rmtree(runs / "again")
    assert overview["models"] == ["good (green-good)", "good (again)", "bad"]
    by_model = {
        entry["run"]: overview["models"][entry["model"]] for entry in overview["runs"]
    }
    assert by_model["again"] == "good (again)"
    assert by_model["fineradscore-bad"] == by_model["green-bad"] == "bad"


def test_a_comparison_that_is_ended_is_made_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exception of a task that was cancelled is raised by looking at it."""

    async def never(*_: object, **__: object) -> bytes:
        await asyncio.Event().wait()
        return b""

    async def ask() -> None:
        made = Comparisons()
        request: dict[str, Any] = {"runs": []}
        first = asyncio.create_task(made.piece(request, "overview"))
        await asyncio.sleep(0)
        await made.close()
        again = asyncio.create_task(made.piece(request, "overview"))
        await asyncio.sleep(0)
        assert (first.cancelled(), again.done()) == (True, False)
        await made.close()
        await asyncio.gather(again, return_exceptions=True)

    monkeypatch.setattr(comparisons, "printed", never)
    asyncio.run(ask())


_LATE = """
import sys, time

if "compare" in sys.orig_argv:
    time.sleep(20)
"""


@pytest.mark.ci
def test_the_end_of_the_service_ends_a_comparison_without_a_traceback(
    tmp_path: Path, service: Served
) -> None:
    runs = [service.folder / "runs" / name for name in RUNS]
    (tmp_path / "temporary").mkdir()
    # Its process begins late, so that the comparison is under way when the service ends.
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "sitecustomize.py").write_text(_LATE)
    environ = {
        "TMPDIR": str(tmp_path / "temporary"),
        "PYTHONPATH": str(tmp_path / "late"),
    }
    with (
        Served(tmp_path, *runs, environ=environ) as ending,
        ThreadPoolExecutor(1) as pool,
    ):
        answer = pool.submit(ending.client.get, COMPARISON, params=asked(*RUNS))
        assert until(lambda: list(tmp_path.glob("temporary/judge-compare-*")))
        ending.process.send_signal(signal.SIGINT)
        assert "ended before" in is_problem(answer.result(), 503)
        assert ending.process.wait(PATIENCE) == 130
    assert "Traceback" not in ending.said
    assert not list(tmp_path.glob("temporary/judge-compare-*"))


def test_what_cannot_be_compared_is_named_without_its_folder(service: Served) -> None:
    for query, status, named in (
        ([], 422, "run"),
        (asked("nothing"), 404, "nothing"),
        (asked("green-good", "green-good"), 422, "green"),
        (asked("green-good", by="nothing"), 422, "nothing"),
    ):
        said = is_problem(service.client.get(COMPARISON, params=query), status)
        assert named in said
        assert str(service.folder) not in said


def test_what_allows_a_difference_is_said_as_the_form_says_it(
    service: Served, tmp_path: Path
) -> None:
    refs = {
        key: {**REFS[key], "section_findings": "No effusion."} for key in list(REFS)[:9]
    }
    files = (
        write_json(tmp_path / "preds_few.json", dict.fromkeys(refs, "No effusion.")),
        write_json(tmp_path / "refs.json", refs),
    )
    out = service.folder / "runs" / "few"
    done = CliRunner().invoke(main, ["green", *map(str, files), "--out", str(out)])
    assert done.exit_code == 0, done.stderr
    try:
        query = asked("green-good", "few")
        said = is_problem(service.client.get(COMPARISON, params=query), 422)
    finally:
        shutil.rmtree(out)
    assert "(allow different studies: the 9 in all runs)" in said
    assert "(allow different references)" in said
    assert "--" not in said


def test_a_comparison_is_made_once_until_a_run_changes(service: Served) -> None:
    def made() -> set[Path]:
        return set(service.folder.glob("temporary/judge-compare-*"))

    def ask(_: int) -> str:
        return service.client.get(COMPARISON, params=asked("green-good")).text

    before = made()
    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(ask, range(6)))) == 1
    assert len(made() - before) == 1
    path = service.folder / "runs" / "green-good" / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    changed = {**manifest, "omitted": {"no candidate": 7}}
    path.write_text(json.dumps(changed), "utf-8")
    ask(0)
    assert len(made() - before) == 2
    path.write_text(json.dumps(manifest), "utf-8")
