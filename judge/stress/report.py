"""The figures of a stress test: errors found, false alarms, and how stable the answers are.

The denominator of a rate is the candidates with a readable answer; the others are counted beside
it. Intervals of rates are Wilson's. The candidates of a patient, and those of equal references, go
together, and the interval is that of the effective number of candidates [Kish 1965]. Means have the
interval of a run's table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judge.plugins import version
from judge.rubrics.categories import CATEGORY
from judge.rubrics.contract import Facet, Measure, Rubric
from judge.rubrics.quantities import levels_of
from judge.run_files.manifest import MANIFEST
from judge.running.folder import RunFolder
from judge.signature import short_digest, signature_line
from judge.stats.intervals import Codes, mean_interval, rate_interval
from judge.stats.scores import ROUNDING
from judge.stats.summary import OUTCOMES, patient_numbers
from judge.stress.candidates import (
    BETWEEN,
    FIELDS,
    IDENTICAL,
    all_perturbations,
    read_not_made,
)
from judge.types import Failed, JudgeError, Scored, Unparsed

FORMAT = 3
RUNS = "runs"
"""The folder of the runs, in the folder of the candidates."""
EFFECTS = ("fewer", "more", "other", "unreadable")
"""How a hostile text can change an answer."""
LOST = (OUTCOMES[Unparsed], OUTCOMES[Failed], "undefined")
"""Why a candidate has no reading: `undefined` lacks the counts that the rubric's errors need."""
Frame = pd.DataFrame
Measures = tuple[str, ...]
RunLike = RunFolder | str | Path


@dataclass(frozen=True, kw_only=True)
class ErrorScale:
    """The measures by which a rubric counts errors; empty where it counts none.

    `level` counts the errors of the least level with a name (`levels_of`) where the rubric has
    milder ones too, `categories` and `at_level` the same for each category; `is_shared` says
    whether these are the six in whose letters the truth is given.
    """

    score: Measure | None = None
    errors: Measures = ()
    level: Measures = ()
    level_name: str = ""
    categories: Mapping[str, Measures] = field(default_factory=dict)
    at_level: Mapping[str, Measures] = field(default_factory=dict)
    is_shared: bool = False


def scale_of(rubric: Rubric) -> ErrorScale:
    """Return the error scale of a rubric."""
    score = next(iter(rubric.with_role("score")), None)
    if rubric.tally is None:
        return ErrorScale(score=score)
    tally = rubric.tally
    rows = rubric.facet(tally.rows)
    labels = rubric.facet(tally.columns).labels
    # Each label of an error's grade, as the condition of a count.
    cuts = [{tally.columns: label.name} for label in labels if label.tone != "good"]

    def counts(cuts: Iterable[dict[str, str]], **row: str) -> Measures:
        names: list[str] = []
        for cut in cuts:
            found = rubric.counting(tally.kind, cut | row)
            names += [count.name for count in found]
        return tuple(names)

    def by_category(cuts: Sequence[dict[str, str]]) -> dict[str, Measures]:
        if not cuts:
            return {}
        return {row.name: counts(cuts, **{tally.rows: row.name}) for row in rows.labels}

    level_name, level = next(iter(levels_of(rubric).items()), ("", ()))
    significant: list[dict[str, str]] = []
    for cut in cuts:
        if set(level).issuperset(counts([cut])):
            significant.append(cut)
    # A level with all errors says no more than their number: no error is milder.
    if len(significant) == len(cuts):
        significant = []
    if not significant:
        level_name = ""
    return ErrorScale(
        score=score,
        errors=counts(cuts),
        level=counts(significant),
        level_name=level_name,
        categories=by_category(cuts),
        at_level=by_category(significant),
        is_shared=_texts(CATEGORY) <= _texts(rows),
    )


def _texts(facet: Facet) -> set[tuple[str, str]]:
    """Return the labels of a facet with their texts: a letter alone may mean something else."""
    return {(label.name, facet.text(label.name)) for label in facet.labels}


