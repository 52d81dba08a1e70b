"""Shards joined are the run of the whole set."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster.clusterhelp import REPORTS, in_shards, judged, manifest, same_files
from faultserver import Behaviour, Fault, FaultServer, always
from support import EXAMPLES, REPLIES, Invoke

from judge.running.combining import merge
from judge.running.folder import RunFolder
from judge.studies import from_python

FILES = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")


@pytest.mark.parametrize("rubric", REPLIES)
@pytest.mark.parametrize("count", [1, 3, 9])
def test_merged_is_whole(tmp_path: Path, rubric: str, count: int) -> None:
    """Texts of every kind, some studies without a class, odd ids, a field of mixed types."""
    studies = from_python(
        [*REPORTS[:4], *REPORTS[:2]],
        [*REPORTS, REPORTS[2]],
        study_ids=["a", "é|", ":/", "b b", "c", "d"],
        study_classes=["normal", None, "abnormal", "normal", None, "abnormal"],
        fields={"site": [None, -5, 2**60, 3, 3, None]},
    )
    by = ("site", "study_class")
    whole = judged(studies, tmp_path / "whole", rubric=rubric, by=by)
    shards = in_shards(studies, tmp_path, count, rubric=rubric, by=by)
    merged = merge(shards[::-1], tmp_path / "merged").path
    assert same_files(whole.path, merged)
    assert RunFolder.open(merged).signature == whole.signature


@pytest.mark.parametrize("rubric", REPLIES)
def test_a_models_answers_unread_and_missing_too(
    tmp_path: Path, rubric: str, invoke: Invoke
) -> None:
    n = 30
    ids = [f"study-{at:04}" for at in range(n)]
    studies = from_python(
        [f"{name}. The lungs are clear." for name in ids],
        ["" if at == 3 else "Small left effusion." for at in range(n)],
        study_ids=ids,
        fields={"site": [at % 3 for at in range(n)]},
    )
    faults = {
        "study-0002": always(Fault.EMPTY),
        "study-0005": always(Fault.REFUSAL),
        "study-0011": always(Fault.TOO_LONG),
        "study-0017": always(Fault.TRUNCATED),
    }
    with FaultServer(Behaviour(studies=faults), rubric=rubric) as server:
        how = {
            "rubric": rubric,
            "judge": "model-x",
            "url": server.url,
            "concurrency": 4,
        }
        shards = in_shards(studies, tmp_path, 4, **how)
        merged = merge(shards, tmp_path / "merged")
        # The same answers, times and all, are those of the shards: the whole run is given them.
        done = invoke(
            "cache", "import", merged.path, "--cache", tmp_path / "cache-whole"
        )
        assert done.exit_code == 0, done.output
        whole = judged(studies, tmp_path / "whole", **how)
    assert same_files(whole.path, merged.path)
    summary = whole.summary()
    assert summary.n_unparsed > 0
    assert summary.n_failed > 0
    (note,) = summary.notes
    assert note == (
        "1 of 30 candidates is empty (study-0003) and judged: what it leaves out counts"
    )
    ours, theirs = (manifest(path)["spent"] for path in (merged.path, whole.path))
    assert theirs["asked"] == 0
    of = [manifest(shard.path)["spent"] for shard in shards]
    for name in (
        "asked",
        "prompt_tokens",
        "completion_tokens",
        "done",
        "total",
        "failed",
    ):
        assert ours[name] == sum(one[name] for one in of) > 0
    assert ours["done"] == theirs["done"] == 30
    assert ours["dollars"] is None, "a price that is unknown in one is unknown in all"


def test_the_commands(invoke: Invoke) -> None:
    every = ("s/1", "s/2", "s/3")
    for at, out in enumerate(every, 1):
        assert (
            invoke("green", *FILES, "--shard", f"{at}/3", "--out", out).exit_code == 0
        )
    done = invoke("runs", "merge", "s/1", "s/3", "--out", "merged")
    assert done.exit_code == 2
    assert "2/3" in done.stderr
    for _again in range(2):
        assert invoke("runs", "merge", *every, "--out", "merged").exit_code == 0
    assert (
        invoke("green", *FILES, "--out", "whole", "--judge", "lexicon").exit_code == 0
    )
    assert same_files(Path("merged"), Path("whole"))
