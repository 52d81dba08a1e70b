"""What a panel makes of each number, by hand and for every rubric."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panelhelp import judged
from support import EXAMPLES, Invoke, with_rules

from judge import rubrics
from judge.rubrics import Measure, Order, Rubric, Statistic
from judge.rubrics.combining import Combination, Rule, says
from judge.rubrics.facts.measures import Fact, annotated
from judge.running.folder import Run
from judge.stats.reliability import krippendorff
from judge.stats.table import TableBuilder, summarise
from judge.types import Annotated, Annotation, Measures, Side, Study

# Significant errors of three judges: the majority sees none in a and c. GREEN is m / (m + s).
THREE = {
    "one": {"a": (0, 0, 2), "b": (1, 1, 1), "c": (0, 0, 0)},
    "two": {"a": (0, 2, 2), "b": (2, 1, 2), "c": (0, 0, 0)},
    "three": {"a": (1, 1, 2), "b": (0, 1, 1), "c": (0, 0, 0)},
}


def panelled(invoke: Invoke, folder: Path, rule: str, *more: str) -> dict[str, Any]:
    runs = [judged(folder / name, counts, name) for name, counts in THREE.items()]
    out = folder / rule
    done = invoke("panel", *runs, "--rule", rule, "--out", out, "--format", "json", *more)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def column(folder: Path, name: str) -> list[float]:
    found: list[float] = Run(folder).table()[name].tolist()
    return found


def test_the_majority_is_the_middle_judge(invoke: Invoke, tmp_path: Path) -> None:
    summary = panelled(invoke, tmp_path, "majority")
    assert column(tmp_path / "majority", "n_significant") == [0, 1, 0]
    assert column(tmp_path / "majority", "n_insignificant") == [1, 1, 0]
    assert column(tmp_path / "majority", "green") == [1, 0.5, 0]
    rate = summary["statistics"]["no_significant_error"]
    assert (rate["k"], rate["n"]) == (2, 3)
    assert summary["statistics"]["green"]["value"] == pytest.approx(0.5)


def test_the_mean_is_of_counts_scores_and_rates(invoke: Invoke, tmp_path: Path) -> None:
    summary = panelled(invoke, tmp_path, "mean")
    assert column(tmp_path / "mean", "n_significant") == pytest.approx([1 / 3, 1, 0])
    assert column(tmp_path / "mean", "green") == pytest.approx([8 / 9, (0.5 + 0.5 + 1) / 3, 0])
    # The judges' own rates are 2/3, 2/3 and 2/3, study by study 2/3, 1/3 and 1.
    assert summary["statistics"]["no_significant_error"]["value"] == pytest.approx(2 / 3)
    shares = column(tmp_path / "mean", "judges_no_significant_error")
    assert shares == pytest.approx([2 / 3, 1 / 3, 1])


def test_any_takes_the_worst(invoke: Invoke, tmp_path: Path) -> None:
    summary = panelled(invoke, tmp_path, "any")
    assert column(tmp_path / "any", "n_significant") == [1, 2, 0]
    assert column(tmp_path / "any", "green") == pytest.approx([2 / 3, 0.5, 0])
    assert summary["statistics"]["no_significant_error"]["k"] == 1


def test_disagreement_is_a_part_of_the_table_and_of_the_head(
    invoke: Invoke, tmp_path: Path
) -> None:
    summary = panelled(invoke, tmp_path, "majority")
    out = tmp_path / "majority"
    assert column(out, "judges_n") == [3, 3, 3]
    assert column(out, "judges_no_significant_error") == [2, 1, 3]
    assert column(out, "judges_minority") == [1, 1, 0]
    assert column(out, "judges_spread") == pytest.approx([1 / 3, 0.5, 0])
    agree = summary["statistics"]["judges_agree"]
    assert (agree["k"], agree["n"]) == (1, 3)
    # Observed 4/9, expected 36/72: 1 - 8/9.
    (rate, score) = Run(out).manifest["combined"]["agreement"]
    assert (rate["level"], score["level"]) == ("nominal", "interval")
    assert rate["value"] == pytest.approx(1 / 9)
    (note,) = [text for text in summary["notes"] if "Krippendorff" in text]
    assert "no significant error 0.111" in note


def test_of_an_even_number_a_tie_is_an_error(invoke: Invoke, tmp_path: Path) -> None:
    runs = [judged(tmp_path / name, THREE[name], name) for name in ("one", "three")]
    done = invoke("panel", *runs, "--rule", "majority", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert column(tmp_path / "out", "n_significant") == [1, 1, 0]
    assert column(tmp_path / "out", "green") == pytest.approx([2 / 3, 0.5, 0])


def test_krippendorff_is_that_of_the_published_example() -> None:
    """Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability": four observers, gaps."""
    x = np.nan
    given = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, x, x, x],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, x, 3],
            [x, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, x],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, x],
        ]
    ).T
    assert krippendorff(given).value == pytest.approx(0.849, abs=5e-4)
    assert krippendorff(given + 1e6).value == pytest.approx(0.849, abs=5e-4)
    binary = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], float).T
    found = krippendorff(binary)
    assert found.value == pytest.approx(0.095, abs=5e-4)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.095 < found.high


