"""What reviewers said of a run's errors: their verdicts, the judge's precision, their agreement.

`reviews.jsonl` beside a run has an event a line and is only ever appended to. Of the events of a
reader about the same error or study the last one counts.

A review is *stale* where the run no longer has the error that it is about, since its answers were
read anew (`judge runs rescore`) or asked for again. It stays in the file, is counted as stale, and
counts in no figure.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from judge.readers.annotation_store import read_entries
from judge.rubrics.contract import Rubric
from judge.running.folder import RunFolder
from judge.stats.agreement import verdict_kappa
from judge.stats.estimate import Estimate
from judge.stats.intervals import (
    SEED,
    draw_resamples,
    generator,
    rate_interval,
    units_of,
)
from judge.stats.summary import patients
from judge.study.view import graded_items
from judge.text import counted

REVIEWS = "reviews.jsonl"
RIGHT, WRONG, WRONG_SEVERITY = "right", "wrong", "wrong_severity"
VERDICTS = (RIGHT, WRONG, WRONG_SEVERITY)
FOUND = (RIGHT, WRONG_SEVERITY)
"""The verdicts by which the error is there, whatever its severity."""
ALL = "all"
MISSED, COMMENT, WITHDRAWN = "missed", "comment", "none"
ReviewVerdict = Literal["right", "wrong", "wrong_severity", "missed", "comment", "none"]
"""What a reader can say of an error or a study; the first three are verdicts on an error."""
NOTE = (
    "Precision: reviewed errors that more than half of their readers marked right, of all reviewed "
    "errors; wrong severity counts as not right. Finding precision counts it as right: the finding "
    "is wrong in the report, however grave. 95% Wilson interval by study, or by patient where "
    "patients have several."
)
Errors = Mapping[str | None, Mapping[str, Any]]
"""The errors of a study by their fingerprints."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a reader said, with the labels and the text of the error at that time.

    `error` is the fingerprint of the judge's error, or the `id` of the event that added a missed
    one; None for a comment on the study and for a missed error that is being added.
    """

    id: str
    at: str
    reader: str
    study_id: str
    error: str | None
    verdict: ReviewVerdict
    comment: str = ""
    categories: tuple[str, ...] = ()
    level: str | None = None
    text: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The reader, the study and the error: a later event with the same key replaces this."""
        if self.error is None:
            own = ""
            if self.verdict == MISSED:
                own = self.id
            return (self.reader, self.study_id, own)
        return (self.reader, self.study_id, self.error)

    def is_stale(self, errors: Errors) -> bool:
        """Whether it is about an error that its study, which has `errors` now, no longer has."""
        is_of_error = self.verdict in VERDICTS or self.verdict == COMMENT
        return is_of_error and self.error is not None and self.error not in errors


def latest(events: Iterable[Event]) -> list[Event]:
    """Return the events that count: the last of each key, without those that were withdrawn."""
    last: dict[tuple[str, str, str], Event] = {}
    for event in events:
        last.pop(event.key, None)
        last[event.key] = event
    return [event for event in last.values() if event.verdict != WITHDRAWN]


def read_reviews(run: Path) -> list[Event]:
    """Return the reviews beside a run that count; raises `JudgeError` for a damaged file."""
    return latest(read_entries(run / REVIEWS, Event))


def fingerprints(annotation: Mapping[str, Any] | None, rubric: Rubric) -> Errors:
    """Return a study's graded items by fingerprints of their content, an equal one numbered.

    An error keeps its fingerprint where other errors of the study change. With another grade,
    category, text or correction it is another error.
    """
    graded_by = {kind.name: kind.graded_by for kind in rubric.graded}
    seen: Counter[str] = Counter()
    named: dict[str | None, Mapping[str, Any]] = {}
    for error in graded_items(annotation, rubric):
        labels: list[str] = []
        for facet, values in error["labels"].items():
            if facet != graded_by[error["kind"]]:
                labels += values
        content = [error["grade"], labels, error["text"], error["edit"]]
        text = json.dumps(content, sort_keys=True).encode()
        digest = hashlib.sha256(text).hexdigest()[:16]
        seen[digest] += 1
        name = digest
        if seen[digest] > 1:
            name = f"{digest}-{seen[digest]}"
        named[name] = error
    return named


@dataclass(frozen=True, slots=True)
class StudyUnits:
    """The number of each study's patient, or its own where studies are independent."""

    numbers: Mapping[str, int]
    has_patients: bool

    @classmethod
    def of(cls, run: RunFolder) -> StudyUnits:
        """Return those of a run's studies."""
        table = run.table()
        clusters = patients(table)
        numbers = clusters[1].tolist() if clusters else range(len(table))
        ids = table["study_id"].tolist()
        by_study = dict(zip(ids, numbers, strict=True))
        return cls(by_study, has_patients=clusters is not None)


