"""`judge sample RUN`: draw the studies that readers read, at random."""

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
    help="Draw this many studies in all, with those drawn before. Default: show the sample of "
    "the run.",
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
    """Draw N studies of RUN at random, in the order in which readers should read them.

    The sample is saved with the run. A larger sample begins with the studies of the smaller one,
    and a reader who stops early has read a random sample too. Studies without a score are drawn
    like all others.
    """
    from judge.readers import annotation_store as store
    from judge.readers.sample import SAMPLE, sampled
    from judge.running.folder import Run
    from judge.tables.data import as_json
    from judge.tables.document import Column, Table
    from judge.text import group_value

    sample = sampled(Run(path), n, by, seed)
    n_studies = sum(stratum.n_studies for stratum in sample.strata)
    order = frozenset(sample.order)
    readings = [r for r in store.current(path).values() if r.done and r.study_id in order]
    read = Counter(reading.reader for reading in readings)
    not_judged = Counter(reading.reader for reading in readings if reading.cannot_judge)
    if form == "json":
        strata = [
            {"key": {**stratum.key}, "n_studies": stratum.n_studies, "n_drawn": stratum.n_drawn}
            for stratum in sample.strata
        ]
        drawn = {"run": str(path), "seed": sample.seed, "by": [*sample.by], "strata": strata}
        drawn |= {"n_studies": n_studies, "n_drawn": len(sample.order), "order": [*sample.order]}
        emit(as_json({**drawn, "read": read, "not_judged": not_judged}))
        return
    facts = [("drawn", f"{len(sample.order):,} of {n_studies:,} studies")]
    facts += [("by", ", ".join(sample.by)), ("seed", str(sample.seed))]
    for reader in sorted(read):
        unjudged = f", {not_judged[reader]:,} not judged" if not_judged[reader] else ""
        facts.append(("read", f"{read[reader]:,} by {reader}{unjudged}"))
    print_facts(facts)
    rows = [
        (*map(group_value, stratum.key.values()), stratum.n_studies, stratum.n_drawn)
        for stratum in sample.strata
    ]
    columns = [Column(field, field) for field in sample.by]
    columns += [Column(name, name, "count") for name in ("studies", "drawn")]
    print_tables(Table("sample", "Sample", tuple(columns), tuple(rows)))
    note(f"sample saved in {path / SAMPLE}")
