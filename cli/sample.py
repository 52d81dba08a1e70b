"""`judge sample RUN`: the studies that readers read, drawn at random."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from judge.cli.options import argument, command, format_option, list_option, option, options
from judge.cli.output import emit, note, print_facts, print_tables


@options
class _Sample:
    run: Path = argument()
    n: int | None = option(
        "-n N", "Studies in all: those that the run's sample lacks are drawn. Default: show it."
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
    """Draw N studies of RUN at random, in the order in which readers are to read them.

    The sample is kept with the run. A larger one later begins with the same studies, and a reader
    who stops early has read a random sample too. Studies without a score are drawn like any other.

    \b
    judge sample RUN -n 100
    """
    from judge.readers import kept
    from judge.readers.sample import SAMPLE, sampled
    from judge.running.folder import Run
    from judge.tables.document import as_json
    from judge.tables.run import Table
    from judge.text import group_value

    path = options.run
    sample = sampled(Run(path), options.n, options.by, options.seed)
    n_studies = sum(stratum.n_studies for stratum in sample.strata)
    readings = kept.current(path).values()
    drawn = frozenset(sample.order)
    read = Counter(one.reader for one in readings if one.done and one.study_id in drawn)
    if options.form == "json":
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
        (*map(group_value, one.key.values()), f"{one.n_studies:,}", f"{one.n_drawn:,}")
        for one in sample.strata
    ]
    print_tables([Table("Sample", (*sample.by, "studies", "drawn"), tuple(rows), len(sample.by))])
    note(f"kept in {path / SAMPLE}")
