"""The reader of GREEN's answers: the layout in text, and the structured reply."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Annotated, ClassVar

from pydantic import Field

from judge.rubrics import categories, replies
from judge.rubrics.categories import (
    CATEGORIES,
    CATEGORY,
    ERROR,
    KEY,
    KEYS,
    LEVELS,
    SIGNIFICANCE,
)
from judge.rubrics.replies import (
    OrNull,
    ReplyModel,
    Text,
    is_bare_denial,
    is_no_entry,
    word_key,
)
from judge.text import NUMBER_WORDS
from judge.types import (
    Annotation,
    Category,
    Item,
    ReportComparison,
    Study,
    UnparsedError,
)

# Two forms of answer: the layout in text (docs/answers.md), and the structured reply. Whatever is
# not the layout is refused. A number that is read is the one behind a category's colon, or first
# under the matched findings, and the length of the list that follows it. In a structured reply a
# count is the length of its list.

MATCHED = "matched"
EXPLANATION = "explanation"
SIGNIFICANT, INSIGNIFICANT = LEVELS
TITLES = {
    EXPLANATION: "Explanation",
    SIGNIFICANT: "Clinically Significant Errors",
    INSIGNIFICANT: "Clinically Insignificant Errors",
    MATCHED: "Matched Findings",
}
"""The sections in the order of the published layout, and their headings."""
NAMES = (*KEYS, MATCHED)
NOT_LISTED = "category not listed, counted 0: "
DIFFERS = "stated count differs from list: "
OUT_OF_ORDER = "categories in another order: "
EMPTY_ENTRY = "empty entry left out: "
OTHER_LABEL = "category read by its letter, its name is unknown: "
TWICE = "listed twice"
IN_TWO_PLACES = "listed as two errors"
ALSO_MATCHED = "listed as an error and as a match"
GRADED_OTHERWISE = "called otherwise than its heading"
CALLED_NONE = "called none in brackets"
BEHIND_ZERO = "words behind a count of 0 left out: "
_NO_STUDY = Study("", "", "")


def green_error(level: str, category: Category, text: str) -> Item:
    """Return one error of a list."""
    return categories.error_item((category,), SIGNIFICANCE, level, text)


def matched_item(text: str) -> Item:
    """Return one finding of the last section."""
    return Item(MATCHED, text)


def count_name(item: Item) -> str:
    """Return the name of the count that an item is one of; ValueError where GREEN has none."""
    name = MATCHED
    if item.kind != MATCHED:
        levels = item.labels.get(SIGNIFICANCE, ())
        codes = item.labels.get(CATEGORY.name, ())
        name = "_".join([*levels, *codes])
    if item.kind not in (ERROR, MATCHED) or name not in NAMES:
        raise ValueError(f"no item of GREEN: {item}")
    return name


def _lists(items: Sequence[Item]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {name: [] for name in NAMES}
    for item in items:
        texts[count_name(item)].append(item.text)
    return texts


def _counts(items: Sequence[Item]) -> dict[str, int]:
    return {name: len(texts) for name, texts in _lists(items).items()}


def _with_counts(annotation: Annotation) -> Annotation:
    """Return an annotation that states how many items it has; a reader's marks state nothing."""
    if annotation.stated_counts:
        return annotation
    return replace(annotation, stated_counts=_counts(annotation.items))


def warnings_on(
    stated: Mapping[str, int], items: Sequence[Item], not_listed: Collection[str]
) -> tuple[str, ...]:
    """Return a warning for each category left out (`not_listed`) and count unlike its list."""
    warnings = []
    for name, count in _counts(items).items():
        if name in not_listed:
            warnings.append(NOT_LISTED + name)
        elif stated[name] != count:
            warnings.append(DIFFERS + name)
    return tuple(warnings)


