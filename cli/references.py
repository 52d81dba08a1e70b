"""The options for studies with several references, and what is printed of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import heading
from judge.cli.output import note
from judge.cli.studies import part_of
from judge.rubrics import Rubric

if TYPE_CHECKING:
    from judge.running.run import Finished
    from judge.running.session import JudgeSession
    from judge.running.shards import Shard
    from judge.studies import StudySet

REFERENCE_OPTIONS = (
    heading("Several references"),
    click.option(
        "--references",
        type=click.Choice(("best", "mean")),
        help="REFS holds several references a study, as lists of texts or as records of one id: "
        "take each study's numbers from the one that gives the best score, or their mean.",
    ),
    click.option(
        "--reference-id-field",
        metavar="FIELD",
        help="The field that says whose reference a record is. Default: reference_id, else the "
        "references of a study are numbered.",
    ),
)


def asked_of(studies: StudySet, shard: Shard | None, options: Mapping[str, Any]) -> StudySet:
    """Return what is asked about: the studies, a shard, or each with each of its references.

    Raises `click.UsageError` for options that do not go together.
    """
    if not options["references"]:
        if options["reference_id_field"]:
            raise click.UsageError("--reference-id-field goes with --references")
        return part_of(studies, shard) if shard else studies
    if shard:
        raise click.UsageError("--shard is for studies with one reference each")
    from judge.running.aggregate import SeveralReferences

    asked = SeveralReferences(studies).asked()
    note(f"{len(studies):,} studies, {len(asked):,} questions about the candidates")
    return asked


def run_asked(
    session: JudgeSession,
    studies: StudySet,
    options: Mapping[str, Any],
    **how: Any,  # noqa: ANN401
) -> Finished:
    """Judge the studies as the options say, and write the run or the runs."""
    if not options["references"]:
        from judge.running.run import run

        return run(session, studies, **how)
    from judge.running.aggregate import run_references

    return run_references(session, studies, options["references"], **how)


def rubric_of(finished: Finished, rubric: Rubric) -> Rubric:
    """Return the rubric of a run: that of several references has more numbers."""
    if "|references:" not in finished.summary["signature"]:
        return rubric
    from judge.running.folder import Run

    return Run(finished.path).rubric
