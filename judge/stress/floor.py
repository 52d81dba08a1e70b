"""The floor of a judge: its figures on harmless changes, where it should find no error.

A judge that finds errors in a reference that was only reworded finds such errors in the reports of
models too. The floor is made of the candidates of the group `unchanged`, but for the identical
ones. The candidates of a patient, and those of equal references, go together in its intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from judge.plugins import version
from judge.rubrics.contract import Rubric
from judge.run_files.summary import RunSummary, SummaryBlock
from judge.running.folder import RunFolder
from judge.signature import short_digest, signature_line
from judge.stats.estimate import Estimate
from judge.stats.independent import independent_difference, independent_quotient
from judge.stats.intervals import USUAL_DRAWS, Draws, n_different
from judge.stats.scores import ROUNDING
from judge.stats.statistic import Mean, Rate, Statistic
from judge.stats.summary import OUTCOMES, estimate_of, grouped
from judge.stress.report import open_runs, read_answers, reworded
from judge.text import counted
from judge.types import JudgeError, Scored

FORMAT = 1
_ANY = ("repeat", "class", "omitted", "studies", "shard", "version")
"""Parts of a signature in which a run and its floor may differ."""
NO_CORRECTION = "no correction is known for this figure"
NO_FIGURE = "no study was scored"
NO_FLOOR = "no harmless change of these studies was scored"
ALL_ERRONEOUS = "the judge finds such an error in every harmless change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A figure on harmless changes: `value.n` candidates of `n_references` references have it.

    References of one patient, and equal ones, count as one. `n_unscored` candidates have no score
    and are in neither number.
    """

    value: Estimate
    n_references: int
    n_unscored: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorRow:
    """A figure of a run beside its floor, and corrected by it.

    `group` has the fields of the studies that it is of, empty for all; `model` is None where there
    is one run. `corrected` has no value where none is known: its `reason` says why.
    """

    statistic: Statistic
    name: str
    label: str
    group: Mapping[str, object]
    model: str | None
    figure: Estimate
    floor: Floor
    corrected: Estimate

    @property
    def is_impossible(self) -> bool:
        """Whether the corrected figure is above 1, for a share, or below 0, for a mean."""
        return self._is_beyond(self.corrected.value)

    @property
    def has_impossible_end(self) -> bool:
        """Whether an end of the corrected figure's interval is above 1, or below 0."""
        ends = (self.corrected.low, self.corrected.high)
        return any(self._is_beyond(end) for end in ends)

    def _is_beyond(self, value: float | None) -> bool:
        if value is None:
            return False
        if self.statistic.is_share:
            return value > 1 + ROUNDING
        return value < -ROUNDING

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        return {
            "name": self.name,
            "label": self.label,
            "group": dict(self.group),
            "model": self.model,
            "figure": self.figure.plain(),
            "floor": self.floor.value.plain(),
            "n_references": self.floor.n_references,
            "n_unscored": self.floor.n_unscored,
            "corrected": self.corrected.plain(),
            "is_impossible": self.is_impossible,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorReport:
    """The figures of runs beside their floors, what the floors are made of, and notes."""

    rows: tuple[FloorRow, ...]
    floors: tuple[JudgeFloor, ...]
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        return {
            "floors": [floor.described() for floor in self.floors],
            "figures": [row.plain() for row in self.rows],
            "notes": list(self.notes),
        }


class JudgeFloor:
    """The answers of one judge to harmless changes, from a run of `judge stress`."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        answers = read_answers(run)
        harmless = reworded(answers.table)
        if not len(harmless):
            raise JudgeError(
                f"{run.path} has no reworded reference, and so no floor: judge stress run REFS "
                "without --changes makes them"
            )
        self._harmless = harmless
        self._measures = run.table().loc[harmless.index]
        self._known: dict[tuple[str, frozenset[str] | None], Floor] = {}

    def shared_studies(self, run: RunFolder) -> frozenset[str]:
        """Return the ids of the studies of a run whose references were changed here."""
        harmless = self._harmless
        study_of = dict(zip(harmless["study_id"], harmless["study"], strict=True))
        references: dict[str, str] = {}
        for record in self.run.records():
            study = study_of.get(record["study_id"])
            if study is not None:
                references[str(study)] = record["reference"]
        shared = set()
        for record in run.records():
            # Another data set may have the same ids.
            if references.get(record["study_id"]) == record["reference"]:
                shared.add(record["study_id"])
        return frozenset(shared)

    @property
    def n_references(self) -> int:
        """How many references were changed."""
        return int(self._harmless["study"].nunique())

    def described(self) -> dict[str, Any]:
        """Return what it is made of, as JSON's types."""
        return {
            "run": str(self.run.path),
            "signature": self.signature,
            "rubric": self.run.rubric.name,
            "changes": list(dict.fromkeys(self._harmless["change"])),
            "n_candidates": len(self._harmless),
            "n_references": self.n_references,
        }

    @property
    def text(self) -> str:
        """What it is made of, in words."""
        references = counted(self.n_references, "reference", "references")
        n = len(self._harmless)
        return f"{n:,} harmless changes of {references} ({self.run.path})"

    @property
    def signature(self) -> str:
        """The line that names everything that changes a number of the floor."""
        manifest = self.run.manifest
        parts = [
            f"floor:{FORMAT}",
            *manifest.signature_parts(without=("repeat", "version")),
            f"runs:1+{short_digest([self.run.signature])}",
            f"version:{version()}",
        ]
        return signature_line(parts)

    def of(
        self, statistic: Statistic, studies: frozenset[str] | None, draws: Draws
    ) -> Floor:
        """Return a figure on the harmless changes of some studies, or of all for None."""
        key = (statistic.name, studies)
        if key not in self._known:
            self._known[key] = self._computed(statistic, studies, draws)
        return self._known[key]

    def _computed(
        self, statistic: Statistic, studies: frozenset[str] | None, draws: Draws
    ) -> Floor:
        harmless = self._harmless
        if studies is not None:
            harmless = harmless[harmless["study"].isin(studies)]
        rows = self._measures.loc[harmless.index]
        is_scored = rows["outcome"] == OUTCOMES[Scored]
        scored = rows[is_scored]
        units = harmless["unit"][is_scored].to_numpy()
        n_references = 0
        if len(units):
            n_references = n_different(units)
        return Floor(
            value=statistic.of_table(scored, units, draws),
            n_references=n_references,
            n_unscored=int((~is_scored).sum()),
        )


def run_floor(
    run: RunFolder,
    summary: RunSummary,
    folder: str | Path,
    draws: Draws = USUAL_DRAWS,
) -> FloorReport:
    """Return the figures of a run beside the floor, in the groups of its summary and in all.

    `folder` is that of `judge stress run`, or a run of its candidates. A group has the floor of its
    own studies: those of which the harmless changes were made. Raises `JudgeError` as `floor_of`.
    """
    floor = floor_of(run, open_floors([folder]))
    table = run.table()
    shared = floor.shared_studies(run)
    groups: list[tuple[SummaryBlock, frozenset[str] | None]] = []
    for block, (_, numbers) in zip(
        summary.rates, grouped(table, summary.by), strict=True
    ):
        ids = table["study_id"].iloc[numbers]
        groups.append((block, shared & frozenset(ids)))
    groups.append((summary.everything, None))
    rows = []
    for statistic in floor_statistics(run.rubric):
        for block, studies in groups:
            figure = estimate_of(block, statistic)
            row = floor_row(floor, statistic, figure, studies=studies, draws=draws)
            rows.append(replace(row, group=block.group))
    note = shared_note(floor, len(shared))
    return FloorReport(rows=tuple(rows), floors=(floor,), notes=(note,))


def shared_note(floor: JudgeFloor, n_shared: int) -> str:
    """Say whose floor that of a group is."""
    return (
        "a group has the floor of its own studies: "
        f"{n_shared:,} of the {floor.n_references:,} references that were changed are those of "
        "studies judged here"
    )


def floor_statistics(rubric: Rubric) -> list[Statistic]:
    """Return the statistics that stand beside a floor: those of groups, and of comparisons."""
    shown = []
    for statistic in rubric.statistics:
        if statistic.shown & {"groups", "compare"}:
            shown.append(statistic)
    return shown


def floor_row(
    floor: JudgeFloor,
    statistic: Statistic,
    figure: Estimate,
    *,
    studies: frozenset[str] | None = None,
    draws: Draws = USUAL_DRAWS,
) -> FloorRow:
    """Return a figure of a run beside the floor on the changes of `studies`, or of all."""
    found = floor.of(statistic, studies, draws)
    return FloorRow(
        statistic=statistic,
        name=statistic.name,
        label=statistic.label,
        group={},
        model=None,
        figure=figure,
        floor=found,
        corrected=corrected(floor.run.rubric, statistic, figure, found.value),
    )


def corrected(
    rubric: Rubric, statistic: Statistic, figure: Estimate, floor: Estimate
) -> Estimate:
    """Return a figure without the false errors that the judge finds in harmless changes too.

    A mean of counts of errors is reduced by the floor: the errors of a study are its true ones that
    the judge finds and false ones, as many as in a harmless change. A share of studies without an
    error is divided by the share of harmless changes without one: a study has none where it has no
    true one that the judge finds and, independently of these, no false one. What the judge misses
    stays missed. Nothing is cut at an end of the scale: a mean below 0, or a share above 1, is not
    possible, and says that chance is at work or that the floor is of other reports.

    Without a value, and with the `reason`, for any other figure.
    """
    if not is_correctable(rubric, statistic):
        return Estimate(reason=NO_CORRECTION)
    if floor.value is None:
        return Estimate(reason=NO_FLOOR)
    if figure.value is None:
        return Estimate(reason=NO_FIGURE)
    if isinstance(statistic, Mean):
        return independent_difference(figure, floor)
    if floor.value == 0:
        return Estimate(reason=ALL_ERRONEOUS)
    return independent_quotient(figure, floor)


def is_correctable(rubric: Rubric, statistic: Statistic) -> bool:
    """Return whether it is the mean of counts of errors, or the share of studies without one."""
    if not isinstance(statistic, Mean | Rate):
        return False
    measures = {measure.name: measure for measure in rubric.measures}
    for name in statistic.measures:
        measure = measures[name]
        if not measure.is_whole or measure.higher_is_better:
            return False
        if measure.scale != (0, None):
            return False
    # A share is that of studies without any: more of them are better.
    return statistic.higher_is_better == isinstance(statistic, Rate)


def open_floors(folders: Sequence[str | Path]) -> list[RunFolder]:
    """Return the runs in folders of `judge stress run`, or given as runs, by repeat."""
    opened: list[RunFolder] = []
    for folder in folders:
        opened += open_runs(folder)
    return sorted(opened, key=lambda run: run.repeat)


def floor_of(run: RunFolder, floors: Iterable[RunFolder]) -> JudgeFloor:
    """Return the floor of a run; raises `JudgeError` as `floor_run`, and as `JudgeFloor` does."""
    return JudgeFloor(floor_run(run, floors))


def floor_run(run: RunFolder, floors: Iterable[RunFolder]) -> RunFolder:
    """Return the stress test of a run's floor: that of the same judge, asked in the same way.

    Of several repeats it is the first. Raises `JudgeError` where none of `floors` has the rubric,
    judge, prompt, settings, section and context of the run, and for the run of a reader.
    """
    if run.reading is not None:
        raise JudgeError(
            f"{run.path} is a reader's run: a floor is that of a judge, and readers have none"
        )
    wanted = {*_judged_by(run)}
    nearest: set[str] = set()
    path: Path | None = None
    for floor in floors:
        differing = {*_judged_by(floor)} ^ wanted
        if not differing:
            return floor
        if path is None or len(differing) < len(nearest):
            nearest = differing
            path = floor.path
    raise JudgeError(
        f"{path} is no floor of {run.path}: they differ ({', '.join(sorted(nearest))}), and a "
        "floor holds for the same rubric, judge, prompt and section alone; make it with "
        "judge stress run REFS and the options of the run"
    )


def _judged_by(run: RunFolder) -> list[str]:
    """Return the parts of a run's signature that its floor must have too."""
    return run.manifest.signature_parts(without=_ANY)
