"""What is not merged: one message each, and nothing written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster.clusterhelp import in_shards, judged, manifest
from support import EXAMPLES

from judge import JudgeError
from judge.running.folder import Run
from judge.running.merging import merge
from judge.running.shards import Shard
from judge.studies import StudySet, read_pair

Edit = Callable[[dict[str, Any]], object]


def examples(preds: str = "preds.json") -> StudySet:
    return read_pair(str(EXAMPLES / preds), str(EXAMPLES / "refs.json"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards of the examples, and runs that are no fourth."""
    folder = tmp_path_factory.mktemp("made")
    in_shards(examples(), folder, 3)
    judged(examples(), folder / "whole")
    judged(examples("preds_alder.json"), folder / "other-set", shard=Shard(2, 3))
    judged(examples(), folder / "by-site", shard=Shard(2, 3), by=("site",))
    (folder / "nothing").mkdir()
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def refused(folder: Path, *names: str) -> str:
    """The message with which shards are refused, that nothing was written."""
    with pytest.raises(JudgeError) as error:
        merge([Run(folder / name) for name in names], folder / "out")
    assert not (folder / "out").exists()
    return str(error.value)


def edited(run: Path, edit: Edit) -> None:
    found = manifest(run)
    edit(found)
    (run / "manifest.json").write_text(json.dumps(found), "utf-8")


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ("shard-1", "shard 1/3 is there twice: .*shard-1 and .*shard-1"),
        ("whole", "whole is the run of no shard: it was judged without --shard"),
        ("other-set", r"different runs: the studies is 15\+\w+ in .* and 15\+\w+ in"),
        ("by-site", "group their rates by other fields: .*say which, --by"),
        ("shard-2", "shard 3 of 3 is missing"),
    ],
)
def test_runs_that_are_not_shards_of_one_run(made: Path, second: str, why: str) -> None:
    rest = ["shard-3"] if second == "by-site" else []
    with pytest.raises(JudgeError, match=why):
        merge([Run(made / name) for name in ("shard-1", second, *rest)], made / "out")
    assert not (made / "out").exists()


def rewritten(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    lines = (path / "annotations.jsonl").read_bytes().splitlines(keepends=True)
    (path / "annotations.jsonl").write_bytes(b"".join(change(lines)))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: lines[:-1], "it lacks 1 of"),
        (lambda lines: [*lines, lines[0]], "is not of shard 2/3"),
        (lambda lines: [lines[0][:50] + b"\n", *lines[1:]], "damaged: in line 1"),
        (lambda lines: lines[::-1], "are not those of the signature"),
    ],
)
def test_studies_that_were_changed(folder: Path, change: Any, why: str) -> None:
    rewritten(folder / "shard-2", change)
    with pytest.raises(JudgeError, match=why):
        merge([Run(folder / f"shard-{at}") for at in (1, 2, 3)], folder / "out")
    assert not (folder / "out").exists()
