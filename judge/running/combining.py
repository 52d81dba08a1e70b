"""Runs that are made of runs: shards joined, judges as a panel, raw answers read again."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from judge import jsonio
from judge.cache.answers import (
    DamagedAnswer,
    DamagedError,
    KeptAnswer,
    kept_answer,
    tag_of,
)
from judge.jsonio import from_line
from judge.rubrics.derived import Aggregation, Rule
from judge.run_files.entries import RescoredEntry
from judge.run_files.identity import CombinedEntry, CombinedPart
from judge.run_files.manifest import MANIFEST, RunManifest
from judge.run_files.reading import read_answers_manifest
from judge.run_files.study_record import ANNOTATIONS
from judge.running.asking import COMPOSED
from judge.running.folder import RunFolder, claim, damaged, lines_of
from judge.running.panel import aggregate, apart
from judge.running.records import StudyResult, read, result_of
from judge.running.run import now, write_run
from judge.running.session import kind_of, with_current_version
from judge.signature import StudiesDigest, short_digest
from judge.types import JudgeError, Scored

# Shards


def merge(runs: Sequence[RunFolder], out: Path) -> RunFolder:
    """Join the runs of all shards; the files are those of the whole run, but for the manifest."""
    _check_shards(runs)
    folders = [run.path.name for run in runs]
    whole = RunManifest.merged([run.manifest for run in runs], folders)
    claim(out, whole.signature)
    first = runs[0]
    write_run(
        out,
        first.rubric,
        _whole(runs, whole.studies_digest),
        lambda: whole,
        fields=whole.fields,
        by=first.summary().by,
    )
    return RunFolder.open(out)


def _whole(runs: Sequence[RunFolder], digest: str) -> Iterator[StudyResult]:
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


def _placed(run: RunFolder) -> Iterator[StudyResult]:
    assert run.manifest.shard is not None
    places = [int(place) for place in run.manifest.shard.places.split()]
    n = 0
    for n, record in enumerate(run.records(), 1):
        if n > len(places):
            break
        yield result_of(places[n - 1], record)
    if n != len(places):
        why = f"'shard.places' has {len(places):,} places for {n:,} studies or more"
        raise damaged(run.path / MANIFEST, why)


def _check_shards(runs: Sequence[RunFolder]) -> None:
    """Raise `JudgeError` unless these are all the shards of one run, each of them once."""
    if not runs:
        raise JudgeError("name the runs of the shards that are to be merged")
    indices, count = Counter[int](), 0
    wholes: list[tuple[str, int]] = []
    for run in runs:
        part = run.manifest.shard
        if part is None:
            raise JudgeError(
                f"{run.path} was judged without --shard I/N: it is no shard"
            )
        if run.manifest.spent is None:
            raise damaged(run.path / MANIFEST, "it lacks 'spent'")
        count = part.count
        indices[part.index] += 1
        today = with_current_version(run.manifest, run.rubric)
        wholes.append((run.manifest.without_shard.signature, count))
        if wholes[-1] != wholes[0] or run.signature != today.signature:
            raise JudgeError(
                f"{run.path} is no shard of the run of {runs[0].path} by this version of judge: "
                "judge every shard of the same files with the same options"
            )
    wrong = [f"{index}/{count}" for index in range(1, count + 1) if indices[index] != 1]
    if wrong:
        raise JudgeError(f"missing or duplicate shards: {', '.join(wrong)}")


# Panels


def panel(runs: Sequence[RunFolder], out: Path, rule: Rule) -> RunFolder:
    """Combine the runs of several judges on the same studies into one; nothing is asked."""
    if rule not in ("majority", "mean"):
        raise JudgeError(f"a panel has no rule {rule!r}; there are: majority, mean")
    runs = _checked(runs)
    first, fields = runs[0], runs[0].manifest.fields
    combined = _combined(runs, rule)
    how = Aggregation("judge", rule, tuple(part.name for part in combined.parts))
    version = f"panel:{rule}({','.join(map(_settings_digest, runs))})"
    at = now()

    def manifest(about: Sequence[str] = ()) -> RunManifest:
        said = dict.fromkeys(note for run in runs for note in run.summary().notes)
        made = RunManifest.panel_of(
            [run.manifest for run in runs],
            combined,
            judge_version=version,
            notes=[*about, *said],
            at=at,
        )
        return with_current_version(made, first.rubric)

    claim(out, manifest().signature)
    rubric = apart(how.rubric(first.rubric), fields)
    records = zip(*(run.records() for run in runs), strict=True)
    ends = [
        [result_of(part, record) for part, record in enumerate(results)]
        for results in records
    ]
    judged, about = aggregate(
        how, first.rubric, [(results[0].study, results) for results in ends]
    )
    write_run(
        out,
        rubric,
        judged,
        lambda: manifest(about),
        fields=fields,
        by=first.summary().by,
    )
    return RunFolder.open(out)


def _combined(runs: Sequence[RunFolder], rule: Rule) -> CombinedEntry:
    """Return what a panel is made of; judges of one name are numbered."""
    names = [run.manifest.judge.name for run in runs]
    parts = []
    for number, run in enumerate(runs, 1):
        name = run.manifest.judge.name
        if names.count(name) > 1:
            name = f"{name} ({number})"
        part = CombinedPart(
            name=name,
            folder=run.path.name,
            signature=run.signature,
            judged_by=run.manifest.judged_by,
        )
        parts.append(part)
    return CombinedEntry(of="judge", rule=rule, parts=parts)


def _checked(runs: Sequence[RunFolder]) -> list[RunFolder]:
    if len(runs) < 2:
        raise JudgeError(
            "a panel takes the runs of two judges or more, each on the same studies"
        )
    runs = sorted(runs, key=lambda run: (run.manifest.judge.name, run.signature))
    first = runs[0]
    judges: dict[str, RunFolder] = {}
    for run in runs:
        if (
            run.reading is not None
            or run.combined is not None
            or run.manifest.shard is not None
        ):
            raise JudgeError(
                f"{run.path} is a reader's run, a shard or a panel: no panel takes it"
            )
        studies_of_first = _studies(first)
        for part, there in _studies(run).items():
            if studies_of_first[part] != there:
                raise JudgeError(
                    f"{part} is {studies_of_first[part]} in {first.path} and {there} in "
                    f"{run.path}: a panel takes runs of the same files"
                )
        # Answers of one judge would count twice, however often it was asked again.
        other = judges.setdefault(_settings_digest(run, without="reask"), run)
        if other is not run:
            raise JudgeError(
                f"{other.path} and {run.path} are by the same judge: ask it again with another "
                "--body seed=N"
            )
    return runs


def _studies(run: RunFolder) -> dict[str, str]:
    """Return what all judges of a panel must share, as a message names it."""
    manifest = run.manifest
    return {
        "rubric": manifest.rubric_and_version,
        "section": manifest.section,
        "class": manifest.class_source,
        "studies": manifest.studies_digest,
    }


def _settings_digest(run: RunFolder, without: str = "") -> str:
    settings = run.manifest.judge_parts()
    stated = [f"{name}:{text}" for name, text in settings.items() if name != without]
    return short_digest(["|".join(stated)])


# Raw answers


def entries(folder: Path) -> Iterator[KeptAnswer | DamagedAnswer]:
    """Yield all answers of the run in `folder` as entries of the cache; damaged as `DamagedAnswer`.

    A run of the format before this one has them too. Raises `JudgeError` for no run.
    """
    manifest = read_answers_manifest(folder)
    model = manifest.judge.version
    kind = kind_of(
        model, manifest.prompts, sampling=manifest.sampling, reply=manifest.reply
    )
    path = folder / ANNOTATIONS
    without = 0
    for number, line in enumerate(lines_of(path), 1):
        try:
            record = _record_of(line, number, is_sealed=manifest.has_checksums)
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


def _record_of(line: bytes, number: int, *, is_sealed: bool) -> dict[str, Any]:
    """Return the record in a line, which in the oldest form has no checksum of its own.

    Each answer in it has one, whatever the form.
    """
    if is_sealed:
        return from_line(line, number)
    record: dict[str, Any] = jsonio.read(line)
    return record


def rescore(run: RunFolder, out: Path | None = None) -> tuple[Path, int]:
    """Parse every raw answer of `run` again; returns the folder and how many studies changed."""
    if run.combined is not None:
        raise JudgeError(
            f"{run.path} is made of several runs: make it again (answers stay in the cache)"
        )
    rubric, written = run.rubric, run.summary(of_any_version=True)
    today = with_current_version(run.manifest, rubric)
    path = out or run.path
    if path != run.path:
        claim(path, today.signature)
    n_changed = 0
    at = now()

    def ends() -> Iterator[StudyResult]:
        nonlocal n_changed
        for row, record in enumerate(run.records_to_rescore()):
            before = result_of(row, record)
            outcome, measures = before.outcome, None
            if before.completion:
                outcome, measures = read(rubric, before.study, before.completion)
            if run.reading is not None and isinstance(outcome, Scored):
                measures = rubric.measured(outcome.annotation, before.study)
            n_changed += outcome != before.outcome
            yield replace(before, outcome=outcome, measures=measures)

    def manifest() -> RunManifest:
        this_time = RescoredEntry(
            at=at, from_signature=run.signature, n_changed=n_changed
        )
        return today.model_copy(update={"rescored": [*today.rescored, this_time]})

    write_run(path, rubric, ends(), manifest, fields=today.fields, by=written.by)
    return path, n_changed
