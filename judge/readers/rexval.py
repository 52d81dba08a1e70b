"""ReXVal: counts of errors in six categories, by reader, of four candidates a study.

Either the two files of its release or the published table of counts, which has no texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from judge.readers.readings import (
    CODES,
    NO_MATCHED,
    PATIENT,
    Readings,
    Studies,
    an_error,
    blank,
)
from judge.readers.sheet import Row, Sheet
from judge.rubrics.green.layout import MATCHED
from judge.rubrics.significance import INSIGNIFICANT, LEVELS, SIGNIFICANT
from judge.types import Annotated, Annotation, JudgeError, Unparsed

_REPORTS = ("study_id", "gt_report")
_CANDIDATES = ("radgraph", "bertscore", "s_emb", "bleu")
_COUNTS = (
    *("study_number", "candidate_type", "error_category", "rater_index"),
    *("clinically_significant", "num_errors"),
)
_TABLE = ("study_number", "origin", "error_category")
_READERS = tuple("012345")
_SIGNIFICANCE = {
    **dict.fromkeys(("true", "1", "yes"), SIGNIFICANT),
    **dict.fromkeys(("false", "0", "no"), INSIGNIFICANT),
}
_CATEGORIES = {str(number): code for number, code in enumerate(CODES, start=1)}

_Key = tuple[str, str]
"""A reader and a study."""
_Cell = tuple[str, str]
"""A level and a category."""
_Counts = Mapping[_Key, Mapping[_Cell, tuple[Row, int | None]]]


def fits(sheet: Sheet) -> bool:
    """Whether a file is one of this layout's."""
    return _has_reports(sheet) or _has_counts(sheet) or _is_table(sheet)


def read(sheets: Sequence[Sheet]) -> Readings:
    """Return the readings in the files; raises `JudgeError` for the first row that is wrong."""
    reports = [sheet for sheet in sheets if _has_reports(sheet)]
    counts = [sheet for sheet in sheets if _has_counts(sheet) or _is_table(sheet)]
    if len(reports) > 1 or len(counts) != 1 or len(reports) + len(counts) != len(sheets):
        raise JudgeError(
            "ReXVal is a file of counts (50 studies by six readers, or the published table) and, "
            "where there are texts, one of reports (study_id, gt_report and a column for each "
            f"candidate); these are not that: {', '.join(sheet.name for sheet in sheets)}"
        )
    known = _Reports(reports[0] if reports else None)
    found = (_of_table if _is_table(counts[0]) else _of_rows)(counts[0], known)
    outcomes = {key: _outcome(cells) for key, cells in found.items()}
    lacks = {MATCHED: NO_MATCHED, **known.studies.lacking()}
    source = reports[0].name if reports else None
    return Readings("green", known.studies.read(outcomes), lacks, source=source)


def _has_reports(sheet: Sheet) -> bool:
    return sheet.has(*_REPORTS) and any(sheet.has(name) for name in _CANDIDATES)


def _has_counts(sheet: Sheet) -> bool:
    return sheet.has(*_COUNTS)


def _is_table(sheet: Sheet) -> bool:
    return sheet.has(*_TABLE) and len(_places(sheet)) == 2 * len(_READERS)


class _Reports:
    """The reports that counts are about; without a file of them the numbers are the ids."""

    def __init__(self, sheet: Sheet | None) -> None:
        self.studies = Studies()
        self._rows: list[Row] | None = None
        if sheet is None:
            return
        self._rows = list(sheet.rows())
        self._sheet = sheet
        self._id, self._reference = (str(sheet.column(name)) for name in _REPORTS)
        seen: dict[str, Row] = {}
        for row in self._rows:
            study = row.needed(self._id)
            if study in seen:
                row.wrong(f"study {study!r} stands in row {seen[study].number} already")
            seen[study] = row
            for name in _CANDIDATES:
                if column := sheet.column(name):
                    self._add(row, study, name, row.needed(self._reference), row.text(column))

    def study_id(self, row: Row, number: int | None, candidate: str) -> str:
        """Return the id of the candidate that a row of counts is about; raises for an unknown."""
        if number is None:
            row.wrong("study_number is blank")
        if self._rows is None:
            return self._add(row, str(number), candidate, None, None)
        if number >= len(self._rows):
            row.wrong(
                f"study_number is {number}, and {self._sheet.name} has {len(self._rows)} studies, "
                "numbered from 0"
            )
        study_id = f"{self._rows[number].needed(self._id)}/{candidate}"
        if study_id not in self.studies:
            row.wrong(f"{self._sheet.name} has no column {candidate!r}, for the candidate")
        return study_id

    def _add(
        self, row: Row, study: str, candidate: str, reference: str | None, text: str | None
    ) -> str:
        study_id = f"{study}/{candidate}"
        fields = {"model": candidate, PATIENT: study}
        self.studies.add(row, study_id, reference, text, **fields)
        return study_id


