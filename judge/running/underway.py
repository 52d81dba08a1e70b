"""What is known of a run before it is finished.

While a run is judged, the folder in which its files are staged holds

    begun.json         the manifest as it was when judging began
    annotations.jsonl  one line for each study that has ended, in the order in which they ended
    progress.json      the counts, written anew about once a second

Nothing of it stays when the command ends, whether the run is finished or not. A service keeps it in
the folder of its job (`keep_begun`), so that a run that was stopped can still be looked at. Only
the process that judges writes these files; whoever reads them takes whole lines alone.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from judge import jsonio
from judge.files import WRITING, is_regular, open_regular, write_regular
from judge.rubrics.contract import Rubric
from judge.run_files.checked import adapter
from judge.run_files.manifest import RunManifest
from judge.run_files.reading import read_manifest
from judge.run_files.study_record import ANNOTATIONS
from judge.running.folder import RunFolder
from judge.running.progress import Progress, ProgressListener
from judge.running.records import outcome_of, study_of
from judge.stats.summary import TableBuilder
from judge.types import JudgeError

BEGUN = "begun.json"
PROGRESS = "progress.json"
MOST_KEPT = 50
"""So many of the studies that ended first are kept with all that is known of them."""
_SECONDS_BETWEEN = 1.0
# What is of no use to another process: sentences may be many, and its clock is another.
_OWN = ("sentences", "lost_since")


# Writing


def progress_text(progress: Progress) -> bytes:
    """Return the counts of a run as their file has them."""
    counts = asdict(progress)
    for name in _OWN:
        del counts[name]
    return json.dumps(counts).encode()


def write_progress(folder: Path, progress: Progress) -> None:
    """Write the counts of a run to their file in a folder, as a whole."""
    aside = folder / f"{PROGRESS}.new"
    write_regular(aside, progress_text(progress))
    aside.replace(folder / PROGRESS)


def with_progress_file(folder: Path, listener: ProgressListener) -> ProgressListener:
    """Return a listener that also writes the counts to a folder, about once a second."""
    due = 0.0

    def tick(progress: Progress) -> None:
        nonlocal due
        listener.tick(progress)
        if time.monotonic() < due:
            return
        due = time.monotonic() + _SECONDS_BETWEEN
        # Nobody may be looking: a run never ends for want of this file.
        with suppress(OSError):
            write_progress(folder, progress)

    return ProgressListener(tick, listener.say)


def keep_begun(run: Path, folder: Path) -> bool:
    """Keep what a run writes while it is judged in another folder, also after its end.

    By links to the same files, which go on growing. Returns whether there is something to keep.
    """
    staging = staging_of(run)
    if staging is None:
        return False
    try:
        for name in (ANNOTATIONS, BEGUN):
            (folder / name).unlink(missing_ok=True)
            os.link(staging / name, folder / name)
    except OSError:  # it ended meanwhile, or the two are on different disks
        return False
    return True


def forget_begun(folder: Path) -> None:
    """Remove what `keep_begun` keeps in a folder."""
    for name in (BEGUN, ANNOTATIONS):
        (folder / name).unlink(missing_ok=True)


# Reading


def staging_of(run: Path) -> Path | None:
    """Return the folder with what a run has written so far, None where there is none."""
    try:
        inside = sorted((run / WRITING).iterdir())
    except OSError:
        return None
    for folder in inside:
        if not folder.is_symlink() and is_regular(folder / BEGUN):
            return folder
    return None


def read_progress(folder: Path) -> Progress | None:
    """Return the counts in a folder, None where there are none that can be read."""
    try:
        with open_regular(folder / PROGRESS) as file:
            counts = jsonio.read(file.read())
        if not isinstance(counts, dict) or "total" not in counts:
            return None
        progress: Progress = adapter(Progress).validate_python(counts)
    except (OSError, ValueError):
        return None
    return progress


class BegunRun:
    """The studies of a run that have ended so far, as its folder has them.

    `read_on` takes up what was written since; it is for one thread at a time. Raises `JudgeError`
    for a folder whose files are not as judge writes them.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: RunManifest = read_manifest(folder, BEGUN)
        self._run = RunFolder(folder, self.manifest)
        self._run.check_version()
        self.rubric: Rubric = self._run.rubric
        self.first: list[dict[str, Any]] = []
        """The records of the studies that ended first."""
        self.n_ended = 0
        self._builder = TableBuilder(self.rubric, self.manifest.fields)
        self._file: int | None = None
        self._offset = 0

    def read_on(self) -> bool:
        """Take up the lines that were written since; False where it is another run's file by now.

        The last line may be half written: it is left for the next time.
        """
        path = self.folder / ANNOTATIONS
        with open_regular(path) as file:
            number = os.fstat(file.fileno()).st_ino
            if self._file not in (None, number):
                return False
            self._file = number
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._add(self._run.parsed_alone(self.n_ended + 1, line))
                self._offset += len(line)
        return True

    def _add(self, record: Mapping[str, Any]) -> None:
        self._builder.add(study_of(record), outcome_of(record), record["measures"])
        self.n_ended += 1
        if len(self.first) < MOST_KEPT:
            self.first.append(dict(record))

    def table(self) -> Any:  # noqa: ANN401 - pandas is loaded where it is needed
        """Return the table of the studies that have ended, in that order."""
        return self._builder.build()


def begun_in(*folders: Path | None) -> BegunRun | None:
    """Return what the first of the folders that has it holds of a run; None where none can be read.

    A command that ends takes its folder away, at any moment.
    """
    for folder in folders:
        if folder is None or not is_regular(folder / BEGUN):
            continue
        with suppress(OSError, JudgeError):
            return BegunRun(folder)
    return None
