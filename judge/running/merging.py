"""The shards of one set, judged apart, joined into one run."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

from judge.running.cost import Progress
from judge.running.folder import ANNOTATIONS, MADE_BY, Run, damaged
from judge.running.forms import FORMAT
from judge.running.records import Judged, completion_of, outcome_of, study_of
from judge.running.run import Finished, versions
from judge.running.session import read_today
from judge.running.shards import Part, Shard
from judge.running.writer import claim, writing
from judge.signature import StudiesDigest
from judge.stats.table import check_fields, summarise
from judge.types import JudgeError


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
