"""RadPref: two candidates a study, with errors, a rating of each, and which one is preferred.

A file of reports, and one of annotations for each reader, whose file names the reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from judge import jsonio
from judge.readers.readings import CODES, NO_EDIT, PATIENT, Readings, Studies, an_error, blank
from judge.readers.sheet import Row
from judge.rubrics.reading import EDIT, own_name
from judge.studies.load import Content, decode
from judge.studies.names import stem_of
from judge.types import Annotated, Annotation, Item, JudgeError, Unparsed

_CANDIDATES = ("C1", "C2")
_BENIGN = "benign_expected"
_GRADES = {
    "urgent": "severity3",
    "actionable_not_urgent": "severity2",
    "not_actionable_not_urgent": "severity1",
    # The scale ends with "not actionable", which this is; how many they are is kept beside it.
    _BENIGN: "severity1",
}
_LACKS = {"severity4": "the readers' scale ends with urgent"} | dict.fromkeys(
    CODES[2:], "the readers had no such category"
)
_MISSING, _ATTRIBUTE = "b", "attribute"
_WEIGHTS = ("significant", "negligible")
_FALSE = ("false_finding", "false", "hallucination", "finding", "false_positive")
_WORDS = ("text", "finding", "description", "error", "comment")
"""What the words of an error may be called."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON file of this layout."""

    name: str
    data: Any

    @property
    def has_reports(self) -> bool:
        """Whether it is the file of reports."""
        records = self.data.values() if isinstance(self.data, dict) else self.data
        first = (
            next(iter(records), None) if isinstance(records, Sequence | type({}.values())) else None
        )
        return isinstance(first, dict) and "ground_truth_report" in first

    @property
    def has_annotations(self) -> bool:
        """Whether it is a reader's file."""
        return isinstance(self.data, dict) and isinstance(self.data.get("annotations"), dict)

    @property
    def fits(self) -> bool:
        """Whether it is of this layout."""
        return self.has_reports or self.has_annotations

    def wrong(self, where: str, why: str) -> NoReturn:
        """Raise the error that says what is wrong, and where."""
        raise JudgeError(f"{self.name}, {where}: {why}")


def document(content: Content) -> Document:
    """Read JSON; raises `JudgeError` where it is none, or where a key stands twice."""
    try:
        return Document(content.name, jsonio.read(decode(content)))
    except jsonio.JsonError as error:
        raise JudgeError(f"{content.name} cannot be read as JSON: {error}") from error


def read(documents: Sequence[Document]) -> Readings:
    """Return the readings in the files; raises `JudgeError` for the first record that is wrong."""
    reports = [one for one in documents if one.has_reports]
    readers = [one for one in documents if one.has_annotations and not one.has_reports]
    if len(reports) != 1 or not readers or len(reports) + len(readers) != len(documents):
        raise JudgeError(
            "RadPref is one file of reports (ground_truth_report, C1_report, C2_report) and one of "
            "annotations for each reader; these are not that: "
            f"{', '.join(one.name for one in documents)}"
        )
    studies = _reports(reports[0])
    outcomes: dict[tuple[str, str], Annotated | Unparsed] = {}
    fields: dict[tuple[str, str], dict[str, object]] = {}
    for one in readers:
        reader = stem_of(one.name)
        if any(reader == known for known, _ in outcomes):
            raise JudgeError(f"two files are of the reader {reader!r}; rename one: {one.name}")
        if not one.data["annotations"]:
            raise JudgeError(f"{one.name} has no annotation; leave it out, or write what was read")
        for study, found in one.data["annotations"].items():
            _read_study(one, reader, study, found, studies, outcomes, fields)
    return Readings(
        "fineradscore",
        studies.read(outcomes, fields),
        {EDIT: NO_EDIT, **_LACKS, **studies.lacking()},
        tuple(_own(outcomes)),
        source=reports[0].name,
    )


def _reports(document: Document) -> Studies:
    data = document.data
    records = list(data.items()) if isinstance(data, dict) else [(None, one) for one in data]
    studies = Studies()
    for number, (key, record) in enumerate(records, start=1):
        row = Row(document.name, number, record if isinstance(record, dict) else {})
        where = f"record {number}"
        study = row.text("id") or key
        if study is None:
            document.wrong(where, "it has no id")
        reference = row.text("ground_truth_report")
        if reference is None:
            document.wrong(where, "ground_truth_report is blank")
        for name in _CANDIDATES:
            if f"{study}/{name}" in studies:
                document.wrong(where, f"study {study!r} is there twice")
            texts = (reference, row.text(f"{name}_report"))
            studies.add(row, f"{study}/{name}", *texts, **{"model": name, PATIENT: study})
    return studies