_SECTIONS = (*LEVELS, MATCHED)
_KIND = {TITLES[kind].lower(): kind for kind in _SECTIONS}
# A line that opens with a title of a section, in whatever form; `_HEADING` is the form.
_TITLE = re.compile(
    r"^(?:[^\w\n]|[0-9_])*+(?:(?:clinically )?(?:in|non-? ?|not )?significant errors?"
    r"|match(?:ed|ing) findings?)\b[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]+)?[*_]{0,3}\[?[*_]{0,3}([\w ]+?)[*_]{0,3}\]?[*_:]{0,4}[ \t]*"
)
_EXPLANATION = re.compile(
    r"(?:#{1,6}[ \t]+)?[*_]{0,3}\[?explanation\]?[*_]{0,3}(?::[*_]{0,3}|(?=[ \t]*(?:\n|\Z)))\s*",
    re.IGNORECASE,
)
# What would be read as something else than words of the explanation.
_NO_WORDS = re.compile(rf"{_TITLE.pattern}|[<`]|\A{_EXPLANATION.pattern}", _TITLE.flags)
_WORDS = NUMBER_WORDS[:13]
_BULLET, _BOLD = r"[-*\u2022][ \t]+", r"(?:\*\*)?"
_CATEGORY = re.compile(
    rf"(?:{_BULLET})?{_BOLD}\(([a-f1-6])\){_BOLD}[ \t]*{_BOLD}([^:*]*){_BOLD}:{_BOLD}[ \t]*(.*)",
    re.IGNORECASE,
)
_COUNT = re.compile(
    rf"{_BOLD}(0|[1-9][0-9]{{0,3}}|{'|'.join(_WORDS)}){_BOLD}(?:\.{_BOLD}(?:[ \t]+(.*))?)?",
    re.IGNORECASE,
)
_BULLETED = re.compile(rf"{_BULLET}(.*)")
_NUMBERED = re.compile(r"([1-9][0-9]{0,3})[.)][ \t]+(.*)")
_NONE = re.compile(
    r"(?:0|n/a|none|no (?:(?:clinically )?(?P<level>in)?(?P<is_level>significant) )?errors"
    r"(?: (?:were|are|have been|was|is))?(?: (?:found|identified|noted|detected|observed|present))?"
    r"|no matched findings(?: (?:were|are))?(?: (?:found|identified|noted|present))?)\.?",
    re.IGNORECASE,
)

_IN_BRACKETS = re.compile(r"\([^()]*\)")
_MARK = re.compile(
    r"\(\s*[a-f1-6]\s*\)|\(\s*[b-f]\s*(?:[0-9]|\Z)|(?<!\S)[a-f][):](?:\s|\Z)|(?<!\S)[b-f]\.\s"
    r"|(?<!\S)[b-f]\s+[-\u2013=]?\s*[0-9]{1,2}(?![\w.]|\s*[cm]m\b)"
    r"|[|\u2022\u25aa\u25cf\u25e6\u2023\u2460-\u24ff\u2776-\u2793]|~~|\*\*|\[[ x]?\]|\[[0-9]+\]"
    r"|\bmatched findings?\b|```|\A[-*]\s|</?s>|<end_of_turn>",
    re.IGNORECASE,
)
_NUMBERING = re.compile(
    r"(?<!\S)(?:[0-9]{1,2}[.)]|#[0-9]+[.:)]?|(?:ii?i?|iv)[.)])(?=\s+\S)", re.IGNORECASE
)
_NUMBER_FIRST = re.compile(r"[0-9]{1,2}[.)](?![0-9])")
# A remark on how grave an item is, beside its words: in brackets, in front with a colon, or behind
# a comma or dash. "Not significantly changed" is none.
_GRADE = r"(?:clinically )?(?P<{0}>not |in|non-? ?)?(?:clinically )?significant(?: error| finding)?"
_GRADE_REMARK = re.compile(
    rf"[(\[]\s*{_GRADE.format('bracketed')}\s*[)\]]"
    rf"|\A{_GRADE.format('first')}\s*[:\u2013-]\s"
    rf"|[,:\u2013\u2014-]\s*{_GRADE.format('last')}\s*\.?\Z",
    re.IGNORECASE,
)
_NEXT_SENTENCE = re.compile(r"\w{4}[.!?]\s+[A-Z]")


@dataclass(slots=True)
class _Reading:
    """What is read of one answer, and what is odd about it.

    `is_faithful` is for a GREEN model that answers the official prompt. Its words are taken as the
    reference implementation takes them, and what a strict reader would refuse becomes a warning.
    """

    is_faithful: bool
    warnings: list[str] = field(default_factory=list)


# How many there are, and their texts.
_List = tuple[int, Sequence[str]]


