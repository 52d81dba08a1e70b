"""What a reading of the candidates comes to: what is found, false alarms, what moves.

A rate is over the candidates that have a readable answer, those without one are counted beside it.
Intervals of rates are Wilson's. A study has one candidate of a change; over several changes its
candidates go together, and the interval is that of as many candidates as they are worth [Kish
1965].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.stats.agreement import clustered_error
from judge.stats.detection import clustered_rate
from judge.stats.panel import ROUNDING, Values
from judge.stress.changes import known
from judge.stress.reading import LOST, Bools, Reading
from judge.stress.truth import NO_BASE, Truth

Rows = NDArray[np.intp]
IDENTICAL = "identical"


def rate(is_yes: Bools, studies: Rows) -> dict[str, Any]:
    """Return how many are, with Wilson's interval; of candidates of one study see above."""
    found = clustered_rate(is_yes, studies)
    return {
        "k": int(found.k or 0),
        "n": found.n,
        "rate": found.value,
        "low": found.low,
        "high": found.high,
    }


def mean(values: Values, studies: Rows) -> dict[str, Any]:
    """Return a mean with its interval by Student's t, whose units are the studies.

    There is no interval for one study, or where all values are alike: that they are is no proof
    that all others would be.
    """
    n = len(values)
    if not n:
        return {"n": 0, "mean": None, "low": None, "high": None}
    value, (error, n_units) = float(values.mean()), clustered_error(values, studies)
    if n_units < 2 or np.ptp(values) <= ROUNDING * max(1.0, float(np.abs(values).max())):
        return {"n": n, "mean": value, "low": None, "high": None}
    from scipy.special import stdtrit

    reach = float(stdtrit(n_units - 1, 0.975)) * error
    return {"n": n, "mean": value, "low": value - reach, "high": value + reach}


def detection(truth: Truth, reading: Reading) -> list[dict[str, Any]]:
    """Return for each class of a single error how many were found, and how they were called.

    Found: the answer has an error. In the right category: it has one in a category that the truth
    gives. With the right significance: one of those is on the truth's side of the rubric's level;
    errors on which radiologists would differ are not in this rate. The last two are None for a
    rubric without the six categories, or without a level.
    """
    made = truth.changes_made
    names = truth.in_group("error")
    names += [
        name
        for name, one in made.items()
        if one.get("group") == "error" and name not in truth.names
    ]
    places = {name: at for at, name in enumerate(known())}
    return [
        {
            "class": name,
            "does": _does(truth, name),
            **_detected(truth, reading, truth.rows_of(name)),
            "not_made": dict(made.get(name, {}).get("not_made", {})),
        }
        for name in sorted(names, key=lambda name: places.get(name, len(places)))
    ]


def detection_all(truth: Truth, reading: Reading) -> dict[str, Any]:
    """Return the same of all classes together."""
    return _detected(truth, reading, truth.rows_of(*truth.in_group("error")))


def _detected(truth: Truth, reading: Reading, rows: Rows) -> dict[str, Any]:
    of = rows[reading.is_read[rows]]
    head = {"n": len(of), "made": len(rows), "lost": reading.lost_of(rows)}
    if reading.errors is None:
        return {**head, "found": None, "right_category": None, "right_significance": None}
    found = {"found": rate(reading.errors[of] > 0, truth.units[of])}
    right = significant = None
    if reading.scale.is_shared:
        right = rate(in_right_category(truth, reading, of), truth.units[of])
        if reading.level is not None:
            sure = of[~truth.is_doubtful[of]]
            significant = rate(on_right_side(truth, reading, sure), truth.units[sure])
    return {**head, **found, "right_category": right, "right_significance": significant}


def in_right_category(truth: Truth, reading: Reading, rows: Rows) -> Bools:
    """Return which candidates have an error in a category that the truth gives."""
    mask = in_truth(truth, reading, rows)
    found: Bools = (reading.categories[:, rows] * mask).sum(axis=0) > 0
    return found


def on_right_side(truth: Truth, reading: Reading, rows: Rows) -> Bools:
    """Return which have one that is on the truth's side of the rubric's level too."""
    mask = in_truth(truth, reading, rows)
    high = (reading.at_level[:, rows] * mask).sum(axis=0)
    low = (reading.categories[:, rows] * mask).sum(axis=0) - high
    found: Bools = np.where(truth.is_significant[rows], high, low) > 0
    return found


