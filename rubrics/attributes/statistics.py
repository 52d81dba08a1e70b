"""The numbers of a set of studies: how much is found, and how much of it is told right."""

from __future__ import annotations

from functools import partial

from judge.rubrics.attributes.declared import (
    ADDED,
    ATTRIBUTES,
    CERTAINTY,
    OMITTED,
    RIGHT,
)
from judge.rubrics.categories import ERRORS, INSIGNIFICANT, SIGNIFICANT, none_of
from judge.stats.statistic import EVERYWHERE, Ratio, Statistic


def _major(*attributes: str) -> tuple[str, ...]:
    return tuple(f"{SIGNIFICANT}_{attribute}" for attribute in attributes)


def _wrong(*attributes: str) -> tuple[str, ...]:
    minor = tuple(f"{INSIGNIFICANT}_{attribute}" for attribute in attributes)
    return (*_major(*attributes), *minor)


def _counting(verdict: str, *attributes: str) -> tuple[str, ...]:
    return tuple(f"{attribute}_{verdict}" for attribute in attributes)


def _in_both(*attributes: str) -> tuple[str, ...]:
    """Return the measures whose sum counts where both reports state these attributes."""
    return (*_counting(RIGHT, *attributes), *_wrong(*attributes))


_NOT_BY_GROUP = EVERYWHERE - {"groups"}
_ratio = partial(Ratio, scale=(0, 1))
_good = partial(_ratio, higher_is_better=True, shown=EVERYWHERE)
_bad = partial(_ratio, higher_is_better=False)
# A report always says whether it is certain.
_MAY_LACK = tuple(one for one in ATTRIBUTES if one != CERTAINTY)


def _of_attribute(attribute: str) -> tuple[Statistic, ...]:
    """Return how often an attribute is wrong, and how often badly, where both reports state it."""
    return (
        _bad(
            f"wrong_{attribute}",
            f"wrong {attribute}",
            measures=_wrong(attribute),
            per=_in_both(attribute),
            clause=f"the {attribute} was wrong in a share of {{figure}} of the matched findings "
            "for which both reports stated it",
            shown=frozenset({"head"}),
        ),
        _bad(
            f"major_{attribute}",
            f"wrong {attribute} (major)",
            measures=_major(attribute),
            per=_in_both(attribute),
            shown=frozenset(),
        ),
    )


def _of_all_attributes() -> tuple[Statistic, ...]:
    """Return how often the attributes are wrong, badly wrong, left out or added, all together."""
    return (
        _bad(
            "wrong_attributes",
            "wrong attributes",
            measures=_wrong(*ATTRIBUTES),
            per=_in_both(*ATTRIBUTES),
            clause="of the attributes that both reports stated a share of {figure} was wrong",
            shown=EVERYWHERE,
        ),
        _bad(
            "major_attributes",
            "wrong attributes (major)",
            measures=_major(*ATTRIBUTES),
            per=_in_both(*ATTRIBUTES),
            clause="of the attributes that both reports stated a share of {figure} was wrong in a "
            "way that could change care",
            shown=_NOT_BY_GROUP,
        ),
        _bad(
            "omitted_attributes",
            "omitted attributes",
            measures=_counting(OMITTED, *_MAY_LACK),
            per=(*_counting(OMITTED, *_MAY_LACK), *_in_both(*_MAY_LACK)),
            clause="of the attributes that the references stated a share of {figure} was omitted "
            "by the candidates",
            shown=_NOT_BY_GROUP,
        ),
        _bad(
            "added_attributes",
            "added attributes",
            measures=_counting(ADDED, *_MAY_LACK),
            per=(*_counting(ADDED, *_MAY_LACK), *_in_both(*_MAY_LACK)),
            clause="of the attributes that the candidates stated a share of {figure} was not in "
            "the references",
            shown=_NOT_BY_GROUP,
        ),
    )


def _of_each_attribute() -> list[Statistic]:
    statistics: list[Statistic] = []
    for attribute in ATTRIBUTES:
        statistics += _of_attribute(attribute)
    return statistics


STATISTICS: tuple[Statistic, ...] = (
    _good(
        "finding_recall",
        "finding recall",
        measures=("n_reference_matched",),
        per=("n_reference_findings",),
        definition="recall of findings",
        clause="the recall of all findings together was {figure}",
    ),
    _good(
        "finding_precision",
        "finding precision",
        measures=("n_candidate_matched",),
        per=("n_candidate_findings",),
        definition="precision of findings",
        clause="the precision of all findings together was {figure}",
    ),
    _good(
        "right_matches",
        "no wrong attribute",
        measures=("n_right_matches",),
        per=("n_matches",),
        definition="matches without a wrong attribute",
        clause="the share of matches without a wrong attribute was {figure}",
    ),
    *_of_all_attributes(),
    *_of_each_attribute(),
    ERRORS,
    none_of(
        "no_significant_error",
        "no major error",
        measure="n_significant",
        words="major errors",
        shown=("groups", "compare"),
    ),
    _good(
        "urgent_recall",
        "urgent recall",
        measures=("n_urgent_reported",),
        per=("n_urgent_reference",),
        clause="the recall of urgent findings was {figure}",
    ),
    _good(
        "urgent_precision",
        "urgent precision",
        measures=("n_urgent_supported",),
        per=("n_urgent_candidate",),
        clause="the precision of urgent findings was {figure}",
    ),
    none_of(
        "no_missed_urgent",
        "no missed urgent finding",
        measure="n_urgent_missed",
        words="missed urgent findings",
        shown=(),
    ),
)
