"""A fixed part of a set of studies, so that several machines can judge one set."""

from __future__ import annotations

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise, zip_longest
from pathlib import Path
from typing import Any, Self

from judge.backends.base import Notes
from judge.running.cost import Progress
from judge.running.folder import ANNOTATIONS, MADE_BY, Run, damaged
from judge.running.records import FORMAT, Judged, completion_of, outcome_of, study_of
from judge.running.run import Finished, versions
from judge.running.session import read_today
from judge.running.writer import claim, writing
from judge.signature import StudiesDigest
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
        if isinstance(given, Shard):
            return given
        if isinstance(given, str) and (match := _FORM.fullmatch(given.strip())):
            pair: object = tuple(map(int, match.groups()))
        else:
            pair = given
        if isinstance(pair, tuple | list) and [type(part) for part in pair] == [int, int]:
            shard = cls(*pair)
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
        """Return it as JSON's types; of the places, how far each is from the one before."""
        steps = (after - before for before, after in pairwise((0, *self.places)))
        return {
            "index": self.shard.index,
            "count": self.shard.count,
            "n_whole": self.n_whole,
            "steps": " ".join(map(str, steps)),
            "notes_of_input": list(self.of_input),
            "counted": self.asked.plain(),
            "notes_of_judge": list(self.asked.others),
        }

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `plain` gave."""
        places = list(accumulate(map(int, plain["steps"].split())))
        asked = Notes.read(plain["counted"], plain["notes_of_judge"])
        shard = Shard(plain["index"], plain["count"])
        return cls(shard, plain["n_whole"], places, plain["notes_of_input"], asked)


def merge(
    runs: Sequence[Run],
    out: Path,
    *,
    allow_missing: bool = False,
    by: Sequence[str] | None = None,
) -> Finished:
    """Join the runs of all shards of a set; the files are those of the run of the whole set.

    That holds to the byte for all but the manifest, which names the shards, adds up what was
    spent and goes from the first start to the last end. Studies are read and written one at a
    time.

    Args:
        runs: The runs of the shards, in any order.
        out: The folder of the merged run.
        allow_missing: Whether shards may be missing; signature and notes then say which.
        by: The fields that the rates are grouped by, by default those of the first run.

    Raises:
        JudgeError: For shards that are missing or there twice, runs that are no shards of one
            run or of another version of judge, a record that was changed, an unknown field, and
            an `out` that holds another run.
    """
    parts = _parts(runs)
    there = {part.shard.index for part in parts}
    count = parts[0].shard.count
    missing = [index for index in range(1, count + 1) if index not in there]
    lacking = f"{_ranges(missing)}/{count}"
    if missing and not allow_missing:
        raise JudgeError(
            f"shards are missing, {lacking}: judge them too, or merge what there is with "
            "--allow-missing"
        )
    first = runs[0]
    without = f"|without:{lacking}|" if missing else "|"
    line = first.signature.replace(f"|shard:{parts[0].shard}|", without)
    by = first.summary()["by"] if by is None else by
    claim(out, line)
    made_by: dict[str, Any] = {
        name: first.manifest[name] for name in MADE_BY if name in first.manifest
    }
    made_by |= {"signature": line, "notes": _notes(parts, lacking if missing else "")}
    progress = sum_of([Progress(**run.manifest["spent"]) for run in runs])
    with writing(out, first.rubric, first.manifest["fields"]) as writer:
        check_fields(by, writer.columns)
        digest = StudiesDigest()
        for judged, record_line in heapq.merge(
            *map(_judged, runs, parts), key=lambda pair: pair[0].at
        ):
            digest.add(judged.study)
            writer.add(judged, record_line)
        if not missing and f"|studies:{digest.value}|" not in line:
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
            "shards": [_described(run, part) for run, part in zip(runs, parts, strict=True)],
            **({"batches": batches} if batches else {}),
            **({"missing": [f"{index}/{count}" for index in missing]} if missing else {}),
            "spent": {k: v for k, v in asdict(progress).items() if k != "trouble"},
            "started": min(str(run.manifest.get("started")) for run in runs),
            "finished": max(str(run.manifest.get("finished")) for run in runs),
            "versions": versions(),
        }
        writer.finish(table, summary, manifest)
    return Finished(out, summary, progress)


def _parts(runs: Sequence[Run]) -> list[Part]:
    if not runs:
        raise JudgeError("name the runs of the shards that are to be merged")
    parts: dict[Shard, Part] = {}
    line = str(read_today(runs[0].signature, runs[0].rubric))
    for run in runs:
        if (part := run.part) is None:
            why = "merged already" if "shards" in run.manifest else "judged without --shard I/N"
            raise JudgeError(f"{run.path} is the run of no shard: it was {why}")
        first = next(iter(parts), part.shard)
        ours = line.replace(f"|shard:{first}|", f"|shard:{part.shard}|")
        if run.signature != ours or part.shard.count != first.count:
            raise JudgeError(
                f"{run.path} is no shard of the run of {runs[0].path} by this version of judge: "
                f"{run.signature} and {line} differ; judge every shard of the same files with "
                "the same options, or bring each up to date with judge rescore"
            )
        if part.shard in parts:
            raise JudgeError(f"shard {part.shard} is there twice: name {run.path} once")
        parts[part.shard] = part
    return [*parts.values()]


def _ranges(indices: Sequence[int]) -> str:
    ends: list[list[int]] = []
    for index in indices:
        if ends and ends[-1][-1] == index - 1:
            ends[-1] = [ends[-1][0], index]
        else:
            ends.append([index])
    return ",".join("-".join(map(str, pair)) for pair in ends)


def _notes(parts: Sequence[Part], lacking: str) -> list[str]:
    asked = sum((part.asked for part in parts[1:]), parts[0].asked)
    n, whole = sum(len(part.places) for part in parts), parts[0].n_whole
    about = [f"shards are missing, {lacking}: this is a run of {n:,} of {whole:,} studies"]
    return [*parts[0].of_input, *(about if lacking else []), *asked.told]


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


def _described(run: Run, part: Part) -> dict[str, Any]:
    names = ("signature", "spent", "started", "finished", "versions", "rescored")
    facts = {name: run.manifest[name] for name in names if name in run.manifest}
    return {"folder": run.path.name, "n_studies": len(part.places), **facts}


def _judged(run: Run, part: Part) -> Iterator[tuple[Judged, bytes]]:
    for entry, at in zip_longest(run.lines_read(), part.places):
        if entry is None or at is None:
            n_whole = f"the {len(part.places):,} of shard {part.shard}"
            raise damaged(run.path / ANNOTATIONS, f"its studies are not {n_whole}")
        line, record = entry
        study, outcome, completion = study_of(record), outcome_of(record), completion_of(record)
        yield Judged(at, study, outcome, record["measures"], completion), line
