"""Runs of readers' files, and what they hold."""

from __future__ import annotations

from pathlib import Path

from support import Invoke

from judge.running.folder import RunFolder


def by_reader(out: Path) -> dict[str, RunFolder]:
    runs = [RunFolder.open(path) for path in sorted(out.iterdir())]
    return {run.manifest.judge.name.removeprefix("reader:"): run for run in runs}


def imported(
    invoke: Invoke, out: Path, *files: Path, options: tuple[str, ...] = ()
) -> dict[str, RunFolder]:
    """Import files and open the runs, by reader."""
    done = invoke("readers", "import", "auto", *files, "--out", out, *options)
    assert done.exit_code == 0, done.stderr
    return by_reader(out)


def measures(run: RunFolder) -> dict[str, dict[str, float | None]]:
    """The numbers of each scored study."""
    return {r["study_id"]: r["measures"] for r in run.records() if r["measures"]}


def totals(run: RunFolder) -> dict[str, int | None]:
    """The totals of the run that are not 0."""
    found = {name: total.n for name, total in run.summary().totals.items()}
    return {name: n for name, n in found.items() if n != 0}
