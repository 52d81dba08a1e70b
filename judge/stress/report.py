"""What a judge made of known errors: what it finds, false alarms, and what moves its answers.

A rate is over the candidates that have a readable answer; those without one are counted beside it.
Intervals of rates are Wilson's. A study has one candidate of a change; over several changes its
candidates go together, and the interval is that of as many candidates as they are worth [Kish
1965]. Means have the interval of a run's table.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.plugins import version
from judge.rubrics.contract import Scale
from judge.running.folder import MANIFEST, Run
from judge.signature import Signature
from judge.stats.estimate import mean_interval, rate_interval
from judge.stats.panel import ROUNDING, Values
from judge.stats.reliability import intraclass, within_variance
from judge.stress.changes import IDENTICAL, MOST, all_changes
from judge.stress.readings import LOST, Bools, Reading, read
from judge.types import JudgeError

FORMAT = 3
RUNS = "runs"
"""The folder of the runs in that of the candidates."""
EFFECTS = ("fewer", "more", "other", "unreadable")
"""What a hostile text did to a reading that it changed."""
Rows = NDArray[np.intp]
RunLike = Run | str | Path


@dataclass(frozen=True)
class StressReport:
    """What a judge saw of known errors, and where it did not stay still.

    `first` is its first reading, which all figures but those of stability are of.
    """

    first: Reading
    data: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """Return all of it as JSON's types, as `judge stress report --format json` prints it."""
        return dict(self.data)


def stress_report(runs: RunLike | Sequence[RunLike]) -> StressReport:
    """Return what runs of one judge say of candidates with known errors.

    `runs` are its repeats, or a folder of `judge stress`, which has all of them. Raises
    `JudgeError` where the runs are not repeats of one judge's reading of the same candidates.
    """
    given = [runs] if isinstance(runs, Run | str | Path) else [*runs]
    opened = [run for source in given for run in _opened(source)]
    if not opened:
        raise JudgeError("name a run, or a folder of judge stress")
    opened.sort(key=lambda run: run.repeat)
    first, *others = opened
    repeats = {first.repeat: first}
    for run in others:
        if differing := {*_judge_of(first).parts} ^ {*_judge_of(run).parts}:
            raise JudgeError(
                f"{first.path} and {run.path} differ ({', '.join(sorted(differing))}); hold judges "
                "side by side with judge compare --by change"
            )
        same = repeats.setdefault(run.repeat, run)
        if same is not run:
            raise JudgeError(f"{same.path} and {run.path} are the same reading; name one of them")
    return _report([read(run) for run in opened])


def _opened(source: RunLike) -> list[Run]:
    if isinstance(source, Run):
        return [source]
    path = Path(source)
    inside = [Run(found.parent) for found in sorted((path / RUNS).glob(f"*/{MANIFEST}"))]
    return inside or [Run(path)]


def _judge_of(run: Run) -> Signature:
    """Return what repeats of one judge's reading share."""
    return Signature.parse(run.signature).without("repeat", "version")


