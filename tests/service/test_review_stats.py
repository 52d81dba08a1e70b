"""The judge's precision by the verdicts of readers, worked out by hand."""

from __future__ import annotations

from judge import rubrics
from judge.service.reviews import measured, new_event
from judge.stats.intervals import wilson


def test_precision_by_hand() -> None:
    said = {  # error: categories, then what anna and bob said
        "e1": (("a",), "right", "right"),
        "e2": (("a", "b"), "right", "wrong"),
        "e3": (("b",), "wrong_severity", None),
        "e4": (("b",), "wrong", "wrong"),
        "e5": (("c",), None, "wrong_severity"),
        "gone": (("c",), "right", None),
    }
    events = [
        new_event(reader, "s", error, verdict, categories=categories)
        for error, (categories, *both) in said.items()
        for reader, verdict in zip(("anna", "bob"), both, strict=True)
        if verdict
    ]
    found = measured(events, lambda _: {*said} - {"gone"}, rubrics.load("green"))
    assert (found["n_reviewed_errors"], found["n_studies"], found["stale"]) == (5, 1, 1)
    assert found["readers"] == ["anna", "bob"]
    # e1 is right; of e2 one of two said so, which is not more than half.
    shown = {"all": (1, 5), "a": (1, 2), "b": (0, 3), "c": (0, 1), "d": (0, 0)}
    counts = {row["code"]: (row["k"], row["n"]) for row in found["precision"]}
    assert counts == shown | {"e": (0, 0), "f": (0, 0)}
    row, expected = found["precision"][0], wilson(1, 5)
    assert (row["value"], row["low"], row["high"]) == (expected.value, expected.low, expected.high)
