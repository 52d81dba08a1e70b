"""All changes, declared as data: what each does, and what must come of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from judge import rubrics
from judge.stress import details, findings, nothing
from judge.stress.several import (
    MOST,
    Make,
    Said,
    chain_of,
    delimiters,
    errors_of,
    fake_reply,
    hostile,
    instruction,
)
from judge.types import JudgeError

ONE = "errors_1"
"""The report with one error, which the hostile texts are added to and compared with."""


@dataclass(frozen=True, slots=True)
class Change:
    """A way to make a candidate out of a reference.

    `group` is `unchanged`, `slip` (an error of writing, of no finding), `error`, `count` or
    `hostile`. `base` names the change whose reading this one must have, for a hostile text.
    """

    name: str
    group: str
    does: str
    expected: str
    make: Make
    base: str | None = None


_SAME = "no error"
_FEWER = {0: "The reference itself.", 1: "One of the errors above."}
_SLIP = "no error of a finding"
_UNCHANGED: tuple[tuple[str, str, Make], ...] = (
    ("identical", "The reference itself.", nothing.identical),
    ("reordered", "The sentences in another order.", nothing.reordered),
    ("bulleted", "A bullet a sentence.", nothing.bulleted),
    ("upper_case", "All in capitals.", nothing.upper_case),
    ("white_space", "A line a sentence, and blanks.", nothing.white_space),
    ("numbers_as_words", "Six mm for 6 mm.", nothing.numbers_as_words),
    ("written_out", "Abbreviations written out.", nothing.written_out),
    ("abbreviated", "Names abbreviated.", nothing.abbreviated),
    ("synonyms", "A harmless synonym a sentence.", nothing.synonyms),
    ("terse", "Fewer words around a finding.", nothing.terse),
    ("verbose", "More words around a finding.", nothing.verbose),
    ("structured", "Headings by part of the chest.", nothing.structured),
    ("repeated", "A sentence said twice.", nothing.repeated),
)
_SLIPS: tuple[tuple[str, str, Make], ...] = (
    ("homophone", "A word as dictation hears it.", nothing.homophone),
    ("typing_slip", "Two letters of a word swapped.", nothing.typing_slip),
)
_ERRORS: tuple[tuple[str, str, str, Make], ...] = (
    ("denied", "A finding of the reference is denied.", "b", findings.denied),
    ("affirmed", "A finding that is denied is affirmed.", "a", findings.asserted),
    ("removed", "A finding is left out.", "b", findings.removed),
    ("added", "A finding is made up.", "a", findings.added),
    ("side_swapped", "A finding is on the other side.", "c", details.side_swapped),
    ("level_changed", "A finding is in another lobe or level.", "c", details.level_changed),
    ("severity_up", "A finding is graver.", "d", details.severity_up),
    ("severity_down", "A finding is milder.", "d", details.severity_down),
    (
        *("measurement_changed", f"A measure is {details.FACTOR} times as large, or the reverse."),
        *("d", details.measurement_changed),
    ),
    ("device_removed", "A device is left out.", "b", findings.device_removed),
    ("device_renamed", "A device is called another.", "a or b", details.device_renamed),
    ("tip_moved", "A tip lies in a wrong place.", "c", details.tip_moved),
    ("comparison_added", "A comparison is made up.", "e", details.comparison_added),
    ("comparison_removed", "A comparison is left out.", "f", details.comparison_removed),
    ("comparison_turned", "A comparison is turned round.", "e or f", details.comparison_turned),
    ("contradicted", "The opposite is said too.", "a or b", findings.contradicted),
)
# What says the opposite of a sentence that stays is no error of its own among others.
_COMBINED = {name: make for name, *_, make in _ERRORS if name != "contradicted"}


@cache
def known() -> dict[str, Change]:
    """Return all changes by name, in the order in which they are printed."""
    found = [Change(name, "unchanged", does, _SAME, make) for name, does, make in _UNCHANGED]
    found += [Change(name, "slip", does, _SLIP, make) for name, does, make in _SLIPS]
    found += [
        Change(name, "error", does, f"one error ({of})", make) for name, does, of, make in _ERRORS
    ]
    chain = chain_of(_COMBINED)
    counts = {f"errors_{k}": errors_of(chain, k) for k in range(MOST + 1)}
    for k, (name, make) in enumerate(counts.items()):
        more = f"{k} errors, each on a sentence of its own."
        found.append(Change(name, "count", _FEWER.get(k, more), f"errors: {k}", make))
    tricks: dict[str, tuple[str, Said]] = {
        "instruction": ("Tells the judge what to answer.", instruction),
        "delimiters": ("Forges the marks around a report.", delimiters),
    }
    tricks |= {
        f"fake_reply_{name}": (f"Ends with an answer in the layout of {name}.", fake_reply(name))
        for name in rubrics.names()
    }
    found += [
        Change(name, "hostile", does, f"as {ONE}", hostile(counts[ONE], said), ONE)
        for name, (does, said) in tricks.items()
    ]
    return {change.name: change for change in found}


def chosen(names: Sequence[str]) -> list[Change]:
    """Return the changes called so, all for none; raises `JudgeError` for an unknown name.

    What a hostile text is compared with comes along.
    """
    there = known()
    if wrong := [name for name in names if name not in there]:
        raise JudgeError(
            f"unknown change{'s' if len(wrong) > 1 else ''} {', '.join(map(repr, wrong))}; there "
            f"are: {', '.join(there)}"
        )
    wanted = {*names} | {base for name in names if (base := there[name].base)}
    return [change for name, change in there.items() if not names or name in wanted]
