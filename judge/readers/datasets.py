"""The layouts of readers' files: each is one function from files to one table of annotations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from judge.readers.annotations import (
    CODES,
    FINERADSCORE,
    GREEN,
    NO_CATEGORY,
    NO_EDIT,
    NO_MATCHED,
    SIGNIFICANCE,
    AnnotationTable,
    FaultError,
    File,
    Key,
    Readings,
    Row,
    open_file,
)
from judge.rubrics.categories import CATEGORY, LEVELS, category_of
from judge.rubrics.derived import EDIT, category_name
from judge.rubrics.fineradscore.parse import severity_of
from judge.rubrics.green.parse import MATCHED
from judge.sentences import lines
from judge.studies.columns import normalise_name, stem_of
from judge.studies.input_table import InputFile
from judge.types import Edit, JudgeError

AUTO = "auto"
"""The layout is recognized by the columns of the files."""

_STUDY_COLUMNS = ("reference", "candidate", "model", "study_class", "patient")
_ERROR_COLUMNS = (
    "study_id",
    "reader",
    "category",
    "level",
    "significant",
    "count",
    "text",
)


def tidy(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read a user's own table: a row an error, or a count of errors."""
    (file,) = files
    rows = file.rows()
    grade = "significant" if file.has("significant") else "level"
    severities = [severity_of(row["level"]) is not None for row in rows if row["level"]]
    is_green = grade == "significant" or 2 * sum(severities) < len(severities)
    table = AnnotationTable(GREEN if is_green else FINERADSCORE)
    table.source = file.name if file.has("candidate") else None
    models = defaultdict(set)
    for row in rows:
        models[row["study_id"]].add(row["model"])
    readings: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        study_id, reader = row.ids("study_id", "reader")
        values = {name: row[name] for name in _STUDY_COLUMNS}
        if len(models[study_id]) > 1:
            values["patient"] = values["patient"] or study_id
            study_id = f"{study_id}/{row.ids('model')[0]}"
        table.describe(study_id, row.place, **values)
        readings[reader, study_id].append(row)
    has_category = any(row["category"] for row in rows)
    has_matched = any(map(_is_matched, rows))
    for key, study_rows in readings.items():
        with table.checking(key):
            errors = [
                _tidy_error(file, row, grade, is_green=is_green) for row in study_rows
            ]
            _check_tidy(errors, study_rows, has_category=has_category)
            if has_matched and not any(map(_is_matched, study_rows)):
                raise FaultError(
                    "it has no row of matched findings, but other studies have one"
                )
            further = table.fields[key] = {}
            for row in study_rows:
                for name, text in row.cells.items():
                    is_used = name in _ERROR_COLUMNS + _STUDY_COLUMNS
                    # pandas writes the row numbers in a column without a name.
                    is_used |= name.startswith("column_")
                    if text and not is_used and further.setdefault(name, text) != text:
                        raise row.fault(f"{name} differs from an earlier row")
            for error in errors:
                table.add(key, **error)
    table.lacks = {} if has_category else {CATEGORY.name: NO_CATEGORY}
    if not is_green:
        table.lacks = {**table.lacks, EDIT: NO_EDIT}
    elif not has_matched:
        table.lacks = {**table.lacks, MATCHED: NO_MATCHED}
    return table


def _is_matched(row: Row) -> bool:
    return normalise_name(row["category"] or "") in (
        "matched",
        "matchedfinding",
        "matchedfindings",
    )


def _tidy_error(file: File, row: Row, grade: str, *, is_green: bool) -> dict[str, Any]:
    text, category, level = row["text"] or "", row["category"], row[grade]
    if _is_matched(row):
        category = MATCHED
    elif category:
        known = category_of(category)
        category = known.value if known else category_name(category)
        if category is None:
            raise row.fault(
                f"category is {row['category']!r}; it must be a to f, 1 to 6, or words"
            )
    if category == MATCHED and (level or not is_green):
        raise row.fault("matched findings are only for GREEN and have no level")
    if level and is_green:
        level = row.choice(grade, SIGNIFICANCE)
    elif level:
        if (severity := severity_of(level)) is None:
            raise row.fault(f"level is {level!r}; it must be 1 (not actionable) to 4")
        level = f"severity{severity}"
    count = row.count("count") if file.has("count") and not text else 1
    if text and row["count"] not in (None, "1"):
        raise row.fault(
            f"count is {row['count']} beside a text; write a row for each error"
        )
    if category != MATCHED and level is None and (count or category):
        raise row.fault(f"{grade} is blank")
    return {"category": category, "level": level, "text": text, "count": count}


