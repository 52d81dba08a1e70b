"""The options that say what is judged, and reading it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from math import floor
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import Decorator, FiniteRange, heading
from judge.cli.output import note
from judge.text import counted
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.rubrics import Rubric
    from judge.running.shards import Shard
    from judge.studies import StudySet

_SEED = 20260101
_MOST_LEFT_OUT = 0.1
_LEFT_OUT = "judge.studies.left_out"
"""Where the context of a command has what reading its studies left out."""
_FIELDS = {
    "id": "the study id",
    "candidate": "the candidate report, in PREDS",
    "reference": "the reference report, in REFS",
    "class": "the study class; without one the lexicon infers normal or abnormal",
    "patient": "the patient, by whom judge compare resamples",
}
encoding_option = click.option(
    "--encoding",
    metavar="NAME",
    help="The encoding of text files, such as cp1252.  [default: UTF-8]",
)
max_input_option = click.option(
    "--max-input",
    type=FiniteRange(min=0, min_open=True),
    default=4,
    show_default=True,
    metavar="GB",
    callback=lambda _context, _option, value: int(value * 1e9),
    help="Refuse a file that unpacks to more than this.",
)


def file_options(
    several_sections: str = "", *, several_models: bool = False
) -> tuple[Decorator, ...]:
    """Return PREDS and REFS, or `files` of several models, and the options that say how to read."""
    several = f" Several, with commas, {several_sections}" if several_sections else ""
    return (
        *(
            (click.argument("files", nargs=-1, required=True, metavar="PREDS... [REFS]"),)
            if several_models
            else (click.argument("preds"), click.argument("refs", required=False))
        ),
        heading("Files"),
        *(
            click.option(f"--{name}-field", metavar="FIELD", help=f"The field that holds {what}.")
            for name, what in _FIELDS.items()
        ),
        encoding_option,
        max_input_option,
        click.option(
            "--model",
            metavar="NAME",
            help="The model whose reports the candidates are. Default: the field model, else the "
            "name of PREDS (maira2 for preds_maira2.json, preds for preds.json).",
        ),
        click.option(
            "--section",
            metavar=f"findings|impression|report{'[,...]' if several else ''}",
            help="The part of the reports to judge. Default: findings where most references have "
            f"them, else the whole report.{several}",
        ),
        click.option(
            "--allow-missing",
            is_flag=True,
            help="Leave out studies that are on one side only or lack the section, and count them. "
            "Judging exits with code 3 where over 10% of those in REFS are; --min-coverage 0.5 "
            "allows half.",
        ),
    )


TOLD_OPTIONS = (
    heading("Context"),
    click.option(
        "--context-field",
        "context_fields",
        multiple=True,
        metavar="FIELD",
        help="A field with what was known of the patient, which the judge is told (repeatable). "
        "Default: for rubrics that take context the fields context, age, sex, indication, "
        "history, procedure, ... that are there; else none.",
    ),
    click.option("--no-context", is_flag=True, help="Tell the judge nothing of the patient."),
    click.option(
        "--prior-field",
        metavar="FIELD",
        help="The field with the report of the patient's earlier examination, by which "
        "comparisons are judged.",
    ),
    click.option(
        "--modality",
        metavar="xr|ct|mr|us|mg|FIELD",
        help="What the reports are of: radiographs, CT, MRI, ultrasound, mammograms, or the field "
        "that says it of each study. The built-in judge knows chest radiographs alone.",
    ),
)
"""What the judge is told beside the two reports."""

limit_option = click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="N studies drawn at random by their ids: the same each time, and in a larger draw again. "
    "Their answers are in the cache for the run of all.",
)
shard_option = click.option(
    "--shard",
    metavar="I/N",
    help="The I-th of N fixed parts of the studies, by their ids, such as 3/8: one part a "
    "machine. judge merge joins them.",
)


def read_sections(options: Mapping[str, Any]) -> list[StudySet]:
    """Read the studies once for each section that `--section` names; raises as `read_pair`."""
    sections = (options["section"] or "").split(",")
    sets = [read_studies({**options, "section": name.strip() or None}) for name in sections]
    check_sections_differ(sets)
    return sets


def check_sections_differ(sets: Iterable[StudySet]) -> None:
    """Raise `JudgeError` where most candidates are one text, taken for findings and impression."""
    texts = {one.section: dict(zip(one.study_ids, one.candidates, strict=True)) for one in sets}
    findings, impression = texts.get("findings", {}), texts.get("impression", {})
    both = [study_id for study_id in findings if impression.get(study_id)]
    n_same = sum(findings[study_id] == impression[study_id] for study_id in both)
    if n_same > len(both) / 2:
        raise JudgeError(
            f"{n_same:,} of {len(both):,} candidates are one text for findings and impression: "
            "give each section a field or a heading, or name one --section"
        )


def read_studies(options: Mapping[str, Any], reserved: Collection[str] = ()) -> StudySet:
    """Read the studies that `file_options` name; raises `JudgeError` as `read_pair`."""
    from judge.studies import NamedFields, read_pair
    from judge.studies.join import ONLY_IN_PREDS

    studies = read_pair(
        options["preds"],
        options["refs"],
        fields=NamedFields.of(options),
        section=options["section"],
        allow_missing=options["allow_missing"],
        model=options["model"],
        reserved=reserved,
    )
    # REFS may be of a part of the studies: what is only in PREDS is none that was to be judged.
    n_left_out = sum(n for why, n in studies.omitted.items() if why != ONLY_IN_PREDS)
    meta = click.get_current_context().meta
    meta.setdefault(_LEFT_OUT, []).append((len(studies), n_left_out))
    return studies


def says_left_out(min_coverage: float) -> bool:
    """Say, and return, whether more than a tenth was left out, or than `min_coverage` allows."""
    least = min(min_coverage, 1 - _MOST_LEFT_OUT)
    is_low = False
    for n, n_left_out in click.get_current_context().meta.get(_LEFT_OUT, ()):
        n_read = n + n_left_out
        if n < least * n_read:
            is_low = True
            note(
                f"{n_left_out:,} of {n_read:,} studies were left out (--allow-missing), more than "
                f"{1 - least:.0%}; --min-coverage {floor(100 * n / n_read) / 100:g} allows it."
            )
    return is_low


def told_studies(options: Mapping[str, Any], rubric: Rubric) -> StudySet:
    """Read the studies, and what `TOLD_OPTIONS` say that the judge is told of them."""
    from judge.stats.table import reserved_names
    from judge.studies.study_set import attach_context

    given = options["context_fields"]
    if options["no_context"] and given:
        raise click.UsageError("give --context-field or --no-context, not both")
    by_default = None if rubric.takes_context else ()
    return attach_context(
        read_studies(options, reserved_names(rubric)),
        context=() if options["no_context"] else given or by_default,
        prior=options["prior_field"],
        modality=options["modality"],
    )


def limited(studies: StudySet, n: int) -> StudySet:
    """Return `n` studies drawn at random by their ids, in their order, and say so."""
    if n >= len(studies):
        return studies
    text = f"{n:,} of {counted(len(studies), 'study', 'studies')}, drawn at random (--limit)"
    note(text)
    return replace(studies.sample(n, _SEED), notes=(*studies.notes, text))


def part_of(studies: StudySet, shard: Shard) -> StudySet:
    """Return the studies of a shard, and say how many these are."""
    part = studies.take(shard.rows(studies))
    note(f"shard {shard}: {len(part):,} of {counted(len(studies), 'study', 'studies')}")
    return part


def reading(studies: StudySet) -> str:
    """Say which fields the reports were read from, on one line."""
    sides = ("candidate", "reference")
    return "; ".join(f"{side} from {studies.read_from[side]}" for side in sides)
