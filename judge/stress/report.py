"""What a judge made of known errors: what it finds, false alarms, and what moves its answers.

A rate is over the candidates that have a readable answer; those without one are counted beside it.
Intervals of rates are Wilson's. A study has one candidate of a change; over several changes its
candidates go together, and the interval is that of as many candidates as they are worth [Kish
1965]. Means have Student's t, whose units are the studies.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from judge.plugins import version
from judge.report.stress import rows as figure_rows
from judge.running.folder import MANIFEST, Run, no_run
from judge.signature import Signature
from judge.stats.estimate import Z_95, clustered_error, rate_interval
from judge.stats.panel import ROUNDING, Values
from judge.stats.reliability import intraclass, within_variance
from judge.stress.changes import IDENTICAL, MOST, all_changes
from judge.stress.readings import LOST, Bools, Reading, plain, read
from judge.types import JudgeError

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2
RUNS = "runs"
"""The folder of the runs in that of the candidates."""
EFFECTS = ("fewer", "more", "other", "unreadable")
"""What a hostile text did to a reading that it changed."""
Rows = NDArray[np.intp]
RunLike = Run | str | Path


@dataclass(frozen=True)
class StressReport:
    """What a judge saw of known errors, and where it did not stay still.

    `readings` are those of its runs; all figures but those of stability are of the first.
    """

    readings: tuple[Reading, ...]
    data: Mapping[str, Any]

    @property
    def first(self) -> Reading:
        """The reading that the figures are of."""
        return self.readings[0]

    def plain(self) -> dict[str, Any]:
        """Return all of it as JSON's types, as `judge stress report --format json` prints it."""
        return dict(self.data)

    @property
    def figures(self) -> pd.DataFrame:
        """One row a figure, as `judge stress report --format csv` prints it."""
        import pandas as pd

        return pd.DataFrame(figure_rows(self.data))


def stress_report(runs: RunLike | Sequence[RunLike]) -> StressReport:
    """Return what runs of one judge say of candidates with known errors.

    `runs` are its runs, by prompts and repeats, or a folder of `judge stress`, which has all of
    them. Raises `JudgeError` where the runs are of several judges or rubrics, of other studies
    than candidates, or of different ones, and for the same run twice.
    """
    given = [runs] if isinstance(runs, Run | str | Path) else [*runs]
    opened = [run for each in given for run in opened_runs(each)]
    if not opened:
        raise JudgeError("name a run, or a folder of judge stress")
    _check_one_judge(opened)
    wordings = list(dict.fromkeys(map(_wording, opened)))
    opened.sort(key=lambda run: (wordings.index(_wording(run)), run.repeat))
    return _report([read(run) for run in opened])


def opened_runs(given: RunLike) -> list[Run]:
    """Open a run, or those in a folder of `judge stress`; raises `JudgeError` where there is none.

    Those of the rubric's own prompt come first, then by prompt and repeat.
    """
    if isinstance(given, Run):
        return [given]
    path = Path(given)
    if (path / MANIFEST).exists() or not (path / RUNS).is_dir():
        return [Run(path)]
    found = [Run(each.parent) for each in sorted((path / RUNS).glob(f"*/{MANIFEST}"))]
    if not found:
        raise JudgeError(no_run(path / RUNS, MANIFEST))
    return sorted(found, key=lambda run: (_prompt(run) != run.rubric.prompt, _wording(run)))


def _prompt(run: Run) -> str:
    return str(run.manifest["prompt"] or "")


def _wording(run: Run) -> tuple[str, str]:
    """Return a run's prompt and its digest in the signature: two wordings may have one name."""
    return _prompt(run), Signature.parse(run.signature).get("prompt", "")


def _settings(run: Run) -> tuple[str, ...]:
    """Return what runs of one judge share: its version, and how it was asked."""
    signature = Signature.parse(run.signature)
    kinds = ("judge", "sampling", "reask", "section", "studies")
    named = (f"{kind}:{signature[kind]}" for kind in kinds if kind in signature)
    return (signature["rubric"], *named)


def _check_one_judge(runs: Sequence[Run]) -> None:
    first, *others = runs
    seen = {(_wording(first), first.repeat): first}
    for run in others:
        if differing := {*_settings(first)} ^ {*_settings(run)}:
            raise JudgeError(
                f"{first.path} and {run.path} are not of one judge asked about the same candidates "
                f"({', '.join(sorted(differing))}); judge compare --by change holds judges side by "
                "side"
            )
        other = seen.setdefault((_wording(run), run.repeat), run)
        if other is not run:
            raise JudgeError(f"{other.path} and {run.path} are the same reading; name one of them")


