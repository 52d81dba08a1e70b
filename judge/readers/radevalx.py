"""RadEvalX: counts of errors in eight categories, a row for the significant and the others.

The first six categories are GREEN's. The other two are kept under the names of their columns.
"""

from __future__ import annotations

from collections import defaultdict

from judge.readers.readings import CODES, NO_MATCHED, Readings, Studies, an_error, blank
from judge.readers.sheet import Row, Sheet
from judge.rubrics.green.layout import MATCHED
from judge.rubrics.significance import INSIGNIFICANT, LEVELS, SIGNIFICANT
from judge.types import Annotated, Annotation, JudgeError, Unparsed

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
_COLUMNS = ("report_id", "error_type", *_NUMBERS)
_OWN = _NUMBERS[len(CODES) :]
_LEVELS = {SIGNIFICANT: SIGNIFICANT, INSIGNIFICANT: INSIGNIFICANT}


def fits(sheet: Sheet) -> bool:
    """Whether a file is of this layout."""
    return sheet.has(*_COLUMNS)


def read(sheet: Sheet, reader: str) -> Readings:
    """Return the readings in a file, which names no reader; raises `JudgeError` for a wrong row."""
    if not fits(sheet):
        raise JudgeError(
            f"{sheet.name} is no file of RadEvalX: it needs the columns {', '.join(_COLUMNS)}; it "
            f"has: {', '.join(sheet.head[:20])}"
        )
    column = {name: str(sheet.column(name)) for name in _COLUMNS}
    texts = {
        "reference": sheet.column("ground_truth"),
        "candidate": sheet.column("candidate_report"),
    }
    studies = Studies()
    found: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in sheet.rows():
        study_id = row.needed(column["report_id"])
        told = {side: row.text(name) for side, name in texts.items() if name}
        studies.add(row, study_id, told.get("reference"), told.get("candidate"))
        level = row.choice(column["error_type"], _LEVELS)
        if level is None:
            row.wrong("error_type is blank")
        before = found[study_id].setdefault(level, row)
        if before is not row:
            row.wrong(
                f"it has the {level} errors of report {study_id!r}, as row {before.number} has"
            )
        for name in _NUMBERS:  # a number that is wrong is found in its row
            row.count(column[name])
    outcomes = {(reader, study_id): _outcome(rows, column) for study_id, rows in found.items()}
    lacks = {MATCHED: NO_MATCHED, **studies.lacking()}
    source = sheet.name if texts["candidate"] else None
    return Readings("green", studies.read(outcomes), lacks, _OWN, source=source)


def _outcome(rows: dict[str, Row], column: dict[str, str]) -> Annotated | Unparsed:
    items = []
    for level in LEVELS:
        if level not in rows:
            return blank(f"no row of {level} errors")
        for name, category in zip(_NUMBERS, (*CODES, *_OWN), strict=True):
            n = rows[level].count(column[name])
            if n is None:
                return blank(f"row {rows[level].number}: {name} is blank")
            items += [an_error("green", category, level)] * n
    return Annotated(Annotation(tuple(items)))
