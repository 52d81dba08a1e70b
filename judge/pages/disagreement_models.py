"""The data of the view of what two raters see differently."""

from __future__ import annotations

from pydantic import Field

from judge.pages.models import PageModel
from judge.rubrics.contract import Tone


class DifferenceKind(PageModel):
    """A way in which two see an error, what is most worth looking at first."""

    name: str
    label: str
    text: str
    is_difference: bool


class KindCount(PageModel):
    """How many errors of a pair, and in how many studies, are of the kind at this place."""

    errors: str
    studies: str


class ErrorCategory(PageModel):
    """A category to filter by."""

    name: str
    text: str


class RaterPair(PageModel):
    """Two who judged the same reports: `counts` has an entry for each kind.

    `summary` says how many studies were compared and differ, `shown` which of them are here.
    """

    name: str
    a: str
    b: str
    summary: str
    shown: str
    notes: list[str]
    counts: list[KindCount]
    categories: list[ErrorCategory]


class DisagreementWords(PageModel):
    """What the page says by itself; `{n}` stands for a number that is known there alone."""

    pair: str
    kind: str
    category: str
    all_differences: str
    everything: str
    all_categories: str
    one_study: str
    many_studies: str
    nothing: str
    not_seen: str
    more: str
    counts_title: str
    counts_head: list[str]


class DisagreementsOverview(PageModel):
    """All pairs; without any, `missing` says why."""

    title: str
    about: list[str]
    kinds: list[DifferenceKind]
    pairs: list[RaterPair]
    words: DisagreementWords
    missing: str


class SeenBy(PageModel):
    """An error as one of the two has it."""

    text: str
    level: str
    tone: Tone | None


class ComparedError(PageModel):
    """An error of either; a side that did not see it is null.

    `kind` is the place of its kind, `categories` are those of its categories, in the pair.
    """

    kind: int
    categories: list[int]
    category: str = Field(description="Its categories in words.")
    a: SeenBy | None
    b: SeenBy | None


class DifferingStudy(PageModel):
    """A study with its errors, and the address of it."""

    study_id: str
    address: str
    errors: list[ComparedError]


class PairStudies(PageModel):
    """The studies of a pair, those to look at first at the beginning."""

    studies: list[DifferingStudy]
