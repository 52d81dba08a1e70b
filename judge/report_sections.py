"""The sections of a radiology report: their names, the columns of files and the headings.

One row of `SECTIONS` says all that differs between sections. A row with `columns` can be judged
(`--section NAME`); the others are known by their headings, which end the section before them.

Headings are regular expressions without regard to case. Two readers use them, and neither may
take over a word of the other's without a reason, since each would then cut reports elsewhere:

- reading studies splits the report of a file at them (`splitting_pattern`), where a wrong heading
  would lose findings;
- `judge.sentences` starts a sentence at them (`sentence_pattern`), and the built-in judge leaves
  out the sections without findings. Numbered lines in prompts, and so answers in a cache, depend
  on these words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class HeadingPlace(Enum):
    """Where a heading splits a report; `judge.studies.headings` has the rule of each."""

    MAIN = "at the start of a line or of a sentence, and elsewhere if it is capitalised"
    CLOSING = "at the start of a line or of a sentence"
    ABOUT = "only as a line of a report that is written in lines"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """A section of a report.

    `columns` are the names that a column of a file with this section may have, the likeliest
    first. `headings` are known to both readers, `split_at` only where the report of a file is
    split, `in_sentences` only to `judge.sentences`. `has_findings` says whether the built-in
    judge reads what stands below them. A heading that names several sections has these in
    `parts`.
    """

    name: str
    columns: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    split_at: tuple[str, ...] = ()
    in_sentences: tuple[str, ...] = ()
    place: HeadingPlace = HeadingPlace.MAIN
    has_findings: bool = False
    parts: tuple[str, ...] = ()

    @property
    def can_be_judged(self) -> bool:
        """Whether `--section` takes it."""
        return bool(self.columns)

    @property
    def label(self) -> str:
        """The heading in a whole report that is made of its sections."""
        return self.name.title()


FINDINGS = "findings"
"""The section that is judged by default, where references have it."""
WHOLE_REPORT = "report"
"""The name by which the whole report is judged."""

_QUALIFIED_FINDINGS = (
    r"(?:(?:key|main|detailed|imaging|radiographic|radiologic(?:al)?|chest|cxr|ct|x-ray) ){1,2}"
    r"findings?"
)

SECTIONS = (
    ReportSection(
        name=FINDINGS,
        columns=("section_findings", "findings", "findings_section"),
        headings=("findings?",),
        split_at=(_QUALIFIED_FINDINGS,),
        has_findings=True,
    ),
    ReportSection(
        name="impression",
        columns=("section_impression", "impression", "impression_section"),
        headings=("impressions?", "conclusions?", "opinion"),
        split_at=(r"(?:final|overall|radiographic|radiologic(?:al)?) impressions?",),
        has_findings=True,
    ),
    ReportSection(
        name="findings and impression",
        headings=("findings and impression", "findings/impression"),
        split_at=(r"findings?\s?(?:/|&|and)\s?(?:impressions?|conclusions?)",),
        has_findings=True,
        parts=(FINDINGS, "impression"),
    ),
    ReportSection(
        name="summary",
        in_sentences=("wet read", "summary", "interpretation", "results?"),
        has_findings=True,
    ),
    ReportSection(
        name="recommendation",
        headings=("recommendations?", "notification"),
        place=HeadingPlace.CLOSING,
    ),
    ReportSection(
        name="signature",
        split_at=(
            "addendum",
            "final report",
            "(?:electronically )?signed(?: by)?",
            "dictated by",
        ),
        place=HeadingPlace.CLOSING,
    ),
    ReportSection(
        name="history",
        headings=(
            "indications?",
            "history",
            "clinical (?:history|indication|information)",
            "reason for exam(?:ination)?",
        ),
        split_at=(
            "clinical indications",
            "information",
            "brief (?:indications?|history|information)",
            "context",
            "reason for (?:the )?(?:exam(?:ination)?|study)",
        ),
        in_sentences=("clinical data",),
        place=HeadingPlace.ABOUT,
    ),
    ReportSection(
        name="comparison",
        headings=("comparisons?",),
        split_at=("comparisons? study",),
        place=HeadingPlace.ABOUT,
    ),
    ReportSection(
        name="technique",
        headings=("technique",),
        place=HeadingPlace.ABOUT,
    ),
    ReportSection(
        name="examination",
        headings=("exam(?:ination)?", "procedure", "views"),
        split_at=("protocol", "view"),
        in_sentences=("type of exam(?:ination)?",),
        place=HeadingPlace.ABOUT,
    ),
)
"""The sections, in the order of a whole report that is made of them."""

JUDGED_SECTIONS = tuple(section for section in SECTIONS if section.can_be_judged)
"""The sections that can be judged, other than the whole report."""

SECTION_NAMES = (*(section.name for section in JUDGED_SECTIONS), WHOLE_REPORT)
"""The names that `--section` takes."""

SECTIONS_IN_WORDS = f"{', '.join(SECTION_NAMES[:-1])} or {SECTION_NAMES[-1]}"
"""The names that `--section` takes, as a sentence lists them."""


def splitting_pattern(section: ReportSection) -> str:
    """Return the headings at which a file's report is split; "" where there are none."""
    return "|".join((*section.headings, *section.split_at))


def sentence_pattern(sections: Iterable[ReportSection]) -> str:
    """Return the headings of some sections at which a sentence starts."""
    words: list[str] = []
    for section in sections:
        words += section.headings
        words += section.in_sentences
    return "|".join(words)