def in_truth(truth: Truth, reading: Reading, rows: Rows) -> Bools:
    """Return whether each category of the rubric is one of the truth's, by candidate."""
    names = [name for name, _ in reading.scale.categories]
    found = [[name in truth.categories[row] for row in rows] for name in names]
    return np.array(found, dtype=bool).reshape(len(names), len(rows))


def matrix(truth: Truth, reading: Reading) -> list[dict[str, Any]]:
    """Return for each class how many candidates have an error of each category, and how many none.

    A candidate with errors of two categories is in both.
    """
    if reading.errors is None or not reading.scale.categories:
        return []
    found = []
    for name in truth.in_group("error"):
        rows = truth.rows_of(name)
        of = rows[reading.is_read[rows]]
        counts = (reading.categories[:, of] > 0).sum(axis=1)
        found.append(
            {
                "class": name,
                "n": len(of),
                "categories": {
                    category: int(n)
                    for (category, _), n in zip(reading.scale.categories, counts, strict=True)
                },
                "none": int((reading.errors[of] == 0).sum()),
            }
        )
    return found


def false_alarms(truth: Truth, reading: Reading) -> list[dict[str, Any]]:
    """Return for each change that puts no error in how many were given one, and the score's change.

    That is the score less the one of the identical report of the same study, over the studies that
    have both.
    """
    return [
        {
            "change": name,
            "does": _does(truth, name),
            "group": group,
            **_alarms(truth, reading, truth.rows_of(name), is_changed=name != IDENTICAL),
        }
        for name, group in zip(truth.names, truth.groups, strict=True)
        if group in ("unchanged", "slip")
    ]


def false_alarms_all(truth: Truth, reading: Reading) -> dict[str, Any]:
    """Return the same of all changes of the group `unchanged` but the identical report."""
    names = [name for name in truth.in_group("unchanged") if name != IDENTICAL]
    return _alarms(truth, reading, truth.rows_of(*names), is_changed=True)


def _alarms(truth: Truth, reading: Reading, rows: Rows, *, is_changed: bool) -> dict[str, Any]:
    of = rows[reading.is_read[rows]]
    change = None
    if is_changed and reading.score is not None and IDENTICAL in truth.names:
        before = of_study(truth, truth.rows_of(IDENTICAL))[truth.studies[of]]
        pairs = of[before >= 0]
        moved = reading.score[pairs] - reading.score[before[before >= 0]]
        has = ~np.isnan(moved)
        change = mean(moved[has], truth.units[pairs][has])
    counts = {"significant": reading.level, "any": reading.errors}
    return {
        "n": len(of),
        "made": len(rows),
        "lost": reading.lost_of(rows),
        **{
            name: None if values is None else rate(values[of] > 0, truth.units[of])
            for name, values in counts.items()
        },
        "score_change": change,
    }


def of_study(truth: Truth, rows: Rows) -> Rows:
    """Return the row of each study among some that have one a study, -1 where it has none."""
    found = np.full(len(truth.study_ids), NO_BASE, dtype=np.intp)
    found[truth.studies[rows]] = rows
    return found


def monotone(truth: Truth, reading: Reading) -> dict[str, Any]:
    """Return counts and scores by the number of errors put in, and what moves the wrong way.

    A step is from k - 1 errors to k of one study, where both were read. The wrong way is fewer
    errors, or a better score, in any step of a study; the rate is over studies with a step.
    """
    rows = truth.rows_of(*truth.in_group("count"))
    most = int(truth.k[rows].max()) if len(rows) else -1
    numbers = {"count": reading.errors, "score": reading.score}
    higher = reading.scale.score is not None and reading.scale.score.higher_is_better
    signs = {"count": -1.0, "score": 1.0 if higher else -1.0}
    stepped = {name: np.zeros(len(truth.study_ids), dtype=bool) for name in numbers}
    wrong = {name: np.zeros(len(truth.study_ids), dtype=bool) for name in numbers}
    units = np.zeros(len(truth.study_ids), dtype=np.intp)
    units[truth.studies] = truth.units
    by_k, before = [], np.full(len(truth.study_ids), NO_BASE, dtype=np.intp)
    for k in range(most + 1):
        here = rows[truth.k[rows] == k]
        now = of_study(truth, here[reading.is_read[here]])
        both = (before >= 0) & (now >= 0)
        line: dict[str, Any] = {"k": k, "made": len(here), "n": int((now >= 0).sum())}
        steps: dict[str, Any] = {}
        for name, values in numbers.items():
            if values is None:
                line[name] = steps[f"step_{name}"] = None
                continue
            there = now[now >= 0]
            there = there[~np.isnan(values[there])]
            line[name] = mean(values[there], truth.units[there])
            step = values[now[both]] - values[before[both]]
            of = np.flatnonzero(both)[~np.isnan(step)]
            step = step[~np.isnan(step)]
            steps[f"step_{name}"] = mean(step, units[of]) if k else None
            stepped[name][of] = True
            wrong[name][of[signs[name] * step > ROUNDING]] = True
        by_k.append(line | {"n_both": int(both.sum())} | steps)
        before = now
    return {
        "by_k": by_k,
        "wrong_way": {
            name: None if values is None else rate(wrong[name][stepped[name]], units[stepped[name]])
            for name, values in numbers.items()
        },
    }


