"""RadPref: two candidates a study, and a file of annotations for each reader."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from judge.readers.annotations import (
    FINERADSCORE,
    NO_EDIT,
    AnnotationTable,
    FaultError,
    File,
    Key,
)
from judge.readers.layouts.layout import Layout
from judge.rubrics.derived import EDIT
from judge.studies.columns import stem_of
from judge.types import JudgeError

_GRADES = {
    "urgent": "severity3",
    "actionable_not_urgent": "severity2",
    "not_actionable_not_urgent": "severity1",
    "benign_expected": "severity1",
}
# An attribute error has a weight in place of a grade.
_WEIGHTS = {"significant": "severity2", "negligible": "severity1"}
_CATEGORY_OF = {"location": "c", "severity": "d"}
_LACKS = {
    EDIT: NO_EDIT,
    "severity4": "the readers' scale ends with urgent",
    **dict.fromkeys(("e", "f"), "the readers had no such category"),
}
_SIDES = ("C1", "C2")
_ADDED = "a finding that the reader added"
_PATIENT_FIELDS = {
    "PatientAge": "age",
    "PatientSex": "sex",
    "Indication": "indication",
    "Comparison": "comparison",
}
_ATTRIBUTES = {
    "location",
    "severity",
    "descriptor",
    "measurement",
    "certainty",
    "unspecific",
    "overinterpretation",
    "temporal",
}


def _read(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read RadPref: two candidates a study, and a file of annotations for each reader."""
    reports = [file for file in files if not file.has("annotations")]
    annotations = {}
    for file in files:
        if file.has("annotations"):
            annotations[stem_of(file.name)] = file.data["annotations"]
    if len(reports) != 1 or len(annotations) != len(files) - 1 or not annotations:
        raise JudgeError(
            "RadPref has one file of reports and one named after each reader"
        )
    table = AnnotationTable(rubric=FINERADSCORE, lacks=_LACKS, source=reports[0].name)
    try:
        for record in reports[0].data:
            fields = {name: record.get(key) for key, name in _PATIENT_FIELDS.items()}
            fields["reference"] = record["ground_truth_report"]
            # An id is patient_examination_series.
            fields["patient"] = record["id"].partition("_")[0]
            for side in _SIDES:
                fields["model"] = record.get(f"{side}_source") or side
                fields["candidate"] = record.get(f"{side}_report")
                study_id = f"{record['id']}/{side}"
                table.describe(study_id, study_id, **fields)
        records = {record["id"]: record for record in reports[0].data}
        readings = list(_readings(annotations))
    except (AttributeError, KeyError, TypeError) as error:
        raise JudgeError(
            f"the files are not in the form of RadPref: {error!r:.100}"
        ) from error
    for reader, study, side, sides in readings:
        key = (reader, f"{study}/{side}")
        try:
            _add_reading(table, key, records[study], sides)
        except FaultError as fault:
            table.left_out.setdefault(key, f"{reader}, {study}, {side}: {fault}")
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            why = f"{error!r:.100} in what {reader} says of {study}, {side}"
            table.left_out.setdefault(key, why)
    return table


def _readings(
    annotations: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, str, str, Any]]:
    """Yield reader, study, side and what the reader said of both sides of the study."""
    for reader, studies in annotations.items():
        for study, sides in studies.items():
            for side in _SIDES:
                if side in sides:
                    yield reader, study, side, sides


def _add_reading(
    table: AnnotationTable,
    key: Key,
    record: Mapping[str, Any],
    sides: Mapping[str, Any],
) -> None:
    """Add what a reader says of one side of a study; `sides` has both, and the findings added."""
    side = key[1].rpartition("/")[2]
    reading = sides[side]
    added = sides.get("new_finding_indices") or {}
    findings = record.get(f"{side}_findings", ())
    table.add(key, count=0)
    numbers = _added_numbers(findings, reading["finding_errors"], added.get(side))
    for number, entry in reading["finding_errors"].items():
        text = _finding(findings, number, numbers)
        if {"attribute": True, "false": False}[entry["error_type"]]:
            attributes = entry["attributes"]
            if not {*attributes} <= _ATTRIBUTES:
                raise ValueError(f"unknown attributes {', '.join(attributes)}")
            categories = {_CATEGORY_OF.get(name, name) for name in attributes}
            category = ",".join(sorted(categories))
            level = max(_WEIGHTS[weight] for weight in attributes.values())
            weights = [f"{name} {weight}" for name, weight in attributes.items()]
            text += f" ({', '.join(weights)})"
        else:
            category = "a"
            level = _GRADES[entry["clinical_significance"]]
        table.add(key, category, level, text=_explained(text, entry), side="candidate")
    findings = record["ground_truth_findings"]
    numbers = _added_numbers(findings, reading["missing_findings"], added.get("GT"))
    for number, entry in reading["missing_findings"].items():
        missing = _finding(findings, number, numbers)
        text = _explained(missing, entry)
        table.add(
            key,
            "b",
            _GRADES[entry["clinical_significance"]],
            text=text,
            side="reference",
        )
    table.fields[key] = {"comment": reading.get("rating_explanation") or ""}
    rating = reading.get("rating")
    if rating is not None:
        table.fields[key]["rating"] = rating + 0  # which fails for what is no number


def _added_numbers(
    findings: Sequence[str], entries: Mapping[str, object], listed: Iterable[int] | None
) -> set[int]:
    """Return the numbers of findings that a reader added beyond the file's list.

    They are listed as `new_finding_indices`; one reader of the published files has them without
    that list, numbered on from the end of the findings.
    """
    beyond = {int(number) for number in entries if int(number) >= len(findings)}
    numbered_on = range(len(findings), len(findings) + len(beyond))
    return {*(listed or ()), *numbered_on}


def _finding(findings: Sequence[str], number: str, added: Collection[int]) -> str:
    """Return a finding by its number; the files have no text of one that a reader added."""
    at = int(number)
    if 0 <= at < len(findings):
        return findings[at]
    if at in added:
        return _ADDED
    raise FaultError(
        f"the list has {len(findings)} findings, and none with the number {number}"
    )


def _explained(text: str, entry: Mapping[str, Any]) -> str:
    if not entry.get("explanation"):
        return text
    return f"{text}: {entry['explanation']}"


RADPREF = Layout(
    name="radpref",
    columns=(("id", "ground_truth_report"), ("annotations",)),
    read=_read,
    has_several_files=True,
)
