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
from judge.rubrics.contract import Rubric
from judge.rubrics.quantities import Quantity
from judge.stats.estimate import Estimate, wilson_ends
from judge.stats.paired import Resampling
from judge.stats.recurring import is_error
from judge.stats.resample import bootstrap_weights, generator
from judge.types import Edit, Item
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


@dataclass(frozen=True)
class _Said:
    """The errors of one rater, by the row of each study that was scored.

    `counts` is studies by names: all errors, then those of each category. A study with an error
    that has no text is not one that the rater `has`, as if it had not been read.
    """

    errors: Mapping[int, Sequence[Mention]]
    has: NDArray[np.bool_]
    counts: _Counts


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
    notes, said = [], {}
    for at, rater in enumerate(studies.raters):
        said[rater.name, rater.is_reader], n_mute = _said(studies, at, [*labels])
        if n_mute:
            notes.append(
                f"{n_mute:,} errors of {rater.name} have no text: the studies with them are not "
                "matched"
            )
    having = [key for key, of in said.items() if key[1] and of.counts.any()]
    counts = {
        key: _matched(of, others, units, [*labels])
        for key, of in said.items()
        if of.counts.any() and (others := [said[other] for other in having if other != key])
    }
    if not counts:
        return [], notes
    estimates = iter(_ratios(np.concatenate([*counts.values()], axis=1), resampling))
    found: list[dict[str, Any]] = [
        {
            "rater": name,
            "is_reader": is_reader,
            "category": category,
            "recall": next(estimates).plain(),
            "precision": next(estimates).plain(),
            "label": label,
        }
        for name, is_reader in counts
        for category, label in ((None, "all errors"), *labels.items())
    ]
    return [one for one in found if one["recall"]["n"] or one["precision"]["n"]], notes


def _said(studies: RatedStudies, rater: int, categories: Sequence[str]) -> tuple[_Said, int]:
    """Return the errors of a rater, and how many of them have no text."""
    rubric = studies.raters[rater].run.rubric
    row_of = {study_id: row for row, study_id in enumerate(studies.study_ids)}
    said: dict[int, list[Mention]] = {}
    has = studies.runs.is_scored[:, rater].copy()
    n_mute = 0
    for study_id, record in studies.runs.records(rater, row_of).items():
        if not has[row := row_of[study_id]]:
            continue
        errors = list(_errors(record, rubric))
        if mute := sum(not text for text, _ in errors):
            n_mute += mute  # what has no text may be what the other side found
            has[row] = False
            continue
        said[row] = [
            mention(text, frozenset(labels).intersection(categories)) for text, labels in errors
        ]
    places = [(row, error) for row, errors in said.items() for error in errors]
    return _Said(said, has, _counted(places, len(row_of), categories)), n_mute


def _errors(record: Mapping[str, Any], rubric: Rubric) -> Iterable[tuple[str, Sequence[str]]]:
    for given in record["annotation"]["items"]:
        edit = Edit(**given["edit"]) if given["edit"] else None
        item = Item(given["kind"], given["text"], given["labels"], edit=edit)
        if is_error(item, rubric):
            rows = rubric.tally.rows if rubric.tally else ""
            yield item.text or (edit.corrected if edit else ""), item.labels.get(rows, ())


def _counted(
    errors: Iterable[tuple[int, Mention]], n_studies: int, categories: Sequence[str]
) -> _Counts:
    n_names = 1 + len(categories)
    place_of = {name: at for at, name in enumerate(categories, start=1)}
    places = [
        row * n_names + place
        for row, one in errors
        for place in (0, *map(place_of.__getitem__, one.categories))
    ]
    found = np.bincount(np.array(places, dtype=np.intp), minlength=n_studies * n_names)
    return found.reshape(n_studies, n_names).astype(float)


def _matched(
    mine: _Said, theirs: Sequence[_Said], units: NDArray[np.intp], categories: Sequence[str]
) -> _Counts:
    """Return counts by unit: found and all of the others' errors, then of its own.

    The array is units by 2 (1 + categories) by 2: for each name the others' errors that it has
    of all of them, then its own that the others have of all of its own.
    """
    found: list[tuple[int, Mention]] = []
    confirmed: list[tuple[int, Mention]] = []
    every, own = np.zeros_like(mine.counts), np.zeros_like(mine.counts)
    for other in theirs:
        both = (mine.has & other.has)[:, None]
        every += np.where(both, other.counts, 0)
        own += np.where(both, mine.counts, 0)
        for row, errors in mine.errors.items():
            others = other.errors.get(row, ())
            for at, its in pairs(errors, others) if others else ():
                found.append((row, others[its]))
                confirmed.append((row, errors[at]))
    n = len(units)
    shares = [(_counted(found, n, categories), every), (_counted(confirmed, n, categories), own)]
    by_study = np.stack([np.stack(share, axis=-1) for share in shares], axis=2)
    by_study = by_study.reshape(n, -1, 2)
    by_unit = np.zeros((int(units.max()) + 1, *by_study.shape[1:]))
    np.add.at(by_unit, units, by_study)
    return by_unit


def _ratios(counts: _Counts, resampling: Resampling) -> list[Estimate]:
    """Return found / all of each column, with a percentile bootstrap of the units.

    Where all draws are alike, as of three out of three, it is Wilson's interval of as many as
    there are units with errors: what several readers wrote of one study is no several studies.
    None where a draw may have nothing to divide by.
    """
    sums = counts.sum(axis=0)
    flat = counts.reshape(len(counts), -1)
    rng = generator(resampling.seed, "found errors", {})
    draws = bootstrap_weights(rng, len(counts), resampling.resamples)
    drawn = np.concatenate([weights @ flat for weights in draws]).reshape(-1, *sums.shape)
    ratios = np.divide(
        drawn[..., 0], drawn[..., 1], out=np.full(drawn.shape[:-1], np.nan), where=drawn[..., 1] > 0
    )
    n_units = (counts[..., 1] > 0).sum(axis=0)
    return [
        _ratio(int(k), int(n), column, int(units))
        for (k, n), column, units in zip(sums, ratios.T, n_units, strict=True)
    ]


def _ratio(k: int, n: int, drawn: _Counts, n_units: int) -> Estimate:
    if not n:
        return Estimate(0, None, None, None, k=0)
    if np.isnan(drawn).any():
        return Estimate(n, k / n, None, None, k=k)
    low, high = (float(end) for end in np.quantile(drawn, [0.025, 0.975]))
    if low == high:
        low, high = wilson_ends(k / n, min(n, n_units))
    return Estimate(n, k / n, low, high, k=k)
