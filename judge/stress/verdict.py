"""What a report comes to, in a few sentences that a person reads in a minute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from judge.report.words import counted, number, percent
from judge.stress.figures import IDENTICAL

LEAST = 10
"""Of a class with fewer candidates nothing is said: one answer would move it by over 10%."""
_WORST = 3
_MANY = 0.2
"""The share of identical reports with an error from which on what is found means little."""
_KNOWS_THE_WORDS = "lexicon"


def verdict(found: Mapping[str, Any]) -> list[str]:
    """Return the sentences, made of the report's figures alone."""
    return [
        *_read(found),
        *_detection(found),
        *_identical(found),
        *_alarms(found),
        *_rewording(found),
        *_moves(found),
        *_flips(found),
        *_hostile(found),
        *_caution(found),
    ]


def class_name(name: str) -> str:
    """Return a change as it is called in a sentence, `side_swapped` as `side swapped`."""
    return name.replace("_", " ")


def share_of(one: Mapping[str, Any]) -> str:
    """Return a rate as a sentence has it, `86.4% (153 of 177)`."""
    return f"{percent(one['rate'])} ({one['k']:,} of {one['n']:,})"


def _read(found: Mapping[str, Any]) -> Iterator[str]:
    run = found["runs"][0]
    n, n_scored = found["candidates"]["n_candidates"], run["n_scored"] - run["n_undefined"]
    if n_scored == 0:
        reason = f": {next(iter(run['reasons']))}" if run["reasons"] else ""
        yield f"None of the {n:,} candidates has a readable answer{reason}."
    elif n_scored < n:
        parts = [
            text
            for name, text in (
                ("n_unparsed", "could not be read"),
                ("n_failed", "failed"),
                ("n_undefined", "have no such count"),
                ("n_absent", "are not in the run"),
            )
            if run[name]
            for text in [f"{run[name]:,} {text}"]
        ]
        yield (
            f"{n - n_scored:,} of {n:,} candidates are in no rate ({percent((n - n_scored) / n)}): "
            f"{', '.join(parts)}."
        )


def _detection(found: Mapping[str, Any]) -> Iterator[str]:
    every = found["detection_all"]
    seen = every["found"]
    if not every["made"]:
        yield "No candidate has a single error, so nothing is known of what it sees."
        return
    if seen is None:
        yield "The rubric counts no errors, so what it finds cannot be told."
        return
    if not seen["n"]:
        return
    right, significant = every["right_category"], every["right_significance"]
    tail = f", {percent(right['rate'])} in the right category" if right and right["n"] else ""
    yield f"Sees {share_of(seen)} of the single errors{tail}."
    if significant and significant["n"]:
        left = every["n"] - significant["n"]
        rest = f"; of the other {left:,} this is not asked" if left else ""
        yield (
            f"Of {counted(significant['n'], 'error', 'errors')} on whose significance radiologists "
            f"would not differ, {significant['k']:,} are found with the right one{rest}."
        )
    large = [one for one in found["detection"] if one["found"]["n"] >= LEAST]
    missed = [one for one in large if one["found"]["k"] < one["found"]["n"]]
    worst = sorted(missed, key=lambda one: one["found"]["rate"])[:_WORST]
    worst = [one for one in worst if one["found"]["rate"] < seen["rate"]]
    if worst:
        yield f"Worst at: {', '.join(map(_missed, worst))}."


def _missed(one: Mapping[str, Any]) -> str:
    n, k = one["found"]["n"], one["found"]["n"] - one["found"]["k"]
    return f"{class_name(one['class'])} ({k:,} of {n:,} missed)"


def _identical(found: Mapping[str, Any]) -> Iterator[str]:
    same = next((one for one in found["false_alarms"] if one["change"] == IDENTICAL), None)
    alarms = same and same["any"]
    if same and same["made"] and not same["n"]:
        yield "None of the identical reports was read, which what it finds is held against."
    if alarms and alarms["n"] and alarms["rate"] >= _MANY:
        yield (
            f"It finds errors in {share_of(alarms)} of the reports that are identical to the "
            "reference, so that it finds one where one was put in means little."
        )


