"""`judge compare` over 24 models x 10,000 studies, through the command line.

The runs are real run folders of both rubrics, made from seeded counts. Prints wall seconds,
CPU seconds and peak memory. Targets on two cores: 30 s and 2 GB with 1,000 bootstrap
resamples and all pairwise tests, 5 s without tests.

    python bench/bench_compare.py [--models 24] [--studies 10000] [--failed 0.01]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from judge import rubrics
from judge.rubrics import Rubric
from judge.run_files.entries import InputEntry, JudgeEntry
from judge.run_files.manifest import FORMAT, RunManifest
from judge.run_files.summary import RunSummary
from judge.running.folder import writing
from judge.stats.summary import TableBuilder, summarise

SITES = 67
FIELDS = ["site", "patient", "dataset"]


def table_of(
    rubric: Rubric, rng: np.random.Generator, n: int, skill: float, failed: float
):
    """The table of a run whose errors per study are Poisson counts that fall with `skill`."""
    empty = TableBuilder(rubric, FIELDS).build()
    columns = {name: np.zeros(n, dtype=int) for name in empty.columns}
    fates = np.random.default_rng(1)
    columns["study_id"] = np.char.add("study", np.arange(n).astype(str))
    columns["study_class"] = np.where(fates.random(n) < 0.45, "abnormal", "normal")
    columns["class_inferred"] = np.zeros(n, dtype=bool)
    columns["site"] = np.char.add("site", fates.integers(0, SITES, n).astype(str))
    columns["patient"] = np.char.add("p", fates.integers(0, n * 3 // 4, n).astype(str))
    columns["dataset"] = np.char.add("dataset", (np.arange(n) % 4).astype(str))
    hard = fates.gamma(2.0, 0.5, n)
    assert rubric.tally is not None
    levels = rubric.facet(rubric.tally.columns).labels
    counts = {level: rng.poisson(hard * (1 - skill), n) for level in levels}
    significant = sum(of_it for grade, of_it in counts.items() if grade.is_grave)
    total = sum(counts.values())
    for grade, of_it in counts.items():
        columns[f"n_{grade.name}"] = columns[f"{grade.name}_a"] = of_it
    columns["n_significant"], columns["n_insignificant"] = (
        significant,
        total - significant,
    )
    if rubric.name == "green":
        matched = rng.poisson(4 * skill, n)
        columns["n_matched"] = matched
        columns["green"] = np.where(
            matched, matched / np.maximum(matched + significant, 1), 0.0
        )
    else:
        of_each = list(counts.values())
        columns["n_actionable"] = sum(of_each[1:])
        severities = np.array(
            [np.where(c > 0, i + 1, 1) for i, c in enumerate(of_each)]
        )
        columns["fineradscore"] = severities.max(axis=0)
        columns["fineradscore_sum"] = sum((i + 1) * c for i, c in enumerate(of_each))
    lost = rng.random(n) < failed
    columns["outcome"] = np.where(lost, "failed", "scored")
    columns["reason"] = np.where(lost, "timeout", None)
    columns["warnings"] = np.full(n, None)
    free = (*FIELDS, "class_inferred")
    dtypes = {name: dtype for name, dtype in empty.dtypes.items() if name not in free}
    table = pd.DataFrame(columns).astype(dtypes)
    table.loc[lost, [measure.name for measure in rubric.measures]] = pd.NA
    return table


def write_run(folder: Path, rubric: Rubric, table: pd.DataFrame, model: str) -> None:
    manifest = RunManifest(
        format=FORMAT,
        rubric=rubric.name,
        rubric_version=str(rubric.version),
        judge=JudgeEntry(name="counts", version="counts-1"),
        section="findings",
        class_source="study_class",
        studies_digest=f"{len(table)}+{model}",
        version="0",
        fields=FIELDS,
        inputs=[
            InputEntry(
                path=f"preds_{model}.json", role="preds", sha256=model, n_records=1
            ),
            InputEntry(path="refs.json", role="refs", sha256="refs", n_records=1),
        ],
    )
    with writing(folder, rubric, FIELDS) as writer:
        summary = RunSummary.of(manifest, summarise(table, rubric))
        writer.finish(table, summary, manifest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=24)
    parser.add_argument("--studies", type=int, default=10_000)
    parser.add_argument("--failed", type=float, default=0.01)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        runs = []
        for at in range(asked.models):
            for name in ("green", "fineradscore"):
                rubric = rubrics.load(name)
                rng = np.random.default_rng([2, at, len(runs)])
                skill = 0.3 + 0.5 * at / asked.models
                table = table_of(rubric, rng, asked.studies, skill, asked.failed)
                folder = Path(work) / f"{name}-{at}"
                write_run(folder, rubric, table, f"model{at}")
                runs.append(str(folder))
        by_both = [
            "--by",
            "dataset",
            "--by",
            "study_class",
            "--by",
            "dataset,study_class",
        ]
        print(f"{'what':>34} {'wall s':>8} {'cpu s':>8} {'peak MB':>8}")
        for what, options in (
            ("leaderboard", ["--no-tests"]),
            ("with tests, by patient", []),
            ("with tests, studies independent", ["--patient-field", "none"]),
            ("with tests, by study class", ["--by", "study_class"]),
            ("by data set, class and both", by_both),
            ("with tests, by site", ["--by", "site", "--format", "csv"]),
        ):
            command = [sys.executable, "-m", "judge", "compare", *runs, *options]
            began = time.perf_counter()
            with subprocess.Popen(
                command, cwd=work, stdout=subprocess.DEVNULL
            ) as child:
                _, status, used = os.wait4(child.pid, 0)
            wall = time.perf_counter() - began
            if status:
                sys.exit(f"judge compare failed: {what}")
            cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
            print(f"{what:>34} {wall:>8.2f} {cpu:>8.2f} {peak:>8.0f}", flush=True)


if __name__ == "__main__":
    main()