def parse(
    text: str,
    study: Study,  # noqa: ARG001
    *,
    complete: bool = False,
    faithful: bool = False,
) -> Annotation:
    """Return the annotation that an answer in GREEN's layout expresses.

    `faithful` is for a GREEN model that answers the official prompt: it is read as the reference
    implementation reads it. Where its count and its list differ the count holds, and what an answer
    contradicts is a warning.
    """
    text, is_whole = replies.unfence(text)
    reading = _Reading(is_faithful=faithful)
    explanation, bodies = _sections(text)
    stated: dict[str, int] = {}
    items: list[Item] = []
    not_listed: list[str] = []
    for level in LEVELS:
        lists = _errors(bodies[level], level, reading)
        for category in CATEGORIES:
            key = KEY[level, category]
            stated[key], texts = lists.get(category, (0, ()))
            items += [green_error(level, category, text) for text in texts]
            if lists and category not in lists:
                not_listed.append(key)
    is_whole = complete or is_whole
    stated[MATCHED], texts = _matched(bodies[MATCHED], reading, is_whole=is_whole)
    items += map(matched_item, texts)
    items = with_contradictions(items)
    if not faithful:
        refuse_contradictions(items)
    warnings = (*warnings_on(stated, items, not_listed), *reading.warnings)
    return Annotation(
        tuple(items), explanation, stated_counts=stated, warnings=warnings
    )


def with_contradictions(items: Sequence[Item]) -> list[Item]:
    """Return the items, those with a warning that contradict an item before them, or a heading.

    The same words, whatever their case and stops, are twice in a list, in two lists of errors, or
    an error and a match; or an item under one heading is called what the other heading says.
    """
    first: dict[str, Item] = {}
    checked: list[Item] = []
    for item in items:
        warnings = []
        before = first.setdefault(word_key(item.text), item)
        if before is not item:
            if (before.kind, before.labels) == (item.kind, item.labels):
                warnings.append(TWICE)
            elif before.kind == item.kind:
                warnings.append(IN_TWO_PLACES)
            else:
                warnings.append(ALSO_MATCHED)
        if item.kind == ERROR:
            if _is_graded_otherwise(item.text, item.label(SIGNIFICANCE)):
                warnings.append(GRADED_OTHERWISE)
            if any(map(is_bare_denial, _IN_BRACKETS.findall(item.text))):
                warnings.append(CALLED_NONE)
        if warnings:
            item = replace(item, warnings=tuple(warnings))
        checked.append(item)
    return checked


def refuse_contradictions(items: Sequence[Item]) -> None:
    """Raise `UnparsedError` for the first item that contradicts another or its heading."""
    for item in items:
        if item.warnings:
            raise UnparsedError(
                "contradiction", f"{item.warnings[0]}: {_plain(item.text)!r}"
            )


def _is_graded_otherwise(text: str, level: str) -> bool:
    remark = _GRADE_REMARK.search(text)
    if remark is None:
        return False
    is_slight = any(remark.groupdict().values())
    return is_slight == (level == SIGNIFICANT)


def _sections(text: str) -> tuple[str, dict[str, str]]:
    titles = list(_TITLE.finditer(text))
    headings = [_HEADING.fullmatch(title[0]) for title in titles]
    kinds = [_KIND.get(heading[1].lower()) if heading else None for heading in headings]
    lacking = [TITLES[kind] for kind in _SECTIONS if kind not in kinds]
    if lacking:
        raise UnparsedError(
            "missing section", f"no line with the heading {', '.join(lacking)}"
        )
    if kinds != [*_SECTIONS] or "<|" in text:
        raise UnparsedError(
            "not in the layout", "each heading stands once, in order, on its own line"
        )
    ends = [*(title.start() for title in titles[1:]), len(text)]
    bodies = {
        kind: text[title.end() : end]
        for kind, title, end in zip(_SECTIONS, titles, ends, strict=True)
    }
    explanation = text[: titles[0].start()]
    heading = _EXPLANATION.match(explanation)
    if heading:
        explanation = explanation[heading.end() :]
    return explanation.strip(), bodies


def _lines(body: str, kind: str) -> list[str]:
    lines = [line.rstrip() for line in body.split("\n") if line.strip()]
    if not lines:
        raise UnparsedError("missing section", f"nothing under {TITLES[kind]}")
    return lines


def _plain(text: str) -> str:
    return text.replace("**", "")[:80]


def _is_none(text: str, kind: str) -> bool:
    match, words = _NONE.fullmatch(text), text.lower()
    if match and match["is_level"]:
        return kind == (INSIGNIFICANT if match["level"] else SIGNIFICANT)
    return match is not None and ("error" if kind == MATCHED else "match") not in words


