"""The table of studies: one row a study, plain columns of numbers and text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from judge.rubrics import Rubric
from judge.types import Annotated, Category, Failed, Outcome, Study, StudyCounts, Unparsed

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = {Annotated: "annotated", Unparsed: "unparsed", Failed: "failed"}


def count_columns(rubric: Rubric) -> list[str]:
    """Return the names of the integer columns, in order.

    `n_significant`, `n_insignificant`, `n_actionable`, `n_matched`, then errors per level
    and per level and category (`significant_a`, ...).
    """
    names = ["n_significant", "n_insignificant", "n_actionable", "n_matched"]
    names += [f"n_{level.name}" for level in rubric.levels]
    names += [f"{level.name}_{category}" for level in rubric.levels for category in Category]
    return list(dict.fromkeys(names))


def reserved_names(rubric: Rubric) -> list[str]:
    """Return the names that no field may have: columns of the table, keys of its summary."""
    return [
        *(figure.name for figure in rubric.figures),
        *(check.name for check in rubric.checks),
        *count_columns(rubric),
        "scores",
        "no_significant_error",
        "no_actionable_error",
    ]


def count_values(counts: StudyCounts) -> dict[str, int | None]:
    """Return a scored study's integer columns by name."""
    values: dict[str, int | None] = {f"n_{name}": n for name, n in counts.by_level.items()}
    values |= {f"{level}_{category}": n for (level, category), n in counts.by_category.items()}
    values |= {
        "n_significant": counts.n_significant,
        "n_insignificant": counts.n_insignificant,
        "n_actionable": counts.n_actionable,
        "n_matched": counts.n_matched,
    }
    return values


class TableBuilder:
    """Collects studies column by column; `build` gives the table.

    A study that is not annotated gets neither a score nor a count: its cells stay empty.
    """

    def __init__(self, rubric: Rubric, field_names: Iterable[str]) -> None:
        self._scores = [score.name for score in (*rubric.scores, *rubric.checks)]
        self._counts = count_columns(rubric)
        self._fields = list(field_names)
        self._columns: dict[str, list[object]] = {
            name: []
            for name in (
                *("study_id", "study_class", "class_inferred"),
                *self._fields,
                *("outcome", "reason", "remarks"),
                *self._scores,
                *self._counts,
            )
        }

    def add(self, study: Study, outcome: Outcome, counts: StudyCounts | None) -> None:
        """Append one study; `counts` belongs to an annotated outcome and to no other."""
        if (counts is not None) != isinstance(outcome, Annotated):
            raise ValueError(f"{study.study_id}: a score goes with an annotated outcome only")
        put = self._put
        put("study_id", study.study_id)
        put("study_class", study.study_class)
        put("class_inferred", study.class_inferred)
        for name in self._fields:
            put(name, study.fields.get(name))
        put("outcome", OUTCOMES[type(outcome)])
        put("reason", None if isinstance(outcome, Annotated) else outcome.reason)
        remarks = outcome.annotation.remarks if isinstance(outcome, Annotated) else ()
        put("remarks", "; ".join(remarks) or None)
        values: Mapping[str, int | None] = count_values(counts) if counts else {}
        for name in self._scores:
            put(name, counts.scores[name] if counts else None)
        for name in self._counts:
            put(name, values.get(name))

    def _put(self, column: str, value: object) -> None:
        self._columns[column].append(value)

    def build(self) -> pd.DataFrame:
        """Return the table; integer columns are nullable integers, scores nullable floats."""
        import pandas as pd

        dtypes = dict.fromkeys(self._counts, "Int64") | dict.fromkeys(self._scores, "Float64")
        dtypes |= dict.fromkeys(("study_id", "study_class", "outcome", "reason", "remarks"), "str")
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
