"""`judge validate RUN...`: how far judges agree with readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from judge.cli.drawn import (
    check_drawn,
    figures_option,
    html_option,
    say_drawn,
    write_html,
)
from judge.cli.metric_files import metric_options, read_files
from judge.cli.options import (
    GroupedCommand,
    heading,
    patient_option,
    resamples_option,
    resampling,
    seed_option,
)
from judge.cli.output import format_of, note, print_document

if TYPE_CHECKING:
    from judge.validating.raters import RatedStudies


_TABLES = (
    *("judges", "agreement", "no_significant_error", "no_actionable_error", "limits", "errors"),
    *("preference", "alternative_annotator"),
)


@click.command("validate", GroupedCommand)
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@heading("Readers")
@click.option(
    "--readers",
    multiple=True,
    required=True,
    metavar="[NAME=]RUN",
    help="The run of a reader of the same reports, as judge import makes it (repeatable), or a "
    "folder of such runs.",
)
@metric_options
@heading("Statistics")
@click.option(
    "--epsilon",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="How much better a reader may be than the judge in the alternative-annotator test: 0.2 "
    "for experts, 0.15 for trained readers, 0.1 for laypeople.",
)
@click.option(
    "--level",
    type=click.Choice(["actionable", "urgent", "emergent", "significant"]),
    help="Errors of this level or worse count as significant. Default: what each rubric calls so; "
    "actionable where a scale of two meets one of four.",
)
@patient_option
@resamples_option
@seed_option
@heading("Output")
@figures_option(
    "agreement beside the readers' own, counts against the readers', limits of agreement"
)
@html_option(
    "Write a page: the tables, every count as a point, and the studies behind it with what "
    "judge and readers said."
)
@format_of(
    *("table", "md", "latex", "csv", "json"),
    text="What to print on standard output; csv has one table.",
    tables=_TABLES,
)
def command(runs: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
    """Say how far the judges of RUN agree with readers, and readers among themselves.

    The runs are of judges on the reports that the readers read. For every count that the
    rubrics share, the score and further metrics: correlations with the mean of the readers,
    with those of each reader beside them; how often judge and readers agree that a study has
    no significant error; bias and limits of agreement of counts; which of the readers' errors
    the judge found; whether the judge may stand in for a reader (alternative-annotator test).
    No judge is asked. docs/trust.md explains each number.
    """
    from judge.comparing.names import choice
    from judge.pages.validation import MARK
    from judge.tables.validation import validation_document
    from judge.validating.raters import rated, raters
    from judge.validating.validation import validate

    check_drawn(options["html"], options["figures"], MARK)
    files = read_files(options)
    how = resampling(options)
    judges = raters([choice(run) for run in runs], readers=False)
    readers = raters([choice(run) for run in options["readers"]], readers=True)
    studies = rated(judges, readers, files, options["patient_field"], options["level"])
    found = validate(studies, how, options["epsilon"])
    # Runs may turn out to be damaged: before anything is written, not after it.
    pieces = _page(found, studies) if options["html"] else ()
    # Whoever reads the output may stop early, as head does: files come first.
    if options["figures"]:
        from judge.figures import draw_validation

        folder = options["figures"]
        say_drawn(draw_validation(found, studies.values, folder), folder)
    if options["html"]:
        write_html(pieces, options["html"], MARK)
        note(f"page  {options['html']}")
    print_document(validation_document(found), options["form"], found)


def _page(found: Mapping[str, Any], studies: RatedStudies) -> Iterator[str]:
    from judge.pages.validation import Beside, PageRater, page, wanted
    from judge.validating.raters import records

    of = Beside(
        found,
        tuple(PageRater(one.name, one.is_reader, one.run.rubric) for one in studies.raters),
        studies.study_ids,
        studies.study_classes,
        studies.values,
    )
    rows = wanted(of)
    return page(of, rows, records(studies, {studies.study_ids[row] for row in rows}))
