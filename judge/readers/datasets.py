"""The layouts of the open data sets: each is one function from files to one long table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from judge.readers.annotations import (
    CODES,
    FINERADSCORE,
    GREEN,
    NO_CATEGORY,
    NO_EDIT,
    NO_MATCHED,
    PATIENT,
    AnnotationTable,
    FaultError,
    Key,
    Readings,
)
from judge.readers.files import (
    SIGNIFICANCE,
    File,
    Row,
    choice,
    count_of,
    identifiers,
    needed,
    only,
    open_file,
)
from judge.readers.tidy import is_tidy, tidy
from judge.rubrics.categories import CATEGORY, LEVELS
from judge.rubrics.green.layout import MATCHED
from judge.rubrics.reading import EDIT
from judge.sentences import lines
from judge.studies.names import stem_of
from judge.studies.study_set import InputFile
from judge.types import Edit, JudgeError

AUTO = "auto"
"""The layout that the columns of the files show."""
_BY_NUMBER = {str(number): code for number, code in enumerate(CODES, start=1)}

_REPORTS = ("study_id", "gt_report")
_CANDIDATES = ("radgraph", "bertscore", "s_emb", "bleu")
_COUNTS: tuple[str, ...] = ("study_number", "candidate_type", "error_category", "rater_index")
_COUNTS += ("clinically_significant", "num_errors")
_ALL_COUNTS = len(LEVELS) * len(CODES)


def rexval(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read ReXVal: counts by six readers in six categories, of four candidates a study."""
    reports = [file for file in files if file.has(*_REPORTS)]
    counts = [file for file in files if file not in reports]
    if len(reports) > 1 or len(counts) != 1:
        raise JudgeError("ReXVal is one file of counts, and one of reports or none; name these")
    (file,) = counts
    table = AnnotationTable(GREEN, {MATCHED: NO_MATCHED})
    studies = _rexval_reports(table, reports[0]) if reports else None
    seen: dict[Key, set[tuple[str, str]]] = defaultdict(set)
    names = ("study_number", "candidate_type", "rater_index")
    for place, row in file.rows(_COUNTS):
        number, model, reader = identifiers(file, place, row, *names)
        study = number if studies is None else studies.get(number.removesuffix(".0"))
        study_id = f"{study}/{model}"
        if study is None or (reports and study_id not in table.studies):
            raise JudgeError(f"{file.name}, {place}: the file of reports has no {number} {model!r}")
        table.describe(study_id, place, model=model, patient=study)
        cells = seen[reader, study_id]
        with table.checking(reader, study_id, place):
            level = choice(row, "clinically_significant", SIGNIFICANCE)
            category = choice(row, "error_category", _BY_NUMBER)
            if (level, category) in cells:
                raise FaultError(f"its {level} count of category {category} is there twice")
            if row["num_errors"] is not None:
                cells.add((level, category))
                count = count_of(row, "num_errors")
                table.add(reader, study_id, category=category, level=level, count=count)
    for key, cells in seen.items():
        if len(cells) < _ALL_COUNTS:
            table.leave_out(*key, f"{len(cells)} of {_ALL_COUNTS} counts are there")
    return table


def _rexval_reports(table: AnnotationTable, file: File) -> dict[str, str]:
    """Take in the reports; returns the studies by their numbers, which the counts name."""
    table.source = file.name
    studies: dict[str, str] = {}
    for number, (place, row) in enumerate(file.rows((*_REPORTS, *_CANDIDATES))):
        (study,) = identifiers(file, place, row, "study_id")
        if study in studies.values():
            raise JudgeError(f"{file.name}, {place}: study {study!r} is there twice")
        studies[str(number)] = study
        for name in _CANDIDATES:
            texts = {"reference": row["gt_report"], "candidate": row[name]}
            table.describe(f"{study}/{name}", place, **texts, model=name, patient=study)
    return studies


_EIGHT = ("one", "two", "three", "four", "five", "six", "seven", "eight")
_RADEVALX = ("report_id", "error_type", *_EIGHT, "ground_truth", "candidate_report")


