"""The studies of a run, in columns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from judge.studies.context import NO_CONTEXT, JudgeContext
from judge.studies.sections import Section
from judge.types import Study

T = TypeVar("T")

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was read as `preds`, `refs` or `both`; `sha256` is of its bytes as they are."""

    path: str
    role: str
    sha256: str
    n_records: int


@dataclass(frozen=True, slots=True)
class StudySet:
    """Studies as parallel columns, in the order of the references.

    `full_references` are the whole reports where the input has more than the section.
    `of_candidates` are the fields that the candidates' file alone has. A study class that isn't
    known is None; `class_inferred` marks one that was inferred, `class_field` gave the others.
    `model` wrote the candidates, None where nothing says so. `read_from` names the fields of ids,
    candidates and references. `omitted` counts the studies that were left out, by reason, and
    `omitted_ids` has the first few. `every_reference` has all references of each study by their
    names, where studies have several.
    """

    study_ids: tuple[str, ...]
    references: tuple[str, ...]
    candidates: tuple[str, ...]
    study_classes: tuple[str | None, ...]
    class_inferred: tuple[bool, ...]
    full_references: tuple[str, ...]
    section: Section
    fields: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    of_candidates: frozenset[str] = frozenset()
    class_field: str | None = None
    model: str | None = None
    read_from: Mapping[str, str] = field(default_factory=dict)
    omitted: Mapping[str, int] = field(default_factory=dict)
    omitted_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inputs: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()
    judge_context: JudgeContext = NO_CONTEXT
    every_reference: tuple[tuple[tuple[str, str], ...], ...] = ()

    def __len__(self) -> int:
        return len(self.study_ids)

    def __iter__(self) -> Iterator[Study]:
        return map(self.study, range(len(self)))

    def take(self, rows: Sequence[int], study_ids: Sequence[str] | None = None) -> Self:
        """Return the studies of some rows; one that is there several times needs ids of its own."""

        def picked(column: Sequence[T]) -> tuple[T, ...]:
            return tuple(column[row] for row in rows)

        return replace(
            self,
            study_ids=picked(self.study_ids) if study_ids is None else tuple(study_ids),
            references=picked(self.references),
            candidates=picked(self.candidates),
            study_classes=picked(self.study_classes),
            class_inferred=picked(self.class_inferred),
            full_references=picked(self.full_references),
            fields={name: picked(column) for name, column in self.fields.items()},
            every_reference=picked(self.every_reference) if self.every_reference else (),
        )

    def drawn(self, n: int, seed: int) -> Self:
        """Return `n` studies, drawn by seed and ids; a larger `n` has those of a smaller."""

        def lot(row: int) -> str:
            key = json.dumps(["study", seed, self.study_ids[row]])
            return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()

        return self.take(sorted(sorted(range(len(self)), key=lot)[:n]))

    def study(self, row: int) -> Study:
        """Return the study in a row, counted from 0."""
        fields = {name: column[row] for name, column in self.fields.items()}
        return Study(
            study_id=self.study_ids[row],
            reference=self.references[row],
            candidate=self.candidates[row],
            study_class=self.study_classes[row],
            class_inferred=self.class_inferred[row],
            fields=fields,
            **(self.judge_context.read(fields) if self.judge_context != NO_CONTEXT else {}),
        )


def first_ids(ids: Sequence[str]) -> str:
    """Return the first few ids, each cut to a readable length."""
    shown = [text if len(text) <= 60 else text[:57] + "..." for text in ids[:_SHOWN]]
    return ", ".join(shown) + (", ..." if len(ids) > _SHOWN else "")
