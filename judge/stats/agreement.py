"""How well judges agree with readers, and readings with each other.

`values` is studies by raters, NaN where a rater has no value: first the judges, then the
readers. The mean of the readers of a study is that of those who have a value. What is found comes
as JSON's types: a figure is `Estimate.plain()`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from judge.stats.correlation import (
    ACCURACY,
    FIGURES,
    LEAST_STUDIES,
    correlate,
    round_to_largest,
    undefined_estimate,
)
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    LEAST_UNITS,
    ONE_PATIENT,
    Z_95,
    Bools,
    Codes,
    Resamples,
    Values,
    clustered_error,
    draw_resamples,
    interval,
    rate_interval,
    student,
)
from judge.stats.rater_figures import (
    LEAST_POSITIVES,
    LEAST_READERS,
    FigureDraws,
    Measure,
    RaterFigures,
    mean_of_sets,
    plain_figures,
    rater_figures,
    resampled_draws,
)
from judge.stats.scores import ROUNDING
from judge.text import counted

NO_STUDY = "no study has the word of both"
EXPERTS = 0.2
"""The epsilon of the alternative annotator test that its authors advise for expert readers: what a
judge is forgiven for being cheap. Theirs is 0.15 for skilled readers and 0.1 for the crowd."""

LEAST_TESTED = 30
"""Of fewer patients, or studies, no test is given. The authors' signed-rank test for these takes a
judge that is worse by just epsilon for as good in 24 to 46%, since the differences are skewed."""
PASSES = 0.5
"""The winning rate from which on a judge passes."""


def agreement(
    values: Values, n_judges: int, resamples: Resamples, *, random_readers: bool = False
) -> dict[str, Any]:
    """Return how the first `n_judges` columns correlate with the readers, the others.

    `judges` has a judge's figures as a reader's are made: in the place of each reader it is held
    against the mean of the others, on the studies that this reader has, and the mean over these
    `n_sets` sets is its figure. `all_readers` within it are the figures against the mean of all
    readers, which papers report; with one reader, and where no two readers have a study in common,
    they are both (`n_sets` is then 0). `readers` has those of each reader against the mean of the
    others. `mean` is the mean over the readers, the ceiling, and its `range` the least and the
    greatest of theirs; without a value for fewer than ten studies, and where a reader never varies.

    Besides `METHODS` each has the `preference_accuracy` over all pairs of studies.
    """

    rows = rater_figures(
        correlation_measure(resamples),
        values,
        n_judges,
        random_readers=random_readers,
        shares=(ACCURACY,),
    )
    return correlation_figures(rows, values, n_judges)


def correlation_measure(resamples: Resamples) -> Measure:
    """Return what measures the correlations with the mean of readers, as `agreement` does."""

    def measure(column: Values, readers: Values) -> FigureDraws:
        names = ("the rater", "the mean of the readers")
        found = correlate(column, mean_of(readers), resamples, names)
        draws: dict[str, Values] = {}
        if found.figures is not None:
            draws = dict(zip(FIGURES, found.figures.T, strict=True))
        reasons = dict.fromkeys(FIGURES, found.reason) if found.reason else {}
        return resampled_draws(draws, found.known, resamples, reasons)

    return measure


def correlation_figures(
    rows: Sequence[RaterFigures], values: Values, n_judges: int
) -> dict[str, Any]:
    """Return the rows of `correlation_measure` as `agreement` does."""
    readers = values[:, n_judges:]
    judges = []
    for alone, row in _judge_rows(rows, n_judges):
        all_readers = plain_figures(alone, FIGURES)
        figures = all_readers
        if row is not None and row.figures.draws:
            figures = plain_figures(row, FIGURES)
        judges.append({**figures, "all_readers": all_readers})
    by_reader = [plain_figures(row, FIGURES) for row in _reader_rows(rows, n_judges)]
    if readers.shape[1] == 1:
        known = np.zeros(len(readers), bool)
        none = undefined_estimate(known, "there is one reader").plain()
        by_reader = [{"n": 0, "n_sets": 0, **dict.fromkeys(FIGURES, none)}]
    return {
        "judges": judges,
        "readers": by_reader,
        "mean": _ceiling(rows, readers, n_judges),
    }


def _judge_rows(
    rows: Sequence[RaterFigures], n_judges: int
) -> list[tuple[RaterFigures, RaterFigures | None]]:
    """Return the rows of each judge: against all readers, and the mean over the sets or None."""
    pairs = []
    for number in range(n_judges):
        own = [row for row in rows if row.rater == number]
        over_sets = None
        if len(own) > 1:
            over_sets = own[1]
        pairs.append((own[0], over_sets))
    return pairs


def _reader_rows(rows: Sequence[RaterFigures], n_judges: int) -> list[RaterFigures]:
    """Return the rows of single readers: neither a judge's nor the mean over the readers."""
    return [row for row in rows if row.rater is not None and row.rater >= n_judges]


