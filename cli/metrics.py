"""`judge metrics PREDS [REFS]`: other metrics, study by study."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.files import NamedPath, check_writable, replacing
from judge.cli.groups import GroupedCommand, heading, with_options
from judge.cli.output import list_option, note, print_facts, print_tables
from judge.cli.studies import FILE_OPTIONS, read_studies

if TYPE_CHECKING:
    from judge.metrics import Missing, Scored
    from judge.studies import StudySet

_INCOMPLETE = 3


@click.command("metrics", GroupedCommand, short_help="Compute other metrics, study by study.")
@with_options(*FILE_OPTIONS)
@heading("Metrics")
@list_option(
    "--metric",
    "names",
    default=("bleu2",),
    show_default=True,
    metavar="NAME",
    help="bleu2, bertscore, semb, radgraph, radcliq, ratescore (repeat it, or separate with "
    "commas), or one that an installed package adds. Of those named all but bleu2 need the "
    "package radeval and models to download.",
)
@heading("Output")
@click.option(
    "--out",
    type=NamedPath(dir_okay=False),
    metavar="FILE",
    help="The table, CSV or .parquet, for judge compare --metrics. Default: metrics_MODEL.csv.",
)
def command(*, names: list[str], out: Path | None, **options: Any) -> None:  # noqa: ANN401
    """Compute other metrics of PREDS against REFS, with ReXrank's names and directions.

    Writes a table with one row a study, and prints the figures: means, and 1 / mean for
    RadCliQ-v1. After Ctrl-C the metrics that are finished are written, unless a table is
    there already.

    Exit codes: 0 all is well; 2 an error to fix, said in one line; 3 a metric could not be
    had, the others are written.
    """
    from judge import metrics
    from judge.studies.names import given_model

    chosen = metrics.check(names)
    if out:
        check_writable(out)  # before the work, not after it
    studies = read_studies(options)
    model = given_model(studies.model or "model")
    path = out or Path(f"metrics_{model}.csv")
    check_writable(path)
    scored: list[Scored] = []
    missing: list[Missing] = []
    try:
        for name in chosen:
            found = metrics.compute(name, studies.references, studies.candidates)
            if isinstance(found, metrics.Scored):
                scored.append(found)
            else:
                missing.append(found)
    except KeyboardInterrupt:
        # Some take hours: what is finished is kept, but never put in a whole table's place.
        if scored and not path.exists():
            _write(path, model, studies.study_ids, scored)
            note(f"metrics  {path}, those that were finished")
        raise
    if scored:
        _write(path, model, studies.study_ids, scored)
        note(f"metrics  {path}")
        _print(model, studies, scored)
    for text in studies.notes:
        note(text)
    for lost in missing:
        note(f"{lost.label} is missing: {lost.why}")
    if missing:
        sys.exit(_INCOMPLETE)


def _write(path: Path, model: str, study_ids: tuple[str, ...], scored: list[Scored]) -> None:
    import pandas as pd

    columns = {found.metric.name: found.values for found in scored}
    table = pd.DataFrame({"study_id": study_ids, "model": model, **columns})
    with replacing(path) as staged:
        if path.suffix.lower() == ".parquet":
            table.to_parquet(staged, index=False)
        else:
            table.to_csv(staged, index=False)


def _print(model: str, studies: StudySet, scored: list[Scored]) -> None:
    import numpy as np

    from judge.report.leaderboard import figure
    from judge.report.tables import Table
    from judge.report.words import left_out
    from judge.stats.panel import Panel, group_cells

    values = {found.metric.name: np.array(found.values)[:, None] for found in scored}
    listed = tuple(found.metric for found in scored)
    cells = group_cells(Panel((model,), studies.study_ids, listed, values, {})).cells
    rows = tuple(
        (metric.label, str(cells[metric.name][0].n), figure(cells[metric.name][0], metric))
        for metric in listed
    )
    facts = [("section", studies.section), ("studies", f"{len(studies):,}")]
    if studies.omitted:
        facts.append(("left out", left_out(studies.omitted)))
    print_facts(facts)
    print_tables([Table(f"Metrics of {model}", ("metric", "studies", "figure"), rows)])
