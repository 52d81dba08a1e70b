"""What an answer says of its own counts beside them: totals in headings and in remarks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from judge.rubrics.green.counts import ADJECTIVE, read_count
from judge.rubrics.green.layout import (
    CATEGORIES,
    INSIGNIFICANT,
    KEY,
    LEVELS,
    MATCHED,
    SIGNIFICANT,
    Reason,
    unparsed,
)

_NUMBER_OF = re.compile(
    rf"(?<![\w.,/])(?P<number>[0-9]{{1,4}}|[a-z]{{3,9}})(?P<what>(?:[ ]{ADJECTIVE})*[ ]"
    r"(?:errors?|mistakes?|discrepanc(?:y|ies)|omissions?|findings?|matches))\b",
    re.IGNORECASE,
)
_BEHIND_COLON = re.compile(
    r"(?P<what>[^:=\n.;,]{0,80})[:=]\s*(?=[(\[]?(?:[0-9]|[a-z]{2,9}\b))", re.IGNORECASE
)
_OF_A_CATEGORY = re.compile(
    r"false|missing|missed|omi|wrong|incorrect|location|severity|comparison|major|minor|normal"
    r"|additional|other|distinct|separate|key|positive",
    re.IGNORECASE,
)
_NO_TALLY = re.compile(
    r"score|green|accuracy|rating|grade|confidence|precision|recall", re.IGNORECASE
)


def check_tallies(
    asides: Mapping[str, str], stated: Mapping[str, int], headings: Mapping[str, int | None]
) -> None:
    """Raise `UnparsedError` where a total beside the counts is not their total.

    `asides` holds each section's remarks, `headings` the count in its heading if any.
    """
    totals = {
        level: sum(stated[KEY[level, category]] for category in CATEGORIES) for level in LEVELS
    }
    totals[MATCHED] = stated[MATCHED]
    for kind, aside in asides.items():
        heading = headings[kind]
        if heading is not None and heading != totals[kind]:
            raise unparsed(
                Reason.CONTRADICTION, f"the heading states {heading}, the list {totals[kind]}"
            )
        for value, allowed in _tallies(aside, kind, totals):
            if value not in allowed:
                raise unparsed(
                    Reason.CONTRADICTION, f"{kind}: {value} in a remark is not the total of a list"
                )


def _tallies(aside: str, kind: str, totals: Mapping[str, int]) -> list[tuple[int, set[int]]]:
    if not aside.strip():
        return []
    found = []
    for line in aside.split("\n"):
        count = read_count(line + "\n")
        if count and not line[count.end :].strip():
            found.append((count.value, _allowed("", kind, totals)))
    for match in _NUMBER_OF.finditer(aside):
        count = read_count(match["number"] + "\n")
        if count and not _OF_A_CATEGORY.search(match["what"]):
            found.append((count.value, _allowed(match["what"], kind, totals)))
    for match in _BEHIND_COLON.finditer(aside):
        count = read_count(aside[match.end() :] + "\n")
        if count and not _NO_TALLY.search(match["what"]):
            found.append((count.value, _allowed(match["what"], kind, totals)))
    return found


def _allowed(what: str, kind: str, totals: Mapping[str, int]) -> set[int]:
    low = what.lower()
    if "match" in low:
        return {totals[MATCHED]}
    if "insignificant" in low or "non" in low:
        return {totals[INSIGNIFICANT]}
    if "significant" in low:
        return {totals[SIGNIFICANT]}
    everything = totals[SIGNIFICANT] + totals[INSIGNIFICANT]
    return {totals[kind], everything} | ({totals[SIGNIFICANT]} if kind == MATCHED else set())
