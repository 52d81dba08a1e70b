"""The studies of planned runs, read once and laid aside until they are judged."""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path
from typing import IO

from judge.experiments.matrix import PlannedRun
from judge.rubrics import Rubric
from judge.running.settings import limited, read_reports, with_context
from judge.stats.summary import reserved_names
from judge.studies import StudySet
from judge.types import JudgeError


def read_studies(planned: PlannedRun, rubric: Rubric) -> StudySet:
    """Return the studies of a planned run, with what the judge is shown beside their reports.

    Raises `JudgeError` as `read_pair`.
    """
    settings = planned.settings
    studies = read_reports(
        settings, planned.preds, planned.refs, reserved_names(rubric)
    )
    return limited(with_context(studies, settings, rubric), settings.limit)


class StudySpool:
    """The studies of an experiment's runs, which are read from their files once.

    All runs are read before the first is judged, so that each fault of a file is known before
    anything is paid for; runs that differ in the judge alone have their studies in common. What
    was read waits in a file without a name, since all of it may not fit into memory. It lies where
    the runs will: in `folder`, or as near above it as there is a folder yet.
    """

    def __init__(self, folder: Path) -> None:
        """Make an empty spool; nothing is written yet."""
        self._folder = folder.absolute()
        self._file: IO[bytes] | None = None
        self._places: dict[tuple[str, ...], int] = {}

    def get(self, planned: PlannedRun, rubric: Rubric) -> StudySet:
        """Return the studies of a run, from its files the first time; raises `JudgeError`."""
        key = (planned.data, planned.model, planned.section, planned.rubric)
        place = self._places.get(key)
        if place is None or self._file is None:
            studies = read_studies(planned, rubric)
            self._places[key] = self._keep(studies)
            return studies
        self._file.seek(place)
        kept: StudySet = pickle.load(self._file)  # noqa: S301 - this process wrote it
        return kept

    def _keep(self, studies: StudySet) -> int:
        try:
            if self._file is None:
                self._file = self._opened()
            place = self._file.seek(0, 2)
            pickle.dump(studies, self._file, protocol=pickle.HIGHEST_PROTOCOL)
        except OSError as error:
            raise JudgeError(
                f"cannot lay the studies aside: {error.strerror or error}"
            ) from error
        return place

    def _opened(self) -> IO[bytes]:
        folders = (self._folder, *self._folder.parents)
        there = next(folder for folder in folders if folder.is_dir())
        # A dry run needs no folder that can be written to.
        if not os.access(there, os.W_OK):
            return tempfile.TemporaryFile()
        return tempfile.TemporaryFile(dir=there)

    def close(self) -> None:
        """Let go of the file, which vanishes."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self._places.clear()
