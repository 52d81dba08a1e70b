"""What a rubric declares, and what is refused of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from judge import JudgeError
from judge.rubrics import (
    Counted,
    Facet,
    Kind,
    Label,
    Measure,
    Order,
    Rubric,
    Tally,
)
from judge.rubrics.categories import count_items, count_measures
from judge.stats.statistic import Mean
from judge.types import Annotation, Item, Measures, Study

STUDY = Study("s", "Clear.", "Effusion.")
KIND = Kind("error", "error", "errors", ("site", "weight"), graded_by="weight")
SITE = Facet(
    "site", "site", "sites", (Label("l", "lung"), Label("h", "heart")), has_codes=True
)
WEIGHT = Facet(
    "weight", "weight", "weights", (Label("big", "big", "serious"), Label("small", "s"))
)
SCORE = Measure("score", "score", (-1, 1), role="score", undefined="nothing was said")
COUNTS = count_measures(KIND, WEIGHT, SITE)


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:
    raise NotImplementedError


def measure(annotation: Annotation, _study: Study) -> Measures:
    return {"score": annotation.values.get("score"), **count_items(COUNTS, annotation)}


def mean(name: str, *measures: str, **more: Any) -> Mean:
    scale = more.pop("scale", (-1, 1))
    return Mean(
        name, name, measures=measures, higher_is_better=True, scale=scale, **more
    )


RUBRIC = Rubric(
    name="small",
    version=1,
    title="Small",
    summary="Judge reports by little.",
    prompt="small",
    kinds=(KIND, Kind("note", "note", "notes")),
    facets=(SITE, WEIGHT),
    measures=(SCORE, *COUNTS),
    statistics=(mean("score", "score"),),
    worst=(Order("score", largest_first=False),),
    tally=Tally("Errors", "error", "site", "weight"),
    parse=parse,
    measure=measure,
)


def error(site: tuple[str, ...], weight: str) -> Item:
    return Item("error", "text", {"site": site, "weight": (weight,)})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"statistics": (mean("x", "score", scale=(0, None)),)},
            "'x' on another scale",
        ),
        (
            {"measures": (SCORE, *COUNTS, Measure("n", "n", counts=Counted("fact")))},
            "'fact'",
        ),
        (
            {
                "measures": (
                    SCORE,
                    *COUNTS,
                    Measure("n", "n", counts=Counted("error", {"site": "x"})),
                )
            },
            "site 'x'",
        ),
        ({"measures": (SCORE, SCORE, *COUNTS)}, "twice: score"),
    ],
)
def test_a_declaration_that_does_not_hold_together_is_refused(
    change: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=f"^small.*{says}"):
        replace(RUBRIC, **change)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"more": 1.0}, "differ in more"),
        ({"score": 1.5}, "score cannot be 1.5"),
        ({"score": float("nan")}, "score cannot be nan"),
        ({"n_big": None}, "n_big is None, and is declared never undefined"),
        ({"n_big": 0.5}, "n_big cannot be 0.5"),
    ],
)
def test_numbers_that_were_not_declared_are_refused(
    change: dict[str, Any], says: str
) -> None:
    odd = replace(
        RUBRIC,
        measure=lambda annotation, study: {**measure(annotation, study), **change},
    )
    with pytest.raises(
        JudgeError, match=f"rubric small is wrong, as study '.+' shows: .*{says}; "
    ):
        odd.measured(Annotation(), STUDY)


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (Item("fact", "x"), "has no 'fact'"),
        (
            Item("error", "x", {"site": ("l",), "size": ("1",), "weight": ("big",)}),
            "no 'size' of",
        ),
        (Item("error", "x", {"site": ("z",), "weight": ("big",)}), "no site 'z'"),
        (
            Item("error", "x", {"site": ("l",), "weight": ("big", "small")}),
            "has no weight",
        ),
        (Item("error", "x", {"site": ("l",)}), "has no weight"),
        (Item("note", "x", {"weight": ("big",)}), "no 'weight' of one note"),
    ],
)
def test_an_item_that_was_not_declared_stops_a_run_at_once(
    item: Item, says: str
) -> None:
    odd = replace(
        RUBRIC, measure=lambda _annotation, _study: dict(measure(Annotation(), STUDY))
    )
    with pytest.raises(JudgeError, match=says):
        odd.measured(Annotation((item,)), STUDY)