def _ceiling(
    rows: Sequence[RaterFigures], readers: Values, n_judges: int
) -> dict[str, Any]:
    """Return the mean over the readers, with the reason where it is refused."""
    mean = next((row for row in rows if row.rater is None), None)
    has_two_readers = (~np.isnan(readers)).sum(axis=1) > 1
    n = int(has_two_readers.sum())
    reason = _why_no_ceiling(mean, readers, n)
    if mean is None or reason is not None:
        none = undefined_estimate(has_two_readers, reason).plain()
        figures = dict.fromkeys(FIGURES, none)
        return {"n": n, "n_sets": 0, **figures, "range": dict.fromkeys(FIGURES)}
    ranges = {}
    for name in FIGURES:
        of_readers = []
        for row in _reader_rows(rows, n_judges):
            value = row.figures.value(name)
            if not np.isnan(value):
                of_readers.append(value)
        ranges[name] = [min(of_readers), max(of_readers)]
    return {**plain_figures(mean, FIGURES), "n": n, "range": ranges}


def _why_no_ceiling(mean: RaterFigures | None, readers: Values, n: int) -> str | None:
    """Return why the readers give no ceiling, None where they do; `n` studies have two of them."""
    if mean is None:
        return "there is one reader"
    n_constant = 0
    for column in readers.T:
        known = column[~np.isnan(column)]
        if len(np.unique(known)) == 1:
            n_constant += 1
    if n_constant:
        return (
            f"{n_constant} of {readers.shape[1]} readers mark the same in every study"
        )
    if n < LEAST_UNITS:
        return f"a ceiling needs {LEAST_UNITS} studies that two readers have, there are {n}"
    if not mean.figures.draws:
        return "no reader has a correlation with the others"
    return None


def mean_of(values: Values) -> Values:
    """Return the mean of each row over the columns that have a value, NaN where none has."""
    n = (~np.isnan(values)).sum(axis=1)
    total = np.nan_to_num(values).sum(axis=1)
    undefined = np.full(len(values), np.nan)
    mean: Values = np.divide(total, n, out=undefined, where=n > 0)
    return mean


