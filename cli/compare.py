"""`judge compare RUN RUN ...`: models against each other on the same studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.drawn import check_drawn, figures_option, html_option, say_drawn
from judge.cli.metric_files import metric_options, read_files
from judge.cli.options import (
    GroupedCommand,
    heading,
    patient_option,
    resamples_option,
    resampling,
    seed_option,
)
from judge.cli.output import (
    emit,
    format_of,
    list_option,
    note,
    print_facts,
    print_tables,
    readings_at_random_option,
)
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.comparing.comparison import AlignedRuns
    from judge.report.compare_page.data import Records
    from judge.report.leaderboard import Shown
    from judge.stats.compare import Comparison


_CHOSEN_IN = ("table", "md", "latex")
"""The formats of which --tables and --columns choose parts."""


@click.command("compare", GroupedCommand)
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@heading("Studies")
@list_option(
    "--by",
    metavar="FIELD",
    help="Also a leaderboard for each value of this field (study_class, site, dataset, ...; repeat "
    "it, or separate with commas, for combinations).",
)
@click.option(
    "--by-section",
    is_flag=True,
    help="The runs of each section by themselves, one leaderboard a section (with --format table "
    "and md).",
)
@click.option("--common", is_flag=True, help="Compare on the studies that all runs have.")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(("judge", "prompt", "references")),
    help="What may differ: the judge or the prompt of a rubric, the references (repeatable).",
)
@heading("Metrics")
@click.option(
    "--sort",
    metavar="METRIC",
    help="Rank by this metric: 1/FineRadScore, GREEN, fineradscore_sum, green_errors, ... "
    "Default: the first column that the most models have.",
)
@metric_options
@heading("Readers")
@click.option(
    "--readings",
    "readings",
    multiple=True,
    metavar="[NAME=]READER_RUN",
    help="Print beside the figures of the model that this reader's run is about those with the "
    "judge's bias taken out (repeatable; with --format table and json; docs/corrected.md).",
)
@readings_at_random_option
@heading("Tests")
@patient_option
@click.option("--tests/--no-tests", default=True, help="Test differences. Default: yes.")
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
@list_option(
    "--tables",
    metavar="NAME",
    help="What to print: leaderboard, errors, tests, ranks, correlations (repeat it, or separate "
    "with commas). Default: all.",
)
@list_option(
    "--columns",
    metavar="METRIC",
    help="The metrics that the leaderboards have, named as for --sort (repeat it, or separate "
    "with commas). Default: all.",
)
@format_of(
    *("table", "md", "latex", "csv", "pairs", "errors", "json", "rexrank"),
    text="What to print on standard output; pairs is the tests as CSV, errors the errors by "
    "category, rexrank ReXrank's columns.",
)
def command(runs: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
    """Rank models by their runs on the same studies, and test which differences are real.

    Give one run for each model and rubric. The model is the run's field `model`, else the
    name of its file of predictions (a for preds_a.json); NAME=RUN sets it. Runs of several
    rubrics on one model become one row. No judge is asked.

    Runs that do not fit together are refused, with a table of what differs between them and the
    option that allows it.

    Runs of judge stress compare judges: name them A=RUN B=RUN, with --by change --allow judge.
    """
    if options.pop("by_section"):
        for section, members in _by_section(runs, options).items():
            emit(f"## Section {section}\n" if options["form"] == "md" else f"Section {section}\n")
            _compare(members, options)
        return
    _compare(runs, options)


def _by_section(runs: Sequence[str], options: Mapping[str, Any]) -> dict[str, list[str]]:
    from judge.comparing.names import choice
    from judge.running.folder import Run

    if options["form"] not in ("table", "md") or options["figures"] or options["html"]:
        raise JudgeError(
            "--by-section goes with --format table and md, without --figures and --html: give the "
            "runs of one section for these"
        )
    found: dict[str, list[str]] = {}
    for run in runs:
        found.setdefault(Run(choice(run).path).manifest["section"], []).append(run)
    return found


def _compare(runs: Sequence[str], options: Mapping[str, Any]) -> None:
    from judge.comparing.comparison import compare_runs
    from judge.comparing.names import choice
    from judge.report.compare_page.data import MARK
    from judge.report.leaderboard import TABLES, Shown, check_tables
    from judge.stats.metric import find

    if (options["tables"] or options["columns"]) and options["form"] not in _CHOSEN_IN:
        raise JudgeError(
            f"--tables and --columns choose what --format {', '.join(_CHOSEN_IN)} print; "
            f"--format {options['form']} has everything that belongs in it"
        )
    if options["at_random"] and not options["readings"]:
        raise JudgeError("--readings-at-random goes with --readings")
    if options["readings"] and options["form"] not in ("table", "json"):
        raise JudgeError("--readings goes with --format table or json")
    check_tables(options["tables"])
    check_drawn(options["html"], options["figures"], MARK)
    files = read_files(options)
    readings = _readings(options["readings"])
    how = resampling(options)
    opened, comparison = compare_runs(
        [choice(run) for run in runs],
        how if options["tests"] else None,
        sort=options["sort"],
        by=options["by"],
        common=options["common"],
        allow=options["allow"],
        patient_field=options["patient_field"],
        metrics=files,
    )
    metrics = comparison.panel.metrics
    corrected = _corrected(comparison, opened, readings, options) if readings else None
    columns = tuple(dict.fromkeys(find(metrics, name) for name in options["columns"])) or None
    shown = Shown(options["tables"] or TABLES, columns)
    # Runs may turn out to be damaged: before the figures are drawn, not after it.
    read = _records(comparison, opened) if options["html"] else {}
    # Whoever reads the output may stop early, as head does: files come first.
    if options["figures"]:
        _draw(comparison, options["figures"], options["top_sites"])
    if options["html"]:
        _write_page(comparison, read, options["html"], options["top_sites"])
    _print(comparison, opened, options["form"], shown, corrected)


def print_leaderboard(runs: Mapping[str, Path], by: Sequence[str], form: str) -> None:
    """Print the models' leaderboard, as `judge compare` does without further options."""
    from judge.comparing.comparison import compare_runs
    from judge.comparing.names import choice
    from judge.report.leaderboard import TABLES, Shown
    from judge.stats.paired import Resampling

    named = [choice(f"{model}={path}") for model, path in runs.items()]
    opened, comparison = compare_runs(named, Resampling(), by=by)
    _print(comparison, opened, form, Shown(TABLES, None), None)


