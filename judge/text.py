"""Numbers and groups as they are printed, and texts that say nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

NOTHING = "n/a"
NUMBER_WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
"""The numbers below twenty as words, each at its own place."""

_NO_VALUE = "(none)"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?%?")
_DIGITS = re.compile(r"([0-9]+)")
# What stands in the place of a text that is missing, in lower case and without punctuation.
_BLANK = re.compile(
    r"""
      none(?:\ (?:available|provided|given))?
    | nan | null | n\ ?a
    | not\ (?:available|provided|applicable|given)
    | (?:please\ )?see\ (?:the\ )?(?:impression|findings|report|above|below)
      (?:\ (?:section|above|below))?
    | x{3,}(?:\ x{3,})*  # the Indiana collection writes XXXX where others write ___
    """,
    re.VERBOSE,
)


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` decimals, 0 without a sign; `n/a` where there is none."""
    if value is None:
        return NOTHING
    return f"{value:z.{digits}f}"


def capital(text: str) -> str:
    """Return text with its first letter a capital one, and the others as they are."""
    return text[:1].upper() + text[1:]


def counted(n: int, singular: str, plural: str) -> str:
    """Return a number with the thing that it counts, `1 study`, `1,024 studies`."""
    if n == 1:
        return f"{n:,} {singular}"
    return f"{n:,} {plural}"


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them, `alder, birch and cedar`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def percent(value: float | None) -> str:
    """Return a share as a percentage with one decimal."""
    if value is None:
        return NOTHING
    return f"{100 * value:.1f}%"


# The same texts are looked at again and again: for each section, and for each model.
@lru_cache(maxsize=16_384)
def says_nothing(text: str | None) -> bool:
    """Return whether a report, or a section of one, is blank.

    That is None, a text without a letter or digit (`___`, dashes, dots), and a text that is only a
    word for a missing value: none, nan, null, n/a, na, not available, not provided, not applicable,
    see impression and the like. Case, brackets, colons, full stops and other punctuation around
    and between the words do not matter. "No findings." is a statement, and not blank.
    """
    if text is None:
        return True
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = re.findall(r"[^\W_]+", plain)
    if not words:
        return True
    return _BLANK.fullmatch(" ".join(words)) is not None


def group_value(value: object) -> str:
    """Return the value of a group's field; a study without the field is in the group `(none)`.

    A text that would be taken for a missing one is quoted.
    """
    if value is None:
        return _NO_VALUE
    if isinstance(value, float) and value.is_integer():
        # A column of whole numbers with a gap is one of floats in older runs.
        return str(int(value))
    text = str(value)
    is_like_missing = not text.strip() or text == _NO_VALUE
    if isinstance(value, str) and is_like_missing:
        return repr(value)
    return text


def in_natural_order(keys: Sequence[Mapping[str, object]]) -> list[int]:
    """Return the positions of groups, ordered by their values: 2 before 10, missing last."""

    def rank(index: int) -> list[tuple[bool, bool, float, list[tuple[int, str]]]]:
        return [natural_rank(value) for value in keys[index].values()]

    return sorted(range(len(keys)), key=rank)


def natural_rank(value: object) -> tuple[bool, bool, float, list[tuple[int, str]]]:
    """Return what a value is ordered by: missing last, numbers first, digits in a text by value."""
    number: float | None = None
    if isinstance(value, int | float):
        number = value
    ordered: list[tuple[int, str]] = []
    for at, piece in enumerate(_DIGITS.split(str(value).lower())):
        if at % 2 == 0:
            ordered.append((0, piece))
            continue
        # Every second piece is a whole number: without zeros before it, the longer is the larger.
        digits = piece.lstrip("0")
        ordered.append((len(digits), digits))
    return value is None, number is None, number or 0, ordered


def harmless(text: str) -> str:
    """Return `text` with control characters, which could steer a terminal, made visible."""
    shown: list[str] = []
    for char in text.replace("\r\n", "\n"):
        if char.isprintable() or char in "\n\t":
            shown.append(char)
        else:
            escaped = char.encode("unicode_escape").decode()
            shown.append(escaped)
    return "".join(shown)


def with_minus_signs(text: str) -> str:
    """Return numbers as a page shows them: with a minus sign in the place of each hyphen."""
    return text.replace("-", "\N{MINUS SIGN}")


def without_surrogates(text: str) -> str:
    """Return `text` with a question mark for each half of a surrogate pair, which is no text."""
    return text.encode("utf-8", "replace").decode()


def left_out(omitted: Mapping[str, int]) -> str:
    """Return how many studies were left out before anything was judged, and why."""
    return ", ".join(f"{n} {reason}" for reason, n in omitted.items())


def no_formula(cell: object) -> object:
    """Return a cell with an apostrophe before it where a spreadsheet would compute its text."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    # "-0.12" begins like a formula and is a number.
    if _PLAIN_NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def without_guard(text: str) -> str:
    """Return a text of a printed CSV without the apostrophe that `no_formula` put before it."""
    unguarded = text.removeprefix("'")
    if unguarded != text and unguarded.startswith(_FORMULA):
        return unguarded
    return text
