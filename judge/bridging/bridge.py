"""From an old judge's runs and a new judge's run of their sample to a bridge between the two."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from judge import plugins
from judge.bridging.figures import (
    Agreement,
    Answer,
    Conclusion,
    Pairs,
    Quantity,
    Restated,
    Shift,
    TwoJudges,
    agreement_of,
    conclusions,
    restatable,
    restated,
    shift_of,
    within,
)
from judge.bridging.kept_runs import DrawnStudies, KeptRuns, new_id
from judge.comparing.comparison import comparison_signature
from judge.files import cannot_write, replacing
from judge.rubrics.contract import Rubric
from judge.running.folder import RunFolder
from judge.signature import short_digest, signature_line
from judge.stats.intervals import FEWER_RESAMPLES, Bools, Draws, Values
from judge.stats.scores import ScoreMatrix, cuts, parts_of
from judge.stats.significance import Resampling, compare_pairs, plan
from judge.stats.statistic import Mean, OfSums
from judge.stats.summary import OUTCOMES
from judge.text import counted
from judge.types import JudgeError, Scored

BRIDGE = "bridge.json"
FORMAT = 1
MARGIN = 0.05
"""How far rates may be apart and still stand in one table, where the user names no margin."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether old and new figures may stand in one table: of `all` studies, or by `group`.

    `yes` where the shift of every rate of every model is within the margin, `no` where one is
    beyond it, else `not known`; `why` names the rates that decide against it. `n_needed` studies of
    each run would decide, as far as that can be said.
    """

    scope: Literal["all", "group"]
    answer: Answer
    why: str = ""
    n_needed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Bridge:
    """All that is said of two judges of the same reports, as `bridge.json` has it.

    `shifts` are those of the metrics, for all models together and each model, of all studies and
    by group; `categories` those of the counts by category, of all models together. `agreement` is
    that of the rates, and of whether a report has an error of a category. `unscored` has the new
    judge's reasons by their number.
    """

    rubric: str
    by: str
    margin: float
    old_judge: str
    new_judge: str
    models: tuple[str, ...]
    n_studies: int
    n_drawn: int
    n_scored: int
    patient_field: str | None
    verdicts: tuple[Verdict, ...]
    shifts: tuple[Shift, ...]
    categories: tuple[Shift, ...]
    agreement: tuple[Agreement, ...]
    restated: tuple[Restated, ...]
    conclusions: tuple[Conclusion, ...]
    sample: Mapping[str, Any]
    unscored: Mapping[str, int]
    runs: tuple[Mapping[str, str], ...]
    notes: tuple[str, ...]
    signature: str

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types."""
        return {
            "format": FORMAT,
            "rubric": self.rubric,
            "by": self.by,
            "margin": self.margin,
            "old_judge": self.old_judge,
            "new_judge": self.new_judge,
            "models": list(self.models),
            "n_studies": self.n_studies,
            "n_drawn": self.n_drawn,
            "n_scored": self.n_scored,
            "patient_field": self.patient_field,
            "verdicts": [asdict(verdict) for verdict in self.verdicts],
            "shifts": [_plain_shift(shift) for shift in self.shifts],
            "categories": [_plain_shift(shift) for shift in self.categories],
            "agreement": [_plain_agreement(one) for one in self.agreement],
            "restated": [_plain_restated(one) for one in self.restated],
            "conclusions": [_plain_conclusion(one) for one in self.conclusions],
            "sample": dict(self.sample),
            "unscored": dict(self.unscored),
            "runs": [dict(run) for run in self.runs],
            "notes": list(self.notes),
            "signature": self.signature,
        }


