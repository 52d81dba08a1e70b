"""A fixed part of a set of studies, so that several machines can judge one set."""

from __future__ import annotations

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from judge.backends.base import CountedNote, add_notes
from judge.running.folder import MADE_BY, Run, claim
from judge.running.records import StudyResult, result_of
from judge.running.session import with_current_version, write_run
from judge.signature import studies_digest
from judge.studies import StudySet
from judge.types import JudgeError

_FORM = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)


def shard_of(study_id: str, count: int) -> int:
    """Return the shard, from 1, that a study falls in: by its id and how many there are alone."""
    digest = hashlib.sha256(study_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest) % count + 1


@dataclass(frozen=True, slots=True)
class Shard:
    """The `index`-th of `count` parts, from 1; written 3/8."""

    index: int
    count: int

    @classmethod
    def of(cls, value: object) -> Shard:
        """Return the shard that a user names, as `3/8` or (3, 8); raises `JudgeError`."""
        text = "/".join(map(str, value)) if isinstance(value, tuple) else str(value)
        if match := _FORM.fullmatch(text.strip()):
            shard = cls(*map(int, match.groups()))
            if 1 <= shard.index <= shard.count:
                return shard
        raise JudgeError(f"{value!r} is no shard: write I/N, such as 3/8 for the third of eight")

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def rows(self, studies: StudySet) -> list[int]:
        """Return which rows of `studies` fall in this shard."""
        ids = enumerate(studies.study_ids)
        return [row for row, name in ids if shard_of(name, self.count) == self.index]

    def record(self, studies: StudySet, notes: Sequence[CountedNote]) -> dict[str, Any]:
        """Return what its manifest says to be merged by; `notes` are those that add up."""
        return {
            **asdict(self),
            "n_whole": len(studies),
            "places": " ".join(map(str, self.rows(studies))),
            "notes_of_input": list(studies.notes),
            "counted": [asdict(note) for note in notes],
        }


def merge(runs: Sequence[Run], out: Path) -> Run:
    """Join the runs of all shards; the files are those of the whole run, but for the manifest."""
    line = _signature(runs)
    claim(out, line)
    first, parts = runs[0], [run.manifest["shard"] for run in runs]
    counted = add_notes(CountedNote(**note) for part in parts for note in part["counted"])
    notes = [*parts[0]["notes_of_input"], *(str(note) for note in counted if note.n)]
    made_by = {name: first.manifest[name] for name in MADE_BY if name in first.manifest}
    made_by |= {"signature": line, "notes": notes}
    changed = ("shard", "rescored", "reply_modes", *made_by)
    manifest = {
        **{name: value for name, value in first.manifest.items() if name not in changed},
        "arguments": {**(first.manifest["arguments"] or {}), "shard": None},
        "shards": [{"folder": run.path.name, "signature": run.signature} for run in runs],
        "batches": [batch for run in runs for batch in run.manifest.get("batches", ())],
        "spent": _sum([run.manifest["spent"] for run in runs]),
        "started": min(str(run.manifest.get("started")) for run in runs),
        "finished": max(str(run.manifest.get("finished")) for run in runs),
    }
    ends = _joined(runs, line)
    write_run(out, first.rubric, ends, made_by, manifest, first.summary()["by"])
    return Run(out)


def _joined(runs: Sequence[Run], line: str) -> Iterator[StudyResult]:
    studies = []
    for judged in heapq.merge(*map(_judged, runs), key=lambda judged: judged.row):
        studies.append(judged.study)
        yield judged
    if f"|studies:{studies_digest(studies)}|" not in line:
        raise JudgeError(
            "the studies of the shards are not those of the signature: a file of a shard was "
            "changed; judge the shards again (answers in the cache are not paid for twice)"
        )


def _signature(runs: Sequence[Run]) -> str:
    """Return the signature of the whole; raises unless these are all shards of one run."""
    if not runs:
        raise JudgeError("name the runs of the shards that are to be merged")
    first, indices, count = runs[0], Counter[int](), 0
    today = str(with_current_version(first.signature, first.rubric))
    for run in runs:
        if (part := run.manifest.get("shard")) is None:
            raise JudgeError(f"{run.path} was judged without --shard I/N: it is no shard")
        shard = Shard(part["index"], part["count"])
        whole = run.signature.replace(f"|shard:{shard}|", "|")
        if run is first:
            line, count = today.replace(f"|shard:{shard}|", "|"), shard.count
        if whole != line or shard.count != count:
            raise JudgeError(
                f"{run.path} is no shard of the run of {first.path} by this version of judge: "
                "judge every shard of the same files with the same options"
            )
        indices[shard.index] += 1
    if wrong := [f"{index}/{count}" for index in range(1, count + 1) if indices[index] != 1]:
        raise JudgeError(f"missing or duplicate shards: {', '.join(wrong)}")
    return line


def _sum(spent: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    dollars = [part["dollars"] for part in spent]
    retries: Counter[str] = sum((Counter(part["retries"]) for part in spent), Counter())
    total = {name: sum(part[name] or 0 for part in spent) for name in spent[0] if name != "retries"}
    return total | {"retries": retries, "dollars": None if None in dollars else sum(dollars)}


def _judged(run: Run) -> Iterator[StudyResult]:
    places = map(int, run.manifest["shard"]["places"].split())
    # A line that is missing, or there twice, changes the digest of all studies.
    for record, row in zip(run.records(), places, strict=False):
        yield result_of(row, record)