def limits_of_agreement(judge: Values, readers: Values, units: Codes) -> dict[str, Any]:
    """Return the `bias` of one judge's counts and the limits of agreement [Bland and Altman 1999].

    The bias is the mean of the judge less the mean of the readers, `lower` and `upper` are bias ±
    1.96 `sd`, the standard deviation; none of fewer than three studies. Intervals are Student's t;
    the standard error of a limit is sd sqrt(1/n + 1.96² / (2 (n - 1))) [the same]. Where a patient
    has several studies all three are clustered, by the limit's linear approximation.
    """
    differences = judge - mean_of(readers)
    known = ~np.isnan(differences)
    d, units = differences[known], units[known]
    n = len(d)
    if n < LEAST_STUDIES:
        reason = (
            f"limits of agreement need {LEAST_STUDIES} studies, {n} have both values"
        )
        none = undefined_estimate(known, reason).plain()
        return {"n": n, "bias": none, "lower": none, "upper": none, "sd": None}
    bias = float(d.mean())
    sd = float(d.std(ddof=1))
    bias_error, n_units = clustered_error(d, units)
    lower_error = upper_error = float(sd * np.sqrt(1 / n + Z_95**2 / (2 * (n - 1))))
    why_not = None
    # Differences of large counts may differ by rounding alone.
    largest = float(np.abs(judge[known]).max() + 1)
    if sd <= ROUNDING * largest:
        sd = 0.0
        why_not = "all differences are the same, which gives no interval"
    elif n_units < 2:
        why_not = ONE_PATIENT
    elif n_units < n:
        # What each study adds to 1.96 sd, to first order.
        linear = Z_95 * ((d - bias) ** 2 - sd**2) / (2 * sd)
        lower_error, _ = clustered_error(d - linear, units)
        upper_error, _ = clustered_error(d + linear, units)
    values_and_errors = {
        "bias": (bias, bias_error),
        "lower": (bias - Z_95 * sd, lower_error),
        "upper": (bias + Z_95 * sd, upper_error),
    }
    figures: dict[str, Any] = {}
    for name, (value, error) in values_and_errors.items():
        estimate = Estimate(
            n=n,
            value=value,
            n_undefined=int((~known).sum()),
            reason=why_not,
        )
        if why_not is None:
            half = student(n_units - 1) * error
            estimate = replace(estimate, low=value - half, high=value + half)
        figures[name] = estimate.plain()
    return {"n": n, **figures, "sd": sd}


RATES = ("sensitivity", "specificity", "prevalence", "agreement")
"""Shares of studies: with one set of readers each is k of n."""

CHANCE_CORRECTED = ("kappa", "ac1")
DETECTION = (
    *RATES,
    *CHANCE_CORRECTED,
    "judge_rate",
    "reader_rate",
    "majority_rate",
    "bias",
)
_NOT_SHARES = (*CHANCE_CORRECTED, "bias")
_NO_ERROR = "no study has an error, by the readers"
_ALL_ERRORS = "every study has an error, by the readers"
_SAME = "the judge and the readers say the same one thing of every study"


def detection_measure(resamples: Resamples) -> Measure:
    """Return what measures how a rater finds the studies with an error, as `detection` does.

    Every figure is computed in each resample. Kappa has no interval where fewer than five studies
    have an error, or have none, by the readers' majority.
    """

    def measure(judge: Values, readers: Values) -> FigureDraws:
        share = mean_of(readers)
        known = ~(np.isnan(judge) | np.isnan(share))
        if not known.any():
            reasons = dict.fromkeys(DETECTION, NO_STUDY)
            return resampled_draws({}, known, resamples, reasons)
        # Clean is a study without an error: by the judge, by the readers' majority, by a share.
        judge_clean = (judge == 1) & known
        readers_share = np.where(known, share, 0)
        majority_clean = readers_share > 0.5
        both_clean = judge_clean & majority_clean
        columns = [known, judge_clean, majority_clean, both_clean, readers_share]
        sums = resamples.sums(np.column_stack(columns).astype(float))
        n_all, n_judge, n_majority, n_both, n_readers = sums.T
        n_both_found = n_all - n_judge - n_majority + n_both
        with np.errstate(divide="ignore", invalid="ignore"):
            agreement = (n_both + n_both_found) / n_all
            judge_rate = n_judge / n_all
            majority_rate = n_majority / n_all
            reader_rate = n_readers / n_all
            # What two raters with these rates would agree in by chance [Cohen; Gwet].
            by_chance_clean = judge_rate * majority_rate
            by_chance_found = (1 - judge_rate) * (1 - majority_rate)
            expected = by_chance_clean + by_chance_found
            mean_rate = (judge_rate + majority_rate) / 2
            expected_ac1 = 2 * mean_rate * (1 - mean_rate)
            draws = {
                "sensitivity": n_both_found / (n_all - n_majority),
                "specificity": n_both / n_majority,
                "prevalence": 1 - majority_rate,
                "agreement": agreement,
                "kappa": (agreement - expected) / (1 - expected),
                "ac1": (agreement - expected_ac1) / (1 - expected_ac1),
                "judge_rate": judge_rate,
                "reader_rate": reader_rate,
                "majority_rate": majority_rate,
                "bias": judge_rate - reader_rate,
            }
        n_clean = int(majority_clean.sum())
        n_positive = int(known.sum()) - n_clean
        no_interval = {}
        if min(n_positive, n_clean) < LEAST_POSITIVES:
            no_interval["kappa"] = (
                f"kappa has no interval where fewer than {LEAST_POSITIVES} studies have an error, "
                f"or fewer than {LEAST_POSITIVES} have none"
            )
        reasons = {"sensitivity": _NO_ERROR, "specificity": _ALL_ERRORS, "kappa": _SAME}
        return resampled_draws(draws, known, resamples, reasons, no_interval)

    return measure


