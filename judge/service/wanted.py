"""What a reader can ask for of a run's studies."""

from __future__ import annotations

from dataclasses import dataclass

WORST = "worst"


@dataclass(frozen=True, slots=True)
class Query:
    """What a reader asks for; None, "" and () stand for no condition.

    `study_class` "" asks for the studies without one. `equal`, `contains`, `least` and
    `most` hold pairs of a column and a value; `reviewed` the ids of the studies that have a
    review and whether they are wanted. Studies without a value in the sorted column come
    last.
    """

    sort: str = WORST
    descending: bool = False
    text: str = ""
    study_class: str | None = None
    outcome: str | None = None
    category: str | None = None
    level: str | None = None
    equal: tuple[tuple[str, str], ...] = ()
    contains: tuple[tuple[str, str], ...] = ()
    least: tuple[tuple[str, float], ...] = ()
    most: tuple[tuple[str, float], ...] = ()
    reviewed: tuple[frozenset[str], bool] | None = None
