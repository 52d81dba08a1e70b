"""What readers wrote about the studies of a judge's run, and how these were drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from judge.comparing.names import RunChoice
from judge.readers.runs import READER
from judge.report.words import counted
from judge.rubrics.contract import Rubric, Statistic
from judge.running.folder import Run
from judge.running.records import SampleRead
from judge.stats.estimate import summed
from judge.stats.table import OUTCOMES
from judge.studies.names import as_text
from judge.types import Annotated, JudgeError
from judge.validating.raters import check_texts, patient_name, patients, places, raters

if TYPE_CHECKING:
    import pandas as pd

Values = NDArray[np.float64]
Codes = NDArray[np.intp]
Drawn = Literal["drawn", "told", "all"]
"""Why the readings are taken for drawn at random: their runs say so, the user does, or every
study was read, so that nothing was chosen."""


@dataclass(frozen=True)
class ReaderRun:
    """A reader's run: `n` of its studies were read and are in the judge's run."""

    reader: str
    shown: str
    signature: str
    n: int
    n_elsewhere: int


@dataclass(frozen=True)
class Readings:
    """What readers wrote, by the rows of the table of a judge's run.

    `values` has for each statistic that can be corrected the mean of the readers of each study,
    NaN where nobody read it; `judged` the judge's. `why_not` says why the others cannot.
    `strata` and `by` are those that the sample was drawn in; `is_even` where all were drawn with
    the same probability.
    """

    runs: tuple[ReaderRun, ...]
    drawn: Drawn
    judged: Mapping[str, Values]
    values: Mapping[str, Values]
    why_not: Mapping[str, str]
    is_read: NDArray[np.bool_]
    strata: Codes
    by: tuple[str, ...]
    is_even: bool
    patient_field: str | None
    patients: Codes | None
    notes: tuple[str, ...]


def read_readings(
    run: Run,
    table: pd.DataFrame,
    paths: Sequence[Path],
    *,
    at_random: bool = False,
    patient_field: str | None = None,
) -> Readings:
    """Open readers' runs and join them to a judge's run, whose table of studies is `table`.

    `at_random` says that the studies were drawn at random where the readers' runs do not.
    `patient_field` is as in a comparison. Raises `JudgeError` for a run of the wrong kind, two
    of one reader, other texts, no study in common, and readings that were not drawn at random.
    """
    if run.reading is not None:
        raise JudgeError(
            f"{run.path} is a reader's run, and what is corrected is a judge's: name the judge's "
            "run, and give this one with --readings"
        )
    choices = [RunChoice(path, str(path)) for path in paths]
    opened = [rater.run for rater in raters(choices, readers=True)]
    ids = [str(one) for one in table["study_id"]]
    joined = [_joined(one, ids) for one in opened]
    for one in joined:
        if not len(one.rows):
            raise JudgeError(
                f"{run.path} has none of the studies of {one.run.path}; they are joined by study id"
            )
    named = [(str(one.path), one) for one in (run, *opened)]
    notes = check_texts(named, {ids[row] for one in joined for row in one.rows})
    read = [one.is_read(len(ids)) for one in joined]
    is_read = np.any(read, axis=0)
    judged, values, why_not = _values(run, table, joined)
    how = "all" if is_read.all() else drawn(opened, told=at_random)
    by, codes = (
        strata(run, table, opened, read) if how == "drawn" else ((), np.zeros(len(ids), np.intp))
    )
    patient = patient_name(run.manifest["fields"], patient_field)
    found = [
        ReaderRun(
            *(_name(one.run), str(path), one.run.signature),
            *(int(rows.sum()), len(one.table) - len(one.rows)),
        )
        for one, path, rows in zip(joined, paths, read, strict=True)
    ]
    return Readings(
        tuple(found),
        how,
        judged,
        values,
        why_not,
        is_read,
        codes,
        by,
        is_even(codes, is_read),
        patient,
        None if patient is None else patients(texts_of(table[patient].tolist())),
        (
            *notes,
            *_left_out(found, joined, table, is_read),
        ),
    )


def opened_reader(path: Path) -> Run:
    """Open a reader's run; raises `JudgeError` for one of a judge, and as `Run` does."""
    return raters([RunChoice(path, str(path))], readers=True)[0].run


def _name(run: Run) -> str:
    return str(run.manifest["judge"]["name"]).removeprefix(READER)


@dataclass(frozen=True)
class _Joined:
    """A reader's run and its table: `at` are its studies that stand at `rows` of the judge's."""

    run: Run
    table: pd.DataFrame
    rows: Codes
    at: Codes

    def is_read(self, n: int) -> NDArray[np.bool_]:
        found = np.zeros(n, bool)
        found[self.rows] = (self.table["outcome"] == OUTCOMES[Annotated]).to_numpy()[self.at]
        return found


def _joined(reader: Run, ids: Sequence[str]) -> _Joined:
    table = reader.table()
    return _Joined(reader, table, *places(map(str, table["study_id"]), ids))


def correctable(rubric: Rubric) -> list[Statistic]:
    """Return the statistics that can be corrected: the means and rates that are shown of sets."""
    return [
        one
        for one in rubric.statistics
        if one.kind != "ratio" and one.shown & {"groups", "compare"}
    ]


