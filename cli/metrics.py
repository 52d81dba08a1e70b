"""`judge metrics PREDS [REFS]`: other metrics, study by study."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
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
    from judge.metrics import Found, Missing
    from judge.report.metric_tables import Figures
    from judge.studies import StudySet

_INCOMPLETE = 3


@dataclass(frozen=True, slots=True)
class _Track:
    """One section's studies, where its table goes, and what is known of them so far."""

    section: str
    studies: StudySet
    model: str
    path: Path
    found: list[Found] = field(default_factory=list)

    def columns(self) -> dict[str, Sequence[float]]:
        from judge.metrics import Scored

        columns: dict[str, Sequence[float]] = {}
        for one in self.found:
            if isinstance(one, Scored):
                columns[one.metric.name] = one.values
            else:
                columns |= one.counts
        return columns


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
@click.option(
    "--radeval",
    type=NamedPath(exists=True, dir_okay=False),
    metavar="FILE",
    help="Take RadEval's values of single studies too, from JSON: what RadEval(..., "
    "per_sample=True) gave for the same pairs.",
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
    radeval: Path | None,
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

    chosen = metrics.check(names or ([] if radeval else ["bleu2"]))
    if out:
        check_writable(out)  # before studies are read, which can take long
    tracks = _tracks(options, out, by)
    for track in tracks:  # before the metrics are computed
        check_writable(track.path, (options["preds"], options["refs"], radeval))
        _check_fields(track, by)
    if radeval:
        _take_radevals(tracks, radeval, chosen)
    missing: list[Missing] = []
    try:
        for name in chosen:
            missing += _compute(name, tracks)
    except KeyboardInterrupt:
        # Some take hours: what is finished is kept, but never put in a whole table's place.
        for track in tracks:
            if track.found and not track.path.exists():
                _write(track)
                note(f"metrics  {track.path}, those that were finished")
        raise
    _give(tracks, by)
    for text in dict.fromkeys(text for track in tracks for text in track.studies.notes):
        note(text)
    for lost in missing:
        note(f"{lost.label} is missing: {lost.why}")
    if missing:
        sys.exit(_INCOMPLETE)


def _give(tracks: Sequence[_Track], by: Sequence[str]) -> None:
    if any(track.found for track in tracks):
        for track in tracks:
            _write(track)
            note(f"metrics  {track.path}")
        _print(tracks, by)


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


def _take_radevals(tracks: Sequence[_Track], path: Path, names: Sequence[str]) -> None:
    from judge import metrics
    from judge.metrics.radeval_file import read_results
    from judge.types import JudgeError

    if len(tracks) > 1:
        raise click.UsageError("--radeval is about the pairs of one section: name one --section")
    found = read_results(path, tracks[0].studies.study_ids)
    given = {one.metric.name for one in found}
    for name in names:
        if twice := given.intersection(metrics.columns_of(name)):
            raise JudgeError(f"{path} has {min(twice)} already; leave --metric {name} out")
    tracks[0].found.extend(found)


def _compute(name: str, tracks: Sequence[_Track]) -> list[Missing]:
    from judge import metrics

    for track in tracks:
        found = metrics.compute(name, track.studies.references, track.studies.candidates)
        if isinstance(found, metrics.Missing):
            return [found]
        track.found.extend(found)
    return []


def _write(track: _Track) -> None:
    import pandas as pd

    ids = {"study_id": track.studies.study_ids, "model": track.model}
    table = pd.DataFrame({**ids, **track.columns()})
    with replacing(track.path) as staged:
        if track.path.suffix.lower() == ".parquet":
            table.to_parquet(staged, index=False)
        else:
            table.to_csv(staged, index=False)


def _print(tracks: Sequence[_Track], by: Sequence[str]) -> None:
    from judge.report.metric_tables import metric_table
    from judge.report.tables import class_facts
    from judge.report.words import left_out

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
    facts += _undefined(tracks, figures)
    print_facts(facts)
    print_tables([metric_table(f"Metrics of {tracks[0].model}", figures, by)])


def _undefined(
    tracks: Sequence[_Track], figures: Mapping[str, Sequence[Figures]]
) -> list[tuple[str, str]]:
    """Return the figures of sums that some studies have none of, and why; each once."""
    from judge.metrics import Counted
    from judge.report.words import NOTHING

    counted = [one for track in tracks for one in track.found if isinstance(one, Counted)]
    why = {each.metric: each.undefined for one in counted for each in one.figures}
    lacking = [
        metric
        for found in figures.values()
        for one in found
        for metric, cell in one.cells
        if metric in why and cell.n and cell.value is None
    ]
    return [(metric.label, f"{NOTHING} where {why[metric]}") for metric in dict.fromkeys(lacking)]


def _figures(track: _Track, by: Sequence[str]) -> list[Figures]:
    import numpy as np

    from judge.metrics import Scored
    from judge.report.metric_tables import Figures
    from judge.stats.panel import Panel, group_cells, groups_of
    from judge.stats.pooled import pooled_cell

    studies = track.studies
    scored = [one for one in track.found if isinstance(one, Scored)]
    counted = [one for one in track.found if not isinstance(one, Scored)]
    values = {one.metric.name: np.array(one.values)[:, None] for one in scored}
    metrics = tuple(one.metric for one in scored)
    panel = Panel((track.model,), studies.study_ids, metrics, values, _fields(studies))
    row_of = {study_id: row for row, study_id in enumerate(studies.study_ids)}
    every = []
    for key, part in [({}, panel), *(groups_of(panel, by) if by else [])]:
        cells = group_cells(part).cells
        rows = [row_of[study_id] for study_id in part.study_ids]
        found = [(metric, cells[metric.name][0]) for metric in metrics]
        for one in counted:
            counts = {name: np.array(column) for name, column in one.counts.items()}
            found += [(each.metric, pooled_cell(each, counts, rows)) for each in one.figures]
        every.append(Figures(key, tuple(found)))
    return every
