"""A count and the list beside it: what is listed, and whether the two go together.

Entries may stand behind the count, separated by semicolons or numbered, or below it on
lines of their own, with bullets, numbers, letters or neither. Each number that could be a
count is accounted for: as the count, as an entry's number, or as plainly part of a text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from judge.rubrics.green.categories import stray_label
from judge.rubrics.green.counts import (
    ADJECTIVE,
    Count,
    is_absent,
    may_hold,
    read_count,
    states_nothing,
)
from judge.rubrics.green.layout import Reason, tidy, unparsed
from judge.rubrics.green.markup import is_plain
from judge.rubrics.notation import CHAT_TOKEN
from judge.types import Category, UnparsedError

ITEM = re.compile(
    r"[^\S\n]*+(?:>[^\S\n]*+)*+(?P<mark>[-+\u2022\u2013\u2014\u00b7\u25cf\u25aa\u25e6\u2043]"
    r"|\(?(?P<number>[0-9]{1,3})[.)]|\(?(?P<letter>[a-zA-Z])\))(?:(?=\s)|(?<=[\u2022\u25cf\u25aa]))"
)
"""What an entry of a list begins with: a bullet, a number or a letter."""
RULE = re.compile(r"\s*(?:[-_=]\s?){3,}\s*")
"""A line drawn with signs."""
_NUMBER_INSIDE = re.compile(
    r"(?P<before>^|[;,\n]\s*|(?<=[.:])\s+|\s)(?P<form>\(?)(?P<number>[0-9]{1,2})(?P<shut>[.)])(?=\s|$)"
)
_NUMBER_STOP = re.compile(r"[0-9][.)](?=\s|$)")
_NUMBER_BEGINS = re.compile(r"[;\n]\s*([0-9]{1,2})\s?[:,=\u2013\u2014-]\s")
ASIDE = re.compile(
    r"[\s>#_(-]*+(?:notes?|total|sum|overall|in total|in summary|summary|green|score|conclusion"
    r"|justification|rationale|explanation|assessment|overall assessment|final|interpretation"
    r"|comments?|reasoning|tally|counts?|therefore|thus|clinical (?:impact|relevance|significance)"
    r")\b",
    re.IGNORECASE,
)
"""What begins a remark on a list rather than an entry of it."""
_SURELY_A_LIST = 2  # numbers behind the first
# A line that is a part of one error, or what follows from it, and no error of its own.
_PART = re.compile(
    r"[\s_(]*+(?:(?P<key>reference|ref|ground truth|candidate|cand|prediction|finding|reason"
    r"|rationale|impact|explanation|significance|severity|location|comment|note|why|evidence"
    r"|effect|consequence|error|type|category|description|details?|context|clinical \w+"
    r"|report|generated|expected|actual|stated|justification|implication|action|quote)"
    r"(?:[ ]\w+){0,2}[ ]?[:=\u2013-]"
    r"|(?P<follows>this|that|these|those|it|its|which|therefore|thus|hence|so|as a result"
    r"|consequently|because|since|could|may|might|would|should|can|leads?|leading|results?"
    r"|resulting|potential(?:ly)?|delay\w*|risks?|affects?|impacts?|alters?|causes?|misleads?"
    r"|requires?|needs?|significant(?:ly)?|important|critical(?:ly)?|urgent(?:ly)?"
    r"|considered|counted|not)\b)",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"[(\[<]\s?[0-9]")
_TAIL_COUNT = re.compile(r"\s(?:[(\[]([0-9]{1,2})[)\]]|=\s?([0-9]{1,2}))\s*\.?\Z")
_SIDE = re.compile(
    r"[\s\"(]*(?:in )?(?:the )?"
    r"(reference|ground truth|radiologist|candidate|generated|prediction)\b(?![\w ]{0,20}:)",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"[;\u2022\u25cf\u25aa]|\s[-+]\s")
_OWN_NUMBER = re.compile(r"\(?[0-9]{1,2}\)\s+|[0-9]{1,2}\.\s+(?=\S)")
_STRAY_COUNT = re.compile(
    r"(?:[:=\u2192>]|\s[-\u2013\u2014]\s)\s*(?=[(\[]?(?:[0-9]|[a-z]{2,9}\b))", re.IGNORECASE
)
_STRAY_NOUN = re.compile(
    rf"(?<![\w.])(?:[0-9]{{1,4}}|[a-z]{{3,9}})(?:[ ]{ADJECTIVE})*[ ]"
    r"(?:errors?|mistakes?|discrepanc(?:y|ies)|omissions?)\b",
    re.IGNORECASE,
)
# One of these stands in every text that the two find anything in.
_COUNT_SIGN = re.compile(r"[:=\u2192>\u2013\u2014-]")
_NOUN_STEMS = ("error", "mistake", "discrepanc", "omission")
_NUMBER_IN_BRACKETS = re.compile(r"[(\[<]\s?[1-9][0-9]?\s?[)\]>]")
_MARK_SIGN = re.compile(r"[).:=](?=\s)")
_STRAY_MARK = re.compile(r"(?<![\w(])[a-f](?:\.?\)|[.:=])(?=\s+\S)", re.IGNORECASE)
_NUMBER_LIKE = re.compile(r"(?<!\S)\(?([0-9]{1,2})[.)](?=\s|$)")


@dataclass(frozen=True, slots=True)
class Listed:
    """A count, the entries beside it, and the text behind the list."""

    count: int
    entries: tuple[str, ...]
    aside: str


@dataclass(slots=True)
class _Entry:
    text: str
    indent: int
    number: int | None = None


@dataclass(slots=True)
class _Region:
    """What stands behind a count and below it.

    `numbers` are those that stand where entries begin, `within` those in the middle of a text,
    behind a word and with a full stop, that may number an entry or be part of the text: "the
    sixth and 7. rib". Both are in order.
    """

    inline: str
    numbers: list[int] = field(default_factory=list)
    within: list[int] = field(default_factory=list)
    entries: list[_Entry] = field(default_factory=list)
    bare: bool = False
    aside: list[str] = field(default_factory=list)
    reopened: bool = False


def read_list(
    count: Count | None, text: str, where: str, *, closed: bool, category: Category | None = None
) -> Listed:
    """Return the count of a list, given what is stated before it and the `text` behind.

    `closed` says that the text is known to be whole. Raises `UnparsedError` where the count
    is not certain; `where` names it in the message.
    """
    region = _region(text)
    if count is None:
        value = _uncounted(region, where, closed=closed)
    else:
        value = _counted(count, region, where, closed=closed)
    entries = _entries(region)
    for piece in (*entries, *region.aside):
        _account(piece, where)
    for entry in entries:
        if _states_count(entry):
            raise unparsed(
                Reason.UNREADABLE_COUNT, f"{where} has a further count in {entry[:60]!r}"
            )
    aside = "\n".join(region.aside)
    nothing = [states_nothing(entry + "\n") for entry in entries]
    if value and entries and all(nothing):
        # "1. None" is a list whose one entry is none; an error that is none contradicts itself.
        numbered = count is not None and count.numbers and value == 1
        if not numbered or category is not None or not _is_none(entries):
            raise unparsed(Reason.CONTRADICTION, f"{where} states {value} and lists none")
        value = 0
    if value or not entries:
        kept = tuple(_neutral(one) for one, no in zip(entries, nothing, strict=True) if not no)
        return Listed(value, kept, aside)
    whole = " ".join(entries)
    if _NUMBER_IN_BRACKETS.search(whole):
        raise unparsed(Reason.UNREADABLE_COUNT, f"{where} has a further count in {whole[:60]!r}")
    if not all(is_absent(one, category) for one in entries) and not is_absent(whole, category):
        raise unparsed(Reason.CONTRADICTION, f"{where} states 0 and lists {whole[:60]!r}")
    return Listed(0, (), aside)


def _region(text: str) -> _Region:
    head, _, below = text.partition("\n")
    region = _Region(tidy(head))
    after_blank = headed = False
    for line in below.split("\n"):
        if not line.strip() or line.lstrip().startswith("```") or RULE.fullmatch(line):
            after_blank = True
            continue
        item = ITEM.match(line)
        if region.aside:
            region.aside.append(line)
            region.reopened = region.reopened or (item is not None and not headed)
            headed = headed or (item is None and ASIDE.match(line) is not None)
        elif ASIDE.match(line) or (after_blank and item is None):
            region.aside.append(line)
            headed = ASIDE.match(line) is not None
        elif item:
            number = int(item["number"]) if item["number"] else None
            if item["letter"]:
                number = ord(item["letter"].lower()) - ord("a") + 1
            region.entries.append(_Entry(line[item.end() :], item.start("mark"), number))
        elif region.entries:
            region.entries[-1].text += " " + line.strip()
        elif region.inline:
            region.inline += " " + line.strip()
        else:
            region.entries.append(_Entry(line, 0))
            region.bare = True
        after_blank = False
    for piece, number in [(region.inline, None), *((e.text, e.number) for e in region.entries)]:
        if number is not None:
            region.numbers.append(number)
        for match in _NUMBER_INSIDE.finditer(piece) if _NUMBER_STOP.search(piece) else ():
            begins = not match["before"].isspace() or match["shut"] == ")"
            (region.numbers if begins else region.within).append(int(match["number"]))
        region.numbers += [int(match[1]) for match in _NUMBER_BEGINS.finditer(piece)]
    return region


def _counted(count: Count, region: _Region, where: str, *, closed: bool) -> int:
    """Return the count that is stated, or how many entries it begins to number."""
    value, numbers, within = count.value, region.numbers, region.within
    if count.numbers and value == 1:
        following = numbers or within
        if following and following == list(range(2, len(following) + 2)):
            goes_on = following is numbers and len(numbers) + 2 in within
            if goes_on or (following is within and len(following) < _SURELY_A_LIST):
                raise _misfit(value, where)
            if not closed:
                raise unparsed(Reason.TRUNCATED, f"{where} is a numbered list without a count")
            indents = [entry.indent for entry in region.entries if entry.number is not None]
            top = min(indents, default=0)
            if any(entry.number is None and entry.indent <= top for entry in region.entries):
                raise unparsed(Reason.UNREADABLE_COUNT, f"{where}: numbers and bullets are mixed")
            return len(following) + 1
        if not closed:
            raise unparsed(Reason.TRUNCATED, f"{where}: 1 is a count or an entry's number")
        if 2 in following or (1 in following and region.inline):
            raise _misfit(value, where)
    if not numbers:
        is_list = len(within) >= _SURELY_A_LIST and within == list(range(1, len(within) + 1))
        if is_list and len(within) != value:
            raise _misfit(value, where)
        return value
    entries = _entries(region)
    numbered = numbers == list(range(1, value + 1)) or (value == 0 and _is_none(entries))
    if numbered or 1 < value == len(entries) > len(numbers):
        return value
    if numbers[0] in (1, value + 1) or any(entry.number is not None for entry in region.entries):
        raise _misfit(value, where)
    return value


def _misfit(value: int, where: str) -> UnparsedError:
    return unparsed(Reason.UNREADABLE_COUNT, f"{where}: {value} does not fit the numbers listed")


def _uncounted(region: _Region, where: str, *, closed: bool) -> int:
    """Return how long a list is before which no count stands."""
    entries = region.entries
    if region.inline and not entries and closed and (tail := _TAIL_COUNT.search(region.inline)):
        value = int(tail[1] or tail[2])
        items = region.inline[: tail.start()].split(";")
        alone = not any("," in item or " and " in item or _BRACKETED.search(item) for item in items)
        if value == len(items) and alone:
            region.inline = region.inline[: tail.start()]
            return value
    if not entries or region.inline:
        reason = Reason.UNREADABLE_COUNT if closed else Reason.TRUNCATED
        raise unparsed(reason, f"{where} has no count")
    if len(entries) == 1 and states_nothing(entries[0].text + ("\n" if closed else "")):
        return 0
    if not closed:
        raise unparsed(Reason.TRUNCATED, f"{where} is a list without a count")
    numbers = region.numbers
    goes_on = bool(numbers) and len(numbers) + 1 in region.within
    length = None if region.reopened or region.bare or goes_on else _length(entries, numbers)
    if length is None:
        raise unparsed(Reason.UNREADABLE_COUNT, f"{where} is a list whose length is not certain")
    return length


def _length(entries: list[_Entry], numbers: list[int]) -> int | None:
    """Return how many errors or findings a list of bullets or numbers has; None if uncertain."""
    least = min(entry.indent for entry in entries)
    top = [entry for entry in entries if entry.indent == least]
    if any(_PART.match(entry.text) is None for entry in entries if entry.indent > least):
        return None
    if any(states_nothing(entry.text + "\n") for entry in top):
        return None
    numbered = [entry.number for entry in top if entry.number is not None]
    if numbered:
        whole = numbered == list(range(1, len(top) + 1)) and numbers == numbered
        return len(top) if whole else None
    if numbers:
        return None
    sides = {side[1].lower() for entry in top if (side := _SIDE.match(entry.text))}
    if len(sides) > 1:  # what one report says and what the other says may be one error
        return None
    parts = [_PART.match(entry.text) for entry in top]
    if all(part and part["key"] for part in parts) and len(top) > 1:
        keys = [part["key"].lower() for part in parts if part]
        return 1 if len(set(keys)) == len(top) else None
    if any(parts) or any(_SEVERAL.search(entry.text) for entry in top):
        return None
    return len(top)


def _entries(region: _Region) -> tuple[str, ...]:
    texts = _split(region.inline)
    for entry in region.entries:
        texts += entry.text.split("\u2022") if "\u2022" in entry.text else [entry.text]
    found = (_unnumbered(tidy(" ".join(text.split()))) for text in texts)
    return tuple(text.replace(";", ",") for text in found if text)


def _unnumbered(entry: str) -> str:
    number = _OWN_NUMBER.match(entry)
    return tidy(entry[number.end() :]) if number else entry


def _split(inline: str) -> list[str]:
    if ";" in inline:
        return inline.split(";")
    return re.split(r"\s(?=\(?[0-9]{1,2}\)\s)", inline) if ")" in inline else [inline]


def _is_none(entries: tuple[str, ...]) -> bool:
    return len(entries) == 1 and entries[0][:1].isalpha() and states_nothing(entries[0] + "\n")


def _states_count(text: str) -> bool:
    """Return whether `text` states a count, behind a colon or before "errors"."""
    for match in _STRAY_COUNT.finditer(text) if _COUNT_SIGN.search(text) else ():
        if (count := read_count(text[match.end() :] + "\n")) and count.value:
            return True
    nouns = _STRAY_NOUN.finditer(text) if may_hold(text, _NOUN_STEMS) else ()
    return any(read_count(match[0] + "\n") for match in nouns)


def _account(text: str, where: str) -> None:
    """Raise where `text`, an entry or a remark, has a mark in it that no category took."""
    if (_MARK_SIGN.search(text) and _STRAY_MARK.search(text)) or stray_label(text):
        raise unparsed(Reason.UNREADABLE_COUNT, f"{where} has a further mark in {text[:60]!r}")


def fits_list(text: str) -> bool:
    """Return whether `text` can stand as an entry of a list and be read back unchanged."""
    return (
        text != ""
        and text == _neutral(_unnumbered(text))
        and not any(mark in text for mark in ";\n\r\u2022")
        and " ".join(text.split()) == text
        and is_plain(f"1. {text}; {text}\n")
        and not CHAT_TOKEN.search(text)
        and not states_nothing(text + "\n")
        and not _states_count(text)
        and _STRAY_MARK.search(f"{text} x") is None
        and not stray_label(text + "\n")
    )


def _neutral(entry: str) -> str:
    """Return `entry` without what would number an entry when it is read again."""
    return tidy(_NUMBER_LIKE.sub(r"\1,", entry) if _NUMBER_STOP.search(entry) else entry)
