"""What a judge made of known errors: what it finds, false alarms, and what moves its answers.

A rate is over the candidates that have a readable answer; those without one are counted beside it.
Intervals of rates are Wilson's. A study has one candidate of a change; over several changes its
candidates go together, and the interval is that of as many candidates as they are worth [Kish
1965]. Means have the interval of a run's table.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judge.display import Displayed
from judge.plugins import version
from judge.rubrics.contract import Scale
from judge.running.folder import MANIFEST, Run
from judge.signature import Signature
from judge.stats.agreement import intraclass, within_variance
from judge.stats.panel import ROUNDING
from judge.stats.rates import mean_interval, rate_interval
from judge.stress.changes import IDENTICAL, all_changes
from judge.stress.readings import LOST, Reading, read
from judge.types import JudgeError

FORMAT = 3
RUNS = "runs"
"""The folder of the runs in that of the candidates."""
EFFECTS = ("fewer", "more", "other", "unreadable")
"""What a hostile text did to a reading that it changed."""
Frame = pd.DataFrame
RunLike = Run | str | Path


@dataclass(frozen=True, repr=False)
class StressReport(Displayed):
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
    scale, manifest, table = first.scale, first.run.manifest, first.table
    score, unchanged = scale.score, table[table["group"] == "unchanged"]
    data: dict[str, Any] = {
        "format": FORMAT,
        "rubric": manifest["rubric"],
        "judge": {name: manifest["judge"][name] for name in ("name", "version", "note")},
        "prompt": manifest["prompt"] or None,
        "level": None,
        "score": None,
        "categories": [
            {"name": name, "label": label} for name, label in scale.categories if scale.is_shared
        ],
        "runs": [
            {
                "path": str(reading.run.path),
                "signature": reading.run.signature,
                "lost": _counts(reading.table)["lost"],
            }
            for reading in readings
        ],
        "candidates": {"n_studies": table["study"].nunique(), "n_candidates": len(table)},
        "detection": _by_change(first, "error", "class", _detected),
        "detection_all": _detected(first, table[table["group"] == "error"]),
        "false_alarms": _by_change(first, "unchanged", "change", _alarms),
        "false_alarms_all": _alarms(first, unchanged[unchanged["change"] != IDENTICAL]),
        "matrix": _matrix(first) if scale.is_shared else [],
        "monotone": _monotone(first),
        "stability": _stability(readings),
        "hostile": [
            {"id": study_id, "effect": effect}
            for part in first.changes("hostile").values()
            for study_id, effect in _effects(first, part).items()
            if effect != "same"
        ],
        "hostile_all": _by_change(first, "hostile", "change", _hostile),
        "signature": _signature(readings),
    }
    if scale.level:
        data["level"] = {"name": scale.level_name, "label": f"{scale.level_name} errors"}
    if score:
        better = score.higher_is_better
        data["score"] = {"name": score.name, "label": score.label, "higher_is_better": better}
    return StressReport(first, data)


def _by_change(
    reading: Reading, group: str, key: str, figures: Callable[[Reading, Frame], dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {key: name, "does": all_changes()[name].does, **figures(reading, part)}
        for name, part in reading.changes(group).items()
    ]


def _rate(is_yes: pd.Series, units: pd.Series) -> dict[str, Any]:
    rate = rate_interval(is_yes.to_numpy(dtype=bool), units.to_numpy())
    k = int(rate.k or 0)
    return {"k": k, "n": rate.n, "rate": rate.value, "low": rate.low, "high": rate.high}


def _mean(values: pd.Series, units: pd.Series, scale: Scale | None = None) -> dict[str, Any]:
    """Return the mean of those of the `values` that are known."""
    values = values.dropna()
    mean = mean_interval(values.to_numpy(), scale, units[values.index].to_numpy())
    return {"n": mean.n, "mean": mean.value, "low": mean.low, "high": mean.high}


def _read(part: Frame) -> Frame:
    return part[part["lost"] == ""]


def _counts(part: Frame) -> dict[str, Any]:
    lost = {why: int((part["lost"] == why).sum()) for why in LOST}
    return {"n": len(_read(part)), "made": len(part), "lost": lost}


def _detected(reading: Reading, part: Frame) -> dict[str, Any]:
    """Return how many single errors were found, called right, and graded right.

    Found: the answer has an error. In the right category: it has one in a category of the truth.
    With the right significance: one of those is on the truth's side of the rubric's level; errors
    on which radiologists would differ are not in this rate. The last two are None for a rubric
    without the six categories, or without a level.
    """
    read, scale = _read(part), reading.scale
    rates: dict[str, Any] = dict.fromkeys(("found", "right_category", "right_significance"))
    if scale.errors:
        rates["found"] = _rate(read["errors"] > 0, read["unit"])
    if scale.errors and scale.is_shared:
        rates["right_category"] = _rate(read["is_right"], read["unit"])
    if scale.level and scale.is_shared:
        sure = read[read["significance"] != "doubtful"]
        rates["right_significance"] = _rate(sure["is_graded"], sure["unit"])
    return {**_counts(part), **rates}


def _matrix(reading: Reading) -> list[dict[str, Any]]:
    """Return for each class how many candidates have an error of each category, and how many none.

    A candidate with errors of two categories is in both.
    """
    lines = []
    for change, part in reading.changes("error").items():
        read = _read(part)
        found = (reading.categories.loc[read.index] > 0).sum().to_dict()
        none = int((read["errors"] == 0).sum())
        lines.append({"class": change, "n": len(read), "categories": found, "none": none})
    return lines


def _alarms(reading: Reading, part: Frame) -> dict[str, Any]:
    """Return how many candidates without an error were given one, and the score's change.

    That is the score less the one of the identical report of the same study, over the studies that
    have both.
    """
    read, scale = _read(part), reading.scale
    alarms = {"significant": scale.level and "level", "any": scale.errors and "errors"}
    rates = {
        name: _rate(read[column] > 0, read["unit"]) if column else None
        for name, column in alarms.items()
    }
    identical = reading.table[reading.table["change"] == IDENTICAL].set_index("study")["score"]
    change = None
    if scale.score and len(identical) and not (part["change"] == IDENTICAL).any():
        change = _mean(read["score"] - read["study"].map(identical), read["unit"])
    return {**_counts(part), **rates, "score_change": change}


def _monotone(reading: Reading) -> dict[str, Any]:
    """Return counts and scores by the number of errors put in, and what moves the wrong way.

    A step is from k - 1 errors to k of one study, where both were read; 0 errors are the identical
    report. The wrong way is fewer errors, or a better score, in any step of a study; the rate is
    over studies with a step.
    """
    table, score = reading.table, reading.scale.score
    scales: dict[str, tuple[str, Scale, float]] = {}
    if reading.scale.errors:
        scales["count"] = ("errors", (0, None), -1.0)
    if score is not None:
        scales["score"] = ("score", score.scale, 1.0 if score.higher_is_better else -1.0)
    changes = [IDENTICAL, *reading.changes("count")]
    by_k: list[dict[str, Any]] = []
    wrong_way: dict[str, Any] = {"count": None, "score": None}
    for k, change in enumerate(changes):
        part = table[table["change"] == change]
        read = _read(part)
        counts = {"k": k, "made": len(part), "n": len(read)}
        line: dict[str, Any] = {**counts, "count": None, "score": None}
        for name, (column, scale, _) in scales.items():
            line[name] = _mean(read[column], read["unit"], scale)
        by_k.append(line)
    read = _read(table[table["change"].isin(changes)])
    units = read.groupby("study")["unit"].first()
    for name, (column, _, sign) in scales.items():
        values = read.groupby(["study", "change"])[column].first().unstack()
        steps = sign * values.reindex(columns=changes).astype(float).diff(axis=1)
        steps = steps[steps.notna().any(axis=1)]
        wrong_way[name] = _rate((steps > ROUNDING).any(axis=1), units[steps.index])
    return {"by_k": by_k, "wrong_way": wrong_way}


def _hostile(reading: Reading, part: Frame) -> dict[str, Any]:
    """Return how many readings a hostile text changed, of those whose base was read.

    A text that got no answer at all, as of a server that is down, is in no denominator.
    """
    effects = _effects(reading, part)
    by_effect = {effect: int((effects == effect).sum()) for effect in EFFECTS}
    changed = _rate(effects != "same", part.set_index("study_id")["unit"][effects.index])
    return {"n": len(effects), "made": len(part), "changed": changed, **by_effect}


def _effects(reading: Reading, part: Frame) -> pd.Series:
    """Return by candidate what the text did to each reading of which that is known.

    A reading is the `same` where its errors by category and level are those of the candidate that
    the text was added to; for a rubric without errors, where the score is. Else it is `fewer` where
    errors, or errors on the level, are fewer and neither more, `more` the other way round, else
    `other`; `unreadable` where the answer cannot be read and that without the text was.
    """
    table, scale = reading.table, reading.scale
    row_of = pd.Series(table.index, index=table["study_id"])
    part = part[part["base"].isin(row_of.index)]
    before = table.loc[row_of[part["base"]]]
    is_known = (before["lost"] == "").to_numpy() & part["lost"].isin(["", LOST[0]]).to_numpy()
    part, before = part[is_known], before[is_known]
    totals = ["errors", *(["level"] if scale.level else [])] if scale.errors else ["score"]
    moved = part[totals].to_numpy(dtype=float) - before[totals].to_numpy(dtype=float)
    is_same = (np.abs(moved) <= ROUNDING).all(axis=1)
    for counts in (reading.categories, reading.at_level):
        of_part, of_before = (counts.loc[rows.index].to_numpy() for rows in (part, before))
        is_same &= (of_part == of_before).all(axis=1)
    is_less, is_more = (sign * moved <= 0 for sign in (1, -1))
    effects = np.select(
        [
            part["lost"].to_numpy() != "",
            is_same,
            is_less.all(axis=1) & ~is_more.all(axis=1) & bool(scale.errors),
            is_more.all(axis=1) & ~is_less.all(axis=1) & bool(scale.errors),
        ],
        ["unreadable", "same", "fewer", "more"],
        "other",
    )
    return pd.Series(effects, part["study_id"], dtype=str)


def _stability(readings: Sequence[Reading]) -> dict[str, Any] | None:
    """Return how far repeats agree, over the candidates that each of them has read.

    `flips`: the share of candidates of which some readings say "no error on the level" and some
    do not. `score_sd`: the root of the mean over candidates of the variance (n - 1) of their
    scores. `icc`: of the counts of errors; its interval takes candidates for independent.
    """
    if len(readings) < 2:
        return None
    scale, table = readings[0].scale, readings[0].table
    is_read = np.all([reading.table["lost"] == "" for reading in readings], axis=0)

    def by_repeat(name: str) -> Frame:
        columns = [reading.table[name][is_read] for reading in readings]
        numbers: Frame = pd.concat(columns, axis=1, keys=range(len(readings))).astype(float)
        return numbers

    flips = icc = None
    if scale.errors:
        clean = by_repeat("level" if scale.level else "errors") == 0
        flips = _rate(clean.any(axis=1) & ~clean.all(axis=1), table["unit"][is_read])
        icc = intraclass(by_repeat("errors").to_numpy()).plain()
    variance = within_variance(by_repeat("score").dropna().to_numpy()) if scale.score else None
    return {
        "repeats": len(readings),
        "n": int(is_read.sum()),
        "lost": int((~is_read).sum()),
        "flips": flips,
        "score_sd": None if variance is None else math.sqrt(variance),
        "icc": icc,
    }


def _signature(readings: Sequence[Reading]) -> str:
    lines = "\n".join(reading.run.signature for reading in readings)
    digest = hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest()[:8]
    judge, runs = _judge_of(readings[0].run), f"runs:{len(readings)}+{digest}"
    return str(Signature([f"stress:{FORMAT}", *judge.parts, runs, f"version:{version()}"]))
