"""`judge audit`, `errors` and `rates`: what a run found."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import click

from judge.cli.options import (
    PATH,
    POSITIVE_INTEGER,
    GroupedCommand,
    GroupedOption,
    align_options,
    by_option,
    check_floor_table,
    drawn_at_random_option,
    floor_option,
    output_options,
    patient_option,
    readers_option,
    require,
    resamples_option,
    rows_option,
    seed_option,
)
from judge.cli.output import note, print_document, print_summary
from judge.cli.run_options import RUN_TABLES
from judge.tables.document import Document

_output_option = partial(click.option, cls=GroupedOption, group="Output")


@click.command(
    "audit",
    cls=GroupedCommand,
    examples=["judge audit RUN", "judge audit RUN ex-008 --raw"],
    page="docs/auditing.md",
)
@click.argument("run", type=PATH)
@click.argument("study_id", metavar="[STUDY_ID]", required=False)
@click.option("--raw", is_flag=True, help="Show the judge's raw answer too.")
@rows_option("How many of the worst studies are listed. Default, without STUDY_ID: 10.")
@output_options(
    ["worst", "unscored", "precision", "agreement"],
    text="A study is printed as text (table) or json.",
)
def audit(
    *,
    run: Path,
    study_id: str | None,
    raw: bool,
    rows: int | None,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Show one study of RUN with its errors, or list the worst studies.

    Of a run in which no study has a score, the list says why.

    A study is shown with reference, candidate, errors (with the words they are about), matched
    findings and the judge's explanation. Rubrics that correct lines show their edits. Where the
    run was reviewed in judge serve, the list says how right the judge was (precision), and a study
    has its reviews; judge runs export RUN --reviews has all.
    """
    from judge.running.folder import RunFolder
    from judge.stats.summary import worst_rows
    from judge.study.reviews import RunReviews
    from judge.study.terminal import audit as audit_lines
    from judge.tables.reviews import review_lines, reviews_document
    from judge.tables.run import unscored_table, worst_table
    from judge.tables.terminal import shown, terminal

    if study_id is not None and rows is not None:
        raise click.UsageError("give only one of STUDY_ID and --rows")
    require(study_id is not None, "STUDY_ID", "raw")
    require(study_id is None, "the list of studies", "table")
    if study_id is not None and form not in ("table", "json"):
        raise click.UsageError("a study is printed with --format table or json")
    opened = RunFolder.open(run)
    if study_id is not None:
        out = terminal()
        has_colour = out.color_system is not None and not out.no_color
        record = opened.record(study_id)
        reviews = RunReviews.read(opened)
        said = []
        if reviews is not None:
            said = review_lines(reviews, study_id, opened.rubric)
        if form == "json":
            print_document(Document(), form, {**record, "reviews": said})
            return
        lines = audit_lines(
            record, opened.rubric, raw=raw, has_colour=has_colour, reviews=said
        )
        # Reports are text from outside and never read as markup.
        for line in lines:
            click.echo("\n".join(shown(line, out)))
    else:
        n_listed = rows or 10
        worst = worst_rows(opened.table(), opened.rubric, n_listed)
        listed = worst_table(worst, opened.rubric)
        if not worst:
            # Of a run without a score one wants to know why.
            listed = unscored_table(islice(opened.records(), n_listed))
        document = Document(tables=[listed])
        data: dict[str, object] = {"worst": worst, "reviews": None}
        reviews = RunReviews.read(opened)
        if reviews is not None:
            of_reviews = reviews_document(reviews.summary, opened.rubric)
            tables = [*document.tables, *of_reviews.tables]
            document = replace(of_reviews, tables=tables)
            data["reviews"] = reviews.summary.plain()
        print_document(document, form, data, table)
        if rows is None:
            note(f"judge audit {run} STUDY_ID shows one of them")


