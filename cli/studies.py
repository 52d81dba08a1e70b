"""The options that say what is judged, and reading it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import heading
from judge.cli.output import note
from judge.report.words import counted

if TYPE_CHECKING:
    from judge.running.shards import Shard
    from judge.studies import StudySet

_FIELDS = (
    (
        *("id", "the study id; row numbers the records, and joins two files record by record"),
        "study_id, id, accession_number, ...",
    ),
    ("candidate", "the candidate report, in PREDS", "model_prediction, prediction, output, ..."),
    ("reference", "the reference report, in REFS", "findings, impression, report, reference, ..."),
    (
        *("class", "the study class; without one the lexicon infers normal or abnormal"),
        "study_class, class, is_abnormal, ...",
    ),
    (
        *("patient", "the patient, by whom judge compare resamples"),
        "patient, patient_id, subject_id, subject",
    ),
)

FILE_OPTIONS = (
    click.argument("preds"),
    click.argument("refs", required=False),
    heading("Files"),
    *(
        click.option(
            f"--{name}-field",
            metavar="FIELD",
            help=f"The field that holds {what}. Default: {usual}",
        )
        for name, what, usual in _FIELDS
    ),
    click.option(
        "--model",
        metavar="NAME",
        help="The model whose reports the candidates are. Default: the field model, else the "
        "name of PREDS (maira2 for preds_maira2.json, preds for preds.json).",
    ),
    click.option(
        "--section",
        metavar="findings|impression|report",
        help="The part of the reports to judge. Default: findings where the references have "
        "them, else the whole report.",
    ),
    click.option(
        "--allow-missing",
        is_flag=True,
        help="Leave out studies that are on one side only or lack the section, and count them.",
    ),
)
"""PREDS, REFS and how they are read, for every command that reads them."""

shard_option = click.option(
    "--shard",
    metavar="I/N",
    help="Judge the I-th of N fixed parts of the studies, by their ids, such as 3/8: one "
    "part a machine. judge merge joins them.",
)


def read_studies(options: Mapping[str, Any], reserved: Collection[str] = ()) -> StudySet:
    """Read the studies that `FILE_OPTIONS` name; raises `JudgeError` as `read_pair`."""
    from judge.studies import NamedFields, read_pair
    from judge.studies.names import given_model

    return read_pair(
        options["preds"],
        options["refs"],
        fields=NamedFields.of(options),
        section=options["section"],
        allow_missing=options["allow_missing"],
        model=None if options["model"] is None else given_model(options["model"]),
        reserved=reserved,
    )


def part_of(studies: StudySet, shard: Shard) -> StudySet:
    """Return the studies of a shard, and say how many these are."""
    part = studies.take(shard.rows(studies))
    note(f"shard {shard}: {len(part):,} of {counted(len(studies), 'study', 'studies')}")
    return part


def reading(studies: StudySet) -> str:
    """Say which fields the reports were read from, on one line."""
    sides = ("candidate", "reference")
    return "; ".join(f"{side} from {studies.read_from[side]}" for side in sides)