def _of_rows(sheet: Sheet, reports: _Reports) -> _Counts:
    column = {name: str(sheet.column(name)) for name in _COUNTS}
    found: dict[_Key, dict[_Cell, tuple[Row, int | None]]] = defaultdict(dict)
    for row in sheet.rows():
        number = row.count(column["study_number"])
        study_id = reports.study_id(row, number, row.needed(column["candidate_type"]))
        level = row.choice(column["clinically_significant"], _SIGNIFICANCE)
        category = row.choice(column["error_category"], _CATEGORIES)
        if level is None or category is None:
            row.wrong("clinically_significant or error_category is blank")
        cells = found[row.needed(column["rater_index"]), study_id]
        n = row.count(column["num_errors"])
        before, then = cells.setdefault((level, category), (row, n))
        if before is not row:
            says = (
                f"repeats row {before.number}"
                if n == then
                else f"says {n} and row {before.number} {then}"
            )
            row.wrong(f"it {says} for the same reader, candidate and category; leave one out")
    return found


def _of_table(sheet: Sheet, reports: _Reports) -> _Counts:
    column = {name: str(sheet.column(name)) for name in _TABLE}
    places = _places(sheet)
    order = [sheet.head[place].partition(".")[0] for place in places]
    if order != [*_READERS, *_READERS]:
        raise JudgeError(
            f"{sheet.name} has its columns of counts in the order {', '.join(order)}; it must be "
            "0 to 5 of the significant errors, then 0 to 5 of the others"
        )
    found: dict[_Key, dict[_Cell, tuple[Row, int | None]]] = defaultdict(dict)
    seen: dict[tuple[str, str], Row] = {}
    for row, cells in zip(sheet.rows(), sheet.cells, strict=True):
        number = row.count(column["study_number"])
        study_id = reports.study_id(row, number, row.needed(column["origin"]))
        category = row.choice(column["error_category"], _CATEGORIES)
        if category is None:
            row.wrong("error_category is blank")
        if (before := seen.setdefault((study_id, category), row)) is not row:
            row.wrong(f"it has the candidate and category of row {before.number} again")
        for at, place in enumerate(places):
            reader, level = _READERS[at % len(_READERS)], LEVELS[at // len(_READERS)]
            named = f"reader {reader}, {level}"
            n = Row(sheet.name, row.number, {named: cells[place]}).count(named)
            found[reader, study_id][level, category] = row, n
    # A reader of whom all is blank did not read the study.
    return {
        key: counts
        for key, counts in found.items()
        if any(n is not None for _, n in counts.values())
    }


def _places(sheet: Sheet) -> list[int]:
    """Return where the counts of the six readers stand, the significant ones first.

    pandas writes a name that is repeated as `0.1`.
    """
    return [at for at, name in enumerate(sheet.head) if name in _READERS or name in _AGAIN]


_AGAIN = tuple(f"{name}.1" for name in _READERS)


def _outcome(cells: Mapping[_Cell, tuple[Row, int | None]]) -> Annotated | Unparsed:
    for level in LEVELS:
        for number, code in _CATEGORIES.items():
            row, n = cells.get((level, code), (None, None))
            if n is None:
                where = f"row {row.number}: " if row else ""
                return blank(f"{where}no count of {level} errors of category {number}")
    return Annotated(
        Annotation(
            tuple(
                an_error("green", category, level)
                for level in LEVELS
                for category in CODES
                for _ in range(cells[level, category][1] or 0)
            )
        )
    )
