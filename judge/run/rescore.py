"""Read the raw answers of a run again with today's parser."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge.run.engine import Judged, read
from judge.run.folder import Run, RunWriter, claim
from judge.run.record import completion_of, outcome_of, study_of
from judge.run.run import versions
from judge.run.signature import read_today
from judge.stats.summary import summarise


@dataclass(frozen=True, slots=True)
class Rescored:
    """Where the new run is, what is printed of it, and how many studies read differently."""

    path: Path
    summary: dict[str, Any]
    n_changed: int


def rescore(run: Run, out: Path | None = None) -> Rescored:
    """Parse and score every raw answer of `run` again and write the run anew.

    No judge is asked. Without `out` the run's own files are replaced, all or none; its
    manifest then says what it was before. A study that failed has no answer and stays so.
    Raises `JudgeError` where `out` holds another run.
    """
    rubric = run.rubric
    old_line, old_summary = run.signature, run.summary()
    line = read_today(old_line, rubric)
    if out is not None and out != run.path:
        claim(out, line)
    path = out or run.path
    n_changed = 0
    with RunWriter(path, rubric, run.manifest["fields"]) as writer:
        for at, record in enumerate(run.records(of_any_version=True)):
            study, completion = study_of(record), completion_of(record)
            before = outcome_of(record)
            outcome, counts = read(rubric, study, completion) if completion else (before, None)
            n_changed += outcome != before
            writer.add(Judged(at, study, outcome, counts, completion, record["attempt"]))
        table = writer.table()
        made_by = {"signature": line, "reply_modes": dict(writer.modes)}
        summary = {**old_summary, **summarise(table, rubric, old_summary["by"]), **made_by}
        history = [
            *run.manifest.get("rescored", []),
            {
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "from_signature": old_line,
                "n_changed": n_changed,
            },
        ]
        manifest = {
            **run.manifest,
            "signature": line,
            "rescored": history,
            "versions": versions(),
        }
        writer.finish(table, summary, manifest)
    return Rescored(path, summary, n_changed)
