"""Which of the readers' errors a judge found, and which of the judge's a reader has.

Two errors of a study are the same where they share a category and are about the same thing: a
finding that the built-in lexicon knows in both texts; where one of the texts names none, at least
half of the words that carry meaning in the shorter text. Where one has no category that the others
could give, the words alone decide, and more than half of them have to be the same. Each error has
at most one partner, the best pairs first. Errors without a text cannot be matched, and a study in
which a rater has one is left out for that rater.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judge.backends import lexicon
from judge.comparing.recurring import errors_of
from judge.rubrics.contract import Rubric
from judge.rubrics.quantities import Quantity
from judge.stats.bootstrap import bootstrap_weights, generator, interval, unit_sums
from judge.stats.rates import Estimate, wilson
from judge.stats.significance import Resampling
from judge.validating.raters import RatedStudies

_WORD = re.compile(r"[^\W_]+")
_EMPTY = frozenset(
    re.findall(
        "[a-z]+",
        "a an and are as at been be by for from has have in into is it its no not of on or that "
        "the there this to was were which with without "
        "candidate describes does finding findings mentioned mentions reference report reported "
        "reports said say says stated states",
    )
)
"""Words that say nothing of what an error is about, among them those that errors are told with."""
_LEAST = 0.5
"""The share of the shorter text's words that two texts have in common, at least."""


@dataclass(frozen=True, slots=True)
class Mention:
    """An error as far as it is matched: its categories, the findings it names, its words."""

    categories: frozenset[str]
    findings: frozenset[str]
    words: frozenset[str]

    def likeness(self, other: Mention) -> float:
        """Return how alike two errors are, above 0 where they are the same."""
        if self.categories and other.categories and not self.categories & other.categories:
            return 0.0
        shared, every = len(self.words & other.words), len(self.words | other.words)
        alike = shared / every if every else 0.0
        if self.findings and other.findings:
            return 1.0 + alike if self.findings & other.findings else 0.0
        least = _LEAST * min(len(self.words), len(other.words))
        by_words_alone = not (self.categories and other.categories)
        is_same = shared > least if by_words_alone else shared >= least
        return alike if shared and is_same else 0.0


@lru_cache(maxsize=100_000)
def mention(text: str, categories: frozenset[str]) -> Mention:
    """Return what an error's text says."""
    found = frozenset(lexicon.named(text, lexicon.load()))
    words = frozenset(_WORD.findall(text.casefold())) - _EMPTY
    return Mention(categories, found, words)


def pairs(ones: Sequence[Mention], others: Sequence[Mention]) -> list[tuple[int, int]]:
    """Return which errors of one side are which of the other's, the best pairs first."""
    alike = [
        (-likeness, one, other)
        for one, first in enumerate(ones)
        for other, second in enumerate(others)
        if (likeness := first.likeness(second))
    ]
    found: list[tuple[int, int]] = []
    for _, one, other in sorted(alike):
        if all(one != first and other != second for first, second in found):
            found.append((one, other))
    return found


_Counts = NDArray[np.float64]