@pytest.mark.parametrize("alike", [0.0, 1.0, 0.1, 1e6])
def test_there_is_no_agreement_where_nothing_differs(alike: float) -> None:
    found = krippendorff(np.full((8, 3), alike))
    assert (found.value, found.reason) == (None, "all values are the same")
    assert krippendorff(np.array([[1.0, np.nan], [np.nan, 0.0]])).value is None


@pytest.mark.parametrize("rule", get_args(Rule))
@pytest.mark.parametrize("name", with_rules())
def test_a_panel_of_one_judge_thrice_is_that_judge(
    name: str, rule: Rule, invoke: Invoke, tmp_path: Path
) -> None:
    rubric = rubrics.load(name)
    how = Combination("judge", rule, ("one", "two", "three"))
    together = how.rubric(rubric)
    out = tmp_path / "run"
    done = invoke(name, EXAMPLES / "preds.json", EXAMPLES / "refs.json", "--out", out)
    assert done.exit_code == 0, done.stderr
    table = TableBuilder(together, [])
    for study, outcome in Run(out).outcomes():
        assert isinstance(outcome, Annotated)
        own = rubric.measured(outcome.annotation, study)
        found = how.measures(rubric, [own] * 3)
        assert {one.name: found[one.name] for one in rubric.measures} == pytest.approx(dict(own))
        said = how.annotation(rubric, list(enumerate([outcome.annotation] * 3)))
        assert len(said.items) == 3 * len(outcome.annotation.items)
        if rule != "best":
            assert not any(together.item_fault(item.kind, item.labels) for item in said.items)
        for one in together.measures:
            value = found[one.name]
            assert value is not None or one.undefined is not None
            assert value is None or one.has(value), one.name
        table.add(study, Annotated(said), found)
    now = summarise(table.build(), together)["statistics"]
    for one in rubric.statistics:
        then = Run(out).summary()["statistics"][one.name]["value"]
        assert now[one.name]["value"] == pytest.approx(then), one.name
    assert now.get("judges_agree", {"value": 1})["value"] == 1


def two_levels() -> Rubric:
    """A rubric with a rate that needs two measures to be 0, and one of what is missing."""

    def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:
        raise NotImplementedError

    def measure(annotation: Annotation, study: Study) -> Measures:
        raise NotImplementedError

    return Rubric(
        *("two", 1, "Two", "Two levels.", "two"),
        parse=parse,
        measure=measure,
        measures=(
            Measure("major", "major", is_whole=True),
            Measure("minor", "minor", is_whole=True),
            Measure("share", "share", (0, 1), higher_is_better=True, undefined="no finding"),
        ),
        statistics=(
            Statistic("clean", "clean", "rate", ("major", "minor"), higher_is_better=True),
            Statistic("none", "none found", "rate", ("share",), higher_is_better=False),
        ),
        worst=(Order("major", largest_first=True),),
    )


