"""`judge sample RUN`: the studies that readers read, drawn at random."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import GroupedCommand, heading
from judge.cli.output import emit, format_of, list_option, note, print_facts, print_tables

if TYPE_CHECKING:
    from judge.readers.sample import Sample
    from judge.running.folder import Run


@click.command("sample", GroupedCommand)
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
@heading("Output")
@format_of("table", "json", text="What to print: tables for people, or JSON.")
def command(
    *,
    run: Path,
    n: int | None,
    by: list[str],
    seed: int | None,
    form: str,
) -> None:
    """Draw N studies of RUN at random, in the order in which readers are to read them.

    The sample is kept with the run. A larger one later begins with those of this one, and is as
    good as drawn at once. A reader who stops early has read a random sample too. Studies that the
    judge could not score are drawn as any other.
    """
    from judge.readers.sample import sampled
    from judge.running.folder import Run

    opened = Run(run)
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
    from judge.readers import kept

    drawn = frozenset(sample.order)
    done, begun = Counter[str](), Counter[str]()
    for (reader, study_id), one in kept.current(run.path).items():
        if study_id in drawn:
            (done if one.done else begun)[reader] += 1
    return done, begun
