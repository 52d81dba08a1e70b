"""The figures of a run with the judge's bias taken out, for all studies and by group."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from judge import plugins
from judge.comparing.names import RunChoice
from judge.running.folder import Run
from judge.signature import Signature
from judge.stats.prediction_powered import Corrected, corrected
from judge.stats.table import grouped, summarise
from judge.types import JudgeError
from judge.validating.raters import readers_below
from judge.validating.readings import Readings, correctable, read_readings

SEVERAL = "averaged"
"""What becomes of the readings of several readers of a study."""


def corrected_summary(
    run: Run,
    by: Sequence[str],
    paths: Sequence[Path],
    *,
    at_random: bool = False,
    patient_field: str | None = None,
) -> dict[str, Any]:
    """Return the summary of a run grouped by fields, corrected by readers' runs.

    `paths` are readers' runs, or folders of such. The summary is that of `Run.regrouped`. Each
    statistic that can be corrected has `corrected` beside its value, for all studies and in each
    group; `readings` says whose readings these are and how they were taken. Raises `JudgeError`
    as `read_readings` does, and for a field that the run has not.
    """
    table = run.table()
    groups = grouped(table, by)
    paths = [one.path for path in paths for one in readers_below(RunChoice(path, str(path)))]
    readings = read_readings(run, table, paths, at_random=at_random, patient_field=patient_field)
    if not readings.values:
        why = "; ".join(dict.fromkeys(readings.why_not.values()))
        raise JudgeError(f"nothing of {run.path} can be corrected by these readings: {why}")
    summary = {**run.summary(), **summarise(table, run.rubric, by)}
    blocks = [summary, *summary["rates"]]
    parts = [list(range(len(table))), *(rows for _, rows in groups)]
    for block, rows in zip(blocks, parts, strict=True):
        for name, found in of_rows(run, readings, rows).items():
            block["statistics"][name]["corrected"] = found.plain()
    return {**summary, "readings": described(readings)}


def of_rows(run: Run, readings: Readings, rows: Sequence[int]) -> dict[str, Corrected]:
    """Return the corrected statistics of some rows of a run's table, by their names."""
    here = np.array(rows, np.intp)
    patients = None if readings.patients is None else readings.patients[here]
    return {
        one.name: corrected(
            readings.judged[one.name][here],
            readings.values[one.name][here],
            one,
            readings.strata[here],
            patients,
            is_even=readings.is_even,
        )
        for one in correctable(run.rubric)
        if one.name in readings.values
    }


def described(readings: Readings) -> dict[str, Any]:
    """Return whose readings they are and how they were taken, as JSON's types."""
    return {
        "signature": signature(readings),
        "runs": [
            {("run" if name == "shown" else name): value for name, value in asdict(one).items()}
            for one in readings.runs
        ],
        "n_read": int(readings.is_read.sum()),
        "drawn": readings.drawn,
        "drawn_by": list(readings.by),
        "several_readers": SEVERAL,
        "patient_field": readings.patient_field,
        "not_corrected": dict(readings.why_not),
        "notes": list(readings.notes),
    }


def signature(readings: Readings) -> str:
    """Return one line that names everything that changes a corrected figure but the run."""
    lines = sorted(one.signature for one in readings.runs)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
    parts = (
        "corrected:1",
        f"readers:{','.join(sorted(one.reader for one in readings.runs))}",
        f"readings:{int(readings.is_read.sum())}+{digest}",
        f"random:{readings.drawn}",
        f"strata:{','.join(readings.by) or 'none'}",
        f"several:{SEVERAL}",
        f"patient:{readings.patient_field or 'none'}",
        f"version:{plugins.version()}",
    )
    return str(Signature(parts))