def detection(judge: Values, readers: Values, resamples: Resamples) -> dict[str, Any]:
    """Return how one judge finds the studies with an error in the eyes of `readers`.

    A value is 1 where a rater says that the study has no error of a level, 0 where it has one.
    **Positive is a study that has an error.** The readers' majority says whether a study has one;
    where it is even, in `n_ties` of the `n` studies, the study counts as one that has: half of the
    readers would not sign it. `n_positive` have one, and `prevalence` is their share.

    `sensitivity`: of the studies that have one, the share where the judge says so; `specificity`:
    of those that have none. `agreement` is the share where judge and majority say the same, `kappa`
    Cohen's [Cohen 1960] and `ac1` Gwet's, (agreement - e) / (1 - e) with e = 2 s (1 - s), where s
    is the mean of the judge's and the majority's share of studies without an error [Gwet 2008]:
    where nearly all studies are alike kappa may be near 0 while nearly all is agreed.

    The rates are of studies *without* an error: `judge_rate`, `majority_rate`, and `reader_rate`,
    the mean over studies of the share of the study's readers who say so; `bias` is the judge's rate
    less the readers'. Kappa, AC1, the readers' rate and the bias have a bootstrap interval, the
    others Wilson's (`rate_interval`).
    """
    row = RaterFigures(
        rater=0,
        is_left_out=False,
        n_sets=0,
        figures=detection_measure(resamples)(judge, readers),
    )
    return detection_row(row, judge, readers, resamples)


def detection_row(
    row: RaterFigures, judge: Values, readers: Values, resamples: Resamples
) -> dict[str, Any]:
    """Return the figures of a rater against one set of readers, with counts and Wilson's intervals.

    Where the row says what the figure would be without each reader its own intervals are kept.
    """
    share = mean_of(readers)
    known = ~(np.isnan(judge) | np.isnan(share))
    units = resamples.units[known]
    n = int(known.sum())
    n_undefined = len(judge) - n
    judge_clean = judge[known] == 1
    shares = share[known]
    majority_clean = shares > 0.5
    has_error = ~majority_clean
    figures = plain_figures(row, DETECTION)

    def rate(is_yes: Bools, missing: str, among: Bools | None = None) -> Estimate:
        if among is None:
            counted = rate_interval(is_yes, units, missing)
        else:
            counted = rate_interval(is_yes[among], units[among], missing)
        return replace(counted, n_undefined=n_undefined)

    no_error = all_errors = NO_STUDY
    if n:
        no_error = _NO_ERROR
        all_errors = _ALL_ERRORS
    counted_rates = {
        "sensitivity": rate(~judge_clean, no_error, among=has_error),
        "specificity": rate(judge_clean, all_errors, among=majority_clean),
        "prevalence": rate(has_error, NO_STUDY),
        "agreement": rate(judge_clean == majority_clean, NO_STUDY),
        "judge_rate": rate(judge_clean, NO_STUDY),
        "majority_rate": rate(majority_clean, NO_STUDY),
    }
    # Where all readers say the same of all studies no resample differs.
    if n and shares.min() == shares.max() and shares[0] in (0, 1):
        counted_rates["reader_rate"] = counted_rates["majority_rate"]
    for name, estimate in counted_rates.items():
        # The row's own interval, which knows of the readers too.
        own = figures[name]
        if row.without is not None and own["low"] is not None:
            estimate = replace(estimate, low=own["low"], high=own["high"])
        figures[name] = estimate.plain()
    return {
        "n": n,
        "n_ties": int((shares == 0.5).sum()),
        "n_positive": int(has_error.sum()),
        **{name: figures[name] for name in DETECTION},
    }


