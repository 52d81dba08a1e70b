"""`judge validate RUN...`: how far judges agree with readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from judge.cli.drawn import (
    check_drawn,
    figures_option,
    html_option,
    put,
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
from judge.cli.output import format_of, note

if TYPE_CHECKING:
    from judge.validating.raters import RatedStudies


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
    text="What to print on standard output; csv has a number a row.",
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
    from judge.comparing.run_choice import choice
    from judge.pages.validation import MARK
    from judge.tables import validation as printed
    from judge.validating.raters import align_raters, open_raters
    from judge.validating.validation import compute_validation

    check_drawn(options["html"], options["figures"], MARK)
    files = read_files(options)
    judges = open_raters([choice(run) for run in runs], readers=False)
    readers = open_raters([choice(run) for run in options["readers"]], readers=True)
    studies = align_raters(judges, readers, files, options["patient_field"], options["level"])
    validation = compute_validation(studies, resampling(options), options["epsilon"])
    # A damaged run is found before anything is written.
    pieces = _page(validation, studies) if options["html"] else ()
    # Files come first: a pipe, such as to head, may end the output early.
    if options["figures"]:
        from judge.figures import draw_validation

        folder = options["figures"]
        say_drawn(draw_validation(validation, studies.values, folder), folder)
    if options["html"]:
        write_html(pieces, options["html"], MARK)
        note(f"page  {options['html']}")
    put(validation, printed, options["form"])


def _page(validation: Mapping[str, Any], studies: RatedStudies) -> Iterator[str]:
    from judge.pages.validation import Beside, PageRater, page, wanted

    side_by_side = Beside(
        validation,
        tuple(PageRater(rater.name, rater.is_reader, rater.run.rubric) for rater in studies.raters),
        studies.study_ids,
        studies.study_classes,
        studies.values,
    )
    rows = wanted(side_by_side)
    records = studies.records({studies.study_ids[row] for row in rows})
    return page(side_by_side, rows, records)
