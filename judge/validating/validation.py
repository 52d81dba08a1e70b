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
from judge.validating.raters import RatedStudies, Rater

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
    quantities = []
    lacking = []
    for quantity in studies.quantities:
        by_readers = studies.values[quantity.name][:, n_judges:]
        if np.isnan(by_readers).all():
            lacking.append(quantity.label)
        else:
            quantities.append(quantity)
    levels = [quantity for quantity in quantities if quantity.is_level]
    counts = [quantity for quantity in quantities if quantity.role == "count"]
    notes = list(studies.notes)
    if lacking:
        notes.append(
            f"{', '.join(lacking)} cannot be compared: the readers were not asked"
        )
    alternatives = list(_alternatives(studies, counts, resamples, epsilon))
    reasons = [row["reason"] for row in alternatives if row["passes"] is None]
    figures = RatersFigures(
        studies,
        resamples,
        resampling,
        random_readers=random_readers,
    )
    # Each adds its differences, which are printed in this order.
    correlations = figures.correlations(quantities)
    ranking = figures.ranking(quantities)
    detections = {}
    for level in levels:
        detections[f"no_{level.name}_error"] = list(figures.detection(level))
    severity = figures.severity()
    if n < LEAST_UNITS:
        notes.append(f"only {n} studies were read: correlations have no interval")
    if random_readers and len(studies.readers) < LEAST_READERS:
        notes.append(
            f"intervals over readers need {LEAST_READERS} readers, there are "
            f"{len(studies.readers)}: there are none"
        )
    for reason in dict.fromkeys(reasons):
        notes.append(f"alternative-annotator test {reason}")
    signature = _signature(
        studies,
        resampling,
        epsilon,
        random_readers=random_readers,
    )
    readers_are = "fixed"
    if random_readers:
        readers_are = "random"
    significant = {}
    if levels:
        significant["significant"] = studies.significant
    of_judges = judge_table(
        studies,
        quantities,
        agreement=correlations["agreement"],
        units=resamples.units,
    )
    return {
        "signature": signature,
        "judges": _described(studies.judges),
        "readers": _described(studies.readers),
        "n_studies": n,
        **significant,
        "patient_field": studies.patient_field,
        "readers_are": readers_are,
        "resampling": {"resamples": resampling.resamples, "seed": resampling.seed},
        "notes": notes,
        "judge_table": of_judges,
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


def _described(raters: Sequence[Rater]) -> list[dict[str, str]]:
    """Return who the raters are, as JSON's types."""
    described = []
    for rater in raters:
        manifest = rater.run.manifest
        described.append(
            {
                "name": rater.name,
                "run": rater.shown,
                "judge": manifest.judge.version,
                "rubric": manifest.rubric,
                "signature": rater.run.signature,
            }
        )
    return described


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
        label, values = score.label, score.values
        if score.higher_is_better != quantity.higher_is_better:
            label, values = f"{MINUS}{label}", -values
        names = {"judge": score.judge, "measure": label, "own": False}
        columns.append((names, values))
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
        if self.pairs is None:
            return 0
        return self.pairs.n_references

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
        # One class alone is all studies again.
        if len(names) > 1:
            for name in names:
                rows, of_class = self._of_class(name)
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
                about = {
                    "quantity": f"no_{level.name}_error",
                    "label": f"no {level.label.removesuffix('s')}",
                }
                self._compare(
                    detection_measure(resamples),
                    [row for row, _ in found],
                    values,
                    names=("agreement", *CHANCE_CORRECTED),
                    about=about,
                    columns=judges,
                )

    def _of_class(self, name: str) -> tuple[Codes, Resamples]:
        """Return the rows of the studies of a class, and resamples of these alone."""
        studies = self.studies
        is_of_class = [study_class == name for study_class in studies.study_classes]
        rows = np.flatnonzero(is_of_class)
        clusters = None
        if studies.clusters is not None:
            clusters = studies.clusters[rows]
        rng = generator(self.resampling.seed, "validation", {"study_class": name})
        return rows, draw_resamples(
            clusters,
            len(rows),
            rng,
            self.resampling.resamples,
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
        rows = []
        for row in found:
            figures = plain_figures(row, SEVERITY)
            rows.append({**self._rater_names(row, judges), **figures})
        return rows

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
        against = "all readers"
        if row.is_left_out:
            against = "leave one out"
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
        pairs = []
        for first, second in combinations(range(len(columns)), 2):
            if _is_comparable(columns[first], columns[second]):
                pairs.append((first, second))
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
    measure = str(column.get("measure")).removeprefix(MINUS)
    other_measure = str(other.get("measure")).removeprefix(MINUS)
    is_same = measure == other_measure
    is_of_file = measure == column["judge"] or other_measure == other["judge"]
    return is_same or is_of_file


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
        f"judges:{len(studies.judges)}+{_raters_digest(studies.judges)}",
        f"readers:{len(studies.readers)}+{_raters_digest(studies.readers)}",
    ]
    if studies.files:
        parts.append(f"metrics:{short_digest(sorted(studies.files))}")
    readers_are = "fixed"
    if random_readers:
        readers_are = "random"
    parts += [
        f"studies:{len(studies.study_ids)}+{short_digest(studies.study_ids)}",
        f"level:{studies.level or 'own'}",
        f"patient:{studies.patient_field or 'none'}",
        f"readers-are:{readers_are}",
        f"resamples:{resampling.resamples}",
        f"seed:{resampling.seed}",
        f"epsilon:{epsilon:g}",
        f"numpy:{version('numpy')}",
        f"version:{plugins.version()}",
    ]
    return signature_line(parts)


def _raters_digest(raters: Sequence[Rater]) -> str:
    lines = [f"{rater.name}\t{rater.run.signature}" for rater in raters]
    return short_digest(sorted(lines))


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
    kendall = {}
    for row in agreement:
        if row["own"] and quantity and row["quantity"] == quantity.name:
            kendall[row["judge"]] = row["kendall"]
    stability = _same_verdict(studies, quantity, units)
    rows = []
    # Readers come after the judges, and have no outcomes of answers.
    for judge, outcomes in zip(studies.judges, studies.runs.outcomes.T, strict=False):
        is_unparsed = np.asarray(outcomes == OUTCOMES[Unparsed])
        is_failed = np.asarray(outcomes == OUTCOMES[Failed])
        unread = rate_interval(is_unparsed | is_failed, units).plain()
        unread[f"n_{OUTCOMES[Unparsed]}"] = int(is_unparsed.sum())
        unread[f"n_{OUTCOMES[Failed]}"] = int(is_failed.sum())
        same_verdict = {}
        if judge.name in stability:
            same_verdict["same_verdict"] = stability[judge.name]
        effort = judge.run.manifest.effort or {}
        row = {
            "judge": judge.name,
            "quantity": quantity and quantity.name,
            "label": quantity and quantity.label,
            "kendall": kendall.get(judge.name) or _unknown("no count in common"),
            "unread": unread,
            **same_verdict,
            **cost_of_run(judge.run),
            "concurrency": effort.get("concurrency"),
        }
        rows.append(row)
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


def cost_of_run(run: RunFolder) -> dict[str, dict[str, Any]]:
    """Return the price of 1,000 studies in US dollars and the seconds of a study, as JSON's types.

    Keys `dollars_per_1000` and `seconds`; one that is not known has a `reason`.
    """
    manifest = run.manifest
    spent = manifest.spent
    if spent is None or manifest.started is None or manifest.finished is None:
        unknown = _unknown("not recorded")
        return {"dollars_per_1000": unknown, "seconds": unknown}
    asked = spent.asked
    if spent.from_cache and not asked:
        unknown = _unknown("all from the cache")
        return {"dollars_per_1000": unknown, "seconds": unknown}
    n = run.summary().n_studies
    if asked:
        # Of the answers asked for: cached ones count as these.
        share = (asked + spent.from_cache) / asked / n
        dollars = _unknown("no known price")
    else:
        share = 1 / n
        dollars = _unknown("asks no server")
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