def _errors(body: str, level: str, reading: _Reading) -> dict[str, _List]:
    lines = _lines(body, level)
    if len(lines) == 1 and _is_none(lines[0].strip(), level):
        return {}
    listed: dict[str, tuple[str, list[str]]] = {}
    marks = ""
    for line in lines:
        category = _CATEGORY.fullmatch(line.strip())
        if category:
            mark, label, rest = category.groups()
            marks += mark.lower()
            below: list[str] = []
            listed[_category(mark, label, level, reading)] = rest, below
        elif listed:
            below.append(line)
        else:
            raise UnparsedError(
                "not in the layout", f"{TITLES[level]}: {_plain(line.strip())}"
            )
    if len(set(marks)) < len(marks):
        raise UnparsedError("contradiction", f"{TITLES[level]}: a category twice")
    if any(map(str.isdigit, marks)) and not marks.isdigit():
        raise UnparsedError("contradiction", f"{TITLES[level]}: letters and numbers")
    if [*marks] != sorted(marks):
        reading.warnings.append(OUT_OF_ORDER + level)
    return {
        category: _list(rest, below, level, KEY[level, Category(category)], reading)
        for category, (rest, below) in listed.items()
    }


def _category(mark: str, label: str, level: str, reading: _Reading) -> str:
    category = categories.category_of(f"({mark}) {label}")
    if category is not None:
        return category
    by_letter = categories.category_of(mark)
    is_number_in_it = any(map(str.isdigit, label))
    is_another = categories.category_of(label) is not None
    if by_letter is None or is_number_in_it or is_another or not reading.is_faithful:
        raise UnparsedError(
            "contradiction", f"({mark}) is not called {_plain(label.strip())!r}"
        )
    reading.warnings.append(OTHER_LABEL + KEY[level, by_letter])
    return by_letter


def _matched(body: str, reading: _Reading, *, is_whole: bool) -> _List:
    lines = _lines(body, MATCHED)
    first, below = lines[0].strip(), lines[1:]
    if below and _NUMBERED.fullmatch(first):
        if not is_whole:
            raise UnparsedError("truncated", "a list without a count may go on")
        items = _list_below(lines, TITLES[MATCHED])
        return _check_list(len(items), items, MATCHED, _Reading(is_faithful=False))
    count, texts = _list(first, below, MATCHED, MATCHED, reading)
    if not is_whole and (
        (count and first[-1] != "." and not texts)  # 1 may be the head of 12
        or (count == 1 and not below)  # the first entry of a numbered list
    ):
        raise UnparsedError("truncated", "the count or its list may go on")
    return count, texts


def _list(
    rest: str, below: Sequence[str], kind: str, name: str, reading: _Reading
) -> _List:
    where = TITLES[MATCHED] if name == MATCHED else name
    stated = _COUNT.fullmatch(rest)
    if stated is None:
        if not below and _is_none(rest, kind):
            return 0, ()
        raise UnparsedError("unreadable count", f"{where}: {_plain(rest)!r}")
    word, behind = stated.groups()
    count = _WORDS.index(word.lower()) if word.isalpha() else int(word)
    if behind and below:
        raise UnparsedError(
            "not in the layout", f"{where}: items on the line and below it"
        )
    if count == 0:
        words = (behind or "").strip("; ")
        if words and not _is_none(words, kind):
            if below or ";" in words or not reading.is_faithful:
                raise UnparsedError(
                    "contradiction", f"{where}: 0, and then {_plain(words)!r}"
                )
            reading.warnings.append(BEHIND_ZERO + name)
        elif below:
            raise UnparsedError(
                "contradiction", f"{where}: 0, and then {_plain(below[0])!r}"
            )
        return 0, ()
    if behind is None:
        return _check_list(count, _list_below(below, where), name, reading)
    texts = [text.strip() for text in behind.split(";")]
    # What stands behind a last semicolon is nothing, which changes no number.
    kept = [text for text in texts if text.strip(" .")]
    is_last = kept == texts[:-1]
    if kept != texts and (reading.is_faithful or is_last):
        reading.warnings.append(EMPTY_ENTRY + name)
        texts = kept
    return _check_list(count, texts, name, reading)


