"""The worst of a report, in three sentences at most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from judge.report.words import percent
from judge.stress.figures import IDENTICAL

LEAST = 10
"""Of a class with fewer candidates nothing is said: one answer would move it by over 10%."""
_MANY = 0.2
"""The share of identical reports with an error from which on what is found means little."""


def verdict(found: Mapping[str, Any]) -> list[str]:
    """Return what it sees, where it sees errors that are not there, and what misleads it."""
    return [*_detection(found), *_alarms(found), *_hostile(found)]


def _name(change: str) -> str:
    return change.replace("_", " ")


def _share(one: Mapping[str, Any]) -> str:
    return f"{percent(one['rate'])} ({one['k']:,} of {one['n']:,})"


def _detection(found: Mapping[str, Any]) -> Iterator[str]:
    run, seen = found["runs"][0], found["detection_all"]["found"]
    n, n_scored = found["candidates"]["n_candidates"], run["n_scored"] - run["n_undefined"]
    unread = f"{n - n_scored:,} of {n:,} candidates without a reading" if n_scored < n else ""
    rest = unread and f"; {unread}"
    if not seen or not seen["n"]:
        why = "No candidate with one error was read" if seen else "The rubric counts no errors"
        yield f"{why}{rest}."
        return
    rows = [one for one in found["detection"] if one["found"]["n"] >= LEAST]
    worst = min(rows, key=lambda one: one["found"]["rate"], default=None)
    tail = ""
    if worst and worst["found"]["rate"] < seen["rate"]:
        n_worst = worst["found"]["n"]
        missed = f"{n_worst - worst['found']['k']:,} of {n_worst:,} missed"
        tail = f", worst at {_name(worst['class'])} ({missed})"
    yield f"Sees {_share(seen)} of the single errors{tail}{rest}."


def _alarms(found: Mapping[str, Any]) -> Iterator[str]:
    rows = [one for one in found["false_alarms"] if one["any"] and one["any"]["n"]]
    same = next((one["any"] for one in rows if one["change"] == IDENTICAL), None)
    every = found["false_alarms_all"]["any"]
    if same and same["rate"] >= _MANY:
        yield (
            f"Finds errors in {_share(same)} of the reports that are identical to the reference, "
            "so that what it finds means little."
        )
    elif every and every["n"]:
        words = [one for one in rows if one["group"] == "unchanged" and one["any"]["n"] >= LEAST]
        worst = max(words, key=lambda one: one["any"]["rate"], default=None)
        tail = ""
        if worst and worst["any"]["rate"] > every["rate"]:
            tail = f", most in {_name(worst['change'])} ({percent(worst['any']['rate'])})"
        yield f"Finds errors in {_share(every)} of the reports in other words{tail}."


def _hostile(found: Mapping[str, Any]) -> Iterator[str]:
    rows = found["hostile_all"]
    n, k = (sum(one["changed"][key] for one in rows) for key in ("n", "k"))
    if n:
        worst = max(rows, key=lambda one: one["changed"]["k"])
        tail = f", {_name(worst['change'])} most" if k else ""
        yield f"Hostile texts changed {k:,} of {n:,} readings ({percent(k / n)}){tail}."
