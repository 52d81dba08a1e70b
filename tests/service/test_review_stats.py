"""Precision and agreement, against numbers worked out by hand."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.stats.estimate import wilson
from judge.stats.review import VERDICTS, Verdict, fingerprints, kappa, statistics


def test_kappa_of_the_textbook_table() -> None:
    # 45 yes/yes, 15 yes/no, 25 no/yes, 15 no/no: observed 0.6, expected 0.54.
    pairs = [("right", "right")] * 45 + [("right", "wrong")] * 15
    pairs += [("wrong", "right")] * 25 + [("wrong", "wrong")] * 15
    found = kappa(pairs)
    assert found == {"n": 100, "agreed": 60, "kappa": pytest.approx(0.06 / 0.46)}


def test_kappa_of_three_verdicts() -> None:
    # Margins 5 3 2 and 4 4 2: expected 20 + 12 + 4 = 36 of 100; observed 7 of 10.
    pairs = [("right", "right")] * 4 + [("right", "wrong")]
    pairs += [("wrong", "wrong")] * 2 + [("wrong", "wrong_severity")]
    pairs += [("wrong_severity", "wrong"), ("wrong_severity", "wrong_severity")]
    assert kappa(pairs)["kappa"] == pytest.approx((0.7 - 0.36) / (1 - 0.36))


def test_kappa_is_not_a_number_only_where_it_is_not_defined() -> None:
    assert kappa([]) == {"n": 0, "agreed": 0, "kappa": None}
    assert kappa([("right", "right")] * 9)["kappa"] is None
    assert kappa([("right", "wrong")] * 9)["kappa"] == 0.0


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS))))
def test_kappa_stays_in_its_bounds_and_knows_no_first_reader(pairs: list[tuple[str, str]]) -> None:
    found = kappa(pairs)["kappa"]
    assert found == kappa([(other, one) for one, other in pairs])["kappa"]
    assert found is None or -1 <= found <= 1
    if pairs and all(one == other for one, other in pairs):
        assert found in (None, 1)
    if found is not None:  # the definition, with shares
        n = len(pairs)
        observed = sum(one == other for one, other in pairs) / n
        expected = sum(
            sum(one == v for one, _ in pairs) * sum(other == v for _, other in pairs) / n**2
            for v in VERDICTS
        )
        assert found == pytest.approx((observed - expected) / (1 - expected), abs=1e-9)


def verdicts() -> list[Verdict]:
    said = {  # error: categories, then what anna and bob said
        "e1": (("a",), "right", "right"),
        "e2": (("a", "b"), "right", "wrong"),
        "e3": (("b",), "wrong_severity", None),
        "e4": (("b",), "wrong", "wrong"),
        "e5": (("c",), None, "wrong_severity"),
    }
    return [
        Verdict(reader, ("s", error), categories, verdict)
        for error, (categories, *both) in said.items()
        for reader, verdict in zip(("anna", "bob"), both, strict=True)
        if verdict
    ]


def test_precision_by_hand() -> None:
    found = statistics(verdicts(), "abcdef")
    assert (found["n_reviewed_errors"], found["n_studies"]) == (5, 1)
    assert found["readers"] == ["anna", "bob"]

    def counts(name: str) -> dict[str, tuple[int, int]]:
        return {row["code"]: (row["k"], row["n"]) for row in found[name]}

    # e1 is right; of e2 one of two said so, which is not more than half.
    assert counts("precision") == {
        "all": (1, 5),
        "a": (1, 2),
        "b": (0, 3),
        "c": (0, 1),
        "d": (0, 0),
        "e": (0, 0),
        "f": (0, 0),
    }
    # With a wrong severity as a right finding, e3 and e5 are right too.
    assert counts("finding_precision")["all"] == (3, 5)
    assert counts("finding_precision")["b"] == (1, 3)
    row = found["precision"][0]
    expected = wilson(1, 5)
    assert (row["value"], row["low"], row["high"]) == (expected.value, expected.low, expected.high)
    assert found["precision"][4]["value"] is None
    # Both reviewed e1, e2 and e4: they agreed on two.
    (pair,) = found["kappa"]
    assert (pair["readers"], pair["n"], pair["agreed"]) == (["anna", "bob"], 3, 2)
    assert pair["kappa"] == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))


GRADED_BY = {"error": "significance"}


def test_a_fingerprint_changes_with_all_that_an_error_says_and_nothing_else() -> None:
    def error(level: str, letters: str, text: str, edit: object) -> dict[str, object]:
        labels = {"category": [*letters], "significance": [level]}
        return {"kind": "error", "grade": level, "labels": labels, "text": text, "edit": edit}

    edits = (None, {"kind": "delete", "line": 1, "corrected": ""})
    all_of_them = [error(*of) for of in product(("1", "2"), ("a", "ab"), ("x", "y"), edits)]
    names = fingerprints(all_of_them, GRADED_BY)
    assert len(set(names)) == len(names) == 16
    assert fingerprints(all_of_them[::-1], GRADED_BY) == names[::-1]
    assert fingerprints([all_of_them[3]], GRADED_BY) == [names[3]]


def test_a_fingerprint_is_the_one_under_which_errors_were_reviewed_before_there_were_items() -> (
    None
):
    """Made by the release before, of {level, categories, text, edit}: reviews hang on it."""
    edit = {"kind": "change", "line": 1, "corrected": "Heart size is normal."}
    labels = {"category": ["a", "d"], "severity": ["severity3"]}
    said = {"labels": labels, "text": "Too large.", "edit": edit}
    error = {"kind": "error", "grade": "severity3", **said}
    assert fingerprints([error], {"error": "severity"}) == ["84db1594c6f938ce"]


def test_an_error_repeated_word_for_word_has_a_name_of_its_own() -> None:
    error = {"kind": "error", "grade": "1", "labels": {"of": ["1"]}, "text": "x", "edit": None}
    first, second = fingerprints([error, error], {"error": "of"})
    assert second == f"{first}-2"


def test_a_label_that_is_called_as_the_grade_is_part_of_what_an_error_says() -> None:
    def error(site: str) -> dict[str, object]:
        labels = {"site": [site], "weight": ["high"]}
        return {"kind": "error", "grade": "high", "labels": labels, "text": "x", "edit": None}

    names = fingerprints([error("high"), error("low")], {"error": "weight"})
    assert len(set(names)) == 2
    assert "-" not in "".join(names)
