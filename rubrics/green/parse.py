"""From a raw answer to an annotation, with certainty or not at all."""

from __future__ import annotations

import re

from judge.rubrics.green.errors import read_errors
from judge.rubrics.green.layout import (
    BODY_PLACEHOLDER,
    CATEGORIES,
    EXPLANATION,
    KEY,
    LEVELS,
    MATCHED,
    TITLES,
    Reason,
    remarks_on,
    unparsed,
)
from judge.rubrics.green.matched import read_matched
from judge.rubrics.green.sections import Answer, answers, clean, missing, split
from judge.types import Annotation, Error, Study, UnparsedError

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


def parse(text: str, study: Study, *, complete: bool = False) -> Annotation:
    """Return the annotation that `text`, a judge's answer, expresses about `study`.

    A count stands only where something proves that it is whole; a section whose counts are
    not all stated, only where a further heading, or `complete`, proves the section whole.
    Raises `UnparsedError` with one of `layout.Reason` otherwise.
    """
    text, complete = clean(text, complete=complete)
    found = answers(split(text, complete=complete))
    if not found:
        if _REFUSAL.match(text):
            raise unparsed(Reason.REFUSAL, " ".join(text.split())[:80])
        raise unparsed(Reason.MISSING_SECTION, "no section has a heading")
    annotation = _read(found[-1])
    for at, earlier in enumerate(found[:-1]):
        _check_earlier(earlier, annotation, _between(text, earlier, found[at + 1]), study)
    return annotation


def _read(answer: Answer) -> Annotation:
    if absent := missing(answer):
        titles = ", ".join(TITLES[kind] for kind in absent)
        raise unparsed(Reason.MISSING_SECTION, titles)
    stated: dict[str, int] = {}
    errors: list[Error] = []
    not_listed: list[str] = []
    numbered = False
    for level in LEVELS:
        section = read_errors(answer[level])
        for category in CATEGORIES:
            stated[KEY[level, category]] = section.counts[category]
            if entries := section.entries.get(category):
                errors += [Error((category,), level, entry) for entry in entries]
        not_listed += [KEY[level, category] for category in section.not_listed]
        numbered = numbered or section.numbered
    stated[MATCHED], matched = read_matched(answer[MATCHED], numbered_lists=numbered)
    return Annotation(
        errors=tuple(errors),
        matched=matched,
        explanation=_explanation(answer),
        stated=stated,
        remarks=remarks_on(stated, errors, matched, frozenset(not_listed)),
    )


def _explanation(answer: Answer) -> str:
    if EXPLANATION not in answer:
        return ""
    words = answer[EXPLANATION].body.strip()
    return "" if BODY_PLACEHOLDER.fullmatch(words) else words


def _between(text: str, earlier: Answer, later: Answer) -> str:
    start = max(section.start for section in earlier.values())
    return text[start : min(section.start for section in later.values())]


def _check_earlier(earlier: Answer, last: Annotation, behind: str, study: Study) -> None:
    """Raise where `earlier` is an answer too and says something else about this study."""
    try:
        other = _read(earlier)
    except UnparsedError:
        return
    if other.stated != last.stated and not _shows_report(behind, study):
        raise unparsed(Reason.CONTRADICTION, "two answers with different counts")


def _shows_report(text: str, study: Study) -> bool:
    words = " ".join(text.split())
    for report in (study.reference, study.candidate):
        opening = " ".join(report.split())[:_ECHO_LENGTH]
        if len(opening) >= _ECHO_LEAST and opening in words:
            return True
    return False