def _list_below(lines: Sequence[str], where: str) -> list[str]:
    texts = [line.lstrip() for line in lines]
    indents = {len(line) - len(line.lstrip()) for line in lines}
    if len(indents) > 1:
        raise UnparsedError("not in the layout", f"{where}: a list within a list")
    entries = [_BULLETED.fullmatch(text) for text in texts]
    if not all(entries):
        entries = [_NUMBERED.fullmatch(text) for text in texts]
        for number, (entry, text) in enumerate(zip(entries, texts, strict=True), 1):
            if entry is None or int(entry[1]) != number:
                raise UnparsedError("not in the layout", f"{where}: {_plain(text)!r}")
    items = [entry.groups()[-1] for entry in entries if entry]
    several = next((item for item in items if ";" in item), None)
    if several:
        raise UnparsedError(
            "doubtful item", f"{where}: several in one line: {_plain(several)!r}"
        )
    return items


def _check_list(
    count: int, items: Sequence[str], name: str, reading: _Reading
) -> _List:
    where = TITLES[MATCHED] if name == MATCHED else name
    for item in items:
        if is_doubtful(item, faithful=reading.is_faithful, count=count):
            raise UnparsedError(
                "doubtful item", f"{where}: {_plain(item)!r} is no one item"
            )
    if len(items) != count and not reading.is_faithful:
        raise UnparsedError(
            "count and list differ", f"{where}: {count} is stated, {len(items)} listed"
        )
    return count, items


@lru_cache(4096)
def is_doubtful(item: str, *, faithful: bool = False, count: int = 0) -> bool:
    """Return whether `item` may be no item, or more than one."""
    plain = _IN_BRACKETS.sub(" ", item) if "(" in item else item
    numbers = _NUMBERING.findall(plain)
    # In faithful mode a number is no numbering unless it goes on from a first one.
    if faithful and (
        count > 1 or all(number.strip("#.:)") != "2" for number in numbers)
    ):
        numbers = []
    is_several = bool(numbers or _NUMBER_FIRST.match(item) or _MARK.search(item)) or (
        not faithful and _NEXT_SENTENCE.search(item) is not None
    )
    return is_several or is_no_entry(item) or _TITLE.match(item) is not None


_BRACKETS = re.compile(r"[()\[\]<>{}]")
_NO_MARKUP = re.compile(r"[^\w\s,'\"/%+-]|_")
_EDGES = " *,;|"


def render(annotation: Annotation) -> str:
    """Return `annotation` in GREEN's layout; raises `ValueError` for what that cannot hold."""
    annotation = _with_counts(annotation)
    stated = annotation.stated_counts
    if set(stated) != set(NAMES):
        raise ValueError(f"stated_counts needs exactly {', '.join(NAMES)}")
    texts = _lists(annotation.items)
    written = {
        name: f"{stated[name]}. {'; '.join(texts[name])}".rstrip(" ") for name in NAMES
    }
    sections = [f"[{TITLES[EXPLANATION]}]:\n{annotation.explanation}"]
    for level in LEVELS:
        lines = [f"[{TITLES[level]}]:"]
        for category in CATEGORIES:
            name = KEY[level, category]
            if NOT_LISTED + name not in annotation.warnings:
                label = CATEGORY[category].label.capitalize()
                lines.append(f"({category.value}) {label}: {written[name]}")
        sections.append("\n".join(lines))
    sections.append(f"[{TITLES[MATCHED]}]:\n{written[MATCHED]}")
    read = partial(parse, study=_NO_STUDY, complete=True, faithful=True)
    return replies.check_round_trip("\n\n".join(sections), as_written(annotation), read)


def as_written(annotation: Annotation) -> Annotation:
    """Return the annotation without warnings about a form that `render` does not write."""
    odd = (OUT_OF_ORDER, EMPTY_ENTRY, OTHER_LABEL, BEHIND_ZERO)
    kept = [text for text in annotation.warnings if not text.startswith(odd)]
    return replace(annotation, warnings=tuple(kept))


def baseline(comparison: ReportComparison, _study: Study) -> Annotation:
    """Return the discrepancies, found by rules, as a GREEN annotation that `render` can write."""
    errors = [
        green_error(
            categories.significance_of(found),
            found.category,
            _entry(found.text) or _entry(found.finding) or "unnamed finding",
        )
        for found in comparison.discrepancies
    ]
    errors.sort(key=lambda error: KEYS.index(count_name(error)))
    matched = (
        matched_item(_entry(text) or "unnamed finding") for text in comparison.matched
    )
    items = _told_apart((*errors, *matched))
    return Annotation(
        items, _explanation(comparison.explanation), stated_counts=_counts(items)
    )


