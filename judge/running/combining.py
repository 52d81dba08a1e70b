"""Several ends of each study as one: of several judges, or of one against several references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from judge.report.words import NOTHING, counted, number
from judge.rubrics.combining import Combination, rated, ratings
from judge.rubrics.contract import Rubric
from judge.running.cost import Progress
from judge.running.forms import FORMAT
from judge.running.records import Judged
from judge.running.run import Finished, versions
from judge.running.writer import claim, writing
from judge.stats.reliability import krippendorff
from judge.stats.table import check_fields, reserved_names, summarise
from judge.types import (
    Annotated,
    Annotation,
    Failed,
    JudgeError,
    Measures,
    Outcome,
    Study,
    Unparsed,
)

_RULES = {
    "majority": "the middle one of its {}s', a tie the worse: no error where most see none",
    "mean": "the mean of its {0}s', and a rate is the mean of the {0}s' rates",
    "best": "that of the {} that gives the best score",
}


@dataclass(frozen=True, slots=True)
class End:
    """How a study ended in one part, by the part's number."""

    part: int
    outcome: Outcome
    measures: Measures | None


@dataclass
class Combining:
    """Combines the ends of one study after the other, and remembers what the parts say.

    A study is scored where `least` parts scored it, or all that have it where that is None.
    """

    rubric: Rubric
    how: Combination
    least: int | None = None
    _said: list[list[list[float | None]]] = field(default_factory=list)
    _lost: dict[int, int] = field(default_factory=dict)
    _n_lost: int = 0

    def judged(self, at: int, study: Study, ends: Sequence[End]) -> Judged:
        """Return the study's end, by those of the parts that have it."""
        numbers: list[list[float | None]] = [rated(self.rubric, None) for _ in self.how.names]
        for end in ends:
            numbers[end.part] = rated(self.rubric, end.measures)
        self._said.append(numbers)
        scored: list[tuple[int, Annotation, Measures]] = [
            (end.part, end.outcome.annotation, end.measures)
            for end in ends
            if isinstance(end.outcome, Annotated) and end.measures is not None
        ]
        if len(scored) < (len(ends) if self.least is None else self.least) or not scored:
            return Judged(at, study, self._not_scored(ends), None, None)
        found = [measures for _, _, measures in scored]
        if self.how.rule == "best":
            annotation = scored[self.how.picked(self.rubric, found)][1]
        else:
            annotation = self.how.annotation(self.rubric, [(n, said) for n, said, _ in scored])
        measures = self.how.measures(self.rubric, found)
        return Judged(at, study, Annotated(annotation), measures, None)

    def _not_scored(self, ends: Sequence[End]) -> Outcome:
        lost = [
            (end.part, end.outcome) for end in ends if isinstance(end.outcome, Unparsed | Failed)
        ]
        self._n_lost += 1
        for part, _ in lost:
            self._lost[part] = self._lost.get(part, 0) + 1
        if len(ends) == 1 and lost:
            return lost[0][1]
        whole = f"not scored by all {self.how.of}s"
        if self.how.of == "reference":
            whole = "not scored against all references"
        told = "; ".join(
            f"{self.how.names[part]}: {type(one).__name__.lower()}, {one.reason}"
            for part, one in lost
        )
        few = f"scored by fewer than {self.least} {self.how.of}s"
        were_answered = all(isinstance(outcome, Unparsed) for _, outcome in lost)
        kind = Unparsed if lost and were_answered else Failed
        return kind(whole if self.least is None else few, told)

    def agreement(self) -> list[dict[str, Any]]:
        """Return Krippendorff's alpha between the parts, for each rate and for the score."""
        said = np.array(self._said, dtype=float)  # studies, parts, ratings
        return [
            {"name": name, "label": label, "level": "nominal" if is_yes else "interval"}
            | krippendorff(said[:, :, column]).plain()
            for column, (name, (label, is_yes)) in enumerate(ratings(self.rubric).items())
        ]

    def notes(self, agreement: Iterable[Mapping[str, Any]]) -> list[str]:
        """Say by which rule, how the parts agree, and how many studies were not scored."""
        notes = [f"each number of a study is {_RULES[self.how.rule].format(self.how.of)}"]
        alphas = [f"{one['label']} {_alpha(one)} ({one['level']})" for one in agreement]
        if alphas:
            notes.append(f"Krippendorff's alpha between the {self.how.of}s: {', '.join(alphas)}")
        if self._n_lost:
            whose = ", ".join(f"{self.how.names[at]} {n:,}" for at, n in sorted(self._lost.items()))
            many = counted(self._n_lost, "study is", "studies are")
            notes.append(f"{many} not scored by every {self.how.of}: {whose}")
        return notes


def _alpha(one: Mapping[str, Any]) -> str:
    if one["value"] is None:
        return f"{NOTHING}, {one['reason']}"
    low, high = one["low"], one["high"]
    within = "" if low is None else f" [{number(low)}, {number(high)}]"
    return f"{number(one['value'])}{within}"


def write(
    out: Path,
    combining: Combining,
    studies: Iterable[tuple[Study, Sequence[End]]],
    made_by: Mapping[str, Any],
    manifest: Mapping[str, Any],
    by: Sequence[str],
    *,
    progress: Progress | None = None,
    log: Path | None = None,
) -> Finished:
    """Write the run of `studies` with their ends, whole or not at all.

    `made_by` and `manifest` are what the manifest says beside what is found here; notes stand in
    the first. `log` is the log of a server that is kept.

    Raises `JudgeError` for an `out` that holds another run, an unknown field in `by`, and a field
    that is called as a number of the run.
    """
    rubric, fields = combining.how.rubric(combining.rubric), list(manifest["fields"])
    if taken := {*reserved_names(rubric)} & {*fields}:
        raise JudgeError(f"the run would have the column {min(taken)!r} twice: rename that field")
    claim(out, made_by["signature"])
    with writing(out, rubric, fields) as writer:
        check_fields(by, writer.columns)
        for at, (study, ends) in enumerate(studies):
            writer.add(combining.judged(at, study, ends))
        table = writer.table()
        agreement = combining.agreement() if combining.how.of == "judge" else []
        notes = [*combining.notes(agreement), *made_by["notes"]]
        head = {"reply_modes": {}, **made_by, "notes": notes}
        summary = {**head, **summarise(table, rubric, by)}
        whole = {
            "format": FORMAT,
            **head,
            "combined": {
                "of": combining.how.of,
                "rule": combining.how.rule,
                "least": combining.least,
                "agreement": agreement,
                **manifest["combined"],
            },
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            **{name: value for name, value in manifest.items() if name != "combined"},
        }
        if log is not None and log.exists():
            writer.keep_log(log)
        writer.finish(table, summary, whole)
    return Finished(out, summary, progress or Progress(total=len(table)))
