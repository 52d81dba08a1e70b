"""ReFiSco: radiologists' corrections of impressions, a row a line, each with a severity.

A study may have impressions from several sources. The lines of one reader's reading stand in
their order; together they are the candidate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge.readers.readings import NO_CATEGORY, PATIENT, Readings, Studies, an_error, blank
from judge.readers.sheet import Row, Sheet
from judge.rubrics.categories import CATEGORY
from judge.sentences import lines
from judge.types import Annotated, Annotation, Edit, Item, JudgeError, Unparsed

_COLUMNS = ("id", "impression_original", "impression_edited", "score", "annotator")
_NO_ERROR = 0
_SCORES = {
    "noerror": _NO_ERROR,
    "notactionable": 1,
    "actionablenonurgenterror": 2,
    "urgenterror": 3,
    "emergenterror": 4,
}
_NO_EDIT, _DELETE = "[no edit]", "[delete]"
SEVERAL = "an edit of several sentences at once is told in words"
"""The warning about a reading with an edit that is no edit of one line."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A row: what stood there (None: an insertion), what should stand there, and how grave it is.

    `edited` is None where nothing is to be changed, and empty for a deletion. `score` is None
    where the reader left it blank.
    """

    row: Row
    original: str | None
    edited: str | None
    score: int | None
    notes: str


def fits(sheet: Sheet) -> bool:
    """Whether a file is of this layout."""
    return sheet.has(*_COLUMNS)


def read(sheet: Sheet) -> Readings:
    """Return the readings in a file; raises `JudgeError` for the first row that is wrong."""
    if not fits(sheet):
        raise JudgeError(
            f"{sheet.name} is no file of ReFiSco: it needs the columns {', '.join(_COLUMNS)}; it "
            f"has: {', '.join(sheet.head[:20])}"
        )
    names = ("indication", "source", "notes")
    known = {name: column for name in (*_COLUMNS, *names) if (column := sheet.column(name))}
    sources: dict[str, set[str]] = defaultdict(set)
    for row in sheet.rows():
        if source := _cell(row, known, "source"):
            sources[row.needed(known["id"])].add(source)
    read_lines: dict[tuple[str, str], list[_Line]] = defaultdict(list)
    first: dict[str, Row] = {}
    told: dict[str, dict[str, str | None]] = {}
    for row in sheet.rows():
        study, reader = row.needed(known["id"]), row.needed(known["annotator"])
        source, patient = _cell(row, known, "source"), None
        study_id = study
        if len(sources[study]) > 1:
            if source is None:
                row.wrong(f"study {study!r} has several impressions, and source is blank here")
            study_id, patient = f"{study}/{source}", study
        first.setdefault(study_id, row)
        fields = {"indication": _cell(row, known, "indication"), "model": source, PATIENT: patient}
        told[study_id] = {**fields, **{k: v for k, v in told.get(study_id, {}).items() if v}}
        read_lines[reader, study_id].append(_line(row, known))
    studies = Studies()
    outcomes: dict[tuple[str, str], Annotated | Unparsed] = {}
    for (reader, study_id), found in read_lines.items():
        candidate, places = _joined(found)
        row = found[0].row
        studies.add(row, study_id, None, candidate, **told[study_id])
        outcomes[reader, study_id] = _outcome(found, places)
    lacks = {CATEGORY.name: NO_CATEGORY, **studies.lacking()}
    return Readings("fineradscore", studies.read(outcomes), lacks, (), "impression", sheet.name)


def _cell(row: Row, known: Mapping[str, str], name: str) -> str | None:
    return row.text(known[name]) if name in known else None


def _line(row: Row, known: Mapping[str, str]) -> _Line:
    """Return what a row says; raises where its edit and its score do not fit together."""
    original = row.text(known["impression_original"])
    edited = row.text(known["impression_edited"])
    score = row.choice(known["score"], _SCORES)
    mark = (edited or "").casefold()
    notes = _cell(row, known, "notes") or ""
    if edited is None:
        row.wrong(f"impression_edited is blank; it says {_NO_EDIT}, {_DELETE} or the new line")
    if mark == _NO_EDIT or edited == original:
        if score not in (None, _NO_ERROR):
            row.wrong(f"the score is {row.text(known['score'])!r} and nothing is edited")
        return _Line(row, original, None, score, notes)
    if score == _NO_ERROR:
        row.wrong("the score is 'No error' and the line is edited")
    if mark == _DELETE:
        if original is None:
            row.wrong("there is no line to delete: impression_original is blank")
        return _Line(row, original, "", score, notes)
    return _Line(row, original, edited, score, notes)


def _joined(found: Sequence[_Line]) -> tuple[str, list[range]]:
    """Return the candidate that the lines make, and which of its numbered lines each row is.

    Raises where a row has no words: it would be no line of a report.
    """
    originals = [" ".join(one.original.split()) if one.original else "" for one in found]
    for one, text in zip(found, originals, strict=True):
        if text and not lines(text):
            one.row.wrong(f"the line {text[:40]!r} has no word")
    sizes = [len(lines(text)) if text else 0 for text in originals]
    starts = [sum(sizes[:at]) for at in range(len(sizes))]
    wanted = [line for text in originals if text for line in lines(text)]
    # A line break can look like that of a wrapped text; an empty line cannot.
    for between in ("\n", "\n\n"):
        candidate = between.join(filter(None, originals))
        if lines(candidate) == wanted:
            break
    else:
        found[0].row.wrong("the lines of this impression cannot be told apart once they are joined")
    return candidate, [range(start, start + n) for start, n in zip(starts, sizes, strict=True)]


def _outcome(found: Sequence[_Line], places: Sequence[range]) -> Annotated | Unparsed:
    if unscored := [one for one in found if one.score is None]:
        return blank(f"row {unscored[0].row.number}: the score is blank")
    last = max(place.stop for place in places)
    items = [
        _error(one, place, last)
        for one, place in zip(found, places, strict=True)
        if one.edited is not None
    ]
    said = [f"{one.original}: {one.notes}" for one in found if one.edited is None and one.notes]
    warnings = (SEVERAL,) if any(item.edit is None for item in items) else ()
    return Annotated(Annotation(tuple(items), "\n".join(said), warnings=warnings))


def _error(one: _Line, place: range, last: int) -> Item:
    grade = f"severity{one.score}"
    if one.original is None:
        edit = Edit("insert", place.start if place.start < last else None, one.edited or "")
        return an_error("fineradscore", None, grade, one.notes, edit)
    edit_of_one = _edit(one.original, one.edited or "", place)
    if edit_of_one is None:
        should = f'should say "{one.edited}"' if one.edited else "should not be said"
        text = f'"{one.original}" {should}' + (f": {one.notes}" if one.notes else "")
        return an_error("fineradscore", None, grade, text)
    return an_error("fineradscore", None, grade, one.notes, edit_of_one)


def _edit(original: str, edited: str, place: range) -> Edit | None:
    """Return an edit of the one line in which a row is changed; None where several are."""
    before, after = lines(original), lines(edited)
    if not edited and len(before) == 1:
        return Edit("delete", place.start, "")
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    tail = 0
    while tail < min(len(before), len(after)) - same and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    gone, new = before[same : len(before) - tail], after[same : len(after) - tail]
    line = place.start + same
    if len(before) == 1:
        return Edit("change", place.start, edited)
    if len(gone) == 1:
        return Edit("change", line, " ".join(new)) if new else Edit("delete", line, "")
    if not gone and new:
        return Edit("insert", line, " ".join(new))
    return None
