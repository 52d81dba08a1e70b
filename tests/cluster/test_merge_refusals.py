"""What is not merged: one message each, and nothing written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster.clusterhelp import in_shards, judged
from support import EXAMPLES

from judge import JudgeError
from judge.running.combining import merge
from judge.running.folder import RunFolder
from judge.running.shard import Shard
from judge.studies import StudySet, read_pair


def examples(preds: str = "preds.json") -> StudySet:
    return read_pair(str(EXAMPLES / preds), str(EXAMPLES / "refs.json"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards of the examples, and runs that are none of them."""
    folder = tmp_path_factory.mktemp("made")
    in_shards(examples(), folder, 3)
    judged(examples(), folder / "whole")
    judged(examples("preds_alder.json"), folder / "other-set", shard=Shard(2, 3))
    judged(examples(), folder / "other-count", shard=Shard(2, 4))
    return folder


@pytest.mark.parametrize(
    ("second", "names"),
    [
        ("shard-1", "1/3"),
        ("whole", "whole"),
        ("other-set", "other-set .*shard-1"),
        ("other-count", "other-count .*shard-1"),
        ("shard-2", "3/3"),
    ],
)
def test_runs_that_are_not_shards_of_one_run(
    made: Path, second: str, names: str
) -> None:
    with pytest.raises(JudgeError, match=names):
        merge(
            [RunFolder.open(made / name) for name in ("shard-1", second)], made / "out"
        )
    assert not (made / "out").exists()


def rewritten(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    lines = (path / "annotations.jsonl").read_bytes().splitlines(keepends=True)
    (path / "annotations.jsonl").write_bytes(b"".join(change(lines)))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: lines[:-1], "shard-2/annotations.jsonl"),
        (lambda lines: [*lines, lines[0]], "shard-2/annotations.jsonl"),
        (
            lambda lines: [lines[0][:50] + b"\n", *lines[1:]],
            "shard-2/annotations.jsonl.* line 1",
        ),
    ],
)
def test_studies_that_were_changed(
    made: Path, tmp_path: Path, change: Any, why: str
) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "copy"))
    rewritten(folder / "shard-2", change)
    with pytest.raises(JudgeError, match=why):
        merge(
            [RunFolder.open(folder / f"shard-{at}") for at in (1, 2, 3)], folder / "out"
        )
    assert not (folder / "out").exists()
