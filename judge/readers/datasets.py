"""The layouts of the open data sets: each is one function from files to one long table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, ValidationError
from typing_extensions import TypedDict

from judge.readers.annotations import (
    CODES,
    FINERADSCORE,
    GREEN,
    NO_CATEGORY,
    NO_EDIT,
    NO_MATCHED,
    SIGNIFICANCE,
    AnnotationTable,
    Cells,
    FaultError,
    File,
    Key,
    Readings,
    open_file,
)
from judge.readers.tidy_table import tidy
from judge.rubrics.categories import CATEGORY, LEVELS
from judge.rubrics.derived import EDIT
from judge.rubrics.green.parse import MATCHED
from judge.running.records import adapter, first_of
from judge.sentences import lines
from judge.studies.columns import stem_of
from judge.studies.study_set import InputFile
from judge.types import Edit, JudgeError, Side

AUTO = "auto"
"""The layout is recognized by the columns of the files."""
_BY_NUMBER = {str(number): code for number, code in enumerate(CODES, start=1)}

_REPORTS = ("study_id", "gt_report")
_CANDIDATES = ("radgraph", "bertscore", "s_emb", "bleu")
_COUNTS: tuple[str, ...] = ("study_number", "candidate_type", "error_category", "rater_index")
_COUNTS += ("clinically_significant", "num_errors")
_ALL_COUNTS = len(LEVELS) * len(CODES)


def rexval(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read ReXVal: counts by six readers in six categories, of four candidates a study."""
    reports = [file for file in files if file.has(*_REPORTS)]
    counts = [file for file in files if not file.has(*_REPORTS)]
    if len(reports) > 1 or len(counts) != 1:
        raise JudgeError("ReXVal has one file of counts and at most one of reports; name these")
    table = AnnotationTable(GREEN, {MATCHED: NO_MATCHED})
    studies: dict[str, str] = {}  # by their numbers, which the counts name
    for number, row in enumerate(reports[0].rows() if reports else ()):
        table.source = reports[0].name
        (study,) = row.ids("study_id")
        studies[str(number)] = study
        for name in _CANDIDATES:
            texts = {"reference": row["gt_report"], "candidate": row[name]}
            table.describe(f"{study}/{name}", row.place, **texts, model=name, patient=study)
    seen: dict[Key, set[tuple[str, str]]] = defaultdict(set)
    for row in counts[0].rows():
        named, model, reader = row.ids("study_number", "candidate_type", "rater_index")
        study = studies.get(named.removesuffix(".0"), named)
        study_id = f"{study}/{model}"
        if reports and study_id not in table.studies:
            table.leave_out(reader, study_id, f"{row.place}: the file of reports has no such study")
            continue
        table.describe(study_id, row.place, model=model, patient=study)
        cells = seen[reader, study_id]
        with table.checking(reader, study_id):
            level = row.choice("clinically_significant", SIGNIFICANCE)
            category = row.choice("error_category", _BY_NUMBER)
            if (level, category) in cells:
                raise row.fault(f"the {level} count of category {category} is duplicate")
            if row["num_errors"] is not None:
                cells.add((level, category))
                count = row.count("num_errors")
                table.add(reader, study_id, category=category, level=level, count=count)
    for key, cells in seen.items():
        if len(cells) < _ALL_COUNTS:
            table.leave_out(*key, f"it has {len(cells)} of {_ALL_COUNTS} counts")
    return table


_EIGHT = ("one", "two", "three", "four", "five", "six", "seven", "eight")


def radevalx(files: Sequence[File], reader: str | None) -> AnnotationTable:
    """Read RadEvalX: counts in eight categories, a row of significant and one of other errors."""
    (file,) = files
    reader = reader or stem_of(file.name)
    table = AnnotationTable(GREEN, {MATCHED: NO_MATCHED})
    table.source = file.name if file.has("candidate_report") else None
    seen: dict[str, list[str]] = defaultdict(list)
    for row in file.rows():
        (study_id,) = row.ids("report_id")
        texts = {"reference": row["ground_truth"], "candidate": row["candidate_report"]}
        table.describe(study_id, row.place, **texts)
        with table.checking(reader, study_id):
            level = row.choice("error_type", {name: name for name in LEVELS})
            seen[study_id].append(level)
            for name, category in zip(_EIGHT, (*CODES, *_EIGHT[len(CODES) :]), strict=True):
                count = row.count(name)
                table.add(reader, study_id, category=category, level=level, count=count)
    for study_id, levels in seen.items():
        if sorted(levels) != sorted(LEVELS):
            why = f"it has rows of {' and '.join(levels)} errors, not one of each kind"
            table.leave_out(reader, study_id, why)
    return table