def _values(
    run: Run, table: pd.DataFrame, joined: Sequence[_Joined]
) -> tuple[dict[str, Values], dict[str, Values], dict[str, str]]:
    judged, values, why_not = {}, {}, {}
    for statistic in correctable(run.rubric):
        total, n = np.zeros((2, len(table)))
        reasons = [_lacking(statistic, one.run.rubric, one.table) for one in joined]
        if all(reasons):
            why_not[statistic.name] = "; ".join(dict.fromkeys(filter(None, reasons)))
            continue
        for one, why in zip(joined, reasons, strict=True):
            if not why:
                said = _of_studies(one.table, statistic)[one.at]
                total[one.rows] += np.nan_to_num(said)
                n[one.rows] += ~np.isnan(said)
        judged[statistic.name] = _of_studies(table, statistic)
        values[statistic.name] = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    return judged, values, why_not


def _of_studies(table: pd.DataFrame, statistic: Statistic) -> Values:
    """Return what a mean or a rate is the mean of, NaN for a study that has it not."""
    columns = [table[name].to_numpy(dtype=float, na_value=np.nan) for name in statistic.measures]
    if statistic.kind != "rate":
        return summed(columns)
    sizes = summed(columns, sizes=True)
    found: Values = np.where(np.isnan(sizes), np.nan, sizes == 0)
    return found


def _same(one: Statistic, other: Statistic) -> bool:
    return (one.name, one.kind, one.measures, one.is_reciprocal) == (
        *(other.name, other.kind, other.measures, other.is_reciprocal),
    )


def _lacking(statistic: Statistic, rubric: Rubric, table: pd.DataFrame) -> str | None:
    if not any(_same(statistic, one) for one in rubric.statistics):
        return f"{rubric.title} has no such figure"
    empty = [name for name in statistic.measures if table[name].isna().all()]
    reasons = {one.name: one.undefined for one in rubric.measures}
    return (reasons[empty[0]] or "no study has it") if empty else None


def _left_out(
    found: Sequence[ReaderRun],
    joined: Sequence[_Joined],
    table: pd.DataFrame,
    is_read: NDArray[np.bool_],
) -> list[str]:
    notes = [
        f"{one.reader} read {counted(one.n_elsewhere, 'study', 'studies')} that this run has not"
        for one in found
        if one.n_elsewhere
    ]
    scored = OUTCOMES[Annotated]
    notes += [
        f"blank scores of {_name(one.run)}, taken for unread: {blank:,}"
        for one in joined
        if (blank := int((one.table["outcome"] != scored).sum()))
    ]
    if lost := int((is_read & (table["outcome"] != scored).to_numpy()).sum()):
        notes.append(f"studies that were read and that the judge did not score: {lost:,}")
    return notes


def drawn(opened: Sequence[Run], *, told: bool) -> Drawn:
    """Raise `JudgeError` where the studies that were read are not known to be drawn at random."""
    unknown = [run for run in opened if not (run.reading and "sample" in run.reading)]
    if not unknown:
        return "drawn"
    if len(unknown) < len(opened):
        raise JudgeError(
            f"{unknown[0].path} does not say how its studies were drawn, and other readings are a "
            "sample that does; correct with the one or the other"
        )
    if not told:
        raise JudgeError(
            f"{unknown[0].path} does not say how its studies were chosen, and a corrected figure "
            "rests on studies drawn at random; if they were, say so with --readings-at-random"
        )
    return "told"


def strata(
    run: Run,
    table: pd.DataFrame,
    opened: Sequence[Run],
    read: Sequence[NDArray[np.bool_]],
) -> tuple[tuple[str, ...], Codes]:
    """Return the fields that the sample was drawn by, and each study's stratum.

    Raises `JudgeError` where the readers' samples were drawn by different fields, from other
    studies than the run's, or do not hold what was read.
    """
    samples: list[SampleRead] = [one.reading["sample"] for one in opened if one.reading]
    by = tuple(samples[0]["by"])
    for one, sample in zip(opened, samples, strict=True):
        if tuple(sample["by"]) != by:
            named = [", ".join(names) or "no field" for names in (by, sample["by"])]
            raise JudgeError(
                f"{opened[0].path} is a sample drawn by {named[0]}, {one.path} one by {named[1]}; "
                "correct with one of them"
            )
    if lacking := [name for name in by if name not in table.columns]:
        raise JudgeError(f"the sample was drawn by {lacking[0]!r}, a field that {run.path} has not")
    keys = list(zip(*(texts_of(table[name].tolist()) for name in by), strict=True))
    keys = keys or [()] * len(table)
    number = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([number[key] for key in keys], np.intp)
    there = Counter(keys)
    for one, sample, rows in zip(opened, samples, read, strict=True):
        told = {
            tuple(texts_of([each["key"].get(name) for name in by])): each
            for each in sample["strata"]
        }
        if {key: each["n_studies"] for key, each in told.items()} != dict(there):
            raise JudgeError(
                f"{one.path} is a sample of other studies than those of {run.path}: the strata by "
                f"{', '.join(by) or 'no field'} have other sizes"
            )
        for key, at in number.items():
            n, n_drawn = int(rows[codes == at].sum()), told[key]["n_drawn"]
            if n > n_drawn:
                raise JudgeError(
                    f"{one.path} has {n:,} readings where {n_drawn:,} studies were drawn; those "
                    "beside the sample were not drawn at random"
                )
    return by, codes


def is_even(strata: Codes, is_read: NDArray[np.bool_]) -> bool:
    """Whether each stratum was read as often as its share says, to the next whole number."""
    n_all = np.bincount(strata)
    n_read = np.bincount(strata[is_read], minlength=len(n_all))
    return bool((np.abs(n_read - n_all * is_read.sum() / len(strata)) < 1).all())


def texts_of(values: Sequence[Any]) -> list[str | None]:
    """Return the values of a field as texts, None where one is missing."""
    import pandas as pd

    return [None if pd.isna(value) else as_text(value) for value in values]
