"""Read the raw answers of a run again with today's parser."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judge.running.answers import answered_of
from judge.running.engine import Judged, read
from judge.running.folder import Run, claim, writing
from judge.running.forms import FORMAT
from judge.running.record import outcome_of, study_of
from judge.running.run import versions
from judge.running.signature import read_today
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
    with writing(path, rubric, run.manifest["fields"]) as writer:
        for at, record in enumerate(run.records(of_any_version=True)):
            study, before, answered = study_of(record), outcome_of(record), answered_of(record)
            completion, key = (answered.completion, answered.key) if answered else (None, None)
            outcome, measures = read(rubric, study, completion) if completion else (before, None)
            n_changed += outcome != before
            earlier = tuple(filter(None, map(answered_of, record.get("earlier", ()))))
            attempt = record["attempt"]
            writer.add(Judged(at, study, outcome, measures, completion, attempt, key, earlier))
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
            "format": FORMAT,
            "signature": line,
            "rescored": history,
            "versions": versions(),
        }
        writer.finish(table, summary, manifest)
    return Rescored(path, summary, n_changed)