def _readings(runs: Sequence[str]) -> dict[str, list[Path]]:
    if not runs:
        return {}
    from judge.comparing.names import choice
    from judge.validating.corrected import readings_by_model
    from judge.validating.raters import readers_below

    return readings_by_model([each for run in runs for each in readers_below(choice(run))])


def _corrected(
    comparison: Comparison,
    opened: AlignedRuns,
    readings: Mapping[str, Sequence[Path]],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    from judge.validating.corrected import corrected_models

    return corrected_models(
        opened.runs,
        comparison.panel.study_ids,
        readings,
        at_random=options["at_random"],
        patient_field=comparison.panel.patient_field or "none",
    )


def _records(comparison: Comparison, opened: AlignedRuns) -> Records:
    from judge.comparing.comparison import records
    from judge.report.compare_page.data import wanted

    return records(opened.runs, wanted(comparison))


def _draw(comparison: Comparison, folder: Path, top_sites: int) -> None:
    from judge.plots import draw_figures

    say_drawn(draw_figures(comparison, folder, top_sites=top_sites), folder)


def _write_page(comparison: Comparison, read: Records, path: Path, top_sites: int) -> None:
    from judge.cli.page import write_html
    from judge.plots import available, page_figures
    from judge.report.compare_page.data import MARK, page

    pieces = page(
        comparison,
        read,
        figures=page_figures(comparison, top_sites=top_sites) if available() else (),
    )
    write_html(pieces, path, MARK)
    note(f"page  {path}")


def _print(
    comparison: Comparison,
    opened: AlignedRuns,
    form: str,
    shown: Shown,
    corrected: Mapping[str, Any] | None,
) -> None:
    from judge.report import leaderboard_formats as formats
    from judge.report.formats import as_json
    from judge.report.leaderboard import all_tables

    if form == "table":
        print_facts(_facts(comparison, opened))
        print_tables(all_tables(comparison, shown))
        if corrected:
            _print_corrected(corrected)
        emit(f"signature  {comparison.signature}")
        for one in corrected["readings"] if corrected else ():
            emit(f"corrected  {one['model']}: {one['signature']}")
        return
    if form == "json":
        data = formats.as_data(comparison, [run.described() for run in opened.runs])
        emit(as_json({**data, "corrected": corrected} if corrected else data))
    elif form in _CHOSEN_IN:
        written = formats.as_markdown if form == "md" else formats.as_latex
        emit(written(comparison, shown))
    else:
        rows = {
            "csv": formats.as_csv,
            "pairs": formats.pairs_as_csv,
            "errors": formats.errors_as_csv,
            "rexrank": formats.as_rexrank,
        }
        emit(rows[form](comparison))
    for text in comparison.notes:
        note(text)


def _print_corrected(corrected: Mapping[str, Any]) -> None:
    from judge import rubrics
    from judge.report.tables import corrected_model_tables, readings_facts

    loaded = {name: rubrics.load(name) for name in (one["rubric"] for one in corrected["readings"])}
    facts = [
        (name, f"{one['model']}: {text}")
        for one in corrected["readings"]
        for name, text in readings_facts(one, loaded[one["rubric"]])
    ]
    print_facts(dict.fromkeys(facts))
    print_tables(corrected_model_tables(corrected["figures"], loaded))


def _facts(comparison: Comparison, opened: AlignedRuns) -> list[tuple[str, str]]:
    panel = comparison.panel
    facts = [("models", str(len(panel.models))), ("studies", f"{len(panel.study_ids):,}")]
    for rubric in dict.fromkeys(run.rubric for run in opened.runs):
        judges = dict.fromkeys(run.judge for run in opened.runs if run.rubric == rubric)
        facts.append((f"judge of {rubric}", ", ".join(judges)))
    facts.append(("section", opened.runs[0].section))
    if comparison.how and len(panel.models) > 1:
        facts.append(("resampled by", panel.patient_field or "study"))
    return facts + [("note", text) for text in comparison.notes]
