"""Figures of a run corrected for the judge's bias, by readings of a part of its studies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from judge import plugins
from judge.comparing.alignment import AlignedRuns, RunChoice, align
from judge.rubrics.contract import Rubric
from judge.run_files.summary import RunSummary
from judge.running.folder import RunFolder
from judge.signature import short_digest, signature_line
from judge.stats.agreement import mean_of
from judge.stats.intervals import USUAL_DRAWS, Bools, Codes, Draws, Values
from judge.stats.prediction_powered import corrected
from judge.stats.statistic import OfMean, Statistic
from judge.stats.summary import grouped
from judge.studies.columns import as_text
from judge.text import counted
from judge.types import JudgeError
from judge.validating.raters import Rater, check_texts, open_raters

if TYPE_CHECKING:
    import pandas as pd


def corrected_summary(
    run: RunFolder,
    by: Sequence[str],
    choices: Sequence[RunChoice],
    *,
    at_random: bool = False,
    patient_field: str | None = None,
    draws: Draws = USUAL_DRAWS,
) -> RunSummary:
    """Return the summary of a run grouped by fields, corrected by readers' runs.

    `choices` are readers' runs, or folders of these. `at_random` declares that the studies were
    drawn at random where the runs do not tell. The summary is that of `Run.regrouped` with
    `corrected` in each statistic that can be corrected, and `readings` with the readers and the
    kind of sample.

    Raises `JudgeError` for an unknown field, a run of the wrong kind, different texts, no study in
    common, and readings that were not drawn at random.
    """
    read = read_studies(run, choices, at_random=at_random, patient_field=patient_field)
    table = read.table
    patients = read.patients
    summary = run.regrouped(by, patient_field, draws).plain()
    blocks = [summary, *summary["rates"]]
    parts = [list(range(len(table)))]
    parts += [rows for _, rows in grouped(table, by)]
    for block, rows in zip(blocks, parts, strict=True):
        patients_of_rows = None
        if patients is not None:
            patients_of_rows = patients[rows]
        for name, of_figure in read.figures.items():
            estimate = corrected(
                judge=of_figure.judge[rows],
                readers=of_figure.readers[rows],
                statistic=of_figure.statistic,
                strata=read.strata[rows],
                patients=patients_of_rows,
            )
            block["statistics"][name]["corrected"] = estimate.plain()
    notes = list(read.notes)
    reader_runs: list[dict[str, Any]] = []
    for reader, n, scored in zip(
        read.readers, read.n_shared, read.is_read.T, strict=True
    ):
        n_elsewhere = len(reader.run.columns([])) - n
        reader_runs.append(
            {
                "reader": reader.name,
                "run": reader.shown,
                "signature": reader.run.signature,
                "n": int(scored.sum()),
                "n_elsewhere": n_elsewhere,
            }
        )
        if n_elsewhere:
            studies = counted(n_elsewhere, "study", "studies")
            notes.append(f"{reader.name} read {studies} that this run does not have")
    is_read = read.is_read.any(axis=1)
    n_lost = int((is_read & ~read.is_judged).sum())
    if n_lost:
        notes.append(f"{n_lost:,} studies were read but not scored by the judge")
    readings = {
        "signature": read.signature,
        "runs": reader_runs,
        "n_read": int(is_read.sum()),
        "drawn": read.sampling,
        "drawn_by": list(read.sample_by),
        "several_readers": "averaged",
        "patient_field": read.patient_field,
        "not_corrected": dict(read.why_not),
        "notes": notes,
    }
    return RunSummary.model_validate({**summary, "readings": readings})


@dataclass(frozen=True, slots=True)
class ReadFigure:
    """A mean or a rate with the judge's value of each study, and the readers' mean of it."""

    statistic: OfMean
    judge: Values
    readers: Values


@dataclass(frozen=True, kw_only=True)
class ReadStudies:
    """A judge's run and the readings of a part of its studies.

    All arrays are in the order of `table`, the run's studies; NaN is not scored, or not read.
    `figures` are those that can be corrected, by the name of the statistic, and `why_not` says why
    others cannot. `is_judged` and `is_read` say what the judge and each reader have scored, the
    latter studies by readers, `n_shared` how many studies of the judge's each reader's run has.
    `sampling` is `all`, `drawn` or `told`: how the studies were drawn, within the `strata` that
    `sample_by` names.
    """

    readers: tuple[Rater, ...]
    table: pd.DataFrame
    figures: Mapping[str, ReadFigure]
    why_not: Mapping[str, str]
    is_judged: Bools
    is_read: Bools
    n_shared: tuple[int, ...]
    sampling: str
    sample_by: tuple[str, ...]
    strata: Codes
    patient_field: str | None
    patients: Codes | None
    notes: tuple[str, ...]

    @property
    def signature(self) -> str:
        """One line that names everything that changes a corrected number, beside the run's own."""
        n_read = int(self.is_read.any(axis=1).sum())
        return _signature(
            self.readers,
            n_read,
            self.sampling,
            self.sample_by,
            self.patient_field,
        )


