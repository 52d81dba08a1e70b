"""The table of studies: one row a study, plain columns of numbers and text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from judge.rubrics.contract import Rubric
from judge.types import Annotated, Failed, Measures, Outcome, Study, Unparsed

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = {Annotated: "annotated", Unparsed: "unparsed", Failed: "failed"}
FIXED_TEXTS = ("study_id", "study_class", "outcome", "reason", "warnings")
FIXED = (*FIXED_TEXTS, "class_inferred")
"""The columns that every table has, whatever the rubric and the fields."""


def reserved_names(rubric: Rubric) -> list[str]:
    """Return the names that no field may have: columns of the table, keys of its summary."""
    return [
        *(measure.name for measure in rubric.measures),
        *(statistic.name for statistic in rubric.statistics),
        *("warnings", "statistics"),
    ]


class TableBuilder:
    """Collects studies column by column; `build` gives the table.

    A study that is not annotated has no number: its cells stay empty, as does that of a
    measure which is undefined for a study.
    """

    def __init__(self, rubric: Rubric, field_names: Iterable[str]) -> None:
        self._measures = rubric.measures
        self._fields = list(field_names)
        names = [
            *("study_id", "study_class", "class_inferred"),
            *self._fields,
            *("outcome", "reason", "warnings"),
            *(measure.name for measure in self._measures),
        ]
        if twice := [name for name, n in Counter(names).items() if n > 1]:
            raise ValueError(f"two columns of the table of studies are called {twice[0]!r}")
        self._columns: dict[str, list[object]] = {name: [] for name in names}

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return list(self._columns)

    def add(self, study: Study, outcome: Outcome, measures: Measures | None) -> None:
        """Append one study; `measures` belong to an annotated outcome and to no other."""
        if (measures is not None) != isinstance(outcome, Annotated):
            raise ValueError(f"{study.study_id}: numbers go with an annotated outcome only")
        put = self._put
        put("study_id", study.study_id)
        put("study_class", study.study_class)
        put("class_inferred", study.class_inferred)
        for name in self._fields:
            put(name, study.fields.get(name))
        put("outcome", OUTCOMES[type(outcome)])
        put("reason", None if isinstance(outcome, Annotated) else outcome.reason)
        warnings = outcome.annotation.warnings if isinstance(outcome, Annotated) else ()
        put("warnings", "; ".join(warnings) or None)
        for measure in self._measures:
            put(measure.name, measures[measure.name] if measures is not None else None)

    def _put(self, column: str, value: object) -> None:
        self._columns[column].append(value)

    def build(self) -> pd.DataFrame:
        """Return the table; whole measures are nullable integers, others nullable floats."""
        import pandas as pd

        dtypes = {m.name: "Int64" if m.is_whole else "Float64" for m in self._measures}
        dtypes |= dict.fromkeys(FIXED_TEXTS, "str")
        # Left to itself pandas makes the site 1 a 1.0 where another study has no site.
        dtypes |= {name: "Int64" for name in self._fields if _has_gaps(self._columns[name])}
        data = {
            name: pd.Series(values, dtype=dtypes[name]) if name in dtypes else values
            for name, values in self._columns.items()
        }
        return pd.DataFrame(data)


def _has_gaps(values: Sequence[object]) -> bool:
    """Whether a column holds whole numbers, of 64 bits, and missing values beside them."""
    kinds = {type(value) for value in values}
    return kinds == {int, type(None)} and all(
        -(2**63) <= value < 2**63 for value in values if isinstance(value, int)
    )
