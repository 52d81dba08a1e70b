"""RadEvalX: counts in eight categories, a row of significant and one of other errors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from judge.readers.annotations import (
    CODES,
    GREEN,
    NO_MATCHED,
    AnnotationTable,
    File,
)
from judge.readers.layouts.layout import Layout
from judge.rubrics.categories import LEVELS
from judge.rubrics.green.parse import MATCHED
from judge.studies.columns import stem_of

_EIGHT = ("one", "two", "three", "four", "five", "six", "seven", "eight")
# The first six are the usual ones, the last two of RadEvalX alone.
_CATEGORIES = (*CODES, *_EIGHT[len(CODES) :])


def _read(files: Sequence[File], reader: str | None) -> AnnotationTable:
    """Read RadEvalX: counts in eight categories, a row of significant and one of other errors."""
    (file,) = files
    reader = reader or stem_of(file.name)
    table = AnnotationTable(rubric=GREEN, lacks={MATCHED: NO_MATCHED})
    if file.has("candidate_report"):
        table.source = file.name
    seen: dict[str, list[str]] = defaultdict(list)
    for row in file.rows():
        (study_id,) = row.ids("report_id")
        texts = {"reference": row["ground_truth"], "candidate": row["candidate_report"]}
        table.describe(study_id, row.place, **texts)
        with table.checking((reader, study_id)):
            level = row.choice("error_type", {name: name for name in LEVELS})
            seen[study_id].append(level)
            for name, category in zip(_EIGHT, _CATEGORIES, strict=True):
                table.add((reader, study_id), category, level, count=row.count(name))
    for study_id, levels in seen.items():
        if sorted(levels) != sorted(LEVELS):
            why = f"it has rows of {' and '.join(levels)} errors, not one of each kind"
            table.left_out.setdefault((reader, study_id), why)
    return table


RADEVALX = Layout(
    name="radevalx",
    columns=(("report_id", "error_type", *_EIGHT),),
    read=_read,
)
