"""What a rubric declares, and what is refused of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from judge import JudgeError, rubrics
from judge.rubrics import Counted, Facet, Kind, Label, Measure, Order, Rubric, Statistic, Tally
from judge.rubrics.counting import count_measures, counted
from judge.types import Annotation, Item, Measures, Study

STUDY = Study("s", "Clear.", "Effusion.")
KIND = Kind("error", "error", "errors", ("site", "weight"), graded_by="weight")
SITE = Facet("site", "site", "sites", (Label("l", "lung"), Label("h", "heart")), has_codes=True)
WEIGHT = Facet("weight", "weight", "weights", (Label("big", "big", "serious"), Label("small", "s")))
SCORE = Measure("score", "score", (-1, 1), role="score", undefined="nothing was said")
COUNTS = count_measures(KIND, WEIGHT, SITE)


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:
    raise NotImplementedError


def measure(annotation: Annotation, _study: Study) -> Measures:
    return {"score": annotation.values.get("score"), **counted(annotation, COUNTS)}


def mean(name: str, *measures: str, **more: Any) -> Statistic:
    scale = more.pop("scale", (-1, 1))
    return Statistic(name, name, "mean", measures, higher_is_better=True, scale=scale, **more)


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


@pytest.mark.parametrize("name", rubrics.names())
def test_every_rubric_is_what_its_folder_is_called(name: str) -> None:
    rubric = rubrics.load(name)
    assert rubric.name == name
    assert rubric.summary.endswith(".")
    assert rubric.shown("groups")
    assert rubric.shown("compare")


REFUSED: dict[str, tuple[Mapping[str, Any], str]] = {
    "a statistic of no measure": ({"statistics": (mean("x", "nothing"),)}, "measure 'nothing'"),
    "a denominator that is none": (
        {
            "statistics": (
                Statistic("x", "x", "ratio", ("score",), higher_is_better=True, per=("nothing",)),
            )
        },
        "measure 'nothing'",
    ),
    "sorted by no measure": ({"worst": (Order("nothing", largest_first=True),)}, "'nothing'"),
    "a kind of no facet": ({"kinds": (replace(KIND, facets=("site", "x")),)}, "facet 'x'"),
    "graded by no facet": ({"kinds": (replace(KIND, graded_by="x"),)}, "facet of error 'x'"),
    "graded by another kind's facet": (
        {"kinds": (replace(KIND, facets=("site",)),)},
        "facet of error 'weight'",
    ),
    "a count of no kind": (
        {"measures": (SCORE, *COUNTS, Measure("n", "n", counts=Counted("fact")))},
        "kind 'fact'",
    ),
    "a count by no facet": (
        {"measures": (SCORE, *COUNTS, Measure("n", "n", counts=Counted("error", {"x": "l"})))},
        "facet of error 'x'",
    ),
    "a count of no label": (
        {"measures": (SCORE, *COUNTS, Measure("n", "n", counts=Counted("error", {"site": "x"})))},
        "label of site 'x'",
    ),
    "a count by a facet that the kind has not": (
        {"measures": (SCORE, *COUNTS, Measure("n", "n", counts=Counted("note", {"site": "l"})))},
        "facet of note 'site'",
    ),
    "a tally of no kind": ({"tally": Tally("t", "fact", "site", "weight")}, "kind 'fact'"),
    "a tally by no facet": ({"tally": Tally("t", "error", "x", "weight")}, "facet of error 'x'"),
    "a tally that is not counted": ({"measures": (SCORE, *COUNTS[:-1])}, "not one measure for"),
    "a tally whose last row is not counted": ({"measures": (SCORE, *COUNTS[1:])}, "measure for"),
    "a measure twice": ({"measures": (SCORE, SCORE, *COUNTS)}, "measure 'score' twice"),
    "a statistic twice": ({"statistics": (mean("x", "score"),) * 2}, "statistic 'x' twice"),
    "a kind twice": ({"kinds": (KIND, KIND)}, "kind 'error' twice"),
    "a facet twice": ({"facets": (SITE, WEIGHT, SITE)}, "facet 'site' twice"),
    "a label twice": (
        {"facets": (replace(SITE, labels=SITE.labels * 2), WEIGHT)},
        "label of site 'l' twice",
    ),
    "a baseline without a way to write it": (
        {"baseline": lambda _comparison, _study: Annotation()},
        "cannot render",
    ),
    "a mean on less of a scale than its measure": (
        {"statistics": (mean("x", "score", scale=(0, None)),)},
        r"mean 'x' on the scale \(0, None\), and its measure on \(-1, 1\)",
    ),
    "a mean on more of a scale than its measure": (
        {"statistics": (mean("x", "score", scale=(-1, None)),)},
        r"give the statistic scale=\(-1, 1\)",
    ),
    "a statistic of nothing": ({"statistics": (mean("x"),)}, "x"),
    "a ratio by nothing": (
        {"statistics": (Statistic("x", "x", "ratio", ("score",), higher_is_better=True),)},
        "x",
    ),
    "a mean by something": ({"statistics": (mean("x", "score", per=("score",)),)}, "x"),
    "the reciprocal of a ratio": (
        {
            "statistics": (
                Statistic(
                    *("x", "x", "ratio", ("score",)),
                    higher_is_better=True,
                    per=("n_big",),
                    is_reciprocal=True,
                ),
            )
        },
        "x",
    ),
}


@pytest.mark.parametrize(("change", "says"), REFUSED.values(), ids=REFUSED)
def test_a_declaration_that_does_not_hold_together_is_refused(
    change: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match=f"^small .*{says}"):
        replace(RUBRIC, **change)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"more": 1.0}, "gives more, which its measures do not declare"),
        ({"score": 1.5}, "score cannot be 1.5"),
        ({"score": -1.01}, "score cannot be -1.01"),
        ({"score": float("nan")}, "score cannot be nan"),
        ({"score": float("inf")}, "score cannot be inf"),
        ({"n_big": None}, "n_big is None, and is declared never undefined"),
        ({"n_big": -1}, "n_big cannot be -1"),
        ({"n_big": 0.5}, "n_big cannot be 0.5"),
    ],
)
def test_numbers_that_were_not_declared_are_refused(change: dict[str, Any], says: str) -> None:
    odd = replace(
        RUBRIC, measure=lambda annotation, study: {**measure(annotation, study), **change}
    )
    with pytest.raises(JudgeError, match=f"rubric small is wrong, as study '.+' shows: .*{says}; "):
        odd.measured(Annotation(), STUDY)


@pytest.mark.parametrize(
    ("item", "says"),
    [
        (Item("fact", "x"), "has no 'fact'"),
        (Item("error", "x", {"site": ("l",), "size": ("1",), "weight": ("big",)}), "no 'size' of"),
        (Item("error", "x", {"site": ("z",), "weight": ("big",)}), "no site 'z'"),
        (Item("error", "x", {"site": ("l",), "weight": ("big", "small")}), "has no weight"),
        (Item("error", "x", {"site": ("l",)}), "has no weight"),
        (Item("note", "x", {"weight": ("big",)}), "no 'weight' of one note"),
    ],
)
def test_an_item_that_was_not_declared_stops_a_run_at_once(item: Item, says: str) -> None:
    odd = replace(RUBRIC, measure=lambda _annotation, _study: dict(measure(Annotation(), STUDY)))
    with pytest.raises(JudgeError, match=says):
        odd.measured(Annotation((item,)), STUDY)


def test_a_measure_that_is_not_given_is_refused() -> None:
    odd = replace(RUBRIC, measure=lambda annotation, _: counted(annotation, COUNTS))
    with pytest.raises(JudgeError, match="does not give score"):
        odd.measured(Annotation(), STUDY)


@pytest.mark.parametrize("score", [None, -1, 0.0, 1])
def test_what_was_declared_is_given_as_it_is(score: float | None) -> None:
    annotation = Annotation(values={} if score is None else {"score": score})
    found = RUBRIC.measured(annotation, STUDY)
    assert found["score"] == score
    assert list(found) == [one.name for one in RUBRIC.measures]


def test_items_are_counted_by_what_they_carry() -> None:
    items = (
        error(("l", "h"), "big"),
        error(("l",), "big"),
        error(("h",), "small"),
        Item("note", "text"),
    )
    assert counted(Annotation(items), COUNTS) == {
        "n_big": 2,
        "n_small": 1,
        "big_l": 2,
        "big_h": 1,
        "small_l": 0,
        "small_h": 1,
    }


def names_of(kind: str, **labels: str) -> list[str]:
    return [measure.name for measure in RUBRIC.counting(kind, labels)]


def test_what_counts_the_items_with_some_labels() -> None:
    assert names_of("error", weight="big") == ["n_big"]
    assert names_of("error", weight="big", site="l") == ["big_l"]
    # Nothing counts a site alone: the sum over the weights does.
    assert names_of("error", site="l") == ["big_l", "small_l"]
    assert names_of("error") == ["n_big", "n_small"]
    assert names_of("note") == []
    assert names_of("error", weight="huge") == []


def test_labels_and_grades_are_those_that_were_declared() -> None:
    assert RUBRIC.grade(error(("l",), "big")) == WEIGHT.labels[0]
    assert RUBRIC.grade(error(("l",), "big")).is_grave
    assert (RUBRIC.grades, RUBRIC.codes) == (WEIGHT, SITE)
    assert (SITE.text("l"), WEIGHT.text("small")) == ("(l) lung", "s")
    for wrong in (
        lambda: RUBRIC.grade(Item("note", "text")),
        lambda: RUBRIC.grade(error(("l",), "huge")),
        lambda: RUBRIC.facet("x"),
        lambda: RUBRIC.kind("x"),
        lambda: SITE["x"],
    ):
        with pytest.raises(KeyError):
            wrong()
    with pytest.raises(ValueError, match="values to unpack"):
        error(("l", "h"), "big").label("site")


def test_a_rubric_may_find_nothing_and_score_all_the_same() -> None:
    plain = replace(
        RUBRIC,
        kinds=(),
        facets=(),
        tally=None,
        measures=(SCORE,),
        measure=lambda annotation, _: {"score": annotation.values.get("score")},
    )
    assert (plain.graded, plain.grades, plain.codes) == ((), None, None)
    assert plain.measured(Annotation(), STUDY) == {"score": None}
