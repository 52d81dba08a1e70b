"""Runs whose files were damaged: what is wrong is said, never where they are kept, never a 500."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from served import Served, is_problem

# What of the service reads which file of a run.
OF_THE_SUMMARY = ("/v1/runs/{}", "/v1/runs/{}/results")
OF_THE_TABLE = (*OF_THE_SUMMARY, "/v1/runs/{}/studies", "/v1/runs/{}/study?row=0")
OF_A_RECORD = ("/v1/runs/{}/study?id=ex-001", "/v1/runs/{}/search?q=effusion")


def as_json(change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    return lambda content: json.dumps(change(json.loads(content))).encode()


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda data: {key: value for key, value in data.items() if key != name}


def first_line(change: Callable[[dict[str, Any]], Any]) -> Callable[[bytes], bytes]:
    def changed(content: bytes) -> bytes:
        first, _, rest = content.partition(b"\n")
        return json.dumps(change(json.loads(first))).encode() + b"\n" + rest

    return changed


DAMAGE: list[tuple[str, Callable[[bytes], bytes], tuple[str, ...]]] = [
    ("manifest.json", lambda _: b"", OF_THE_TABLE),
    ("manifest.json", lambda _: b"[]", OF_THE_TABLE),
    ("manifest.json", as_json(without("rubric")), OF_THE_TABLE),
    ("manifest.json", as_json(lambda data: {**data, "rubric": "none"}), OF_THE_TABLE),
    ("summary.json", lambda _: b"{", OF_THE_SUMMARY),
    ("summary.json", as_json(without("judge")), OF_THE_SUMMARY),
    ("summary.json", as_json(without("rates")), OF_THE_SUMMARY),
    ("studies.parquet", lambda _: b"PAR1", OF_THE_TABLE),
    ("annotations.jsonl", lambda content: content[: len(content) // 2], OF_THE_TABLE[1:]),
    ("annotations.jsonl", first_line(lambda _: None), OF_A_RECORD),
    ("annotations.jsonl", first_line(without("candidate")), OF_A_RECORD),
    (
        "annotations.jsonl",
        first_line(lambda record: {**record, "annotation": {**record["annotation"], "items": 1}}),
        OF_A_RECORD,
    ),
]


@pytest.fixture
def damaged(tmp_path: Path, finished: Path) -> Iterator[Served]:
    """A service of one run, `run`, that may be damaged while it is up."""
    shutil.copytree(finished, tmp_path / "run")
    with Served(tmp_path, "run") as running:
        yield running


def check(service: Served, name: str, addresses: tuple[str, ...]) -> None:
    for address in addresses:
        said = is_problem(service.client.get(address.format("run")), 409)
        assert name in said
        assert str(service.folder) not in said
    listed = service.client.get("/v1/runs")
    assert listed.status_code == 200
    assert service.client.get("/runs/run").status_code == 200
    assert "Traceback" not in service.said


@pytest.mark.parametrize(("name", "damage", "addresses"), DAMAGE)
def test_what_is_damaged_is_said(
    damaged: Served, name: str, damage: Callable[[bytes], bytes], addresses: tuple[str, ...]
) -> None:
    path = damaged.folder / "run" / name
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    check(damaged, name, addresses)
    path.write_bytes(whole)
    assert damaged.client.get("/v1/runs/run/study?id=ex-001").status_code == 200


def test_a_run_of_another_form_is_not_read(damaged: Served) -> None:
    path = damaged.folder / "run/manifest.json"
    path.write_bytes(as_json(lambda data: {**data, "format": 9})(path.read_bytes()))
    check(damaged, "format 9", OF_THE_TABLE)


def test_a_table_that_does_not_fit_is_not_shown(damaged: Served) -> None:
    path = damaged.folder / "run/studies.parquet"
    table = pd.read_parquet(path)
    for odd in (
        table.drop(columns="green"),
        table.assign(green="high"),
        table.assign(outcome="done"),
        table[:3],
    ):
        odd.to_parquet(path, index=False)
        check(damaged, "studies.parquet", ("/v1/runs/run", "/v1/runs/run/studies"))


def test_a_service_of_a_damaged_run_starts_and_lists_it(tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run/summary.json").write_text("{}", "utf-8")
    with Served(tmp_path, "run") as running:
        (run,) = running.client.get("/v1/runs").json()["runs"]
        assert "summary.json is damaged" in run["detail"]
        assert str(tmp_path) not in run["detail"]
        check(running, "summary.json", ("/v1/runs/run",))
