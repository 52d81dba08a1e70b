"""Comparing runs, from their folders to the comparison and its signature."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from importlib.metadata import version

from judge import distribution
from judge.comparing.aligned import AlignedRuns, open_runs
from judge.comparing.metric_files import MetricFile
from judge.comparing.names import RunChoice
from judge.stats.compare import Comparison, compare
from judge.stats.paired import Resampling


def compare_runs(
    choices: Sequence[RunChoice],
    how: Resampling | None,
    *,
    sort: str | None = None,
    by: Sequence[str] = (),
    common: bool = False,
    allow: Collection[str] = (),
    patient_field: str | None = None,
    metrics: Sequence[MetricFile] = (),
) -> tuple[AlignedRuns, Comparison]:
    """Open runs and compare them; without `how` nothing is tested.

    The rest is as in `open_runs` and `judge.stats.compare.compare`, which say what raises
    `JudgeError`.
    """
    opened = open_runs(
        choices, common=common, allow=allow, by=by, patient_field=patient_field, metrics=metrics
    )
    comparison = compare(
        opened.panel,
        sort=sort,
        by=by,
        how=how,
        signature=comparison_signature(opened, how, by),
        notes=opened.notes,
    )
    return opened, comparison


def comparison_signature(opened: AlignedRuns, how: Resampling | None, by: Sequence[str]) -> str:
    """Return one line that names everything that changes a number of the comparison.

    The runs stand in it as a digest over their models and signatures, whatever their order;
    the resamples and the seed only where something was tested.
    """
    lines = sorted(f"{run.model}\t{run.signature}" for run in opened.runs)
    judges = sorted({f"{run.rubric}={run.judge}" for run in opened.runs})
    panel = opened.panel
    parts = [
        "compare:1",
        f"models:{len(panel.models)}",
        f"runs:{len(lines)}+{_digest(lines)}",
        f"judge:{','.join(judges)}",
        f"studies:{len(panel.study_ids)}+{_digest(sorted(panel.study_ids))}",
        *([f"metrics:{_digest(sorted(opened.digests))}"] if opened.digests else []),
        *([f"allowed:{','.join(opened.allowed)}"] if opened.allowed else []),
        f"by:{','.join(by) or 'none'}",
    ]
    if how:
        parts += [
            f"patient:{panel.patient_field or 'none'}",
            f"resamples:{how.resamples}",
            f"flips:{how.flips}",
            f"seed:{how.seed}",
            f"numpy:{version('numpy')}",
        ]
    parts.append(f"version:{distribution.version()}")
    return "|".join(part.replace("|", "/") for part in parts)


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
