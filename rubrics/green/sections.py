"""From a raw answer to its sections: which of the headings belong to the answer.

An answer may come with more than itself: chat tokens, a fence, a line of thought, an echo
of the prompt and its template. Sections whose counts are placeholders are no answer; of
what is left the last answer counts.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from judge.rubrics.green.counts import read_count
from judge.rubrics.green.layout import (
    BODY_PLACEHOLDER,
    END,
    EXPLANATION,
    HEADING,
    MATCHED,
    PLACEHOLDER,
    TEMPLATE_LINE,
    Reason,
    unparsed,
)
from judge.rubrics.green.markup import plain_answer
from judge.rubrics.notation import CHAT_TOKEN, after_thought
from judge.rubrics.significance import INSIGNIFICANT, LEVELS, SIGNIFICANT

_END_TOKEN = re.compile(
    r"</s>|<end_of_turn>|<\|(?:end|end_of_text|endoftext|eom_id|eos|eot_id|im_end)\|>"
)
_IN_LINE = re.compile(
    r"(?<=\S)[^\S\n]++(?=(?:\*\*|__|\#\#+[^\S\n])?\[?(?:explanation|clinically[^\S\n](?:in|non-?)?significant"
    r"[^\S\n]errors|matched[^\S\n]findings)\]?(?:[^\S\n]?\([0-9]+\))?\]?(?:\*\*)?:)",
    re.IGNORECASE,
)


class Section(NamedTuple):
    """One section: its kind, its heading's style and place, and its body.

    `closed` says that something proves the body whole: a further heading, an end token, or
    the judge's word that it had finished. `stated` is a count in the heading.
    """

    kind: str
    bracketed: bool
    start: int
    body: str
    closed: bool
    stated: int | None = None


Answer = dict[str, Section]
"""The sections of one answer by kind, each at most once."""


def clean(text: str, *, complete: bool) -> tuple[str, bool]:
    """Return `text` without chat tokens, fence and line of thought, and whether it is complete.

    A closing fence at the very end proves it complete as the judge's own word does. Raises
    `UnparsedError` for a line of thought that never ends and where nothing is left.
    """
    answer = after_thought(text)
    if answer is None:
        raise unparsed(Reason.TRUNCATED, "the line of thought does not end")
    if "<" in answer or "[/" in answer or "[INST]" in answer:
        answer = CHAT_TOKEN.sub(_token, answer)
    rest = answer.rstrip()
    if rest.endswith("\n```"):
        answer, complete = rest[:-3], True
    if not answer.strip().strip(END + "\n"):
        raise unparsed(Reason.EMPTY, "the judge said nothing")
    return (answer + "\n" if complete else answer), complete


def _token(match: re.Match[str]) -> str:
    return f"\n{END}\n" if _END_TOKEN.fullmatch(match[0].lower()) else "\n"


def split(text: str, *, complete: bool) -> list[Section]:
    """Return the sections of `text` in order, without a template's where there are several."""
    headings = _headings(text)
    sections = []
    for match, following in zip_longest(headings, headings[1:]):
        if match["name"] is not None:
            end = following.start() if following else None
            kind, bracketed = _kind(match["name"]), match["bracket"] is not None
            body, closed = text[match.end() : end], complete or end is not None
            stated = read_count(f"{match['stated']}\n") if match["stated"] else None
            value = stated.value if stated else None
            sections.append(Section(kind, bracketed, match.start(), body, closed, value))
    if len(answers(sections)) < 2:  # each kind once, all headings in one style
        return sections
    return [section for section in sections if not _is_template(section.kind, section.body)]


def with_headings_on_lines(text: str) -> str:
    """Return an answer that is all on one line with each heading on a line of its own."""
    return text if len(_heading_lines(text)) > 1 else _IN_LINE.sub("\n", text)


def _heading_lines(text: str) -> list[re.Match[str]]:
    """Return what opens a section, in order: tried at line heads alone, which is faster."""
    found = []
    at = 0
    while True:
        if not text.startswith(("(", "\n"), at) and (match := HEADING.match(text, at)):
            found.append(match)
        at = text.find("\n", at) + 1
        if at == 0:
            return found


def _headings(text: str) -> list[re.Match[str]]:
    """Return the headings that count.

    Once a section with a bracketed heading has begun, a line like "Matched findings: ..."
    is a line of it, unless all such sections so far are a template's.
    """
    found = _heading_lines(text)
    in_brackets = [match for match in found if match["name"] is None or match["bracket"]]
    if not in_brackets or len(in_brackets) == len(found):
        return found
    ends = dict(zip(in_brackets, [*in_brackets[1:], None], strict=True))
    kept = []
    answering = False
    for match in found:
        if match in ends:
            following, name = ends[match], match["name"]
            body = text[match.end() : following.start() if following else None]
            answering = answering or (name is not None and not _is_template(_kind(name), body))
        elif answering:
            continue
        kept.append(match)
    return kept


@lru_cache(maxsize=256)
def _kind(name: str) -> str:
    name = name.lower()
    if name.startswith("e"):
        return EXPLANATION
    if name.startswith("m"):
        return MATCHED
    return INSIGNIFICANT if re.search(r"insig|non-?sig|not\s", name) else SIGNIFICANT


def _is_template(kind: str, body: str) -> bool:
    if BODY_PLACEHOLDER.fullmatch(body):
        return read_count(body.strip() + "\n") is None
    if kind == EXPLANATION:
        return False
    if kind == MATCHED:
        return _is_placeholder(body.lstrip().partition("\n")[0])
    slots = (body[line.end() :].partition("\n")[0] for line in TEMPLATE_LINE.finditer(body))
    return any(map(_is_placeholder, slots))


def _is_placeholder(slot: str) -> bool:
    return PLACEHOLDER.match(slot) is not None and read_count(slot + "\n") is None


def answers(sections: list[Section]) -> list[Answer]:
    """Return the answers that `sections` make up, in order.

    A new one begins where a kind comes again or the headings change their style.
    """
    found: list[Answer] = []
    style = None
    for section in sections:
        if not found or section.kind in found[-1] or section.bracketed != style:
            found.append({})
            style = section.bracketed
        found[-1][section.kind] = section
    return found


def missing(answer: Answer) -> list[str]:
    """Return the kinds that count and that `answer` lacks."""
    return [kind for kind in (*LEVELS, MATCHED) if kind not in answer]


def fits_explanation(text: str) -> bool:
    """Return whether `text` can stand as the explanation and be read back unchanged."""
    return (
        text == text.strip()
        and "\r" not in text
        and not CHAT_TOKEN.search(text)
        and not any(opens_section(line) for line in text.split("\n"))
        and not BODY_PLACEHOLDER.fullmatch(text)
        and plain_answer(text) == text
    )


def opens_section(line: str) -> bool:
    """Return whether `line` would open a section in an answer whose headings have brackets."""
    heading = HEADING.match(line + "\n")
    return heading is not None and (heading["bracket"] is not None or heading["name"] is None)
