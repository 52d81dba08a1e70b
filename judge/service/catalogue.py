"""The runs that a service shows, by names that are never paths."""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.report.tables import headline_figures
from judge.running.folder import MANIFEST
from judge.service import jobs
from judge.service.jobs import NAME, Job
from judge.service.problems import ProblemError
from judge.service.run_reader import OpenRun, OpenRuns
from judge.service.settings import ServiceSettings

_KNOWN = (
    *("rubric", "prompt", "signature", "section", "n_studies", "n_scored", "n_unparsed"),
    *("n_failed", "statistics"),
)


@dataclass(frozen=True, slots=True)
class RunEntry:
    """Where a run is, finished or not; `job` is there for one that a service was asked for."""

    id: str
    path: Path
    job: Job | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the run can be read."""
        return (self.path / MANIFEST).is_file()


class Catalogue:
    """Finds runs by their ids and opens them."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._open = OpenRuns()
        self._described: dict[Path, tuple[int, dict[str, Any]]] = {}
        self._found: dict[str, RunEntry] = {}
        self._lock = threading.Lock()

    def entries(self) -> list[RunEntry]:
        """Return all runs, those named on the command line first, then the newest first."""
        paths = [path for path in self._settings.named if (path / MANIFEST).is_file()]
        known: dict[Path, Job] = {}
        below: list[Path] = []
        for runs in self._settings.runs:
            known |= {job.run: job for job in jobs.listed(runs)}
            if runs.is_dir():
                below += [p for p in runs.iterdir() if p not in known and (p / MANIFEST).is_file()]
        found: dict[str, RunEntry] = {}
        seen: set[Path] = set()
        for path in (*paths, *sorted({*below, *known}, key=lambda p: _age(p, known), reverse=True)):
            if path.absolute() not in seen:
                seen.add(path.absolute())
                name = _name(path, found)
                found[name] = RunEntry(name, path, known.get(path))
        with self._lock:
            self._found = found
        return list(found.values())

    def find(self, name: str) -> RunEntry:
        """Return the run called `name`; raises `ProblemError` 404 where there is none."""
        with self._lock:
            found = self._found.get(name)
        if found is None or not (found.job or found.is_finished):
            self.entries()
            found = self._found.get(name)
        if found is None:
            raise ProblemError(404, f"no run {name[:120]!r}; GET /v1/runs lists them")
        return found

    def open(self, name: str) -> tuple[RunEntry, OpenRun]:
        """Return a finished run; raises `ProblemError` 404 for none, 409 for an unfinished one."""
        entry = self.find(name)
        if not entry.is_finished:
            raise ProblemError(409, f"the run {name} has no results yet")
        return entry, self._open.get(entry.path)

    def describe(self, entry: RunEntry) -> dict[str, Any]:
        """Return what a list of runs says of one."""
        described: dict[str, Any] = {"id": entry.id, "name": entry.id, "state": jobs.FINISHED}
        described |= dict.fromkeys(
            (*_KNOWN, "judge", "model", "started", "finished", "progress", "detail")
        )
        if entry.job is not None:
            request, state = entry.job.request, entry.job.state()
            described |= {
                "name": request.name or entry.id,
                "state": state.state,
                "rubric": request.rubric,
                "judge": request.judge,
                "prompt": request.prompt or None,
                "started": request.created,
                "progress": state.progress or None,
                "detail": state.detail or None,
            }
        if entry.is_finished:
            described |= {**self._finished(entry), "state": jobs.FINISHED}
        return described

    def _finished(self, entry: RunEntry) -> dict[str, Any]:
        try:
            changed = (entry.path / MANIFEST).stat().st_mtime_ns
            known = self._described.get(entry.path)
            if known is None or known[0] != changed:
                run = self._open.get(entry.path)
                summary, manifest = run.summary, run.manifest
                known = (
                    changed,
                    {
                        **{name: summary.get(name) for name in _KNOWN},
                        "headline": [
                            {"label": label, "text": text}
                            for label, text in headline_figures(summary, run.rubric)
                        ],
                        "judge": summary["judge"]["name"],
                        "model": run.model,
                        "started": manifest.get("started"),
                        "finished": manifest.get("finished"),
                    },
                )
                self._described[entry.path] = known
        except (ProblemError, OSError) as error:
            return {"detail": f"this run cannot be read: {error}"}
        return known[1]


def _age(path: Path, known: dict[Path, Job]) -> float:
    try:
        return (known[path].path if path in known else path / MANIFEST).stat().st_mtime
    except OSError:
        return 0.0


def _name(path: Path, taken: dict[str, RunEntry]) -> str:
    name = path.absolute().name
    if not NAME.fullmatch(name):
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:100] or "run"
    if name in taken:
        name = f"{name}-{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:8]}"
    return name
