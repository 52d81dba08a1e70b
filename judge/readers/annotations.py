"""What readers wrote about reports, as one long table, and as the readings that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import pandas as pd

from judge.readers.readings import Reading
from judge.rubrics.categories import CATEGORY, ERROR
from judge.rubrics.green.layout import MATCHED, matched_finding
from judge.rubrics.reading import REFERENCE
from judge.studies.sections import Section
from judge.types import Annotated, Annotation, Item, JudgeError, Study

CODES = tuple(label.name for label in CATEGORY.labels)
"""The six categories in their order."""
NO_REPORTS = "the reports are not in the reader's files"
NO_MATCHED = "the readers marked no matched findings"
NO_CATEGORY = "the readers gave no category"
NO_EDIT = "the readers corrected no lines"
PATIENT = "patient"
GREEN: Final = "green"
FINERADSCORE: Final = "fineradscore"
RubricName = Literal["green", "fineradscore"]
_GRADED_BY = {GREEN: "significance", FINERADSCORE: "severity"}
EVERYONE: Final = ""
"""In place of a reader: all who read the study."""

Key = tuple[str, str]
"""A reader and a study."""


class FaultError(Exception):
    """A row that contradicts itself or another one. Its text says which row, and why."""


@dataclass(slots=True)
class AnnotationTable:
    """What readers wrote about reports: one row for each error, in the order of the files.

    `rows` become the columns study_id, reader, side (the report that the words are from, or
    None), category (a to f, `matched`, another name, several with a comma, or None), level (of
    the rubric's scale), text, count and edit. A study that was read and has no error is a row
    with count 0. `studies` have the reports by id, `fields` the reader's own values of a study.
    `left_out` says why a study cannot be read, by reader and study.
    """

    rubric: RubricName
    lacks: Mapping[str, str] = field(default_factory=dict)
    section: Section = "report"
    source: str | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    studies: dict[str, Study] = field(default_factory=dict)
    fields: dict[Key, dict[str, object]] = field(default_factory=dict)
    left_out: dict[Key, str] = field(default_factory=dict)

    def add(self, reader: str, study_id: str, **values: object) -> None:
        """Add a row; `count` is 1 and all else None where it is left out."""
        blank = {"side": None, "category": None, "level": None, "text": "", "count": 1}
        self.rows.append({"study_id": study_id, "reader": reader, **blank, "edit": None, **values})

    def leave_out(self, reader: str, study_id: str, why: object) -> None:
        """Leave a study out, for one reader or `EVERYONE`; the first reason stays."""
        self.left_out.setdefault((reader, study_id), str(why))

    @contextmanager
    def checking(self, reader: str, study_id: str, place: str) -> Iterator[None]:
        """Leave the study out where a `FaultError` is raised inside."""
        try:
            yield
        except FaultError as fault:
            self.leave_out(reader, study_id, f"{place}: {fault}")

    def describe(self, study_id: str, where: str, **values: object) -> None:
        """Set the reports and fields of a study; None says nothing.

        A study whose values differ between two rows is left out for everyone.
        """
        study = self.studies.get(study_id, Study(study_id, "", ""))
        texts = ("reference", "candidate", "study_class")
        for name, value in values.items():
            if value is None or value == "":
                continue
            known = getattr(study, name) if name in texts else study.fields.get(name)
            if known not in (None, "", value):
                self.leave_out(EVERYONE, study_id, f"{where}: {name} differs from an earlier row")
            elif name in texts:
                study = replace(study, **{name: str(value)})  # type: ignore[arg-type]
            else:
                study = replace(study, fields={**study.fields, name: value})
        self.studies[study_id] = study

    def table(self) -> pd.DataFrame:
        """Return the rows of the studies that are not left out."""
        columns = ("study_id", "reader", "side", "category", "level", "text", "count", "edit")
        table = pd.DataFrame(self.rows, columns=columns, dtype=object)
        keys = zip(table["reader"], table["study_id"], strict=True)
        return table[[self.fault(key) is None for key in keys]]

    def fault(self, key: Key) -> str | None:
        """Return why a reader's study is left out, None where it is not."""
        return self.left_out.get(key) or self.left_out.get((EVERYONE, key[1]))

    def faults(self) -> dict[str, dict[str, str]]:
        """Return the studies that are left out, and why, by reader."""
        keys = {(row["reader"], row["study_id"]): None for row in self.rows}
        keys |= {key: None for key in self.left_out if key[0] != EVERYONE}
        faults: dict[str, dict[str, str]] = {}
        for reader, study_id in keys:
            if why := self.fault((reader, study_id)):
                faults.setdefault(reader, {})[study_id] = why
        return faults

    def readings(self) -> dict[str, list[Reading]]:
        """Return the readings of each reader, in the order of the studies.

        Raises `JudgeError` where none is left.
        """
        places = {study_id: place for place, study_id in enumerate(self.studies)}
        readings: dict[str, list[Reading]] = {}
        for key, rows in self.table().groupby(["reader", "study_id"]):
            reader, study_id = (str(name) for name in key)
            items = [
                item
                for row in rows.to_dict("records")
                for item in [_item(self.rubric, row)] * row["count"]
            ]
            study = self.studies[study_id]
            values = {**study.fields, **self.fields.get((reader, study_id), {})}
            comment = str(values.pop("comment", ""))
            annotation = Annotation(tuple(items), comment)
            reading = Reading(replace(study, fields=values), Annotated(annotation))
            readings.setdefault(reader, []).append(reading)
        if not readings:
            why = next(iter(self.left_out.values()), "every score is blank")
            raise JudgeError(f"no reading can be read: {why}")
        return {
            reader: sorted(readings[reader], key=lambda one: places[one.study.study_id])
            for reader in sorted(readings)
        }

    def missing(self) -> dict[str, str]:
        """Return what the readers were not asked for, as `judge.rubrics.reading.as_read` takes."""
        whole = all(study.reference for study in self.studies.values())
        return {**self.lacks, **({} if whole else {REFERENCE: NO_REPORTS})}

    def categories(self) -> tuple[str, ...]:
        """Return the readers' own categories beside the rubric's, in their order."""
        named = self.table()["category"].dropna()
        names = dict.fromkeys(name for names in named for name in names.split(","))
        return tuple(name for name in names if name not in (*CODES, MATCHED))


def _item(rubric: str, row: Mapping[Any, Any]) -> Item:
    if row["category"] == MATCHED:
        return matched_finding(row["text"])
    labels = {CATEGORY.name: tuple(row["category"].split(","))} if row["category"] else {}
    graded = {**labels, _GRADED_BY[rubric]: (row["level"],)}
    return Item(ERROR, row["text"], graded, side=row["side"], edit=row["edit"])