def _read_study(
    document: Document,
    reader: str,
    study: str,
    found: object,
    studies: Studies,
    outcomes: dict[tuple[str, str], Annotated | Unparsed],
    fields: dict[tuple[str, str], dict[str, object]],
) -> None:
    """Take in what a reader said of both candidates; a candidate that is not there was not read."""
    where = f"study {study!r}"
    if not isinstance(found, dict):
        document.wrong(where, "its annotation is no object")
    if all(f"{study}/{name}" not in studies for name in _CANDIDATES):
        document.wrong(where, "no such study in the file of reports")
    for name in found:
        if name not in _CANDIDATES and name.upper() in _CANDIDATES:
            document.wrong(where, f"the candidate {name!r} must be written {name.upper()!r}")
    preferred = found.get("preference")
    for name in _CANDIDATES:
        if found.get(name) is None:
            continue
        study_id, place = f"{study}/{name}", f"{where}, {name}"
        one = found[name]
        if not isinstance(one, dict):
            document.wrong(place, "its annotation is no object")
        items, n_benign = _items(document, place, one)
        rating = one.get("rating")
        if rating is not None and (isinstance(rating, bool) or not isinstance(rating, int | float)):
            document.wrong(place, f"the rating is {rating!r}; it must be a number")
        own = {"rating": rating, "preference": preferred, _BENIGN: n_benign}
        fields[reader, study_id] = own
        outcomes[reader, study_id] = (
            blank(f"{place}: an error has no clinical_significance")
            if None in items
            else Annotated(Annotation(tuple(item for item in items if item is not None)))
        )


def _items(document: Document, place: str, one: Mapping[str, Any]) -> tuple[list[Item | None], int]:
    """Return the errors, None for one without a significance, and how many are benign."""
    items: list[Item | None] = []
    n_benign = 0
    for name in ("finding_errors", "missing_findings"):
        if not isinstance(one.get(name), list):
            document.wrong(place, f"{name} is no list; where there is none it is empty")
        for number, entry in enumerate(one[name], start=1):
            at = f"{place}, {name} {number}"
            if not isinstance(entry, dict):
                document.wrong(at, "it is no object")
            category = _MISSING if name == "missing_findings" else _category(document, at, entry)
            grade = entry.get("clinical_significance")
            if grade is None:
                items.append(None)
                continue
            if not isinstance(grade, str) or grade not in _GRADES:
                document.wrong(
                    at,
                    f"clinical_significance is {grade!r}; it must be one of {', '.join(_GRADES)}",
                )
            n_benign += grade == _BENIGN
            items.append(an_error("fineradscore", category, _GRADES[grade], _text(entry)))
    return items, n_benign


def _category(document: Document, at: str, entry: Mapping[str, Any]) -> str:
    given = entry.get("type")
    if not isinstance(given, str) or (name := own_name(given)) is None:
        document.wrong(at, f"type is {given!r}; it must be a word")
    if name == _ATTRIBUTE:
        attributes = entry.get("attributes")
        if not isinstance(attributes, dict) or not attributes:
            document.wrong(at, "an error of type attribute has no attributes")
        for attribute, weight in attributes.items():
            if weight not in _WEIGHTS:
                document.wrong(at, f"{attribute} is {weight!r}; it must be {' or '.join(_WEIGHTS)}")
    return "a" if name in _FALSE else name


def _text(entry: Mapping[str, Any]) -> str:
    said = next((entry[name] for name in _WORDS if isinstance(entry.get(name), str)), "").strip()
    attributes = entry.get("attributes")
    if isinstance(attributes, dict) and attributes:
        listed = ", ".join(f"{name} {weight}" for name, weight in attributes.items())
        return f"{said} ({listed})" if said else listed
    return said


def _own(outcomes: Mapping[tuple[str, str], Annotated | Unparsed]) -> dict[str, None]:
    found: dict[str, None] = {}
    for outcome in outcomes.values():
        if isinstance(outcome, Annotated):
            for item in outcome.annotation.items:
                found |= {name: None for name in item.labels["category"] if len(name) > 1}
    return found
