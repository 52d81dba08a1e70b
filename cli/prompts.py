"""`judge prompts`: the wordings of the rubrics' questions; and `judge examples`."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import judge
from judge import rubrics
from judge.cli.options import (
    NEW_FILE,
    PATH,
    GroupedCommand,
    SuggestingGroup,
    draw_seed_option,
    modality_option,
    out_option,
    output_options,
    require,
    yes_option,
)
from judge.cli.output import note, print_document
from judge.cli.run_options import JudgeOptions, judge_options, running_options
from judge.modalities import code_of, modality_named
from judge.prompts import every, file_of, load, of_plugins, official, shots
from judge.tables.document import Column, Document, table_of
from judge.types import JudgeError


@click.group(
    "prompts",
    cls=SuggestingGroup,
    examples=["judge prompts show green"],
    page="docs/extending.md",
)
def prompts() -> None:
    """List the prompts, show one as it is sent, or fetch an official one."""


@prompts.command(
    "list",
    cls=GroupedCommand,
    short_help="List the prompts, built-in and official.",
    examples=["judge prompts list"],
    page="docs/extending.md",
)
@output_options(["prompts"])
def list_(*, table: tuple[str, ...], form: str) -> None:
    """List the prompts of the program, of installed rubrics, and the official ones.

    The column examples says for which --modality a prompt has worked examples.

    Official prompts are their authors' texts; judge prompts fetch NAME downloads one.
    """
    data = []
    for name, loaded in every(os.environ):
        entry = dict.fromkeys(
            ("rubric", "version", "digest", "examples", "why_not"), ""
        )
        if isinstance(loaded, JudgeError):
            entry["why_not"] = str(loaded)
        else:
            entry["rubric"] = loaded.rubric
            entry["version"] = str(loaded.version)
            entry["digest"] = loaded.digest
            usual = ["default"] if loaded.shots else []
            entry["examples"] = ", ".join([*usual, *loaded.modality_shots])
        data.append({"prompt": name, **entry})
    head = [
        Column("prompt"),
        Column("rubric"),
        Column("version"),
        Column("digest"),
        Column("examples"),
        Column("why_not", "not usable"),
    ]
    text = (
        "examples: the values of --modality for which a prompt has worked examples; default: "
        "those that it shows otherwise"
    )
    document = Document(tables=[table_of("prompts", "Prompts", head, data, note=text)])
    print_document(document, form, data, table)


@prompts.command(
    "show",
    cls=GroupedCommand,
    short_help="Show a prompt as it is sent.",
    examples=[
        "judge prompts show green --file",
        "judge prompts show green --modality chest-ct",
    ],
    page="docs/extending.md",
)
@click.argument("name", metavar="NAME|FILE")
@click.option(
    "--file",
    is_flag=True,
    help="Print the YAML file itself, to start your own prompt from.",
)
@modality_option(
    "Show it as it is sent with this --modality, with its worked examples."
)
def show(*, name: str, file: bool, modality: str | None) -> None:
    """Show a prompt as it is sent, around two placeholder reports."""
    if file and modality is not None:
        raise click.UsageError(
            "--file prints the file for all modalities: leave out --modality"
        )
    path_or_name = of_plugins().get(name, name)
    path = file_of(path_or_name) if file else None
    prompt = load(path_or_name, os.environ)
    if path is not None:
        click.echo(path.read_text("utf-8"), nl=False)
        return
    code = None
    if modality is not None:
        modality = modality_named(modality)
        code = code_of(modality)
        rubric = rubrics.load(prompt.rubric)
        reply = shots.usual_reply(rubric, prompt)
        prompt = shots.for_modality(prompt, rubric, reply, modality)
        if not prompt.shots_for:
            note(f"The prompt {prompt.name} has no examples for {modality}.")
    reports = ("(the reference report)", "(the candidate report)")
    for message in prompt.messages(*reports, modality=code):
        click.echo(f"--- {message.role} ---\n{message.content}\n")


@prompts.command(
    "fetch",
    cls=GroupedCommand,
    short_help="Download an official prompt.",
    examples=["judge prompts fetch green-official"],
    page="docs/extending.md",
)
@click.argument("name")
@click.option(
    "--from",
    "origin",
    type=PATH,
    metavar="FILE",
    help="Take a copy of the authors' file, or the folder of their files, instead.",
)
def fetch(*, name: str, origin: Path | None) -> None:
    """Download the official prompt NAME from its authors' source.

    The source is checked against the known text, never run, and kept in the user's configuration
    folder (JUDGE_CONFIG).
    """
    prompt, folder = official.fetch(name, origin, os.environ)
    click.echo(f"{name} ({prompt.digest}) is now in {folder}")


@prompts.command(
    "from-readings",
    cls=GroupedCommand,
    rare=["--base-url", "--cache"],
    short_help="Make a prompt with examples from readings.",
    examples=[
        "judge prompts from-readings RUN training --out mine.yaml --max-cost 5",
        "judge prompts from-readings RUN training --out mine.yaml --dry-run",
    ],
    page="docs/own-judge.md",
)
@click.argument("run", type=PATH)
@click.argument("training", type=PATH)
@out_option("The prompt's file, new.", path=NEW_FILE, metavar="FILE", required=True)
@click.option(
    "--shots",
    "n_shots",
    type=click.IntRange(1, 20),
    metavar="EXAMPLES",
    default=4,
    show_default=True,
    help="How many examples the prompt gets. Each makes every question longer, and dearer.",
)
@draw_seed_option(default=1)
@yes_option("Ask a judge that costs money without a limit and without a question.")
@judge_options
@running_options
@output_options(["checks"])
def from_readings(
    *,
    run: Path,
    training: Path,
    out: Path,
    n_shots: int,
    seed: int,
    yes: bool,
    table: tuple[str, ...],
    form: str,
    **judge_values: Any,  # noqa: ANN401
) -> None:
    """Make a prompt with examples from readings, and compare it with that of RUN.

    TRAINING is the folder of judge readers export --for-training. The examples are readings of its
    training part on which the judge of RUN and the readers differ most. Then the judge of RUN, or
    --judge, is asked with the new prompt about the held-out part, and compared with RUN as judge
    gate --judge does. The exit codes are those of judge gate.
    """
    from judge.cli.gate import gate_judges
    from judge.comparing.alignment import choice
    from judge.readers.training import HELD_OUT, TRAIN
    from judge.stats.significance import Resampling
    from judge.validating.raters import align_raters, open_raters
    from judge.validating.reading_shots import (
        prompt_of_run,
        reading_shots,
        write_prompt,
    )

    require(False, "judge RUBRIC", "min_coverage")  # noqa: FBT003
    options = JudgeOptions(**judge_values)
    if options.prompt is not None:
        raise click.UsageError(
            "the prompt is that of RUN, with examples: leave --prompt out"
        )
    (judge,) = open_raters([choice(str(run))], readers=False)
    readers = open_raters([choice(str(training / TRAIN))], readers=True)
    old = prompt_of_run(judge)
    found = reading_shots(align_raters([judge], readers), old, n=n_shots, seed=seed)
    name = of_plugins().get(old.name, old.name)
    recorded = judge.run.manifest.settings
    if recorded is not None and recorded.prompt:
        name = recorded.prompt
    made = write_prompt(old, found, out, file_of(name))
    for one in found:
        note(f"example  {one.study_id}, by {one.reader}")
    note(f"prompt   {out} ({made.digest})")
    values = {**asdict(options), "prompt": str(out)}
    if options.judge is None and recorded is not None:
        values |= {"judge": recorded.judge, "base_url": tuple(recorded.base_url)}
    gate_judges(
        JudgeOptions(**values),
        run,
        training / HELD_OUT,
        max_drop=0.0,
        non_inferior=False,
        yes=yes,
        out=None,
        patient_field=None,
        how=Resampling(),
        form=form,
        table=table,
    )


@click.command(
    "examples",
    cls=GroupedCommand,
    examples=["judge examples --out examples"],
    page="docs/index.md",
)
@out_option("The folder to make.", default="examples")
def examples(*, out: Path) -> None:
    """Copy fifteen made-up studies with models' reports and readers' annotations into a folder."""
    # In the package, or beside it in a checkout.
    folders = [Path(folder, "examples") for folder in judge.__path__]
    source = next(folder for folder in folders if folder.is_dir())
    try:
        shutil.copytree(source, out, ignore=shutil.ignore_patterns("__pycache__"))
    except FileExistsError as error:
        raise JudgeError(
            f"{out} is there already: move it away, or name another --out"
        ) from error
    except OSError as error:
        raise JudgeError(f"cannot write {out}: {error.strerror or error}") from error
    note(f"example studies in {out}; its README.md describes them")