def test_a_rate_of_two_measures_is_by_majority_too() -> None:
    """Each measure is 0 for two of three judges, and no judge but one has both at 0."""
    rubric = two_levels()
    how = Combination("judge", "majority", ("x", "y", "z"))
    given = [
        {"major": 0, "minor": 1, "share": 0.5},
        {"major": 1, "minor": 0, "share": None},
        {"major": 0, "minor": 0, "share": 0.0},
    ]
    assert says(rubric.statistics[0], given) == [False, False, True]
    found = how.measures(rubric, given)
    assert (found["major"], found["minor"]) == (0, 0)
    assert found["judges_clean"] == 1
    table = TableBuilder(how.rubric(rubric), [])
    table.add(Study("s", "r", "c"), Annotated(Annotation()), found)
    statistics = summarise(table.build(), how.rubric(rubric), ["study_id"])["statistics"]
    assert statistics["clean"]["k"] == 0
    # Of two shares the worse one is the middle; "none found" is worse, so that a tie is one.
    assert (found["share"], statistics["none"]["k"]) == (0.0, 1)


def of_facts(reference: tuple[int, int], candidate: tuple[int, int, int]) -> Measures:
    """What a judge says of a study with so many facts entailed, contradicted and all in all."""
    given: dict[Side, list[Fact]] = {}
    for side, (entailed, contradicted, n) in (
        ("reference", (reference[0], 0, reference[1])),
        ("candidate", candidate),
    ):
        verdicts = ["entailed"] * entailed + ["contradicted"] * contradicted
        verdicts += ["not_mentioned"] * (n - len(verdicts))
        given[side] = [Fact(f"finding {at}", one) for at, one in enumerate(verdicts)]
    return rubrics.load("facts").measured(annotated(given), Study("s", "r", "c"))


def of_set(how: Combination, *studies: list[Measures]) -> dict[str, Any]:
    """The statistics of the set whose studies the judges say this of."""
    rubric = rubrics.load("facts")
    together = how.rubric(rubric)
    table = TableBuilder(together, [])
    for at, said in enumerate(studies):
        numbers = how.measures(rubric, said)
        table.add(Study(str(at), "r", "c"), Annotated(Annotation()), numbers)
    found = summarise(table.build(), together, ["study_id"])["statistics"]
    return {name: one["value"] for name, one in found.items()}


def test_a_ratio_takes_both_of_its_sums_from_one_judge() -> None:
    """By each number alone the smallest 0 and the largest 20 and 10 would be 0 and 1/2."""
    one, two = of_facts((3, 4), (10, 10, 20)), of_facts((3, 4), (0, 5, 5))
    worst = of_set(Combination("judge", "any", ("a", "b")), [one, two])
    assert (worst["micro_precision"], worst["contradicted"]) == (0, 1)
    third = of_facts((1, 1), (3, 1, 4))
    for order in ([one, two, third], [third, two, one]):
        middle = of_set(Combination("judge", "majority", ("a", "b", "c")), order)
        assert (middle["micro_precision"], middle["contradicted"]) == (1 / 2, 1 / 2)
        assert middle["micro_recall"] == 3 / 4
    tie = of_set(Combination("judge", "majority", ("a", "b")), [one, two])
    assert (tie["micro_precision"], tie["contradicted"]) == (0, 1)
    mean = of_set(Combination("judge", "mean", ("a", "b")), [one, two])
    assert mean["micro_precision"] == pytest.approx(5 / 12.5)


@pytest.mark.parametrize("rule", ["any", "majority"])
def test_a_judge_with_nothing_to_divide_by_is_left_out_of_a_ratio(rule: Rule) -> None:
    empty, one = of_facts((0, 0), (0, 0, 0)), of_facts((0, 2), (3, 1, 4))
    how = Combination("judge", rule, ("a", "b"))
    assert of_set(how, [empty, one])["micro_precision"] == 3 / 4
    found = how.measures(rubrics.load("facts"), [empty, empty])
    assert found["judges_micro_precision_over"] is found["judges_micro_precision_per"] is None
    assert of_set(how, [empty, one], [empty, empty])["micro_precision"] == 3 / 4
    assert of_set(how, [empty, empty])["micro_precision"] is None


