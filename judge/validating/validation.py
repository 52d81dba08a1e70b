"""How far judges agree with readers, and readers among themselves; which judge to choose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from itertools import combinations
from typing import Any

import numpy as np

from judge import plugins
from judge.rubrics.quantities import RATING, SharedMeasure
from judge.running.folder import RunFolder
from judge.signature import short_digest, signature_line
from judge.stats.agreement import (
    CHANCE_CORRECTED,
    EXPERTS,
    RANKING,
    SEVERITY,
    alternative_annotator,
    candidate_pairs,
    correlation_figures,
    correlation_measure,
    detection_measure,
    detections,
    limits_of_agreement,
    pair_counts,
    ranking_measure,
    severity_measure,
)
from judge.stats.correlation import ACCURACY
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    FEWER_RESAMPLES,
    LEAST_UNITS,
    Codes,
    Resamples,
    Values,
    draw_resamples,
    generator,
    rate_interval,
)
from judge.stats.metric import MINUS
from judge.stats.rater_figures import (
    LEAST_READERS,
    Measure,
    RaterFigures,
    judge_differences,
    plain_figures,
    rater_figures,
)
from judge.stats.significance import Resampling
from judge.stats.summary import OUTCOMES
from judge.types import Failed, Unparsed
from judge.validating.raters import RatedStudies

_USUAL = Resampling()


def compute_validation(
    studies: RatedStudies,
    resampling: Resampling = _USUAL,
    epsilon: float = EXPERTS,
    *,
    random_readers: bool = False,
) -> dict[str, Any]:
    """Return the figures of a validation as JSON's types.

    Keys: `signature`, `judges`, `readers`, `n_studies`, `patient_field`, `readers_are` (`fixed` or
    `random`), `resampling`, `notes`; `judge_table` (agreement, unread answers, stability, price and
    time by judge); `agreement`, `ceiling`, `ceiling_mean` (correlations by quantity); `ranking`
    (candidates of one reference, where there are any, in `n_references`); `no_LEVEL_error` for each
    level that all runs have (whether a study has such an error, by judge and by reader, for all
    studies and each study class); `severity` (weighted kappa of the `severities`), `differences`
    (of each two judges); `limits` (bias and limits of agreement of counts), `alt_test`. Each figure
    has `value`, `low`, `high` and `n`, and a `reason` where it has no value. Raises `JudgeError`
    for damaged runs.

    Rows of judges and readers have `against`: `all readers`, `other readers` (a reader's), or
    `leave one out`, the mean over the sets that leave one reader out. There the judge stands in for
    each reader in turn, so its figures and the mean of the readers' compare like with like.
    """
    n = len(studies.study_ids)
    resampling = replace(resampling, resamples=resampling.resamples or FEWER_RESAMPLES)
    rng = generator(resampling.seed, "validation", {})
    resamples = draw_resamples(studies.clusters, n, rng, resampling.resamples)
    n_judges = len(studies.judges)
    quantities = [
        quantity
        for quantity in studies.quantities
        if not np.isnan(studies.values[quantity.name][:, n_judges:]).all()
    ]
    levels = [quantity for quantity in quantities if quantity.is_level]
    counts = [quantity for quantity in quantities if quantity.role == "count"]
    notes = []
    lacking = [one.label for one in studies.quantities if one not in quantities]
    if lacking:
        notes.append(
            f"{', '.join(lacking)} cannot be compared: the readers were not asked"
        )
    alternatives = list(_alternatives(studies, counts, resamples, epsilon))
    reasons = [row["reason"] for row in alternatives if row["passes"] is None]
    figures = RatersFigures(
        studies, resamples, resampling, random_readers=random_readers
    )
    correlations = figures.correlations(quantities)
    ranking = figures.ranking(quantities)
    detections = {
        f"no_{level.name}_error": list(figures.detection(level)) for level in levels
    }
    severity = figures.severity()
    if n < LEAST_UNITS:
        notes.append(f"only {n} studies were read: correlations have no interval")
    if random_readers and len(studies.readers) < LEAST_READERS:
        notes.append(
            f"intervals over readers need {LEAST_READERS} readers, there are "
            f"{len(studies.readers)}: there are none"
        )
    return {
        "signature": _signature(
            studies, resampling, epsilon, random_readers=random_readers
        ),
        **{
            side: [
                {
                    "name": rater.name,
                    "run": rater.shown,
                    "judge": rater.run.manifest.judge.version,
                    "rubric": rater.run.manifest.rubric,
                    "signature": rater.run.signature,
                }
                for rater in raters
            ]
            for side, raters in (
                ("judges", studies.judges),
                ("readers", studies.readers),
            )
        },
        "n_studies": n,
        **({"significant": studies.significant} if levels else {}),
        "patient_field": studies.patient_field,
        "readers_are": "random" if random_readers else "fixed",
        "resampling": {"resamples": resampling.resamples, "seed": resampling.seed},
        "notes": [
            *studies.notes,
            *notes,
            *(f"alternative-annotator test {why}" for why in dict.fromkeys(reasons)),
        ],
        "judge_table": judge_table(
            studies, quantities, correlations["agreement"], resamples.units
        ),
        **correlations,
        "n_references": figures.n_references,
        "ranking": ranking,
        **detections,
        "severities": list(studies.severities),
        "severity": severity,
        "differences": figures.differences,
        "limits": _limits(studies, counts, resamples.units),
        "alt_test": alternatives,
    }


def _limits(
    studies: RatedStudies, counts: Sequence[SharedMeasure], units: Codes
) -> list[dict[str, Any]]:
    """Return the bias and the limits of agreement of each count and judge."""
    rows = []
    for quantity in counts:
        values = studies.values[quantity.name]
        readers = values[:, len(studies.judges) :]
        for column, judge in enumerate(studies.judges):
            limits = limits_of_agreement(values[:, column], readers, units)
            rows.append({**_named(quantity), "judge": judge.name, **limits})
    return rows


def _named(quantity: SharedMeasure) -> dict[str, str | None]:
    return {
        "quantity": quantity.name,
        "label": quantity.label,
        "category": quantity.category,
    }


def _columns(
    studies: RatedStudies, quantity: SharedMeasure
) -> list[tuple[dict[str, Any], Values]]:
    """Scores and metrics of the opposite direction are negated."""
    columns = []
    if quantity.name != RATING:
        for judge, values in zip(
            studies.judges, studies.values[quantity.name].T, strict=False
        ):
            names = {"judge": judge.name, "measure": quantity.label, "own": True}
            columns.append((names, values))
    if quantity.category or quantity.role == "score":
        return columns
    for score in studies.scores:
        is_same = score.higher_is_better == quantity.higher_is_better
        label = score.label if is_same else f"{MINUS}{score.label}"
        names = {"judge": score.judge, "measure": label, "own": False}
        columns.append((names, score.values if is_same else -score.values))
    return columns


class RatersFigures:
    """The figures of judges and readers, quantity by quantity; `differences` fills on the way."""

    def __init__(
        self,
        studies: RatedStudies,
        resamples: Resamples,
        resampling: Resampling,
        *,
        random_readers: bool,
    ) -> None:
        """Take the studies, and the resamples of all of them."""
        self.studies = studies
        self.resamples = resamples
        self.resampling = resampling
        self.random_readers = random_readers
        self.differences: list[dict[str, Any]] = []
        rng = generator(resampling.seed, "validation", {"pairs": "within references"})
        n_draws = resampling.draws.count(len(resamples.units))
        self.pairs = candidate_pairs(studies.references, studies.clusters, rng, n_draws)

    @property
    def n_references(self) -> int:
        """How many references have several candidates."""
        return 0 if self.pairs is None else self.pairs.n_references

    def correlations(
        self, quantities: Sequence[SharedMeasure]
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the correlations with the readers, by quantity and measure of a judge."""
        rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("agreement", "ceiling", "ceiling_mean")
        }
        measure = correlation_measure(self.resamples)
        for quantity in quantities:
            columns, grid = self._grid(quantity)
            found = rater_figures(
                measure,
                grid,
                len(columns),
                random_readers=self.random_readers,
                shares=(ACCURACY,),
            )
            figures = correlation_figures(found, grid, len(columns))
            rows["agreement"] += [
                {**_named(quantity), **names, **correlations}
                for names, correlations in zip(columns, figures["judges"], strict=True)
            ]
            rows["ceiling"] += [
                {**_named(quantity), "reader": reader.name, **correlations}
                for reader, correlations in zip(
                    self.studies.readers, figures["readers"], strict=False
                )
            ]
            rows["ceiling_mean"].append({**_named(quantity), **figures["mean"]})
            if not quantity.category:
                self._compare(
                    measure,
                    found,
                    grid,
                    names=("kendall",),
                    about=_named(quantity),
                    columns=columns,
                )
        return rows

    def ranking(self, quantities: Sequence[SharedMeasure]) -> list[dict[str, Any]]:
        """Return how raters order the candidates of one reference; empty where none has several."""
        if self.pairs is None:
            return []
        measure = ranking_measure(self.pairs)
        rows = []
        for quantity in quantities:
            if quantity.category:
                continue
            columns, grid = self._grid(quantity)
            n_columns = len(columns)
            found = rater_figures(
                measure,
                grid,
                n_columns,
                random_readers=self.random_readers,
                shares=(ACCURACY,),
            )
            readers = grid[:, n_columns:]
            for row in found:
                names = self._rater_names(row, columns)
                figures = plain_figures(row, RANKING)
                against = None
                if row.rater is not None and row.rater >= n_columns:
                    against = np.delete(readers, row.rater - n_columns, axis=1)
                elif not row.is_left_out:
                    against = readers
                if row.rater is not None and against is not None:
                    figures |= pair_counts(self.pairs, grid[:, row.rater], against)
                rows.append({**_named(quantity), **names, **figures})
            within = {**_named(quantity), "within_references": True}
            self._compare(
                measure, found, grid, names=(ACCURACY,), about=within, columns=columns
            )
        return rows

    def detection(self, level: SharedMeasure) -> Iterator[dict[str, Any]]:
        """Yield how raters find studies with an error of a level, for all and each study class."""
        studies = self.studies
        is_clean = _is_clean(studies.values[level.name])
        names = sorted({name for name in studies.study_classes if name is not None})
        groups: list[tuple[str | None, Any, Resamples]] = [
            (None, slice(None), self.resamples)
        ]
        for name in names if len(names) > 1 else ():
            rows = np.flatnonzero(
                [study_class == name for study_class in studies.study_classes]
            )
            clusters = None if studies.clusters is None else studies.clusters[rows]
            rng = generator(self.resampling.seed, "validation", {"study_class": name})
            of_class = draw_resamples(
                clusters, len(rows), rng, self.resampling.resamples
            )
            groups.append((name, rows, of_class))
        judges = [{"judge": judge.name} for judge in studies.judges]
        for group, rows, resamples in groups:
            values = is_clean[rows]
            found = detections(
                values, len(judges), resamples, random_readers=self.random_readers
            )
            for row, figures in found:
                yield {
                    **self._rater_names(row, judges),
                    "study_class": group,
                    **figures,
                }
            if group is None:
                self._compare(
                    detection_measure(resamples),
                    [row for row, _ in found],
                    values,
                    names=("agreement", *CHANCE_CORRECTED),
                    about={
                        "quantity": f"no_{level.name}_error",
                        "label": f"no {level.label.removesuffix('s')}",
                    },
                    columns=judges,
                )

    def severity(self) -> list[dict[str, Any]]:
        """Return the weighted kappa of the studies' severities; empty where there are none."""
        studies = self.studies
        if not studies.severities:
            return []
        judges = [{"judge": judge.name} for judge in studies.judges]
        measure = severity_measure(self.resamples, len(studies.severities) + 1)
        found = rater_figures(
            measure, studies.grades, len(judges), random_readers=self.random_readers
        )
        names = {"quantity": "severity", "label": "highest severity"}
        self._compare(
            measure,
            found,
            studies.grades,
            names=SEVERITY[:1],
            about=names,
            columns=judges,
        )
        return [
            {**self._rater_names(row, judges), **plain_figures(row, SEVERITY)}
            for row in found
        ]

    def _grid(self, quantity: SharedMeasure) -> tuple[list[dict[str, Any]], Values]:
        """Return the names of a quantity's columns of judges, and these with the readers'."""
        columns = _columns(self.studies, quantity)
        readers = self.studies.values[quantity.name][:, len(self.studies.judges) :]
        grid = np.column_stack([*(values for _, values in columns), readers])
        return [names for names, _ in columns], grid

    def _rater_names(
        self, row: RaterFigures, columns: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        if row.rater is None:
            return {"reader": None, "against": "leave one out"}
        if row.rater >= len(columns):
            reader = self.studies.readers[row.rater - len(columns)]
            return {"reader": reader.name, "against": "other readers"}
        against = "leave one out" if row.is_left_out else "all readers"
        return {**columns[row.rater], "against": against}

    def _compare(
        self,
        measure: Measure,
        rows: Sequence[RaterFigures],
        values: Values,
        *,
        names: Sequence[str],
        about: Mapping[str, Any],
        columns: Sequence[Mapping[str, Any]],
    ) -> None:
        """Add the paired differences of each two judges, in the same measure of theirs.

        A metric of a file is compared with the judges' scores, as if it were another judge.
        """
        pairs = [
            (first, second)
            for first, second in combinations(range(len(columns)), 2)
            if _is_comparable(columns[first], columns[second])
        ]
        found = judge_differences(
            measure,
            rows,
            values,
            len(columns),
            names,
            pairs=pairs,
            random_readers=self.random_readers,
        )
        for first, second, estimates in found:
            for name, estimate in estimates.items():
                self.differences.append(
                    {
                        **about,
                        "figure": name,
                        "judge": columns[first]["judge"],
                        "measure": columns[first].get("measure"),
                        "other": columns[second]["judge"],
                        "other_measure": columns[second].get("measure"),
                        "difference": estimate.plain(),
                    }
                )


def _is_comparable(column: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two judges are compared by these columns: by the same measure of theirs.

    A metric of a file, whose judge is the metric, is compared with every score.
    """
    if column["judge"] == other["judge"] or column.get("own") != other.get("own"):
        return False
    names = [str(one.get("measure")).removeprefix(MINUS) for one in (column, other)]
    return (
        names[0] == names[1]
        or names[0] == column["judge"]
        or names[1] == other["judge"]
    )


def _is_clean(counts: Values) -> Values:
    is_clean: Values = np.where(np.isnan(counts), np.nan, counts == 0)
    return is_clean


def _alternatives(
    studies: RatedStudies,
    counts: Sequence[SharedMeasure],
    resamples: Resamples,
    epsilon: float,
) -> Iterator[dict[str, Any]]:
    n_judges = len(studies.judges)
    for quantity in counts:
        if quantity.category:
            continue
        grid = studies.values[quantity.name]
        forms = [(quantity.name, quantity.label, grid, "negative rmse")]
        if quantity.is_level:
            label = f"no {quantity.label.removesuffix('s')}"
            forms.append(
                (f"no_{quantity.name}_error", label, _is_clean(grid), "accuracy")
            )
        for name, label, values, scoring in forms:
            for judge, column in zip(studies.judges, values.T, strict=False):
                figures = alternative_annotator(
                    column, values[:, n_judges:], resamples.units, epsilon=epsilon
                )
                for test in figures["readers"]:
                    test["reader"] = studies.readers[test["reader"]].name
                names = {"quantity": name, "label": label, "scoring": scoring}
                yield {**names, "judge": judge.name, **figures}


def _signature(
    studies: RatedStudies,
    resampling: Resampling,
    epsilon: float,
    *,
    random_readers: bool,
) -> str:
    parts = [
        "validate:2",
        *(
            f"{side}:{len(raters)}+"
            + short_digest(
                sorted(f"{rater.name}\t{rater.run.signature}" for rater in raters)
            )
            for side, raters in (
                ("judges", studies.judges),
                ("readers", studies.readers),
            )
        ),
        *([f"metrics:{short_digest(sorted(studies.files))}"] if studies.files else []),
        f"studies:{len(studies.study_ids)}+{short_digest(studies.study_ids)}",
        f"level:{studies.level or 'own'}",
        f"patient:{studies.patient_field or 'none'}",
        f"readers-are:{'random' if random_readers else 'fixed'}",
        f"resamples:{resampling.resamples}",
        f"seed:{resampling.seed}",
        f"epsilon:{epsilon:g}",
        f"numpy:{version('numpy')}",
        f"version:{plugins.version()}",
    ]
    return signature_line(parts)


def judge_table(
    studies: RatedStudies,
    quantities: Sequence[SharedMeasure],
    agreement: Sequence[Mapping[str, Any]],
    units: Codes,
) -> list[dict[str, Any]]:
    """Return one row per judge, as JSON's types.

    `kendall` is the agreement with the readers on `quantity`, as a reader's is made: significant
    errors, else all errors, else the score. `unread` is the share of the studies whose answer could
    not be read or never came. `dollars_per_1000` is the price of 1,000 studies in US dollars,
    `seconds` the time of the run per study, with `concurrency` requests at a time. `same_verdict`,
    in runs that asked the same judge again, is the share of studies on which they all agree whether
    there is such an error. A figure without a value has a `reason`. `units` numbers each study's
    patient.
    """
    totals = [quantity for quantity in quantities if not quantity.category]
    quantity = next(iter(sorted(totals, key=lambda total: not total.is_level)), None)
    kendall = {
        row["judge"]: row["kendall"]
        for row in agreement
        if row["own"] and quantity and row["quantity"] == quantity.name
    }
    stability = _same_verdict(studies, quantity, units)
    rows = []
    for judge, outcomes in zip(studies.judges, studies.runs.outcomes.T, strict=False):
        is_lost = np.asarray(
            (outcomes == OUTCOMES[Unparsed]) | (outcomes == OUTCOMES[Failed])
        )
        lost = {
            f"n_{OUTCOMES[kind]}": int((outcomes == OUTCOMES[kind]).sum())
            for kind in (Unparsed, Failed)
        }
        rows.append(
            {
                "judge": judge.name,
                "quantity": quantity and quantity.name,
                "label": quantity and quantity.label,
                "kendall": kendall.get(judge.name) or _unknown("no count in common"),
                "unread": {**rate_interval(is_lost, units).plain(), **lost},
                **(
                    {"same_verdict": stability[judge.name]}
                    if judge.name in stability
                    else {}
                ),
                **_cost(judge.run),
                "concurrency": (judge.run.manifest.effort or {}).get("concurrency"),
            }
        )
    return rows


def _same_verdict(
    studies: RatedStudies, quantity: SharedMeasure | None, units: Codes
) -> dict[str, dict[str, Any]]:
    """Return by judge how often its runs agree that a study has no error, for repeated judges."""
    columns_of: dict[str, list[int]] = {}
    for column, judge in enumerate(studies.judges):
        manifest = judge.run.manifest
        # Else they are the cache's answers again.
        if manifest.spent is not None and manifest.spent.asked:
            same = manifest.signature_parts(without=("repeat", "version"))
            columns_of.setdefault(signature_line(same), []).append(column)
    figures: dict[str, dict[str, Any]] = {}
    for columns in columns_of.values():
        if quantity is None or quantity.role != "count" or len(columns) < 2:
            continue
        is_clean = _is_clean(studies.values[quantity.name][:, columns])
        scored = ~np.isnan(is_clean).any(axis=1)
        is_same = (is_clean == is_clean[:, :1]).all(axis=1)
        figure = rate_interval(is_same[scored], units[scored]).plain()
        figures |= {studies.judges[column].name: figure for column in columns}
    return figures


def _cost(run: RunFolder) -> dict[str, dict[str, Any]]:
    manifest, spent = run.manifest, run.manifest.spent
    if spent is None or manifest.started is None or manifest.finished is None:
        unknown = _unknown("not recorded")
        return {"dollars_per_1000": unknown, "seconds": unknown}
    asked = spent.asked
    if spent.from_cache and not asked:
        unknown = _unknown("all from the cache")
        return {"dollars_per_1000": unknown, "seconds": unknown}
    n = run.summary().n_studies
    # Of the answers asked for: cached ones count as these.
    share = (asked + spent.from_cache) / asked / n if asked else 1 / n
    dollars = _unknown("no known price" if asked else "asks no server")
    if asked and spent.dollars is not None:
        per_1000 = 1_000 * spent.dollars * share
        dollars = Estimate(n=asked, value=per_1000).plain()
    started = datetime.fromisoformat(manifest.started)
    finished = datetime.fromisoformat(manifest.finished)
    per_study = (finished - started).total_seconds() * share
    seconds = Estimate(n=asked or n, value=per_study).plain()
    if manifest.batches:
        seconds = _unknown("judged in batches")
    elif manifest.shards:
        seconds = _unknown("judged in shards")
    return {"dollars_per_1000": dollars, "seconds": seconds}


def _unknown(reason: str) -> dict[str, Any]:
    return Estimate(n=0, reason=reason).plain()
