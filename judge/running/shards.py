"""A fixed part of a set of studies, so that several machines can judge one set."""

from __future__ import annotations

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from judge.backends.base import Notes
from judge.running.engine import Progress
from judge.running.folder import MADE_BY, Run, claim, writing
from judge.running.records import FORMAT, Judged, judged_of
from judge.running.run import Finished, versions
from judge.running.session import read_today
from judge.signature import studies_digest
from judge.stats.table import check_fields, summarise
from judge.studies import StudySet
from judge.types import JudgeError

MOST = 100_000
"""Shards of one set: as many pods as an indexed Job of Kubernetes runs at a time."""
_FORM = re.compile(r"0*(\d{1,9})/0*(\d{1,9})", re.ASCII)


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
    def of(cls, given: object) -> Shard:
        """Return the shard that a user names, as `3/8` or (3, 8); raises `JudgeError`."""
        text = "/".join(map(str, given)) if isinstance(given, tuple) else str(given)
        if match := _FORM.fullmatch(text.strip()):
            shard = cls(*map(int, match.groups()))
            if 1 <= shard.index <= shard.count <= MOST:
                return shard
        raise JudgeError(
            f"{given!r} is no shard: write I/N, such as 3/8 for the third of eight parts (from "
            f"Python (3, 8)), with N at most {MOST:,}"
        )

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def rows(self, studies: StudySet) -> list[int]:
        """Return which rows of `studies` fall in this shard."""
        ids = enumerate(studies.study_ids)
        return [row for row, name in ids if shard_of(name, self.count) == self.index]


@dataclass(frozen=True, slots=True)
class Part:
    """A shard's studies in the whole set, and notes: what its manifest says to be merged by.

    `places` are the rows of its studies in the whole set, in order; `asked` are the notes of its
    own studies, which add up. The input's notes stand for the whole set: they are `of_input`.
    """

    shard: Shard
    n_whole: int
    places: Sequence[int]
    of_input: Sequence[str]
    asked: Notes

    @property
    def notes(self) -> list[str]:
        """What a reader of the shard's run is told."""
        about = (
            f"this is shard {self.shard.index} of {self.shard.count}: {len(self.places):,} of "
            f"{self.n_whole:,} studies; judge merge joins the shards"
        )
        return [*self.of_input, about, *self.asked.told]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        return {
            **asdict(self.shard),
            "n_whole": self.n_whole,
            "places": " ".join(map(str, self.places)),
            "notes_of_input": list(self.of_input),
            "counted": self.asked.plain(),
            "notes_of_judge": list(self.asked.others),
        }

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `plain` gave."""
        places = [*map(int, plain["places"].split())]
        asked = Notes.read(plain["counted"], plain["notes_of_judge"])
        shard = Shard(plain["index"], plain["count"])
        return cls(shard, plain["n_whole"], places, plain["notes_of_input"], asked)


def merge(runs: Sequence[Run], out: Path, *, by: Sequence[str] | None = None) -> Finished:
    """Join the runs of all shards of a set; the files are those of the run of the whole set.

    That holds to the byte for all but the manifest, which names the shards and adds up what was
    spent. `by` are the fields that the rates are grouped by, by default those of the first run.
    Raises `JudgeError` for shards that are missing or there twice, runs that are no shards of one
    run or of another version of judge, a record that was changed, an unknown field, and an `out`
    that holds another run.
    """
    parts = _parts(runs)
    first = runs[0]
    line = first.signature.replace(f"|shard:{parts[0].shard}|", "|")
    by = first.summary()["by"] if by is None else by
    claim(out, line)
    made_by: dict[str, Any] = {
        name: first.manifest[name] for name in MADE_BY if name in first.manifest
    }
    asked = sum((part.asked for part in parts[1:]), parts[0].asked)
    made_by |= {"signature": line, "notes": [*parts[0].of_input, *asked.told]}
    progress = sum_of([Progress(**run.manifest["spent"]) for run in runs])
    with writing(out, first.rubric, first.manifest["fields"]) as writer:
        check_fields(by, writer.columns)
        studies = []
        for judged, record_line in heapq.merge(
            *map(_judged, runs, parts), key=lambda pair: pair[0].at
        ):
            studies.append(judged.study)
            writer.add(judged, record_line)
        if f"|studies:{studies_digest(studies)}|" not in line:
            raise JudgeError(
                "the studies of the shards are not those of the signature: a file of a shard was "
                "changed; judge the shards again (answers in the cache are not paid for twice)"
            )
        table = writer.table()
        made_by["reply_modes"] = dict(sorted(writer.modes.items()))
        summary = {**made_by, **summarise(table, first.rubric, by)}
        gone = ("shard", "batches", "rescored", *made_by)
        batches = [batch for run in runs for batch in run.manifest.get("batches", ())]
        manifest = {
            "format": FORMAT,
            **made_by,
            **{name: value for name, value in first.manifest.items() if name not in gone},
            "arguments": {**(first.manifest["arguments"] or {}), "shard": None},
            "shards": [
                {
                    "folder": run.path.name,
                    "signature": run.signature,
                    "spent": run.manifest["spent"],
                }
                for run in runs
            ],
            **({"batches": batches} if batches else {}),
            "spent": {k: v for k, v in asdict(progress).items() if k != "trouble"},
            "started": min(str(run.manifest.get("started")) for run in runs),
            "finished": max(str(run.manifest.get("finished")) for run in runs),
            "versions": versions(),
        }
        writer.finish(table, summary, manifest)
    return Finished(out, summary, progress)


def _parts(runs: Sequence[Run]) -> list[Part]:
    """Return what part of the whole each run is; raises unless they are all shards of one run."""
    if not runs:
        raise JudgeError("name the runs of the shards that are to be merged")
    first, parts = runs[0], []
    for run in runs:
        if (part := run.part) is None:
            raise JudgeError(
                f"{run.path} is the run of no shard: it was judged without --shard I/N"
            )
        parts.append(part)
        ours = str(read_today(first.signature, first.rubric))
        ours = ours.replace(f"|shard:{parts[0].shard}|", f"|shard:{part.shard}|")
        if run.signature != ours or part.shard.count != parts[0].shard.count:
            raise JudgeError(
                f"{run.path} is no shard of the run of {first.path} by this version of judge: "
                "judge every shard of the same files with the same options"
            )
    count, found = parts[0].shard.count, Counter(part.shard.index for part in parts)
    if wrong := [f"{index}/{count}" for index in range(1, count + 1) if found[index] != 1]:
        raise JudgeError(
            f"shards are missing or there twice: {', '.join(wrong)}; each has to be there once"
        )
    return parts


def sum_of(spent: Sequence[Progress]) -> Progress:
    """Return what several runs took together; dollars are None where those of one are unknown."""
    total = Progress(total=0)
    for name in asdict(total):
        values = [getattr(progress, name) for progress in spent]
        if name == "retries":
            total.retries = dict(sum(map(Counter, values), Counter[str]()))
        elif name != "trouble":
            setattr(total, name, None if None in values else sum(values))
    return total


def _judged(run: Run, part: Part) -> Iterator[tuple[Judged, bytes]]:
    # A line that is missing, or there twice, changes the digest of all studies.
    for (line, record), at in zip(run.lines_read(), part.places, strict=False):
        yield judged_of(at, record), line