def matched_errors(
    studies: RatedStudies,
    quantities: Sequence[Quantity],
    units: NDArray[np.intp],
    resampling: Resampling,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Match errors by their texts; return a row a rater and category, and what to know of them.

    `recall` is the share of the readers' (a reader's: the others') errors that the rater has,
    `precision` that of its own which a reader has, each over all studies and readers that both
    read: an error that three readers wrote down counts three times. `k` of `n` are matched. The
    categories are those of the `quantities`; the first row of a rater is of all errors. `units`
    numbers the patient of each study, or the study, from 0: the intervals are by bootstrap of
    these.
    """
    labels = {one.category: one.label for one in quantities if one.category}
    notes, mentions = [], []
    for at, rater in enumerate(studies.raters):
        errors, n_mute = _mentions(studies, at, [*labels])
        mentions.append(errors)
        if n_mute:
            notes.append(
                f"{n_mute:,} errors of {rater.name} have no text: the studies with them are not "
                "matched"
            )
    having = [at for at, errors in enumerate(mentions) if any(errors.values())]
    readers = [at for at in having if studies.raters[at].is_reader]
    counts = {}
    for at in having:
        if others := [mentions[other] for other in readers if other != at]:
            by_study = _matched(mentions[at], others, len(units), [*labels])
            counts[at] = unit_sums(by_study, units).reshape(int(units.max()) + 1, -1, 2)
    if not counts:
        return [], notes
    estimates = iter(_ratios(np.concatenate([*counts.values()], axis=1), resampling))
    found: list[dict[str, Any]] = [
        {
            "rater": studies.raters[at].name,
            "is_reader": studies.raters[at].is_reader,
            "category": category,
            "recall": next(estimates).plain(),
            "precision": next(estimates).plain(),
            "label": label,
        }
        for at in counts
        for category, label in ((None, "all errors"), *labels.items())
    ]
    return [one for one in found if one["recall"]["n"] or one["precision"]["n"]], notes


def _mentions(
    studies: RatedStudies, rater: int, categories: Sequence[str]
) -> tuple[dict[int, list[Mention]], int]:
    """Return the errors of a rater by the row of the study, and how many errors have no text.

    A study with an error that has no text, which may be what the other side found, is not there,
    as if it had not been read.
    """
    rubric = studies.raters[rater].run.rubric
    row_of = {study_id: row for row, study_id in enumerate(studies.study_ids)}
    is_scored = studies.runs.is_scored[:, rater]
    mentions, n_mute = {}, 0
    for study_id, record in studies.runs.records(rater, row_of).items():
        if not is_scored[row := row_of[study_id]]:
            continue
        errors = list(_errors(record, rubric))
        if mute := sum(not text for text, _ in errors):
            n_mute += mute
        else:
            mentions[row] = [
                mention(text, frozenset(labels).intersection(categories)) for text, labels in errors
            ]
    return mentions, n_mute


def _errors(record: Mapping[str, Any], rubric: Rubric) -> Iterable[tuple[str, Sequence[str]]]:
    rows = rubric.tally.rows if rubric.tally else ""
    for item in errors_of(record, rubric):
        yield item.text or (item.edit.corrected if item.edit else ""), item.labels.get(rows, ())


def _matched(
    mine: Mapping[int, Sequence[Mention]],
    others: Sequence[Mapping[int, Sequence[Mention]]],
    n_studies: int,
    categories: Sequence[str],
) -> _Counts:
    """Return the others' errors that a rater has of all of theirs, then its own that they have.

    The array is studies by 1 + categories (the first is of all errors) by these two by matched and
    all.
    """
    place_of = {name: at for at, name in enumerate(categories, start=1)}
    counts = np.zeros((n_studies, 1 + len(categories), 2, 2))
    for other in others:
        for row in mine.keys() & other.keys():
            matched = pairs(mine[row], other[row])
            for side, errors in ((1, mine[row]), (0, other[row])):
                is_matched = {pair[1 - side] for pair in matched}
                for at, error in enumerate(errors):
                    for place in (0, *map(place_of.__getitem__, error.categories)):
                        counts[row, place, side] += (at in is_matched, 1)
    return counts


def _ratios(counts: _Counts, resampling: Resampling) -> list[Estimate]:
    """Return matched / all of each column of units by columns, with a bootstrap of the units.

    Where all or none are matched it is Wilson's interval of as many as there are units with
    errors: what several readers wrote of one study is no several studies.
    """
    rng = generator(resampling.seed, "found errors", {})
    draws = bootstrap_weights(rng, len(counts), resampling.resamples)
    flat = counts.reshape(len(counts), -1)
    drawn = np.concatenate([weights @ flat for weights in draws]).reshape(-1, *counts.shape[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = drawn[..., 0] / drawn[..., 1]
    estimates = []
    for column, shares in zip(counts.transpose(1, 0, 2), ratios.T, strict=True):
        (k, n), n_units = column.sum(axis=0), int((column[:, 1] > 0).sum())
        if not n:
            estimates.append(Estimate(0, None, None, None, k=0, reason="no error"))
            continue
        low, high, why = interval(shares, n_units)
        if k in (0, n):
            rate = wilson(n_units if k else 0, n_units)
            low, high, why = rate.low, rate.high, None
        estimates.append(Estimate(int(n), float(k / n), low, high, k=int(k), reason=why))
    return estimates