def radevalx(files: Sequence[File], reader: str | None) -> AnnotationTable:
    """Read RadEvalX: counts in eight categories, a row of significant and one of other errors."""
    file = only(files)
    reader = reader or stem_of(file.name)
    table = AnnotationTable(GREEN, {MATCHED: NO_MATCHED})
    table.source = file.name if file.has("candidate_report") else None
    seen: dict[str, list[str]] = defaultdict(list)
    for place, row in file.rows(_RADEVALX):
        (study_id,) = identifiers(file, place, row, "report_id")
        texts = {"reference": row["ground_truth"], "candidate": row["candidate_report"]}
        table.describe(study_id, place, **texts)
        with table.checking(reader, study_id, place):
            level = choice(row, "error_type", {name: name for name in LEVELS})
            seen[study_id].append(level)
            for name, category in zip(_EIGHT, (*CODES, *_EIGHT[len(CODES) :]), strict=True):
                count = count_of(row, name)
                table.add(reader, study_id, category=category, level=level, count=count)
    for study_id, levels in seen.items():
        if sorted(levels) != sorted(LEVELS):
            why = f"it has rows of {' and '.join(levels)} errors, not one of each kind"
            table.leave_out(reader, study_id, why)
    return table


_FALSE, _ATTRIBUTE = "false", "attribute"
_GRADES = {"urgent": "severity3", "actionable_not_urgent": "severity2"}
_GRADES |= dict.fromkeys(("not_actionable_not_urgent", "benign_expected"), "severity1")
# An attribute error has a weight in place of a grade.
_WEIGHTS = {"significant": "severity2", "negligible": "severity1"}
_ATTRIBUTES = {"location": "c", "severity": "d"} | {
    name: name
    for name in (
        *("descriptor", "measurement", "certainty", "unspecific", "overinterpretation"),
        "temporal",
    )
}
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


