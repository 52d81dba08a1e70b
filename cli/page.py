"""`judge page`: what was found as pages that open without a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from judge.cli.compare import check_tests, comparison_options
from judge.cli.options import (
    GroupedCommand,
    draw_option,
    out_option,
    read_metric_files,
    readers_option,
    require,
)
from judge.cli.output import note, note_once, tracked
from judge.cli.validate import rated_studies, validation_options
from judge.figures import COMPARISON_FIGURES, usual

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from judge.comparing.metric_files import MetricFile
    from judge.stats.significance import Resampling

_OF_COMPARISONS = (
    "allow",
    "common",
    "by",
    "tests",
    "primary",
    "family",
    "flips",
    "sort",
    "only",
)
"""The options that change a comparison and nothing else."""
_OF_VALIDATIONS = ("epsilon", "random_readers", "level")
_OF_BOTH = ("files", "higher", "lower", "patient_field", "resamples", "seed")


@click.command(
    "page",
    cls=GroupedCommand,
    rare=[
        "--allow",
        "--common",
        "--metrics",
        "--higher-is-better",
        "--lower-is-better",
        "--patient-field",
        "--tests",
        "--primary",
        "--family",
        "--sort",
        "--epsilon",
        "--random-readers",
        "--level",
        "--draw",
    ],
    examples=[
        "judge page RUN --out run.html",
        "judge page RUN OTHER --by study_class --out models.html",
        "judge page RUN --readers readers --out validation.html",
        "judge page RUN OTHER --out site",
    ],
    page="docs/auditing.md",
)
@click.argument("runs", nargs=-1, metavar="[NAME=]RUN...", required=True)
@out_option(
    "The file, if it ends in .html; else a folder of pages with an index.",
    metavar="FILE|DIR",
    required=True,
    group="Output",
)
@readers_option(group="Readers")
@comparison_options
@validation_options
@draw_option(COMPARISON_FIGURES, usual(COMPARISON_FIGURES), group="Output")
def page(
    *,
    runs: tuple[str, ...],
    out: Path,
    readers: tuple[str, ...],
    allow: tuple[str, ...],
    common: bool,
    by: tuple[str, ...],
    files: tuple[str, ...],
    higher: tuple[str, ...],
    lower: tuple[str, ...],
    patient_field: str | None,
    resamples: int | None,
    seed: int,
    tests: bool,
    primary: str | None,
    family: Literal["groups", "table", "metric", "all"] | None,
    flips: int | None,
    sort: str | None,
    epsilon: float,
    random_readers: bool,
    level: str | None,
    only: tuple[str, ...],
) -> None:
    """Write what RUN found as a page, or several as a folder of pages.

    The pages need no server and no network. They hold the reports.

    \b
    one RUN, FILE.html    the run, and every study with its errors
    several, FILE.html    the comparison of their models
    --readers, FILE.html  judges beside readers, as judge validate
    any, FOLDER           an index, a page for each run, the comparison

    The options are those of judge compare and judge validate. A folder has no comparison if the
    runs cannot be compared; a note says why. The folder of judge run stands for its runs.
    """
    from judge.comparing.alignment import COMPARED_AXES, choices_of
    from judge.comparing.run_arguments import chosen_runs
    from judge.figures.files import require_converter
    from judge.files import check_writable, write_html
    from judge.pages.bundle import MARK
    from judge.pages.run import write_page
    from judge.running.folder import RunFolder
    from judge.stats.significance import Resampling

    is_file = out.suffix.lower() in (".html", ".htm")
    require(not readers, "runs without --readers", *_OF_COMPARISONS)
    require(bool(readers), "--readers", *_OF_VALIDATIONS)
    check_tests(tests=tests, primary=primary, family=family)
    if readers and not is_file:
        raise click.UsageError("--readers makes one page: write --out FILE.html")
    if only:
        require_converter()
    if is_file:
        check_writable(out, mark=MARK)
    how = Resampling(
        seed=seed,
        resamples=resamples,
        flips=flips,
        family=family or "groups",
        primary=primary,
    )
    metrics = read_metric_files(files, higher=higher, lower=lower)
    if readers:
        pieces = _validation(
            runs,
            readers,
            how,
            metrics,
            epsilon=epsilon,
            random_readers=random_readers,
            patient_field=patient_field,
            level=level,
        )
        write_html(pieces, out, MARK)
        note(f"page  {out}")
        return
    axes: tuple[str, ...] = COMPARED_AXES
    if not is_file:
        # Runs of several data sets have no comparison, but a page each.
        axes = (*COMPARED_AXES, "data", "section", "judge")
    chosen = chosen_runs(choices_of(runs, axes))
    note_once(chosen.skipped)
    is_one = len(chosen.choices) == 1
    require(not is_one, "several runs", *_OF_COMPARISONS)
    require(not is_one, "several runs or --readers", *_OF_BOTH)
    if is_file and is_one:
        write_page(RunFolder.open(chosen.choices[0].path), out)
        note(f"page  {out}")
        return

    def compared() -> Iterator[str]:
        from judge.comparing.comparison import compare_runs, records
        from judge.pages.comparison import ComparisonPage, wanted
        from judge.pages.screens import Screens

        runs, comparison = compare_runs(
            chosen.choices,
            how if tests else None,
            draws=how.draws,
            sort=sort,
            by=by,
            common=common,
            allow=allow,
            patient_field=patient_field,
            metrics=metrics,
            notes=chosen.skipped,
            track=tracked,
        )
        screens = Screens(runs, comparison)
        # A damaged run is found here, before the figures are drawn.
        studies = records(runs, wanted(comparison, also=screens.study_ids))
        return ComparisonPage.of(runs, comparison, only).file(studies, screens)

    if is_file:
        write_html(compared(), out, MARK)
        note(f"page  {out}")
        return
    _write_folder([choice.path for choice in chosen.choices], out, compared)


def _write_folder(
    runs: Sequence[Path], out: Path, compared: Callable[[], Iterator[str]]
) -> None:
    """Write the pages of runs, of their comparison if there is one, and the index of both."""
    from judge.pages.site import check_site, write_site
    from judge.types import JudgeError

    opened = check_site(runs, out)
    comparison = None
    if len(opened) > 1:
        try:
            comparison = compared()
        except JudgeError as error:
            note(f"no comparison: {error}")
    note(f"site  {write_site(opened, out, comparison)}")


def _validation(
    runs: Sequence[str],
    readers: Sequence[str],
    how: Resampling,
    metrics: Sequence[MetricFile],
    *,
    epsilon: float,
    random_readers: bool,
    patient_field: str | None,
    level: str | None,
) -> Iterator[str]:
    """Return the page of judges beside readers; a damaged run is found before it is written."""
    from judge.pages.validation import validation_page
    from judge.validating.validation import compute_validation

    studies = rated_studies(
        runs, readers, metrics, patient_field=patient_field, level=level
    )
    validation = compute_validation(
        studies, how, epsilon, random_readers=random_readers
    )
    return validation_page(validation, studies)
