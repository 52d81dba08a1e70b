"""`judge metrics PREDS [REFS]`: other metrics, study by study."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from judge.cli.judging import read_studies
from judge.cli.options import (
    NEW_FILE,
    GroupedCommand,
    by_option,
    metric_option,
    out_option,
    output_options,
    patient_option,
    resamples_option,
    seed_option,
)
from judge.cli.output import note, note_once, print_document, warn
from judge.cli.run_options import ROLES, ReportOptions, column_option, report_options
from judge.signature import safe_name


@click.command(
    "metrics",
    cls=GroupedCommand,
    rare=[
        "--model",
        "--allow-missing",
        "--patient-field",
    ],
    examples=["judge metrics preds.json refs.json --metric bleu2"],
    page="docs/metrics.md",
)
@click.argument("preds")
@click.argument("refs", metavar="[REFS]", required=False)
@column_option(*ROLES, group="Reports")
@report_options
@metric_option(
    "names",
    "bleu2 (the default), rougel, corpus_bleu; with the package radeval also bertscore, semb, "
    "radgraph, radcliq, ratescore, f1radgraph, f1chexbert; or an installed package's",
    group="Metrics",
)
@by_option("Also the figures by this field.", group="Metrics")
@patient_option(group="Metrics")
@resamples_option(group="Metrics")
@seed_option(group="Metrics")
@out_option(
    "The table for judge compare --metrics, a CSV. Default: metrics_MODEL.csv.",
    metavar="FILE",
    path=NEW_FILE,
    group="Output",
)
@output_options(["metrics"], group="Output")
def metrics(
    *,
    preds: str,
    refs: str | None,
    names: tuple[str, ...],
    by: tuple[str, ...],
    patient_field: str | None,
    resamples: int | None,
    seed: int,
    out: Path | None,
    table: tuple[str, ...],
    form: str,
    **values: Any,  # noqa: ANN401
) -> None:
    """Compute other metrics of PREDS against REFS; docs/metrics.md defines each.

    Writes a table with one row per study, and prints means, 1 / mean for RadCliQ-v1, and corpus
    BLEU and F1-CheXbert over all studies.

    Exit codes: 0 success; 2 wrong usage or input; 3 a metric could not be computed, the others
    are written.
    """
    from judge.files import check_writable, replacing
    from judge.metrics import MissingMetricError, ScoredReports, check
    from judge.running.run import with_classes
    from judge.stats.intervals import Draws
    from judge.stats.summary import check_fields
    from judge.tables.comparison import metrics_data, metrics_document

    chosen = check(names or ["bleu2"])
    studies, _ = read_studies(ReportOptions(**values), preds, refs)
    fields: list[str] = []
    for grouping in by:
        fields += grouping.split(",")
    if "study_class" in fields:
        studies, _ = with_classes(studies)
    scored = ScoredReports(
        studies,
        studies.model or "model",
        patient_field=patient_field,
        draws=Draws(seed, resamples),
    )
    out = out or Path(f"metrics_{safe_name(scored.model)}.csv")
    # Before the metrics are computed, which can take hours.
    check_writable(out, (preds, refs))
    if fields:
        check_fields(fields, scored.fields)
    scored.patients()
    missing = []
    for name in chosen:
        try:
            scored.compute(name)
        except MissingMetricError as error:
            missing.append(str(error))
    if scored.scores:
        with replacing(out) as staged:
            scored.table().to_csv(staged, index=False)
        note(f"metrics  {out}")
        document = metrics_document(scored, by)
        data = metrics_data(scored, by) if form == "json" else None
        print_document(document, form, data, table)
    note_once(studies.notes)
    for reason in dict.fromkeys(missing):
        warn(reason)
    if missing:
        sys.exit(3)
