"""`judge metrics PREDS [REFS]`: other metrics, study by study."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from judge.cli.judging import read_sections
from judge.cli.options import NEW_FILE, argument, by_option, command, list_option, option, options
from judge.cli.output import note, note_once, print_document
from judge.cli.run_options import ReportOptions
from judge.signature import safe_name
from judge.tables.document import Document
from judge.text import left_out
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.metrics.scored import ScoredReports

_INCOMPLETE = 3


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
    out: Path | None = option(
        "--out FILE",
        "The table for judge compare --metrics, .csv or .parquet. Default: metrics_MODEL.csv.",
        type=NEW_FILE,
    )


@command("metrics")
def metrics(options: _Metrics) -> None:
    """Compute other metrics of PREDS against REFS; docs/metrics.md defines each.

    Writes a table with one row a study, and prints means, 1 / mean for RadCliQ-v1, and corpus BLEU
    and F1-CheXbert over all studies. After Ctrl-C the finished metrics are written, unless the
    table is there already.

    \b
    judge metrics preds.json refs.json --metric bleu2,rougel

    Exit codes: 0 success; 2 an error to fix; 3 a metric could not be computed, the others are
    written.
    """
    from judge.files import check_writable
    from judge.metrics import MissingMetricError, check
    from judge.stats.table import check_fields

    names = check(options.names or ["bleu2"])
    if options.out:
        if options.out.suffix.lower() not in (".csv", ".parquet"):
            raise JudgeError(f"--out {options.out}: name a file that ends in .csv or .parquet")
        check_writable(options.out)  # before studies are read, which can take long
    tracks = _tracks(options)
    for track in tracks:  # before the metrics are computed
        check_writable(track.path, (options.preds, options.refs))
        if by := _names(options.by):
            check_fields(by, track.fields)
    missing = []
    try:
        for name in names:
            try:
                for track in tracks:
                    track.compute(name)
            except MissingMetricError as error:
                missing.append(str(error))
    except KeyboardInterrupt:
        # Some take hours: the finished ones are written, but never over a whole table.
        _write(track for track in tracks if not track.path.exists())
        raise
    _write(tracks)
    if any(track.scores for track in tracks):
        _print(tracks, options.by)
    note_once([*(text for track in tracks for text in track.studies.notes), *missing])
    if missing:
        sys.exit(_INCOMPLETE)


def _tracks(options: _Metrics) -> list[ScoredReports]:
    from judge.metrics.scored import ScoredReports
    from judge.running.session import with_classes

    sections = read_sections(options, options.preds, options.refs)
    tracks = []
    for studies in sections:
        if "study_class" in _names(options.by):
            studies, _ = with_classes(studies)
        model = studies.model or "model"
        path = options.out or Path(f"metrics_{safe_name(model)}.csv")
        if len(sections) > 1:
            path = path.with_name(f"{path.stem}_{studies.section}{path.suffix}")
        tracks.append(ScoredReports(studies, model, path))
    return tracks


def _names(by: Sequence[str]) -> list[str]:
    return [name for grouping in by for name in grouping.split(",")]


def _write(tracks: Iterable[ScoredReports]) -> None:
    from judge.files import replacing

    for track in tracks:
        if not track.scores:
            continue
        table = track.table()
        with replacing(track.path) as staged:
            if track.path.suffix.lower() == ".parquet":
                table.to_parquet(staged, index=False)
            else:
                table.to_csv(staged, index=False)
        note(f"metrics  {track.path}")


def _print(tracks: Sequence[ScoredReports], by: Sequence[str]) -> None:
    from judge.tables.comparison import metric_table
    from judge.tables.run import class_facts

    several = len(tracks) > 1
    facts = []
    for track in tracks:
        named = f" ({track.section})" if several else ""
        if not several:
            facts.append(("section", track.section))
        facts.append((f"studies{named}", f"{len(track.studies):,}"))
        if track.studies.omitted:
            facts.append((f"left out{named}", left_out(track.studies.omitted)))
    facts += class_facts(sum(tracks[0].studies.class_inferred), len(tracks[0].studies))
    tables = []
    for grouping in by or ("",):
        fields = grouping.split(",") if grouping else []
        figures = {track.section: track.figures(fields) for track in tracks}
        tables.append(metric_table(f"Metrics of {tracks[0].model}", figures))
    print_document(Document(facts=facts, tables=tables))
