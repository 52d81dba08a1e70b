"""The data of the page of judges beside readers: each figure with its text."""

from __future__ import annotations

from judge.pages.models import Fact, ListColumn, PageModel, PrintedTable
from judge.pages.study import Findings


class ShownRater(PageModel):
    """A judge or a reader: its name, what stands above its findings, and above its counts.

    `missing` says why a study has no count of it.
    """

    name: str
    title: str
    heading: str
    is_reader: bool
    missing: str


class ShownQuantity(PageModel):
    """What is counted: its name, its label, and the label that begins a sentence."""

    name: str
    label: str
    title: str


class ValidationOverview(PageModel):
    """Judges beside readers, without the studies.

    `raters` are the judges, then the readers. `tables` are open at first, `more_tables` are not.
    """

    title: str
    notes: list[str]
    signature: str
    facts: list[Fact]
    tables: list[PrintedTable]
    more_tables: list[PrintedTable]
    raters: list[ShownRater]
    quantities: list[ShownQuantity]
    ordered: str


class ValidatedStudies(PageModel):
    """The studies by their ids, with their classes; packets hold so many of them."""

    study_id: list[str]
    study_class: ListColumn
    packet: int


class JudgeCounts(PageModel):
    """A judge's counts less the mean of the readers'; the largest difference comes first."""

    difference: ListColumn
    order: list[int]


class QuantityCounts(PageModel):
    """The counts of each rater, the mean of the readers, and each judge's difference from it."""

    raters: list[ListColumn]
    mean: ListColumn
    judges: list[JudgeCounts]


class RaterFindings(PageModel):
    """What a rater, by its place, says about a study."""

    rater: int
    findings: Findings


class ValidatedStudy(PageModel):
    """The findings of all raters of a study."""

    raters: list[RaterFindings]


class ValidatedPacket(PageModel):
    """Some studies, in the order of the list of studies."""

    studies: list[ValidatedStudy]