@dataclass(frozen=True, kw_only=True)
class CodePrecision:
    """The judge's precision among the reviewed errors of one category, or of all.

    `n` errors were reviewed. Of these the majority of an error's readers marked
    `precision.k` right, and `finding_precision.k` right or of the wrong severity; half of the
    readers are no majority.
    """

    code: str
    n: int
    precision: Estimate
    finding_precision: Estimate


@dataclass(frozen=True, kw_only=True)
class ReviewerAgreement:
    """Cohen's kappa of two readers' verdicts (right, wrong, wrong severity) [Cohen 1960].

    It is of the `n` errors that both reviewed; `n_agreed` have the same verdict of both. Where it
    is not defined it has no value, and the reason: no error in common, or one verdict only.
    """

    first: str
    second: str
    n: int
    n_agreed: int
    kappa: Estimate


@dataclass(frozen=True, kw_only=True)
class ReviewSummary:
    """What the reviews of a run say of its judge.

    `n_reviewed_errors` in `n_studies` have a verdict that counts. `n_missed` were added by
    `readers`, who have all that gave a verdict or added an error. `stale` has the number of stale
    reviews by reader.
    """

    n_reviewed_errors: int
    n_studies: int
    readers: Sequence[str]
    n_missed: int
    stale: Mapping[str, int]
    precision: Sequence[CodePrecision]
    agreement: Sequence[ReviewerAgreement]

    @property
    def n_stale(self) -> int:
        """The number of stale reviews."""
        return sum(self.stale.values())

    @property
    def stale_note(self) -> str:
        """How many reviews are stale, and what that means, in a sentence; empty without one."""
        if not self.n_stale:
            return ""
        by_reader = ", ".join(f"{name} {n:,}" for name, n in self.stale.items())
        are = counted(self.n_stale, "review is", "reviews are")
        return (
            f"{are} stale ({by_reader}) and in no figure: the run no longer has the error, since "
            "its answers were read or asked for again"
        )

    @property
    def sentence(self) -> str:
        """What was reviewed, by whom, in a sentence."""
        text = f"{counted(self.n_reviewed_errors, 'error', 'errors')} reviewed"
        if self.readers:
            text += f" by {', '.join(self.readers)}"
        return (
            f"{text}; {counted(self.n_missed, 'missed error', 'missed errors')} added"
        )

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types; `precision` and `finding_precision` have a row per code."""
        strict, finding, agreement = [], [], []
        for row in self.precision:
            strict.append(_rate(row.code, row.precision))
            finding.append(_rate(row.code, row.finding_precision))
        for pair in self.agreement:
            agreement.append(
                {
                    "readers": [pair.first, pair.second],
                    "n": pair.n,
                    "n_agreed": pair.n_agreed,
                    "kappa": pair.kappa.plain(),
                }
            )
        return {
            "n_reviewed_errors": self.n_reviewed_errors,
            "n_studies": self.n_studies,
            "readers": list(self.readers),
            "precision": strict,
            "finding_precision": finding,
            "agreement": agreement,
            "missed": self.n_missed,
            "n_stale": self.n_stale,
            "stale": dict(self.stale),
            "note": NOTE,
        }


def _rate(code: str, rate: Estimate) -> dict[str, Any]:
    names = ("k", "n", "value", "low", "high")
    return {"code": code, **{name: getattr(rate, name) for name in names}}


def summarise_reviews(
    events: Iterable[Event],
    errors: Mapping[str, Errors],
    *,
    units: StudyUnits,
    rubric: Rubric,
) -> ReviewSummary:
    """Return what the reviews that count say of the judge.

    `errors` has the errors that each study has now; a study that the run no longer has is not in
    it. An error with two codes counts under both, under `all` once. Intervals
    are by study, or by patient, since the errors of one study are not independent.
    """
    by_error: dict[tuple[str, str], list[Event]] = defaultdict(list)
    stale: Counter[str] = Counter()
    missed = []
    for event in events:
        if event.verdict == MISSED:
            missed.append(event)
        elif event.is_stale(errors.get(event.study_id, {})):
            stale[event.reader] += 1
        elif event.verdict in VERDICTS:
            by_error[event.study_id, str(event.error)].append(event)
    codes = [ALL]
    if rubric.codes:
        codes += [label.name for label in rubric.codes.labels]
    readers = {event.reader for event in missed}
    for reviews in by_error.values():
        readers.update(event.reader for event in reviews)
    reviewed = list(by_error.values())
    return ReviewSummary(
        n_reviewed_errors=len(reviewed),
        n_studies=len({study_id for study_id, _ in by_error}),
        readers=sorted(readers),
        n_missed=len(missed),
        stale=dict(sorted(stale.items())),
        precision=[_precision(code, reviewed, units) for code in codes],
        agreement=_agreements(reviewed, units),
    )


def _precision(
    code: str, reviewed: Sequence[Sequence[Event]], units: StudyUnits
) -> CodePrecision:
    errors = []
    for reviews in reviewed:
        if code == ALL or code in reviews[0].categories:
            errors.append(reviews)
    of_errors = [units.numbers[reviews[0].study_id] for reviews in errors]
    numbers = np.array(of_errors, np.intp)

    def rate(accepted: Sequence[str]) -> Estimate:
        is_accepted = [_has_majority(reviews, accepted) for reviews in errors]
        return rate_interval(np.array(is_accepted, bool), numbers)

    return CodePrecision(
        code=code,
        n=len(errors),
        precision=rate((RIGHT,)),
        finding_precision=rate(FOUND),
    )


def _has_majority(reviews: Sequence[Event], accepted: Sequence[str]) -> bool:
    """Whether more than half of the reviews of an error have one of these verdicts."""
    n_accepted = sum(review.verdict in accepted for review in reviews)
    return 2 * n_accepted > len(reviews)


def _agreements(
    reviewed: Sequence[Sequence[Event]], units: StudyUnits
) -> list[ReviewerAgreement]:
    """Return the agreement of each two readers who gave verdicts."""
    by_reader: dict[str, dict[int, int]] = defaultdict(dict)
    studies = []
    for number, reviews in enumerate(reviewed):
        studies.append(units.numbers[reviews[0].study_id])
        for event in reviews:
            by_reader[event.reader][number] = VERDICTS.index(event.verdict)
    found = []
    for first, second in combinations(sorted(by_reader), 2):
        common = [error for error in by_reader[first] if error in by_reader[second]]
        of_first = np.array([by_reader[first][error] for error in common], float)
        of_second = np.array([by_reader[second][error] for error in common], float)
        clusters = np.array([studies[error] for error in common], np.intp)
        rng = generator(SEED, "reviews", {"readers": [first, second]})
        resamples = draw_resamples(units_of(clusters, len(common)), len(common), rng)
        unit_words = "studies"
        if units.has_patients:
            unit_words = "patients"
        kappa = verdict_kappa(
            of_first,
            of_second,
            n_verdicts=len(VERDICTS),
            resamples=resamples,
            unit_words=unit_words,
        )
        found.append(
            ReviewerAgreement(
                first=first,
                second=second,
                n=len(common),
                n_agreed=int((of_first == of_second).sum()),
                kappa=kappa,
            )
        )
    return found


@dataclass(frozen=True)
class RunReviews:
    """The reviews of a run that count, which of them are stale, and what they say of its judge."""

    events: Sequence[Event]
    stale: frozenset[str]
    summary: ReviewSummary

    @classmethod
    def of(
        cls,
        events: Sequence[Event],
        errors: Mapping[str, Errors],
        *,
        units: StudyUnits,
        rubric: Rubric,
    ) -> Self:
        """Return them of the events that count, and of the `errors` of their studies now."""
        stale = set()
        for event in events:
            if event.is_stale(errors.get(event.study_id, {})):
                stale.add(event.id)
        summary = summarise_reviews(events, errors, units=units, rubric=rubric)
        return cls(events, frozenset(stale), summary)

    @classmethod
    def read(cls, run: RunFolder) -> Self | None:
        """Return the reviews of a run, None where nobody has reviewed it.

        Raises `JudgeError` for damaged files.
        """
        events = read_reviews(run.path)
        if not events:
            return None
        # Only the studies that somebody reviewed are kept.
        wanted = {event.study_id for event in events}
        errors: dict[str, Errors] = {}
        for record in run.records():
            if record["study_id"] in wanted:
                named = fingerprints(record["annotation"], run.rubric)
                errors[record["study_id"]] = named
        units = StudyUnits.of(run)
        return cls.of(events, errors, units=units, rubric=run.rubric)

    def listed(self) -> list[dict[str, Any]]:
        """Return each review with `stale`, as JSON's types."""
        return [{**asdict(e), "stale": e.id in self.stale} for e in self.events]
