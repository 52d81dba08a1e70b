"""`judge sample RUN`: the studies that readers read, drawn at random."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from judge.cli.options import GroupedCommand, heading
from judge.cli.output import emit, format_of, list_option, note, print_facts, print_tables


@click.command("sample", GroupedCommand)
@click.argument("path", type=click.Path(path_type=Path), metavar="RUN")
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
def command(*, path: Path, n: int | None, by: list[str], seed: int | None, form: str) -> None:
    """Draw N studies of RUN at random, in the order in which readers are to read them.

    The sample is kept with the run. A larger one later begins with those of this one, and is as
    good as drawn at once. A reader who stops early has read a random sample too. Studies that the
    judge could not score are drawn as any other.
    """
    from judge.readers import kept
    from judge.readers.sample import SAMPLE, sampled
    from judge.running.folder import Run
    from judge.tables.data import as_json
    from judge.tables.document import Column, Table
    from judge.text import group_value

    sample = sampled(Run(path), n, by, seed)
    n_studies = sum(stratum.n_studies for stratum in sample.strata)
    readings = kept.current(path).values()
    drawn = frozenset(sample.order)
    read = Counter(one.reader for one in readings if one.done and one.study_id in drawn)
    if form == "json":
        strata = [
            {"key": {**one.key}, "n_studies": one.n_studies, "n_drawn": one.n_drawn}
            for one in sample.strata
        ]
        found = {"run": str(path), "seed": sample.seed, "by": [*sample.by], "strata": strata}
        found |= {"n_studies": n_studies, "n_drawn": len(sample.order)}
        emit(as_json({**found, "order": [*sample.order], "read": read}))
        return
    facts = [("drawn", f"{len(sample.order):,} of {n_studies:,} studies")]
    facts += [("by", ", ".join(sample.by)), ("seed", str(sample.seed))]
    facts += [("read", f"{read[reader]:,} by {reader}") for reader in sorted(read)]
    print_facts(facts)
    rows = [
        (*map(group_value, one.key.values()), one.n_studies, one.n_drawn) for one in sample.strata
    ]
    columns = [Column(field, field) for field in sample.by]
    columns += [Column(name, name, "count") for name in ("studies", "drawn")]
    print_tables(Table("sample", "Sample", tuple(columns), tuple(rows)))
    note(f"kept in {path / SAMPLE}")
