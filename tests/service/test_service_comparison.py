"""Comparisons in the service: what the command line says of the same runs, once for all who ask."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from served import Served, is_problem
from support import EXAMPLES, write_json

from judge.cli import main

OVERVIEW = "/data/comparison/overview"
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


def test_the_pieces_of_pages_are_those_of_a_file(service: Served) -> None:
    """The page says where its pieces are."""

    def source(path: str) -> str:
        return (
            "/data/"
            + service.client.get(path).text.partition('data-source="')[2].split('"')[0]
        )

    run = source("/runs/green-bad")
    assert run == "/data/run/green-bad"
    index, overview = (
        service.client.get(f"{run}/{name}").json() for name in ("index", "overview")
    )
    assert sorted(index["columns"]["study_id"]) == sorted(REFS)
    assert overview["n_studies"] == len(REFS)
    is_problem(service.client.get(f"{run}/manifest.json"), 422)

    compared = source("/compare")
    query = asked(*RUNS, by="study_class")

    def piece(name: str) -> httpx.Response:
        return service.client.get(f"{compared}/{name}", params=query)

    overview = piece("overview").json()
    assert len(piece("values-0").content) == 8 * len(overview["models"]) * len(REFS)
    titles = piece("figures").json()
    for number in range(len(titles)):  # none without vl-convert
        assert piece(f"figure-{number}").text.startswith("<svg")
    is_problem(piece(f"figure-{len(titles)}"), 404)
    is_problem(piece("comparison"), 422)


def test_what_cannot_be_compared_is_named_without_its_folder(service: Served) -> None:
    for query, status, named in (
        ([], 422, "run"),
        (asked("nothing"), 404, "nothing"),
        (asked("green-good", "green-good"), 422, "green"),
        (asked("green-good", by="nothing"), 422, "nothing"),
    ):
        said = is_problem(service.client.get(OVERVIEW, params=query), status)
        assert named in said
        assert str(service.folder) not in said


def test_a_comparison_is_made_once_until_a_run_changes(service: Served) -> None:
    def made() -> set[Path]:
        return set(service.folder.glob("temporary/judge-compare-*"))

    def ask(_: int) -> str:
        return service.client.get(OVERVIEW, params=asked("green-good")).text

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
