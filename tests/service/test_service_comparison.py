"""Comparisons in the service: what the command line says of the same runs, once for all who ask."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner
from served import Served, is_problem, until
from support import EXAMPLES, write_json

from judge.cli import main
from judge.cli.compare import command
from judge.comparing.comparison import ALLOWED
from judge.service import ProblemError, comparisons
from judge.service.comparisons import Allowed, Comparisons
from judge.service.settings import ServiceSettings

RUNS = ("green-good", "green-bad", "fineradscore-bad")
REFS = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))


def invoke(*args: object) -> Any:
    done = CliRunner().invoke(main, list(map(str, args)))
    assert done.exit_code == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs of two models, the one judged by both rubrics; studies have a patient and a site."""
    folder = tmp_path_factory.mktemp("compared")
    refs = {
        key: {**record, "patient": f"p{at // 2}", "household": f"h{at // 3}"}
        for at, (key, record) in enumerate(REFS.items())
    }
    write_json(folder / "refs.json", refs)
    good = {key: record["section_findings"] for key, record in REFS.items()}
    write_json(folder / "preds_good.json", good)
    shutil.copy(EXAMPLES / "preds.json", folder / "preds_bad.json")
    for name in RUNS:
        rubric, _, model = name.partition("-")
        files = (folder / f"preds_{model}.json", folder / "refs.json")
        invoke(rubric, *files, "--out", folder / "runs" / name, "--section", "findings")
    (folder / "temporary").mkdir()
    environ = {"TMPDIR": str(folder / "temporary")}
    with Served(folder, "--runs", folder / "runs", environ=environ) as running:
        yield running


def asked(*runs: str, **rest: object) -> list[tuple[str, Any]]:
    """The query; a list is given value by value."""
    lists = [(key, value if isinstance(value, list) else [value]) for key, value in rest.items()]
    return [*(("run", run) for run in runs), *((key, one) for key, all_ in lists for one in all_)]


@pytest.mark.parametrize(
    ("runs", "rest", "options"),
    [
        (RUNS, {"by": "study_class", "sort": "GREEN", "seed": 5},
         ("--by", "study_class", "--sort", "GREEN", "--seed", 5)),
        (RUNS[:2], {"patient_field": "none"}, ("--patient-field", "none")),
        (RUNS[:2], {"patient_field": "household"}, ("--patient-field", "household")),
    ],
)  # fmt: skip
def test_it_says_what_the_command_line_says(
    service: Served, runs: tuple[str, ...], rest: dict[str, Any], options: tuple[object, ...]
) -> None:
    answer = service.client.get("/v1/comparison", params=asked(*runs, **rest))
    assert answer.status_code == 200, answer.text
    paths = [service.folder / "runs" / name for name in runs]
    printed = json.loads(invoke("compare", *paths, *options, "--format", "json").stdout)
    found = answer.json()
    assert [run.pop("run") for run in found["runs"]] == list(runs)
    assert [run.pop("run") for run in printed["runs"]] == list(map(str, paths))
    assert found == printed


def test_models_can_be_named_and_where_runs_are_kept_is_never_told(service: Served) -> None:
    query = asked(*RUNS[:2], name=["", "mine"])
    assert service.client.get("/v1/comparison", params=query).json()["models"] == ["good", "mine"]
    texts = [
        service.client.get(path, params=asked(*RUNS[:2], **rest)).text
        for path in ("/v1/comparison", "/v1/comparison/overview")
        for rest in ({}, {"name": ["one", "one"]}, {"sort": "nothing"})
    ]
    assert not any(str(service.folder) in text for text in texts)


@pytest.mark.parametrize(
    ("query", "status", "named"),
    [
        ([], 422, "run"),
        (asked("nothing"), 404, "nothing"),
        (asked("green-good", "green-good"), 422, "green"),
        (asked("green-good", name=["a", "b"]), 422, "names"),
        (asked("green-good", sort="nothing"), 422, "nothing"),
        (asked("green-good", by="nothing"), 422, "nothing"),
        (asked("green-good", allow="all"), 422, "allow"),
        (asked("green-good", seed=-1), 422, "seed"),
        (asked(*["green-good"] * 101), 422, "100"),
        (asked(*["green-good"] * 90, resamples=10_000), 422, "resamples"),
    ],
)
def test_what_cannot_be_compared_is_named(
    service: Served, query: list[tuple[str, Any]], status: int, named: str
) -> None:
    assert named in is_problem(service.client.get("/v1/comparison", params=query), status)


def test_pieces_that_are_not_there(service: Served) -> None:
    for path in ("values/99", "figures/99"):
        answer = service.client.get(f"/v1/comparison/{path}", params=asked("green-good"))
        is_problem(answer, 404)