def _report(readings: Sequence[Reading]) -> StressReport:
    first = readings[0]
    scale, manifest = first.scale, first.run.manifest
    level = {"name": scale.level_name, "label": scale.level_label}
    score = scale.score
    every = np.arange(len(first.table))
    data: dict[str, Any] = {
        "format": FORMAT,
        "rubric": manifest["rubric"],
        "judge": {name: manifest["judge"][name] for name in ("name", "version", "note")},
        "prompts": [
            *filter(None, {_wording(r.run): _prompt(r.run) for r in readings}.values()),
        ],
        "repeats": sum(_wording(r.run) == _wording(first.run) for r in readings),
        "level": None if first.level is None else level,
        "score": score
        and {
            "name": score.name,
            "label": score.label,
            "higher_is_better": score.higher_is_better,
        },
        "categories": [
            {"name": name, "label": label} for name, label in scale.categories if scale.is_shared
        ],
        "runs": [_described(reading) for reading in readings],
        "candidates": {
            "n_studies": int(first.table["study"].nunique()),
            "n_candidates": len(every),
        },
        "detection": _by_change(first, "error", "class", _detected),
        "detection_all": _detected(first, first.rows(group="error")),
        "false_alarms": _by_change(first, "unchanged", "change", _alarms),
        "false_alarms_all": _alarms(
            first, np.setdiff1d(first.rows(group="unchanged"), first.rows(change=IDENTICAL))
        ),
        "matrix": _matrix(first) if scale.is_shared else [],
        "monotone": _monotone(first),
        "stability": _stability(readings),
        "hostile": _changed_readings(first),
        "hostile_all": _by_change(first, "hostile", "change", _hostile),
        "signature": _signature(readings),
    }
    return StressReport(tuple(readings), data)


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


def _mean(values: Values, units: Rows) -> dict[str, Any]:
    """Return a mean with its interval; none for one study, or where all values are alike."""
    n = len(values)
    if not n:
        return {"n": 0, "mean": None, "low": None, "high": None}
    value, (error, n_units) = float(values.mean()), clustered_error(values, units)
    if n_units < 2 or np.ptp(values) <= ROUNDING * max(1.0, float(np.abs(values).max())):
        return {"n": n, "mean": value, "low": None, "high": None}
    from scipy.special import stdtrit

    reach = float(stdtrit(n_units - 1, 0.975)) * error
    return {"n": n, "mean": value, "low": value - reach, "high": value + reach}


def _detected(reading: Reading, rows: Rows) -> dict[str, Any]:
    """Return how many single errors were found, called right, and graded right.

    Found: the answer has an error. In the right category: it has one in a category of the truth.
    With the right significance: one of those is on the truth's side of the rubric's level; errors
    on which radiologists would differ are not in this rate. The last two are None for a rubric
    without the six categories, or without a level.
    """
    read = rows[reading.is_read[rows]]
    counts = {"n": len(read), "made": len(rows), "lost": reading.lost(rows)}
    if reading.errors is None:
        return {**counts, "found": None, "right_category": None, "right_significance": None}
    right = significance = None
    if reading.scale.is_shared:
        right = _rate(in_right_category(reading, read), reading.units[read])
        if reading.level is not None:
            sure = read[reading.table["significance"].to_numpy()[read] != "doubtful"]
            significance = _rate(on_right_side(reading, sure), reading.units[sure])
    found = _rate(reading.errors[read] > 0, reading.units[read])
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
    lines = []
    for name in reading.changes("error"):
        rows = reading.rows(change=name)
        read = rows[reading.is_read[rows]]
        counts = (reading.categories[:, read] > 0).sum(axis=1).tolist()
        names = [category for category, _ in reading.scale.categories]
        none = int((reading.errors[read] == 0).sum())
        by_name = dict(zip(names, counts, strict=True))
        lines.append({"class": name, "n": len(read), "categories": by_name, "none": none})
    return lines


def _alarms(reading: Reading, rows: Rows) -> dict[str, Any]:
    """Return how many candidates without an error were given one, and the score's change.

    That is the score less the one of the identical report of the same study, over the studies that
    have both.
    """
    read = rows[reading.is_read[rows]]
    change = None
    is_changed = (reading.table["change"].to_numpy()[rows] != IDENTICAL).any()
    identical = reading.rows(change=IDENTICAL)
    if (is_changed or not len(rows)) and reading.score is not None and len(identical):
        before = _rows_of_studies(reading, identical, read)
        pairs, before = read[before >= 0], before[before >= 0]
        moved = reading.score[pairs] - reading.score[before]
        is_known = ~np.isnan(moved)
        change = _mean(moved[is_known], reading.units[pairs][is_known])
    rates = {
        name: None if values is None else _rate(values[read] > 0, reading.units[read])
        for name, values in (("significant", reading.level), ("any", reading.errors))
    }
    counts = {"n": len(read), "made": len(rows), "lost": reading.lost(rows)}
    return {**counts, **rates, "score_change": change}