_GRADES = {"urgent": "severity3", "actionable_not_urgent": "severity2"}
_GRADES |= dict.fromkeys(("not_actionable_not_urgent", "benign_expected"), "severity1")
# An attribute error has a weight in place of a grade.
_WEIGHTS = {"significant": "severity2", "negligible": "severity1"}
_CATEGORY_OF = {"location": "c", "severity": "d"}
_RADPREF_LACKS = {
    EDIT: NO_EDIT,
    "severity4": "the readers' scale ends with urgent",
    **dict.fromkeys(("e", "f"), "the readers had no such category"),
}
_SIDES = ("C1", "C2")
_PATIENT_FIELDS = {
    "PatientAge": "age",
    "PatientSex": "sex",
    "Indication": "indication",
    "Comparison": "comparison",
    "StudyDescription": "study_description",
}
_Attribute = (
    Literal["location", "severity", "descriptor", "measurement", "certainty"]
    | Literal["unspecific", "overinterpretation", "temporal"]
)


class _Graded(TypedDict):
    clinical_significance: Literal[
        "urgent", "actionable_not_urgent", "not_actionable_not_urgent", "benign_expected"
    ]
    explanation: NotRequired[str | None]


class _FalseFinding(_Graded):
    error_type: Literal["false"]


class _WrongAttributes(TypedDict):
    error_type: Literal["attribute"]
    attributes: Annotated[
        dict[_Attribute, Literal["significant", "negligible"]], Field(min_length=1)
    ]
    explanation: NotRequired[str | None]


class _RadPrefReading(TypedDict):
    """A reader's annotation of one candidate; errors have the index of their finding as key."""

    finding_errors: dict[
        str, Annotated[_FalseFinding | _WrongAttributes, Field(discriminator="error_type")]
    ]
    missing_findings: dict[str, _Graded]
    rating: NotRequired[int | float | None]
    rating_explanation: NotRequired[str | None]