def detections(
    values: Values, n_judges: int, resamples: Resamples, *, random_readers: bool = False
) -> list[tuple[RaterFigures, dict[str, Any]]]:
    """Return the figures of `detection` for all raters, as `rater_figures` orders them.

    A rater that is compared with one set of readers has counts; the mean over several sets has not.
    """
    shares = [name for name in DETECTION if name not in _NOT_SHARES]
    measure = detection_measure(resamples)
    rows = rater_figures(
        measure, values, n_judges, random_readers=random_readers, shares=shares
    )
    readers = values[:, n_judges:]
    found = []
    for row in rows:
        is_judge = row.rater is not None and row.rater < n_judges
        is_over_sets = row.is_left_out and is_judge
        if row.rater is None or is_over_sets:
            figures = plain_figures(row, DETECTION)
            del figures["n_sets"]
        else:
            held_against = readers
            if not is_judge:
                held_against = np.delete(readers, row.rater - n_judges, axis=1)
            rater = values[:, row.rater]
            figures = detection_row(row, rater, held_against, resamples)
        found.append((row, figures))
    return found


SEVERITY = ("weighted_kappa", "weighted_kappa_linear")


def severity_measure(resamples: Resamples, n_grades: int) -> Measure:
    """Return what measures how far raters agree on grades from 0 to `n_grades` - 1.

    `weighted_kappa` is Cohen's with quadratic weights, 1 - sum(w o) / sum(w e), where o and e are
    the observed and the expected shares of each pair of grades and w = (i - j)²; with w = |i - j|
    it is `weighted_kappa_linear` [Cohen 1968]. A rater's figure is the mean over the readers that
    it is compared with, one by one, since a mean of readers is no grade. It has no interval where a
    reader has fewer than five studies above the lowest grade.
    """
    grades = np.arange(n_grades)
    apart = np.abs(grades[:, None] - grades)
    weights = {"weighted_kappa": apart**2, "weighted_kappa_linear": apart}

    def of_reader(rater: Values, reader: Values) -> FigureDraws:
        known = ~(np.isnan(rater) | np.isnan(reader))
        if not known.any():
            reasons = dict.fromkeys(SEVERITY, NO_STUDY)
            return resampled_draws({}, known, resamples, reasons)
        draws = _weighted_kappas(
            rater, reader, known=known, resamples=resamples, weights=weights
        )
        reasons = dict.fromkeys(SEVERITY, "both give every study the same grade")
        no_interval = {}
        n_graded = int((reader[known] > 0).sum())
        if n_graded < LEAST_POSITIVES:
            reason = (
                f"kappa has no interval where a reader has fewer than {LEAST_POSITIVES} studies "
                "above the lowest grade"
            )
            no_interval = dict.fromkeys(SEVERITY, reason)
        return resampled_draws(draws, known, resamples, reasons, no_interval)

    def measure(rater: Values, readers: Values) -> FigureDraws:
        return mean_of_sets([of_reader(rater, reader) for reader in readers.T])

    return measure