@dataclass(frozen=True)
class StressAnswers:
    """The answers of a run, one row per candidate in each frame.

    `table` has `FIELDS` and `unit`, a number that candidates of one patient, or of equal
    references, share; `lost`, why there is no answer,
    else empty; `errors`, `level` and `score`, NaN where there is none; whether an error is in a
    category of the truth (`is_right`), and there on the truth's side of the level (`is_graded`).
    `categories` counts errors by category, `at_level` those of the level.
    """

    run: RunFolder
    scale: ErrorScale
    table: Frame
    categories: Frame
    at_level: Frame

    def changes(self, group: str) -> dict[str, Frame]:
        """Return the candidates of a group by perturbation, in the order of printing."""
        of_group = self.table[self.table["group"] == group]
        parts = dict(iter(of_group.groupby("change", sort=False)))
        return {name: parts[name] for name in all_perturbations() if name in parts}


def read_answers(run: RunFolder) -> StressAnswers:
    """Return a run's answers to candidates; raises `JudgeError` for a run of other studies."""
    lacks = {"study", "change", "group", "k"} - {*run.manifest.fields}
    if lacks:
        raise JudgeError(
            f"{run.path} is not a run of candidates of judge stress: "
            f"it has no field {min(lacks)!r}"
        )
    scale = scale_of(run.rubric)
    score: Measures = ()
    if scale.score:
        score = (scale.score.name,)
    names = chain(scale.errors, score, *scale.categories.values())
    measures = list(dict.fromkeys(names))
    columns = run.columns(measures, (*FIELDS, "patient")).to_pandas()
    counts = columns[measures].astype(float)

    def total(names: Measures) -> pd.Series:
        # A sum over no column would be 0: no error found, instead of no answer.
        if not names:
            return pd.Series(np.nan, counts.index)
        sums: pd.Series = counts[[*names]].sum(axis=1, skipna=False)
        return sums

    def totals(parts: Mapping[str, Measures]) -> Frame:
        sums = {name: total(part) for name, part in parts.items()}
        return Frame(sums, index=counts.index)

    table = columns.reindex(columns=["study_id", *FIELDS])
    table["errors"] = total(scale.errors)
    table["level"] = total(scale.level)
    table["score"] = total(score)
    # A rubric is read by its errors, a rubric without errors by its score.
    answer = "score"
    if scale.errors:
        answer = "errors"
    is_undefined = table[answer].isna()
    outcomes = columns["outcome"].astype(str)
    lost = np.where(is_undefined, LOST[2], "")
    table["lost"] = np.where(outcomes == OUTCOMES[Scored], lost, outcomes)
    table["unit"] = _units(run, columns, table)
    categories = totals(scale.categories)
    at_level = totals(scale.at_level)
    is_true = _is_true(table["truth"], scale.categories)
    right = (categories * is_true).sum(axis=1)
    grave = right
    if scale.level:
        grave = (at_level * is_true).sum(axis=1)
    mild = right - grave
    table["is_right"] = right > 0
    # Significant errors are on the level's side where one is of the level, others where one is not.
    is_significant = table["significance"] == "significant"
    table["is_graded"] = grave.where(is_significant, mild) > 0
    return StressAnswers(run, scale, table, categories, at_level)


def _units(run: RunFolder, columns: Frame, table: Frame) -> Codes:
    """Return a number for each candidate that those of a patient or an equal reference share."""
    references = {record["study_id"]: record["reference"] for record in run.records()}
    texts = table["study_id"].map(references)
    # Empty references are not equal: nothing is said of them.
    by_text, _ = pd.factorize(texts.where(texts != "", table["study"]))
    patients = table["study"]
    if "patient" in columns:
        patients = columns["patient"]
    known: list[object] = []
    for value in patients:
        if pd.isna(value):
            value = None
        known.append(value)
    by_patient = patient_numbers(known)
    return _joined(by_text, by_patient)


def _is_true(truths: pd.Series, categories: Iterable[str]) -> Frame:
    """Return for each candidate which categories are right for its error."""
    # Without any truth the column is one of numbers, all missing.
    letters = truths.astype(object).fillna("").astype(str).str.split(",")
    columns: dict[str, list[bool]] = {}
    for name in categories:
        columns[name] = [name in truth for truth in letters]
    return Frame(columns)


