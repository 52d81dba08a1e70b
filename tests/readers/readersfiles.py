"""The synthetic files of each layout, and runs of them."""

from __future__ import annotations

from pathlib import Path

from support import EXAMPLES, Invoke

from judge.running.folder import Run

DATA = Path(__file__).parent / "data"
TIDY = EXAMPLES / "readers" / "readings.csv"
REXVAL = (DATA / "rexval_reports.csv", DATA / "rexval_counts.csv")
RADPREF = (DATA / "preference_data.json", DATA / "user_1.json", DATA / "user_2.json")


def imported(
    invoke: Invoke, out: Path, *files: Path, layout: str = "auto", options: tuple[str, ...] = ()
) -> dict[str, Run]:
    """Import files and open the runs, by reader."""
    done = invoke("import", layout, *files, "--out", out, *options)
    assert done.exit_code == 0, done.stderr
    runs = [Run(path) for path in sorted(out.iterdir())]
    return {run.manifest["judge"]["name"].removeprefix("reader:"): run for run in runs}


def measures(run: Run) -> dict[str, dict[str, float | None]]:
    """The numbers of each scored study."""
    return {r["study_id"]: r["measures"] for r in run.records() if r["measures"]}


def items(run: Run, study_id: str) -> list[tuple[str, ...]]:
    """Each item of a study: its labels in the order of their facets, and its text."""
    found = run.record(study_id)["annotation"]["items"]
    return [(*(v for vs in one["labels"].values() for v in vs), one["text"]) for one in found]


def totals(run: Run) -> dict[str, int | None]:
    """The totals of the run that are not 0."""
    found = {name: total["n"] for name, total in run.summary()["totals"].items()}
    return {name: n for name, n in found.items() if n != 0}
