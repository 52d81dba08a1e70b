"""What readers said of studies, whatever the layout of the files that they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from judge.readers.sheet import Row
from judge.rubrics.categories import CATEGORY, ERROR
from judge.rubrics.reading import REFERENCE
from judge.running.forms import SampleRead
from judge.studies.sections import Section
from judge.types import Annotated, Edit, Item, JudgeError, Study, Unparsed

CODES = tuple(label.name for label in CATEGORY.labels)
"""The six categories in their order."""
NO_REPORTS = "the reports are not in the reader's files"
NO_MATCHED = "the readers marked no matched findings"
NO_CATEGORY = "the readers gave no category"
NO_EDIT = "the readers corrected no lines"
PATIENT = "patient"

RubricName = Literal["green", "fineradscore"]
GREEN: Final = "green"
_GRADED_BY = {"green": "significance", "fineradscore": "severity"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reader said of one study; `study.fields` has the reader's own values too."""

    study: Study
    outcome: Annotated | Unparsed


@dataclass(frozen=True, slots=True)
class Readings:
    """All that the files of a layout hold: what each reader said, in the order of the studies.

    A reader has no reading of a study that was not read. `lacks` and `own` are as in
    `judge.rubrics.reading.as_read`. `source` is the file that has the candidates, by whose name
    their model is called where nothing else says it; None where no file has them.
    `class_source` is where the classes come from that the studies have already, None where those
    that they lack are to be inferred. `sample` is that in which the studies were drawn.
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


def an_error(
    rubric: RubricName, category: str | None, grade: str, text: str = "", edit: Edit | None = None
) -> Item:
    """Return an error of a rubric; `category` None where the reader was asked for none."""
    labels = {CATEGORY.name: (category,)} if category else {}
    return Item(ERROR, text, {**labels, _GRADED_BY[rubric]: (grade,)}, edit=edit)


def blank(detail: str) -> Unparsed:
    """Return the outcome of a study of which a reader left out what is counted."""
    return Unparsed("blank score", detail)


class Studies:
    """The studies of some files in the order in which they first stand there, each with its texts.

    A text that stands in several rows must be the same in all of them.
    """

    def __init__(self) -> None:
        self._found: dict[str, Study] = {}

    def add(
        self,
        row: Row,
        study_id: str,
        reference: str | None = None,
        candidate: str | None = None,
        **fields: object,
    ) -> None:
        """Take in what a row says of a study; None says nothing. Raises for what contradicts."""
        known = self._found.setdefault(study_id, Study(study_id, "", "", fields={}))
        texts = {"reference": known.reference, "candidate": known.candidate}
        for side, text in (("reference", reference), ("candidate", candidate)):
            if text is None:
                continue
            if texts[side] and texts[side] != text:
                row.wrong(f"the {side} of study {study_id!r} is another than in an earlier row")
            texts[side] = text
        for name, value in fields.items():
            if value is not None and known.fields.get(name, value) != value:
                row.wrong(
                    f"{name} of study {study_id!r} is {value!r}, in an earlier row "
                    f"{known.fields[name]!r}"
                )
        told = {name: value for name, value in fields.items() if value is not None}
        study_class = told.pop("study_class", None)
        self._found[study_id] = Study(
            study_id,
            texts["reference"],
            texts["candidate"],
            study_class=known.study_class if study_class is None else str(study_class),
            fields={**known.fields, **told},
        )

    def __getitem__(self, study_id: str) -> Study:
        return self._found[study_id]

    def __contains__(self, study_id: str) -> bool:
        return study_id in self._found

    def lacking(self) -> dict[str, str]:
        """Return that the readers' files lack reports, where any study has no reference."""
        is_whole = all(study.reference for study in self._found.values())
        return {} if is_whole else {REFERENCE: NO_REPORTS}

    def read(
        self,
        outcomes: Mapping[tuple[str, str], Annotated | Unparsed],
        fields: Mapping[tuple[str, str], Mapping[str, object]] | None = None,
    ) -> dict[str, list[Reading]]:
        """Return the readings by reader, of outcomes and own fields by reader and study.

        Raises `JudgeError` where there are none.
        """
        if not outcomes:
            raise JudgeError("no reader read a study: every score is blank")
        place = {study_id: at for at, study_id in enumerate(self._found)}
        found: dict[str, list[Reading]] = {}
        for (reader, study_id), outcome in sorted(outcomes.items(), key=lambda o: place[o[0][1]]):
            study = self._found[study_id]
            own = (fields or {}).get((reader, study_id), {})
            study = replace(study, fields={**study.fields, **own})
            found.setdefault(reader, []).append(Reading(study, outcome))
        return {reader: found[reader] for reader in sorted(found)}
