"""The table of studies in a pack, as CSV, and the summary that is computed from it.

It has what the figures need and no more: ids, classes, the fields that group the rates, outcomes
and measures. Reports and other fields stay behind. The patient, by whom intervals are resampled,
is a number.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from judge.rubrics.contract import Rubric
from judge.run_files.summary import RunSummary, SummaryBlock
from judge.run_settings import DEFAULT_BY
from judge.running.folder import RunFolder
from judge.stats.intervals import USUAL_DRAWS, Draws
from judge.stats.summary import (
    FIXED_TEXTS,
    OUTCOMES,
    check_fields,
    fields_of,
    summarise,
)
from judge.text import group_value
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_TRUTH = {"True": True, "False": False}
_COUNTS = ("n_studies", "n_scored", "n_unparsed", "n_failed")
_NUMBERS = ("value", "low", "high", "n", "k")
_EQUAL = 1e-9
"""Two figures that differ by no more than this, relatively, are the same: sums are not exact."""


def packed_table(run: RunFolder, by: Sequence[str]) -> pd.DataFrame:
    """Return the columns of a run's table that its figures need, the patients as numbers from 1.

    Raises `JudgeError` for a field of `by` that the table lacks, and where it cannot be read.
    """
    table = run.table()
    if by:
        check_fields(by, table.columns)
    patient = run.summary().intervals_by
    names = ["study_id", "study_class", "class_inferred", *fields_of(*by)]
    if patient is not None:
        names.append(patient)
        numbers, _ = table[patient].factorize()
        # The number of a study without a patient is -1.
        of_studies = [int(number) + 1 or None for number in numbers]
        table = table.copy()
        table[patient] = of_studies
    names += ["outcome", "reason", "warnings"]
    names += [measure.name for measure in run.rubric.measures]
    return table[list(dict.fromkeys(names))]


def table_as_csv(table: pd.DataFrame) -> bytes:
    """Return the table as CSV in UTF-8; a missing value is an empty cell."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.itertuples(index=False, name=None):
        writer.writerow(map(_cell, row))
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> object:  # noqa: ANN401 - a cell of any column
    import pandas as pd

    if pd.isna(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def table_of_csv(data: bytes, rubric: Rubric, file: str) -> pd.DataFrame:
    """Return the table that `table_as_csv` wrote; raises `JudgeError` that names the `file`."""
    import pandas as pd

    try:
        names, *rows = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
        columns: list[Sequence[str]] = [()] * len(names)
        if rows:
            columns = list(zip(*rows, strict=True))
        cells = dict(zip(names, columns, strict=True))
        why = _fault(names, cells, rubric)
        series = {}
        for name, column in cells.items():
            series[name] = _column(name, column, rubric)
    except (csv.Error, KeyError, TypeError, ValueError, OverflowError) as error:
        raise JudgeError(f"cannot read {file}: {error}") from error
    if why:
        raise JudgeError(f"cannot read {file}: {why}")
    return pd.DataFrame(series)


def _fault(
    names: Sequence[str], cells: Mapping[str, Sequence[str]], rubric: Rubric
) -> str:
    """Return why some columns are no table of studies, empty where they are."""
    if len(cells) < len(names):
        return "two columns have one name"
    measures = [measure.name for measure in rubric.measures]
    for name in (*FIXED_TEXTS, "class_inferred", *measures):
        if name not in cells:
            return f"there is no column {name}"
    odd = {*cells["outcome"]} - {*OUTCOMES.values()}
    if odd:
        return f"there is no outcome {min(odd)!r:.80}"
    ids = cells["study_id"]
    if len({*ids}) < len(ids):
        return "a study is there twice"
    return ""


def _column(name: str, cells: Sequence[str], rubric: Rubric) -> pd.Series[Any]:
    """Return a column of text as the type that a run's table has it in."""
    import pandas as pd

    texts = [text or None for text in cells]
    if name == "class_inferred":
        return pd.Series([_TRUTH[text] for text in cells], dtype="bool")
    if name in FIXED_TEXTS:
        return pd.Series(texts, dtype="str")
    for measure in rubric.measures:
        if measure.name == name and measure.is_whole:
            whole = [None if text is None else int(text) for text in texts]
            return pd.Series(whole, dtype="Int64")
        if measure.name == name:
            numbers = [None if text is None else _finite(text) for text in texts]
            return pd.Series(numbers, dtype="Float64")
    # So that 2 comes before 10.
    if all(text is None or _WHOLE.fullmatch(text) for text in texts):
        whole = [None if text is None else int(text) for text in texts]
        return pd.Series(whole, dtype="Int64")
    return pd.Series(texts, dtype=object)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number of a study")
    return number


def summary_of(
    table: pd.DataFrame, rubric: Rubric, printed: RunSummary, by: Sequence[str]
) -> RunSummary:
    """Return the summary of a run with the figures of its table in a pack.

    What is no figure, and how figures are resampled, is that of the `printed` summary. The
    sentences about failed studies are left out: they may quote a server.
    """
    draws = USUAL_DRAWS
    if printed.resampling is not None:
        draws = Draws(printed.resampling.seed, printed.resampling.resamples)
    patient = printed.intervals_by or "none"
    counted = summarise(table, rubric, by or DEFAULT_BY, patient, draws)
    if not by:
        counted |= {"by": [], "rates": []}
    without = printed.model_copy(update={"failures": []})
    return without.regrouped(counted)


def differences(first: RunSummary, second: RunSummary) -> list[str]:
    """Return the names of the figures of all studies, and of groups of both, that are not equal."""
    odd = []
    groups = {_key(block): block for block in second.rates}
    pairs = [("all studies", first.everything, second.everything)]
    for block in first.rates:
        same = groups.get(_key(block))
        if same is not None:
            pairs.append(
                (", ".join(map(group_value, block.group.values())), block, same)
            )
    for group, one, other in pairs:
        odd += [f"{name} of {group}" for name in _differing(one, other)]
    return odd


def _key(block: SummaryBlock) -> tuple[tuple[str, str], ...]:
    return tuple((name, group_value(value)) for name, value in block.group.items())


def _differing(one: SummaryBlock, other: SummaryBlock) -> Iterator[str]:
    for name in _COUNTS:
        if getattr(one, name) != getattr(other, name):
            yield name
    for name, figure in one.statistics.items():
        same = other.statistics.get(name)
        if same is None or not _are_equal(figure.plain(), same.plain()):
            yield name


def _are_equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(equal(one.get(name), other.get(name)) for name in _NUMBERS)


def equal(one: float | None, other: float | None) -> bool:
    """Return whether two figures are the same, but for how their sums were rounded."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_EQUAL, abs_tol=_EQUAL)
