"""Precision and agreement, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from judge.stats.intervals import wilson
from judge.stats.review import Verdict, kappa, statistics


def test_kappa_of_tables_worked_out_by_hand() -> None:
    # 45 yes/yes, 15 yes/no, 25 no/yes, 15 no/no: observed 0.6, expected 0.54.
    pairs = [("right", "right")] * 45 + [("right", "wrong")] * 15
    pairs += [("wrong", "right")] * 25 + [("wrong", "wrong")] * 15
    assert kappa(pairs) == {"n": 100, "agreed": 60, "kappa": pytest.approx(0.06 / 0.46)}
    # Margins 5 3 2 and 4 4 2: expected 20 + 12 + 4 = 36 of 100; observed 7 of 10.
    pairs = [("right", "right")] * 4 + [("right", "wrong")]
    pairs += [("wrong", "wrong")] * 2 + [("wrong", "wrong_severity")]
    pairs += [("wrong_severity", "wrong"), ("wrong_severity", "wrong_severity")]
    assert kappa(pairs)["kappa"] == pytest.approx((0.7 - 0.36) / (1 - 0.36))
    assert kappa([]) == {"n": 0, "agreed": 0, "kappa": None}
    assert kappa([("right", "right")] * 9)["kappa"] is None


def test_precision_by_hand() -> None:
    said = {  # error: categories, then what anna and bob said
        "e1": (("a",), "right", "right"),
        "e2": (("a", "b"), "right", "wrong"),
        "e3": (("b",), "wrong_severity", None),
        "e4": (("b",), "wrong", "wrong"),
        "e5": (("c",), None, "wrong_severity"),
    }
    verdicts = [
        Verdict(reader, ("s", error), categories, verdict)
        for error, (categories, *both) in said.items()
        for reader, verdict in zip(("anna", "bob"), both, strict=True)
        if verdict
    ]
    found = statistics(verdicts, "abcdef")
    assert (found["n_reviewed_errors"], found["n_studies"]) == (5, 1)
    assert found["readers"] == ["anna", "bob"]

    def counts(name: str) -> dict[str, tuple[int, int]]:
        return {row["code"]: (row["k"], row["n"]) for row in found[name]}

    # e1 is right; of e2 one of two said so, which is not more than half.
    shown = {"all": (1, 5), "a": (1, 2), "b": (0, 3), "c": (0, 1), "d": (0, 0)}
    assert counts("precision") == shown | {"e": (0, 0), "f": (0, 0)}
    # With a wrong severity as a right finding, e3 and e5 are right too.
    assert counts("finding_precision")["all"] == (3, 5)
    assert counts("finding_precision")["b"] == (1, 3)
    row = found["precision"][0]
    expected = wilson(1, 5)
    assert (row["value"], row["low"], row["high"]) == (expected.value, expected.low, expected.high)
    # Both reviewed e1, e2 and e4: they agreed on two.
    (pair,) = found["kappa"]
    assert (pair["readers"], pair["n"], pair["agreed"]) == (["anna", "bob"], 3, 2)
    assert pair["kappa"] == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))