def _rows_of_studies(reading: Reading, rows: Rows, wanted: Rows) -> Rows:
    """Return for each of the rows `wanted` that of `rows` with its study, -1 where none is."""
    studies = reading.table["study"].to_numpy()
    row_of = dict(zip(studies[rows], rows, strict=True))
    return np.array([row_of.get(study, -1) for study in studies[wanted]], dtype=np.intp)


def _monotone(reading: Reading) -> dict[str, Any]:
    """Return counts and scores by the number of errors put in, and what moves the wrong way.

    A step is from k - 1 errors to k of one study, where both were read; 0 errors are the identical
    report. The wrong way is fewer errors, or a better score, in any step of a study; the rate is
    over studies with a step.
    """
    score = reading.scale.score
    better = 1.0 if score is not None and score.higher_is_better else -1.0
    numbers = {"count": (reading.errors, -1.0), "score": (reading.score, better)}
    units = dict(zip(reading.table["study"], reading.units, strict=True))
    stepped: dict[str, dict[str, bool]] = {name: {} for name in numbers}
    by_k: list[dict[str, Any]] = []
    before: Rows = np.array([], dtype=np.intp)
    for k in range(MOST + 1):
        rows = reading.rows(change=f"errors_{k}" if k else IDENTICAL)
        if not len(rows) and k:
            break
        read = rows[reading.is_read[rows]]
        last = _rows_of_studies(reading, before, read)
        now, last = read[last >= 0], last[last >= 0]
        line: dict[str, Any] = {"k": k, "made": len(rows), "n": len(read)}
        steps: dict[str, Any] = {}
        for name, (values, sign) in numbers.items():
            if values is None:
                line[name] = steps[f"step_{name}"] = None
                continue
            known = read[~np.isnan(values[read])]
            line[name] = _mean(values[known], reading.units[known])
            step = values[now] - values[last]
            is_known = ~np.isnan(step)
            steps[f"step_{name}"] = (
                _mean(step[is_known], reading.units[now][is_known]) if k else None
            )
            studies = reading.table["study"].to_numpy()[now][is_known]
            for study, wrong in zip(studies, sign * step[is_known] > ROUNDING, strict=True):
                stepped[name][study] = stepped[name].get(study, False) or bool(wrong)
        by_k.append(line | {"n_both": len(now)} | steps)
        before = read
    wrong_way = {
        name: None
        if values is None
        else _rate(
            np.array([*stepped[name].values()], dtype=bool),
            np.array([units[study] for study in stepped[name]], dtype=np.intp),
        )
        for name, (values, _) in numbers.items()
    }
    return {"by_k": by_k, "wrong_way": wrong_way}


def _changed_readings(reading: Reading) -> list[dict[str, Any]]:
    """Return the hostile texts that changed a reading, with both readings.

    A reading is changed where its errors by category and level are not those of the candidate
    that the text was added to; for a rubric without errors, where the score is another. The effect
    is `fewer` where errors, or errors on the level, are fewer and neither more, `more` the other
    way round, else `other`; `unreadable` where the answer cannot be read and that to the candidate
    without the text was.
    """
    table, changed = reading.table, []
    for name in reading.changes("hostile"):
        rows = reading.rows(change=name)
        for row, base, effect in _effects(reading, rows):
            if effect != "same":
                after = None if effect == "unreadable" else plain(reading, row)
                ids = {key: table["study_id"].iat[n] for key, n in (("id", row), ("base", base))}
                about = {"study": table["study"].iat[row], "change": name, "effect": effect}
                changed.append({**ids, **about, "before": plain(reading, base), "after": after})
    return changed


def _hostile(reading: Reading, rows: Rows) -> dict[str, Any]:
    """Return how many readings a hostile text changed, of those whose base was read.

    A text that got no answer at all, as of a server that is down, is in no denominator.
    """
    found = list(_effects(reading, rows))
    effects = np.array([effect for *_, effect in found], dtype=str)
    units = reading.units[[row for row, *_ in found]]
    counts = {effect: int((effects == effect).sum()) for effect in EFFECTS}
    changed = _rate(effects != "same", units)
    return {"n": len(found), "made": len(rows), "changed": changed, **counts}


def _effects(reading: Reading, rows: Rows) -> list[tuple[int, int, str]]:
    """Return the rows whose effect is known, each with the row of its base and the effect."""
    row_of = {name: row for row, name in enumerate(reading.table["study_id"])}
    bases = reading.table["base"].to_numpy()
    pairs = [(int(row), row_of[bases[row]]) for row in rows if bases[row] in row_of]
    effects = [(row, base, _effect(reading, row, base)) for row, base in pairs]
    return [(row, base, effect) for row, base, effect in effects if effect is not None]


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
    if not any(moved) and all(np.array_equal(grid[:, row], grid[:, base]) for grid in grids):
        return "same"
    if any(moved) and all(change <= 0 for change in moved):
        return "fewer"
    return "more" if any(moved) and all(change >= 0 for change in moved) else "other"


