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
from judge.stats.bootstrap import bootstrap_weights, generator
from judge.stats.rates import Estimate, wilson_ends
from judge.stats.significance import Resampling
from judge.stats.table import OUTCOMES
from judge.types import Annotated
from judge.validating.raters import Rater

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


@dataclass(frozen=True, slots=True)
class FoundErrors:
    """How far the errors of a judge, or of a reader, are those of the readers (of the others).

    `recall` is the share of the readers' errors that it has, `precision` that of its own errors
    which a reader has, each over all studies and readers that both read: an error that three
    readers wrote down counts three times, and its own are held against each reader in turn.
    Intervals are by bootstrap of patients, else of studies. `category` is None for all errors.
    """

    rater: str
    is_reader: bool
    category: str | None
    recall: Estimate
    precision: Estimate

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types; `k` of `n` errors are matched."""
        return {
            "category": self.category,
            "recall": self.recall.plain(),
            "precision": self.precision.plain(),
        }


_Counts = NDArray[np.float64]


@dataclass(frozen=True)
class _Said:
    """The errors of one rater, by the row of each study that was scored.

    `counts` is studies by names: all errors, then those of each category. `n_mute` errors have no
    text: their studies are not `has`, as if they had not been read.
    """

    by_row: Mapping[int, Sequence[Mention]]
    has: NDArray[np.bool_]
    counts: _Counts
    n_mute: int


def found_errors(
    judges: Sequence[Rater],
    readers: Sequence[Rater],
    study_ids: Sequence[str],
    units: NDArray[np.intp],
    categories: Sequence[str],
    resampling: Resampling,
) -> tuple[list[FoundErrors], list[str]]:
    """Match errors by their texts; return what was found by judge, then reader, and what to know.

    `units` numbers the patient of each study, or the study, from 0. Raises `JudgeError` as
    `Run.records` does.
    """
    row_of = {study_id: row for row, study_id in enumerate(study_ids)}
    said = {rater: _said(rater, row_of, categories) for rater in (*judges, *readers)}
    notes = [
        f"{of.n_mute:,} errors of {rater.name} have no text: the studies with them are not matched"
        for rater, of in said.items()
        if of.n_mute
    ]
    having = [one for one in readers if said[one].counts.any()]
    counts: dict[Rater, _Counts] = {}
    for rater in (*judges, *having):
        others = [said[one] for one in having if one is not rater]
        if others and said[rater].counts.any():
            counts[rater] = _matched(said[rater], others, units, categories)
    if not counts:
        return [], []
    estimates = iter(_ratios(np.concatenate([*counts.values()], axis=1), resampling))
    found = [
        FoundErrors(rater.name, rater.is_reader, name, next(estimates), next(estimates))
        for rater in counts
        for name in (None, *categories)
    ]
    return [one for one in found if one.recall.n or one.precision.n], notes


def _said(rater: Rater, row_of: Mapping[str, int], categories: Sequence[str]) -> _Said:
    rubric = rater.run.rubric
    by_row: dict[int, list[Mention]] = {}
    has = np.zeros(len(row_of), dtype=bool)
    n_mute = 0
    for record in rater.run.records(of_any_version=True):
        row = row_of.get(record["study_id"])
        if row is None or record["outcome"] != OUTCOMES[Annotated]:
            continue
        errors = list(_errors(record, rubric))
        if mute := sum(not text for text, _ in errors):
            n_mute += mute  # what has no text may be what the other side found
            continue
        has[row] = True
        for text, labels in errors:
            one = mention(text, frozenset(labels).intersection(categories))
            by_row.setdefault(row, []).append(one)
    places = [(row, one) for row, of_study in by_row.items() for one in of_study]
    return _Said(by_row, has, _counted(places, len(row_of), categories), n_mute)


def _errors(record: Mapping[str, Any], rubric: Rubric) -> Iterable[tuple[str, Sequence[str]]]:
    rows = rubric.tally.rows if rubric.tally else ""
    for item in errors_of(record, rubric):
        yield item.text or (item.edit.corrected if item.edit else ""), item.labels.get(rows, ())


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
        for row, errors in mine.by_row.items():
            others = other.by_row.get(row, ())
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