def bridge(
    runs: KeptRuns,
    drawn: DrawnStudies,
    new: RunFolder,
    *,
    margin: float = MARGIN,
    how: Resampling | None = None,
) -> Bridge:
    """Return what the new judge's run of the drawn studies says of the old judge's runs.

    `how` has seed and resamples, and the flips of the old judge's tests. Raises `JudgeError` where
    the new run is not that of these studies, and where it scored too few.
    """
    how = how or Resampling()
    draws = Draws(how.seed, how.resamples or FEWER_RESAMPLES)
    judges = two_judges(runs, drawn, new)
    panel = judges.old
    pairs = Pairs.of(judges, draws)
    shifts = _shifts(judges, pairs, runs.by, margin)
    figures = _category_figures(judges, pairs, runs.rubric)
    every = np.ones(len(pairs.models), bool)
    categories = [shift_of(pairs, figure, every) for figure in figures]
    parts = parts_of(panel, [runs.by])
    rows = restated(judges, {})
    for key, part in parts[1:]:
        rows += restated(_part(judges, part, key), key)
    tested = plan(panel.metrics, [panel], how.of(panel.n_units))
    tests = compare_pairs(panel, {}, tested).pairs
    found = conclusions(judges, pairs, tests)
    unscored = _unscored(new)
    n_drawn = int(judges.is_drawn.sum())
    return Bridge(
        rubric=runs.rubric.name,
        by=runs.by,
        margin=margin,
        old_judge=_judge(runs.compared.runs[0].run),
        new_judge=_judge(new),
        models=panel.models,
        n_studies=len(panel.study_ids),
        n_drawn=n_drawn,
        n_scored=len(pairs.models),
        patient_field=panel.patient_field if panel.is_clustered else None,
        verdicts=tuple(_verdicts(shifts)),
        shifts=tuple(shifts),
        categories=tuple(categories),
        agreement=tuple(_agreements(judges, pairs, figures)),
        restated=tuple(rows),
        conclusions=tuple(found),
        sample=_sample(drawn),
        unscored=unscored,
        runs=tuple(_runs(runs, new)),
        notes=tuple(_notes(runs, judges, unscored, n_drawn)),
        signature=_signature(
            runs, drawn, new, margin=margin, draws=draws, tested=tested
        ),
    )


