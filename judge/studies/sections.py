"""Splitting a whole report by its headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from judge.types import JudgeError

Section = Literal["findings", "impression", "report"]

SECTIONS: tuple[Section, ...] = ("findings", "impression", "report")
"""What of a report can be judged."""


def known_section(section: str | None) -> Section | None:
    """Return a section as the user names it; raises `JudgeError` for one that is none."""
    known = next((known for known in SECTIONS if known == section), None)
    if known is None and section is not None:
        raise JudgeError(f"unknown section {section!r}; there are: {', '.join(SECTIONS)}")
    return known


_FINDINGS = r"findings?"
_IMPRESSION = r"impressions?|conclusions?|opinion"
_BOTH = rf"(?:{_FINDINGS})\s?(?:/|&|and)\s?(?:{_IMPRESSION})"
_OTHER = (
    r"(?:clinical |brief )?(?:indications?|history|information)|reason for (?:the )?"
    r"(?:exam(?:ination)?|study)|comparisons?(?: study)?|technique|procedure|protocol|views?|"
    r"exam(?:ination)?|recommendations?|addendum|notification|final report|context|"
    r"(?:electronically )?signed(?: by)?|dictated by"
)
_HEADING = re.compile(
    rf"""
    (?<![^\W_])(?P<name>
        (?P<both>{_BOTH.replace(" ", "[ ]")})
      | (?P<findings>{_FINDINGS})
      | (?P<impression>{_IMPRESSION})
      | (?P<other>{_OTHER.replace(" ", "[ ]")})
    )
    [*_ \t]*
    (?: (?P<colon>:)[*_]* | $ )
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


_LONGEST_HEADING = 80


@dataclass(frozen=True, slots=True)
class Sections:
    """A report's sections: None where it has no such heading, else the text under it.

    `preamble` is what stands before the first heading.
    """

    findings: str | None
    impression: str | None
    preamble: str


def split_report(text: str) -> Sections:
    """Split a report by its "Findings:" and "Impression:" headings.

    A heading is a known name in any case with a colon, at the start of a line or of a
    sentence, or anywhere if capitalised; or a capitalised name alone on its line. Markdown
    around it is ignored. "Conclusion:" is an impression; a heading for something else
    ("Indication:", "Comparison:", "Technique:", ...) ends a section. Two sections of one
    name are put one under the other.
    """
    if len(text) > _LONGEST_HEADING and ":" not in text and "\n" not in text:
        return Sections(None, None, text.strip())
    found = [match for match in _HEADING.finditer(text) if _is_heading(text, match)]
    starts = [_before_markup(text, match.start()) for match in found]
    bodies: dict[str, list[str]] = {"findings": [], "impression": []}
    boundaries = [*starts, len(text)]
    for match, end in zip(found, boundaries[1:], strict=True):
        body = text[match.end() : end].strip()
        for name in bodies:
            if match[name] or match["both"]:
                bodies[name].append(body)
    preamble = text[: boundaries[0]].strip()
    return Sections(_joined(bodies["findings"]), _joined(bodies["impression"]), preamble)


def _joined(bodies: list[str]) -> str | None:
    return "\n".join(filter(None, bodies)) if bodies else None


def _is_heading(text: str, match: re.Match[str]) -> bool:
    start = _before_markup(text, match.start())
    before = text[start - 1] if start else "\n"
    capitalised = match["name"][0].isupper()
    if not match["colon"]:
        return before == "\n" and capitalised
    return before in "\n.!?;" or capitalised


def _before_markup(text: str, position: int) -> int:
    while position and text[position - 1] in "#*_ \t":
        position -= 1
    return position
