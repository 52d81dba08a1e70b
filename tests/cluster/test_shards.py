"""Which study falls in which shard, and what a shard's run says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from cluster.clusterhelp import manifest
from support import EXAMPLES, Invoke

from judge import JudgeError
from judge.running.folder import RunFolder
from judge.running.shard import Shard, shard_of

FILES = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")


def test_the_hash_is_written_down() -> None:
    """A shard of today is the same next year: sha256 of the id as one number, modulo N."""
    digest = int(hashlib.sha256(b"ex-008").hexdigest(), 16)
    assert [shard_of("ex-008", n) for n in (1, 4, 7)] == [
        digest % n + 1 for n in (1, 4, 7)
    ]
    by_sha256sum = [1, 3, 3, 1, 2, 2, 3, 4]
    assert [shard_of(f"ex-{n:03}", 4) for n in range(1, 9)] == by_sha256sum


@pytest.mark.parametrize(
    "given", ["0/8", "9/8", "3", "3/8/1", "", "1.5/2", "1/٣", (True, 2), 3]
)
def test_what_is_no_shard_is_refused_in_one_message(given: object) -> None:
    with pytest.raises(JudgeError, match="I/N"):
        Shard.of(given)


def test_what_depends_on_the_whole_set_is_decided_by_it(
    tmp_path: Path, invoke: Invoke
) -> None:
    """One study without a class makes the source of all classes another, in each shard alike."""
    refs = json.loads(FILES[1].read_text("utf-8"))
    preds = json.loads(FILES[0].read_text("utf-8"))
    del refs["ex-001"]["study_class"]
    del preds["ex-002"]
    for name, data in (("refs.json", refs), ("preds.json", preds)):
        (tmp_path / name).write_text(json.dumps(data), "utf-8")
    asked = ("green", "preds.json", "refs.json", "--allow-missing")
    assert invoke(*asked, "--out", "whole").exit_code == 0
    whole = RunFolder.open("whole").signature
    for at in (1, 2, 3):
        done = invoke(*asked, "--shard", f"{at}/3", "--out", f"s{at}")
        assert done.exit_code == 0, done.stderr
        parts = RunFolder.open(f"s{at}").signature.split("|")
        assert f"shard:{at}/3" in parts
        parts.remove(f"shard:{at}/3")
        assert "|".join(parts) == whole
        assert manifest(Path(f"s{at}"))["omitted"] == manifest(Path("whole"))["omitted"]
    assert "inferred" in whole
    assert "omitted:1" in whole