def save(found: Bridge, folder: Path) -> Path:
    """Write the bridge as JSON into a folder, and return the file; raises `JudgeError`."""
    path = folder / BRIDGE
    text = json.dumps(found.plain(), indent=2, ensure_ascii=False, allow_nan=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    with replacing(path) as staged:
        staged.write_bytes(f"{text}\n".encode("utf-8", "replace"))
    return path


# The values of both judges


def two_judges(runs: KeptRuns, drawn: DrawnStudies, new: RunFolder) -> TwoJudges:
    """Return the values of both judges; raises `JudgeError` as `bridge` does."""
    panel = runs.panel
    shape = (len(panel.study_ids), len(panel.models))
    row_of = {study_id: row for row, study_id in enumerate(panel.study_ids)}
    places = {}
    is_drawn = np.zeros(shape, bool)
    for model, name in enumerate(panel.models):
        for study_id in drawn.samples[name].order:
            place = row_of[study_id], model
            places[new_id(name, study_id)] = place
            is_drawn[place] = True
    metrics = [one for one in panel.metrics if isinstance(one.statistic, OfSums)]
    of_cuts = list(cuts(runs.rubric).values())
    names: dict[str, None] = {}
    for metric in metrics:
        names |= dict.fromkeys(metric.statistic.columns)
    names |= dict.fromkeys(of_cuts)
    table = new.columns(list(names))
    ids = table["study_id"].to_pylist()
    if set(ids) != places.keys():
        raise JudgeError(f"{new.path} is no run of the studies that were drawn")
    rows, models = np.transpose([places[study_id] for study_id in ids])
    outcomes = np.array(table["outcome"].to_pylist(), object)
    is_scored = np.zeros(shape, bool)
    is_scored[rows, models] = outcomes == OUTCOMES[Scored]
    if not is_scored.any():
        raise JudgeError(f"{new.path} has no study with a score: there is no bridge")
    columns = {}
    for name in names:
        columns[name] = np.array(table[name].to_pylist(), float)
    values: dict[str, Values] = {}
    per: dict[str, Values] = {}
    for metric in metrics:
        numerators, denominators = metric.statistic.study_values(columns)
        values[metric.name] = np.full(shape, np.nan)
        values[metric.name][rows, models] = numerators
        if denominators is not None:
            per[metric.name] = np.full(shape, np.nan)
            per[metric.name][rows, models] = denominators
    tallies = {}
    if of_cuts:
        grid = np.full((len(panel.models), len(of_cuts), len(row_of)), np.nan)
        for cut, name in enumerate(of_cuts):
            grid[models, cut, rows] = columns[name]
        tallies[runs.rubric.name] = grid.astype(np.float32)
    old = replace(panel, metrics=tuple(metrics))
    return TwoJudges(
        old=old,
        new=replace(old, values=values, per=per, tallies=tallies),
        strata=drawn.strata,
        is_drawn=is_drawn,
        is_scored=is_scored & (drawn.strata >= 0),
    )


def _part(judges: TwoJudges, part: ScoreMatrix, key: Mapping[str, object]) -> TwoJudges:
    """Return the judges' values of the studies of one group."""
    rows = np.flatnonzero(_rows_of(judges.old, key))
    return TwoJudges(
        old=part,
        new=judges.new.take(rows),
        strata=judges.strata[rows],
        is_drawn=judges.is_drawn[rows],
        is_scored=judges.is_scored[rows],
    )


def _rows_of(panel: ScoreMatrix, key: Mapping[str, object]) -> Bools:
    """Return which studies are in a group; in the empty one are all."""
    is_of = np.ones(len(panel.study_ids), bool)
    for name, value in key.items():
        is_of &= np.array([cell == value for cell in panel.fields[name]], bool)
    return is_of


# Shifts and the rule


def _shifts(judges: TwoJudges, pairs: Pairs, by: str, margin: float) -> list[Shift]:
    """Return the shifts of all metrics: of all studies and by group, all models and each."""
    groups: list[dict[str, object]] = [{}]
    groups += [key for key, _ in parts_of(judges.old, [by])[1:]]
    models: list[str | None] = [None, *judges.old.models]
    if len(judges.old.models) == 1:
        models = [*judges.old.models]
    shifts = []
    for metric in judges.old.metrics:
        figure = _metric_figure(judges, pairs, metric.name)
        for key in groups:
            in_group = _rows_of(judges.old, key)[pairs.studies]
            for model in models:
                rows = in_group
                number = 0
                if model is not None:
                    number = judges.old.models.index(model)
                    rows = in_group & (pairs.models == number)
                shift = shift_of(pairs, figure, rows, model=model, group=key)
                if shift.is_share and model is not None:
                    lost = _lost_share(judges, number, key)
                    shift = within(
                        shift, margin, n_drawn=judges.n_drawn[number], lost=lost
                    )
                shifts.append(shift)
    return shifts


def _lost_share(judges: TwoJudges, model: int, key: Mapping[str, object]) -> float:
    """Return the share of a model's drawn reports that the new judge did not score."""
    is_drawn = judges.is_drawn[:, model] & _rows_of(judges.old, key)
    n_drawn = int(is_drawn.sum())
    if not n_drawn:
        return 0.0
    return 1 - int((is_drawn & judges.is_scored[:, model]).sum()) / n_drawn


def _metric_figure(judges: TwoJudges, pairs: Pairs, name: str) -> Quantity:
    metric = judges.old.metric(name)
    assert isinstance(metric.statistic, OfSums)
    per = {}
    if name in judges.old.per:
        per = {
            "old_per": pairs.values(judges.old.per[name]),
            "new_per": pairs.values(judges.new.per[name]),
        }
    return Quantity(
        name=name,
        label=metric.short,
        statistic=metric.statistic,
        is_whole=metric.what == "count",
        old=pairs.values(judges.old.values[name]),
        new=pairs.values(judges.new.values[name]),
        **per,
    )


def _verdicts(shifts: list[Shift]) -> list[Verdict]:
    """Return whether all rates of all models may stand in one table, and so by group."""
    ruled = [shift for shift in shifts if shift.answer is not None]
    verdicts = []
    scopes: tuple[Literal["all", "group"], ...] = ("all", "group")
    for scope in scopes:
        of_scope = [one for one in ruled if bool(one.group) == (scope == "group")]
        if of_scope:
            verdicts.append(_verdict(scope, of_scope))
    return verdicts


def _verdict(scope: Literal["all", "group"], shifts: list[Shift]) -> Verdict:
    beyond = [shift for shift in shifts if shift.answer == "no"]
    unknown = [shift for shift in shifts if shift.answer == "not known"]
    if beyond:
        why = f"the shift is beyond the margin: {_named(beyond)}"
        return Verdict(scope=scope, answer="no", why=why)
    if not unknown:
        return Verdict(scope=scope, answer="yes")
    needed = [shift.n_needed for shift in unknown]
    n_needed = None
    if all(n is not None for n in needed):
        n_needed = max(n for n in needed if n is not None)
    why = f"the interval is too wide: {_named(unknown)}"
    return Verdict(scope=scope, answer="not known", why=why, n_needed=n_needed)


_MOST_NAMED = 3


def _named(shifts: list[Shift]) -> str:
    """Return the first few rates by model and group."""
    texts = []
    for shift in shifts[:_MOST_NAMED]:
        where = [str(value) for value in shift.group.values()]
        text = f"{shift.label} ({', '.join([str(shift.model), *where])})"
        if shift.why:
            text += f" {shift.why}"
        texts.append(text)
    n_more = len(shifts) - len(texts)
    if n_more:
        texts.append(f"and {n_more} more")
    return ", ".join(texts)


# Categories


def _category_figures(
    judges: TwoJudges, pairs: Pairs, rubric: Rubric
) -> list[Quantity]:
    """Return the counts of items by level, and by category at each level and at all levels."""
    of_rubric = cuts(rubric)
    if rubric.tally is None or not of_rubric:
        return []
    old = judges.old.tallies[rubric.name].astype(float)
    new = judges.new.tallies[rubric.name].astype(float)
    rows = rubric.facet(rubric.tally.rows)
    columns = rubric.facet(rubric.tally.columns)
    number_of = {cut: number for number, cut in enumerate(of_rubric)}
    figures = []
    names: list[str | None] = [None]
    names += [label.name for label in rows.labels]
    for row in names:
        row_label = "all"
        if row is not None:
            row_label = rows.text(row)
        of_row = [number_of[row, label.name] for label in columns.labels]
        choices = {"all levels": of_row}
        for label, number in zip(columns.labels, of_row, strict=True):
            choices[label.label] = [number]
        for level, numbers in choices.items():
            figure = Quantity(
                name=f"{row or 'all'}/{level}",
                label=f"{row_label}, {level}",
                statistic=_COUNT,
                is_whole=True,
                old=pairs.values(old[:, numbers].sum(axis=1).T),
                new=pairs.values(new[:, numbers].sum(axis=1).T),
            )
            figures.append(figure)
    return figures


_COUNT = Mean("count", "count", measures=("count",), higher_is_better=False)


def _agreements(
    judges: TwoJudges, pairs: Pairs, figures: list[Quantity]
) -> list[Agreement]:
    """Return the agreement on each rate, and on whether a report has an error of a category."""
    found = []
    for metric in judges.old.metrics:
        if not metric.is_share:
            continue
        old = pairs.values(judges.old.values[metric.name])
        new = pairs.values(judges.new.values[metric.name])
        found.append(agreement_of(pairs, metric.name, metric.short, old, new))
    for figure in figures:
        category, _, level = figure.name.partition("/")
        if level != "all levels" or category == "all":
            continue
        label = figure.label.removesuffix(", all levels")
        old, new = _has_none(figure.old), _has_none(figure.new)
        found.append(agreement_of(pairs, category, f"no {label}", old, new))
    return found


def _has_none(counts: Values) -> Values:
    none: Values = np.where(np.isnan(counts), np.nan, counts == 0)
    return none


# What made it


def _judge(run: RunFolder) -> str:
    """Return a run's judge and prompt."""
    manifest = run.manifest
    name = manifest.judge.name
    if not manifest.prompts:
        return name
    prompts = [f"{prompt.name}@{prompt.version}" for prompt in manifest.prompts]
    return f"{name} (prompt {', '.join(prompts)})"


def _unscored(new: RunFolder) -> dict[str, int]:
    """Return why the new judge gave no score, with the numbers of studies."""
    return dict(new.summary().reasons)


def _sample(drawn: DrawnStudies) -> dict[str, Any]:
    """Return how the studies were drawn, with the strata of each model."""
    samples = drawn.samples
    first = next(iter(samples.values()))
    strata = []
    for model, sample in samples.items():
        for stratum in sample.strata:
            strata.append({"model": model, **stratum})
    return {"seed": first.seed, "by": [*first.by], "strata": strata}


def _runs(runs: KeptRuns, new: RunFolder) -> list[dict[str, str]]:
    described = []
    for run in runs.compared.runs:
        described.append(
            {
                "judge": "old",
                "model": run.model,
                "run": str(run.run.path),
                "signature": run.run.signature,
            }
        )
    described.append(
        {"judge": "new", "model": "", "run": str(new.path), "signature": new.signature}
    )
    return described


def _notes(
    runs: KeptRuns, judges: TwoJudges, unscored: Mapping[str, int], n_drawn: int
) -> list[str]:
    notes = list(runs.compared.notes)
    n_lost = n_drawn - int(judges.is_scored.sum())
    if n_lost:
        why = ", ".join(f"{reason} {n:,}" for reason, n in unscored.items())
        reports = counted(n_lost, "report", "reports")
        notes.append(
            f"{reports} of {n_drawn:,} have no score by the new judge ({why}): they count nowhere, "
            "and the others of their stratum stand for them"
        )
    n_old = int((judges.strata < 0).sum())
    if n_old:
        reports = counted(n_old, "report has", "reports have")
        notes.append(f"{reports} no score by the old judge, and could not be drawn")
    can_be = [metric for metric, _ in restatable(judges.old)]
    lacking = [metric.label for metric in runs.panel.metrics if metric not in can_be]
    if lacking:
        notes.append(f"only means and rates are restated, not {', '.join(lacking)}")
    return notes


def _signature(
    runs: KeptRuns,
    drawn: DrawnStudies,
    new: RunFolder,
    *,
    margin: float,
    draws: Draws,
    tested: Resampling,
) -> str:
    """Return one line that names everything that changes a number of the bridge."""
    old = comparison_signature(runs.compared, tested, [])
    order = []
    for model, sample in drawn.samples.items():
        order += [new_id(model, study_id) for study_id in sample.order]
    first = next(iter(drawn.samples.values()))
    parts = [
        "bridge:1",
        f"old:{short_digest([old])}",
        f"new:{short_digest([new.signature])}",
        f"judge:{runs.compared.runs[0].judge}>{new.manifest.judge.version}",
        f"models:{len(runs.models)}",
        f"drawn:{len(order)}+{short_digest(sorted(order))}",
        f"by:{'+'.join(first.by)}",
        f"sample_seed:{first.seed}",
        f"margin:{margin:g}",
        f"patient:{runs.panel.patient_field or 'none'}",
        *draws.parts,
        f"numpy:{version('numpy')}",
        f"version:{plugins.version()}",
    ]
    return signature_line(parts)


def _plain_shift(shift: Shift) -> dict[str, Any]:
    return {
        **asdict(shift),
        "is_shifted": shift.is_shifted,
        "shift": shift.shift.plain(),
        "slope": shift.slope.plain(),
        "slopes": None if shift.slopes is None else list(shift.slopes),
    }


def _plain_agreement(one: Agreement) -> dict[str, Any]:
    figures = {name: estimate.plain() for name, estimate in one.figures.items()}
    return {**asdict(one), "figures": figures}


def _plain_restated(one: Restated) -> dict[str, Any]:
    return {
        "model": one.model,
        "metric": one.metric.name,
        "label": one.metric.label,
        "group": dict(one.group),
        "old": one.old.plain(),
        "new": one.new.plain(),
        "rank": one.rank,
        "new_rank": one.new_rank,
    }


def _plain_conclusion(one: Conclusion) -> dict[str, Any]:
    old = asdict(one.old)
    return {
        "metric": one.metric.name,
        "label": one.metric.label,
        "first": one.first,
        "second": one.second,
        "old": {
            **{name: old[name] for name in _OLD_TEST},
            "p_holm_by_bootstrap": one.old_p_holm,
        },
        "new": {**one.difference.plain(), "p": one.p, "p_holm": one.p_holm},
        "changed": one.changed,
    }


_OLD_TEST = ("n", "difference", "low", "high", "p", "p_holm", "method")