COUNTS = st.tuples(*[st.integers(0, 6)] * 5).map(
    lambda n: of_facts((n[0], n[0] + n[1]), (n[2], n[3], n[2] + n[3] + n[4]))
)


@settings(max_examples=40, deadline=None)
@given(st.lists(COUNTS, min_size=1, max_size=5), st.sampled_from(["any", "majority"]))
def test_one_judge_thrice_has_that_judges_ratios(said: list[Measures], rule: Rule) -> None:
    found = of_set(Combination("judge", rule, ("a", "b", "c")), *([one] * 3 for one in said))
    for one in rubrics.load("facts").statistics:
        if one.kind == "ratio":
            over, per = (sum(m[name] for m in said) for (name,) in (one.measures, one.per))
            assert found[one.name] == (pytest.approx(over / per) if per else None)


def test_the_worst_of_the_good_is_the_smallest() -> None:
    """Of the facts that are entailed, and the findings that match."""
    for name, good in (
        ("facts", ("n_candidate_entailed", "n_reference_entailed", "n_entailed")),
        ("crimson", ("n_matches",)),
    ):
        rubric = rubrics.load(name)
        given = [{one.name: number for one in rubric.measures} for number in (1.0, 0.0)]
        found = Combination("judge", "any", ("a", "b")).measures(rubric, given)
        assert [found[one] for one in good] == [0] * len(good)
        assert found["n_contradicted" if name == "facts" else "n_reference_findings"] == 1


def test_what_a_report_says_has_no_judges_name_in_it() -> None:
    rubric = rubrics.load("facts")
    fact = Fact("no mass", "entailed", ("No mass",))
    said = annotated({"reference": [fact], "candidate": []})
    both = Combination("judge", "any", ("a", "b")).annotation(rubric, [(0, said), (1, said)])
    assert [item.text for item in both.of_kind("evidence")] == ["No mass", "No mass"]
    assert [both.items[item.links[0]].text for item in both.of_kind("fact")] == ["No mass"] * 2


def test_a_number_that_no_judge_has_stays_undefined() -> None:
    how = Combination("judge", "mean", ("x", "y"))
    found = how.measures(two_levels(), [{"major": 1, "minor": 0, "share": None}] * 2)
    assert (found["share"], found["judges_none"]) == (None, None)
    assert found["major"] == 1


def test_the_best_part_has_the_best_score_then_the_fewest_errors() -> None:
    rubric = rubrics.load("green")
    how = Combination("reference", "best", ("x", "y", "z"))
    names = {one.name: 0.0 for one in rubric.measures}
    given = [
        {**names, "green": 0.5, "n_significant": 1, "n_matched": 1},
        {**names, "green": 0.8, "n_significant": 2, "n_matched": 8},
        {**names, "green": 0.8, "n_significant": 1, "n_matched": 4},
    ]
    assert how.picked(rubric, given) == 2
    found = how.measures(rubric, given)
    assert (found["green"], found["n_significant"], found["n_matched"]) == (0.8, 1, 4)
    assert found["references_spread"] == pytest.approx(0.3)


def test_one_part_alone_neither_agrees_nor_disagrees() -> None:
    rubric = rubrics.load("green")
    how = Combination("reference", "mean", ("x", "y"))
    one = {**{one.name: 0.0 for one in rubric.measures}, "green": 0.5}
    alone, both = how.measures(rubric, [one]), how.measures(rubric, [one, one])
    assert (alone["references_spread"], alone["references_minority"]) == (None, None)
    assert (both["references_spread"], both["references_minority"]) == (0, 0)
    declared = {measure.name: measure for measure in how.rubric(rubric).measures}
    assert declared["references_spread"].undefined == "fewer than two references have it"