def _report(readings: Sequence[Reading]) -> StressReport:
    first = readings[0]
    scale, manifest, score = first.scale, first.run.manifest, first.scale.score
    changed = first.rows(group="unchanged")
    level = None
    if first.level is not None:
        level = {"name": scale.level_name, "label": f"{scale.level_name} errors"}
    data: dict[str, Any] = {
        "format": FORMAT,
        "rubric": manifest["rubric"],
        "judge": {name: manifest["judge"][name] for name in ("name", "version", "note")},
        "prompt": manifest["prompt"] or None,
        "level": level,
        "score": score
        and {
            "name": score.name,
            "label": score.label,
            "higher_is_better": score.higher_is_better,
        },
        "categories": [
            {"name": name, "label": label} for name, label in scale.categories if scale.is_shared
        ],
        "runs": [
            {
                "path": str(reading.run.path),
                "signature": reading.run.signature,
                "lost": reading.lost(np.arange(len(reading.table))),
            }
            for reading in readings
        ],
        "candidates": {
            "n_studies": int(first.table["study"].nunique()),
            "n_candidates": len(first.table),
        },
        "detection": _by_change(first, "error", "class", _detected),
        "detection_all": _detected(first, first.rows(group="error")),
        "false_alarms": _by_change(first, "unchanged", "change", _alarms),
        "false_alarms_all": _alarms(
            first, changed[first.table["change"].to_numpy()[changed] != IDENTICAL]
        ),
        "matrix": _matrix(first) if scale.is_shared else [],
        "monotone": _monotone(first),
        "stability": _stability(readings),
        "hostile": [
            {"id": first.table["study_id"].iat[row], "effect": effect}
            for name in first.changes("hostile")
            for row, effect in _effects(first, first.rows(change=name)).items()
            if effect != "same"
        ],
        "hostile_all": _by_change(first, "hostile", "change", _hostile),
        "signature": _signature(readings),
    }
    return StressReport(first, data)


