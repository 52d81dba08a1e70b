"""`judge metrics PREDS [REFS]`: other metrics, study by study."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.options import (
    GroupedCommand,
    NamedPath,
    check_writable,
    heading,
    replacing,
    with_options,
)
from judge.cli.output import list_option, note, print_facts, print_tables
from judge.cli.studies import file_options, read_sections

if TYPE_CHECKING:
    from judge.metrics import Columns, Scores
    from judge.studies import StudySet
    from judge.tables.metrics import Figures

_INCOMPLETE = 3


@dataclass(frozen=True, slots=True)
class _Track:
    """One section's studies, where its table goes, and what is known of them so far."""

    section: str
    studies: StudySet
    model: str
    path: Path
    scores: list[Scores] = field(default_factory=list)

    def columns(self) -> Columns:
        return {name: column for scores in self.scores for name, column in scores.columns.items()}


@click.command("metrics", GroupedCommand)
@with_options(*file_options("have a table each, and their figures stand side by side."))
@heading("Metrics")
@list_option(
    "--metric",
    "names",
    metavar="NAME",
    help="Of words: bleu2 (ReXrank's), rougel, corpus_bleu (BLEU-1 to 4). Of models to download, "
    "with the package radeval: bertscore, semb, radgraph, radcliq, ratescore (ReXrank's), "
    "f1radgraph, f1chexbert. Or one that an installed package adds. Repeat it, or separate with "
    "commas. Default: bleu2.",
)
@list_option(
    "--by",
    metavar="FIELD",
    help="Also the figures for each value of this field (source, site, study_class, ...; repeat "
    "it, or separate with commas, for combinations).",
)
@heading("Output")
@click.option(
    "--out",
    type=NamedPath(dir_okay=False),
    metavar="FILE",
    help="The table, CSV or .parquet, for judge compare --metrics. Default: metrics_MODEL.csv. Of "
    "several sections each has a table of its own, with its name at the end.",
)
def command(
    *,
    names: list[str],
    by: list[str],
    out: Path | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Compute other metrics of PREDS against REFS; docs/metrics.md defines each.

    Writes a table with one row a study, and prints the figures: means, 1 / mean for
    RadCliQ-v1, and figures of all studies together for corpus BLEU and F1-CheXbert. After Ctrl-C
    the metrics that are finished are written, unless a table is there already.

    Exit codes: 0 all is well; 2 an error to fix, said in one line; 3 a metric could not be
    had, the others are written.
    """
    from judge import metrics

    chosen = metrics.check(names or ["bleu2"])
    if out:
        check_writable(out)  # before studies are read, which can take long
    tracks = _tracks(options, out, by)
    for track in tracks:  # before the metrics are computed
        check_writable(track.path, (options["preds"], options["refs"]))
        _check_fields(track, by)
    missing: list[str] = []
    try:
        for name in chosen:
            missing += _compute(name, tracks)
    except KeyboardInterrupt:
        # Some take hours: what is finished is kept, but never put in a whole table's place.
        _write(track for track in tracks if not track.path.exists())
        raise
    _write(tracks)
    if any(track.scores for track in tracks):
        _print(tracks, by)
    for text in dict.fromkeys(text for track in tracks for text in track.studies.notes):
        note(text)
    for text in missing:
        note(text)
    if missing:
        sys.exit(_INCOMPLETE)


def _tracks(options: Mapping[str, Any], out: Path | None, by: Sequence[str]) -> list[_Track]:
    from judge.running.session import with_classes
    from judge.signature import safe_name

    sections = read_sections(options)
    tracks = []
    for studies in sections:
        if "study_class" in by:
            studies, _ = with_classes(studies)
        model = studies.model or "model"
        path = out or Path(f"metrics_{safe_name(model)}.csv")
        if len(sections) > 1:
            path = path.with_name(f"{path.stem}_{studies.section}{path.suffix}")
        tracks.append(_Track(studies.section, studies, model, path))
    return tracks


def _fields(studies: StudySet) -> dict[str, tuple[object, ...]]:
    given = any(one is not None for one in studies.study_classes)
    return {**({"study_class": studies.study_classes} if given else {}), **studies.fields}


def _check_fields(track: _Track, by: Sequence[str]) -> None:
    from judge.types import JudgeError

    known = _fields(track.studies)
    if unknown := [name for name in by if name not in known]:
        raise JudgeError(
            f"cannot group by {', '.join(map(repr, unknown))}: the studies have no such field; "
            f"they have: {', '.join(known) or 'none'}"
        )


def _compute(name: str, tracks: Sequence[_Track]) -> list[str]:
    """Add what a metric says of each section; where it cannot be had return why."""
    from judge import metrics

    for track in tracks:
        references, candidates = track.studies.references, track.studies.candidates
        try:
            track.scores.append(metrics.compute(name, references, candidates))
        except metrics.MissingMetricError as missing:
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
    figures = {track.section: _figures(track, by) for track in tracks}
    print_facts(facts)
    print_tables(metric_table(f"Metrics of {tracks[0].model}", figures, by))


def _figures(track: _Track, by: Sequence[str]) -> list[Figures]:
    import numpy as np

    from judge.metrics.pooled import pooled_cell
    from judge.stats.panel import Panel, group_cells, groups_of
    from judge.tables.metrics import Figures

    studies, columns = track.studies, track.columns()
    arrays = {name: np.array(column, dtype=float) for name, column in columns.items()}
    metrics = tuple(metric for scores in track.scores for metric in scores.metrics)
    pooled = [figure for scores in track.scores for figure in scores.figures]
    values = {metric.name: arrays[metric.name][:, None] for metric in metrics}
    panel = Panel((track.model,), studies.study_ids, metrics, values, _fields(studies))
    row_of = {study_id: row for row, study_id in enumerate(studies.study_ids)}
    every = []
    for key, part in [({}, panel), *(groups_of(panel, by) if by else [])]:
        cells = group_cells(part).cells
        rows = [row_of[study_id] for study_id in part.study_ids]
        single = [(metric, cells[metric.name][0]) for metric in metrics]
        of_sums = [(figure.metric, pooled_cell(figure, arrays, rows)) for figure in pooled]
        every.append(Figures(key, (*single, *of_sums)))
    return every
