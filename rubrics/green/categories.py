"""Where a category opens: its mark, its label and its count, in every usual form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from judge.rubrics.green.counts import Count, may_hold, read_count
from judge.rubrics.significance import CATEGORIES
from judge.types import Category

_LETTER = {category.value: category for category in CATEGORIES}
_NUMERAL = dict(zip(("1", "2", "3", "4", "5", "6"), CATEGORIES, strict=True)) | dict(
    zip(("i", "ii", "iii", "iv", "v", "vi"), CATEGORIES, strict=True)
)

_LABEL_WORDS = r"""
      (?P<e>mention(?:s|ing|ed)?(?:\ of)?\ (?:an?\ )?comparison
        | (?:false|unsupported|hallucinated|fabricated)\ comparison
        | comparison\ (?:that\ )?(?:is\ )?(?:not|absent|isn))
    | (?P<f>(?:omit(?:s|ting|ted)?|missing|missed|omission\ of)\ (?:an?\ |the\ )?comparison)
    | (?P<a>false\ (?:report|finding|positive|prediction|mention)
        | (?:falsely\ reported|hallucinated)\ finding)
    | (?P<b>(?:missing|missed|omitted|omission\ of)\ (?:an?\ )?finding | false\ negative)
    | (?P<c>mis-?(?:identif|locali[sz]|locat|plac)
        | (?:wrong|incorrect)\ (?:\w+\ )?(?:location|position|laterality|side)
        | (?:location|position(?:al)?|laterality)(?:/\w+)?\ error)
    | (?P<d>mis-?(?:assess|judg|grad) | (?:wrong|incorrect)\ (?:\w+\ )?severity | severity\ error)
    """
LABEL = re.compile(_LABEL_WORDS, re.IGNORECASE | re.VERBOSE)
"""The words of a category."""

_COMPARES = re.compile(r"compar|prior|previous|interval|change")
_COMPARISONS = {
    Category.FALSE_COMPARISON: re.compile(
        r"\bmention(?:s|ing)?\b|false|not in |isn.t|unsupported|hallucinat"
    ),
    Category.OMITTED_COMPARISON: re.compile(r"omi(?:t|ss)|missing|missed|left out|lack"),
}
_FINDINGS = {
    Category.FALSE_FINDING: re.compile(r"false(?!.neg)|hallucinat|not in the ref"),
    Category.MISSING_FINDING: re.compile(r"missing|missed|omi(?:t|ss)|false.neg|not in the cand"),
    Category.WRONG_LOCATION: re.compile(r"locat|position|anatomic|lateral|wrong side"),
    Category.WRONG_SEVERITY: re.compile(r"sever|misassess"),
}

# What may stand before a mark on its line: quotation, a bullet, a number, "Category".
_LINE = r"^[^\S\n]*+(?:[>\#]++[^\S\n]*+)*+(?:[-+\u2022\u2013\u25cf\u25aa\u25e6\u00b7][^\S\n]*+)?+"
_CATEGORY = r"(?:(?:error[ ])?(?:category|type)[ ])?+"
_JOIN = r"[^\S\n]*(?:[-\u2013\u2014,/&]|to\b|through\b|and\b|,[ ]?and\b)[^\S\n]*"
_STOP = r"(?:[ ]?(?:\.\)|[).])[ ]?[:=|]?|[ ]?[:=|]|[^\S\n]*+[-\u2013\u2014=|](?=[\s0-9]))"

_BRACKET = re.compile(
    rf"""
    [(\[{{][ ]?{_CATEGORY}(?P<first>[a-f])[ ]?[.:]?
    (?: [ ]?[)\]}}] (?P<more>(?:{_JOIN}[(\[{{][a-f][)\]}}])*)
      | (?P<spread>(?:{_JOIN}[a-f]){{1,5}})[ ]?[)\]}}]
      | (?!\.[ ]?g\b)(?:[ ][-\u2013\u2014][ ]?|[:,.][ ])(?P<within>[^()\[\]\n]{{2,80}})[)\]}}] )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LOOSE = re.compile(
    rf"""
    (?: {_LINE}(?:[0-9]{{1,2}}[.)][^\S\n]*+)?+{_CATEGORY}
      | (?P<inline>(?<=[;,.|:])[^\S\n]*+ | (?<=\S)[^\S\n]++(?=[a-f][).:=])) )
    (?P<first>[a-f])(?P<spread>(?:{_JOIN}[a-f]){{0,5}}){_STOP}(?=[\s0-9]|$)
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_NUMBERED = re.compile(
    rf"""
    (?:{_LINE}|(?<=[;,.|\]])[^\S\n]++|(?<=\S)[^\S\n]++(?=[(\[])){_CATEGORY}
    (?P<mark>[(\[]?(?P<first>[1-6]|iv|vi?|i{{1,3}}))[).:\]]{{1,2}}[^\S\n]*+(?=(?P<label>[^\W\d]))
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_NAMED = re.compile(rf"(?:{_LINE}|(?<=[;.|])[^\S\n]++)(?=[^\W\d])", re.MULTILINE)
_OTHERS = re.compile(
    rf"{_LINE}(?:all[ ])?(?:the[ ])?(?:other|others|remaining|rest)"
    r"(?:[ ](?:of[ ]the[ ])?(?:error[ ])?(?:categories|category|types|errors))?(?=[ ]?[:=-])",
    re.IGNORECASE | re.MULTILINE,
)

# What the searches below cannot do without. Each of these is found several times as fast, and
# most lines have none of them.
_LOOSE_NEEDS = re.compile(r"[a-fA-F](?<![\w(].)(?=\s*[.):=|\u2013\u2014-])")
_NUMBERED_NEEDS = re.compile(rf"[1-6ivIV\u0130\u0131][).:\]]{{1,2}}[^\S\n]*+(?ix:{_LABEL_WORDS})")
_NAMED_NEEDS = re.compile(rf"[;.|][^\S\n]++(?ix:{_LABEL_WORDS})")
_NAMED_FIRST = re.compile(rf"{_LINE}(?ix:{_LABEL_WORDS})")
_LINES = re.compile(r".*\n|.+")
_LONG = 250
_REFERS = re.compile(
    r"\b(?:see|under|in|into|category|categories|as|or|than|also|with|from|of|per)[ ]*\(?\Z",
    re.IGNORECASE,
)
_LEAD = re.compile(r"[\s:|=]*+(?:[-\u2013\u2014]++(?=\s)[\s:|=]*+)?+")
_SEPARATOR = re.compile(
    r":|[-=]>|=|\||\u2192|\s[-\u2013\u2014]++(?=\s)|(?=[(\[]\s?(?:[0-9]|[a-z]{2,6}\b))",
    re.IGNORECASE,
)
_DIRECT = re.compile(
    r"[^0-9:;]*?(?<=[a-z)])[^\S\n]++(?=[0-9]{1,4}(?:[^\S\n]++[(\[]|\.\s|\s*\n))", re.IGNORECASE
)
_ALONE = re.compile(r"(?:(?!\s[-\u2013\u2014\u2192=]+\s+\S)[^0-9:;|]){0,120}")
_NOT_LABEL = re.compile(r"[0-9;:]|\.\s")
_LONGEST_LABEL = 200
_AGAIN = re.compile(r"[\s:=-]*+")
# One of these stands in every label.
_LABEL_STEMS = ("comparison", "false", "mis", "omi", "hallucinated", "wrong", "incorrect", "error")
_OPEN_END = re.compile(r"[:=\u2192]\s*\Z|\s[-\u2013\u2014]\s*\Z")


class Opener(NamedTuple):
    """Where a category opens: the mark's place, which categories, and what marks them.

    `label` is the label that stands within the mark. More than one category, or none for
    "all others", may share a count of 0.
    """

    start: int
    end: int
    categories: tuple[Category, ...]
    style: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """What follows a mark: the label, the count if there is one, and where the rest begins."""

    label: str
    count: Count | None
    end: int


def openers(text: str) -> list[Opener]:
    """Return every place in `text` where a category opens, in order.

    A letter in brackets always does, wherever it stands: what follows it must then be
    readable as a category. Other marks do at the head of a line or behind a separator,
    where a label or a count follows.
    """
    found = []
    start = 0
    bracketed = _BRACKET.search(text) is not None
    for line in _LINES.findall(text):
        read = _in_line if len(line) < _LONG else _in_line.__wrapped__
        for first, last, which, style, label in read(line, bracketed):
            found.append(Opener(start + first, start + last, which, style, label))
        start += len(line)
    return found


@lru_cache(maxsize=4096)
def _in_line(line: str, bracketed: bool) -> list[Opener]:  # noqa: FBT001 - a key
    found = []
    for match in _BRACKET.finditer(line):
        if not _is_reference(line, match):
            which = _spread(match["first"], match["more"] or match["spread"] or "")
            found.append(Opener(*match.span(), which, "bracket", match["within"] or ""))
    if _LOOSE_NEEDS.search(line):
        found += _loose(line, bracketed=bracketed)
    if _NUMBERED_NEEDS.search(line):
        found += _numbered(line)
    if others := _OTHERS.match(line):
        found.append(Opener(others.start(), others.end(), (), "others"))
    if _NAMED_FIRST.match(line) or _NAMED_NEEDS.search(line):
        found += _named(line, found)
    found.sort(key=lambda opener: opener.start)
    kept: list[Opener] = []
    for opener in found:
        if not kept or opener.start >= kept[-1].end:
            kept.append(opener)
    return kept


def _is_reference(text: str, match: re.Match[str]) -> bool:
    """Return whether a letter in brackets speaks of a category instead of opening it."""
    if not _REFERS.search(text, max(0, match.start() - 12), match.start()):
        return False
    head = _head(text, match.end())
    return LABEL.match(head.lstrip()) is None and read_slot(head).count is None


def _spread(first: str, more: str) -> tuple[Category, ...]:
    """Return the categories of a group such as `(c)-(f)` or `(c), (d) and (e)`."""
    letters = [first.lower()]
    for join, letter in re.findall(
        r"([-\u2013\u2014]|to|through)?[^a-z]*([a-f])(?![a-z])", more.lower()
    ):
        if join and letter > letters[-1]:
            letters += [chr(code) for code in range(ord(letters[-1]) + 1, ord(letter))]
        letters.append(letter)
    return tuple(_LETTER[letter] for letter in letters)


def _loose(text: str, *, bracketed: bool) -> list[Opener]:
    found = []
    for match in _LOOSE.finditer(text):
        at = match.end()
        slot = read_slot(_head(text, at))
        is_counted = slot.count is not None and not slot.label
        if (
            is_counted
            or LABEL.match(text, at + _space(text, at))
            or not (bracketed or match["inline"] is not None)
        ):
            categories = _spread(match["first"], match["spread"])
            found.append(Opener(match.start("first"), match.end(), categories, "loose"))
    return found


def _space(text: str, at: int) -> int:
    return len(text[at : at + 8]) - len(text[at : at + 8].lstrip(" \t"))


def _head(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[at : at + 300] if end < 0 or end - at > 300 else text[at : end + 1]


def _numbered(text: str) -> list[Opener]:
    found = []
    for match in _NUMBERED.finditer(text):
        if _is_labelled(text, match.start("label")):
            category = _NUMERAL[match["first"].lower()]
            found.append(Opener(match.start("mark"), match.end(), (category,), "number"))
    return found


def _is_labelled(text: str, at: int, *, counted: bool = False) -> bool:
    """Return whether the words at `at` are a category's label with a count or a list behind."""
    label = LABEL.match(text, at)
    if label is None:
        return False
    head = _head(text, at)
    slot = read_slot(head)
    return slot.count is not None or (not counted and not head[slot.end :].strip())


def _named(text: str, marks: list[Opener]) -> list[Opener]:
    """Return the places where a label opens a category by itself."""
    found = []
    ends = {opener.end for opener in marks}
    for match in _NAMED.finditer(text):
        at = match.end()
        label = LABEL.match(text, at)
        in_line = match.start() > 0 and text[match.start() - 1] != "\n"
        marked = not ends.isdisjoint(range(at - 3, at + 1))
        if label and not marked and _is_labelled(text, at, counted=in_line):
            assert label.lastgroup is not None
            found.append(Opener(at, at, (_LETTER[label.lastgroup],), "label"))
    return found


def read_slot(head: str) -> Slot:
    """Return the label and the count at the head of a category: `label: 2.`, `label (2)`, ...

    `head` is what follows the mark on its line. Where two counts stand there that differ,
    or the label is none, there is no count.
    """
    lead = _LEAD.match(head)
    start = lead.end() if lead else 0
    if count := read_count(head[start:]):
        return Slot("", count, start + count.end)
    for separator in _SEPARATOR.finditer(head, start, start + _LONGEST_LABEL):
        if found := read_count(head[separator.end() :]):
            return _settled(head, start, separator.start(), separator.end(), found)
    known = LABEL.match(head, start)
    direct = _DIRECT.match(head, start) if known else None
    if direct and (found := read_count(head[direct.end() :])):
        return _settled(head, start, direct.end(), direct.end(), found)
    colon = head.find(":", start, start + _LONGEST_LABEL)
    if colon >= 0:
        return Slot(head[start:colon].strip(), None, colon + 1)
    if known and _ALONE.fullmatch(head, start):
        return Slot(head[start:].strip(), None, len(head))
    return Slot("", None, start)


def _settled(head: str, start: int, label_end: int, slot: int, count: Count) -> Slot:
    label, end = head[start:label_end].strip(), slot + count.end
    if _NOT_LABEL.search(label):
        return Slot(label, None, start)
    if head[slot : slot + 1] not in ("(", "["):
        return Slot(label, count, end)
    again = _AGAIN.match(head, end)
    at = again.end() if again else end
    if second := read_count(head[at:]):
        if second.value != count.value:
            return Slot(label, None, start)
        return Slot(label, second, at + second.end)
    return Slot(label, count._replace(numbers=False), end)


def stray_label(text: str) -> bool:
    """Return whether `text` has a category's label with a count or nothing behind it."""
    return may_hold(text, _LABEL_STEMS) and any(
        read_slot(_head(text, match.start())).count is not None
        or _OPEN_END.search(text, match.end()) is not None
        for match in LABEL.finditer(text)
    )


def fits_error(text: str) -> bool:
    """Return whether an error's `text` opens no category when it is read back."""
    return len(openers(f"(a) false finding: 2. {text}; {text}\n")) == 1


@lru_cache(maxsize=256)
def named_category(label: str) -> Category | None:
    """Return the one category that the words of `label` clearly name, if they do."""
    low = label.lower()
    table = _COMPARISONS if _COMPARES.search(low) else _FINDINGS
    found = [category for category, words in table.items() if words.search(low)]
    return found[0] if len(found) == 1 else None