def _joined(first: Codes, second: Codes) -> Codes:
    """Return units in which rows are together that share one of two numbers, also over others."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    # A graph of both numbers, in which each row is a link between its two.
    n_first = _n_codes(first)
    n_all = n_first + _n_codes(second)
    ends = (first, n_first + second)
    links = coo_matrix((np.ones(len(first)), ends), shape=(n_all, n_all))
    _, units = connected_components(links, directed=False)
    return np.asarray(units, np.intp)[first]


def _n_codes(codes: Codes) -> int:
    if not len(codes):
        return 0
    return int(codes.max()) + 1


@dataclass(frozen=True, repr=False)
class StressFigures:
    """The figures of a stress test: all but those of stability of the `first` of its repeats."""

    first: StressAnswers
    data: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """Return the data as `judge stress report --format json` prints them."""
        return dict(self.data)


def stress_figures(runs: RunLike | Sequence[RunLike]) -> StressFigures:
    """Return the figures of the runs of one judge over candidates with known errors.

    `runs` are its repeats, or a folder of `judge stress`, which has all of them. Raises
    `JudgeError` for runs that are not repeats of one judge over the same candidates.
    """
    if isinstance(runs, RunFolder | str | Path):
        runs = [runs]
    opened: list[RunFolder] = []
    for source in runs:
        opened += open_runs(source)
    opened.sort(key=lambda run: run.repeat)
    if not opened:
        raise JudgeError("name a run, or a folder of judge stress")
    first, *others = opened
    repeats = {first.repeat: first}
    for run in others:
        differing = {*_judge_of(first)} ^ {*_judge_of(run)}
        if differing:
            raise JudgeError(
                f"{first.path} and {run.path} differ ({', '.join(sorted(differing))}); compare "
                "judges with judge compare --by change"
            )
        same = repeats.setdefault(run.repeat, run)
        if same is not run:
            raise JudgeError(
                f"{same.path} and {run.path} are the same reading; give only one"
            )
    return _report([read_answers(run) for run in opened], _not_made(runs, opened))


def reworded(table: Frame) -> Frame:
    """Return the candidates that say the same as their reference in other words or another form."""
    is_unchanged = table["group"] == "unchanged"
    return table[is_unchanged & (table["change"] != IDENTICAL)]


def open_runs(source: RunLike) -> list[RunFolder]:
    """Return the runs in a folder of `judge stress run`, or the run that it is.

    Raises `JudgeError` for a folder with neither.
    """
    if isinstance(source, RunFolder):
        return [source]
    manifests = sorted(Path(source, RUNS).glob(f"*/{MANIFEST}"))
    if not manifests:
        return [RunFolder.open(source)]
    return [RunFolder.open(manifest.parent) for manifest in manifests]


def _judge_of(run: RunFolder) -> list[str]:
    """Return the parts of the signature that the repeats of one judge share."""
    return run.manifest.signature_parts(without=("repeat", "version"))


def _not_made(
    sources: Sequence[RunLike], opened: Sequence[RunFolder]
) -> list[dict[str, Any]] | None:
    """Return what could not be made of the references, where the folder of the candidates says."""
    folders = [Path(source) for source in sources if isinstance(source, str | Path)]
    # A run of judge stress lies in a folder of the candidates' folder.
    folders += [Path(run.path).absolute().parent.parent for run in opened]
    for folder in folders:
        found = read_not_made(folder)
        if found is not None:
            return found
    return None


def _report(
    repeats: Sequence[StressAnswers], not_made: list[dict[str, Any]] | None
) -> StressFigures:
    first = repeats[0]
    scale = first.scale
    manifest = first.run.manifest
    table = first.table
    recognised = manifest.recognised and manifest.recognised.model_dump()
    judge = {
        "name": manifest.judge.name,
        "version": manifest.judge.version,
        "note": manifest.judge.note,
    }
    level = None
    if scale.level:
        level = {"name": scale.level_name, "label": f"{scale.level_name} errors"}
    score = None
    if scale.score:
        score = {
            "name": scale.score.name,
            "label": scale.score.label,
            "higher_is_better": scale.score.higher_is_better,
        }
    candidates = {
        "n_studies": table["study"].nunique(),
        "n_candidates": len(table),
        "n_units": table["unit"].nunique(),
    }
    errors = table[table["group"] == "error"]
    several = table[table["group"] == "several"]
    data: dict[str, Any] = {
        "format": FORMAT,
        "rubric": manifest.rubric,
        "judge": judge,
        "recognised": recognised,
        "prompt": manifest.prompt or None,
        "level": level,
        "score": score,
        "runs": [_run_data(answers) for answers in repeats],
        "candidates": candidates,
        "detection": _by_change(first, "error", "class", _detected),
        "detection_all": _detected(first, errors),
        "several": _by_change(first, "several", "change", _several),
        "several_all": _several(first, several),
        "false_alarms": _by_change(first, "unchanged", "change", _alarms),
        "false_alarms_all": _alarms(first, reworded(table)),
        "stability": _stability(repeats),
        "hostile": _changed_by_hostile(first),
        "hostile_all": _by_change(first, "hostile", "change", _hostile),
        "not_made": not_made,
        "signature": _signature(repeats),
    }
    return StressFigures(first, data)


def _signature(repeats: Sequence[StressAnswers]) -> str:
    digest = short_digest(answers.run.signature for answers in repeats)
    parts = [
        f"stress:{FORMAT}",
        *_judge_of(repeats[0].run),
        f"runs:{len(repeats)}+{digest}",
        f"version:{version()}",
    ]
    return signature_line(parts)


def _run_data(answers: StressAnswers) -> dict[str, Any]:
    counts = _counts(answers.table)
    return {
        "path": str(answers.run.path),
        "signature": answers.run.signature,
        "lost": counts["lost"],
    }


def _changed_by_hostile(answers: StressAnswers) -> list[dict[str, Any]]:
    """Return the candidates whose answer a hostile text changed, and how.

    `before` is the answer without the text, `after` the one with it: the errors in all and of the
    level, and the score, each None where there is none.
    """
    table = answers.table
    changed: list[dict[str, Any]] = []
    number_of = {name: number for number, name in enumerate(table["study_id"])}
    for name, part in answers.changes("hostile").items():
        for study_id, effect in _effects(answers, part).items():
            if effect == "same":
                continue
            after = table.iloc[number_of[study_id]]
            before = table.iloc[number_of[after["base"]]]
            row = {
                "id": study_id,
                "effect": effect,
                "change": name,
                "study": after["study"],
                "base": after["base"],
                "before": _answer(answers.scale, before),
                "after": _answer(answers.scale, after),
            }
            changed.append(row)
    return changed


def _answer(scale: ErrorScale, row: pd.Series) -> dict[str, float | int | None]:
    """Return what was counted of a candidate."""
    answer: dict[str, float | int | None] = {}
    for name, is_counted in (("errors", scale.errors), ("level", scale.level)):
        answer[name] = None
        if is_counted and not pd.isna(row[name]):
            answer[name] = int(row[name])
    answer["score"] = None
    if scale.score and not pd.isna(row["score"]):
        answer["score"] = float(row["score"])
    return answer


Figures = Callable[[StressAnswers, Frame], dict[str, Any]]


def _by_change(
    answers: StressAnswers, group: str, key: str, figures: Figures
) -> list[dict[str, Any]]:
    known = all_perturbations()
    rows = []
    for name, part in answers.changes(group).items():
        rows.append({key: name, "does": known[name].does, **figures(answers, part)})
    return rows


def _rate(is_yes: pd.Series, units: pd.Series) -> dict[str, Any]:
    rate = rate_interval(is_yes.to_numpy(dtype=bool), units.to_numpy())
    k = int(rate.k or 0)
    return {"k": k, "n": rate.n, "rate": rate.value, "low": rate.low, "high": rate.high}


def _counts(part: Frame) -> dict[str, Any]:
    lost = {why: int((part["lost"] == why).sum()) for why in LOST}
    n_read = int((part["lost"] == "").sum())
    return {"n": n_read, "made": len(part), "lost": lost}


def _detected(answers: StressAnswers, part: Frame) -> dict[str, Any]:
    """Return the rates of answers with an error, with one of the right category and significance.

    Right significance: an error of the right category is on the truth's side of the rubric's level;
    errors on which radiologists would differ are not counted.
    """
    read = part[part["lost"] == ""]
    scale = answers.scale
    rates: dict[str, Any] = {
        "found": None,
        "right_category": None,
        "right_significance": None,
    }
    if scale.errors:
        rates["found"] = _rate(read["errors"] > 0, read["unit"])
    if scale.errors and scale.is_shared:
        rates["right_category"] = _rate(read["is_right"], read["unit"])
    if scale.level and scale.is_shared:
        sure = read[read["significance"] != "doubtful"]
        rates["right_significance"] = _rate(sure["is_graded"], sure["unit"])
    return {**_counts(part), **rates}


def _several(answers: StressAnswers, part: Frame) -> dict[str, Any]:
    """Return how many of several errors an answer has.

    `found` is the share of answers with an error, `all_counted` that of answers with as many errors
    as were put in. `counted` is the mean of the errors in an answer, over the answers, `put_in`
    that of the errors that were put in. `right_category` is the share, of all errors that were put
    in, for which the answer has an error of a right category; one error of an answer stands for one
    that was put in.
    """
    read = part[part["lost"] == ""]
    scale = answers.scale
    figures: dict[str, Any] = {
        "put_in": None,
        "counted": None,
        "found": None,
        "all_counted": None,
        "right_category": None,
    }
    if scale.errors and len(read):
        k = read["k"].astype(float)
        errors = read["errors"].astype(float)
        mean = mean_interval(errors.to_list(), units=read["unit"].to_numpy())
        figures["put_in"] = float(k.mean())
        figures["counted"] = {
            "n": mean.n,
            "mean": mean.value,
            "low": mean.low,
            "high": mean.high,
        }
        figures["found"] = _rate(errors > 0, read["unit"])
        figures["all_counted"] = _rate(errors == k, read["unit"])
    if scale.errors and scale.is_shared and len(read):
        hits: list[bool] = []
        units: list[int] = []
        categories = answers.categories.loc[read.index].to_dict("records")
        truths = read["truth"].astype(str).tolist()
        totals = read["errors"].astype(float).tolist()
        of_units = read["unit"].tolist()
        rows = zip(truths, categories, totals, of_units, strict=True)
        for truth, counts, total, unit in rows:
            by_category = {str(name): float(count) for name, count in counts.items()}
            matched = _matched(truth.split(BETWEEN), by_category, total)
            hits += matched
            units += [unit] * len(matched)
        figures["right_category"] = _rate(pd.Series(hits), pd.Series(units))
    return {**_counts(part), **figures}


def _matched(
    truths: Sequence[str], counts: Mapping[str, float], n_errors: float
) -> list[bool]:
    """Return which errors an answer has, each error of the answer for one that was put in.

    `truths` has the right categories of each error, separated by commas; `counts` are the answer's
    errors by category. As many as can be are matched. An error of the answer in two categories is
    counted in both, so no more are matched than the answer has in all.
    """
    left = {category: int(count) for category, count in counts.items()}
    # By the category that each error takes; an error moves to another of its own for a later one.
    taken: list[str | None] = [None] * len(truths)

    def take(at: int, tried: set[str]) -> bool:
        for category in truths[at].split(","):
            if category in tried or category not in left:
                continue
            tried.add(category)
            if left[category]:
                left[category] -= 1
                taken[at] = category
                return True
            for other, held in enumerate(taken):
                if held == category and take(other, tried):
                    taken[at] = category
                    return True
        return False

    for at in range(len(truths)):
        take(at, set())
    matched: list[bool] = []
    for category in taken:
        is_matched = category is not None and sum(matched) < n_errors
        matched.append(is_matched)
    return matched


def _alarms(answers: StressAnswers, part: Frame) -> dict[str, Any]:
    """`score_change` is the mean over studies of the score less that of the identical report."""
    read = part[part["lost"] == ""]
    scale = answers.scale
    significant = None
    if scale.level:
        significant = _rate(read["level"] > 0, read["unit"])
    any_error = None
    if scale.errors:
        any_error = _rate(read["errors"] > 0, read["unit"])
    unchanged = answers.table[answers.table["change"] == IDENTICAL]
    identical = unchanged.set_index("study")["score"]
    change = None
    # The identical report has no change from itself.
    is_identical = (part["change"] == IDENTICAL).any()
    if scale.score and len(identical) and not is_identical:
        before = read["study"].map(identical).astype(float)
        moves = (read["score"].astype(float) - before).dropna()
        units = read["unit"][moves.index].to_numpy()
        mean = mean_interval(moves.to_list(), units=units)
        change = {"n": mean.n, "mean": mean.value, "low": mean.low, "high": mean.high}
    return {
        **_counts(part),
        "significant": significant,
        "any": any_error,
        "score_change": change,
    }


def _hostile(answers: StressAnswers, part: Frame) -> dict[str, Any]:
    """A candidate without any answer, as when a server is down, is in no denominator."""
    effects = _effects(answers, part)
    by_effect = {effect: int((effects == effect).sum()) for effect in EFFECTS}
    units = part.set_index("study_id")["unit"]
    changed = _rate(effects != "same", units[effects.index])
    return {"n": len(effects), "made": len(part), "changed": changed, **by_effect}


def _effects(answers: StressAnswers, part: Frame) -> pd.Series:
    """Return by candidate the effect of a hostile text.

    An answer is the `same` where it has the errors, by category and level, of the candidate without
    the text; for a rubric without errors, its score. `fewer` and `more` hold for the errors in
    total and of the level; `unreadable` is an answer where only the one without the text is read.
    """
    table = answers.table
    scale = answers.scale
    row_of = pd.Series(table.index, index=table["study_id"])
    part = part[part["base"].isin(row_of.index)]
    before = table.loc[row_of[part["base"]]]
    was_read = (before["lost"] == "").to_numpy()
    has_answer = part["lost"].isin(["", LOST[0]]).to_numpy()
    can_compare = was_read & has_answer
    part = part[can_compare]
    before = before[can_compare]
    totals = ["score"]
    if scale.errors:
        totals = ["errors"]
        if scale.level:
            totals.append("level")
    values_after = part[totals].to_numpy(dtype=float)
    values_before = before[totals].to_numpy(dtype=float)
    moved = values_after - values_before
    is_same = (np.abs(moved) <= ROUNDING).all(axis=1)
    for counts in (answers.categories, answers.at_level):
        after = counts.loc[part.index].to_numpy()
        base = counts.loc[before.index].to_numpy()
        is_same &= (after == base).all(axis=1)
    is_less = (moved <= 0).all(axis=1) & bool(scale.errors)
    is_more = (moved >= 0).all(axis=1) & bool(scale.errors)
    is_lost = part["lost"].to_numpy() != ""
    # The first case that holds counts: a lost answer is no other effect.
    cases = [is_lost, is_same, is_less & ~is_more, is_more & ~is_less]
    effects = np.select(cases, ["unreadable", "same", "fewer", "more"], "other")
    return pd.Series(effects, part["study_id"], dtype=str)


def _stability(repeats: Sequence[StressAnswers]) -> dict[str, Any] | None:
    """Return how far repeats agree, over the candidates that all of them read.

    `flips` is the share of candidates for which some repeats find an error of the level and some
    do not, `score_sd` the root of the mean over candidates of the variance (n - 1) of their scores.
    """
    if len(repeats) < 2:
        return None
    scale = repeats[0].scale
    table = repeats[0].table
    is_read = np.all([answers.table["lost"] == "" for answers in repeats], axis=0)

    def by_repeat(name: str) -> Frame:
        columns = [answers.table[name][is_read] for answers in repeats]
        return Frame(dict(enumerate(columns))).astype(float)

    flips = None
    if scale.errors:
        counted = "errors"
        if scale.level:
            counted = "level"
        clean = by_repeat(counted) == 0
        is_flip = clean.any(axis=1) & ~clean.all(axis=1)
        flips = _rate(is_flip, table["unit"][is_read])
    score_sd = None
    if scale.score:
        scores = by_repeat("score").dropna()
        if len(scores):
            mean_variance = scores.var(axis=1).mean()
            score_sd = math.sqrt(mean_variance)
    return {
        "repeats": len(repeats),
        "n": int(is_read.sum()),
        "lost": int((~is_read).sum()),
        "flips": flips,
        "score_sd": score_sd,
    }