def _weighted_kappas(
    rater: Values,
    reader: Values,
    *,
    known: Bools,
    resamples: Resamples,
    weights: Mapping[str, Values],
) -> dict[str, Values]:
    """Return kappa by each matrix of weights in every resample, NaN where chance alone agrees."""
    n_labels = len(next(iter(weights.values())))
    # One column for each pair of labels, 1 where a study has this pair.
    cells = np.zeros((len(rater), n_labels * n_labels))
    column = (rater[known] * n_labels + reader[known]).astype(int)
    cells[np.flatnonzero(known), column] = 1
    # Resamples by the rater's labels by the reader's.
    observed = resamples.sums(cells).reshape(-1, n_labels, n_labels)
    n = observed.sum(axis=(1, 2))[:, None, None]
    by_rater = observed.sum(axis=2)[:, :, None]
    by_reader = observed.sum(axis=1)[:, None, :]
    draws = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = by_rater * by_reader / n
        for name, weight in weights.items():
            disagreed = (observed * weight).sum(axis=(1, 2))
            by_chance = (expected * weight).sum(axis=(1, 2))
            draws[name] = 1 - disagreed / by_chance
    return draws


def verdict_kappa(
    first: Values,
    second: Values,
    *,
    n_verdicts: int,
    resamples: Resamples,
    unit_words: str = "studies",
) -> Estimate:
    """Return Cohen's kappa of two readers' verdicts, numbered from 0, on the same `n` errors.

    It is (agreement - e) / (1 - e), with e the agreement that is expected by chance from how often
    each reader gives each verdict [Cohen 1960]. Without an error that both reviewed, and where
    both give one verdict to all, it is not defined: it has no value, and a `reason`. It has no
    interval where a reader gave fewer than five verdicts other than the most frequent one.
    `resamples` are of the studies, or patients, that the errors belong to.
    """
    n = len(first)
    if not n:
        return Estimate(n=0, reason="the two reviewed no error in common")
    apart = {"kappa": 1 - np.eye(n_verdicts)}
    known = np.ones(n, bool)
    draws = _weighted_kappas(
        first, second, known=known, resamples=resamples, weights=apart
    )["kappa"]
    if np.isnan(draws[0]):
        return Estimate(n=n, reason="both gave every error the same verdict")
    value = float(draws[0])
    for verdicts in (first, second):
        most_frequent = np.bincount(verdicts.astype(int)).max()
        if n - most_frequent < LEAST_POSITIVES:
            too_few = (
                f"kappa has no interval where a reader gave fewer than {LEAST_POSITIVES} verdicts "
                "other than the most frequent one"
            )
            return Estimate(n=n, value=value, reason=too_few)
    n_units = len(np.unique(resamples.units))
    low, high, reason = interval(draws[1:], n_units, unit_words)
    return Estimate(n=n, value=value, low=low, high=high, reason=reason)


RANKING = (ACCURACY, "kendall")


@dataclass(frozen=True, kw_only=True)
class CandidatePairs:
    """Pairs of studies whose candidates are reports on the same reference.

    `first` and `second` are the numbers of the pairs' studies; `resamples` draws the patients of
    the pairs, or the references where no patients are known. `n_references` have several
    candidates.
    """

    first: Codes
    second: Codes
    n_references: int
    resamples: Resamples


def candidate_pairs(
    references: Codes, clusters: Codes | None, rng: np.random.Generator, resamples: int
) -> CandidatePairs | None:
    """Return the pairs of studies with the same number in `references`, None where there is none.

    `clusters` numbers the patient of each study.
    """
    first: list[int] = []
    second: list[int] = []
    n_references = 0
    order = np.argsort(references, kind="stable")
    starts = np.flatnonzero(np.diff(references[order])) + 1
    for studies in np.split(order, starts):
        if len(studies) < 2:
            continue
        n_references += 1
        sides = np.triu_indices(len(studies), k=1)
        first += studies[sides[0]].tolist()
        second += studies[sides[1]].tolist()
    if not first:
        return None
    left = np.array(first)
    # Where no patients are known a reference is drawn with all of its pairs.
    unit_of_study = references
    if clusters is not None:
        unit_of_study = clusters
    drawn = draw_resamples(unit_of_study[left], len(left), rng, resamples)
    drawn = replace(drawn, has_patients=clusters is not None)
    return CandidatePairs(
        first=left,
        second=np.array(second),
        n_references=n_references,
        resamples=drawn,
    )


