"""Candidates of many references, the truth of each, and the count of what could not be made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from judge.stress.changes import Change
from judge.stress.text import Draw, Error, NotMade, Reference, Words, applied
from judge.studies.load import load
from judge.studies.names import KNOWN_NAMES, NamedFields
from judge.studies.pair import pair
from judge.studies.study_set import StudySet
from judge.types import Study

UNTOUCHED = frozenset({"identical", "errors_0"})
_BLANK = "a candidate that is to be made"
_NO_EFFECT = NotMade("it leaves the report as it is")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate that was made: its texts, what was changed, and the errors that it has."""

    study: Study
    change: Change
    after: str
    words: tuple[Words, ...]
    errors: tuple[Error, ...]

    @property
    def name(self) -> str:
        """The study id that it has in the files."""
        return f"{self.study.study_id}/{self.change.name}"

    def truth(self) -> dict[str, Any]:
        """Return the line of it in truth.jsonl."""
        base = self.change.base
        return {
            "id": self.name,
            "study": self.study.study_id,
            "change": self.change.name,
            "group": self.change.group,
            "same_reading_as": f"{self.study.study_id}/{base}" if base else None,
            "before": self.study.reference,
            "after": self.after,
            "words": [
                {"before": one.before, "after": one.after, "at": [*one.at], "to": [*one.to]}
                for one in self.words
            ],
            "k": len(self.errors),
            "errors": [
                {
                    "finding": one.finding,
                    "categories": [*one.categories],
                    "significant": one.is_significant,
                    "doubtful": one.is_doubtful,
                }
                for one in self.errors
            ],
        }


Found = tuple[Change, Candidate | NotMade]
"""A change with what it makes of a study, or why it makes nothing."""


@dataclass
class Counts:
    """How many candidates of each change were made, and how many not, by reason."""

    n_made: Counter[str] = field(default_factory=Counter)
    not_made: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, change: Change, found: Candidate | NotMade) -> None:
        """Count what a change makes of a study."""
        if isinstance(found, NotMade):
            self.not_made.setdefault(change.name, Counter())[found.reason] += 1
        else:
            self.n_made[change.name] += 1

    def rows(self, changes: Sequence[Change]) -> list[dict[str, Any]]:
        """Return what is said of each change."""
        return [
            {
                "change": one.name,
                "group": one.group,
                "does": one.does,
                "expected": one.expected,
                "made": self.n_made[one.name],
                "not_made": dict(self.not_made.get(one.name, Counter()).most_common()),
            }
            for one in changes
        ]


def read_references(
    path: str, fields: NamedFields = KNOWN_NAMES, section: str | None = None
) -> StudySet:
    """Read references alone; those without a text are left out, and counted among `omitted`.

    Raises `JudgeError` as `read_pair` does.
    """
    refs = load(path, "refs", fields)
    # Both sides in one table, so that what is wrong is said of this file and said once.
    both = replace(refs, frame=refs.frame.assign(**{_BLANK: "-"}))
    named = replace(fields, candidate=_BLANK)
    return pair(both, both, fields=named, section=section, allow_missing=True)


def make(studies: Iterable[Study], changes: Sequence[Change], seed: int) -> Iterator[Found]:
    """Make every change on every study that it can be made on, one at a time."""
    for study in studies:
        yield from made_of(study, changes, seed)


def made_of(study: Study, changes: Sequence[Change], seed: int) -> Iterator[Found]:
    """Give each change with what it makes of a study, or why it makes nothing."""
    report = Reference(study.reference)
    for change in changes:
        if why := report.unfit:
            yield change, NotMade(why)
            continue
        found = change.make(report, Draw(seed, study.study_id, change.name))
        if isinstance(found, NotMade):
            yield change, found
            continue
        after, words = applied(report.text, found.edits)
        if not words and change.name not in UNTOUCHED:
            yield change, _NO_EFFECT
        else:
            yield change, Candidate(study, change, after, words, found.errors)
