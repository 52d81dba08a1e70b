"""`judge compare RUN RUN ...`: models against each other on the same studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.drawn import check_drawn, figures_option, html_option, say_drawn, write_html
from judge.cli.metric_files import metric_options, read_files
from judge.cli.options import (
    GroupedCommand,
    allow_option,
    common_option,
    family_option,
    heading,
    patient_option,
    primary_option,
    resamples_option,
    resampling,
    seed_option,
)
from judge.cli.output import (
    emit,
    format_of,
    groupings_option,
    list_option,
    note,
    print_document,
    tracked,
)
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.comparing.comparison import AlignedRuns
    from judge.pages.comparison import Records
    from judge.stats.metric import Metric
    from judge.stats.significance import Comparison

_ALIASES = {"pairs": "tests", "errors": "errors"}
"""Formats that are a table as CSV."""
_WITH_COLUMNS = ("table", "md", "latex", "csv")


@click.command("compare", GroupedCommand)
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@heading("Studies")
@groupings_option(
    "Also a leaderboard for each value of this field (study_class, site, dataset, ...), for each "
    "--by; of the combinations of fields for a,b."
)
@common_option
@allow_option
@heading("Metrics")
@click.option(
    "--sort",
    metavar="METRIC",
    help="Rank by this metric: 1/FineRadScore, GREEN, fineradscore_sum, green_errors, ... "
    "Default: the first column that the most models have.",
)
@metric_options
@heading("Tests")
@patient_option
@click.option("--tests/--no-tests", default=True, help="Test differences. Default: yes.")
@family_option
@primary_option
@resamples_option
@click.option(
    "--flips",
    type=click.IntRange(min=100),
    help="Flips of the sign-flip permutation test, for p-values of means. Default: 10000.",
)
@seed_option
@heading("Output")
@figures_option()
@html_option("Write a page: leaderboard, figures, and the studies behind them.")
@click.option(
    "--top-sites",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    help="How many sites, or data sets, by size, a heat map of ranks shows.",
)
@click.option(
    "--highlight",
    multiple=True,
    metavar="MODEL",
    help="Set this model's name in bold in the figures (repeat it).",
)
@list_option(
    "--columns",
    metavar="METRIC",
    help="The metrics that the leaderboards have, named as for --sort (repeat it, or separate "
    "with commas). Default: all.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --format rexrank: write a CSV for all studies and for each group of --by here.",
)
@click.option(
    "--model-info",
    metavar="FILE",
    help="With --format rexrank: a CSV or JSON file with model, date, institution and url.",
)
@format_of(
    *("table", "md", "latex", "csv", "pairs", "errors", "json", "rexrank"),
    text="What to print on standard output; pairs and errors are csv with --table tests and "
    "errors, rexrank has ReXrank's columns.",
    tables=("leaderboard", "errors", "tests", "ranks", "correlations"),
)
def command(runs: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
    """Rank models by their runs on the same studies, and test which differences are real.

    Give one run for each model and rubric. The model is the run's field `model`, else the
    name of its file of predictions (a for preds_a.json); NAME=RUN sets it. Runs of several
    rubrics on one model become one row. No judge is asked.

    Runs that do not fit together are refused, with what differs between them and the option that
    allows it.

    Runs of judge stress compare judges: name them A=RUN B=RUN, with --by change --allow judge.
    """
    from judge.comparing.comparison import compare_runs
    from judge.comparing.names import choice
    from judge.pages.comparison import MARK
    from judge.stats.metric import find

    form = options["form"]
    if options["columns"] and form not in _WITH_COLUMNS:
        raise JudgeError(f"--columns goes with --format {', '.join(_WITH_COLUMNS)}")
    out = options["out"]
    if form != "rexrank" and (out or options["model_info"]):
        raise JudgeError("--out and --model-info go with --format rexrank")
    if form == "rexrank" and options["by"] and not out:
        raise JudgeError("--format rexrank with --by writes a CSV a group: add --out DIR")
    if options["highlight"] and not (options["figures"] or options["html"]):
        raise click.UsageError("--highlight goes with --figures or --html")
    check_drawn(options["html"], options["figures"], MARK)
    files = read_files(options)
    compared, comparison = compare_runs(
        [choice(run) for run in runs],
        resampling(options) if options["tests"] else None,
        sort=options["sort"],
        by=options["by"],
        common=options["common"],
        allow=options["allow"],
        patient_field=options["patient_field"],
        metrics=files,
        track=tracked,
    )
    metrics = comparison.panel.metrics
    columns = tuple(dict.fromkeys(find(metrics, name) for name in options["columns"])) or None
    _check_models(comparison, options["highlight"])
    # Runs may turn out to be damaged: before the figures are drawn, not after it.
    records = _records(comparison, compared) if options["html"] else {}
    # Whoever reads the output may stop early, as head does: files come first.
    if options["figures"]:
        from judge.figures import draw_figures

        drawn = draw_figures(
            comparison,
            options["figures"],
            top_sites=options["top_sites"],
            highlight=options["highlight"],
        )
        say_drawn(drawn, options["figures"])
    if options["html"]:
        _write_page(comparison, records, options)
    if form == "rexrank":
        _rexrank(comparison, out, options["model_info"])
        return
    _print(comparison, compared, form, columns)


def _rexrank(comparison: Comparison, out: Path | None, model_info: str | None) -> None:
    from judge.tables.rexrank import as_rexrank, read_model_info, write_rexrank

    info = read_model_info(model_info) if model_info else {}
    if out:
        for file in write_rexrank(comparison, out, info):
            note(f"ReXrank's columns  {file}")
    else:
        emit(as_rexrank(comparison, info))
    for text in comparison.notes:
        note(text)


def print_leaderboard(runs: Mapping[str, Path], by: Sequence[str], form: str) -> None:
    """Print the models' leaderboard, as `judge compare` does without further options."""
    from judge.comparing.comparison import compare_runs
    from judge.comparing.names import RunChoice
    from judge.stats.significance import Resampling

    named = [RunChoice(path, str(path), model) for model, path in runs.items()]
    compared, comparison = compare_runs(named, Resampling(), by=by)
    _print(comparison, compared, form)


def _records(comparison: Comparison, compared: AlignedRuns) -> Records:
    from judge.comparing.comparison import records
    from judge.pages.comparison import wanted

    return records(compared, wanted(comparison))


def _check_models(comparison: Comparison, names: Sequence[str]) -> None:
    models = comparison.panel.models
    if unknown := [name for name in names if name not in models]:
        raise JudgeError(
            f"--highlight {unknown[0]}: there is no such model, there are {', '.join(models)}"
        )


def _write_page(comparison: Comparison, records: Records, options: Mapping[str, Any]) -> None:
    from judge.figures import available, page_figures
    from judge.pages.comparison import MARK, page

    drawn = options["top_sites"], options["highlight"]
    figures = page_figures(comparison, *drawn) if available() else ()
    write_html(page(comparison, records, figures=figures), options["html"], MARK)
    note(f"page  {options['html']}")


def _print(
    comparison: Comparison,
    compared: AlignedRuns,
    form: str,
    columns: Sequence[Metric] | None = None,
) -> None:
    from judge.tables.comparison import as_data, comparison_document

    is_csv = form == "csv" or form in _ALIASES
    document = comparison_document(comparison, compared, columns, complete=is_csv)
    if form in _ALIASES:
        document = document.only([_ALIASES[form]])
    is_json = form == "json"
    data = as_data(comparison, [run.described() for run in compared.runs]) if is_json else None
    print_document(document, "csv" if is_csv else form, data)
