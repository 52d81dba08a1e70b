"""The table of studies, one row a study: building it, its summary and its worst rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from judge.rubrics.contract import Rubric
from judge.run_files.summary import RunSummary, SummaryBlock
from judge.run_settings import DEFAULT_BY
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    USUAL_DRAWS,
    Codes,
    Draws,
    n_different,
)
from judge.stats.statistic import Statistic
from judge.studies.columns import FIELD_NAMES
from judge.types import (
    Failed,
    JudgeError,
    Measures,
    Outcome,
    Scored,
    Study,
    Unparsed,
)

if TYPE_CHECKING:
    import pandas as pd

OutcomeName = Literal["scored", "unparsed", "failed"]
OUTCOMES: dict[type[Outcome], OutcomeName] = {
    Scored: "scored",
    Unparsed: "unparsed",
    Failed: "failed",
}
FIXED_TEXTS = ("study_id", "study_class", "outcome", "reason", "warnings")
FIXED = (*FIXED_TEXTS, "class_inferred")
"""The columns that every table has, whatever the rubric and the fields."""


def reserved_names(rubric: Rubric) -> list[str]:
    """Return the names that no field may have: columns of the table, keys of its summary."""
    return [
        *(measure.name for measure in rubric.measures),
        *(statistic.name for statistic in rubric.statistics),
        "warnings",
        "n_warnings",
        "statistics",
    ]


def estimate_of(block: RunSummary | SummaryBlock, statistic: Statistic) -> Estimate:
    """Return a statistic of a summary, or of one of its groups; raises KeyError without it."""
    return Estimate.read(block.statistics[statistic.name].plain())


class TableBuilder:
    """Collects studies column by column; `build` gives the table.

    A study that is not scored has no number: its cells stay empty, as does that of a
    measure which is undefined for a study.
    """

    def __init__(self, rubric: Rubric, field_names: Iterable[str]) -> None:
        self._measures = rubric.measures
        self._fields = list(field_names)
        self.columns = [
            "study_id",
            "study_class",
            "class_inferred",
            *self._fields,
            "outcome",
            "reason",
            "warnings",
            *(measure.name for measure in self._measures),
        ]
        self._rows: list[tuple[object, ...]] = []
        if len(set(self.columns)) < len(self.columns):
            raise ValueError("two columns of the table of studies have one name")

    def add(self, study: Study, outcome: Outcome, measures: Measures | None) -> None:
        """Append one study; `measures` belong to a scored study and to no other."""
        if (measures is not None) != isinstance(outcome, Scored):
            raise ValueError(f"{study.study_id}: numbers go with a scored study only")
        warnings: Sequence[str] = ()
        reason = None
        if isinstance(outcome, Scored):
            warnings = outcome.annotation.all_warnings
        else:
            reason = outcome.reason
        numbers: list[object] = [None] * len(self._measures)
        if measures is not None:
            numbers = [measures[measure.name] for measure in self._measures]
        row = (
            study.study_id,
            study.study_class,
            study.class_inferred,
            *(study.fields.get(name) for name in self._fields),
            OUTCOMES[type(outcome)],
            reason,
            "; ".join(warnings) or None,
            *numbers,
        )
        self._rows.append(row)

    def build(self) -> pd.DataFrame:
        """Return the table; whole measures are nullable integers, others nullable floats."""
        import pandas as pd

        # A shard may have no study: then there is no column of cells.
        cells: dict[str, tuple[object, ...]] = dict.fromkeys(self.columns, ())
        if self._rows:
            columns = zip(*self._rows, strict=True)
            cells = dict(zip(self.columns, columns, strict=True))
        dtypes = dict.fromkeys(FIXED_TEXTS, "str")
        dtypes["class_inferred"] = "bool"  # also of a shard without a study
        for measure in self._measures:
            if measure.is_whole:
                dtypes[measure.name] = "Int64"
            else:
                dtypes[measure.name] = "Float64"
        for name in self._fields:
            # Left to itself pandas makes the site 1 a 1.0 where another study has no site.
            if _has_gaps(cells[name]):
                dtypes[name] = "Int64"
        series = {}
        for name in self.columns:
            series[name] = pd.Series(list(cells[name]), dtype=dtypes.get(name))
        return pd.DataFrame(series)


def _has_gaps(values: Sequence[object]) -> bool:
    """Return whether a field has whole numbers and nothing else, but for some studies."""
    if {type(value) for value in values} != {int, type(None)}:
        return False
    numbers = [value for value in values if isinstance(value, int)]
    # Larger ones stay Python's, since Int64 cannot hold them.
    return all(abs(number) < 2**63 for number in numbers)


def summarise(
    table: pd.DataFrame,
    rubric: Rubric,
    by: Sequence[str] = DEFAULT_BY,
    patient_field: str | None = None,
    draws: Draws = USUAL_DRAWS,
) -> dict[str, Any]:
    """Return everything that is printed of a table of studies, ready for JSON.

    `by` has a grouping each: `site`, or `site,study_class` for the pairs of two fields.
    Keys: those of `_block` for all studies (`n_studies`, `n_scored`, `n_unparsed`,
    `n_failed`, `statistics`), `totals` (of each whole measure: how many, and per study that
    has it), `reasons`, `warnings` (studies by warning), `n_warnings` (how often it was given), and
    `rates`, a list with one `_block` a group, its fields first; `intervals_by`, the field of the
    patient, where patients have several studies; `resampling`, the seed and the number of
    resamples, where a statistic has its interval by bootstrap.
    Raises `JudgeError` for a field that the table has not.
    """
    lost = table[table["outcome"] != "scored"]
    reasons = Counter(lost["outcome"] + ": " + lost["reason"])
    warnings: Counter[str] = Counter()
    n_warnings: Counter[str] = Counter()
    for cell in table["warnings"].dropna():
        texts = cell.split("; ")
        # A study counts once, however often the warning was given.
        warnings.update(list(dict.fromkeys(texts)))
        n_warnings.update(texts)
    clusters = patients(table, patient_field)
    intervals_by = units = None
    n_units = len(table)
    if clusters is not None:
        intervals_by, units = clusters
        n_units = n_different(units)
    draws = draws.of(n_units)
    rates = []
    for key, rows in grouped(table, by):
        units_of_group = None
        if units is not None:
            units_of_group = units[rows]
        block = _block(table.take(rows), rubric, units_of_group, draws)
        rates.append({**key, **block})
    data = {
        **_block(table, rubric, units, draws),
        "n_class_inferred": int(table["class_inferred"].sum()),
        "totals": _totals(table, rubric),
        "reasons": dict(reasons.most_common()),
        "warnings": dict(warnings.most_common()),
        "n_warnings": dict(n_warnings.most_common()),
        "by": list(by),
        "rates": rates,
    }
    if any(statistic.is_resampled for statistic in rubric.statistics):
        data["resampling"] = asdict(draws)
    if intervals_by is not None:
        data["intervals_by"] = intervals_by
    return data


def patients(table: pd.DataFrame, field: str | None = None) -> tuple[str, Codes] | None:
    """Return the field of the patient and each study's patient, by number.

    The field is by default the first of the usual ones that the table has; `none` takes studies as
    independent. None too where no patient has several studies. Raises `JudgeError` for a field
    that the table lacks, and for several.
    """
    if field == "none":
        return None
    usual = FIELD_NAMES["patient"]
    if field is not None:
        check_fields([field], table.columns)
        if field not in table.columns:
            raise JudgeError(
                f"{field!r} names several fields; the patient is one field"
            )
        usual = (field,)
    name = next((name for name in usual if name in table.columns), None)
    if name is None:
        return None
    numbers = patient_numbers([_plain(value) for value in table[name]])
    has_several_studies = n_different(numbers) < len(numbers)
    if not has_several_studies:
        return None
    return name, numbers


def patient_numbers(column: Sequence[object]) -> Codes:
    """Return a number for each patient; a study without one is a patient of its own."""
    import pandas as pd

    names = []
    for row, name in enumerate(column):
        if name is None:
            names.append(f"study {row}")
        else:
            names.append(f"of {name}")
    numbers, _ = pd.Series(names, dtype=object).factorize()
    return numbers


def grouped(
    table: pd.DataFrame, by: Sequence[str]
) -> list[tuple[dict[str, object], list[int]]]:
    """Return the groups of each grouping in the order of their values: fields, and row numbers.

    Raises `JudgeError` for a field that the table has not.
    """
    check_fields(by, table.columns)
    table = table.reset_index(drop=True)
    groups = []
    for grouping in dict.fromkeys(by):
        names = fields_of(grouping)
        for key, rows in table.groupby(names, dropna=False, sort=True):
            cells = [_plain(cell) for cell in key]
            fields = dict(zip(names, cells, strict=True))
            row_numbers = [int(row) for row in rows.index]
            groups.append((fields, row_numbers))
    return groups


def fields_of(*by: str) -> list[str]:
    """Return the fields of groupings: `site,study_class` groups by the pairs of two fields."""
    names = (name.strip() for grouping in by for name in grouping.split(","))
    return list(dict.fromkeys(names))


def row_name(by: Sequence[str], key: Mapping[str, object]) -> str:
    """Return the kind of a CSV row: `all`, `group`, or of several groupings the row's own."""
    if not key:
        return "all"
    if len(by) == 1:
        return "group"
    return ",".join(name for name in fields_of(*by) if name in key)


