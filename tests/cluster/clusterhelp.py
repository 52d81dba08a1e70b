"""Sets of studies that are judged whole and in shards, and what is held to be the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from judge import backends
from judge.running.folder import (
    ANNOTATIONS,
    SUMMARY,
    TABLE_CSV,
    TABLE_PARQUET,
    RunFolder,
)
from judge.running.policy import RequestPolicy
from judge.running.run import run
from judge.running.session import JudgeSession
from judge.running.shard import Shard
from judge.studies import StudySet

FILES = (ANNOTATIONS, TABLE_CSV, TABLE_PARQUET, SUMMARY)
REPORTS = (
    "The lungs are clear. No pneumothorax.",
    "Large left pleural effusion. The heart is enlarged.",
    "Small right apical pneumothorax, unchanged.",
    "Kein Pneumothorax. Die Lunge ist frei, das Herz nicht vergrößert.",
    "",
)


def same_files(one: Path, other: Path) -> bool:
    """Whether two runs' files are the same to the byte, but for their manifests."""
    return all(
        (one / name).read_bytes() == (other / name).read_bytes() for name in FILES
    )


def judged(
    studies: StudySet,
    out: Path,
    *,
    rubric: str = "green",
    judge: str = "lexicon",
    url: str | None = None,
    shard: Shard | None = None,
    by: Sequence[str] = ("study_class",),
    prompt: str | None = None,
    **policy: int,
) -> RunFolder:
    """A run of studies, or of a shard of them."""
    settings = backends.JudgeSettings(base_url=url, prompt=prompt)
    asked = RequestPolicy(**policy)  # type: ignore[arg-type]
    cache = out.parent / f"cache-{out.name}"
    with JudgeSession.load(
        rubric, judge, settings, policy=asked, cache=cache
    ) as session:
        return RunFolder.open(run(session, studies, out=out, by=by, shard=shard).path)


def in_shards(
    studies: StudySet, folder: Path, count: int, **how: object
) -> list[RunFolder]:
    """A run of each shard of studies."""
    return [
        judged(studies, folder / f"shard-{at}", shard=Shard(at, count), **how)  # type: ignore[arg-type]
        for at in range(1, count + 1)
    ]


def manifest(run: Path) -> dict:
    return json.loads((run / "manifest.json").read_text("utf-8"))
