"""All that is said of judges beside readers, ready for JSON; tables are made of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from judge import plugins
from judge.rubrics.quantities import Quantity, quantities_of
from judge.signature import Signature
from judge.stats.agreement import (
    EXPERTS,
    Scoring,
    agreement,
    alternative_annotator,
    detection,
    limits_of_agreement,
    preference,
)
from judge.stats.bootstrap import LEAST_UNITS, generator
from judge.stats.correlation import Resamples, draw
from judge.stats.metric import MINUS
from judge.stats.panel import Values
from judge.stats.significance import Resampling
from judge.validating.error_matching import matched_errors
from judge.validating.judges import judge_table
from judge.validating.raters import RatedStudies, Score

_USUAL = Resampling()


def validate(
    studies: RatedStudies, how: Resampling = _USUAL, epsilon: float = EXPERTS
) -> dict[str, Any]:
    """Return how far the judges agree with the readers, and the readers among themselves.

    Keys: `signature`, `judges`, `readers`, `n_studies`, `patient_field`, `resampling`, `notes`;
    `judge_table` (agreement, unread answers, stability, price and time by judge); `agreement`,
    `ceiling`, `ceiling_mean` (correlations by quantity); `no_LEVEL_error` for each level that all
    runs have (whether a study has such an error, by judge and by reader, for all studies and each
    study class); `limits` (bias and limits of agreement of counts), `errors` (which errors match),
    `preference`, `alt_test`. Each figure has `value`, `low`, `high` and `n`, and a `reason` where
    it has no value. Raises `JudgeError` for damaged runs.
    """
    n = len(studies.study_ids)
    rng = generator(how.seed, "validation", {})
    resamples = draw(studies.clusters, n, rng, how.resamples)
    n_judges = len(studies.judges)
    quantities = [
        one
        for one in studies.quantities
        if not np.isnan(studies.values[one.name][:, n_judges:]).all()
    ]
    levels = [one for one in quantities if one.is_level]
    counts = [one for one in quantities if one.kind == "count"]
    errors, notes = matched_errors(studies, quantities, resamples.units, how)
    alternatives = list(_alternatives(studies, counts, resamples, epsilon))
    reasons = [one["reason"] for one in alternatives if one["passes"] is None]
    correlations = _correlations(studies, quantities, resamples)
    if n < LEAST_UNITS:
        notes.insert(0, f"only {n} studies were read: correlations have no interval")
    return {
        "signature": _signature(studies, how, epsilon),
        **{
            side: [
                {
                    "name": rater.name,
                    "run": rater.shown,
                    "judge": rater.run.manifest["judge"]["version"],
                    "rubric": rater.run.manifest["rubric"],
                    "signature": rater.run.signature,
                }
                for rater in of_side
            ]
            for side, of_side in (("judges", studies.judges), ("readers", studies.readers))
        },
        "n_studies": n,
        **({"significant": studies.significant} if levels else {}),
        "patient_field": studies.patient_field,
        "resampling": {"resamples": how.resamples, "seed": how.seed},
        "notes": [
            *studies.notes,
            *_lacking(studies, quantities),
            *notes,
            *(f"alternative-annotator test: {why}" for why in dict.fromkeys(reasons)),
        ],
        "judge_table": judge_table(studies, quantities, correlations["agreement"], resamples.units),
        **correlations,
        **{f"no_{one.name}_error": list(_level(studies, one, resamples, how)) for one in levels},
        "limits": [
            {**_of(one), "judge": judge.name}
            | limits_of_agreement(grid[:, at], grid[:, n_judges:], resamples.units)
            for one in counts
            for grid in [studies.values[one.name]]
            for at, judge in enumerate(studies.judges)
        ],
        "errors": errors,
        "preference": list(_preferences(studies, quantities, resamples)),
        "alt_test": alternatives,
    }


def _lacking(studies: RatedStudies, quantities: Sequence[Quantity]) -> list[str]:
    """Return which quantities the readers have no word on, and why."""
    by_reason: dict[str | None, list[str]] = {}
    for one in studies.quantities:
        if one in quantities:
            continue
        reasons = (
            measure.undefined
            for reader in studies.readers
            for measure in reader.run.rubric.measures
            if measure.undefined
            and measure.name in quantities_of(reader.rubric, level=studies.level)[one.name].measures
        )
        by_reason.setdefault(next(reasons, None), []).append(one.label)
    return [
        f"{', '.join(labels)} cannot be held against the readers' own" + (f": {why}" if why else "")
        for why, labels in by_reason.items()
    ]


def _of(one: Quantity) -> dict[str, str | None]:
    return {"quantity": one.name, "label": one.label, "category": one.category}


def _measured(studies: RatedStudies, one: Quantity) -> list[tuple[dict[str, Any], Values]]:
    """Return what is held against the readers' word on a quantity, each with its values.

    These are the judges' own word on it and, against totals and ratings, scores of judges and
    metrics of files; those that are better the other way round are negated.
    """
    columns = []
    if one.kind != "rating":
        for judge, values in zip(studies.judges, studies.values[one.name].T, strict=False):
            columns.append(({"judge": judge.name, "measure": one.label, "own": True}, values))
    if one.category or one.kind == "score":
        return columns
    return columns + [_turned(score, one) for score in studies.scores]


def _turned(score: Score, one: Quantity) -> tuple[dict[str, Any], Values]:
    is_same = score.higher_is_better == one.higher_is_better
    label = score.label if is_same else f"{MINUS}{score.label}"
    values = score.values if is_same else -score.values
    return {"judge": score.judge, "measure": label, "own": False}, values


def _correlations(
    studies: RatedStudies, quantities: Sequence[Quantity], resamples: Resamples
) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("agreement", "ceiling", "ceiling_mean")
    }
    for one in quantities:
        columns = _measured(studies, one)
        readers = studies.values[one.name][:, len(studies.judges) :]
        grid = np.column_stack([*(values for _, values in columns), readers])
        figures = agreement(grid, len(columns), resamples)
        rows["agreement"] += [
            {**_of(one), **about, **its}
            for (about, _), its in zip(columns, figures["judges"], strict=True)
        ]
        rows["ceiling"] += [
            {**_of(one), "reader": reader.name, **its}
            for reader, its in zip(studies.readers, figures["readers"], strict=True)
        ]
        rows["ceiling_mean"].append({**_of(one), **figures["mean"]})
    return rows


def _level(
    studies: RatedStudies, one: Quantity, resamples: Resamples, how: Resampling
) -> Iterator[dict[str, Any]]:
    is_clean = _is_clean(studies.values[one.name])
    names = sorted({name for name in studies.study_classes if name is not None})
    groups: list[tuple[str | None, Any, Resamples]] = [(None, slice(None), resamples)]
    for name in names if len(names) > 1 else ():
        rows = np.flatnonzero([study_class == name for study_class in studies.study_classes])
        clusters = None if studies.clusters is None else studies.clusters[rows]
        rng = generator(how.seed, "validation", {"study_class": name})
        groups.append((name, rows, draw(clusters, len(rows), rng, how.resamples)))
    for group, rows, drawn in groups:
        values = is_clean[rows]
        readers = values[:, len(studies.judges) :]
        for at, rater in enumerate(studies.raters):
            # A reader is held against the others.
            others = np.delete(readers, at - len(studies.judges), 1) if rater.is_reader else readers
            side = "reader" if rater.is_reader else "judge"
            figures = detection(values[:, at], others, drawn)
            yield {side: rater.name, "study_class": group, **figures}


def _is_clean(counts: Values) -> Values:
    is_clean: Values = np.where(np.isnan(counts), np.nan, counts == 0)
    return is_clean


def _preferences(
    studies: RatedStudies, quantities: Sequence[Quantity], resamples: Resamples
) -> Iterator[dict[str, Any]]:
    candidates_of = studies.candidates_of
    rows = np.flatnonzero([study is not None for study in candidates_of])
    names, numbers = np.unique([candidates_of[row] or "" for row in rows], return_inverse=True)
    if len(names) == len(rows):
        return
    units, of_row = np.unique(resamples.units[rows], return_inverse=True)
    part = Resamples(of_row, resamples.weights[units], resamples.has_patients)
    for one in quantities:
        if one.category:
            continue
        readers = studies.values[one.name][rows, len(studies.judges) :]
        for about, values in _measured(studies, one):
            its = preference(values[rows], readers, numbers, part)
            about = {name: about[name] for name in ("judge", "measure")}
            yield {**_of(one), **about, **its}


def _alternatives(
    studies: RatedStudies, counts: Sequence[Quantity], resamples: Resamples, epsilon: float
) -> Iterator[dict[str, Any]]:
    n_judges = len(studies.judges)
    for one in counts:
        if one.category:
            continue
        grid = studies.values[one.name]
        forms: list[tuple[str, str, Values, Scoring]] = [
            (one.name, one.label, grid, "negative rmse")
        ]
        if one.is_level:
            label = f"no {one.label.removesuffix('s')}"
            forms.append((f"no_{one.name}_error", label, _is_clean(grid), "accuracy"))
        for name, label, values, scoring in forms:
            for judge, column in zip(studies.judges, values.T, strict=False):
                its = alternative_annotator(
                    column, values[:, n_judges:], resamples.units, scoring=scoring, epsilon=epsilon
                )
                for test in its["readers"]:
                    test["reader"] = studies.readers[test["reader"]].name
                about = {"quantity": name, "label": label, "scoring": scoring}
                yield {**about, "judge": judge.name, **its}


def _signature(studies: RatedStudies, how: Resampling, epsilon: float) -> str:
    parts = [
        "validate:1",
        *(
            f"{what}:{len(of)}+{_digest(sorted(f'{one.name}	{one.run.signature}' for one in of))}"
            for what, of in (("judges", studies.judges), ("readers", studies.readers))
        ),
        *([f"metrics:{_digest(sorted(studies.files))}"] if studies.files else []),
        f"studies:{len(studies.study_ids)}+{_digest(studies.study_ids)}",
        f"level:{studies.level or 'own'}",
        f"patient:{studies.patient_field or 'none'}",
        f"resamples:{how.resamples}",
        f"seed:{how.seed}",
        f"epsilon:{epsilon:g}",
        f"numpy:{version('numpy')}",
        f"version:{plugins.version()}",
    ]
    return str(Signature(parts))


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
