"""Matching of a judge's errors with the readers', by category and words.

Two errors of a study match if they share a category and a finding of the built-in lexicon; if one
text names no finding, they need to share at least half of the content words of the shorter text. If
one has no category that the other could have, they need to share more than half of these words.
Each error matches at most one, the best pairs first. Errors without a text cannot be matched: a
study with one is left out for its rater.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judge.backends import lexicon
from judge.comparing.recurring import errors_of
from judge.stats.intervals import (
    Codes,
    Estimate,
    Values,
    bootstrap_weights,
    generator,
    interval,
    unit_sums,
    wilson,
)
from judge.stats.significance import Resampling
from judge.validating.raters import RatedStudies

_STOP_WORDS = frozenset(
    re.findall(
        "[a-z]+",
        "a an and are as at been be by for from has have in into is it its no not of on or that "
        "the there this to was were which with without "
        "candidate describes does finding findings mentioned mentions reference report reported "
        "reports said say says stated states",
    )
)
"""Function words, and words that describe any error."""


@dataclass(frozen=True, slots=True)
class Mention:
    """An error's categories, the findings that it names, and its content words."""

    categories: frozenset[str]
    findings: frozenset[str]
    words: frozenset[str]

    def likeness(self, other: Mention) -> float:
        """Return how alike two errors are; 0 if they do not match."""
        have_categories = bool(self.categories and other.categories)
        if have_categories and not self.categories & other.categories:
            return 0.0
        shared, every = len(self.words & other.words), len(self.words | other.words)
        overlap = shared / every if every else 0.0
        if self.findings and other.findings:
            return 1.0 + overlap if self.findings & other.findings else 0.0
        least = 0.5 * min(len(self.words), len(other.words))
        is_same = shared >= least if have_categories else shared > least
        return overlap if shared and is_same else 0.0


def mention(text: str, categories: frozenset[str]) -> Mention:
    """Return the findings and content words of an error's text."""
    findings = frozenset(lexicon.named_findings(text, lexicon.load()))
    words = frozenset(re.findall(r"[^\W_]+", text.casefold())) - _STOP_WORDS
    return Mention(categories, findings, words)


def match(left: Sequence[Mention], right: Sequence[Mention]) -> list[tuple[int, int]]:
    """Return the matching pairs of errors by their places, the best pairs first."""
    candidates = [
        (-likeness, i, j)
        for i, first in enumerate(left)
        for j, second in enumerate(right)
        if (likeness := first.likeness(second))
    ]
    pairs: list[tuple[int, int]] = []
    for _, i, j in sorted(candidates):
        if all(i != first and j != second for first, second in pairs):
            pairs.append((i, j))
    return pairs


def matched_errors(
    studies: RatedStudies, categories: Collection[str], units: Codes, resampling: Resampling
) -> tuple[list[dict[str, Any]], list[str]]:
    """Match errors by their texts and `categories`; return a row per rater, and notes.

    `recall` is the share of the readers' (for a reader: the other readers') errors that the rater
    has, `precision` the share of the rater's errors that a reader has, over all studies and readers
    that both read: an error of three readers counts three times. `k` of `n` match. `units` numbers
    the patient of each study, or the study, from 0: the intervals are by bootstrap of these.
    """
    notes, mentions = [], []
    for column, rater in enumerate(studies.raters):
        errors, n_without_text = _mentions(studies, column, categories)
        mentions.append(errors)
        if n_without_text:
            notes.append(
                f"{n_without_text:,} errors of {rater.name} have no text: the studies with them "
                "are not matched"
            )
    rng = generator(resampling.seed, "found errors", {})
    weights = np.vstack([*bootstrap_weights(rng, int(units.max()) + 1, resampling.resamples)])
    rows = []
    for column, rater in enumerate(studies.raters):
        others = [
            errors
            for other, errors in enumerate(mentions)
            if other != column and studies.raters[other].is_reader and any(errors.values())
        ]
        counts = unit_sums(_count_matches(mentions[column], others, len(units)), units)
        if any(mentions[column].values()) and counts.any():
            recall, precision = (_ratio(side, weights).plain() for side in counts.swapaxes(0, 1))
            names = {"rater": rater.name, "is_reader": rater.is_reader}
            rows.append({**names, "recall": recall, "precision": precision})
    return rows, notes


def _mentions(
    studies: RatedStudies, rater: int, categories: Collection[str]
) -> tuple[dict[int, list[Mention]], int]:
    """A study with an error without a text is left out, as if it had not been read."""
    rubric = studies.raters[rater].run.rubric
    facet = rubric.tally.rows if rubric.tally else ""
    row_of = {study_id: row for row, study_id in enumerate(studies.study_ids)}
    is_scored = studies.runs.is_scored[:, rater]
    mentions, n_without_text = {}, 0
    for study_id, record in studies.runs.records(rater, row_of).items():
        if not is_scored[row := row_of[study_id]]:
            continue
        items = list(errors_of(record, rubric))
        texts = [item.text or (item.edit.corrected if item.edit else "") for item in items]
        if n_empty := texts.count(""):
            n_without_text += n_empty
        else:
            mentions[row] = [
                mention(text, frozenset(item.labels.get(facet, ())).intersection(categories))
                for text, item in zip(texts, items, strict=True)
            ]
    return mentions, n_without_text


def _count_matches(
    mentions: Mapping[int, Sequence[Mention]],
    others: Sequence[Mapping[int, Sequence[Mention]]],
    n_studies: int,
) -> Values:
    """Return studies by sides, the others' errors and the rater's, by how many match and all."""
    counts = np.zeros((n_studies, 2, 2))
    for other in others:
        for row in mentions.keys() & other.keys():
            n = len(match(mentions[row], other[row]))
            counts[row] += ((n, len(other[row])), (n, len(mentions[row])))
    return counts


def _ratio(counts: Values, weights: Values) -> Estimate:
    """Return matched / all, the columns of `counts`, with a bootstrap of the units.

    If all or none match, the interval is Wilson's for the number of units with errors: the errors
    of several readers in one study are not independent.
    """
    (k, n), n_units = counts.sum(axis=0), int((counts[:, 1] > 0).sum())
    if not n:
        return Estimate(0, None, None, None, k=0, reason="no error")
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = np.divide(*(weights @ counts).T)
    low, high, why = interval(draws, n_units)
    if k in (0, n):
        rate = wilson(n_units if k else 0, n_units)
        low, high, why = rate.low, rate.high, None
    return Estimate(int(n), float(k / n), low, high, k=int(k), reason=why)
