"""All that is said of judges beside readers, ready for JSON; tables are made of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from judge import plugins, rubrics
from judge.rubrics.quantities import Quantity, quantities_of
from judge.signature import Signature
from judge.stats.agreement import Coefficients, agreement, limits_of_agreement, preference
from judge.stats.alternative_annotator import EXPERTS, Scoring, alternative_annotator
from judge.stats.correlation import Resamples, draw
from judge.stats.detection import Detection, Detections, detections
from judge.stats.metric import MINUS
from judge.stats.paired import Resampling
from judge.stats.panel import Values
from judge.stats.resample import LEAST_UNITS, generator
from judge.validating.errors import found_errors
from judge.validating.raters import RatedStudies, Rater, Score

_USUAL = Resampling()


@dataclass(frozen=True, slots=True)
class Measured:
    """One column that is held against what readers say: a judge's own word, or a score.

    `is_own` is true where it is the same quantity. A score that is better the other way round
    than the quantity is negated, and its label has a minus.
    """

    judge: str
    label: str
    values: Values
    is_own: bool


def validate(
    found: RatedStudies, how: Resampling = _USUAL, epsilon: float = EXPERTS
) -> dict[str, Any]:
    """Return how far the judges agree with the readers, and the readers among themselves.

    Keys: `signature`, `judges`, `readers`, `n_studies`, `patient_field`, `resampling`, `notes`;
    `agreement`, `ceiling`, `ceiling_mean` (correlations by quantity), `no_LEVEL_error` for each
    level that all runs have (whether a study has no such error, by judge and by reader, for all
    studies and each study class), `limits` (bias and limits of agreement of counts), `errors`
    (which errors match), `preference`, `alt_test`. Each figure has `value`, `low`, `high` and
    `n`, and where it has none a `reason`. Raises `JudgeError` for damaged runs.
    """
    resamples = _drawn(found, how)
    quantities = [one for one in found.quantities if _is_read(found, one)]
    categories = [one.category for one in quantities if one.category]
    errors, notes = found_errors(
        found.judges, found.readers, found.study_ids, resamples.units, categories, how
    )
    alternatives = list(_alternatives(found, quantities, resamples, epsilon))
    reasons = [one["reason"] for one in alternatives if one["passes"] is None]
    notes += [f"alternative-annotator test: {why}" for why in dict.fromkeys(reasons)]
    labels = {one.category: one.label for one in quantities if one.category}
    return {
        "signature": _signature(found, how, epsilon),
        "judges": [_described(one) for one in found.judges],
        "readers": [_described(one) for one in found.readers],
        "n_studies": len(found.study_ids),
        **({"significant": found.significant} if any(one.is_level for one in quantities) else {}),
        "patient_field": found.patient_field,
        "resampling": {"resamples": how.resamples, "seed": how.seed},
        "notes": [*found.notes, *_lacking(found), *_few(found), *notes],
        **_correlations(found, quantities, resamples),
        **{
            f"no_{one.name}_error": list(_levels(found, one, resamples, how))
            for one in quantities
            if one.is_level
        },
        "limits": [
            {**_of(one), "judge": judge.name}
            | limits_of_agreement(
                _judge(found, one, at), _readers(found, one), resamples.units
            ).plain()
            for one in quantities
            if one.kind == "count"
            for at, judge in enumerate(found.judges)
        ],
        "errors": [
            {"rater": one.rater, "is_reader": one.is_reader}
            | one.plain()
            | {"label": labels[one.category] if one.category else "all errors"}
            for one in errors
        ],
        "preference": list(_preferences(found, quantities, resamples)),
        "alt_test": alternatives,
    }


def _drawn(found: RatedStudies, how: Resampling) -> Resamples:
    rng = generator(how.seed, "validation", {})
    return draw(found.clusters, len(found.study_ids), rng, how.resamples)


def _judge(found: RatedStudies, one: Quantity, at: int) -> Values:
    column: Values = found.values[one.name][:, at]
    return column


def _readers(found: RatedStudies, one: Quantity) -> Values:
    grid: Values = found.values[one.name][:, len(found.judges) :]
    return grid


def _is_read(found: RatedStudies, one: Quantity) -> bool:
    return not bool(np.isnan(_readers(found, one)).all())


def _lacking(found: RatedStudies) -> list[str]:
    lacking = [one for one in found.quantities if not _is_read(found, one)]
    by_reason: dict[str | None, list[str]] = {}
    for one in lacking:
        reasons = (_why_undefined(reader, one.name, found.level) for reader in found.readers)
        why = next(filter(None, reasons), None)
        by_reason.setdefault(why, []).append(one.label)
    return [
        f"{', '.join(labels)} cannot be held against the readers' own" + (f": {why}" if why else "")
        for why, labels in by_reason.items()
    ]


def _why_undefined(reader: Rater, quantity: str, level: str | None) -> str | None:
    known_quantities = quantities_of(rubrics.load(reader.run.rubric.name), level=level)
    measures = known_quantities[quantity].measures
    known = reader.run.rubric.measures
    return next((one.undefined for one in known if one.name in measures and one.undefined), None)


def _few(found: RatedStudies) -> list[str]:
    n = len(found.study_ids)
    return [f"only {n} studies were read: correlations have no interval"] if n < LEAST_UNITS else []


def _of(one: Quantity) -> dict[str, str | None]:
    return {"quantity": one.name, "label": one.label, "category": one.category}


def _described(rater: Rater) -> dict[str, Any]:
    return {
        "name": rater.name,
        "run": rater.shown,
        "judge": rater.run.manifest["judge"]["version"],
        "rubric": rater.run.manifest["rubric"],
        "signature": rater.run.signature,
    }


def measured(found: RatedStudies, one: Quantity) -> list[Measured]:
    """Return what is held against the readers' word on a quantity: the judges' own, and scores.

    Scores and metrics of files are held against totals and ratings, not against categories.
    """
    own = [
        Measured(judge.name, one.label, _judge(found, one, at), is_own=True)
        for at, judge in enumerate(found.judges)
        if one.kind != "rating"
    ]
    if one.category or one.kind == "score":
        return own
    return own + [_turned(score, one) for score in found.scores]


def _turned(score: Score, one: Quantity) -> Measured:
    same = score.higher_is_better == one.higher_is_better
    label = score.label if same else f"{MINUS}{score.label}"
    return Measured(score.judge, label, score.values if same else -score.values, is_own=False)


def _correlations(
    found: RatedStudies, quantities: Sequence[Quantity], resamples: Resamples
) -> dict[str, list[dict[str, Any]]]:
    names = [reader.name for reader in found.readers]
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("agreement", "ceiling", "ceiling_mean")
    }
    for one in quantities:
        columns = measured(found, one)
        values = np.column_stack([*(of.values for of in columns), _readers(found, one)])
        of = agreement(values, len(columns), resamples)
        rows["agreement"] += [
            {**_of(one), "judge": column.judge, "measure": column.label, "own": column.is_own}
            | its.plain()
            for column, its in zip(columns, of.judges, strict=True)
        ]
        rows["ceiling"] += [
            {**_of(one), "reader": name, **its.plain()}
            for name, its in zip(names, of.ceiling.readers, strict=True)
        ]
        rows["ceiling_mean"].append({**_of(one), **_mean(of.ceiling.mean, of.ceiling.ranges)})
    return rows


def _mean(mean: Coefficients, ranges: Mapping[str, tuple[float, float] | None]) -> dict[str, Any]:
    ends = {name: list(of) if of else None for name, of in ranges.items()}
    return {**mean.plain(), "range": ends}


def _levels(
    found: RatedStudies, one: Quantity, resamples: Resamples, how: Resampling
) -> Iterator[dict[str, Any]]:
    counts = found.values[one.name]
    is_clean = np.where(np.isnan(counts), np.nan, counts == 0)
    n_judges = len(found.judges)
    yield from _detected(found, None, detections(is_clean, n_judges, resamples))
    classes = sorted({name for name in found.study_classes if name is not None})
    if len(classes) < 2:
        return
    for name in classes:
        rows = np.array([row for row, of in enumerate(found.study_classes) if of == name])
        clusters = None if found.clusters is None else found.clusters[rows]
        rng = generator(how.seed, "validation", {"study_class": name})
        drawn = draw(clusters, len(rows), rng, how.resamples)
        yield from _detected(found, name, detections(is_clean[rows], n_judges, drawn))


def _detected(found: RatedStudies, group: str | None, of: Detections) -> Iterator[dict[str, Any]]:
    sides: tuple[tuple[Sequence[Rater], Sequence[Detection]], ...] = (
        (found.judges, of.judges),
        (found.readers, of.ceiling),
    )
    for raters, detected in sides:
        for rater, its in zip(raters, detected, strict=True):
            key = "reader" if rater.is_reader else "judge"
            yield {key: rater.name, "study_class": group, **its.plain()}


def _preferences(
    found: RatedStudies, quantities: Sequence[Quantity], resamples: Resamples
) -> Iterator[dict[str, Any]]:
    rows = np.array([row for row, of in enumerate(found.candidates_of) if of is not None], int)
    if len({found.candidates_of[row] for row in rows}) == len(rows):
        return
    of_study = np.unique([found.candidates_of[row] for row in rows], return_inverse=True)[1]
    units = np.unique(resamples.units[rows], return_inverse=True)
    part = Resamples(units[1], resamples.weights[units[0]], resamples.has_patients)
    for one in quantities:
        if one.category:
            continue
        for column in measured(found, one):
            its = preference(column.values[rows], _readers(found, one)[rows], of_study, part)
            yield {**_of(one), "judge": column.judge, "measure": column.label, **its.plain()}


def _alternatives(
    found: RatedStudies, quantities: Sequence[Quantity], resamples: Resamples, epsilon: float
) -> Iterator[dict[str, Any]]:
    names = [reader.name for reader in found.readers]
    n_judges = len(found.judges)
    for one in quantities:
        if one.kind != "count" or one.category:
            continue
        counts = found.values[one.name]
        forms: list[tuple[str, str, Values, Scoring]] = [
            (one.name, one.label, counts, "negative rmse")
        ]
        if one.is_level:
            is_clean = np.where(np.isnan(counts), np.nan, counts == 0)
            label = f"no {one.label.removesuffix('s')}"
            forms.append((f"no_{one.name}_error", label, is_clean, "accuracy"))
        for name, label, grid, scoring in forms:
            key = {"quantity": name, "label": label, "scoring": scoring}
            for judge, column in zip(found.judges, grid.T, strict=False):
                readers = grid[:, n_judges:]
                its = alternative_annotator(
                    column, readers, resamples.units, scoring=scoring, epsilon=epsilon
                ).plain()
                tests = [{**test, "reader": names[test["reader"]]} for test in its["readers"]]
                yield {**key, "judge": judge.name, **its, "readers": tests}


def _signature(found: RatedStudies, how: Resampling, epsilon: float) -> str:
    parts = [
        "validate:1",
        *(
            f"{what}:{len(of)}+{_digest(sorted(f'{one.name}	{one.run.signature}' for one in of))}"
            for what, of in (("judges", found.judges), ("readers", found.readers))
        ),
        *([f"metrics:{_digest(sorted(found.files))}"] if found.files else []),
        f"studies:{len(found.study_ids)}+{_digest(found.study_ids)}",
        f"level:{found.level or 'own'}",
        f"patient:{found.patient_field or 'none'}",
        f"resamples:{how.resamples}",
        f"seed:{how.seed}",
        f"epsilon:{epsilon:g}",
        f"numpy:{version('numpy')}",
        f"version:{plugins.version()}",
    ]
    return str(Signature(parts))


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