def read_studies(
    run: RunFolder,
    choices: Sequence[RunChoice],
    *,
    at_random: bool = False,
    patient_field: str | None = None,
) -> ReadStudies:
    """Return a run's studies with what readers say of them; raises as `corrected_summary` does."""
    if run.reading is not None:
        raise JudgeError(
            f"{run.path} is a reader's run: name the judge's run, and give this one with --readers"
        )
    readers = open_raters(choices, readers=True)
    named = [(str(run.path), run), *((reader.shown, reader.run) for reader in readers)]
    runs = align(named, lambda judged, *_: judged)
    n_shared = [int((rows >= 0).sum()) for rows in runs.rows[1:]]
    for reader, n in zip(readers, n_shared, strict=True):
        if not n:
            raise JudgeError(
                f"{run.path} and {reader.shown} have no study id in common"
            )
    notes = check_texts(runs)
    figures, why_not = _figures(runs)
    if not figures:
        raise JudgeError(
            f"these readings can correct no figure of {run.path}: "
            f"{'; '.join(dict.fromkeys(why_not.values()))}"
        )
    table = run.table().iloc[runs.rows[0]]
    sampling, sample_by, strata = _sampling(runs, table, at_random=at_random)
    patient, patients = align(named[:1]).patients(patient_field) or (None, None)
    # The judge's run is the first.
    is_scored = runs.is_scored
    return ReadStudies(
        readers=readers,
        table=table,
        figures=figures,
        why_not=why_not,
        is_judged=is_scored[:, 0],
        is_read=is_scored[:, 1:],
        n_shared=tuple(n_shared),
        sampling=sampling,
        sample_by=sample_by,
        strata=strata,
        patient_field=patient,
        patients=patients,
        notes=tuple(notes),
    )


def _figures(runs: AlignedRuns) -> tuple[dict[str, ReadFigure], dict[str, str]]:
    """Return each mean and rate with the judge's values and the readers' means, or why not."""
    by_name: dict[str, ReadFigure] = {}
    why_not: dict[str, str] = {}
    rubric, *others = [run.rubric for run in runs.runs]
    for statistic in rubric.statistics:
        is_printed = bool(statistic.shown & {"groups", "compare"})
        if not isinstance(statistic, OfMean) or not is_printed:
            continue
        reasons: dict[str, None] = {}
        columns = []
        for column, other in enumerate(others, start=1):
            reason = _lacking(statistic, other)
            if reason:
                reasons[reason] = None
            else:
                columns.append(_study_values(runs, column, statistic))
        if columns:
            judge = _study_values(runs, 0, statistic)
            readers = mean_of(np.column_stack(columns))
            by_name[statistic.name] = ReadFigure(statistic, judge, readers)
        else:
            why_not[statistic.name] = "; ".join(reasons)
    return by_name, why_not


def _study_values(runs: AlignedRuns, run: int, statistic: Statistic) -> Values:
    values, _ = statistic.study_values(runs.numbers(run, statistic.columns))
    return values


def _lacking(statistic: Statistic, rubric: Rubric) -> str | None:
    """Return why a reader's run has no such number, None where it has."""
    known = {(one.name, one.kind, one.measures) for one in rubric.statistics}
    if (statistic.name, statistic.kind, statistic.measures) not in known:
        return f"{rubric.title} has no such figure"
    for measure in rubric.measures:
        if measure.name in statistic.measures and measure.undefined:
            return measure.undefined
    return None


def _sampling(
    runs: AlignedRuns, table: pd.DataFrame, *, at_random: bool
) -> tuple[str, tuple[str, ...], Codes]:
    """Return how the studies were drawn, by which fields, and the stratum of each study."""
    one_stratum = np.zeros(len(table), np.intp)
    if runs.is_scored[:, 1:].any(axis=1).all():
        return "all", (), one_stratum
    samples = []
    for run in runs.runs[1:]:
        sample = None
        if run.reading:
            sample = run.reading.sample
        samples.append(sample)
    known = [sample for sample in samples if sample]
    if len(known) < len(samples):
        name = runs.names[1 + samples.index(None)]
        if known or not at_random:
            raise JudgeError(
                f"{name} does not tell how its studies were drawn; if all readings are of random "
                "samples of that kind, add --drawn-at-random"
            )
        return "told", (), one_stratum
    by = tuple(known[0].by)
    lacking = [name for name in by if name not in table.columns]
    if lacking:
        raise JudgeError(
            f"the sample was drawn by {lacking[0]!r}, a field that {runs.names[0]} does not have"
        )
    columns = [_texts(table[name]) for name in by]
    keys: list[tuple[str | None, ...]] = list(zip(*columns, strict=True))
    if not keys:
        # Drawn from all studies together.
        keys = [()] * len(table)
    sizes = Counter(keys)
    for name, sample in zip(runs.names[1:], known, strict=True):
        strata = {}
        for stratum in sample.strata:
            key = tuple(_texts([stratum.key.get(field) for field in by]))
            strata[key] = stratum.n_studies
        if tuple(sample.by) != by or sizes != strata:
            raise JudgeError(
                f"{name} is a sample of other studies than {runs.names[0]} has, or was drawn by "
                f"other fields than {', '.join(by) or 'none'}"
            )
    numbers = {key: number for number, key in enumerate(sizes)}
    return "drawn", by, np.array([numbers[key] for key in keys], np.intp)


def _texts(values: Iterable[Any]) -> list[str | None]:
    import pandas as pd

    return [None if pd.isna(value) else as_text(value) for value in values]


def _signature(
    readers: Sequence[Rater],
    n_read: int,
    sampling: str,
    by: Sequence[str],
    patient: str | None,
) -> str:
    digest = short_digest(sorted(reader.run.signature for reader in readers))
    parts = (
        "corrected:2",
        f"readers:{','.join(sorted(reader.name for reader in readers))}",
        f"readings:{n_read}+{digest}",
        f"random:{sampling}",
        f"strata:{','.join(by) or 'none'}",
        "several:averaged",
        f"patient:{patient or 'none'}",
        f"version:{plugins.version()}",
    )
    return signature_line(parts)
