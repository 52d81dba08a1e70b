"""`judge sample RUN`: the studies that readers read, drawn at random, and how many it takes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import GroupedCommand, heading
from judge.cli.output import emit, format_of, list_option, note, print_facts, print_tables

if TYPE_CHECKING:
    from judge.readers.sample import Sample
    from judge.running.folder import Run
    from judge.stats.planning import Plan


@click.command("sample", GroupedCommand, short_help="Draw the studies that readers read.")
@click.argument("run", type=click.Path(path_type=Path))
@heading("Sample")
@click.option(
    "-n",
    type=click.IntRange(min=1),
    metavar="N",
    help="So many studies in all: what the sample kept with the run lacks is drawn. Without it "
    "the one that is kept is shown.",
)
@list_option(
    "--by",
    metavar="FIELD",
    help="Draw from each group of studies by this field, about in proportion to its size (repeat "
    "it, or separate with commas, for several). Default: study_class.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Of the order. Default: 1.")
@heading("Plan")
@click.option(
    "--plan",
    "is_plan",
    is_flag=True,
    help="Say how many studies to read until the interval of a rate is as narrow as --width.",
)
@click.option(
    "--width",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="From the lower to the upper end of the 95% interval, as a share.",
)
@click.option(
    "--readings",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="READER_RUN",
    help="Plan from the agreement with these readers' runs. Default: with the readings made on "
    "RUN's page.",
)
@heading("Output")
@format_of("table", "json", text="What to print: tables for people, or JSON.")
def command(
    *,
    run: Path,
    n: int | None,
    by: list[str],
    seed: int | None,
    is_plan: bool,
    width: float,
    readings: tuple[Path, ...],
    form: str,
) -> None:
    """Draw N studies of RUN at random, in the order in which readers are to read them.

    The sample is kept with the run. A larger one later begins with those of this one, and is as
    good as drawn at once. A reader who stops early has read a random sample too. Studies that the
    judge could not score are drawn as any other.
    """
    from judge.running.folder import Run

    opened = Run(run)
    if is_plan:
        if n is not None or by or seed is not None:
            raise click.UsageError("--plan draws none: leave out -n, --by and --seed")
        _print_plan(opened, width, [Run(path) for path in readings], form)
        return
    if readings:
        raise click.UsageError("--readings goes with --plan")
    from judge.readers.sample import sampled

    sample = sampled(opened, n, by, seed)
    n_studies = sum(one.n_studies for one in sample.strata)
    if n is not None and n > n_studies:
        note(f"the run has {n_studies:,} studies: all are drawn")
    elif n is not None and n < len(sample.order):
        note(f"{len(sample.order):,} were drawn before, and stay")
    _print_sample(opened, sample, form)


def _print_sample(run: Run, sample: Sample, form: str) -> None:
    from judge.readers.sample import SAMPLE
    from judge.report.formats import as_json
    from judge.report.tables import Table
    from judge.report.words import group_value, number

    n_studies = sum(one.n_studies for one in sample.strata)
    done, begun = _read(run, sample)
    if form == "json":
        strata = [
            {
                "key": {**one.key},
                "n_studies": one.n_studies,
                "n_drawn": one.n_drawn,
                "probability": one.probability,
            }
            for one in sample.strata
        ]
        found: dict[str, Any] = {"run": str(run.path), "seed": sample.seed, "by": [*sample.by]}
        found |= {"n_studies": n_studies, "n_drawn": len(sample.order), "strata": strata}
        emit(as_json({**found, "order": [*sample.order], "read": done, "begun": begun}))
        return
    facts = [("drawn", f"{len(sample.order):,} of {n_studies:,} studies")]
    facts += [("by", ", ".join(sample.by)), ("seed", str(sample.seed))]
    for reader in sorted({*done, *begun}):
        more = f", {begun[reader]:,} begun" if begun[reader] else ""
        facts.append(("read", f"{done[reader]:,} by {reader}{more}"))
    print_facts(facts)
    rows = [
        (
            *map(group_value, one.key.values()),
            f"{one.n_studies:,}",
            f"{one.n_drawn:,}",
            number(one.probability),
        )
        for one in sample.strata
    ]
    head = (*sample.by, "studies", "drawn", "probability")
    print_tables([Table("Sample", head, tuple(rows), len(sample.by))])
    note(f"kept in {run.path / SAMPLE}")


def _read(run: Run, sample: Sample) -> tuple[Counter[str], Counter[str]]:
    """Return how many of the drawn studies each reader has read, and begun."""
    from judge.readers import kept

    drawn = frozenset(sample.order)
    done, begun = Counter[str](), Counter[str]()
    for (reader, study_id), one in kept.current(run.path).items():
        if study_id in drawn:
            (done if one.done else begun)[reader] += 1
    return done, begun


def _print_plan(run: Run, width: float, readers: list[Run], form: str) -> None:
    from dataclasses import asdict

    from judge.readers.planned import plans
    from judge.report.formats import as_json
    from judge.report.tables import Table
    from judge.report.words import number, percent

    found = plans(run, width, readers)
    if form == "json":
        rates = [{"rate": rate.name, **asdict(one)} for rate, one in found]
        emit(as_json({"run": str(run.path), "width": width, "rates": rates}))
        return
    rows = [
        (
            rate.label,
            percent(one.judge_rate),
            percent(one.reader_rate),
            f"{one.n_read:,}",
            percent(one.agreement),
            number(one.width_now),
            _needed(one),
            f"{one.needed_alone:,}",
        )
        for rate, one in found
    ]
    head = ("rate", "judge", "readers", "read", "agree", "width now", f"for {width:g}", "alone")
    print_tables([Table("Studies to read", head, tuple(rows))])
    note(
        f"for {width:g}: studies to read in all until the 95% interval of the rate, with the "
        "judge's bias taken out, is so wide; alone: the same from the readings without the judge"
    )
    if not any(one.n_read for _, one in found):
        note(
            "no study was read yet: planned for the worst case, a rate of 50% and a judge that is "
            "worth nothing"
        )


def _needed(one: Plan) -> str:
    return f"over {one.n_studies:,}" if one.needed is None else f"{one.needed:,}"
