"""GREEN's counts, stated and not listed: what is read and what can be said of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import EXAMPLES, Invoke

from judge import rubrics
from judge.rubrics.categories import KEYS, LEVELS, error_item
from judge.rubrics.derived import restrict
from judge.running.folder import RunFolder
from judge.types import Annotation, Item, Study, UnparsedError

COUNTS, GREEN = rubrics.load("counts"), rubrics.load("green")
STUDY = Study("s", "Clear.", "Effusion.")
FILES = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")

twelve = st.fixed_dictionaries(dict.fromkeys(KEYS, st.integers(0, 9999)))


@given(twelve)
def test_what_is_written_is_read_back_and_sums_up(counts: dict[str, int]) -> None:
    annotation = Annotation(stated_counts=counts)
    assert COUNTS.parse(COUNTS.render(annotation), STUDY) == annotation
    measures = COUNTS.measured(annotation, STUDY)
    for level in LEVELS:
        of_level = [n for name, n in counts.items() if name.startswith(f"{level}_")]
        assert measures[f"n_{level}"] == sum(of_level)
    assert measures["n_errors"] == sum(counts.values())


@given(
    twelve,
    st.sampled_from(KEYS),
    st.sampled_from([-1, 0.5, 10_000, None, True, "2.5", "-1"]),
)
def test_one_count_that_is_none_spoils_the_answer(
    counts: dict[str, int], name: str, bad: object
) -> None:
    reply = json.loads(COUNTS.render(Annotation(stated_counts=counts)))
    level, category = name.rsplit("_", 1)
    reply[level][category] = bad
    with pytest.raises(UnparsedError, match="unexpected form"):
        COUNTS.parse(json.dumps(reply), STUDY)
    del reply[level][category]
    with pytest.raises(UnparsedError, match="missing field"):
        COUNTS.parse(json.dumps(reply), STUDY)


@pytest.mark.parametrize(
    "annotation",
    [
        Annotation(),
        Annotation(stated_counts=dict.fromkeys(KEYS, 0), explanation="Why."),
        Annotation((Item("error", "x"),), stated_counts=dict.fromkeys(KEYS, 0)),
        Annotation(stated_counts=dict.fromkeys((*KEYS, "matched"), 0)),
    ],
)
def test_what_no_reply_expresses_is_not_written(annotation: Annotation) -> None:
    with pytest.raises(ValueError, match="twelve counts and nothing beside"):
        COUNTS.render(annotation)


def test_the_built_in_judge_counts_as_it_does_for_green(
    invoke: Invoke, tmp_path: Path
) -> None:
    for name in ("counts", "green"):
        done = invoke(name, *FILES, "--out", tmp_path / name)
        assert done.exit_code == 0, done.stderr
    ours, theirs = (
        RunFolder.open(tmp_path / name).table() for name in ("counts", "green")
    )
    names = [*KEYS, "n_significant", "n_insignificant"]
    assert ours[names].equals(theirs[names])
    assert ours["n_errors"].sum() > 10
    found = [
        RunFolder.open(tmp_path / name).summary().statistics
        for name in ("counts", "green")
    ]
    assert found[0].keys() < found[1].keys()
    assert all(found[0][name] == found[1][name] for name in found[0])


def test_a_reader_lists_what_a_judge_counts() -> None:
    reader = restrict(COUNTS, {})
    assert reader.graded
    assert not COUNTS.graded
    items = (
        error_item("a", "significance", "significant", "no effusion"),
        error_item("bd", "significance", "insignificant", "scar"),
    )
    measures = reader.measured(Annotation(items), STUDY)
    stated = {name: n for name, n in measures.items() if n}
    assert stated == {
        **dict.fromkeys(("significant_a", "insignificant_b", "insignificant_d"), 1),
        **dict.fromkeys(("n_significant", "n_insignificant"), 1),
        "n_errors": 2,
    }
    # Who was not asked for insignificant errors has not found none.
    part = restrict(COUNTS, {"insignificant": "not asked for"})
    measures = part.measured(Annotation(items[:1]), STUDY)
    assert (measures["n_significant"], measures["n_errors"]) == (1, None)
