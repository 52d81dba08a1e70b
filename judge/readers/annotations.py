"""What readers wrote about reports, as one long table, and as the readings that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import pandas as pd

from judge.rubrics.categories import CATEGORY, ERROR
from judge.rubrics.green.layout import MATCHED, matched_finding
from judge.rubrics.reading import REFERENCE
from judge.running.records import SampleRead
from judge.studies.names import Section
from judge.types import Annotation, Item, JudgeError, Study

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
_COLUMNS = ("study_id", "reader", "side", "category", "level", "text", "count", "edit")
EVERYONE: Final = ""
"""In place of a reader: all who read the study."""

Key = tuple[str, str]
"""A reader and a study."""


class FaultError(Exception):
    """A row that contradicts itself or another one. Its text says which row, and why."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reader said of one study; `study.fields` has the reader's own values too."""

    study: Study
    annotation: Annotation


@dataclass(frozen=True, slots=True)
class Readings:
    """All that readers said, by reader, in the order of the studies.

    `lacks` and `own` are as in `judge.rubrics.reading.as_read`. `source` is the file with the
    candidates, `class_source` says where the studies' classes come from, None where they are to be
    inferred. `left_out` are the studies that could not be read, by reader, each with the reason.
    """

    rubric: str
    by_reader: Mapping[str, Sequence[Reading]]
    lacks: Mapping[str, str] = field(default_factory=dict)
    own: Sequence[str] = ()
    section: Section = "report"
    source: str | None = None
    notes: tuple[str, ...] = ()
    class_source: str | None = None
    sample: SampleRead | None = None
    left_out: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


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

    def fault(self, key: Key) -> str | None:
        """Return why a reader's study is left out, None where it is not."""
        return self.left_out.get(key) or self.left_out.get((EVERYONE, key[1]))

    def readings(self) -> Readings:
        """Return the readings of each reader; raises `JudgeError` where none is left."""
        keys = dict.fromkeys((row["reader"], row["study_id"]) for row in self.rows)
        keys |= {key: None for key in self.left_out if key[0] != EVERYONE}
        faults: dict[str, dict[str, str]] = {}
        for reader, study_id in keys:
            if why := self.fault((reader, study_id)):
                faults.setdefault(reader, {})[study_id] = why
        rows = [row for row in self.rows if not self.fault((row["reader"], row["study_id"]))]
        if not rows:
            why = next(iter(self.left_out.values()), "every score is blank")
            raise JudgeError(f"no reading can be read: {why}")
        table = pd.DataFrame(rows, columns=_COLUMNS, dtype=object)
        place_of = {study_id: place for place, study_id in enumerate(self.studies)}
        table["place"] = table["study_id"].map(place_of)
        by_reader: dict[str, list[Reading]] = {}
        for (reader, _), group in table.groupby(["reader", "place"]):
            by_reader.setdefault(str(reader), []).append(self._reading(str(reader), group))
        names = dict.fromkeys(name for row in rows for name in (row["category"] or "").split(","))
        has_references = all(study.reference for study in self.studies.values())
        return Readings(
            self.rubric,
            by_reader,
            {**self.lacks, **({} if has_references else {REFERENCE: NO_REPORTS})},
            tuple(name for name in names if name not in ("", *CODES, MATCHED)),
            self.section,
            self.source,
            left_out=faults,
        )

    def _reading(self, reader: str, rows: pd.DataFrame) -> Reading:
        study = self.studies[rows["study_id"].iloc[0]]
        items = [
            item
            for row in rows.to_dict("records")
            for item in [_item(self.rubric, row)] * row["count"]
        ]
        values = {**study.fields, **self.fields.get((reader, study.study_id), {})}
        annotation = Annotation(tuple(items), str(values.pop("comment", "")))
        return Reading(replace(study, fields=values), annotation)


def _item(rubric: str, row: Mapping[Any, Any]) -> Item:
    if row["category"] == MATCHED:
        return matched_finding(row["text"])
    labels = {CATEGORY.name: tuple(row["category"].split(","))} if row["category"] else {}
    graded = {**labels, _GRADED_BY[rubric]: (row["level"],)}
    return Item(ERROR, row["text"], graded, side=row["side"], edit=row["edit"])
