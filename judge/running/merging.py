"""The shards of one set, judged apart, joined into one run."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from judge.report.words import counted
from judge.running.cost import Progress
from judge.running.folder import ANNOTATIONS, MADE_BY, MANIFEST, Run, damaged
from judge.running.forms import FORMAT, adapter, first_of
from judge.running.records import outcome_of, study_of
from judge.running.run import Finished, versions
from judge.running.session import read_today
from judge.running.shards import Part, Shard, shard_of
from judge.running.writer import RunWriter, claim, writing
from judge.signature import Signature, StudiesDigest
from judge.stats.table import check_fields, summarise
from judge.types import JudgeError

_SHARD = "shard"


def merge(
    runs: Sequence[Run],
    out: Path,
    *,
    allow_missing: bool = False,
    by: Sequence[str] | None = None,
) -> Finished:
    """Join the runs of all shards of a set; the files are those of the run of the whole set.

    That holds to the byte for all but the manifest, which names the shards, adds up what was
    spent and goes from the first start to the last end. Logs of servers stay where they are.
    With `allow_missing` some shards may be missing; signature and notes then say which. `by` are
    the fields that the rates are grouped by, by default those of the shards. Studies are read
    and written one at a time.

    Raises `JudgeError` for shards that are missing or there twice, runs that are no shards of one
    run, one that is damaged or of another version of judge, an unknown field, and an `out` that
    holds another run.
    """
    if not runs:
        raise JudgeError("name the runs of the shards that are to be merged")
    parts = [_part(run) for run in runs]
    _check_one_run(runs, parts)
    first = runs[0]
    there = {part.shard.index for part in parts}
    shards = [Shard(index, parts[0].shard.count) for index in range(1, parts[0].shard.count + 1)]
    missing = [shard for shard in shards if shard.index not in there]
    if missing and not allow_missing:
        raise JudgeError(
            f"{_missing(missing)}: judge what is missing too, or merge what there is with "
            "--allow-missing"
        )
    line = _signature(first.signature, missing)
    by = _by(runs) if by is None else by
    claim(out, line)
    made_by: dict[str, Any] = {
        name: first.manifest[name] for name in MADE_BY if name in first.manifest
    }
    made_by |= {"signature": line, "notes": _notes(parts, missing)}
    progress = sum_of([_spent(run) for run in runs])
    with writing(out, first.rubric, first.manifest["fields"]) as writer:
        check_fields(by, writer.columns)
        digest = _copy(runs, parts, writer)
        if not missing and f"|studies:{digest.value}|" not in line:
            raise JudgeError(
                f"the shards' studies together are not those of the signature ({digest.value}): "
                "a shard was changed after it was judged; judge them again (answers in the "
                "cache are not paid for twice)"
            )
        table = writer.table()
        made_by["reply_modes"] = dict(sorted(writer.modes.items()))
        summary = {**made_by, **summarise(table, first.rubric, by)}
        gone = (_SHARD, "batches", "rescored", *made_by)
        batches = [batch for run in runs for batch in run.manifest.get("batches", ())]
        manifest = {
            "format": FORMAT,
            **made_by,
            **{name: value for name, value in first.manifest.items() if name not in gone},
            "arguments": {**(first.manifest["arguments"] or {}), _SHARD: None},
            "shards": [_described(run, part) for run, part in zip(runs, parts, strict=True)],
            **({"batches": batches} if batches else {}),
            **({"missing": [str(shard) for shard in missing]} if missing else {}),
            "spent": {k: v for k, v in asdict(progress).items() if k != "trouble"},
            "started": min(str(run.manifest.get("started")) for run in runs),
            "finished": max(str(run.manifest.get("finished")) for run in runs),
            "versions": versions(),
        }
        writer.finish(table, summary, manifest)
    return Finished(out, summary, progress)


def _part(run: Run) -> Part:
    part = run.part
    if part is None:
        why = "it was judged without --shard I/N"
        if "shards" in run.manifest:
            why = "it was merged already; merge the shards that it was made of with the others"
        raise JudgeError(f"{run.path} is the run of no shard: {why}")
    return part


def _check_one_run(runs: Sequence[Run], parts: Sequence[Part]) -> None:
    first, shard = runs[0], parts[0].shard
    today = read_today(first.signature, first.rubric)
    if str(today) != first.signature:
        raise JudgeError(
            f"{first.path} is of another version of judge or of its rubric than this one: merge "
            "with that version, or bring every shard up to date with judge rescore"
        )
    seen: dict[int, Run] = {}
    for run, part in zip(runs, parts, strict=True):
        if part.shard.count != shard.count:
            raise JudgeError(
                f"these are shards of different sizes: {first.path} is shard {shard}, {run.path} "
                f"shard {part.shard}; merge those that were made with one N of --shard I/N"
            )
        if differing := _differing(first, run):
            raise JudgeError(
                f"these are shards of different runs: the {differing}; judge every shard of the "
                "same files with the same options and the same version of judge"
            )
        if part.n_whole != parts[0].n_whole:
            raise damaged(run.path / MANIFEST, "its shard is of a set of another size")
        if other := seen.get(part.shard.index):
            raise JudgeError(
                f"shard {part.shard} is there twice: {other.path} and {run.path}; name it once"
            )
        seen[part.shard.index] = run


def _differing(one: Run, other: Run) -> str | None:
    ours, theirs = (Signature.parse(run.signature) for run in (one, other))
    # The model that is judged stands in no signature.
    facts = {"model": "model that is judged", "fields": "fields of the studies"}
    facts |= {"judge": "name of the judge", "omitted": "studies left out"}
    for name in ours.differing(theirs):
        if name != _SHARD:
            return _in_both(name, ours.get(name), theirs.get(name), one, other)
    for name, shown in facts.items():
        values = one.manifest.get(name), other.manifest.get(name)
        if values[0] != values[1]:
            return _in_both(shown, values[0], values[1], one, other)
    return None


def _in_both(what: str, ours: object, theirs: object, one: Run, other: Run) -> str:
    return f"{what} is {ours} in {one.path} and {theirs} in {other.path}"


def _signature(line: str, missing: Sequence[Shard]) -> str:
    signature = Signature.parse(line)
    if not missing:
        return str(signature.without(_SHARD))
    return str(signature.replacing(_SHARD, f"without:{_ranges(missing)}/{missing[0].count}"))


def _ranges(shards: Sequence[Shard]) -> str:
    found: list[list[int]] = []
    for shard in shards:
        if found and found[-1][-1] == shard.index - 1:
            found[-1] = [found[-1][0], shard.index]
        else:
            found.append([shard.index])
    return ",".join("-".join(map(str, ends)) for ends in found)


def _missing(shards: Sequence[Shard]) -> str:
    shown = f"{_ranges(shards)} of {shards[0].count}"
    return f"shard {shown} is missing" if len(shards) == 1 else f"shards {shown} are missing"


def _by(runs: Sequence[Run]) -> list[str]:
    found = {tuple(run.summary()["by"]): run for run in runs}
    if len(found) > 1:
        told = " and ".join(f"{','.join(by)} in {run.path}" for by, run in [*found.items()][:2])
        raise JudgeError(f"the shards group their rates by other fields: {told}; say which, --by")
    return list(next(iter(found)))


def _notes(parts: Sequence[Part], missing: Sequence[Shard]) -> list[str]:
    asked = sum((part.asked for part in parts[1:]), parts[0].asked)
    notes = [*parts[0].of_input]
    if missing:
        n = sum(len(part.places) for part in parts)
        whole = counted(parts[0].n_whole, "study", "studies")
        notes.append(f"{_missing(missing)}: this is a run of {n:,} of {whole}")
    return [*notes, *asked.told]


def _spent(run: Run) -> Progress:
    from pydantic import ValidationError  # a moment that importing this program does not take

    try:
        found = adapter(Progress).validate_python(run.manifest.get("spent"))
    except ValidationError as error:
        raise damaged(run.path / MANIFEST, f"spent: {first_of(error)}") from error
    assert isinstance(found, Progress)
    return found


def sum_of(spent: Sequence[Progress]) -> Progress:
    """Return what several runs took together; dollars are None where those of one are unknown."""
    total = Progress(total=0)
    for name, zero in asdict(total).items():
        values = [getattr(one, name) for one in spent]
        if name == "retries":
            total.retries = dict(sum(map(Counter, values), Counter[str]()))
        elif name == "dollars":
            total.dollars = None if None in values else sum(values)
        elif isinstance(zero, int):
            setattr(total, name, sum(values))
    return total


def _described(run: Run, part: Part) -> dict[str, Any]:
    names = ("signature", "spent", "started", "finished", "versions", "rescored")
    facts = {name: run.manifest[name] for name in names if name in run.manifest}
    return {"folder": run.path.name, "n_studies": len(part.places), **facts}


def _copy(runs: Sequence[Run], parts: Sequence[Part], writer: RunWriter) -> StudiesDigest:
    digest = StudiesDigest()
    in_order = heapq.merge(
        *(_lines(run, part) for run, part in zip(runs, parts, strict=True)),
        key=lambda one: one[0],
    )
    last = -1
    for at, line, record in in_order:
        study = study_of(record)
        if at == last:
            raise JudgeError(f"two shards have a study in place {at + 1:,} of the whole set")
        last = at
        digest.add(study)
        mode = (record["answer"] or {}).get("mode")
        writer.copy(at, line, study, outcome_of(record), record["measures"], mode)
    return digest


def _lines(run: Run, part: Part) -> Iterator[tuple[int, bytes, Mapping[str, Any]]]:
    path = run.path / ANNOTATIONS
    places = iter(part.places)
    for n, line in enumerate(run.lines(), 1):
        record = run.parsed(n, line)
        at = next(places, None)
        if at is None or shard_of(record["study_id"], part.shard.count) != part.shard.index:
            raise damaged(path, f"the study in line {n:,} is not of shard {part.shard}")
        yield at, line if line.endswith(b"\n") else line + b"\n", record
    if (n_less := len([*places])) > 0:
        raise damaged(path, f"it lacks {n_less:,} of {len(part.places):,} studies")
