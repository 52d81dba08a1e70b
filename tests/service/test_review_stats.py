"""The judge's precision by the verdicts of readers, worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge import rubrics
from judge.service.catalogue import Event, OpenRun, latest
from judge.stats.intervals import wilson


class Reviewed(OpenRun):
    """A run of these reviews and errors, whose studies are independent."""

    rubric = rubrics.load("green")
    units: Mapping[str, int] = {f"s{row}": row for row in range(10)}

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
        Event(
            f"{reader} {error}",
            "now",
            reader,
            f"s{row}",
            error,
            verdict,
            categories=categories,
        )
        for row, (error, (categories, *both)) in enumerate(said.items())
        for reader, verdict in zip(("anna", "bob"), both, strict=True)
        if verdict
    ]
    found = Reviewed(events, [*said][:-1]).reviewed()
    assert (found["n_reviewed_errors"], found["n_studies"]) == (5, 5)
    assert found["readers"] == ["anna", "bob"]
    # e1 is right; of e2 one of two said so, which is not more than half.
    shown = {"all": (1, 5), "a": (1, 2), "b": (0, 3), "c": (0, 1), "d": (0, 0)}
    counts = {row["code"]: (row["k"], row["n"]) for row in found["precision"]}
    assert counts == shown | {"e": (0, 0), "f": (0, 0)}
    row, expected = found["precision"][0], wilson(1, 5)
    assert (row["value"], row["low"], row["high"]) == (
        expected.value,
        expected.low,
        expected.high,
    )


def test_errors_of_one_study_or_patient_are_not_independent() -> None:
    """Forty errors of ten studies, in each all right or all wrong, are worth ten."""
    events = [
        Event(
            f"{row} {n}",
            "now",
            "anna",
            f"s{row}",
            f"e{row}-{n}",
            verdict,
            categories=("a",),
        )
        for row in range(10)
        for n in range(4)
        for verdict in ["wrong" if row < 2 else "right"]
    ]
    errors = [str(event.error) for event in events]
    reviewed = Reviewed(events, errors)
    by_study = reviewed.reviewed()["precision"][0]
    assert (by_study["k"], by_study["n"]) == (32, 40)
    of_errors, of_studies = wilson(32, 40), wilson(8, 10)
    assert by_study["low"] < of_studies.low < of_errors.low
    reviewed.units = {f"s{row}": row // 2 for row in range(10)}
    by_patient = reviewed.reviewed()["precision"][0]
    assert by_patient["low"] < by_study["low"]
    # All right, in three studies: as three of three.
    right = [event for event in events if event.study_id in ("s4", "s5", "s6")]
    reviewed = Reviewed(right, errors)
    row = reviewed.reviewed()["precision"][0]
    assert (row["n"], row["value"], row["high"]) == (12, 1, 1)
    assert row["low"] < 0.2 < wilson(3, 3).low
