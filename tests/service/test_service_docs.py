"""Each block of the page about the service's API runs, against a real service."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from served import Served
from support import ROOT

PAGE = ROOT / "docs/service-api.md"
ADDRESS = "http://127.0.0.1:8321"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = BLOCK.findall(PAGE.read_text("utf-8"))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("page")) as running:
        yield running


def run_shell(block: str, service: Served) -> dict[str, Any]:
    """Run the curl command of a block; returns the JSON that it prints."""
    command = block.replace(ADDRESS, service.url)
    done = subprocess.run(
        ["bash", "-euc", command], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert "detail" not in found, found
    return found


def is_part(shown: Any, found: Any) -> bool:
    """Whether all that a page shows is in what was found."""
    if isinstance(shown, dict):
        return all(
            name in found and is_part(value, found[name])
            for name, value in shown.items()
        )
    if isinstance(shown, list):
        pairs = zip(shown, found, strict=True)
        return all(is_part(one, other) for one, other in pairs)
    return bool(shown == found)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_commands_run_and_the_answer_is_the_one_that_is_shown(
    service: Served,
) -> None:
    shells = [block for kind, block in BLOCKS if kind == "sh" and "curl" in block]
    (shown,) = [block for kind, block in BLOCKS if kind == "json"]
    one, several = [run_shell(block, service) for block in shells]
    assert is_part(json.loads(shown), one)
    ends = [(study["id"], study["outcome"]) for study in several["annotations"]]
    assert ends == [("a", "scored"), ("b", "failed")]


def test_the_python_of_the_page_runs_in_its_order(
    service: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    for kind, block in BLOCKS:
        if kind == "python":
            exec(compile(block.replace(ADDRESS, service.url), PAGE.name, "exec"), names)
    assert names["scores"] == [1.0, 0.0]
    printed = capsys.readouterr().out
    assert "2 studies, 0 cannot be judged" in printed
    assert "candidates are empty" in printed
    assert "compares with an earlier examination" in printed


def test_every_block_is_run_by_a_test() -> None:
    kinds = [kind for kind, _ in BLOCKS]
    assert set(kinds) == {"sh", "python", "json"}
    starts = [block for kind, block in BLOCKS if kind == "sh" and "curl" not in block]
    assert len(starts) == 1
    assert "judge serve" in starts[0]


def test_the_table_of_fields_names_what_there_is(service: Served) -> None:
    described = service.client.get("/openapi.json").json()["components"]["schemas"]
    known = {*described["OneStudy"]["properties"]}
    table = PAGE.read_text("utf-8").partition("| field |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.count("|") > 3]
    shown = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert shown <= known
    assert {"reference", "candidate", "prior", "section", "reask"} <= shown
