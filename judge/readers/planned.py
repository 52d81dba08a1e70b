"""How many studies of a run are still to be read, from the readings there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from judge import rubrics
from judge.readers import kept, own
from judge.rubrics.contract import Rubric, Statistic
from judge.rubrics.reading import as_read
from judge.running.folder import Run
from judge.stats.planning import Plan, plan
from judge.types import Annotated, JudgeError, Measures

_Said = tuple[str, Rubric, Measures]
"""A study, and what a reader said of it by the rubric as the reader used it."""


def plans(run: Run, width: float, readers: Sequence[Run] = ()) -> list[tuple[Statistic, Plan]]:
    """Return for each rate of a run what brings its corrected 95% interval to `width`.

    The agreement is that of the runs of `readers`, else of the finished readings beside the run.
    Raises `JudgeError` where the rubric has no rate, and for readers of other reports.
    """
    rates = [one for one in run.rubric.statistics if one.kind == "rate"]
    if not rates:
        raise JudgeError(f"{run.rubric.title} has no rate to plan for")
    table = run.columns()
    names = [measure.name for measure in run.rubric.measures]
    ids: list[str] = table["study_id"].to_pylist()
    rows = table.select(names).to_pylist()
    by_judge = dict(zip(ids, rows, strict=True))
    said = [*(_of_runs(run, readers) if readers else _of_page(run))]
    return [(one, _plan(one, by_judge, said, width)) for one in rates]


def _plan(
    rate: Statistic, by_judge: Mapping[str, Measures], said: Sequence[_Said], width: float
) -> Plan:
    labels = {
        study_id: label
        for study_id, measures in by_judge.items()
        if (label := _label(rate, measures)) is not None
    }
    by_readers: dict[str, list[bool]] = defaultdict(list)
    for study_id, rubric, measures in said:
        of_reader = next((one for one in rubric.statistics if one.name == rate.name), None)
        label = _label(of_reader, measures) if of_reader else None
        if label is not None and study_id in labels:
            by_readers[study_id].append(label)
    read = [(labels[study], sum(found) / len(found)) for study, found in by_readers.items()]
    return plan(labels.values(), read, len(by_judge), width)


def _label(rate: Statistic, measures: Measures) -> bool | None:
    """Return whether a study is one of a rate's, None where a measure of it is undefined."""
    values = [measures[name] for name in rate.measures]
    return None if None in values else not any(values)


def _of_page(run: Run) -> Iterator[_Said]:
    for one in own.finished(run).values() if kept.current(run.path) else ():
        readings = one.readings
        rubric = as_read(rubrics.load(readings.rubric), readings.lacks, readings.own)
        for reading in (each for found in readings.by_reader.values() for each in found):
            if isinstance(reading.outcome, Annotated):
                measures = rubric.measured(reading.outcome.annotation, reading.study)
                yield reading.study.study_id, rubric, measures


def _of_runs(run: Run, readers: Sequence[Run]) -> Iterator[_Said]:
    candidates = {record["study_id"]: record["candidate"] for record in run.records()}
    for reader in readers:
        n = 0
        for record in reader.records():
            study_id = record["study_id"]
            if study_id not in candidates:
                continue
            n += 1
            if record["candidate"].strip() not in ("", candidates[study_id].strip()):
                raise JudgeError(
                    f"{reader.path} is of other reports than {run.path}: the candidate of study "
                    f"{study_id!r} is another"
                )
            if record["measures"]:
                yield study_id, reader.rubric, record["measures"]
        if not n:
            raise JudgeError(f"{reader.path} and {run.path} have no study in common")
