"""The raw answers in a run's folder: read again with today's parser, or as entries of the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge.cache.entry import Entry, Unreadable, UnreadableError, entry_of
from judge.jsonio import from_line
from judge.running.engine import COMPOSED
from judge.running.folder import ANNOTATIONS, MADE_BY, Run, claim
from judge.running.records import StudyResult, read, result_of
from judge.running.session import with_current_version, write_run
from judge.types import Annotated, JudgeError


def entries(run: Run) -> Iterator[Entry | Unreadable]:
    """Yield all answers of `run` as entries of the cache, a damaged one as `Unreadable`."""
    model, path = run.manifest["judge"]["version"], run.path / ANNOTATIONS
    without = 0
    for number, line in enumerate(run.lines(), 1):
        try:
            record = from_line(line, number)
            for part in (*record["earlier"], record):
                key = part["cache_key"]
                if key is None:
                    without += part["answer"] is not None
                elif key != COMPOSED:  # its parts come before it
                    data = {"key": key, "model": model, "completion": part["answer"]}
                    yield entry_of(key, data | {"sha256": part["sha256"]}, 0.0)
        except (ValueError, UnreadableError) as error:
            yield Unreadable(f"{path}, line {number}", str(error))
    if without:
        why = "no cache keeps its judge's answers"
        yield Unreadable(str(run.path), f"{without:,} answers have no key of a cache: {why}")


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
    now = datetime.now(UTC).isoformat(timespec="seconds")
    this_time: dict[str, Any] = {"at": now, "from_signature": run.signature}

    def ends() -> Iterator[StudyResult]:
        nonlocal n_changed
        for row, record in enumerate(run.records(of_any_version=True)):
            before = result_of(row, record)
            outcome, measures = before.outcome, None
            if before.completion:
                outcome, measures = read(rubric, before.study, before.completion)
            if run.reading is not None and isinstance(outcome, Annotated):
                measures = rubric.measured(outcome.annotation, before.study)
            n_changed += outcome != before.outcome
            yield replace(before, outcome=outcome, measures=measures)
        this_time["n_changed"] = n_changed

    made_by = {name: written[name] for name in MADE_BY if name in written} | {"signature": line}
    manifest = {k: v for k, v in run.manifest.items() if k not in (*made_by, "reply_modes")}
    manifest["rescored"] = [*run.manifest.get("rescored", []), this_time]
    write_run(path, rubric, ends(), made_by, manifest, written["by"])
    return path, n_changed