def _told_apart(items: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items, numbered where they repeat the words of one before: repeats are refused."""
    n_before: Counter[str] = Counter()
    apart = []
    for item in items:
        words = word_key(item.text)
        n_before[words] += 1
        if n_before[words] > 1:
            item = replace(
                item, text=f"{item.text}, no. {n_before[words]} in these words"
            )
        apart.append(item)
    return tuple(apart)


def _entry(text: str) -> str:
    """Return a text as an item, without what an item cannot have; "" where nothing is left."""
    plain = " ".join(text.replace(";", ",").split())
    for entry in (plain, _NO_MARKUP.sub(" ", plain)):
        entry = " ".join(entry.split()).strip(_EDGES)
        if entry == "" or not (is_doubtful(entry) or _GRADE_REMARK.search(entry)):
            return entry
    return ""


def _explanation(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.replace("\r", "\n").split("\n"))
    explanation = "\n".join(lines).strip()
    if not _NO_WORDS.search(explanation):
        return explanation
    return f"It says: {' '.join(_BRACKETS.sub(' ', explanation).split())}"


class Errors(ReplyModel):
    """The errors of one level, each in one of the six categories."""

    # In the order of `CATEGORIES`.
    false_finding: list[Text] = Field(
        description="(a) The candidate says something is there that the reference does not support."
    )
    missing_finding: list[Text] = Field(
        description="(b) The reference reports it, the candidate leaves it out or denies it."
    )
    wrong_location: list[Text] = Field(
        description="(c) On another side or in another place."
    )
    wrong_severity: list[Text] = Field(
        description="(d) Larger, smaller, milder or graver."
    )
    comparison_not_in_reference: list[Text] = Field(
        description="(e) A change, or its absence, that the reference does not tell."
    )
    omitted_comparison: list[Text] = Field(
        description="(f) A change that the reference tells and the candidate does not."
    )


class Reply(ReplyModel):
    """What the candidate gets wrong and what it gets right. One error or finding an entry."""

    optional: ClassVar = {"explanation": ""}

    explanation: Annotated[Text, OrNull] = Field(
        description="Two to five sentences on what differs and why."
    )
    clinically_significant_errors: Errors
    clinically_insignificant_errors: Errors
    matched_findings: list[Text] = Field(
        description="What the candidate says in agreement with the reference, each finding once."
    )


_LISTS = tuple(zip(CATEGORIES, Errors.model_fields, strict=True))
_SEVERAL = re.compile(r"[;\n\r\u2022]|(?:^|\s)2[.)]\s")
_NUMBERED_ENTRY = re.compile(r"([1-9][0-9]*)[.)]\s+(.*)", re.DOTALL)


def _unnumbered(entries: Sequence[str]) -> Sequence[str]:
    """Return the entries of a list without numbers, where these run from 1."""
    numbered = [_NUMBERED_ENTRY.fullmatch(entry) for entry in entries]
    numbers = [match[1] for match in numbered if match]
    if numbers != [str(number) for number in range(1, len(entries) + 1)]:
        return entries
    return [match[2] for match in numbered if match]


def parse_reply(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the annotation in a structured reply, whose lists give the counts."""
    reply = replies.read_reply(Reply, text)
    levels = (
        reply.clinically_significant_errors,
        reply.clinically_insignificant_errors,
    )
    items = []
    for level, lists in zip(LEVELS, levels, strict=True):
        for category, name in _LISTS:
            entries = _unnumbered(getattr(lists, name))
            items += [green_error(level, category, entry) for entry in entries]
    items += map(matched_item, _unnumbered(reply.matched_findings))
    for item in items:
        if is_no_entry(item.text) or _SEVERAL.search(item.text):
            raise UnparsedError(
                "doubtful item", f"{item.text!r} is no one entry of a list"
            )
    refuse_contradictions(with_contradictions(items))
    return Annotation(tuple(items), reply.explanation, stated_counts=_counts(items))


def render_reply(annotation: Annotation) -> str:
    """Return the annotation as a structured reply; raises `ValueError` for what none expresses."""
    annotation = _with_counts(annotation)
    texts = _lists(annotation.items)
    lists = []
    for level in LEVELS:
        lists.append({name: texts[KEY[level, category]] for category, name in _LISTS})
    values = (annotation.explanation, *lists, texts[MATCHED])
    text = json.dumps(dict(zip(Reply.model_fields, values, strict=True)), indent=1)
    return replies.check_round_trip(
        text, annotation, partial(parse_reply, study=_NO_STUDY)
    )
