"""Several runs, aligned on studies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.comparing.run_choice import input_file
from judge.running.folder import ANNOTATIONS, Run
from judge.signature import digests
from judge.stats.intervals import Values
from judge.stats.table import OUTCOMES, patient_numbers
from judge.studies.columns import FIELD_NAMES, as_text
from judge.types import Annotated, JudgeError

SIDES = ("references", "candidates")
_ROLES = {"references": ("refs", "reference_field"), "candidates": ("preds", "candidate_field")}


@dataclass(frozen=True)
class AlignedRuns:
    """Runs and the studies on which they are aligned, in an order that no run decides.

    `names` are what messages call the runs. `rows` has for each run the row of its table that
    holds each study, -1 where it lacks the study.
    """

    runs: tuple[Run, ...]
    names: tuple[str, ...]
    study_ids: tuple[str, ...]
    rows: tuple[NDArray[np.intp], ...]

    def take(self, wanted: NDArray[Any]) -> AlignedRuns:
        """Return the same runs on some of the studies, given by number or by truth values."""
        ids = tuple(np.array(self.study_ids, object)[wanted].tolist())
        return replace(self, study_ids=ids, rows=tuple(rows[wanted] for rows in self.rows))

    def columns(self, run: int, names: Iterable[str]) -> dict[str, list[Any]]:
        """Return columns of a run's table, one value a study; None where it has none."""
        wanted = list(names)
        table, rows = self.runs[run].columns(wanted), self.rows[run].tolist()
        # Row -1, of a study that the run lacks, is the last.
        cells = {name: [*table[name].to_pylist(), None] for name in wanted}
        return {name: [column[row] for row in rows] for name, column in cells.items()}

    def numbers(self, run: int, names: Iterable[str]) -> dict[str, Values]:
        """Return columns of numbers, one value a study; NaN where a run has none."""
        wanted = list(dict.fromkeys(names))
        table, rows = self.runs[run].columns(wanted), self.rows[run]
        columns = {name: table[name].to_numpy(zero_copy_only=False) for name in wanted}
        # Row -1, of a study that the run lacks, is the last.
        return {name: np.append(c.astype(float), np.nan)[rows] for name, c in columns.items()}

    @cached_property
    def outcomes(self) -> NDArray[np.object_]:
        """How each study ended in each run, studies by runs; None where a run lacks it."""
        columns = [self.columns(run, ["outcome"])["outcome"] for run in range(len(self.runs))]
        return np.array(columns, object).reshape(len(self.runs), len(self.study_ids)).T

    @property
    def is_scored(self) -> NDArray[np.bool_]:
        """Which studies each run has scored, studies by runs."""
        return np.equal(self.outcomes, OUTCOMES[Annotated]).astype(bool)

    def field(self, name: str, remedy: str = "") -> tuple[list[object] | None, str]:
        """Return a field's value of each study, of the runs that have it, and a note.

        Values are the same where they read the same, and a run without a value says nothing.
        Where runs contradict each other a field with a `remedy` raises `JudgeError`; another is
        None, and the note says so. None too where no run has the field.
        """
        merged: list[object] = [None] * len(self.study_ids)
        sources = [""] * len(merged)
        fields = ({"study_class", *run.manifest["fields"]} for run in self.runs)
        having = [index for index, names in enumerate(fields) if name in names]
        for index in having:
            column = self.columns(index, [name])[name]
            differing = [
                row
                for row, values in enumerate(zip(column, merged, strict=True))
                if values[0] != values[1]
                and None not in values
                and len({*map(as_text, values)}) > 1
            ]
            if differing:
                row = differing[0]
                text = (
                    f"{sources[row]} and {self.names[index]} disagree about {name!r} of "
                    f"{len(differing):,} studies, {self.study_ids[row]!r} among them"
                )
                if remedy:
                    raise JudgeError(f"{text}; {remedy}")
                return None, f"{text}: it is left out"
            for row, value in enumerate(column):
                if merged[row] is None and value is not None:
                    merged[row], sources[row] = value, self.names[index]
        return (merged if having else None), ""

    def patients(self, patient_field: str | None = None) -> tuple[str, NDArray[np.intp]] | None:
        """Return the field that names the patients and each study's patient, by number.

        The field is by default the first of the usual ones that a run has, and `none` sets
        patients aside. None where there is none. A study without a patient is a patient of its
        own. Raises `JudgeError` where no run has the field and where runs disagree.
        """
        if patient_field == "none":
            return None
        there = {name for run in self.runs for name in run.manifest["fields"]}
        usual = FIELD_NAMES["patient"] if patient_field is None else (patient_field,)
        name = next((name for name in usual if name in there), None)
        if name is None and patient_field is not None:
            raise JudgeError(f"no run has the field {patient_field!r} that --patient-field names")
        if name is None:
            return None
        column, _ = self.field(name, "judge them again, or set it aside: --patient-field none")
        return name, patient_numbers(column or ())

    def differing_texts(self, side: str) -> list[tuple[str, str, list[str]]]:
        """Return the studies of which runs judged different `references`, or `candidates`.

        Each entry has the name of an earlier run, of a later one, and the ids. Runs of one file,
        read in one way, agree by its digest; of other files the texts are compared, white space
        aside. A text that a run does not have is no other. Raises `JudgeError` where the
        annotations of a run lack a study of its table.
        """
        known: dict[str, tuple[bytes, str]] = {}
        differing = []
        by_file: dict[object, list[int]] = {}
        for index, run in enumerate(self.runs):
            by_file.setdefault(_file(run, side) or index, []).append(index)
        if len(by_file) == 1:
            return []
        for members in by_file.values():
            new: set[str] = set()
            for index in members:
                pairs = zip(self.study_ids, self.rows[index], strict=True)
                wanted = {study_id for study_id, row in pairs if row >= 0} - new
                if not wanted:
                    continue
                texts = digests(self.runs[index].records(of_any_version=True), wanted)
                if missing := wanted - texts.keys():
                    raise JudgeError(
                        f"the {ANNOTATIONS} of {self.names[index]} lacks {len(missing):,} studies, "
                        f"{min(missing)!r} among them; judge them again"
                    )
                new |= wanted
                others: dict[str, list[str]] = {}
                for study_id in sorted(texts):
                    text = texts[study_id][SIDES.index(side)]
                    if text is not None:
                        before, name = known.setdefault(study_id, (text, self.names[index]))
                        if before != text:
                            others.setdefault(name, []).append(study_id)
                differing += [(name, self.names[index], ids) for name, ids in others.items()]
        return differing

    def records(self, run: int, study_ids: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return the records of some studies, by study id."""
        wanted = set(study_ids)
        records = self.runs[run].records() if wanted else ()
        return {r["study_id"]: r for r in records if r["study_id"] in wanted}


def align(
    runs: Sequence[tuple[str, Run]],
    choose: Callable[..., Collection[str]] = set.intersection,
) -> AlignedRuns:
    """Align named runs on the studies that all have, or that `choose` makes of their sets of ids.

    `set.union` takes those that any has.
    """
    ids = [run.columns([])["study_id"].to_pylist() for _, run in runs]
    study_ids = tuple(sorted(choose(*map(set, ids))))
    rows = []
    for ids_of_run in ids:
        row_of = {study_id: row for row, study_id in enumerate(ids_of_run)}
        rows.append(np.array([row_of.get(study_id, -1) for study_id in study_ids], np.intp))
    names, opened = zip(*runs, strict=True)
    return AlignedRuns(tuple(opened), tuple(names), study_ids, tuple(rows))


def _file(run: Run, side: str) -> object:
    role, field = _ROLES[side]
    file, arguments = input_file(run, role), run.manifest.get("arguments") or {}
    read_as = (run.manifest["section"], arguments.get("id_field"), arguments.get(field))
    # How a reader's reports were read from their file is not in the reader's run.
    return (file["sha256"], *read_as) if file and run.reading is None else None
