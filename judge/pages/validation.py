"""The page of judges beside readers: its tables, and the studies behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from judge.pages.bundle import PACKET, as_json, page_file
from judge.pages.models import Fact, PrintedTable, list_column
from judge.pages.numbers import value_column
from judge.pages.screens import rater_pieces
from judge.pages.study import findings
from judge.pages.validation_models import (
    JudgeCounts,
    QuantityCounts,
    RaterFindings,
    ShownQuantity,
    ShownRater,
    ValidatedPacket,
    ValidatedStudies,
    ValidatedStudy,
    ValidationOverview,
)
from judge.stats.agreement import mean_of
from judge.stats.intervals import Values
from judge.tables.validation import validation_document
from judge.text import (
    capital,
    group_value,
    number,
    with_minus_signs,
    without_surrogates,
)

if TYPE_CHECKING:
    from judge.validating.raters import RatedStudies, Rater

_TITLE = "Judges and readers"
_OPEN_TABLES = 2
_ORDERED = "largest differences of judge and readers first"
_MEAN = "mean of the readers"
_DIFFERENCE = "judge minus readers"


def validation_page(data: Mapping[str, Any], studies: RatedStudies) -> Iterator[str]:
    """Yield the page of `data`, as `judge validate --format json` has it, as one file."""
    pieces = chain(_pieces(data, studies), rater_pieces(studies))
    return page_file("validation", _TITLE, pieces)


def _pieces(
    data: Mapping[str, Any], studies: RatedStudies
) -> Iterator[tuple[str, bytes]]:
    quantities = {row["quantity"]: row["label"] for row in data["limits"]}
    yield "overview", as_json(_overview(data, studies, quantities))
    classes = [group_value(name) for name in studies.study_classes]
    listed = ValidatedStudies(
        study_id=list(studies.study_ids),
        study_class=list_column("class", "class", classes, kind="class"),
        packet=PACKET,
    )
    yield "studies", as_json(listed)
    for place, name in enumerate(quantities):
        yield f"counts-{place}", as_json(_counts(studies, studies.values[name]))
    records = studies.records(set(studies.study_ids))
    for place, start in enumerate(range(0, len(studies.study_ids), PACKET)):
        shown = []
        for study_id in studies.study_ids[start : start + PACKET]:
            shown.append(_study(studies, records, study_id))
        yield f"packet-{place}", as_json(ValidatedPacket(studies=shown))


def _overview(
    data: Mapping[str, Any], studies: RatedStudies, quantities: Mapping[str, str]
) -> ValidationOverview:
    document = validation_document(data)
    facts = []
    for name, value in document.head:
        facts.append(Fact(name=name, value=without_surrogates(value)))
    tables = [PrintedTable.of(table) for table in document.tables]
    shown = []
    for name, label in quantities.items():
        shown.append(ShownQuantity(name=name, label=label, title=capital(label)))
    return ValidationOverview(
        title=_TITLE,
        notes=[],
        signature=data["signature"],
        facts=facts,
        tables=tables[:_OPEN_TABLES],
        more_tables=tables[_OPEN_TABLES:],
        raters=[_rater(rater) for rater in studies.raters],
        quantities=shown,
        ordered=_ORDERED,
    )


def _rater(rater: Rater) -> ShownRater:
    name = without_surrogates(rater.name)
    if rater.is_reader:
        return ShownRater(
            name=name,
            title=f"{name} (reader)",
            heading=name,
            is_reader=True,
            missing="not read, or not asked for",
        )
    return ShownRater(
        name=name,
        title=f"{name} (judge)",
        heading=f"judge: {name}",
        is_reader=False,
        missing="not scored",
    )


def _counts(studies: RatedStudies, values: Values) -> QuantityCounts:
    """Return the counts of a quantity; `values` are those of studies by raters."""
    n_judges = len(studies.judges)
    raters = []
    for column, rater in enumerate(studies.raters):
        shown = _rater(rater)
        name = f"reader {rater.name}"
        if not rater.is_reader:
            name = "count"
        raters.append(value_column(name, shown.heading, values[:, column], _count))
    mean = mean_of(values[:, n_judges:])
    judges = []
    for column in range(n_judges):
        difference = values[:, column] - mean
        # A study without a difference comes last; ties stay in the order of the studies.
        size = np.nan_to_num(np.abs(difference), nan=-1.0)
        counts = JudgeCounts(
            difference=value_column("difference", _DIFFERENCE, difference, _count),
            order=np.argsort(-size, kind="stable").tolist(),
        )
        judges.append(counts)
    return QuantityCounts(
        raters=raters,
        mean=value_column("mean", _MEAN, mean, _count),
        judges=judges,
    )


def _count(value: float) -> str:
    """Return a count, or a mean or difference of counts, as it is printed."""
    digits = 2
    if value.is_integer():
        digits = 0
    return with_minus_signs(number(value, digits))


def _study(
    studies: RatedStudies,
    records: list[dict[str, dict[str, Any]]],
    study_id: str,
) -> ValidatedStudy:
    shown = []
    for place, (rater, by_id) in enumerate(zip(studies.raters, records, strict=True)):
        if study_id in by_id:
            found = findings(by_id[study_id], rater.run.rubric)
            shown.append(RaterFindings(rater=place, findings=found))
    return ValidatedStudy(raters=shown)
