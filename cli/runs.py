"""`judge runs`, `merge`, `panel`, `rescore` and `cite`: what becomes of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from judge.cli.options import argument, command, format_option, option, options
from judge.cli.output import emit, note, print_document, print_summary
from judge.text import counted
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.running.folder import RunFolder


@options
class _Runs:
    folders: tuple[Path, ...] = argument("[FOLDER]...")
    form: str = format_option("table", "json")


@command("runs")
def runs(options: _Runs) -> None:
    """List the runs in FOLDER (default: judge-runs) and its subfolders, the newest first.

    Shows the model, judge, studies, main figures and date of each. FOLDER may be a run itself.
    """
    from judge.manifest import MANIFEST
    from judge.running.folder import RunFolder
    from judge.running.run import RUNS
    from judge.tables.run import described_run, runs_document

    folders = options.folders or (RUNS,)
    missing = [str(folder) for folder in options.folders if not folder.is_dir()]
    if missing:
        raise JudgeError(f"no such folder: {', '.join(missing)}")
    paths = []
    # The run itself, a folder of runs, and a folder of such folders.
    for below in ("", "*/", "*/*/"):
        for folder in folders:
            paths += [path.parent for path in folder.glob(f"{below}{MANIFEST}")]
    described = []
    for path in dict.fromkeys(paths):
        try:
            described.append(described_run(RunFolder.open(path)))
        except JudgeError as error:
            note(f"{path}: {error}")
    described.sort(key=lambda run: str(run["finished"]), reverse=True)
    if not described:
        places = ", ".join(map(str, folders))
        note(f"no run in {places}; judge green preds.json refs.json makes one")
    print_document(runs_document(described), options.form, described)


@options
class _Merge:
    runs: tuple[Path, ...] = argument("RUN...")
    out: Path = option("--out DIR", "The new run's folder.", required=True)
    form: str = format_option("table", "json", "csv", "md")


@command("merge")
def merge(options: _Merge) -> None:
    """Join the RUNs of all shards (judge RUBRIC --shard I/N) into one run.

    The new run has the same numbers as one of the whole set. Nothing is asked; the shards stay.

    \b
    judge green preds.json refs.json --shard 1/2 --out one
    judge green preds.json refs.json --shard 2/2 --out two
    judge merge one two --out whole
    """
    from judge.running.combining import merge as merge_runs
    from judge.running.folder import RunFolder

    _print(
        merge_runs([RunFolder.open(path) for path in options.runs], options.out),
        options.form,
    )


@options
class _Panel(_Merge):
    rule: Literal["majority", "mean"] = option(
        "--rule",
        "How a study's numbers are combined: by their median, with ties to the worse, or by their "
        "mean.",
        required=True,
    )


@command("panel")
def panel(options: _Panel) -> None:
    """Combine the RUNs of several judges, by one rubric on the same studies, into one run.

    The new run opens in rates, audit, compare and serve like any other. It has every judge's
    errors. Nothing is asked; the RUNs stay.

    \b
    judge panel first second third --rule majority --out panel
    """
    from judge.running.combining import panel as panel_of
    from judge.running.folder import RunFolder

    combined = panel_of(
        [RunFolder.open(path) for path in options.runs], options.out, options.rule
    )
    _print(combined, options.form)


@options
class _Rescore:
    run: Path = argument()
    out: Path | None = option(
        "--out DIR",
        "Write a new run here. Default: replace RUN; its manifest keeps the history.",
    )
    form: str = format_option("table", "json", "csv", "md")


@command("rescore")
def rescore(options: _Rescore) -> None:
    """Read the raw answers of RUN again with the current parser, without asking a judge."""
    from judge.running.combining import rescore as rescore_run
    from judge.running.folder import RunFolder

    path, n_changed = rescore_run(RunFolder.open(options.run), options.out)
    rescored = RunFolder.open(path)
    n = rescored.summary().n_studies
    note(f"{n_changed:,} of {counted(n, 'study', 'studies')} read differently")
    _print(rescored, options.form)


def _print(run: RunFolder, form: str) -> None:
    note(f"run folder  {run.path}")
    print_summary(run.summary(), run.rubric, form)


@options
class _Cite:
    runs: tuple[Path, ...] = argument("RUN...")
    form: str = format_option(
        "text",
        "latex",
        "bibtex",
        text="text has both; latex the methods text, with \\cite; bibtex the references.",
    )


@command("cite")
def cite(options: _Cite) -> None:
    """Write the methods text about each RUN, and the references it cites as BibTeX.

    The text names reports, rubric, judge and settings, the studies that were scored, the figures
    with their intervals, and the signature, all as the run recorded them.
    """
    from judge import plugins
    from judge.running.folder import RunFolder
    from judge.tables.citation import citation, citations_text

    opened = [RunFolder.open(path) for path in dict.fromkeys(options.runs)]
    citations = [
        citation(
            run.manifest,
            run.summary(),
            run.rubric,
            plugins.RUBRICS.packages(run.rubric.name, run.manifest.versions),
        )
        for run in opened
    ]
    emit(citations_text(citations, options.form))
