"""`judge metrics PREDS [REFS]`: other metrics, study by study."""

from __future__ import annotations

import sys
from pathlib import Path

from judge.cli.judging import read_studies
from judge.cli.options import (
    NEW_FILE,
    argument,
    by_option,
    command,
    list_option,
    option,
    options,
    patient_option,
    resamples_option,
    seed_option,
)
from judge.cli.output import note, note_once, print_document
from judge.cli.run_options import ReportOptions
from judge.signature import safe_name


@options
class _Metrics(ReportOptions):
    GROUP = "Metrics"

    preds: str = argument()
    refs: str | None = argument("[REFS]")
    names: tuple[str, ...] = list_option(
        "--metric NAME",
        "bleu2 (the default), rougel, corpus_bleu; with the package radeval also bertscore, semb, "
        "radgraph, radcliq, ratescore, f1radgraph, f1chexbert; or an installed package's "
        "(repeatable, or with commas).",
    )
    by: tuple[str, ...] = by_option(
        "Also the figures by this field, one table for each --by; a,b groups by combinations."
    )
    patient_field: str | None = patient_option()
    resamples: int | None = resamples_option()
    seed: int = seed_option()
    out: Path | None = option(
        "--out FILE",
        "The table for judge compare --metrics, a CSV. Default: metrics_MODEL.csv.",
        type=NEW_FILE,
    )


@command("metrics")
def metrics(options: _Metrics) -> None:
    """Compute other metrics of PREDS against REFS; docs/metrics.md defines each.

    Writes a table with one row a study, and prints means, 1 / mean for RadCliQ-v1, and corpus BLEU
    and F1-CheXbert over all studies.

    \b
    judge metrics preds.json refs.json --metric bleu2,rougel

    Exit codes: 0 success; 2 an error to fix; 3 a metric could not be computed, the others are
    written.
    """
    from judge.files import check_writable, replacing
    from judge.metrics import MissingMetricError, ScoredReports, check
    from judge.running.run import with_classes
    from judge.stats.intervals import Draws
    from judge.stats.summary import check_fields
    from judge.tables.comparison import metrics_document

    names = check(options.names or ["bleu2"])
    studies, _ = read_studies(options, options.preds, options.refs)
    fields: list[str] = []
    for grouping in options.by:
        fields += grouping.split(",")
    if "study_class" in fields:
        studies, _ = with_classes(studies)
    scored = ScoredReports(
        studies,
        studies.model or "model",
        patient_field=options.patient_field,
        draws=Draws(options.seed, options.resamples),
    )
    out = options.out or Path(f"metrics_{safe_name(scored.model)}.csv")
    # Before the metrics are computed, which can take hours.
    check_writable(out, (options.preds, options.refs))
    if fields:
        check_fields(fields, scored.fields)
    scored.patients()
    missing = []
    for name in names:
        try:
            scored.compute(name)
        except MissingMetricError as error:
            missing.append(str(error))
    if scored.scores:
        with replacing(out) as staged:
            scored.table().to_csv(staged, index=False)
        note(f"metrics  {out}")
        print_document(metrics_document(scored, options.by))
    note_once([*studies.notes, *missing])
    if missing:
        sys.exit(3)