def pair_counts(
    pairs: CandidatePairs, rater: Values, readers: Values
) -> dict[str, int]:
    """Return how a rater orders the pairs that the mean of the readers orders.

    `n_pairs` are ordered by the readers: `n_right` alike by the rater, `n_tied` not at all,
    `n_wrong` the other way round. `n_tied_by_readers` further pairs are no preference and count
    nowhere.
    """
    by_rater, by_readers = _orders(pairs, rater, mean_of(readers))
    known = ~(np.isnan(by_rater) | np.isnan(by_readers))
    is_ordered = known & (by_readers != 0)
    is_tied = known & (by_readers == 0)
    # 1 where both prefer the same candidate, 0 where the rater prefers none, -1 else.
    agreement_of_pair = by_rater[is_ordered] * by_readers[is_ordered]
    return {
        "n_pairs": int(is_ordered.sum()),
        "n_right": int((agreement_of_pair > 0).sum()),
        "n_tied": int((agreement_of_pair == 0).sum()),
        "n_wrong": int((agreement_of_pair < 0).sum()),
        "n_tied_by_readers": int(is_tied.sum()),
    }


def _orders(
    pairs: CandidatePairs, rater: Values, reader: Values
) -> tuple[Values, Values]:
    """Return -1, 0 or 1 of each pair, by the rater and by the reader; NaN where one is unknown."""
    rater, reader = round_to_largest(rater), round_to_largest(reader)
    by_rater = np.sign(rater[pairs.first] - rater[pairs.second])
    by_reader = np.sign(reader[pairs.first] - reader[pairs.second])
    return by_rater, by_reader


def ranking_measure(pairs: CandidatePairs) -> Measure:
    """Return what measures how a rater orders the candidates of one reference.

    `preference_accuracy` is (right + tied / 2) / pairs that the mean of the readers orders, .5 by
    chance. `kendall` is tau-b within references, (right - wrong) / sqrt(pairs that the readers
    order x pairs that the rater orders), over the pairs of all references together.
    """
    resamples = pairs.resamples

    def measure(rater: Values, readers: Values) -> FigureDraws:
        by_rater, by_readers = _orders(pairs, rater, mean_of(readers))
        known = ~(np.isnan(by_rater) | np.isnan(by_readers))
        by_rater = np.nan_to_num(by_rater)
        by_readers = np.nan_to_num(by_readers)
        columns = np.column_stack([by_rater * by_readers, by_readers**2, by_rater**2])
        sums = resamples.sums(columns * known[:, None])
        right_less_wrong, readers_order, rater_orders = sums.T
        with np.errstate(divide="ignore", invalid="ignore"):
            somers_d = right_less_wrong / readers_order
            tau_b = right_less_wrong / np.sqrt(readers_order * rater_orders)
            draws = {ACCURACY: (1 + somers_d) / 2, "kendall": tau_b}
        reasons = dict.fromkeys(RANKING, "the readers prefer no candidate to another")
        if known.any() and readers_order[0] and not rater_orders[0]:
            reasons["kendall"] = "the rater prefers no candidate to another"
        return resampled_draws(draws, known, resamples, reasons)

    return measure