def radpref(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read RadPref: two candidates a study, and a file of annotations for each reader."""
    reports = [file for file in files if isinstance(file.data, list)]
    if len(reports) != 1 or len(files) == 1:
        raise JudgeError("RadPref has one file of reports and one for each reader; name them all")
    table = AnnotationTable(FINERADSCORE, _RADPREF_LACKS, source=reports[0].name)
    records: dict[str, Mapping[str, Any]] = {}
    for number, record in enumerate(reports[0].data, start=1):
        study = record.get("id") if isinstance(record, dict) else None
        if not isinstance(study, str):
            raise JudgeError(f"{reports[0].name}, record {number}: its id is not a text")
        records[study] = record
        fields = {name: record.get(key) for key, name in _PATIENT_FIELDS.items()}
        for side in _SIDES:
            texts = {"reference": record.get("ground_truth_report")}
            texts["candidate"] = record.get(f"{side}_report")
            fields["model"] = record.get(f"{side}_source") or side
            table.describe(f"{study}/{side}", f"record {number}", **texts, **fields, patient=study)
    readers = [stem_of(file.name) for file in files]
    if len({*readers}) < len(readers):
        raise JudgeError(f"two files are of one reader ({', '.join(readers)}); rename one of them")
    for file, reader in zip(files, readers, strict=True):
        for study, sides in file.data["annotations"].items() if file is not reports[0] else ():
            for side in _SIDES:
                key, place = (reader, f"{study}/{side}"), f"{file.name}, study {study!r}, {side}"
                with table.checking(*key):
                    if study not in records:
                        raise FaultError(f"{file.name}: the file of reports has no such study")
                    if isinstance(sides, dict) and side in sides:
                        _add_radpref(table, key, records[study], sides[side], place)
    return table


def _add_radpref(
    table: AnnotationTable, key: Key, record: Mapping[str, Any], reading: object, place: str
) -> None:
    try:
        checked: _RadPrefReading = adapter(_RadPrefReading).validate_python(reading, strict=True)
    except ValidationError as error:
        raise FaultError(f"{place}: {first_of(error)}") from error
    side, n_benign = key[1].rpartition("/")[2], 0
    table.add(*key, count=0)
    reports: tuple[tuple[Side, str, Mapping[str, Any]], ...] = (
        ("candidate", f"{side}_findings", checked["finding_errors"]),
        ("reference", "ground_truth_findings", checked["missing_findings"]),
    )
    for report, findings, number, entry in (
        (report, findings, *pair) for report, findings, part in reports for pair in part.items()
    ):
        texts = record.get(findings)
        if not number.isdigit() or not isinstance(texts, list) or int(number) >= len(texts):
            raise FaultError(f"{place}: {findings} has no finding {number}")
        text, explanation = str(texts[int(number)]), entry.get("explanation")
        if attributes := entry.get("attributes"):
            category = ",".join(sorted({_CATEGORY_OF.get(name, name) for name in attributes}))
            level = max(_WEIGHTS[weight] for weight in attributes.values())
            text += f" ({', '.join(f'{name} {weight}' for name, weight in attributes.items())})"
        else:
            grade = entry["clinical_significance"]
            category, level = "a" if report == "candidate" else "b", _GRADES[grade]
            n_benign += grade == "benign_expected"
        text = f"{text}: {explanation}" if explanation else text
        table.add(*key, side=report, category=category, level=level, text=text)
    values = {"rating": checked.get("rating"), "comment": checked.get("rating_explanation")}
    values = {name: value for name, value in values.items() if value is not None}
    table.fields[key] = {**values, "benign_expected": n_benign}


_REFISCO = ("id", "impression_original", "impression_edited", "score", "annotator")
_REFISCO_1 = {
    "data_id": "id",
    "original_line": "impression_original",
    "corrected_line": "impression_edited",
    "error_clinical_severity": "score",
    "annotator_id": "annotator",
    "report_type": "source",
    "comments": "notes",
    "report_text": "report",
}
_SCORES = {
    "noerror": None,
    "notactionable": "severity1",
    "actionablenonurgenterror": "severity2",
    "urgenterror": "severity3",
    "emergenterror": "severity4",
}


def refisco(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read ReFiSco v0 or v1: radiologists' corrections of impressions, a row a line."""
    (file,) = files
    table = AnnotationTable(FINERADSCORE, {CATEGORY.name: NO_CATEGORY}, "impression", file.name)
    rows = [
        Cells(row.file, row.place, {_REFISCO_1.get(name, name): row[name] for name in row.cells})
        for row in file.rows()
    ]
    sources: dict[str, set[str | None]] = defaultdict(set)
    for row in rows:
        sources[row.ids("id")[0]].add(row["source"])
    readings: dict[Key, list[Cells]] = defaultdict(list)
    for row in rows:
        study, reader = row.ids("id", "annotator")
        if len(sources[study]) == 1:
            readings[reader, study].append(row)
        elif row["source"] is not None:
            readings[reader, f"{study}/{row['source']}"].append(row)
        else:  # the impression of such a line is unknown
            for source in filter(None, sources[study]):
                table.leave_out(reader, f"{study}/{source}", f"{row.place}: source is blank")
    errors: dict[Key, list[dict[str, Any]]] = {}
    candidates: dict[str, set[str]] = defaultdict(set)
    for key, lines_read in readings.items():
        with table.checking(*key):
            errors[key] = [*_refisco_errors(_impression(lines_read), lines_read)]
            candidates[key[1]].add(_impression(lines_read))
    for (reader, study_id), lines_read in readings.items():
        if (reader, study_id) in table.left_out:
            continue
        first = lines_read[0]
        fields = {"indication": first["indication"], "model": first["source"]}
        fields["patient"] = first["id"] if study_id != first["id"] else None
        # Readers who saw other lines of an impression read another candidate.
        name = study_id if len(candidates[study_id]) == 1 else f"{study_id}/{reader}"
        table.describe(name, first.place, candidate=_impression(lines_read), **fields)
        for error in errors[reader, study_id]:
            table.add(reader, name, **error)
        comments = [
            f"{row['impression_original']}: {row['notes']}"
            for row in lines_read
            if row["notes"] and _is_kept(row)
        ]
        if comments:
            table.fields[reader, name] = {"comment": "\n".join(comments)}
    return table


def _impression(rows: Sequence[Cells]) -> str:
    """Return the candidate made of the rows, with an empty line between them."""
    originals = [" ".join(text.split()) for row in rows if (text := row["impression_original"])]
    return rows[0]["report"] or "\n\n".join(originals)


def _is_kept(row: Cells) -> bool:
    edited = row.needed("impression_edited")
    return edited == row["impression_original"] or edited.casefold() == "[no edit]"


def _refisco_errors(candidate: str, rows: Sequence[Cells]) -> Iterator[dict[str, Any]]:
    sentences, place = lines(candidate), 0
    yield {"count": 0}
    for row in rows:
        original, edited = row["impression_original"], row.needed("impression_edited")
        level = row.choice("score", _SCORES)
        parts = lines(original) if original else []
        starts = [n for n in range(len(sentences)) if sentences[n : n + len(parts)] == parts]
        if parts and not starts:
            raise row.fault("the line is not in the report")
        start = next((n for n in starts if n >= place), starts[0]) if parts else place
        place = start + len(parts)
        if _is_kept(row):
            if level or original is None:
                raise row.fault(f"the score is {row['score']!r} but the line is not edited")
            continue
        if level is None:
            raise row.fault("the score is 'No error' but the line is edited")
        is_deleted = edited.casefold() == "[delete]"
        if is_deleted and original is None:
            raise row.fault("there is no line to delete")
        text, edit = row["notes"] or "", None
        if original is None:
            edit = Edit("insert", start if start < len(sentences) else None, edited)
        elif len(parts) > 1:
            wanted = "should not be said" if is_deleted else f'should say "{edited}"'
            text = f'"{original}" {wanted}' + (f": {text}" if text else "")
        else:
            edit = Edit("delete", start, "") if is_deleted else Edit("change", start, edited)
        yield {"level": level, "text": text, "edit": edit}


def _is_radpref(file: File) -> bool:
    data = file.data
    if isinstance(data, list):
        return (
            bool(data) and isinstance(data[0], dict) and {"id", "ground_truth_report"} <= {*data[0]}
        )
    return isinstance(data, dict) and bool(data.get("annotations"))


LAYOUTS: Mapping[
    str,
    tuple[str, Callable[[File], bool], Callable[[Sequence[File], str | None], AnnotationTable]],
] = {
    "tidy": (
        "the columns study_id, reader, and level or significant",
        lambda file: (
            file.has("study_id", "reader") and {"level", "significant"} & {*file.columns} != set()
        ),
        tidy,
    ),
    "rexval": (
        f"the columns {', '.join(_COUNTS)}",
        lambda file: file.has(*_REPORTS) or file.has(*_COUNTS),
        rexval,
    ),
    "refisco": (
        f"the columns {', '.join(_REFISCO)}",
        lambda file: {*_REFISCO} <= {_REFISCO_1.get(name, name) for name in file.columns},
        refisco,
    ),
    "radpref": (
        "a list of records with id and ground_truth_report, and an object with annotations",
        _is_radpref,
        radpref,
    ),
    "radevalx": (
        "the columns report_id, error_type, one to eight",
        lambda file: file.has("report_id", "error_type", *_EIGHT),
        radevalx,
    ),
}
"""By layout: the needed columns in words, whether a file has them, the function that reads it."""


def read(
    layout: str,
    sources: Sequence[str],
    reader: str | None = None,
    encoding: str | None = None,
    *,
    strict: bool = False,
) -> tuple[str, list[Readings], tuple[InputFile, ...]]:
    """Read files of one layout; return its name, the readings of each reader, and the files.

    `layout` is one of `LAYOUTS`, or `AUTO`. `reader` is the reader's name where the files do not
    have it, by default the name of the file. A study with contradictory rows is left out with the
    reason; `strict` refuses it. Raises `JudgeError` for a file of another layout.
    """
    if layout not in (*LAYOUTS, AUTO):
        names = ", ".join((*LAYOUTS, AUTO, "readings"))
        raise JudgeError(f"unknown layout {layout!r}; there are: {names}")
    files = [open_file(source, encoding) for source in sources]
    if len({file.sha256 for file in files}) < len(files):
        raise JudgeError("a file is named twice; name each once")
    fitting = [name for name, (_, fits, _) in LAYOUTS.items() if all(map(fits, files))]
    wanted = [*LAYOUTS] if layout == AUTO else [layout]
    if len({*fitting} & {*wanted}) != 1:
        names = ", ".join(file.name for file in files)
        needs = "; ".join(f"{name} needs {LAYOUTS[name][0]}" for name in wanted)
        wrong = "no one layout" if layout == AUTO else f"not in the layout {layout}"
        raise JudgeError(f"{names} is {wrong}; {needs}")
    (layout,) = {*fitting} & {*wanted}
    if len(files) > 1 and layout not in ("rexval", "radpref"):
        raise JudgeError(f"the layout {layout} has one file; {len(files)} were given")
    table = LAYOUTS[layout][2](files, reader)
    readings = table.readings()
    if strict and table.left_out:
        (_, study_id), why = next(iter(table.left_out.items()))
        raise JudgeError(
            f"study {study_id!r}: {why} ({len(table.left_out)} in all); without --strict such "
            "studies are left out"
        )
    # A file with the candidates counts as both sides, like a file of studies.
    roles = ["both" if file.name == table.source else "readings" for file in files]
    inputs = [
        InputFile(source, role, file.sha256, len(file))
        for source, role, file in zip(sources, roles, files, strict=True)
    ]
    return layout, readings, tuple(inputs)