def _check_tidy(
    errors: Sequence[Mapping[str, Any]], rows: Sequence[Row], *, has_category: bool
) -> None:
    seen: dict[tuple[str | None, str | None], set[str]] = defaultdict(set)
    is_clean = any(error["category"] is error["level"] is None for error in errors)
    for error, row in zip(errors, rows, strict=True):
        category, text = error["category"], error["text"]
        if is_clean and error["count"] and category != MATCHED:
            raise row.fault("it has an error, but another row says that there is none")
        if has_category and category is None and error["count"]:
            raise row.fault("category is blank, but other rows have one")
        if text or "count" in row.cells:
            texts = seen[category, error["level"]]
            if texts & {text, ""} or (texts and not text):
                raise row.fault(
                    "it repeats an error that an earlier row lists or counts"
                )
            texts.add(text)


_BY_NUMBER = {str(number): code for number, code in enumerate(CODES, start=1)}
_REPORTS = ("study_id", "gt_report")
_CANDIDATES = ("radgraph", "bertscore", "s_emb", "bleu")
_IDS = ("study_number", "candidate_type", "rater_index")
_ALL_COUNTS = len(LEVELS) * len(CODES)


def rexval(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read ReXVal: counts by six readers in six categories, of four candidates a study."""
    reports = [file for file in files if file.has(*_REPORTS)]
    counts = [file for file in files if not file.has(*_REPORTS)]
    if len(reports) > 1 or len(counts) != 1:
        raise JudgeError(
            "ReXVal has one file of counts and at most one of reports; name these"
        )
    table = AnnotationTable(GREEN, {MATCHED: NO_MATCHED})
    studies: dict[str, str] = {}  # by their numbers, which the counts name
    for number, row in enumerate(reports[0].rows() if reports else ()):
        table.source = reports[0].name
        (study,) = row.ids("study_id")
        studies[str(number)] = study
        for name in _CANDIDATES:
            texts = {"reference": row["gt_report"], "candidate": row[name]}
            table.describe(
                f"{study}/{name}", row.place, **texts, model=name, patient=study
            )
    seen: dict[Key, set[tuple[str, str]]] = defaultdict(set)
    for row in counts[0].rows():
        named, model, reader = row.ids(*_IDS)
        study = studies.get(named.removesuffix(".0"), named)
        key = reader, f"{study}/{model}"
        with table.checking(key):
            if reports and key[1] not in table.studies:
                raise row.fault("the file of reports has no such study")
            table.describe(key[1], row.place, model=model, patient=study)
            level = row.choice("clinically_significant", SIGNIFICANCE)
            category = row.choice("error_category", _BY_NUMBER)
            if (level, category) in seen[key]:
                raise row.fault(
                    f"the {level} count of category {category} is duplicate"
                )
            if row["num_errors"] is not None:
                seen[key].add((level, category))
                table.add(key, category, level, count=row.count("num_errors"))
    for key, cells in seen.items():
        if len(cells) < _ALL_COUNTS:
            table.left_out.setdefault(
                key, f"it has {len(cells)} of {_ALL_COUNTS} counts"
            )
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
        with table.checking((reader, study_id)):
            level = row.choice("error_type", {name: name for name in LEVELS})
            seen[study_id].append(level)
            for name, category in zip(
                _EIGHT, (*CODES, *_EIGHT[len(CODES) :]), strict=True
            ):
                table.add((reader, study_id), category, level, count=row.count(name))
    for study_id, levels in seen.items():
        if sorted(levels) != sorted(LEVELS):
            why = f"it has rows of {' and '.join(levels)} errors, not one of each kind"
            table.left_out.setdefault((reader, study_id), why)
    return table


_GRADES = {
    "urgent": "severity3",
    "actionable_not_urgent": "severity2",
    "not_actionable_not_urgent": "severity1",
    "benign_expected": "severity1",
}
# An attribute error has a weight in place of a grade.
_WEIGHTS = {"significant": "severity2", "negligible": "severity1"}
_CATEGORY_OF = {"location": "c", "severity": "d"}
_RADPREF_LACKS = {
    EDIT: NO_EDIT,
    "severity4": "the readers' scale ends with urgent",
    **dict.fromkeys(("e", "f"), "the readers had no such category"),
}
_SIDES = ("C1", "C2")
_ADDED = "a finding that the reader added"
_PATIENT_FIELDS = {"PatientAge": "age", "PatientSex": "sex"}
_PATIENT_FIELDS |= {name: name.lower() for name in ("Indication", "Comparison")}
_ATTRIBUTES = {
    "location",
    "severity",
    "descriptor",
    "measurement",
    "certainty",
    "unspecific",
}
_ATTRIBUTES |= {"overinterpretation", "temporal"}


def radpref(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read RadPref: two candidates a study, and a file of annotations for each reader."""
    reports = [file for file in files if not file.has("annotations")]
    annotations = {
        stem_of(file.name): file.data["annotations"]
        for file in files
        if file.has("annotations")
    }
    if len(reports) != 1 or len(annotations) != len(files) - 1 or not annotations:
        raise JudgeError(
            "RadPref has one file of reports and one named after each reader"
        )
    table = AnnotationTable(FINERADSCORE, _RADPREF_LACKS, source=reports[0].name)
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
        readings = [
            (reader, study, side, sides)
            for reader, studies in annotations.items()
            for study, sides in studies.items()
            for side in _SIDES
            if side in sides
        ]
    except (AttributeError, KeyError, TypeError) as error:
        raise JudgeError(
            f"the files are not in the form of RadPref: {error!r:.100}"
        ) from error
    for reader, study, side, sides in readings:
        key = (reader, f"{study}/{side}")
        try:
            _add_radpref(table, key, records[study], sides)
        except FaultError as fault:
            table.left_out.setdefault(key, f"{reader}, {study}, {side}: {fault}")
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            why = f"{error!r:.100} in what {reader} says of {study}, {side}"
            table.left_out.setdefault(key, why)
    return table


def _add_radpref(
    table: AnnotationTable,
    key: Key,
    record: Mapping[str, Any],
    sides: Mapping[str, Any],
) -> None:
    """Add what a reader says of one side of a study; `sides` has both, and the findings added."""
    side = key[1].rpartition("/")[2]
    reading, added = sides[side], sides.get("new_finding_indices") or {}
    findings = record.get(f"{side}_findings", ())
    table.add(key, count=0)
    numbers = _added_numbers(findings, reading["finding_errors"], added.get(side))
    for number, entry in reading["finding_errors"].items():
        text = _finding(findings, number, numbers)
        if {"attribute": True, "false": False}[entry["error_type"]]:
            attributes = entry["attributes"]
            if not {*attributes} <= _ATTRIBUTES:
                raise ValueError(f"unknown attributes {', '.join(attributes)}")
            category = ",".join(
                sorted({_CATEGORY_OF.get(name, name) for name in attributes})
            )
            level = max(_WEIGHTS[weight] for weight in attributes.values())
            text += f" ({', '.join(f'{name} {weight}' for name, weight in attributes.items())})"
        else:
            category, level = "a", _GRADES[entry["clinical_significance"]]
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
    if (rating := reading.get("rating")) is not None:
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
    return f"{text}: {entry['explanation']}" if entry.get("explanation") else text


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
    table = AnnotationTable(
        FINERADSCORE, {CATEGORY.name: NO_CATEGORY}, "impression", file.name
    )
    rows = [
        Row(row.place, {_REFISCO_1.get(name, name): row[name] for name in row.cells})
        for row in file.rows()
    ]
    sources: dict[str | None, set[str | None]] = defaultdict(set)
    for row in rows:
        sources[row["id"]].add(row["source"])
    readings: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        study, reader = row.ids("id", "annotator")
        if len(sources[study]) > 1:
            study = f"{study}/{row.ids('source')[0]}"
        readings[reader, study].append(row)
    errors: dict[Key, list[dict[str, Any]]] = {}
    impressions: dict[str, dict[str, str]] = defaultdict(dict)
    for (reader, study_id), lines_read in readings.items():
        parts = [
            " ".join((row["impression_original"] or "").split()) for row in lines_read
        ]
        impression = lines_read[0]["report"] or "\n\n".join(filter(None, parts))
        with table.checking((reader, study_id)):
            errors[reader, study_id] = [*_refisco_errors(impression, lines_read)]
            impressions[study_id][reader] = impression
    for (reader, study_id), study_errors in errors.items():
        first, candidates = readings[reader, study_id][0], impressions[study_id]
        # Readers who saw other lines of an impression read another candidate.
        name = study_id if len({*candidates.values()}) == 1 else f"{study_id}/{reader}"
        table.describe(
            name,
            first.place,
            candidate=candidates[reader],
            indication=first["indication"],
            model=first["source"],
            patient=first["id"] if study_id != first["id"] else None,
        )
        for error in study_errors:
            table.add((reader, name), **error)
    return table


def _refisco_errors(candidate: str, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    sentences, place = lines(candidate), 0
    yield {"count": 0}
    for row in rows:
        original, edited = row["impression_original"], row.needed("impression_edited")
        level = row.choice("score", _SCORES)
        parts = lines(original) if original else []
        starts = [
            n for n in range(len(sentences)) if sentences[n : n + len(parts)] == parts
        ]
        if parts and not starts:
            raise row.fault("the line is not in the report")
        start = next((n for n in starts if n >= place), starts[0]) if parts else place
        place = start + len(parts)
        is_kept = edited == original or edited.casefold() == "[no edit]"
        is_deleted = edited.casefold() == "[delete]"
        if is_kept != (level is None) or (original is None and (is_kept or is_deleted)):
            raise row.fault(
                f"the score is {row['score']!r} and the line reads {edited[:40]!r}"
            )
        if is_kept:
            continue
        text, edit = row["notes"] or "", None
        if original is None:
            edit = Edit("insert", start if start < len(sentences) else None, edited)
        elif len(parts) > 1:
            wanted = "should not be said" if is_deleted else f'should say "{edited}"'
            text = f'"{original}" {wanted}' + (f": {text}" if text else "")
        else:
            edit = (
                Edit("delete", start, "")
                if is_deleted
                else Edit("change", start, edited)
            )
        yield {"level": level, "text": text, "edit": edit}


_Columns = tuple[str, ...]
_Reader = Callable[[Sequence[File], str | None], AnnotationTable]
_COUNTS = (*_IDS, "error_category", "clinically_significant", "num_errors")
_TIDY = tuple(("study_id", "reader", grade) for grade in ("level", "significant"))
LAYOUTS: Mapping[str, tuple[_Reader, tuple[_Columns, ...], bool]] = {
    "tidy": (tidy, _TIDY, False),
    "rexval": (rexval, (_COUNTS, _REPORTS), True),
    "refisco": (refisco, (_REFISCO, tuple(_REFISCO_1)), False),
    "radpref": (radpref, (("id", "ground_truth_report"), ("annotations",)), True),
    "radevalx": (radevalx, (("report_id", "error_type", *_EIGHT),), False),
}
"""By layout: its reader, the columns or keys that a file needs, whether it has several files."""


def read(
    layout: str,
    sources: Sequence[str],
    reader: str | None = None,
    encoding: str | None = None,
) -> tuple[str, list[Readings], tuple[InputFile, ...]]:
    """Read files of one layout; return its name, the readings of each reader, and the files.

    `layout` is one of `LAYOUTS`, or `AUTO`. `reader` is the reader's name where the files do not
    have it, by default the name of the file. `encoding` is that of files that are not in UTF-8.
    """
    if layout not in (*LAYOUTS, AUTO):
        names = ", ".join((*LAYOUTS, AUTO, "readings"))
        raise JudgeError(f"unknown layout {layout!r}; there are: {names}")
    files = [open_file(source, encoding) for source in sources]
    if len({file.sha256 for file in files}) < len(files):
        raise JudgeError("a file is named twice; name each once")
    wanted = [*LAYOUTS] if layout == AUTO else [layout]
    fitting = [
        name
        for name in wanted
        if all(
            any(file.has(*columns) for columns in LAYOUTS[name][1]) for file in files
        )
    ]
    if len(fitting) != 1 or not (len(files) == 1 or LAYOUTS[fitting[0]][2]):
        names = ", ".join(file.name for file in files)
        needs = [
            f"{name} needs {' or '.join(map(', '.join, LAYOUTS[name][1]))}"
            for name in wanted
        ]
        raise JudgeError(
            f"{names}: no one layout has these columns; {'; '.join(needs)}"
        )
    (layout,) = fitting
    table = LAYOUTS[layout][0](files, reader)
    # A file with the candidates counts as both sides, like a file of studies.
    roles = ["both" if file.name == table.source else "readings" for file in files]
    inputs = [
        InputFile(source, role, file.sha256, len(file))
        for source, role, file in zip(sources, roles, files, strict=True)
    ]
    return layout, table.readings(), tuple(inputs)