@click.command(
    "errors",
    cls=GroupedCommand,
    examples=["judge errors RUN --rows 5"],
    page="docs/auditing.md",
)
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...", required=True)
@align_options
@rows_option(
    "How many of the most frequent errors are printed; json and csv have all.",
    default=15,
    group="Output",
)
@_output_option(
    "--min-studies",
    type=POSITIVE_INTEGER,
    metavar="STUDIES",
    help=(
        "In how many studies an error must occur at least. Default: 2; with two runs 10, of "
        "either."
    ),
)
@_output_option(
    "--without-warnings",
    is_flag=True,
    help=(
        "Leave out errors that an answer was read with a warning about, such as those that share "
        "no word with either report."
    ),
)
@patient_option(group="Output")
@seed_option(group="Output")
@output_options(["recurring"], group="Output")
def errors(
    *,
    runs: tuple[str, ...],
    allow: tuple[str, ...],
    common: bool,
    rows: int,
    min_studies: int | None,
    without_warnings: bool,
    patient_field: str | None,
    seed: int,
    table: tuple[str, ...],
    form: str,
) -> None:
    """List the errors that recur in RUN: same category, same finding.

    Counts the studies with each and names some, for judge audit RUN STUDY_ID. With two runs of one
    rubric on the same studies, a paired test says which model makes an error more often.
    """
    from judge.comparing.alignment import choice
    from judge.comparing.recurring import recurring_in
    from judge.tables.recurring import recurring_document

    require(len(runs) > 1, "two runs", "common", "allow", "seed")
    require(form not in ("json", "csv"), "--format table, md or latex", "rows")
    recurring = recurring_in(
        [choice(run) for run in runs],
        min_studies=min_studies,
        without_warnings=without_warnings,
        patient_field=patient_field,
        seed=seed,
        common=common,
        allow=allow,
    )
    document = recurring_document(recurring, rows, complete=form == "csv")
    print_document(document, form, recurring.data, table)
    if form == "table" and document.tables:
        note("judge audit RUN STUDY_ID shows one of the examples")


@click.command(
    "rates",
    cls=GroupedCommand,
    examples=["judge rates RUN --by site --by site,study_class"],
    page="docs/numbers.md",
)
@click.argument("run", type=PATH)
@by_option("Group the rates by this field.", default=["study_class"])
@readers_option("Correct the judge's bias by readers of studies drawn at random. ")
@drawn_at_random_option()
@floor_option(
    "The folder of judge stress run, whose judge is that of RUN: show its errors on harmless "
    "changes beside each figure, and the figures without as many.",
)
@patient_option()
@resamples_option()
@seed_option()
@output_options([*RUN_TABLES, "floor"])
def rates(
    *,
    run: Path,
    by: tuple[str, ...],
    readers: tuple[str, ...],
    at_random: bool,
    floor: Path | None,
    patient_field: str | None,
    resamples: int | None,
    seed: int,
    table: tuple[str, ...],
    form: str,
) -> None:
    """Show the rates of RUN again, grouped by any field, without asking a judge.

    With --readers each figure is printed beside one with the judge's bias removed, and beside the
    readers' own; docs/trust.md says when that is valid. With --floor each figure is printed beside
    the same judge's on reports that were only reworded; docs/stress.md says what that tells.
    """
    from judge.running.folder import RunFolder
    from judge.stats.intervals import Draws

    require(bool(readers), "--readers", "at_random")
    if floor and readers:
        raise click.UsageError(
            "--readers and --floor both correct the figures: give one of them; readers correct "
            "more, missed errors too"
        )
    check_floor_table(table, has_floor=floor is not None)
    opened = RunFolder.open(run)
    draws = Draws(seed, resamples)
    if readers:
        from judge.comparing.alignment import choice
        from judge.validating.bias_correction import corrected_summary

        summary = corrected_summary(
            opened,
            by,
            [choice(reader) for reader in readers],
            at_random=at_random,
            patient_field=patient_field,
            draws=draws,
        )
    else:
        summary = opened.regrouped(by, patient_field, draws)
    report = None
    if floor is not None:
        from judge.stress.floor import run_floor

        report = run_floor(opened, summary, floor, draws)
    print_summary(summary, opened.rubric, form, table, floor=report)
