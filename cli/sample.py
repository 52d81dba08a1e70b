"""`judge sample RUN`: the studies that readers read, drawn at random."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from judge.cli.options import argument, command, format_option, list_option, option, options
from judge.cli.output import emit, note, print_tables


@options
class _Sample:
    run: Path = argument()
    n: int | None = option(
        "-n N", "Studies in all, with those drawn before. Default: show the run's sample."
    )
    by: tuple[str, ...] = list_option(
        "--by FIELD",
        "Draw from each group of studies by this field (repeatable, or with commas), about in "
        "proportion to its size. Default: study_class.",
    )
    seed: int | None = option(
        "--seed N", "Random seed of the order. Default: 1.", type=click.IntRange(min=0)
    )
    form: str = format_option("table", "json")


@command("sample")
def sample(options: _Sample) -> None:
    """Draw N studies of RUN at random, in the order in which readers should read them.

    The sample is saved with the run. A larger sample begins with the studies of the smaller one,
    and a reader who stops early has read a random sample too. Studies without a score are drawn
    like all others.

    \b
    judge sample RUN -n 100
    """
    from judge.readers import annotation_store as store
    from judge.readers.sample import SAMPLE, sampled
    from judge.running.folder import Run
    from judge.tables.data import as_json
    from judge.tables.document import Cell, Column, Table, columns
    from judge.text import group_value

    path = options.run
    sample = sampled(Run(path), options.n, options.by, options.seed)
    n_studies = sum(stratum.n_studies for stratum in sample.strata)
    order = frozenset(sample.order)
    readings = [r for r in store.current(path).values() if r.done and r.study_id in order]
    read = Counter(reading.reader for reading in readings)
    not_judged = Counter(reading.reader for reading in readings if reading.cannot_judge)
    if options.form == "json":
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
    rows: list[tuple[Cell, ...]] = [
        (*map(group_value, stratum.key.values()), stratum.n_studies, stratum.n_drawn)
        for stratum in sample.strata
    ]
    fields = [Column(field, field) for field in sample.by]
    head = [*fields, *columns("studies||count", "drawn||count")]
    print_tables(Table("sample", "Sample", head, rows), facts=facts)
    note(f"sample saved in {path / SAMPLE}")
