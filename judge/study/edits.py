"""An annotation's corrections as an edit of the candidate, line by line."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict

from judge.sentences import lines

_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_PIECES = 800
"""Longer lines are shown as taken out and put in whole: the comparison takes the square."""
_LEAST_SHARED = 0.3
"""Lines that share less of the shorter one are replaced as a whole."""

Kind = Literal["same", "change", "delete", "insert"]
Change = Literal["same", "out", "in"]


class Row(TypedDict):
    """One line of the edit, its words in order: the same, taken out or put in.

    `line` is the number of the candidate's line, None for an inserted one, `error` the index of
    the error whose correction it is.
    """

    kind: Kind
    line: int | None
    error: int | None
    pieces: list[tuple[Change, str]]


def changed_words(old_line: str, new_line: str) -> list[tuple[Change, str]]:
    """Return the words of a changed line in order: the same, taken out or put in.

    Those not put in make the old line, those not taken out the new one, with their spaces.
    """
    before, after = _PIECE.findall(old_line), _PIECE.findall(new_line)
    if max(len(before), len(after)) > _MAX_PIECES:
        return [("out", old_line), ("in", new_line)]
    old, new = ([" " if word.isspace() else word for word in words] for words in (before, after))
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    blocks = [
        block
        for block in matcher.get_matching_blocks()
        if any(map(str.isalnum, "".join(old[block.a : block.a + block.size])))
    ]
    shared = sum(_n_words(old[block.a : block.a + block.size]) for block in blocks)
    if shared < _LEAST_SHARED * min(_n_words(old), _n_words(new)):
        blocks = []
    pieces: list[tuple[Change, str]] = []
    i, j = 0, 0
    for a, b, size in [*blocks, (len(before), len(after), 0)]:
        pieces += [
            ("out", "".join(before[i:a])),
            ("in", "".join(after[j:b])),
            ("same", "".join(after[b : b + size])),
        ]
        i, j = a + size, b + size
    return [(change, text) for change, text in pieces if text]


def _n_words(pieces: Sequence[str]) -> int:
    return sum(piece != " " for piece in pieces)


def rows(candidate: str, errors: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the candidate's lines in order, with the edits of a record's `errors`."""
    report = lines(candidate)
    changed: dict[int, int] = {}
    inserted: dict[int, list[int]] = defaultdict(list)
    for number, error in enumerate(errors):
        edit = error["edit"]
        if edit and edit["kind"] == "insert":
            inserted[len(report) if edit["line"] is None else edit["line"]].append(number)
        elif edit:
            changed[edit["line"]] = number
    for place, line in enumerate([*report, None]):
        for number in inserted[place]:
            pieces: list[tuple[Change, str]] = [("in", errors[number]["edit"]["corrected"])]
            yield {"kind": "insert", "line": None, "error": number, "pieces": pieces}
        if line is None:
            continue
        kind: Kind = "same"
        corrected_by, pieces = changed.get(place), [("same", line)]
        if corrected_by is not None:
            edit = errors[corrected_by]["edit"]
            kind, pieces = edit["kind"], [("out", line)]
            if kind == "change":
                pieces = changed_words(line, edit["corrected"])
        yield {"kind": kind, "line": place, "error": corrected_by, "pieces": pieces}
