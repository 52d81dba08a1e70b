"""The judge's precision by the verdicts of readers, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

from judge import rubrics
from judge.service.catalogue import Event, OpenRun, latest
from judge.stats.intervals import wilson


class Reviewed(OpenRun):
    """A run of these reviews and errors."""

    rubric = rubrics.load("green")

    def __init__(self, events: Sequence[Event], errors: Sequence[str]) -> None:
        self._events, self._errors = events, errors

    def reviews(self) -> list[Event]:
        return latest(self._events)

    def errors_of(self, _: str) -> dict:
        return {key: {} for key in self._errors}


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
        Event(f"{reader} {error}", "now", reader, "s", error, verdict, categories=categories)
        for error, (categories, *both) in said.items()
        for reader, verdict in zip(("anna", "bob"), both, strict=True)
        if verdict
    ]
    found = Reviewed(events, [*said][:-1]).reviewed()
    assert (found["n_reviewed_errors"], found["n_studies"]) == (5, 1)
    assert found["readers"] == ["anna", "bob"]
    # e1 is right; of e2 one of two said so, which is not more than half.
    shown = {"all": (1, 5), "a": (1, 2), "b": (0, 3), "c": (0, 1), "d": (0, 0)}
    counts = {row["code"]: (row["k"], row["n"]) for row in found["precision"]}
    assert counts == shown | {"e": (0, 0), "f": (0, 0)}
    row, expected = found["precision"][0], wilson(1, 5)
    assert (row["value"], row["low"], row["high"]) == (expected.value, expected.low, expected.high)