def by_grouping(summary: RunSummary) -> list[RunSummary]:
    """Return a summary for each grouping: its fields as `by`, and the rates of its groups."""
    names = fields_of(*summary.by)
    rates: dict[tuple[str, ...], list[SummaryBlock]] = {}
    for row in summary.rates:
        of_row = tuple(name for name in names if name in row.group)
        rates.setdefault(of_row, []).append(row)
    if not rates:
        rates = {tuple(names): []}
    summaries = []
    for by, rows in rates.items():
        update = {"by": list(by), "rates": rows}
        summaries.append(summary.model_copy(update=update))
    return summaries


def check_fields(by: Sequence[str], columns: Iterable[object]) -> None:
    """Raise `JudgeError` where a table of these columns cannot be grouped by the fields `by`."""
    names = [str(name) for name in columns]
    if not by:
        raise JudgeError("no field to group by; name at least one with --by")
    unknown = [name for name in fields_of(*by) if name not in names]
    if unknown:
        if "outcome" in names:  # a table of studies: the fields come before it
            names = names[: names.index("outcome")]
        fields = [name for name in names if name not in ("study_id", "class_inferred")]
        wanted = ", ".join(map(repr, unknown))
        raise JudgeError(f"no field {wanted}; there are: {', '.join(fields)}")


