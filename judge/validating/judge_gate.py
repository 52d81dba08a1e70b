"""A gate between two judges: whether a new one agrees with readers less than an old one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from judge.comparing.alignment import RunChoice
from judge.comparing.gate import Gate, compare_panel
from judge.files import append_line, is_there
from judge.plugins import version
from judge.readers.annotations import READER
from judge.rubrics.quantities import SharedMeasure
from judge.running.folder import RunFolder
from judge.signature import short_digest, signature_line
from judge.stats.intervals import Values
from judge.stats.metric import Metric
from judge.stats.scores import ScoreMatrix
from judge.stats.significance import Resampling
from judge.stats.statistic import Mean
from judge.types import JudgeError
from judge.validating.raters import RatedStudies, Rater, align_raters, mean_of_readers

OPENED = "opened.jsonl"
"""The file beside held-out readings with a line for each gate that opened them."""


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Held-out readings, one rater for each reader, and how often they were opened before."""

    folder: Path
    readers: tuple[Rater, ...]
    n_opened: int

    def study_ids(self) -> set[str]:
        """Return the ids of the studies that a reader read."""
        found: set[str] = set()
        for reader in self.readers:
            found.update(reader.run.columns(["study_id"])["study_id"].to_pylist())
        return found


def open_held_out(folder: Path) -> HeldOut:
    """Open the held-out part of `judge readers export --for-training`.

    Raises `JudgeError` for a folder without readers' runs, and for readings that are not held out:
    those a judge may have been made with.
    """
    paths = sorted(path for path in folder.glob("reader-*") if path.is_dir())
    readers = []
    for path in paths:
        run = RunFolder.open_any(path)
        if not run.is_held_out:
            raise JudgeError(
                f"{path} is not held out; judge readers export --for-training splits readings"
            )
        name = run.manifest.judge.name.removeprefix(READER)
        readers.append(Rater(name, str(path), run))
    if not readers:
        raise JudgeError(
            f"{folder} has no held-out readings; judge readers export --for-training writes them "
            "to DIR/held-out"
        )
    return HeldOut(
        folder=folder, readers=tuple(readers), n_opened=_times_opened(folder)
    )


def _times_opened(folder: Path) -> int:
    file = folder / OPENED
    if not is_there(file):
        return 0
    return sum(bool(line.strip()) for line in file.read_bytes().splitlines())


def record_opening(held_out: HeldOut, result: Gate, new: Path) -> None:
    """Keep beside the held-out readings that this gate opened them, and what it said.

    `new` is the folder of the new judge's run.
    """
    manifest = RunFolder.open(new).manifest
    entry = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "judge": manifest.judge.version,
        "prompts": [f"{one.name}+{one.digest}" for one in manifest.prompts],
        "verdict": result.verdict,
        "signature": result.signature,
    }
    line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace")
    append_line(held_out.folder / OPENED, line)


def judge_gate(
    new: RunChoice,
    old: RunChoice,
    held_out: HeldOut,
    *,
    max_drop: float = 0.0,
    non_inferior: bool = False,
    patient_field: str | None = None,
    how: Resampling | None = None,
) -> Gate:
    """Check whether a new judge agrees with held-out readings less than an old one.

    `new` and `old` are runs of the two judges that hold the studies that were read. Two figures are
    compared study by study, by the paired test of `judge.comparing.gate`: for each level of errors
    that all have, the share of readers with the same verdict on whether there is such an error (0
    to 1, the mean over a study's readers), and for each count of errors its distance from the mean
    of the readers. A study that a judge did not score counts at its worst, as there. `max_drop` is
    how much worse a figure may be, in its own unit.

    Raises `JudgeError` where the two runs are of other reports than were read, and where the
    rubrics count nothing in common.
    """
    how = how or Resampling()
    judges = []
    for name, run in (("new", new), ("old", old)):
        opened = RunFolder.open(run.path)
        if opened.reading is not None:
            raise JudgeError(f"{run.shown} is a reader's run; give the run of a judge")
        judges.append(Rater(name, run.shown, opened))
    studies = align_raters(judges, held_out.readers, patient_field=patient_field)
    panel = agreement_panel(studies)
    unread = ~np.asarray(studies.runs.is_scored, dtype=bool)[:, : len(judges)]
    how = how.of(panel.n_units)
    checks = compare_panel(
        panel,
        margins=dict.fromkeys((metric.name for metric in panel.metrics), max_drop),
        how=how,
        non_inferior=non_inferior,
        unread=unread,
    )
    notes = [*studies.notes, _openings(held_out)]
    return Gate(
        checks=tuple(checks),
        notes=tuple(notes),
        signature=_signature(studies, how),
        compared=tuple(metric.label for metric in panel.metrics),
        between="judges",
    )