def test_a_comparison_is_made_once_until_a_run_changes(service: Served) -> None:
    def made() -> set[Path]:
        return set(service.folder.glob("temporary/judge-compare-*/*"))

    def ask(_: int) -> str:
        return service.client.get("/v1/comparison", params=asked("green-good", seed=9)).text

    before = made()
    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(ask, range(6)))) == 1
    assert len(made() - before) == 1
    path = service.folder / "runs" / "green-good" / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    changed = manifest["signature"].replace("omitted:0", "omitted:7")
    path.write_text(json.dumps({**manifest, "signature": changed}), "utf-8")
    assert changed in ask(0)
    assert len(made() - before) == 2
    path.write_text(json.dumps(manifest), "utf-8")


def test_the_service_ends_at_once_and_leaves_nothing(service: Served) -> None:
    """It starts again for the tests after this one."""
    (kept,) = service.folder.glob("temporary/judge-compare-*") or [None]
    before = set(kept.iterdir())
    slow = asked(*RUNS, resamples=10_000, flips=100_000)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.client.get, "/v1/comparison", params=slow)
        assert until(lambda: set(kept.iterdir()) - before)
        began = time.monotonic()
        service.process.send_signal(signal.SIGINT)
        service.process.wait(60)
        assert time.monotonic() - began < 30
        waiting.exception()
    assert not list(service.folder.glob("temporary/judge-compare-*"))
    assert "Traceback" not in service.said
    service.client.close()
    service.start()


Ask = Callable[[dict[str, Any]], Awaitable[object]]


async def whole(request: dict[str, Any]) -> None:
    """The first request names the folder and asks for the numbers, the second for the figures."""
    await asyncio.sleep(0.01)
    if "folder" in request:
        (Path(request["folder"]) / "overview.json").write_text("{}")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Comparisons]:
    """Comparisons whose processes are stood in for: real ones end when they like."""
    monkeypatch.setattr(comparisons.tempfile, "tempdir", str(tmp_path))

    class StandIn:
        def __init__(self, task: str) -> None:
            assert task == "comparison"

        async def close(self) -> None:
            pass

    def make(ask: Ask, seconds: float = 600) -> Comparisons:
        StandIn.ask = staticmethod(ask)  # type: ignore[attr-defined]
        monkeypatch.setattr(comparisons, "Worker", StandIn)
        return Comparisons(ServiceSettings((tmp_path,), compare_seconds=seconds))

    return make


async def outcomes(kept: Comparisons, seeds: range) -> list[str]:
    """What each of so many askers gets: its folder is there, or the problem."""

    async def one(seed: int) -> str:
        try:
            folder = await kept.numbers({"seed": seed})
        except ProblemError as problem:
            return str(problem.status)
        return "there" if (folder / "overview.json").exists() else "gone"

    return await asyncio.wait_for(asyncio.gather(*map(one, seeds)), 30)


def test_none_that_somebody_waits_for_is_forgotten(
    made: Callable[..., Comparisons], tmp_path: Path
) -> None:
    async def ask() -> list[str]:
        many = made(whole)
        found = await outcomes(many, range(12))
        for seed in range(12):  # those that have ended make room
            await many.figures({"seed": seed})
        assert len(list(tmp_path.glob("judge-compare-*/*"))) == 8
        waiting = asyncio.create_task(outcomes(many, range(20, 23)))
        await asyncio.sleep(0)  # they are asked, and none has begun
        await asyncio.sleep(0)
        await many.close()
        return [*found, *await waiting, *await outcomes(many, range(30, 31))]

    assert asyncio.run(ask()) == ["there"] * 8 + ["503"] * 4 + ["502"] * 3 + ["503"]
    assert not list(tmp_path.glob("judge-compare-*"))


def test_slow_ones_are_ended_and_figures_that_failed_are_drawn_anew(
    made: Callable[..., Comparisons],
) -> None:
    fails = True

    async def slow(_request: dict[str, Any]) -> None:
        await asyncio.sleep(30)

    async def breaks(request: dict[str, Any]) -> None:
        await whole(request)
        if fails and "folder" not in request:
            raise ProblemError(502, "the process broke off")

    async def ask() -> list[str]:
        nonlocal fails
        many = made(breaks)
        with pytest.raises(ProblemError):
            await many.figures({})
        # The numbers are there all the same, and are not made again for each that asks.
        assert await many.numbers({}) == await many.numbers({})
        fails = False
        assert (await many.figures({}) / "overview.json").exists()
        await many.close()
        return await outcomes(made(slow, seconds=0.1), range(2))

    assert asyncio.run(ask()) == ["504"] * 2


def test_what_may_differ_is_the_same_everywhere() -> None:
    option = next(param for param in command.params if param.name == "allow")
    assert tuple(option.type.choices) == ALLOWED == get_args(Allowed)  # type: ignore[attr-defined]
