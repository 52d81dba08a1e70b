"""An annotation's corrections as an edit of the candidate, line by line."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from judge.sentences import lines

_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_PIECES = 800
"""Longer lines are shown as taken out and put in whole: the comparison takes the square."""
_LEAST_SHARED = 0.3
"""Lines that share less of the shorter one are replaced as a whole."""

Kind = Literal["same", "change", "delete", "insert"]
Change = Literal["same", "out", "in"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the edit.

    `line` is the candidate's line, None for one that is put in; `before` is what stood there,
    `after` what stands there once corrected, None where there is none. `error` is the number
    of the error that asks for it, from 0.
    """

    kind: Kind
    line: int | None
    before: str | None
    after: str | None
    error: int | None = None

    def pieces(self) -> list[tuple[Change, str]]:
        """Return what a changed line keeps, loses and gains, word by word, in reading order.

        What is kept and lost makes the line as it was, what is kept and gained the new one,
        with their spaces.
        """
        before, after = _PIECE.findall(self.before or ""), _PIECE.findall(self.after or "")
        if max(len(before), len(after)) > _MOST_PIECES:
            return [("out", self.before or ""), ("in", self.after or "")]
        old, new = ([" " if one.isspace() else one for one in all_] for all_ in (before, after))
        matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
        blocks = [
            block
            for block in matcher.get_matching_blocks()
            if any(map(str.isalnum, "".join(old[block.a : block.a + block.size])))
        ]
        kept = sum(_n_words(old[block.a : block.a + block.size]) for block in blocks)
        if kept < _LEAST_SHARED * min(_n_words(old), _n_words(new)):
            blocks = []
        found: list[tuple[Change, str]] = []
        start, other_start = 0, 0
        for at, other_at, size in [*blocks, (len(before), len(after), 0)]:
            found += [
                ("out", "".join(before[start:at])),
                ("in", "".join(after[other_start:other_at])),
                ("same", "".join(after[other_at : other_at + size])),
            ]
            start, other_start = at + size, other_at + size
        return [(change, text) for change, text in found if text]


def _n_words(pieces: Sequence[str]) -> int:
    return sum(piece != " " for piece in pieces)


def rows(candidate: str, errors: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the candidate's lines in order, with those that a record's `errors` take out or put in.

    An error without an edit has no row.
    """
    report = lines(candidate)
    changed: dict[int, int] = {}
    inserted: dict[int, list[int]] = defaultdict(list)
    for number, error in enumerate(errors):
        edit = error["edit"]
        if edit and edit["kind"] == "insert":
            inserted[len(report) if edit["line"] is None else edit["line"]].append(number)
        elif edit:
            changed[edit["line"]] = number
    for at, line in enumerate([*report, None]):
        for number in inserted[at]:
            yield Row("insert", None, None, errors[number]["edit"]["corrected"], number)
        if line is not None and at in changed:
            edit = errors[changed[at]]["edit"]
            after = edit["corrected"] if edit["kind"] == "change" else None
            yield Row(edit["kind"], at, line, after, changed[at])
        elif line is not None:
            yield Row("same", at, line, line)