def _openings(held_out: HeldOut) -> str:
    if not held_out.n_opened:
        return "these readings were opened for the first time"
    times = "once"
    if held_out.n_opened > 1:
        times = f"{held_out.n_opened:,} times"
    return (
        f"these readings were opened {times} before ({OPENED}): a judge that was chosen by that "
        "looks better on them than it is"
    )


def agreement_panel(studies: RatedStudies) -> ScoreMatrix:
    """Return how near each judge is to the readers, studies by judges.

    The metrics are those of `judge_gate`; NaN where a judge gave no score.
    """
    metrics: list[Metric] = []
    values: dict[str, Values] = {}
    for quantity in studies.quantities:
        if quantity.category or quantity.role != "count":
            continue
        for metric, grid in _figures(studies, quantity):
            if not np.isnan(grid).all():
                metrics.append(metric)
                values[metric.name] = grid
    return ScoreMatrix(
        models=tuple(judge.name for judge in studies.judges),
        study_ids=studies.study_ids,
        metrics=tuple(metrics),
        values=values,
        fields={},
        clusters=studies.clusters,
        patient_field=studies.patient_field,
    )


def _figures(
    studies: RatedStudies, quantity: SharedMeasure
) -> list[tuple[Metric, Values]]:
    n_judges = len(studies.judges)
    grid = studies.values[quantity.name]
    judges, readers = grid[:, :n_judges], grid[:, n_judges:]
    means = mean_of_readers(readers)
    figures = [_distance(quantity, np.abs(judges - means[:, None]))]
    if quantity.is_level:
        has_error = np.where(np.isnan(readers), np.nan, readers > 0)
        share = mean_of_readers(has_error)
        same = np.where(judges > 0, share[:, None], 1 - share[:, None])
        figures.insert(0, _verdict(quantity, np.where(np.isnan(judges), np.nan, same)))
    return figures


def _metric(
    name: str, label: str, *, scale: tuple[float, float | None], higher: bool
) -> Metric:
    statistic = Mean(
        name,
        label,
        measures=(name,),
        higher_is_better=higher,
        scale=scale,
    )
    return Metric(
        name=name, label=label, statistic=statistic, study_label=label, what="score"
    )


def _verdict(quantity: SharedMeasure, values: Values) -> tuple[Metric, Values]:
    label = f"readers with the same verdict on {quantity.label}"
    metric = _metric(f"same_{quantity.name}", label, scale=(0, 1), higher=True)
    return metric, values


def _distance(quantity: SharedMeasure, values: Values) -> tuple[Metric, Values]:
    label = f"{quantity.label}: distance from the readers per study"
    metric = _metric(f"distance_{quantity.name}", label, scale=(0, None), higher=False)
    return metric, values


def _signature(studies: RatedStudies, how: Resampling) -> str:
    """Return one line that names everything that changes a number of the gate."""
    raters: Sequence[Rater] = studies.raters
    parts: list[Any] = []
    for rater in raters:
        parts.append(f"{rater.name}:{short_digest([rater.run.signature])}")
    parts += [
        f"studies:{len(studies.study_ids)}",
        f"patient:{studies.patient_field or 'none'}",
        *how.draws.parts,
        f"version:{version()}",
    ]
    return signature_line(parts)