def _stability(readings: Sequence[Reading]) -> dict[str, Any]:
    wording = _wording(readings[0].run)
    repeats = [reading for reading in readings if _wording(reading.run) == wording]
    prompts = list({_wording(r.run): r for r in reversed(readings)}.values())[::-1]
    found: dict[str, Any] = {"repeats": None, "prompts": None, "why": None}
    if len(repeats) > 1:
        names = [f"repeat {reading.run.repeat}" for reading in repeats]
        found["repeats"] = _stable(repeats, names, by_chance=True)
    if len(prompts) > 1:
        names = [_prompt(reading.run) or "no prompt" for reading in prompts]
        found["prompts"] = _stable(prompts, names, by_chance=False)
    if not (found["repeats"] or found["prompts"]):
        found["why"] = "each candidate was read once; --repeats K and a second --prompt ask again"
    return found


def _stable(
    readings: Sequence[Reading], names: Sequence[str], *, by_chance: bool
) -> dict[str, Any]:
    """Return how far several readings of the same candidates agree, over those that all have read.

    `flips`: the share of candidates of which some readings say "no error on the level" and some
    do not. `score_sd`: the root of the mean over candidates of the variance (n - 1) of their
    scores. `icc`: of the counts of errors; its interval takes candidates for independent.

    `rate` is there for readings that differ `by_chance` alone: the rate of candidates without an
    error on the level in the first reading. Where the same candidates are read again, its variance
    is V = the mean over candidates of the variance of their 0s and 1s, over n: 95% of readings have
    a rate within `again` = 1.96 sqrt(V) of the rate in the long run. `share` is V over
    p (1 - p) / n, the variance of a rate p of n.
    """
    is_read = np.all([reading.is_read for reading in readings], axis=0)
    units = readings[0].units[is_read]
    found: dict[str, Any] = {
        "of": [*names],
        "n": int(is_read.sum()),
        "n_studies": len(np.unique(units)),
        "lost": int((~is_read).sum()),
        **dict.fromkeys(("flips", "score_sd", "icc", "rate")),
        "rates": [],
    }

    def grid(columns: Sequence[Values | None]) -> Values | None:
        """Return candidates by readings, None where a reading has no such number."""
        known = [column for column in columns if column is not None]
        return (
            np.array([column[is_read] for column in known]).T if len(known) == len(names) else None
        )

    levels = [reading.errors if reading.level is None else reading.level for reading in readings]
    if (counts := grid(levels)) is not None and len(counts):
        clean = counts == 0
        found["flips"] = _rate(clean.any(axis=1) & ~clean.all(axis=1), units)
        found["rates"] = [
            {"of": name, **_rate(column, units)}
            for name, column in zip(names, clean.T, strict=True)
        ]
        if by_chance:
            n, p = len(clean), float(clean.mean())
            within = within_variance(clean.astype(float)) or 0.0
            first = {key: found["rates"][0][key] for key in ("k", "n", "rate", "low", "high")}
            share = within / (p * (1 - p)) if 0 < p < 1 else None
            found["rate"] = {**first, "again": Z_95 * math.sqrt(within / n), "share": share}
    if (values := grid([reading.score for reading in readings])) is not None:
        variance = within_variance(values[~np.isnan(values).any(axis=1)])
        found["score_sd"] = None if variance is None else math.sqrt(variance)
    if (values := grid([reading.errors for reading in readings])) is not None:
        found["icc"] = intraclass(values).plain()
    return found


def _described(reading: Reading) -> dict[str, Any]:
    counts = reading.lost(np.arange(len(reading.table)))
    n_undefined = counts["undefined"]
    return {
        "path": str(reading.run.path),
        "signature": reading.run.signature,
        "prompt": _prompt(reading.run) or None,
        "repeat": reading.run.repeat,
        "n_studies": len(reading.table),
        "n_scored": int(reading.is_read.sum()) + n_undefined,
        **{f"n_{why}": n for why, n in counts.items()},
        "reasons": reading.reasons,
    }


def _signature(readings: Sequence[Reading]) -> str:
    lines = "\n".join(reading.run.signature for reading in readings)
    digest = hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest()[:8]
    parts = [f"stress:{FORMAT}", *_settings(readings[0].run), f"runs:{len(readings)}+{digest}"]
    return str(Signature([*parts, f"version:{version()}"]))
