"""A run from its studies to its folder."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from judge.backends import Judge
from judge.cache import CompletionCache
from judge.rubrics import Rubric
from judge.run.asking import Effort
from judge.run.checked import FORMAT
from judge.run.classes import with_classes
from judge.run.folder import RunWriter, claim
from judge.run.judging import Watch, judge_set
from judge.run.progress import Progress
from judge.run.signature import signature
from judge.stats.summary import DEFAULT_BY, summarise
from judge.studies import StudySet

RUNS = Path("judge-runs")
_LIBRARIES = ("judge", "instructor", "pandas", "pyarrow", "pyyaml")
# There or not: whatever runs a model on this machine.
_ENGINES = ("vllm", "torch", "transformers", "tokenizers")


@dataclass(frozen=True, slots=True)
class Finished:
    """A run's folder, what is printed of it, and what it took."""

    path: Path
    summary: dict[str, Any]
    progress: Progress


def run(
    studies: StudySet,
    rubric: Rubric,
    judge: Judge,
    *,
    cache: CompletionCache | None = None,
    effort: Effort | None = None,
    out: Path | None = None,
    by: Sequence[str] = DEFAULT_BY,
    arguments: Mapping[str, object] | None = None,
    watch: Watch | None = None,
) -> Finished:
    """Judge `studies` and write the run's folder, whole or not at all.

    `cache` keeps the answers of a judge that is not free; it is needed there. `out`
    defaults to a folder below `judge-runs` whose name is made from the signature, so the
    same run has the same place. `arguments` are what the user asked for, kept in the
    manifest. Raises `JudgeError` for a folder that holds another run and for an unknown
    field in `by`, both before the judge is asked, and for what stops the judge;
    `RunStoppedError` when the run was interrupted or ran out of money.
    """
    effort = effort or Effort()
    started = datetime.now(UTC)
    studies, class_source = with_classes(studies)
    line = signature(rubric, judge, studies, class_source, effort.reask)
    path = out or default_folder(rubric, judge, line)
    claim(path, line)
    notes = [*studies.notes, *_empty(studies)]
    made_by = {
        "signature": line,
        "rubric": rubric.name,
        "judge": {"name": judge.name, "version": judge.version, "note": judge.note},
        "prompt": judge.prompt.name if judge.prompt else None,
        "section": studies.section,
        "class_source": class_source,
        "omitted": dict(studies.omitted),
        "notes": notes,
    }
    with RunWriter(path, rubric, list(studies.fields)) as writer:
        summarise(writer.table(), rubric, by)  # an unknown field is found before the work
        progress = judge_set(
            studies, rubric, judge, writer.add, cache=cache, effort=effort, watch=watch or Watch()
        )
        if judge.log is not None:
            writer.keep_log(judge.log)
        made_by["notes"] = [*notes, *judge.notes]
        table = writer.table()
        made_by["reply_modes"] = dict(writer.modes)
        summary = {**made_by, **summarise(table, rubric, by)}
        manifest = {
            "format": FORMAT,
            **made_by,
            "arguments": dict(arguments or {}),
            "inputs": [asdict(file) for file in studies.inputs],
            "fields": list(studies.fields),
            "omitted_ids": {why: list(ids) for why, ids in studies.omitted_ids.items()},
            "effort": asdict(effort),
            "spent": asdict(progress),
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
        }
        writer.finish(table, summary, manifest)
    return Finished(path, summary, progress)


def _empty(studies: StudySet) -> list[str]:
    n = sum(not candidate.strip() for candidate in studies.candidates)
    return (
        [f"{n} of {len(studies)} candidates are empty, and are judged like any other"] if n else []
    )


def default_folder(rubric: Rubric, judge: Judge, line: str) -> Path:
    """Return the folder of the run with this signature, below `judge-runs`."""
    judge_name = re.sub(r"[^A-Za-z0-9.]+", "-", judge.name).strip("-.")[:40]
    digest = hashlib.sha256(line.encode()).hexdigest()[:8]
    return RUNS / f"{rubric.name}-{judge_name}-{digest}"


def versions() -> dict[str, str]:
    """Return the versions of everything that had a hand in a run."""
    engines = {}
    for name in _ENGINES:
        with suppress(PackageNotFoundError):
            engines[name] = version(name)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: version(name) for name in _LIBRARIES},
        **engines,
    }
