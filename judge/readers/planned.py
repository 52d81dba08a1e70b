"""How many studies of a run are still to be read, from the readings there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from judge import rubrics
from judge.readers import kept, own
from judge.rubrics.contract import Rubric
from judge.rubrics.numbers import Statistic
from judge.rubrics.reading import as_read
from judge.running.folder import Run
from judge.running.texts import digests
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
    by_judge = _measures(run)
    said = [*(_of_runs(run, by_judge, readers) if readers else _of_page(run))]
    return [(one, _plan(one, by_judge, said, width)) for one in rates]


def _measures(run: Run) -> dict[str, Measures]:
    table = run.columns()
    names = [measure.name for measure in run.rubric.measures]
    return dict(zip(table["study_id"].to_pylist(), table.select(names).to_pylist(), strict=True))


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
    found = own.finished(run)[0] if kept.current(run.path) else {}
    for readings in (one.readings for one in found.values()):
        rubric = as_read(rubrics.load(readings.rubric), readings.lacks, readings.own)
        for reading in (each for found in readings.by_reader.values() for each in found):
            if isinstance(reading.outcome, Annotated):
                measures = rubric.measured(reading.outcome.annotation, reading.study)
                yield reading.study.study_id, rubric, measures


def _of_runs(run: Run, by_judge: Mapping[str, Measures], readers: Sequence[Run]) -> Iterator[_Said]:
    for reader in readers:
        theirs = digests(reader, by_judge)
        if not theirs:
            raise JudgeError(f"{reader.path} and {run.path} have no study in common")
        ours, measures = digests(run, theirs), _measures(reader)
        for study_id, (_, candidate) in theirs.items():
            if candidate not in (None, ours[study_id][1]):
                raise JudgeError(
                    f"{reader.path} is of other reports than {run.path}: the candidate of study "
                    f"{study_id!r} is another"
                )
            yield study_id, reader.rubric, measures[study_id]