def radpref(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read RadPref: two candidates a study, and a file of annotations for each reader."""
    reports = [file for file in files if isinstance(file.data, list)]
    if len(reports) != 1 or len(files) == 1:
        raise JudgeError("RadPref is one file of reports and one for each reader; name them all")
    table = AnnotationTable(FINERADSCORE, _RADPREF_LACKS, source=reports[0].name)
    records: dict[str, Mapping[str, Any]] = {}
    for number, record in enumerate(reports[0].data, start=1):
        study = record.get("id") if isinstance(record, dict) else None
        if not isinstance(study, str) or study in records:
            raise JudgeError(
                f"{reports[0].name}, record {number}: its id is no text, or there twice"
            )
        records[study] = record
        fields = {name: record.get(key) for key, name in _PATIENT_FIELDS.items()}
        for side in _SIDES:
            texts = {"reference": record.get("ground_truth_report")}
            texts["candidate"] = record.get(f"{side}_report")
            model = record.get(f"{side}_source") or side
            place = f"record {number}"
            table.describe(f"{study}/{side}", place, **texts, **fields, model=model, patient=study)
    for file in files:
        if file is reports[0]:
            continue
        reader = stem_of(file.name)
        if any(key[0] == reader for key in (*table.fields, *table.left_out)):
            raise JudgeError(f"two files are of the reader {reader!r}; rename {file.name}")
        for study, found in file.data["annotations"].items():
            _radpref_study(
                table, reader, records.get(study), f"{file.name}, study {study!r}", found
            )
    return table


def _radpref_study(
    table: AnnotationTable, reader: str, record: Mapping[str, Any] | None, place: str, found: object
) -> None:
    if record is None or not isinstance(found, dict):
        table.leave_out(reader, place, "the file of reports has no such study")
        return
    for side in _SIDES:
        if side not in found:
            continue
        key = (reader, f"{record['id']}/{side}")
        try:
            reading = _object(found[side], side)
            rating = reading.get("rating")
            if isinstance(rating, bool) or not isinstance(rating, int | float | None):
                raise FaultError(f"{side}: the rating is {rating!r}, no number")  # noqa: TRY301
            values = {"rating": rating, "comment": reading.get("rating_explanation")}
            table.fields[key] = {name: value for name, value in values.items() if value is not None}
            rows = [*_radpref_errors(record, reading, side)]
        except FaultError as fault:
            table.leave_out(*key, f"{place}: {fault}")
            rows = []
        benign = sum(row.pop("benign") for row in rows)
        table.fields.setdefault(key, {})["benign_expected"] = benign
        for row in rows or [{"count": 0}]:
            table.add(*key, **row)


def _radpref_errors(
    record: Mapping[str, Any], reading: Mapping[str, Any], side: str
) -> Iterator[dict[str, Any]]:
    for name, report, texts in (
        ("finding_errors", "candidate", f"{side}_findings"),
        ("missing_findings", "reference", "ground_truth_findings"),
    ):
        for number, entry in _object(reading.get(name), f"{side}, {name}").items():
            place = f"{side}, {name} {number}"
            error, words = _object(entry, place), record.get(texts)
            if not number.isdigit() or not isinstance(words, list) or int(number) >= len(words):
                raise FaultError(f"{place}: {texts} has no such finding")
            grade = error.get("clinical_significance")
            said = error.get("explanation")
            kind = error.get("error_type", _FALSE) if name == "finding_errors" else "missing"
            text = str(words[int(number)])
            if kind == _ATTRIBUTE:
                category, level, detail = _attributes(error.get("attributes"), place)
                text = f"{text} ({detail})"
            elif kind in (_FALSE, "missing") and grade in _GRADES:
                category, level = "a" if kind == _FALSE else "b", _GRADES[grade]
            elif kind in (_FALSE, "missing"):
                raise FaultError(f"{place}: clinical_significance is {grade!r}")
            else:
                raise FaultError(f"{place}: error_type is {kind!r}")
            yield {
                "side": report,
                "category": category,
                "level": level,
                "text": f"{text}: {said}" if said else text,
                "benign": grade == "benign_expected",
            }


def _attributes(attributes: object, place: str) -> tuple[str, str, str]:
    """Return the categories of an attribute error, its level, and the attributes in words."""
    named = _object(attributes, f"{place}, attributes")
    for name, weight in named.items():
        if name not in _ATTRIBUTES or weight not in _WEIGHTS:
            raise FaultError(f"{place}: the attribute {name!r} is {weight!r}")
    if not named:
        raise FaultError(f"{place}: it names no attribute")
    categories = ",".join(sorted({_ATTRIBUTES[name] for name in named}))
    level = max(_WEIGHTS[weight] for weight in named.values())
    return categories, level, ", ".join(f"{name} {weight}" for name, weight in named.items())


def _object(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FaultError(f"{place} is no object")
    return value


_REFISCO = ("id", "impression_original", "impression_edited", "score", "annotator")
_REFISCO_1 = {
    "id": "data_id",
    "impression_original": "original_line",
    "impression_edited": "corrected_line",
    "score": "error_clinical_severity",
    "annotator": "annotator_id",
    "source": "report_type",
    "notes": "comments",
    "report": "report_text",
}
_MORE = ("indication", "source", "notes", "report")
_SCORES = {
    "noerror": 0,
    "notactionable": 1,
    "actionablenonurgenterror": 2,
    "urgenterror": 3,
    "emergenterror": 4,
}
_NO_EDIT, _DELETE = "[no edit]", "[delete]"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of an impression: its words (None: inserted), the new ones (None: kept), the score."""

    place: str
    original: str | None
    edited: str | None
    score: int
    notes: str


def refisco(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read ReFiSco v0 or v1: radiologists' corrections of impressions, a row a line."""
    file = only(files)
    table = AnnotationTable(FINERADSCORE, {CATEGORY.name: NO_CATEGORY}, "impression")
    table.source = file.name
    readings = _refisco_readings(file, table)
    candidates: dict[str, set[str]] = defaultdict(set)
    for (_, study_id), reading in readings.items():
        reading.candidate = reading.candidate or _joined(reading.lines)
        candidates[study_id].add(reading.candidate)
    for (reader, study_id), reading in readings.items():
        # Readers who saw other lines of an impression read another candidate.
        name = study_id if len(candidates[study_id]) == 1 else f"{study_id}/{reader}"
        if fault := table.fault((reader, study_id)):
            table.leave_out(reader, name, fault)
        table.describe(name, "its rows", candidate=reading.candidate, **reading.fields)
        _refisco_add(table, (reader, name), reading)
    return table


@dataclass(slots=True)
class _Impression:
    """An impression as a reader corrected it; `candidate` is "" where only its lines are known."""

    fields: dict[str, object]
    candidate: str
    lines: list[_Line] = field(default_factory=list)


def _refisco_readings(file: File, table: AnnotationTable) -> dict[Key, _Impression]:
    """Return the lines of each reading; several impressions of a study are told by their source."""
    names = _REFISCO_1 if file.has("original_line") else dict.fromkeys((*_REFISCO, *_MORE))
    columns = {name: column or name for name, column in names.items()}
    rows = []
    sources: dict[str, set[str]] = defaultdict(set)
    for place, cells in file.rows(tuple(columns.values())):
        row = {**dict.fromkeys(_MORE), **{name: cells[column] for name, column in columns.items()}}
        study, reader = identifiers(file, place, row, "id", "annotator")
        sources[study].add(row["source"] or "")
        rows.append((place, row, study, reader))
    readings: dict[Key, _Impression] = {}
    for place, row, study, reader in rows:
        source, has_sources = row["source"], len(sources[study]) > 1
        if has_sources and source is None:
            for other in filter(None, sources[study]):
                table.leave_out(reader, f"{study}/{other}", f"{place}: source is blank")
            continue
        key = (reader, f"{study}/{source}" if has_sources else study)
        fields = {"indication": row["indication"], "model": source}
        fields[PATIENT] = study if has_sources else None
        reading = readings.setdefault(key, _Impression(fields, row["report"] or ""))
        reading.lines.append(_Line(place, row["impression_original"], None, 0, ""))
        with table.checking(*key, place):
            reading.lines[-1] = _refisco_line(place, row)
    return readings


def _refisco_line(place: str, row: Row) -> _Line:
    original, edited = row["impression_original"], needed(row, "impression_edited")
    score = choice(row, "score", _SCORES)
    is_kept = edited.casefold() == _NO_EDIT or edited == original
    if is_kept and (score or original is None):
        raise FaultError(f"the score is {row['score']!r} and nothing is edited")
    if not is_kept and not score:
        raise FaultError("the score is 'No error' and the line is edited")
    if edited.casefold() == _DELETE:
        if original is None:
            raise FaultError("there is no line to delete")
        edited = ""
    return _Line(place, original, None if is_kept else edited, score, row["notes"] or "")


def _joined(of_study: Sequence[_Line]) -> str:
    """Return the candidate that the lines make; an empty line parts them where one break fails."""
    originals = [" ".join(line.original.split()) for line in of_study if line.original]
    wanted = [line for text in originals for line in lines(text)]
    return next(
        (text for gap in ("\n", "\n\n") if lines(text := gap.join(originals)) == wanted),
        "\n".join(originals),
    )


def _refisco_add(table: AnnotationTable, key: Key, reading: _Impression) -> None:
    sentences, place = lines(reading.candidate), 0
    table.add(*key, count=0)
    comments = [line for line in reading.lines if line.edited is None and line.notes]
    if comments:
        words = "\n".join(f"{line.original}: {line.notes}" for line in comments)
        table.fields[key] = {"comment": words}
    for line in reading.lines:
        parts = lines(line.original) if line.original else []
        starts = [n for n in range(len(sentences)) if sentences[n : n + len(parts)] == parts]
        start = next((n for n in starts if n >= place), starts[0] if starts else None)
        if parts and start is None:
            table.leave_out(*key, f"{line.place}: its line is not in the report")
            continue
        start = start if parts else place if place < len(sentences) else None
        place = place if start is None else start + len(parts)
        if line.edited is None:
            continue
        edit, text = _edit(line, parts, start), line.notes
        if edit is None:
            wanted = f'should say "{line.edited}"' if line.edited else "should not be said"
            text = f'"{line.original}" {wanted}' + (f": {line.notes}" if line.notes else "")
        table.add(*key, level=f"severity{line.score}", text=text, edit=edit)


def _edit(line: _Line, parts: Sequence[str], start: int | None) -> Edit | None:
    """Return the edit of the line that is changed; None where the row holds several."""
    edited = line.edited or ""
    if line.original is None:
        return Edit("insert", start, edited)
    if len(parts) > 1:
        return None
    return Edit("change", start, edited) if edited else Edit("delete", start, "")


def _is_radpref(file: File) -> bool:
    if isinstance(file.data, dict):
        return isinstance(file.data.get("annotations"), dict) and bool(file.data["annotations"])
    first = file.data[0] if isinstance(file.data, list) and file.data else None
    return isinstance(first, dict) and "ground_truth_report" in first


def _is_rexval(file: File) -> bool:
    return file.has(*_REPORTS) or file.has(*_COUNTS)


def _is_refisco(file: File) -> bool:
    return file.has(*_REFISCO) or file.has(*(_REFISCO_1[name] for name in _REFISCO))


def _is_radevalx(file: File) -> bool:
    return file.has("report_id", "error_type", *_EIGHT)


LAYOUTS: Mapping[
    str,
    tuple[Callable[[File], bool], Callable[[Sequence[File], str | None], AnnotationTable]],
] = {
    "tidy": (is_tidy, tidy),
    "rexval": (_is_rexval, rexval),
    "refisco": (_is_refisco, refisco),
    "radpref": (_is_radpref, radpref),
    "radevalx": (_is_radevalx, radevalx),
}
_NEEDS = {
    "tidy": "the columns study_id, reader, and level or significant",
    "rexval": f"the columns {', '.join(_COUNTS)}",
    "refisco": f"the columns {', '.join(_REFISCO)}",
    "radpref": "a list of records with ground_truth_report, and an object with annotations",
    "radevalx": "the columns report_id, error_type, one to eight",
}


def read(
    layout: str,
    sources: Sequence[str],
    reader: str | None = None,
    encoding: str | None = None,
    *,
    strict: bool = False,
) -> tuple[str, Readings, tuple[InputFile, ...]]:
    """Read files of one layout; returns its name, what the readers said, and the files.

    `layout` is one of `LAYOUTS`, or `AUTO`. `reader` is who read where the files do not say it,
    by default the name of the file. A study with a row that contradicts itself or another is left
    out, with the reason; `strict` refuses it. Raises `JudgeError` for a file of another layout.
    """
    if layout not in (*LAYOUTS, AUTO):
        raise JudgeError(f"unknown layout {layout!r}; there are: {', '.join((*LAYOUTS, AUTO))}")
    files = [open_file(source, encoding) for source in sources]
    if len({file.sha256 for file in files}) < len(files):
        raise JudgeError("one of the files is named twice; name each once")
    fitting = [name for name, (fits, _) in LAYOUTS.items() if all(map(fits, files))]
    if layout == AUTO:
        if len(fitting) != 1:
            names = ", ".join(file.name for file in files)
            needs = "; ".join(f"{name}: {columns}" for name, columns in _NEEDS.items())
            raise JudgeError(f"{names}: no one layout has such files; there are {needs}")
        (layout,) = fitting
    if layout not in fitting:
        name = next((f.name for f in files if not LAYOUTS[layout][0](f)), files[0].name)
        raise JudgeError(f"{name} is no file of {layout}, which needs {_NEEDS[layout]}")
    readings = LAYOUTS[layout][1](files, reader).readings()
    if strict and readings.left_out:
        who, faults = next(iter(readings.left_out.items()))
        study_id, why = next(iter(faults.items()))
        n = sum(map(len, readings.left_out.values()))
        raise JudgeError(
            f"study {study_id!r} of reader {who!r}: {why} ({n} in all); "
            "leave --strict out to leave them out"
        )
    # The file with the candidates is that of both sides, as of one file of studies.
    roles = ["both" if file.name == readings.source else "readings" for file in files]
    inputs = [
        InputFile(source, role, file.sha256, len(file.data))
        for source, role, file in zip(sources, roles, files, strict=True)
    ]
    return layout, readings, tuple(inputs)