def alternative_annotator(
    judge: Values, readers: Values, units: Codes, *, epsilon: float = EXPERTS
) -> dict[str, Any]:
    """Test whether a judge may stand in for one of the readers [Calderon, Reichart and Dror 2025].

    For each reader h, over the n studies that h, the judge and one other reader at least have:
    the judge's and h's scores against the other readers are their negative root mean squared
    distance from them; of 0 and 1 that orders as the share of them who say the same. With W = 1 for
    who scores as high as the other or higher, else 0 (`judge_wins` and `reader_wins` are their
    means), d = W of h - W of the judge, and the hypothesis that the mean d is epsilon or more is
    tested from one side (`mean_below`). A reader is `won` where p, corrected over readers
    [Benjamini and Yekutieli 2001], is 0.05 at most. `omega` is the share of the tested readers that
    are won, and the judge passes from 0.5 on; `rho` is the mean of `judge_wins`. All three are None
    where there is a `reason`.
    """
    tests = []
    for index in range(readers.shape[1]):
        test = _reader_test(index, judge, readers, units, epsilon)
        tests.append({"reader": index, **test})
    tested = [test for test in tests if test["p"] is not None]
    result = {
        "epsilon": epsilon,
        "readers": tests,
        "omega": None,
        "rho": None,
        "passes": None,
    }
    if len(tested) < LEAST_READERS:
        having = "no reader has"
        if tested:
            having = counted(len(tested), "reader has", "readers have")
        most = max((test["n"] for test in tests), default=0)
        reason = (
            f"not done: it needs {LEAST_READERS} readers, each with {LEAST_TESTED} patients or "
            f"studies that the judge and another reader have too; {having} as many, and the most "
            f"studies of one reader are {most:,}"
        )
        return {**result, "reason": reason}
    from scipy.stats import false_discovery_control

    p_values = [test["p"] for test in tested]
    adjusted = false_discovery_control(p_values, method="by").tolist()
    for test, p in zip(tested, adjusted, strict=True):
        test["p_adjusted"] = p
        test["won"] = p <= 0.05
    omega = sum(test["won"] for test in tested) / len(tested)
    rho = sum(test["judge_wins"] for test in tested) / len(tested)
    return {**result, "omega": omega, "rho": rho, "passes": omega >= PASSES}


def _reader_test(
    index: int, judge: Values, readers: Values, units: Codes, epsilon: float
) -> dict[str, Any]:
    reader = readers[:, index]
    others = np.delete(readers, index, axis=1)
    has_no_other = np.isnan(others).all(axis=1)
    known = ~(np.isnan(judge) | np.isnan(reader) | has_no_other)
    test: dict[str, Any] = {
        "n": int(known.sum()),
        "judge_wins": None,
        "reader_wins": None,
        "p": None,
        "p_adjusted": None,
        "won": False,
    }
    if not test["n"]:
        return test
    # The judge and the reader by studies by the other readers; equal but for rounding is equal.
    both = np.stack([judge, reader])[:, known, None]
    distances = round_to_largest(both - others[known])
    by_judge, by_reader = round_to_largest(np.nanmean(distances**2, axis=2))
    judge_wins = by_judge <= by_reader
    reader_wins = by_reader <= by_judge
    d = reader_wins.astype(float) - judge_wins
    test["judge_wins"] = float(judge_wins.mean())
    test["reader_wins"] = float(reader_wins.mean())
    test["p"] = mean_below(d, units[known], epsilon)
    return test


def mean_below(d: Values, units: Codes, epsilon: float) -> float | None:
    """Return the p-value that the mean of `d`, of -1, 0 and 1, is less than epsilon.

    By the score test of a difference of paired shares [Tango 1998], whose variance is that under
    the hypothesis: the authors' t test takes a judge that is worse by just epsilon for as good in
    12% at 30 studies, and has no value where all of `d` are alike. Where units (patients) have
    several studies the variance has their design effect. None for fewer than 30 units.
    """
    # Takes a quarter of a second to import, for those who validate only.
    from scipy.special import ndtr

    error, n_units = clustered_error(d, units)
    if n_units < LEAST_TESTED:
        return None
    n = len(d)
    b = int((d > 0).sum())
    c = int((d < 0).sum())
    # The likeliest share of -1 where that of 1 is larger by epsilon.
    linear = epsilon * (2 * n - b + c) - b - c
    discriminant = linear**2 + 8 * n * c * epsilon * (1 - epsilon)
    root = np.sqrt(discriminant)
    variance = ((root - linear) / (2 * n) + epsilon * (1 - epsilon)) / n
    if n_units < n:
        simple = d.var() / n
        # Where all of `d` are alike a patient counts as one study.
        design_effect = n / n_units
        if simple > 0:
            design_effect = max(1.0, error**2 / simple)
        variance *= design_effect
    p = 1.0
    if variance > 0:
        z = (d.mean() - epsilon) / np.sqrt(variance)
        p = float(ndtr(z))
    return max(p, float(np.finfo(float).tiny))  # never 0