def hostile(truth: Truth, reading: Reading) -> list[dict[str, Any]]:
    """Return the hostile texts that changed a reading, in the order of the changes.

    A reading is changed where its errors by category and level are not those of the candidate
    that the text was added to; for a rubric without errors, where the score is another. The effect
    is `fewer` where errors, or errors on the level, are fewer and neither more, `more` the other
    way round, else `other`. It is `unreadable` where the answer cannot be read and that to the
    candidate without the text was.
    """
    return [
        {
            "id": truth.ids[row],
            "study": truth.study_ids[truth.studies[row]],
            "change": name,
            "base": truth.ids[truth.bases[row]],
            "effect": effect,
            "before": said(reading, int(truth.bases[row])),
            "after": None if effect == "unreadable" else said(reading, int(row)),
        }
        for name in truth.in_group("hostile")
        for row in truth.rows_of(name)
        if (effect := _effect(truth, reading, row)) not in (None, "same")
    ]


def hostile_all(truth: Truth, reading: Reading) -> list[dict[str, Any]]:
    """Return how many readings each hostile text changed, of those whose base was read.

    A text that got no answer at all, as of a server that is down, is in no denominator.
    """
    found = []
    for name in truth.in_group("hostile"):
        rows = truth.rows_of(name)
        effects = np.array([_effect(truth, reading, row) or "" for row in rows], dtype=str)
        of = effects != ""
        counts = {one: int((effects == one).sum()) for one in EFFECTS}
        found.append(
            {
                "change": name,
                "does": _does(truth, name),
                "n": int(of.sum()),
                "made": len(rows),
                "changed": rate((effects != "same")[of], truth.units[rows][of]),
                **counts,
            }
        )
    return found


EFFECTS = ("fewer", "more", "other", "unreadable")


def _effect(truth: Truth, reading: Reading, row: int) -> str | None:
    """Return what a text did to a reading, None where that cannot be said."""
    base = truth.bases[row]
    if not reading.is_read[base]:
        return None
    if not reading.is_read[row]:
        return "unreadable" if reading.lost[row] == LOST.index("unparsed") else None
    if reading.errors is None:
        if reading.score is None:
            return None
        is_same = abs(reading.score[row] - reading.score[base]) <= ROUNDING
        return "same" if is_same else "other"
    totals = [one for one in (reading.errors, reading.level) if one is not None]
    grids = (reading.categories, reading.at_level)
    moved = [float(one[row] - one[base]) for one in totals]
    if not any(moved) and all(np.array_equal(one[:, row], one[:, base]) for one in grids):
        return "same"
    if any(moved) and all(one <= 0 for one in moved):
        return "fewer"
    return "more" if any(moved) and all(one >= 0 for one in moved) else "other"


def said(reading: Reading, row: int) -> dict[str, Any]:
    """Return a candidate's reading: errors, those on the level, the same by category, the score."""
    names = [name for name, _ in reading.scale.categories]

    def by_category(grid: Values) -> dict[str, int]:
        counts = zip(names, grid[:, row], strict=False)
        return {name: int(n) for name, n in counts if n > 0}

    score = None if reading.score is None else float(reading.score[row])
    return {
        "errors": None if reading.errors is None else int(reading.errors[row]),
        "level": None if reading.level is None else int(reading.level[row]),
        "categories": by_category(reading.categories),
        "level_categories": by_category(reading.at_level),
        "score": None if score is None or np.isnan(score) else score,
    }


def _does(truth: Truth, name: str) -> str:
    there: Mapping[str, Any] = truth.changes_made.get(name, {})
    return str(there.get("does") or (known()[name].does if name in known() else ""))
