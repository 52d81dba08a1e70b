"""`judge passport JUDGE`: what is known of a judge, and whether to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from judge.cli.options import (
    NEW_FOLDER,
    PATH,
    FiniteRange,
    GroupedCommand,
    GroupedOption,
    key_values,
    out_option,
    output_options,
    prompt_option,
    readers_option,
    resamples_option,
    rubric_option,
    seed_option,
)
from judge.cli.output import note, print_document

_runs_option = partial(click.option, cls=GroupedOption, group="Runs")
_verdict_option = partial(click.option, cls=GroupedOption, group="Verdict")
_TABLES = ("verdicts", "criteria", "others", "published", "runs", "left_out")


@click.command(
    "passport",
    cls=GroupedCommand,
    rare=["--prompt", "--threshold"],
    examples=[
        "judge passport lexicon --rubric green",
        "judge passport lexicon RUN tested --readers readers --assume-modality xr",
    ],
    page="docs/passport.md",
)
@click.argument("judge")
@click.argument("folders", nargs=-1, type=PATH, metavar="[FOLDER]...")
@rubric_option("The rubric that the judge judges by.", group="Judge")
@prompt_option(
    "Take the runs with this prompt. Default: the newest run's.", group="Judge"
)
@readers_option("More folders to search. ", group="Runs")
@_runs_option(
    "--assume-modality",
    "modality",
    default="",
    metavar="NAME",
    help=(
        "The modality of runs that state none, such as xr or ct, as runs of judge stress do not."
    ),
)
@_verdict_option(
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="NAME=VALUE",
    callback=key_values(parse=FiniteRange(-1, 1)),
    help=(
        "Another threshold (repeatable): agreement, agreement_within, errors_found, false_alarms, "
        "same_verdict, unread."
    ),
)
@resamples_option(group="Verdict")
@seed_option(group="Verdict")
@out_option(
    "The folder of the passport as JSON and as a page. Runs look for it in the default folder.",
    path=NEW_FOLDER,
    default="judge-runs/passports",
    group="Output",
)
@output_options(_TABLES, group="Output")
def passport(
    *,
    judge: str,
    folders: tuple[Path, ...],
    rubric: str,
    prompt: str | None,
    readers: tuple[str, ...],
    modality: str,
    thresholds: Mapping[str, float],
    resamples: int | None,
    seed: int,
    out: Path,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Collect what is known of JUDGE by a rubric: trusted, not trusted or unknown, by modality.

    FOLDER holds runs: those of JUDGE, of judge stress and of readers are found in it, four levels
    deep. Default: judge-runs. From them come agreement with readers, known errors found, false
    alarms, repeatability, studies without a score, price and time. No judge is asked.

    Later runs of this judge say what the passport covers.
    """
    from judge import rubrics
    from judge.files import write_html
    from judge.pages.bundle import MARK
    from judge.pages.passport import passport_page
    from judge.passports.evidence import find_evidence
    from judge.passports.passport import passport_of, save
    from judge.running.run import RUNS
    from judge.stats.intervals import Draws
    from judge.tables.passport import passport_document

    rubrics.load(rubric)
    searched = [*(folders or _default(RUNS)), *_folders_of(readers)]
    evidence = find_evidence(
        searched,
        judge=judge,
        rubric=rubric,
        prompt=_prompt(prompt),
        modality=modality.strip().lower(),
    )
    made = passport_of(
        evidence,
        judge=judge,
        rubric=rubric,
        thresholds=thresholds,
        draws=Draws(seed=seed, resamples=resamples),
    )
    path = save(made, out)
    page = path.with_suffix(".html")
    write_html(passport_page(made), page, MARK)
    note(f"passport  {path}")
    note(f"page      {page}")
    document = passport_document(made, complete=form == "csv")
    print_document(document, form, made.plain(), table)


def _folders_of(readers: tuple[str, ...]) -> list[Path]:
    """Return the folders of readers' runs, who keep their own names here."""
    from judge.comparing.alignment import choice

    chosen = [choice(run) for run in readers]
    for run in chosen:
        if run.model is not None:
            raise click.UsageError(
                f"readers keep their own names in a passport: write --readers {run.shown}"
            )
    return [run.path for run in chosen]


def _prompt(named: str | None) -> str | None:
    """Return the name of a prompt, or the digest of the one in a file."""
    if named is None or not Path(named).is_file():
        return named
    from judge import prompts

    return prompts.load(named).digest


def _default(runs: Path) -> tuple[Path, ...]:
    """Return the usual folder of runs, if it is there."""
    if runs.is_dir():
        return (runs,)
    return ()