def _block(
    rows: pd.DataFrame, rubric: Rubric, units: Codes | None, draws: Draws
) -> dict[str, Any]:
    """Counts of outcomes and the statistics of one set of rows.

    The denominator of every mean and rate is the scored studies that have its measure. Its
    `bounds` are its least and its greatest value if the others were all at one end of the scale.
    """
    is_scored = (rows["outcome"] == "scored").to_numpy(dtype=bool)
    scored = rows[is_scored]
    if units is not None:
        units = units[is_scored]
    n_lost = len(rows) - len(scored)
    statistics = {}
    for statistic in rubric.statistics:
        estimate = statistic.of_table(scored, units, draws)
        bounds = statistic.bounds(estimate, n_lost)
        statistics[statistic.name] = replace(estimate, bounds=bounds).plain()
    return {
        "n_studies": len(rows),
        "n_scored": len(scored),
        "n_unparsed": int((rows["outcome"] == "unparsed").sum()),
        "n_failed": int((rows["outcome"] == "failed").sum()),
        "statistics": statistics,
    }


def _totals(table: pd.DataFrame, rubric: Rubric) -> dict[str, dict[str, Any]]:
    """Return how many of each whole measure, None where scored studies have no defined value."""
    scored = table[table["outcome"] == "scored"]
    totals = {}
    for measure in rubric.measures:
        if not measure.is_whole:
            continue
        values = scored[measure.name].dropna()
        n: int | None = int(values.sum())
        per_study = None
        if len(values):
            per_study = int(values.sum()) / len(values)
        elif len(scored):
            # Nothing is known of the scored studies, which is not that they have none.
            n = None
        totals[measure.name] = {"n": n, "per_study": per_study}
    return totals


def _plain(value: Any) -> object:  # noqa: ANN401 - a cell of any column
    """Return a cell as Python's own value, which JSON can hold; None for a missing one."""
    import pandas as pd

    if pd.isna(value):
        return None
    if hasattr(value, "item"):
        return value.item()
    return value


def worst_order(table: pd.DataFrame, rubric: Rubric) -> list[int]:
    """Return the rows of `table` of all studies, the worst scored one first.

    Ties are in the table's order; a study that lacks a measure comes after those that have
    it. Studies without an annotation come last, unparsed before failed.
    """
    is_ascending = {"_outcome": True}
    for key in rubric.worst:
        is_ascending[key.measure] = not key.largest_first
    ranks = table["outcome"].map({"scored": 0, "unparsed": 1, "failed": 2})
    rows = table.assign(_outcome=ranks).reset_index(drop=True)
    rows = rows.sort_values(
        list(is_ascending),
        ascending=list(is_ascending.values()),
        kind="stable",
    )
    return [int(row) for row in rows.index]


def worst_rows(table: pd.DataFrame, rubric: Rubric, n: int) -> list[dict[str, Any]]:
    """Return the `n` worst scored studies, in the order of `worst_order`.

    Where the rubric lists codes, each row has them under the plural of their facet.
    """
    import pandas as pd

    rows = table.iloc[worst_order(table, rubric)]
    rows = rows[rows["outcome"] == "scored"].head(n)
    if rubric.codes:
        rows = rows.assign(**{rubric.codes.plural: codes(rows, rubric)})
    worst = []
    for row in rows.to_dict("records"):
        cells: dict[str, Any] = {}
        for name, value in row.items():
            cells[str(name)] = value
            if pd.isna(value):
                cells[str(name)] = None
        worst.append(cells)
    return worst


def codes(table: pd.DataFrame, rubric: Rubric) -> list[str]:
    """Return the labels of the tally's rows that each study's items carry, such as `abd`.

    Names of one letter are joined without a space. Empty for a study that has none or no score.
    """
    if rubric.tally is None or rubric.codes is None:
        return [""] * len(table)
    names_of_row: list[list[str]] = [[] for _ in range(len(table))]
    is_one_letter = []
    for label in rubric.codes.labels:
        name = str(label.name)
        is_one_letter.append(len(name) == 1)
        counts = rubric.counting(rubric.tally.kind, {rubric.tally.rows: label.name})
        columns = table[[measure.name for measure in counts]].fillna(0)
        has_label = (columns > 0).any(axis=1).tolist()
        for names, is_there in zip(names_of_row, has_label, strict=True):
            if is_there:
                names.append(name)
    between = ", "
    if all(is_one_letter):
        between = ""
    return [between.join(names) for names in names_of_row]
