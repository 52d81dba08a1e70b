"""ReXVal: counts by six readers in six categories, of four candidates a study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from judge.readers.annotations import (
    CODES,
    GREEN,
    NO_MATCHED,
    SIGNIFICANCE,
    AnnotationTable,
    File,
    Key,
)
from judge.readers.layouts.layout import Layout
from judge.rubrics.categories import LEVELS
from judge.rubrics.green.parse import MATCHED
from judge.types import JudgeError

_CATEGORIES_BY_NUMBER = {
    str(number): code for number, code in enumerate(CODES, start=1)
}
_REPORTS = ("study_id", "gt_report")
_CANDIDATES = ("radgraph", "bertscore", "s_emb", "bleu")
_IDS = ("study_number", "candidate_type", "rater_index")
_ALL_COUNTS = len(LEVELS) * len(CODES)


def _read(files: Sequence[File], _reader: str | None) -> AnnotationTable:
    """Read ReXVal: counts by six readers in six categories, of four candidates a study."""
    reports = [file for file in files if file.has(*_REPORTS)]
    counts = [file for file in files if not file.has(*_REPORTS)]
    if len(reports) > 1 or len(counts) != 1:
        raise JudgeError(
            "ReXVal has one file of counts and at most one of reports; name these"
        )
    table = AnnotationTable(rubric=GREEN, lacks={MATCHED: NO_MATCHED})
    studies = _describe_studies(table, reports[0]) if reports else {}
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
            category = row.choice("error_category", _CATEGORIES_BY_NUMBER)
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


def _describe_studies(table: AnnotationTable, reports: File) -> dict[str, str]:
    """Add the studies of a file of reports; return their ids by number, which the counts name."""
    table.source = reports.name
    studies = {}
    for number, row in enumerate(reports.rows()):
        (study,) = row.ids("study_id")
        studies[str(number)] = study
        for name in _CANDIDATES:
            table.describe(
                f"{study}/{name}",
                row.place,
                reference=row["gt_report"],
                candidate=row[name],
                model=name,
                patient=study,
            )
    return studies


REXVAL = Layout(
    name="rexval",
    columns=(
        (*_IDS, "error_category", "clinically_significant", "num_errors"),
        _REPORTS,
    ),
    read=_read,
    has_several_files=True,
)
