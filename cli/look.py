"""`judge audit`, `errors`, `rates` and `page`: what a run found."""

from __future__ import annotations

from pathlib import Path

import click

from judge.cli.options import (
    NEW_FILE,
    NEW_FOLDER,
    AlignOptions,
    argument,
    by_option,
    command,
    format_option,
    option,
    options,
    patient_option,
    require,
    resamples_option,
    seed_option,
    table_option,
)
from judge.cli.output import note, print_document, print_summary
from judge.tables.document import Document


@options
class _Audit:
    run: Path = argument()
    study_id: str | None = argument("[STUDY_ID]")
    raw: bool = option("--raw", "Show the judge's raw answer too.")
    worst: int | None = option(
        "--worst N", "List the N worst studies. Default, without STUDY_ID: 10."
    )
    html: Path | None = option(
        "--html FILE",
        "Write the whole run as one page that opens offline.",
        type=NEW_FILE,
    )


@command("audit")
def audit(options: _Audit) -> None:
    """Show one study of RUN with its errors, or list the worst studies.

    A study is shown with reference, candidate, errors (with the words they are about), matched
    findings and the judge's explanation. Rubrics that correct lines show their edits.

    \b
    judge audit RUN
    judge audit RUN ex-008 --raw
    judge audit RUN --html run.html
    """
    from judge.pages.run import write_page
    from judge.running.folder import RunFolder
    from judge.stats.summary import worst_rows
    from judge.study.terminal import audit as audit_lines
    from judge.tables.run import worst_table
    from judge.tables.terminal import shown, terminal

    if [options.study_id, options.worst, options.html].count(None) < 2:
        raise click.UsageError("give only one of STUDY_ID, --worst and --html")
    require(options.study_id is not None, "STUDY_ID", "raw")
    run = RunFolder.open(options.run)
    if options.html is not None:
        write_page(run, options.html)
        note(f"page  {options.html}")
    elif options.study_id is not None:
        out = terminal()
        has_colour = out.color_system is not None and not out.no_color
        record = run.record(options.study_id)
        # Reports are text from outside and never read as markup.
        for line in audit_lines(
            record, run.rubric, raw=options.raw, has_colour=has_colour
        ):
            click.echo("\n".join(shown(line, out)))
    else:
        rows = worst_rows(run.table(), run.rubric, options.worst or 10)
        print_document(Document(tables=[worst_table(rows, run.rubric)]))
        if options.worst is None:
            note(f"judge audit {options.run} STUDY_ID shows one of them")


@options
class _Errors(AlignOptions):
    GROUP = "Output"

    runs: tuple[str, ...] = argument("[NAME=]RUN [[NAME=]RUN]", required=True)
    top: int = option(
        "--top N", "Rows of the table; JSON and CSV have all.", default=15
    )
    min_studies: int | None = option(
        "--min-studies N",
        "Studies in which an error must occur. Default: 2; with two runs 10, of either.",
    )
    without_warnings: bool = option(
        "--without-warnings",
        "Leave out errors that an answer was read with a warning about, such as those that share "
        "no word with either report.",
    )
    patient_field: str | None = patient_option()
    seed: int = seed_option()
    form: str = format_option("table", "json", "csv", "md")


@command("errors")
def errors(options: _Errors) -> None:
    """List the errors that recur in RUN: same category, same finding.

    Counts the studies with each and names some, for judge audit RUN STUDY_ID. With two runs of one
    rubric on the same studies, a paired test says which model makes an error more often.
    """
    from judge.comparing.alignment import choice
    from judge.comparing.recurring import recurring_in
    from judge.tables.recurring import recurring_document

    require(len(options.runs) > 1, "two runs", "common", "allow", "seed")
    require(options.form in ("table", "md"), "--format table or md", "top")
    between = {"common": options.common, "allow": options.allow}
    recurring = recurring_in(
        [choice(run) for run in options.runs],
        min_studies=options.min_studies,
        without_warnings=options.without_warnings,
        patient_field=options.patient_field,
        seed=options.seed,
        **between,
    )
    document = recurring_document(
        recurring, options.top, complete=options.form == "csv"
    )
    print_document(document, options.form, recurring.data)
    if options.form == "table" and document.tables:
        note("judge audit RUN STUDY_ID shows one of the examples")


@options
class _Rates:
    run: Path = argument()
    by: tuple[str, ...] = by_option(
        "Group the rates by this field, one table for each --by; a,b groups by combinations.",
        default=("study_class",),
    )
    readers: tuple[Path, ...] = option(
        "--readings READER_RUN",
        "Correct the judge's bias by a reader's run (repeatable), or a folder of them, on studies "
        "that were drawn at random.",
    )
    at_random: bool = option(
        "--readings-at-random",
        "Treat the studies of --readings as drawn at random, even if their runs do not say so.",
    )
    patient_field: str | None = patient_option()
    resamples: int | None = resamples_option()
    seed: int = seed_option()
    table: tuple[str, ...] = table_option(
        "rates", "corrected", "errors", "unread", "warnings"
    )
    form: str = format_option("table", "json", "csv", "md")


@command("rates")
def rates(options: _Rates) -> None:
    """Show the rates of RUN again, grouped by any field, without asking a judge.

    With --readings each figure stands beside one with the judge's bias removed, and beside the
    readers' own; docs/trust.md says when that is valid.

    \b
    judge rates RUN --by site --by site,study_class
    """
    from judge.running.folder import RunFolder
    from judge.stats.intervals import Draws

    require(bool(options.readers), "--readings", "at_random")
    run = RunFolder.open(options.run)
    draws = Draws(options.seed, options.resamples)
    if options.readers:
        from judge.validating.bias_correction import corrected_summary

        summary = corrected_summary(
            run,
            options.by,
            options.readers,
            at_random=options.at_random,
            patient_field=options.patient_field,
            draws=draws,
        )
    else:
        summary = run.regrouped(options.by, options.patient_field, draws)
    print_summary(summary, run.rubric, options.form, options.table)


@options
class _Page:
    runs: tuple[Path, ...] = argument("RUN...")
    out: Path = option(
        "--out DIR",
        "The folder of the site. A comparison.html in it (judge compare RUN... --html) is linked.",
        required=True,
        type=NEW_FOLDER,
    )


@command("page")
def page(options: _Page) -> None:
    """Write a page for each RUN and an index.html that lists them, for a paper's supplement.

    The pages need no server and no network: index.html opens from the folder. A page is named
    after the run's folder.
    """
    from judge.pages.run import write_site

    note(f"site  {write_site(options.runs, options.out)}")
