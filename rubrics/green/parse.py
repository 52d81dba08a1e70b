"""From a raw answer to an annotation, with certainty or not at all."""

from __future__ import annotations

import re
from functools import lru_cache

from judge.rubrics.green.bodies import check_tallies, read_errors, read_matched
from judge.rubrics.green.layout import (
    BODY_PLACEHOLDER,
    EXPLANATION,
    MATCHED,
    TITLES,
    Reason,
    an_error,
    matched_finding,
    unparsed,
    warnings_on,
)
from judge.rubrics.green.lists import fits_list
from judge.rubrics.green.markup import plain_answer
from judge.rubrics.green.sections import (
    Answer,
    Section,
    answers,
    clean,
    missing,
    split,
    with_headings_on_lines,
)
from judge.rubrics.significance import CATEGORIES, KEY, LEVELS
from judge.types import Annotation, Item, Study, UnparsedError

_REFUSAL = re.compile(
    r"""
    \W*+(?:i(?:['\u2019]m|\ am)\ (?:so\ |very\ |really\ |deeply\ )?(?:sorry|afraid|unable|not\ able)
      | sorry | i\ apologi[sz]e | my\ apologies | unfortunately | as\ an?\ (?:ai|language|large)
      | i\ (?:can(?:not|['\u2019]t|\ not)|won['\u2019]t|will\ not|must\ decline|do\ not\ feel)
      | i['\u2019]d\ rather\ not)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

# A prompt that is echoed with a worked answer shows this study's own report behind it.
_ECHO_LENGTH = 60
_ECHO_LEAST = 15
_THINKING = re.compile(
    r"\b(?:let me|let['\u2019]s|i (?:need|should|will|have) to|i['\u2019]ll|i should|wait|hmm+|okay"
    r"|alright|first,|the user|we need|so,)\b",
    re.IGNORECASE,
)
_fits = lru_cache(4096)(fits_list)  # the same findings come again in a run
_FINAL = re.compile(
    r"^[^\n]{0,160}\b(?:final|revised|corrected|updated|definitive)(?:[ ](?:and[ ]\w+[ ])?(?:answer"
    r"|output|assessment|evaluation|report|response|version|annotation|result))?[\s*_\])]*(?::|$)"
    r"[\s*_=\-\])#]*\Z",
    re.IGNORECASE | re.MULTILINE,
)


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:
    """Return the annotation that `text`, a judge's answer, expresses about `study`.

    Every mark and every count must have its place: what could be one and belongs nowhere
    makes the answer unparsed. A count stands only where something proves that it is whole; a
    section whose counts are not all stated, only where a further heading, or `complete`,
    proves the section whole. Raises `UnparsedError` with one of `layout.Reason` otherwise.
    """
    text, complete = clean(text, complete=complete)
    text = plain_answer(text)
    found = answers(split(text, complete=complete))
    if not found or missing(found[-1]):
        in_line = answers(split(with_headings_on_lines(text), complete=complete))
        if len(in_line) == 1 and not missing(in_line[0]):
            found = in_line
    if not found:
        if _REFUSAL.match(text):
            raise unparsed(Reason.REFUSAL, " ".join(text.split())[:80])
        raise unparsed(Reason.MISSING_SECTION, "no section has a heading")
    if not complete and _thinks_aloud(text, found[0]):
        raise unparsed(Reason.TRUNCATED, "this may be a line of thought that was cut")
    if complete and len(found) > 1 and missing(found[-1]):
        found = _without_restart(found)
    annotation = _read(found[-1])
    for at, earlier in enumerate(found[:-1]):
        behind = text[max(_starts(earlier)) : min(_starts(found[at + 1]))]
        _check_earlier(earlier, annotation, behind, study)
    return annotation


def _thinks_aloud(text: str, first: Answer) -> bool:
    """Return whether what stands before the first section, or in its explanation, deliberates.

    Some templates open a line of thought for the model: its end tag is all that shows it,
    and a cut takes that away.
    """
    return _THINKING.search(text[: min(_starts(first))]) is not None


def _starts(answer: Answer) -> list[int]:
    return [section.start for section in answer.values()]


def _without_restart(found: list[Answer]) -> list[Answer]:
    """Return `found` without a last answer that only begins to say the one before again."""
    *earlier, last = found
    whole = earlier[-1]
    for kind, section in last.items():
        if kind != EXPLANATION and _counts(section) != _counts(whole.get(kind)):
            return found
    return earlier


def _counts(section: Section | None) -> object:
    if section is None or section.kind == MATCHED:
        return section and read_matched(section).count
    return read_errors(section).counts


def _read(answer: Answer) -> Annotation:
    if absent := missing(answer):
        titles = ", ".join(TITLES[kind] for kind in absent)
        raise unparsed(Reason.MISSING_SECTION, titles)
    stated: dict[str, int] = {}
    items: list[Item] = []
    not_listed: list[str] = []
    asides: dict[str, str] = {}
    for level in LEVELS:
        section = read_errors(answer[level])
        for category in CATEGORIES:
            stated[KEY[level, category]] = section.counts[category]
            if entries := section.entries.get(category):
                items += [an_error(level, category, entry) for entry in entries]
        not_listed += [KEY[level, category] for category in section.not_listed]
        asides[level] = section.asides
    listed = read_matched(answer[MATCHED])
    stated[MATCHED], asides[MATCHED] = listed.count, listed.aside
    check_tallies(asides, stated, {kind: answer[kind].stated for kind in asides})
    items += map(matched_finding, listed.entries)
    # What no list can hold was damaged or is of another form: its count is not certain.
    if odd := next((item.text for item in items if not _fits(item.text)), None):
        raise unparsed(Reason.UNREADABLE_COUNT, odd)
    return Annotation(
        items=tuple(items),
        explanation=_explanation(answer),
        stated_counts=stated,
        warnings=warnings_on(stated, items, frozenset(not_listed)),
    )


def _explanation(answer: Answer) -> str:
    if EXPLANATION not in answer:
        return ""
    words = answer[EXPLANATION].body.strip()
    return "" if BODY_PLACEHOLDER.fullmatch(words) else words


def _check_earlier(earlier: Answer, last: Annotation, behind: str, study: Study) -> None:
    """Raise where `earlier` is an answer too and says something else about this study."""
    try:
        other = _read(earlier)
    except UnparsedError:
        return
    same = other.stated_counts == last.stated_counts
    if not (same or _FINAL.search(behind) or _shows_report(behind, study)):
        raise unparsed(Reason.CONTRADICTION, "two answers with different counts")


def _shows_report(text: str, study: Study) -> bool:
    words = " ".join(text.split())
    openings = (" ".join(one.split())[:_ECHO_LENGTH] for one in (study.reference, study.candidate))
    return any(len(opening) >= _ECHO_LEAST and opening in words for opening in openings)
