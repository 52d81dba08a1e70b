"""`judge prompts`: the wordings of the rubrics' questions; and `judge examples`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

import judge
from judge import rubrics
from judge.cli.options import (
    PATH,
    GroupedCommand,
    SuggestingGroup,
    modality_option,
    out_option,
    output_options,
)
from judge.cli.output import note, print_document
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
