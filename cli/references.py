"""The options for studies with several references, and what is printed of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import heading
from judge.cli.output import emit, note, print_facts, print_summary, print_tables
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
        type=click.Choice(("best", "mean", "all")),
        help="REFS holds several references a study, as lists of texts or as records of one id: "
        "take each study's numbers from the one that gives the best score, their mean, or make a "
        "run for each reader.",
    ),
    click.option(
        "--reference-id-field",
        metavar="FIELD",
        help="The field that says whose reference a record is. Default: reference_id, else the "
        "references of a study are numbered.",
    ),
    click.option(
        "--between",
        is_flag=True,
        help="Judge each reader's report against the other readers', too, as what a model is held "
        "against. --dry-run says how many questions that is.",
    ),
)


def asked_of(studies: StudySet, shard: Shard | None, options: Mapping[str, Any]) -> StudySet:
    """Return what is asked about: the studies, a shard, or each with each of its references.

    Raises `click.UsageError` for options that do not go together.
    """
    if not options["references"]:
        if options["between"] or options["reference_id_field"]:
            raise click.UsageError("--between and --reference-id-field go with --references")
        return part_of(studies, shard) if shard else studies
    if shard:
        raise click.UsageError("--shard is for studies with one reference each")
    from judge.running.several import Several

    several = Several(studies, options["between"])
    asked, more = several.asked(), len(several.of_readers())
    told = f"{len(studies):,} studies, {len(several.of_model()):,} questions about the candidates"
    beside = f"{more:,} about the readers' reports" + ("" if options["between"] else " (--between)")
    note(f"{told}, {beside}")
    return asked


def run_asked(
    session: JudgeSession,
    studies: StudySet,
    options: Mapping[str, Any],
    **how: Any,  # noqa: ANN401
) -> Finished:
    """Judge the studies as the options say, and write the run or the runs."""
    from judge.running.run import run
    from judge.running.several import Several, run_several

    if not options["references"]:
        return run(session, studies, **how)
    several = Several(studies, options["between"])
    return run_several(session, several, options["references"], **how)


def rubric_of(finished: Finished, rubric: Rubric) -> Rubric:
    """Return the rubric of a run: that of several references has more numbers."""
    if "|references:" not in finished.summary["signature"]:
        return rubric
    from judge.running.folder import Run

    return Run(finished.path).rubric


def print_finished(finished: Finished, rubric: Rubric, form: str) -> list[dict[str, Any]]:
    """Print a run, or those of several readers side by side; returns what was summarised."""
    if not finished.parts:
        print_summary(finished.summary, rubric_of(finished, rubric), form)
        return [finished.summary]
    from judge.report.formats import as_json, markdown_table, rate_rows, rows_as_csv
    from judge.report.tables import Table, headline_figures

    parts = {name: part.summary for name, part in finished.parts.items()}
    figures = {name: headline_figures(summary, rubric) for name, summary in parts.items()}
    rows = tuple(
        (name, *(f"{summary[n]:,}" for n in ("n_studies", "n_scored")), *(v for _, v in own))
        for (name, summary), own in zip(parts.items(), figures.values(), strict=True)
    )
    labels = [label for label, _ in next(iter(figures.values()))]
    table = Table("By reference", ("reference", "studies", "scored", *labels), rows)
    if form == "json":
        emit(as_json({"notes": finished.summary["notes"], "references": parts}))
    elif form == "csv":
        found = [
            {"reference": name, **row}
            for name, one in parts.items()
            for row in rate_rows(one, rubric)
        ]
        emit(rows_as_csv(found))
    elif form == "md":
        emit(markdown_table(table))
    else:
        print_facts([("note", text) for text in finished.summary["notes"]])
        print_tables([table])
    return [*parts.values()]