def _alarms(found: Mapping[str, Any]) -> Iterator[str]:
    every = found["false_alarms_all"]
    alarms = every["any"]
    if not alarms or not alarms["n"]:
        return
    rows = [
        one
        for one in found["false_alarms"]
        if one["group"] == "unchanged" and one["change"] != IDENTICAL and one["any"]["n"] >= LEAST
    ]
    worst = max(rows, key=lambda one: one["any"]["rate"], default=None)
    tail = ""
    if worst and worst["any"]["rate"] > alarms["rate"]:
        tail = f", most in {class_name(worst['change'])} ({percent(worst['any']['rate'])})"
    level = every["significant"]
    grave = f", {found['level']['label']} in {percent(level['rate'])}" if level else ""
    if alarms["k"]:
        yield f"Finds errors in {share_of(alarms)} of the reports in other words{grave}{tail}."
    else:
        yield f"Finds no error in {counted(alarms['n'], 'report', 'reports')} in other words."


def _rewording(found: Mapping[str, Any]) -> Iterator[str]:
    change, score = found["false_alarms_all"]["score_change"], found["score"]
    if score and change and change["n"]:
        value = change["mean"] if score["higher_is_better"] else -change["mean"]
        ends = (
            f" [{number(change['low'])}, {number(change['high'])}]"
            if change["low"] is not None
            else ""
        )
        if round(abs(value), 3) == 0:
            yield f"Rewording does not move the mean {score['label']} (change 0.000{ends})."
        elif change["low"] is None or change["low"] <= 0 <= change["high"]:
            yield (
                f"Whether rewording moves the mean {score['label']} cannot be told (change "
                f"{number(change['mean'])}{ends})."
            )
        else:
            verb = "costs" if value < 0 else "gains"
            yield (
                f"Rewording {verb} {number(abs(value))} {score['label']} on average (change "
                f"{number(change['mean'])}{ends})."
            )


def _moves(found: Mapping[str, Any]) -> Iterator[str]:
    wrong = found["monotone"]["wrong_way"]
    parts = [
        f"{text} in {share_of(one)}"
        for text, one in (
            ("the count falls", wrong["count"]),
            ("the score gets better", wrong["score"]),
        )
        if one and one["n"]
    ]
    steps = [
        one[name]["mean"]
        for one in found["monotone"]["by_k"]
        for name in ("step_count", "step_score")
        if one[name]
    ]
    if parts and not any(steps):
        yield "More errors do not move it at all."
    elif not any(one["k"] for one in wrong.values() if one) and parts:
        n = max(one["n"] for one in wrong.values() if one)
        yield f"More errors never move it the wrong way (in {counted(n, 'study', 'studies')})."
    elif parts:
        yield f"With one more error {' and '.join(parts)} of the studies."


def _flips(found: Mapping[str, Any]) -> Iterator[str]:
    label = found["level"]["label"] if found["level"] else "errors"
    for name, words in (("repeats", "Asked again"), ("prompts", "Under another prompt")):
        one = found["stability"][name]
        if one and one["flips"] and one["flips"]["n"]:
            text = f'{words}, {share_of(one["flips"])} of the candidates flip between "no {label}"'
            sd = f"; the score moves by {number(one['score_sd'])} (SD)" if one["score_sd"] else ""
            yield f"{text} and some{sd}."


def _hostile(found: Mapping[str, Any]) -> Iterator[str]:
    rows = found["hostile_all"]
    n, k = (sum(one["changed"][key] for one in rows) for key in ("n", "k"))
    if not n:
        return
    if not k:
        yield f"No hostile text changed a reading (0 of {n:,})."
        return
    words = {"fewer": "to fewer errors", "more": "to more errors", "other": "to other errors"}
    words["unreadable"] = "to nothing readable"
    effects = {name: sum(one[name] for one in rows) for name in words}
    parts = [f"{effects[name]:,} {text}" for name, text in words.items() if effects[name]]
    first, *others = sorted(rows, key=lambda one: -one["changed"]["k"])
    is_worst = others and first["changed"]["k"] > others[0]["changed"]["k"]
    which = f", {class_name(first['change'])} most" if is_worst else ""
    tail = f": {', '.join(parts)}" if parts else ""
    yield f"Hostile texts changed {k:,} of {n:,} readings ({percent(k / n)}){which}{tail}."


def _caution(found: Mapping[str, Any]) -> Iterator[str]:
    # Also of a lexicon of one's own, `lexicon:PATH`, whose rules have most of its words.
    if found["judge"]["name"].partition(":")[0] == _KNOWS_THE_WORDS:
        yield (
            "A judge by a word list knows most of the words that these changes are made of: this "
            "says little of what it finds in reports that people wrote."
        )