def _by_change(
    reading: Reading, group: str, key: str, figures: Callable[[Reading, Rows], dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {
            key: name,
            "does": all_changes()[name].does,
            **figures(reading, reading.rows(change=name)),
        }
        for name in reading.changes(group)
    ]


def _rate(is_yes: Bools, units: Rows) -> dict[str, Any]:
    rate = rate_interval(is_yes, units)
    k = int(rate.k or 0)
    return {"k": k, "n": rate.n, "rate": rate.value, "low": rate.low, "high": rate.high}


def _mean(values: Values, units: Rows, scale: Scale | None = None) -> dict[str, Any]:
    mean = mean_interval(values, scale, units)
    return {"n": mean.n, "mean": mean.value, "low": mean.low, "high": mean.high}


def _counted(reading: Reading, rows: Rows) -> tuple[Rows, dict[str, Any]]:
    read = rows[reading.is_read[rows]]
    return read, {"n": len(read), "made": len(rows), "lost": reading.lost(rows)}


def _detected(reading: Reading, rows: Rows) -> dict[str, Any]:
    """Return how many single errors were found, called right, and graded right.

    Found: the answer has an error. In the right category: it has one in a category of the truth.
    With the right significance: one of those is on the truth's side of the rubric's level; errors
    on which radiologists would differ are not in this rate. The last two are None for a rubric
    without the six categories, or without a level.
    """
    read, counts = _counted(reading, rows)
    found = right = significance = None
    if reading.errors is not None:
        found = _rate(reading.errors[read] > 0, reading.units[read])
        if reading.scale.is_shared:
            right = _rate(in_right_category(reading, read), reading.units[read])
            if reading.level is not None:
                sure = read[reading.table["significance"].to_numpy()[read] != "doubtful"]
                significance = _rate(on_right_side(reading, sure), reading.units[sure])
    return {**counts, "found": found, "right_category": right, "right_significance": significance}


def in_right_category(reading: Reading, rows: Rows) -> Bools:
    """Return which candidates have an error in a category that the truth gives."""
    counts = (reading.categories[:, rows] * _truth(reading, rows)).sum(axis=0)
    return np.asarray(counts > 0)


def on_right_side(reading: Reading, rows: Rows) -> Bools:
    """Return which have one that is on the truth's side of the rubric's level too."""
    truth = _truth(reading, rows)
    high = (reading.at_level[:, rows] * truth).sum(axis=0)
    low = (reading.categories[:, rows] * truth).sum(axis=0) - high
    is_significant = reading.table["significance"].to_numpy()[rows] == "significant"
    return np.asarray(np.where(is_significant, high, low) > 0, dtype=np.bool_)


def _truth(reading: Reading, rows: Rows) -> Bools:
    """Return whether each category of the rubric is one of the truth's, by candidate."""
    truths = [str(truth or "").split(",") for truth in reading.table["truth"].to_numpy()[rows]]
    names = [name for name, _ in reading.scale.categories]
    mask = [[name in truth for truth in truths] for name in names]
    return np.array(mask, dtype=bool).reshape(len(names), len(rows))


def _matrix(reading: Reading) -> list[dict[str, Any]]:
    """Return for each class how many candidates have an error of each category, and how many none.

    A candidate with errors of two categories is in both.
    """
    if reading.errors is None:
        return []
    names = [name for name, _ in reading.scale.categories]
    lines = []
    for change in reading.changes("error"):
        read, counts = _counted(reading, reading.rows(change=change))
        found = (reading.categories[:, read] > 0).sum(axis=1).tolist()
        none = int((reading.errors[read] == 0).sum())
        by_name = dict(zip(names, found, strict=True))
        lines.append({"class": change, "n": counts["n"], "categories": by_name, "none": none})
    return lines


def _alarms(reading: Reading, rows: Rows) -> dict[str, Any]:
    """Return how many candidates without an error were given one, and the score's change.

    That is the score less the one of the identical report of the same study, over the studies that
    have both.
    """
    read, counts = _counted(reading, rows)
    is_changed = (reading.table["change"].to_numpy()[rows] != IDENTICAL).any()
    changes = reading.score_changes(read) if is_changed or not len(rows) else None
    rates = {
        name: None if values is None else _rate(values[read] > 0, reading.units[read])
        for name, values in (("significant", reading.level), ("any", reading.errors))
    }
    return {**counts, **rates, "score_change": changes and _mean(*changes)}


def _monotone(reading: Reading) -> dict[str, Any]:
    """Return counts and scores by the number of errors put in, and what moves the wrong way.

    A step is from k - 1 errors to k of one study, where both were read; 0 errors are the identical
    report. The wrong way is fewer errors, or a better score, in any step of a study; the rate is
    over studies with a step.
    """
    score = reading.scale.score
    better = 1.0 if score is not None and score.higher_is_better else -1.0
    numbers = {"count": (reading.errors, -1.0), "score": (reading.score, better)}
    scales = {"count": (0, None), "score": score and score.scale}
    changes = [IDENTICAL, *(f"errors_{k}" for k in range(1, MOST + 1))]
    by_k: list[dict[str, Any]] = []
    for k, change in enumerate(changes):
        rows = reading.rows(change=change)
        if k and not len(rows):
            break
        read, _ = _counted(reading, rows)
        line: dict[str, Any] = {"k": k, "made": len(rows), "n": len(read)}
        for name, (values, _) in numbers.items():
            known = read if values is None else read[~np.isnan(values[read])]
            line[name] = (
                None if values is None else _mean(values[known], reading.units[known], scales[name])
            )
        by_k.append(line)
    wrong_way = {
        name: None if values is None else _backwards(reading, sign * values, changes)
        for name, (values, sign) in numbers.items()
    }
    return {"by_k": by_k, "wrong_way": wrong_way}


def _backwards(reading: Reading, values: Values, changes: Sequence[str]) -> dict[str, Any]:
    """Return the rate of studies whose value rises in any step from one change to the next."""
    rises: dict[str, bool] = {}
    units: dict[str, int] = {}
    studies = reading.table["study"].to_numpy()
    for before, change in pairwise(changes):
        rows = reading.rows(change=change)
        for row, last in zip(rows, reading.partners(rows, before), strict=True):
            if last >= 0 and not np.isnan(step := values[row] - values[last]):
                study = studies[row]
                rises[study] = rises.get(study, False) or bool(step > ROUNDING)
                units[study] = int(reading.units[row])
    return _rate(np.array([*rises.values()], dtype=bool), np.array([*units.values()], dtype=int))


def _hostile(reading: Reading, rows: Rows) -> dict[str, Any]:
    """Return how many readings a hostile text changed, of those whose base was read.

    A text that got no answer at all, as of a server that is down, is in no denominator.
    """
    effects = _effects(reading, rows)
    counts = Counter(effects.values())
    is_changed = np.array([effect != "same" for effect in effects.values()], dtype=bool)
    changed = _rate(is_changed, reading.units[[*effects]])
    by_effect = {effect: counts[effect] for effect in EFFECTS}
    return {"n": len(effects), "made": len(rows), "changed": changed, **by_effect}


def _effects(reading: Reading, rows: Rows) -> dict[int, str]:
    """Return what the text did to each reading of which that is known.

    A reading is the `same` where its errors by category and level are those of the candidate that
    the text was added to; for a rubric without errors, where the score is. Else it is `fewer` where
    errors, or errors on the level, are fewer and neither more, `more` the other way round, else
    `other`; `unreadable` where the answer cannot be read and that without the text was.
    """
    row_of = {name: row for row, name in enumerate(reading.table["study_id"])}
    bases = reading.table["base"].to_numpy()
    pairs = {int(row): row_of[bases[row]] for row in rows if bases[row] in row_of}
    effects = {row: _effect(reading, row, base) for row, base in pairs.items()}
    return {row: effect for row, effect in effects.items() if effect is not None}


def _effect(reading: Reading, row: int, base: int) -> str | None:
    if not reading.is_read[base]:
        return None
    if not reading.is_read[row]:
        return "unreadable" if reading.table["lost"].iat[row] == LOST[0] else None
    if reading.errors is None:
        if reading.score is None:
            return None
        return "same" if abs(reading.score[row] - reading.score[base]) <= ROUNDING else "other"
    totals = [values for values in (reading.errors, reading.level) if values is not None]
    moved = [float(values[row] - values[base]) for values in totals]
    grids = (reading.categories, reading.at_level)
    if not any(moved):
        is_same = all(np.array_equal(grid[:, row], grid[:, base]) for grid in grids)
        return "same" if is_same else "other"
    if all(change <= 0 for change in moved):
        return "fewer"
    return "more" if all(change >= 0 for change in moved) else "other"


def _stability(readings: Sequence[Reading]) -> dict[str, Any] | None:
    """Return how far repeats agree, over the candidates that each of them has read.

    `flips`: the share of candidates of which some readings say "no error on the level" and some
    do not. `score_sd`: the root of the mean over candidates of the variance (n - 1) of their
    scores. `icc`: of the counts of errors; its interval takes candidates for independent.
    """
    if len(readings) < 2:
        return None
    is_read = np.all([reading.is_read for reading in readings], axis=0)

    def grid(columns: list[Values | None]) -> Values | None:
        known = [column[is_read] for column in columns if column is not None]
        return np.array(known).T if len(known) == len(readings) else None

    errors = grid([reading.errors for reading in readings])
    levels = grid([reading.level for reading in readings])
    scores = grid([reading.score for reading in readings])
    clean = errors if levels is None else levels
    flips = variance = None
    if clean is not None:
        is_flipped = (clean == 0).any(axis=1) & (clean > 0).any(axis=1)
        flips = _rate(is_flipped, readings[0].units[is_read])
    if scores is not None:
        variance = within_variance(scores[~np.isnan(scores).any(axis=1)])
    return {
        "repeats": len(readings),
        "n": int(is_read.sum()),
        "lost": int((~is_read).sum()),
        "flips": flips,
        "score_sd": None if variance is None else math.sqrt(variance),
        "icc": None if errors is None else intraclass(errors).plain(),
    }


def _signature(readings: Sequence[Reading]) -> str:
    lines = "\n".join(reading.run.signature for reading in readings)
    digest = hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest()[:8]
    judge, runs = _judge_of(readings[0].run), f"runs:{len(readings)}+{digest}"
    return str(Signature([f"stress:{FORMAT}", *judge.parts, runs, f"version:{version()}"]))
