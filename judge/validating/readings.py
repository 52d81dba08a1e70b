"""What readers wrote about the studies of a judge's run, joined to it by study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from judge.report.words import counted
from judge.rubrics.contract import Rubric, Statistic
from judge.running.folder import Run
from judge.signature import digests
from judge.stats.rates import summed
from judge.stats.table import OUTCOMES
from judge.studies.names import FIELD_NAMES
from judge.types import Annotated, JudgeError
from judge.validating.raters import patients, places
from judge.validating.sampling import Drawn, drawn, is_even, strata, texts_of

if TYPE_CHECKING:
    import pandas as pd

PATIENT_FIELDS = FIELD_NAMES["patient"]
Values = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class ReaderRun:
    """A reader's run: `n` of the studies it has were read and are in the judge's run."""

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
    opened = [opened_reader(path) for path in paths]
    _check_readers(opened)
    ids = [str(one) for one in table["study_id"]]
    joined = [_joined(one, ids) for one in opened]
    _check_common(run, joined)
    notes = _check_texts(run, opened, frozenset(ids))
    read = [one.is_read(len(ids)) for one in joined]
    is_read = np.any(read, axis=0)
    judged, values, why_not = _values(run, table, joined)
    how = "all" if is_read.all() else drawn(opened, told=at_random)
    by, codes = (
        strata(run, table, opened, read) if how == "drawn" else ((), np.zeros(len(ids), np.intp))
    )
    patient = _patient(run, patient_field)
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
            *_other_rubrics(run.rubric, opened),
            *_left_out(found, joined, table, is_read),
        ),
    )


def opened_reader(path: Path) -> Run:
    """Open a reader's run; raises `JudgeError` for one of a judge, and as `Run` does."""
    run = Run(path)
    if run.reading is None:
        raise JudgeError(
            f"{path} is a run of the judge {run.manifest['judge']['name']}, not of a reader; "
            "--readings takes the runs that judge import makes of what readers wrote"
        )
    return run


def _name(run: Run) -> str:
    return str(run.manifest["judge"]["name"]).partition(":")[2]


def _check_readers(opened: Sequence[Run]) -> None:
    twice = [name for name, n in Counter(map(_name, opened)).items() if n > 1]
    if twice:
        paths = " and ".join(str(run.path) for run in opened if _name(run) == twice[0])
        raise JudgeError(f"{paths} are both of the reader {twice[0]!r}; give one of them")


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


def _check_common(run: Run, joined: Sequence[_Joined]) -> None:
    for one in joined:
        if not len(one.rows):
            n = len(one.table)
            first = f", {one.table['study_id'].iloc[0]!r} among them" if n else ""
            raise JudgeError(
                f"{run.path} has none of the {counted(n, 'study', 'studies')} of "
                f"{one.run.path}{first}; they are joined by study id: give readings of this run's "
                "studies"
            )


def _check_texts(run: Run, opened: Sequence[Run], ids: Collection[str]) -> list[str]:
    """Raise where a reader read another text than was judged; say where that is not known.

    White space aside. A reader's run without candidates, or a study of it without a reference,
    says nothing of them.
    """
    notes = []
    theirs = [digests(one.records(of_any_version=True), ids) for one in opened]
    wanted = {study_id for texts in theirs for study_id in texts}
    ours = digests(run.records(of_any_version=True), wanted)
    for one, texts in zip(opened, theirs, strict=True):
        has_candidates = any(candidate for _, candidate in texts.values())
        read, judged = one.manifest["section"], run.manifest["section"]
        sections = ""
        if read != judged:
            sections = (
                f"it holds readings of the section {read}, and {run.path} is of {judged}: judge "
                f"that section (--section {read})"
            )
        if not has_candidates:
            if sections:
                raise JudgeError(f"{one.path} has no texts to compare, and {sections}")
            notes.append(
                f"{one.path} holds no candidates: that they are those of {run.path} is not checked"
            )
        differing = [
            study_id
            for study_id, (reference, candidate) in texts.items()
            if (has_candidates and candidate != ours[study_id][1])
            or reference not in (None, ours[study_id][0])
        ]
        if differing:
            raise JudgeError(
                f"{one.path} is about other texts than {run.path}: the candidate or the "
                f"reference differs for {len(differing):,} of "
                f"{counted(len(texts), 'study', 'studies')} in common, {differing[0]!r} first; "
                + (sections or "give readings of the reports that were judged")
            )
    return notes


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


def _other_rubrics(rubric: Rubric, opened: Sequence[Run]) -> list[str]:
    notes = []
    for one in opened:
        if one.rubric.name == rubric.name:
            continue
        shared = [
            theirs
            for theirs in one.rubric.statistics
            if theirs.definition and any(_same(theirs, ours) for ours in correctable(rubric))
        ]
        means = "".join(f"; {theirs.label} is {theirs.definition}" for theirs in shared)
        notes.append(f"{_name(one)} used {one.rubric.title}{means}")
    return notes


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


def _patient(run: Run, asked: str | None) -> str | None:
    """Return the field of the patient, None where there is none or it is set aside."""
    if asked == "none":
        return None
    fields = run.manifest["fields"]
    if asked is not None and asked not in fields:
        raise JudgeError(f"the run has no field {asked!r}; name the patient with --patient-field")
    return asked or next((name for name in PATIENT_FIELDS if name in fields), None)
