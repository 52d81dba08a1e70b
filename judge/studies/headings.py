"""Headings within a report: where the findings begin, and where they end.

A report that is cut too early loses findings without a trace, so a word with a colon is a heading
only where nothing else is likely:

- A *main* heading, of a section that can be judged, starts a section. It stands at the start of
  the text, of a line or of a sentence, in any case; or anywhere if it is capitalised, since
  ReXrank joins "Findings: ... Impression: ..." without a full stop between them. "Incidental
  Findings:" is a longer heading, and not one of these.
- A *closing* heading ("Recommendation:", "Addendum:", "Signed by:") ends a section at the start of
  a line or of a sentence.
- A heading *about* the examination ("View:", "Exam:", "Technique:", "Comparison:", "History:") is
  a usual word within findings. It ends a section only as a line of a report that is written in
  lines: a heading of its own line follows it.

No heading stands within a list item.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from judge.report_sections import (
    SECTIONS,
    HeadingPlace,
    ReportSection,
    splitting_pattern,
)
from judge.text import says_nothing


def _words(pattern: str) -> str:
    """Return a pattern whose blanks count in a verbose expression."""
    return pattern.replace(" ", "[ ]")


def _group(number: int, section: ReportSection) -> str:
    """Return the headings of a section as a group that has the section's number."""
    return f"(?P<section_{number}>{_words(splitting_pattern(section))})"


