"""`judge metrics PREDS [REFS]`: other metrics, study by study."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from judge.cli.files import check_writable, replacing
from judge.cli.judging import read_sections
from judge.cli.options import NEW_FILE, argument, by_option, command, list_option, option, options
from judge.cli.output import note, print_tables
from judge.cli.run_options import ReportOptions

if TYPE_CHECKING:
    from judge.metrics import Columns, Scores
    from judge.studies import StudySet
    from judge.tables.metrics import Figures

_INCOMPLETE = 3


@dataclass(frozen=True, slots=True)
class _Track:
    """One section's studies, where its table goes, and the scores so far."""

    section: str
    studies: StudySet
    model: str
    path: Path
    scores: list[Scores] = field(default_factory=list)

    def columns(self) -> Columns:
        return {name: column for scores in self.scores for name, column in scores.columns.items()}


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
        "The table for judge compare --metrics, .csv or .parquet; of several sections one each, "
        "named after them. Default: metrics_MODEL.csv.",
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
    from judge.metrics import check

    names = check(options.names or ["bleu2"])
    if options.out:
        check_writable(options.out)  # before studies are read, which can take long
    tracks = _tracks(options)
    for track in tracks:  # before the metrics are computed
        check_writable(track.path, (options.preds, options.refs))
        _check_fields(track, options.by)
    missing: list[str] = []
    try:
        for name in names:
            missing += _compute(name, tracks)
    except KeyboardInterrupt:
        # Some take hours: the finished ones are written, but never over a whole table.
        _write(track for track in tracks if not track.path.exists())
        raise
    _write(tracks)
    if any(track.scores for track in tracks):
        _print(tracks, options.by)
    for text in dict.fromkeys(text for track in tracks for text in track.studies.notes):
        note(text)
    for text in missing:
        note(text)
    if missing:
        sys.exit(_INCOMPLETE)


def _tracks(options: _Metrics) -> list[_Track]:
    from judge.running.session import with_classes
    from judge.signature import safe_name

    sections = read_sections(options, options.preds, options.refs)
    tracks = []
    for studies in sections:
        if "study_class" in _names(options.by):
            studies, _ = with_classes(studies)
        model = studies.model or "model"
        path = options.out or Path(f"metrics_{safe_name(model)}.csv")
        if len(sections) > 1:
            path = path.with_name(f"{path.stem}_{studies.section}{path.suffix}")
        tracks.append(_Track(studies.section, studies, model, path))
    return tracks


def _names(by: Sequence[str]) -> list[str]:
    return [name for grouping in by for name in grouping.split(",")]


def _fields(studies: StudySet) -> dict[str, tuple[object, ...]]:
    has_classes = any(name is not None for name in studies.study_classes)
    return {**({"study_class": studies.study_classes} if has_classes else {}), **studies.fields}


def _check_fields(track: _Track, by: Sequence[str]) -> None:
    from judge.types import JudgeError

    known = _fields(track.studies)
    if unknown := [name for name in _names(by) if name not in known]:
        raise JudgeError(
            f"cannot group by {', '.join(map(repr, unknown))}: the studies have no such field; "
            f"they have: {', '.join(known) or 'none'}"
        )


def _compute(name: str, tracks: Sequence[_Track]) -> list[str]:
    """Add a metric's scores to each section, or return why it cannot be computed."""
    from judge.metrics import MissingMetricError, compute

    for track in tracks:
        references, candidates = track.studies.references, track.studies.candidates
        try:
            track.scores.append(compute(name, references, candidates))
        except MissingMetricError as missing:
            return [str(missing)]
    return []


def _write(tracks: Iterable[_Track]) -> None:
    import pandas as pd

    for track in tracks:
        if not track.scores:
            continue
        ids = {"study_id": track.studies.study_ids, "model": track.model}
        table = pd.DataFrame({**ids, **track.columns()})
        with replacing(track.path) as staged:
            if track.path.suffix.lower() == ".parquet":
                table.to_parquet(staged, index=False)
            else:
                table.to_csv(staged, index=False)
        note(f"metrics  {track.path}")


def _print(tracks: Sequence[_Track], by: Sequence[str]) -> None:
    from judge.tables.metrics import metric_table
    from judge.tables.run import class_facts
    from judge.text import left_out

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
        figures = {track.section: _figures(track, fields) for track in tracks}
        tables.append(metric_table(f"Metrics of {tracks[0].model}", figures, fields))
    print_tables(*tables, facts=facts)


def _figures(track: _Track, by: Sequence[str]) -> list[Figures]:
    import numpy as np

    from judge.metrics.pooled import pooled_cell
    from judge.stats.scores import ScoreMatrix, group_cells, groups_of
    from judge.tables.metrics import Figures

    studies, columns = track.studies, track.columns()
    arrays = {name: np.array(column, dtype=float) for name, column in columns.items()}
    metrics = tuple(metric for scores in track.scores for metric in scores.metrics)
    pooled = [figure for scores in track.scores for figure in scores.figures]
    values = {metric.name: arrays[metric.name][:, None] for metric in metrics}
    panel = ScoreMatrix((track.model,), studies.study_ids, metrics, values, _fields(studies))
    row_of = {study_id: row for row, study_id in enumerate(studies.study_ids)}
    every = []
    for key, part in [({}, panel), *(groups_of(panel, by) if by else [])]:
        cells = group_cells(part).cells
        rows = [row_of[study_id] for study_id in part.study_ids]
        single = [(metric, cells[metric.name][0]) for metric in metrics]
        of_sums = [(figure.metric, pooled_cell(figure, arrays, rows)) for figure in pooled]
        every.append(Figures(key, (*single, *of_sums)))
    return every
