"""Runs that are made of runs: shards joined, judges as a panel, raw answers read again."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from judge import jsonio
from judge.backends.base import Recognised
from judge.cache.answers import (
    DamagedAnswer,
    DamagedError,
    KeptAnswer,
    kept_answer,
    tag_of,
)
from judge.jsonio import from_line
from judge.manifest import (
    ANNOTATIONS,
    MANIFEST,
    OLD_FORMAT,
    RunFileError,
    read_any_manifest,
)
from judge.running.asking import COMPOSED
from judge.running.folder import MADE_BY, Run, claim, damaged, lines_of
from judge.running.panel import Aggregation, Rule, aggregate, apart
from judge.running.records import StudyResult, read, result_of
from judge.running.run import now, write_run
from judge.running.session import kind_of, with_current_version
from judge.running.shard import Shard
from judge.signature import Signature, StudiesDigest
from judge.types import Annotated, JudgeError

# What of a signature is the judge's: the rest is of the studies and of this program.
_TOLD = ("context", "prior", "modality")
_OF_JUDGE = ("judge", "prompt", "sampling", "reply", "reask", "repeat", *_TOLD)


# Shards


def merge(runs: Sequence[Run], out: Path) -> Run:
    """Join the runs of all shards; the files are those of the whole run, but for the manifest."""
    line = _whole_signature(runs)
    claim(out, line)
    first, parts = runs[0], [run.manifest["shard"] for run in runs]
    notes = list(parts[0]["notes_of_input"])
    made_by = {name: first.manifest[name] for name in MADE_BY if name in first.manifest}
    made_by |= {"signature": line, "notes": notes}
    made_by.pop("recognised", None)
    recognised = [part for run in runs if (part := run.manifest.get("recognised"))]
    if len(recognised) == len(runs):
        made_by["recognised"] = _sum_recognised(recognised)
    spent = [run.manifest["spent"] for run in runs]
    names = [name for name in spent[0] if name != "retries"]
    # A part of an earlier version does not have every count.
    sums = {name: sum(part.get(name) or 0 for part in spent) for name in names}
    for name in ("dollars", "unknown_dollars"):
        if any(part.get(name, 0) is None for part in spent):
            sums[name] = None
    changed = ("shard", "rescored", "reply_modes", *made_by)
    manifest = {
        **{
            name: value for name, value in first.manifest.items() if name not in changed
        },
        "arguments": {**(first.manifest["arguments"] or {}), "shard": None},
        "shards": [
            {"folder": run.path.name, "signature": run.signature} for run in runs
        ],
        "batches": [batch for run in runs for batch in run.manifest.get("batches", ())],
        "spent": {
            **sums,
            "retries": sum((Counter(part["retries"]) for part in spent), Counter()),
        },
        "started": min(str(run.manifest.get("started")) for run in runs),
        "finished": max(str(run.manifest.get("finished")) for run in runs),
    }
    ends = _whole(runs, Signature.parse(line)["studies"])
    write_run(out, first.rubric, ends, made_by, manifest, first.summary()["by"])
    return Run(out)


def _sum_recognised(parts: Sequence[Recognised]) -> dict[str, dict[str, int]]:
    """Return how many statements are recognised in the reports of all shards."""
    totals: dict[str, dict[str, int]] = {}
    for side, counts in parts[0].items():
        totals[side] = {
            name: sum(part[side][name] for part in parts) for name in counts
        }
    return totals


def _whole(runs: Sequence[Run], digest: str) -> Iterator[StudyResult]:
    """Yield the studies of all shards at their places; raises unless they are those of `digest`.

    A line of another run of the same ids has other reports, so it is found here.
    """
    studies = StudiesDigest()
    for row, end in enumerate(
        heapq.merge(*map(_placed, runs), key=lambda end: end.row)
    ):
        if end.row != row:
            how_many = "two studies" if end.row < row else "no study"
            raise JudgeError(
                f"the shards have {how_many} in place {min(end.row, row) + 1:,} of the whole: "
                f"judge the shards of {runs[0].path} again"
            )
        studies.add(end.study)
        yield end
    if str(studies) != digest:
        raise JudgeError(
            f"the studies in {', '.join(str(run.path) for run in runs)} are not those that were "
            "judged: a line of another run stands in one of them; judge that shard again (answers "
            "in the cache are not paid for twice)"
        )


def _placed(run: Run) -> Iterator[StudyResult]:
    assert run.typed.shard is not None
    places = [int(place) for place in run.typed.shard.places.split()]
    n = 0
    for n, record in enumerate(run.records(), 1):
        if n > len(places):
            break
        yield result_of(places[n - 1], record)
    if n != len(places):
        why = f"'shard.places' has {len(places):,} places for {n:,} studies or more"
        raise damaged(run.path / MANIFEST, why)


def _whole_signature(runs: Sequence[Run]) -> str:
    """Return the signature of the whole; raises unless these are all shards of one run."""
    if not runs:
        raise JudgeError("name the runs of the shards that are to be merged")
    wholes, indices, count = [], Counter[int](), 0
    for run in runs:
        part = run.typed.shard
        if part is None:
            raise JudgeError(
                f"{run.path} was judged without --shard I/N: it is no shard"
            )
        if run.typed.spent is None:
            raise damaged(run.path / MANIFEST, "it lacks 'spent'")
        count = part.count
        indices[part.index] += 1
        today = str(with_current_version(run.signature, run.rubric))
        shard = Shard(part.index, count)
        wholes.append((run.signature.replace(f"|shard:{shard}|", "|"), count))
        if wholes[-1] != wholes[0] or run.signature != today:
            raise JudgeError(
                f"{run.path} is no shard of the run of {runs[0].path} by this version of judge: "
                "judge every shard of the same files with the same options"
            )
    if wrong := [
        f"{index}/{count}" for index in range(1, count + 1) if indices[index] != 1
    ]:
        raise JudgeError(f"missing or duplicate shards: {', '.join(wrong)}")
    return wholes[0][0]


# Panels


def panel(runs: Sequence[Run], out: Path, rule: Rule) -> Run:
    """Combine the runs of several judges on the same studies into one; nothing is asked."""
    if rule not in ("majority", "mean"):
        raise JudgeError(f"a panel has no rule {rule!r}; there are: majority, mean")
    runs = _checked(runs)
    first, fields = runs[0], runs[0].manifest["fields"]
    names = [run.manifest["judge"]["name"] for run in runs]
    numbered = enumerate([*names], 1)
    names = [
        name if names.count(name) == 1 else f"{name} ({n})" for n, name in numbered
    ]
    how = Aggregation("judge", rule, tuple(names))
    version = f"panel:{rule}({','.join(map(_settings, runs))})"
    line = _panel_signature(runs, version)
    claim(out, line)
    rubric = apart(how.rubric(first.rubric), fields)
    records = zip(*(run.records() for run in runs), strict=True)
    ends = [
        [result_of(part, record) for part, record in enumerate(results)]
        for results in records
    ]
    judged, about = aggregate(
        how, first.rubric, [(results[0].study, results) for results in ends]
    )
    warnings = dict.fromkeys(run.manifest["judge"]["note"] for run in runs)
    prompts = dict.fromkeys(run.manifest["prompt"] for run in runs)
    made_by = {name: first.manifest.get(name) for name in MADE_BY[:-1]} | {
        "signature": line,
        "judge": {
            "name": f"{rule} of {', '.join(names[:-1])} and {names[-1]}",
            "version": version,
            "note": "; ".join(filter(None, warnings)) or None,
        },
        "prompt": ", ".join(filter(None, prompts)) or None,
        "notes": [
            *about,
            *dict.fromkeys(note for run in runs for note in run.summary()["notes"]),
        ],
    }
    # Of the built-in judge, which may be one of several.
    del made_by["recognised"]
    for run in runs:
        if "recognised" in run.manifest:
            made_by["recognised"] = run.manifest["recognised"]
    parts = [
        {"name": name, "folder": run.path.name, "signature": run.signature}
        for run, name in zip(runs, names, strict=True)
    ]
    arguments = {"rule": rule, "runs": [str(run.path) for run in runs]}
    manifest = {
        "inputs": first.manifest["inputs"],
        "fields": fields,
        "omitted_ids": first.manifest.get("omitted_ids", {}),
        # Among them how the files were read, for which judge compare asks.
        "arguments": {**(first.manifest["arguments"] or {}), **arguments},
        "combined": {"of": how.of, "rule": rule, "parts": parts},
        "started": now(),
        "finished": now(),
    }
    write_run(out, rubric, judged, made_by, manifest, first.summary()["by"])
    return Run(out)


def _checked(runs: Sequence[Run]) -> list[Run]:
    if len(runs) < 2:
        raise JudgeError(
            "a panel takes the runs of two judges or more, each on the same studies"
        )
    runs = sorted(runs, key=lambda run: (run.manifest["judge"]["name"], run.signature))
    first = runs[0]
    judges: dict[str, Run] = {}
    for run in runs:
        if (
            run.reading is not None
            or run.combined is not None
            or "shard" in run.manifest
        ):
            raise JudgeError(
                f"{run.path} is a reader's run, a shard or a panel: no panel takes it"
            )
        for part in ("rubric", "section", "class", "studies"):
            ours, theirs = (
                Signature.parse(judged.signature)[part] for judged in (first, run)
            )
            if ours != theirs:
                raise JudgeError(
                    f"{part} is {ours} in {first.path} and {theirs} in {run.path}: a panel "
                    "takes runs of the same files"
                )
        # Answers of one judge would count twice, however often it was asked again.
        other = judges.setdefault(_settings(run, without="reask"), run)
        if other is not run:
            raise JudgeError(
                f"{other.path} and {run.path} are by the same judge: ask it again with another "
                "--body seed=N"
            )
    return runs


def _settings(run: Run, without: str = "") -> str:
    parts = Signature.parse(run.signature)
    named = (name for name in _OF_JUDGE if name in parts and name != without)
    return _digest("|".join(f"{name}:{parts[name]}" for name in named))


def _panel_signature(runs: Sequence[Run], version: str) -> str:
    parts = [Signature.parse(run.signature) for run in runs]
    known = parts[0]
    prompts = sorted(
        {each["prompt"] for each in parts if each.get("prompt", "none") != "none"}
    )
    context = {
        name: sorted({each.get(name, "none") for each in parts}) for name in _TOLD
    }
    line = [
        *(known["rubric"], f"judge:{version}", f"prompt:{','.join(prompts) or 'none'}"),
        f"section:{known['section']}",
        *(
            f"{k}:{','.join(v)}"
            for k, v in context.items()
            if v != ["none"] or k in known
        ),
        *(f"{k}:{known[k]}" for k in ("class", "omitted", "studies") if k in known),
        *(f"runs:{','.join(_digest(run.signature) for run in runs)}", "version:"),
    ]
    return str(with_current_version(str(Signature(line)), runs[0].rubric))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


# Raw answers


def entries(folder: Path) -> Iterator[KeptAnswer | DamagedAnswer]:
    """Yield all answers of the run in `folder` as entries of the cache; damaged as `DamagedAnswer`.

    A run of the format before this one has them too. Raises `JudgeError` for no run.
    """
    manifest = read_any_manifest(folder)
    form = manifest["format"]
    try:
        model, kind = (
            str(manifest["judge"]["version"]),
            kind_of(str(manifest["signature"])),
        )
    except (TypeError, LookupError) as error:
        raise RunFileError(folder / MANIFEST, "it does not name the judge") from error
    path = folder / ANNOTATIONS
    without = 0
    for number, line in enumerate(lines_of(path), 1):
        try:
            # Lines of the older format have no checksum; each answer in them has its own.
            record = (
                jsonio.read(line) if form == OLD_FORMAT else from_line(line, number)
            )
            for part in (*record.get("earlier", ()), record):
                key = part.get("cache_key")
                if key is None:
                    without += part.get("answer") is not None
                elif key != COMPOSED:  # its parts come before it
                    data = {"key": key, "model": model, "completion": part["answer"]}
                    entry = kept_answer(key, data | {"sha256": part["sha256"]})
                    yield replace(entry, tag=tag_of(kind, entry.completion))
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            DamagedError,
        ) as error:
            yield DamagedAnswer(f"{path}, line {number}", str(error))
    if without:
        why = "no cache keeps its judge's answers"
        yield DamagedAnswer(
            str(folder), f"{without:,} answers have no key of a cache: {why}"
        )


def rescore(run: Run, out: Path | None = None) -> tuple[Path, int]:
    """Parse every raw answer of `run` again; returns the folder and how many studies changed."""
    if run.combined is not None:
        raise JudgeError(
            f"{run.path} is made of several runs: make it again (answers stay in the cache)"
        )
    rubric, written = run.rubric, run.summary(of_any_version=True)
    line = str(with_current_version(run.signature, rubric))
    path = out or run.path
    if path != run.path:
        claim(path, line)
    n_changed = 0
    this_time: dict[str, Any] = {"at": now(), "from_signature": run.signature}

    def ends() -> Iterator[StudyResult]:
        nonlocal n_changed
        for row, record in enumerate(run.records_to_rescore()):
            before = result_of(row, record)
            outcome, measures = before.outcome, None
            if before.completion:
                outcome, measures = read(rubric, before.study, before.completion)
            if run.reading is not None and isinstance(outcome, Annotated):
                measures = rubric.measured(outcome.annotation, before.study)
            n_changed += outcome != before.outcome
            yield replace(before, outcome=outcome, measures=measures)
        this_time["n_changed"] = n_changed

    made_by = {name: written[name] for name in MADE_BY if name in written} | {
        "signature": line
    }
    manifest = {
        k: v for k, v in run.manifest.items() if k not in (*made_by, "reply_modes")
    }
    manifest["rescored"] = [*run.manifest.get("rescored", []), this_time]
    write_run(path, rubric, ends(), made_by, manifest, written["by"])
    return path, n_changed