_SPLITTING = tuple(section for section in SECTIONS if splitting_pattern(section))
_HEADING = re.compile(
    rf"""
    (?<![^\W_])
    (?P<name>{"|".join(map(_group, range(len(_SPLITTING)), _SPLITTING))})
    [*_ \t]*
    (?: (?P<colon>[:\uff1a])[*_]* | $ )
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_MARKUP = "#*_> \t"
_SENTENCE_ENDS = ".!?;\u3002"
_BULLETS = r"-+*\u2022\u00b7\u25e6\u2023\u25aa\u2013\u2014"
_LIST_ITEM = re.compile(
    rf"^(?P<indent>[ \t>]*)(?:[{_BULLETS}]|\(?\d{{1,2}}[.)]|\(?[a-z][.)])[ \t]+",
    re.IGNORECASE,
)
_LONGEST_QUALIFIER = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading in a report.

    `start` is the character at which its markup or the blanks before it start, `end` the one at
    which the text below it begins; `starts_line` says whether nothing else stands before it in
    its line.
    """

    section: ReportSection
    words: str
    start: int
    end: int
    starts_line: bool

    @property
    def is_main(self) -> bool:
        """Whether it starts a section that can be judged."""
        return self.section.place is HeadingPlace.MAIN

    def names(self, section: str) -> bool:
        """Return whether it is the heading of a section, alone or with another one."""
        return section == self.section.name or section in self.section.parts


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a report: its heading, None before the first one, and the text below it."""

    heading: Heading | None
    text: str

    def holds(self, section: str) -> bool:
        """Return whether it is of the section of this name."""
        return self.heading is not None and self.heading.names(section)

    @property
    def label(self) -> str:
        """The words of the heading, or that there is none."""
        if self.heading is None:
            return "no heading"
        return self.heading.words


@dataclass(frozen=True, slots=True)
class SplitReport:
    """A report as its parts, in their order."""

    parts: tuple[Part, ...]

    @property
    def has_headings(self) -> bool:
        """Whether it has a heading of a section that can be judged."""
        headings = [part.heading for part in self.parts if part.heading is not None]
        return any(heading.is_main for heading in headings)

    def section(self, name: str) -> str | None:
        """Return the text of a section, repeated ones joined; None where no heading names it."""
        texts = [part.text for part in self.parts if part.holds(name)]
        if not texts:
            return None
        return "\n".join(text for text in texts if text)

    @property
    def preamble(self) -> str:
        """The text before the first heading; "" where the report starts with one."""
        first = self.parts[0]
        if first.heading is not None:
            return ""
        return first.text

    def besides(self, name: str) -> list[Part]:
        """Return the parts that say something and are not of the section."""
        return [
            part
            for part in self.parts
            if not part.holds(name) and not says_nothing(part.text)
        ]


def split_report(text: str) -> SplitReport:
    """Split a report at its headings; what stands before the first main heading is one part."""
    headings = _headings(text)
    if not headings:
        return SplitReport((Part(None, text.strip()),))
    parts = []
    before = text[: headings[0].start].strip()
    if before:
        parts.append(Part(None, before))
    for heading, end in zip(headings, _ends(text, headings), strict=True):
        parts.append(Part(heading, text[heading.end : end].strip()))
    return SplitReport(tuple(parts))


def without_blank_sections(text: str) -> str:
    """Return a report without the headings below which nothing is said ("Findings: None.")."""
    headings = _headings(text)
    if not headings:
        return text
    kept = [text[: headings[0].start]]
    for heading, end in zip(headings, _ends(text, headings), strict=True):
        if heading.is_main and says_nothing(text[heading.end : end]):
            # The blanks between two parts belong to the earlier one.
            has_line_break = "\n" in text[heading.start : end]
            kept.append("\n" if has_line_break else " ")
        else:
            kept.append(text[heading.start : end])
    return "".join(kept).strip()


def _ends(text: str, headings: Sequence[Heading]) -> list[int]:
    """Return where the text below each heading ends."""
    return [heading.start for heading in headings[1:]] + [len(text)]


# The references of a data set are read once for each model.
@lru_cache(maxsize=16_384)
def _headings(text: str) -> tuple[Heading, ...]:
    """Return the headings that part a report, from its first main heading on."""
    items = _list_items(text)
    found = []
    for match in _HEADING.finditer(text):
        heading = _heading(text, match)
        in_item = any(start <= match.start() < end for start, end in items)
        if not in_item and _is_heading(text, match, heading):
            found.append(heading)
    mains = [heading.start for heading in found if heading.is_main]
    if not mains:
        return ()
    found = [heading for heading in found if heading.start >= mains[0]]
    return tuple(_without_words_of_findings(text, found))


def _heading(text: str, match: re.Match[str]) -> Heading:
    start = len(text[: match.start()].rstrip(_MARKUP))
    number = next(
        number for number in range(len(_SPLITTING)) if match[f"section_{number}"]
    )
    return Heading(
        section=_SPLITTING[number],
        words=match["name"],
        start=start,
        end=match.end(),
        starts_line=start == 0 or text[start - 1] == "\n",
    )


def _is_heading(text: str, match: re.Match[str], heading: Heading) -> bool:
    """Return whether a known name stands where a heading does."""
    is_capitalised = match["name"][0].isupper()
    if not match["colon"]:
        return heading.starts_line and is_capitalised
    if heading.starts_line:
        return True
    starts_sentence = text[heading.start - 1] in _SENTENCE_ENDS
    if heading.is_main:
        return starts_sentence or (is_capitalised and not _has_qualifier(text, heading))
    is_closing = heading.section.place is HeadingPlace.CLOSING
    return starts_sentence and is_closing and is_capitalised


def _has_qualifier(text: str, heading: Heading) -> bool:
    """Return whether a main heading ends a longer one, such as "Incidental Findings:"."""
    before = re.split(r"(?<=[.!?;:\n])", text[: heading.start])
    words = before[-1].split()
    follows_heading = len(before) > 1 and before[-2].endswith(":")
    if follows_heading or not 1 <= len(words) <= _LONGEST_QUALIFIER:
        return False
    if heading.words.isupper():
        return all(word.isupper() for word in words)
    return all(word[0].isupper() and not word.isupper() for word in words)


def _list_items(text: str) -> list[tuple[int, int]]:
    """Return where list items start and end; lines that are indented deeper belong to the item."""
    items = []
    position, depth = 0, None
    for line in text.splitlines(keepends=True):
        item = _LIST_ITEM.match(line)
        indent = len(line) - len(line.lstrip(" \t>"))
        if item:
            depth = len(item["indent"])
        elif depth is not None and (not line.strip() or indent <= depth):
            depth = None
        if depth is not None:
            items.append((position, position + len(line)))
        position += len(line)
    return items


def _without_words_of_findings(text: str, found: Sequence[Heading]) -> list[Heading]:
    """Leave out the names about the examination that are words of a section.

    Looked at from the last to the first, for whether a heading follows decides.
    """
    kept: list[Heading] = []
    for index in range(len(found) - 1, -1, -1):
        heading = found[index]
        if heading.section.place is HeadingPlace.ABOUT:
            said = text[found[index - 1].end : heading.start]
            if says_nothing(said) or not _is_line_of_its_own(text, heading, kept):
                continue
        kept.insert(0, heading)
    return kept


def _is_line_of_its_own(text: str, heading: Heading, later: Sequence[Heading]) -> bool:
    """Return whether a heading and its text are lines of a report that is written in lines."""
    following = [other.start for other in later if other.starts_line]
    if not heading.starts_line or not following:
        return False
    line, _, rest = text[heading.end :].partition("\n")
    if not line.strip():
        return True
    next_line = len(text) - len(rest.lstrip())
    # A heading starts at its markup, or at the blanks before it.
    return any(
        start <= next_line and not text[start:next_line].strip() for start in following
    )
