"""What a monitor has judged: a run for each command that found new studies, below its folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

import pandas as pd

from judge.files import ANOTHER, WRITING, entries_of, folders_with
from judge.monitoring.feed import DATE, RECORD
from judge.rubrics import Rubric
from judge.run_files.identity import RunIdentity
from judge.run_files.manifest import MANIFEST
from judge.running.folder import RunFolder
from judge.signature import short_digest, signature_line
from judge.text import listed
from judge.types import JudgeError

RUNS, PAGES, REPORT, PAGE = "runs", "pages", "monitor.json", "index.html"
SPENT = "spent.sqlite"
RUN = "run"
"""The column with the name of the run that a study was judged in."""
MOST_ATTEMPTS = 3
"""So often a study is asked about in all that has failed so far."""
_OWN = {RUNS, PAGES, REPORT, PAGE, WRITING, SPENT, f"{SPENT}-wal", f"{SPENT}-shm"}


@dataclass(frozen=True)
class History:
    """The runs of a monitor, in the order in which they were finished."""

    runs: Sequence[RunFolder] = field(default_factory=list)

    @property
    def section(self) -> str | None:
        """The section of the reports that is judged, None before the first run."""
        if not self.runs:
            return None
        return self.runs[0].manifest.section

    @property
    def rubric(self) -> Rubric | None:
        """The rubric of the runs, None before the first run."""
        if not self.runs:
            return None
        return self.runs[0].rubric

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Every judgement: the tables of studies of all runs, and the name of each one's run."""
        tables = []
        for run in self.runs:
            table = run.table()
            lacking = [name for name in (DATE, RECORD) if name not in table.columns]
            if lacking:
                raise JudgeError(
                    f"{run.path} is no run of judge monitor, since it lacks {lacking[0]}: "
                    "move it to another folder"
                )
            tables.append(table.assign(**{RUN: run.path.name}))
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def latest(self) -> pd.DataFrame:
        """The last judgement of each study; no row before the first run."""
        if not self.runs:
            return pd.DataFrame(columns=["study_id", DATE, RECORD, "outcome", RUN])
        is_last = ~self.rows.duplicated("study_id", keep="last")
        return self.rows[is_last].reset_index(drop=True)

    @property
    def dates(self) -> dict[str, str]:
        """The date of each study that was judged."""
        return dict(zip(self.latest["study_id"], self.latest[DATE], strict=True))

    @property
    def records(self) -> dict[str, str]:
        """The digest of the record of each study whose judgement is final.

        A study that failed is asked about again, three times in all.
        """
        final = dict(zip(self.latest["study_id"], self.latest[RECORD], strict=True))
        is_failed = self.latest["outcome"] == "failed"
        for study_id in self.latest["study_id"][is_failed]:
            of_study = self.rows[self.rows["study_id"] == study_id]
            is_attempt = of_study[RECORD] == final[study_id]
            if is_attempt.sum() < MOST_ATTEMPTS:
                del final[study_id]
        return final

    @property
    def signature(self) -> str:
        """The line that names how the studies were judged, and which they are."""
        first = self.runs[0].manifest
        rows = zip(self.latest["study_id"], self.latest[RECORD], strict=True)
        digest = short_digest(
            sorted(f"{study_id} {record}" for study_id, record in rows)
        )
        parts = first.signature_parts(without=("omitted", "studies", "version"))
        studies = f"studies:{len(self.latest)}+{digest}"
        return signature_line([*parts, studies, f"version:{first.version}"])

    def differences(self) -> list[str]:
        """Return in which ways the runs were judged where there is more than one way."""
        ways = dict.fromkeys(_way(run.manifest) for run in self.runs)
        if len(ways) < 2:
            return []
        return list(ways)

    def check(self, identity: RunIdentity, out: Path) -> None:
        """Raise `JudgeError` where these studies would be judged by another rubric or judge."""
        if not self.runs:
            return
        before = _who(self.runs[-1].manifest)
        today = _who(identity)
        if before != today:
            raise JudgeError(
                f"{out} was judged by {before}, not by {today}: its charts would show the "
                f"change of the judge; {ANOTHER}"
            )


def open_history(out: Path) -> History:
    """Open the runs of the monitor in a folder, none where it is new or empty.

    Raises `JudgeError` for a folder with other files, and for runs of several sections.
    """
    odd = entries_of(out) - _OWN
    if odd:
        raise JudgeError(
            f"{out} holds files of something else, such as {min(odd)}; {ANOTHER}"
        )
    runs = [RunFolder.open(path) for path in folders_with(out / RUNS, MANIFEST)]
    for run in runs:
        run.check_version()
    runs.sort(key=lambda run: (run.manifest.finished or "", run.path.name))
    sections = {run.manifest.section for run in runs}
    if len(sections) > 1:
        raise JudgeError(
            f"the runs in {out / RUNS} are of several sections, {listed(sorted(sections))}: move "
            "those of one away"
        )
    return History(runs)


def next_run(out: Path, at: datetime, names: Iterable[str] = ()) -> Path:
    """Return the folder of the run that begins now, which no run has."""
    name = f"{at:%Y-%m-%d-%H%M%S}"
    taken = {*names, *(path.name for path in folders_with(out / RUNS, MANIFEST))}
    number = 1
    free = name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return out / RUNS / free


def _who(identity: RunIdentity) -> str:
    """Return the rubric, the judge, the prompt and the section of a run."""
    parts = identity.judge_parts()
    named = (
        identity.rubric_and_version,
        identity.judge.version,
        parts["prompt"],
        identity.section,
    )
    return " | ".join(named)


def _way(identity: RunIdentity) -> str:
    """Return all that changes an answer, as the signature names it."""
    without = ("omitted", "studies", "version", "class", "shard")
    return signature_line(identity.signature_parts(without=without))
