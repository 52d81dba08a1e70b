"""`judge RUBRIC PREDS [REFS]`: one command for each rubric there is."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.output import by_option, format_option, note, print_summary
from judge.rubrics import Rubric
from judge.types import JudgeError


def command_for(rubric: Rubric) -> click.Command:
    """Return the command that judges reports by `rubric`."""

    @click.command(rubric.name, help=_help(rubric), short_help=rubric.summary)
    @click.argument("preds")
    @click.argument("refs", required=False)
    @click.option(
        "--judge",
        "judge_name",
        metavar="JUDGE",
        help="Who answers: lexicon (built in; the default), or lexicon:FILE with your own lexicon.",
    )
    @click.option(
        "--prompt",
        "prompt_name",
        metavar="NAME|FILE",
        help="The wording of the question, for judges that read one (see `judge prompts list`).",
    )
    @click.option(
        "--section",
        metavar="findings|impression|report",
        help="The part of the reports to judge. Default: findings where the references have "
        "them, else the whole report.",
    )
    @click.option(
        "--class-field",
        metavar="FIELD",
        help="The field that holds the study class. Default: study_class or the like; "
        "without one the lexicon infers normal or abnormal from the reference.",
    )
    @click.option(
        "--allow-missing",
        is_flag=True,
        help="Leave out studies that are on one side only or lack the section, and count them.",
    )
    @by_option
    @click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The run folder. Default: a folder below judge-runs, named after the signature.",
    )
    @format_option
    def command(
        preds: str,
        refs: str | None,
        judge_name: str | None,
        prompt_name: str | None,
        section: str | None,
        class_field: str | None,
        allow_missing: bool,  # noqa: FBT001
        by: list[str],
        out: Path | None,
        form: str,
    ) -> None:
        from judge import backends
        from judge.run.run import run
        from judge.studies import read_pair

        judge = backends.load(judge_name or backends.LEXICON, rubric)
        if prompt_name is not None:
            _check_prompt(prompt_name, rubric, judge.name)
        studies = read_pair(
            preds, refs, section=section, class_field=class_field, allow_missing=allow_missing
        )
        if judge_name is None:
            note(f"No --judge given: using lexicon, {judge.note}.")
        arguments = {
            name: value
            for name, value in click.get_current_context().params.items()
            if name not in ("form", "out")
        }
        finished = run(studies, rubric, judge, out=out, by=by, arguments=arguments)
        print_summary(finished.summary, rubric, form)
        note(f"run folder  {finished.path}")

    return command


def _help(rubric: Rubric) -> str:
    return f"""{rubric.summary}

    PREDS holds the candidate reports, REFS the references: JSON as in ReXrank, a list of
    objects, JSON Lines, CSV, TSV or Parquet, gzipped or not; - is standard input. REFS may
    be left out when PREDS holds both.
    """


def _check_prompt(name: str, rubric: Rubric, judge_name: str) -> None:
    from judge import prompts

    prompt = prompts.load(name)
    if prompt.rubric != rubric.name:
        raise JudgeError(f"prompt {name!r} is for the rubric {prompt.rubric}, not {rubric.name}")
    note(f"--prompt has no effect: the judge {judge_name} reads no prompt.")
