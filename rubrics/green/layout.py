"""GREEN's layout: the grammar in docs/answers.md, read line by line, and written.

Whatever is not the grammar is refused with its reason. A number that is read is the one that
stands behind a category's colon, or first under the matched findings.

A structured reply has a list of errors for each category, so that no count can contradict one: a
count is the length of its list. An entry that denies, that holds several or that stands twice makes
it unparsed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

from pydantic import Field

from judge.rubrics.categories import (
    CATEGORIES,
    CATEGORY,
    ERROR,
    INSIGNIFICANT,
    KEY,
    KEYS,
    LEVELS,
    SIGNIFICANCE,
    SIGNIFICANT,
    category_of,
    error,
    level_of,
)
from judge.rubrics.reply_text import (
    Form,
    Words,
    answer_in,
    checked,
    is_no_entry,
    read_back,
    read_json,
    same_words,
    twice,
)
from judge.types import Annotation, Category, Item, ReportComparison, Study, UnparsedError

MATCHED = "matched"
EXPLANATION = "explanation"

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


def an_error(level: str, category: Category, text: str) -> Item:
    """Return one error of a list."""
    return error((category,), SIGNIFICANCE, level, text)


def matched_finding(text: str) -> Item:
    """Return one finding of the last section."""
    return Item(MATCHED, text)


def key_of(item: Item) -> str:
    """Return the name of the count that an item is one of; ValueError where GREEN has none."""
    if item.kind == MATCHED:
        return MATCHED
    try:
        if item.kind == ERROR:
            return KEY[item.label(SIGNIFICANCE), Category(item.label(CATEGORY.name))]
    except KeyError:
        pass
    raise ValueError(f"no item of GREEN: {item}")


def counts_of(items: Iterable[Item]) -> dict[str, int]:
    """Return how many of the items each count has; raises as `key_of` does."""
    found = dict.fromkeys(NAMES, 0)
    for item in items:
        found[key_of(item)] += 1
    return found


def texts_by_count(annotation: Annotation) -> dict[str, list[str]]:
    """Return the lists of an answer by the names of their counts; raises as `key_of` does."""
    texts: dict[str, list[str]] = {name: [] for name in NAMES}
    for item in annotation.items:
        texts[key_of(item)].append(item.text)
    return texts


def warnings_on(
    stated: Mapping[str, int], items: Sequence[Item], not_listed: Collection[str]
) -> tuple[str, ...]:
    """Return what is odd about the counts: one warning a count, in the order of `KEYS`.

    A category that the answer leaves out (`not_listed`) counts 0, and a count that differs from the
    length of its list is kept beside the list.
    """
    listed = counts_of(items)
    return tuple(
        (NOT_LISTED if name in not_listed else DIFFERS) + name
        for name, count in listed.items()
        if name in not_listed or stated[name] != count
    )


_REFUSAL = re.compile(
    r"\W*(?:i(?:['\u2019]m| am) (?:so |very )?(?:sorry|afraid|unable|not able)|sorry|i apologi[sz]e"
    r"|my apologies|unfortunately|as an? (?:ai|language|large)"
    r"|i (?:can(?:not|['\u2019]t| not)|won['\u2019]t|will not|must decline))\b",
    re.IGNORECASE,
)

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

_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)
_NUMBER = {word: number for number, word in enumerate(_WORDS)}
_CATEGORY = re.compile(r"(?:[-*\u2022][ \t]+)?\(([a-f1-6])\)([^:]*):[ \t]*(.*)", re.IGNORECASE)
_COUNT = re.compile(rf"(0|[1-9][0-9]{{0,3}}|{'|'.join(_WORDS)})(\.(?:[ \t]+(.*))?)?", re.IGNORECASE)
_BULLET = re.compile(r"[-*\u2022][ \t]+(.*)")
_NUMBERED = re.compile(r"([1-9][0-9]{0,3})[.)][ \t]+(.*)")
_SAID = r"(?: (?:found|identified|noted|detected|present|reported))?"
_NONE = re.compile(
    r"(?:0|n/a|not applicable|(?:none|nil|(?:there (?:are|were) )?no(?: (?:clinically )?"
    rf"(?P<level>in)?(?P<is_level>significant))? errors?|no match(?:ed finding|e)s){_SAID})\.?",
    re.IGNORECASE,
)

_IN_BRACKETS = re.compile(r"\([^()]*\)")
_MARK = re.compile(
    r"\(\s*[a-f1-6]\s*\)|\(\s*[b-f]\s*(?:[0-9]|\Z)|(?<!\S)[a-f][):](?:\s|\Z)|(?<!\S)[b-f]\.\s"
    r"|(?<!\S)[b-f]\s+[-\u2013=]?\s*[0-9]{1,2}(?![\w.]|\s*[cm]m\b)",
    re.IGNORECASE,
)
_NUMBERING = re.compile(
    r"(?<!\S)(?:[0-9]{1,2}[.)]|#[0-9]+[.:)]?|(?:ii?i?|iv)[.)])(?=\s+\S)", re.IGNORECASE
)
_NUMBER_FIRST = re.compile(r"[0-9]{1,2}[.)](?![0-9])")
_SIGN = re.compile(
    r"[|\u2022\u25aa\u25cf\u25e6\u2023\u2460-\u24ff\u2776-\u2793]|~~|\[[ x]?\]|\[[0-9]+\]"
    r"|\bmatched findings?\b|```|\A[-*]\s|</?s>|<end_of_turn>",
    re.IGNORECASE,
)
_GRADE = re.compile(r"\b(?:in|non-?)?significan(?:t|ce|tly)\b", re.IGNORECASE)
# "No significant change" grades no error.
_NO_GRADE = re.compile(
    r"\b(?:no|without|any)(?: (?:evidence of|other|interval))? significant\b"
    r"(?! (?:errors?|findings?|discrep|differ))",
    re.IGNORECASE,
)
_NEXT_SENTENCE = re.compile(r"\w{4}[.!?]\s+[A-Z]")


class _Listed(NamedTuple):
    stated: int
    items: Sequence[str] = ()


def parse(text: str, study: Study, *, complete: bool = False, faithful: bool = False) -> Annotation:
    """Return the annotation that an answer in GREEN's layout expresses.

    `faithful` is for a GREEN model that answers the official prompt: where its count and its list
    differ, the count holds, with a warning, as in the reference implementation.
    """
    del study
    text, is_whole = answer_in(text)
    words, bodies = _sections(text)
    stated: dict[str, int] = {}
    items: list[Item] = []
    not_listed: list[str] = []
    for level in LEVELS:
        listed = _errors(bodies[level], level, faithful=faithful)
        for category in CATEGORIES:
            key = KEY[level, category]
            one = listed.get(category, _Listed(0))
            stated[key] = one.stated
            items += [an_error(level, category, item) for item in one.items]
            if listed and category not in listed:
                not_listed.append(key)
    found = _matched(bodies[MATCHED], is_whole=complete or is_whole, faithful=faithful)
    stated[MATCHED] = found.stated
    items += map(matched_finding, found.items)
    return Annotation(
        items=tuple(items),
        explanation=words,
        stated_counts=stated,
        warnings=warnings_on(stated, items, not_listed),
    )


def _sections(text: str) -> tuple[str, dict[str, str]]:
    titles = list(_TITLE.finditer(text))
    headings = [_HEADING.fullmatch(title[0]) for title in titles]
    kinds = [_KIND.get(heading[1].lower()) if heading else None for heading in headings]
    if lacking := [TITLES[kind] for kind in _SECTIONS if kind not in kinds]:
        if not titles and _REFUSAL.match(text):
            raise UnparsedError("refusal", " ".join(text.split())[:80])
        raise UnparsedError("missing section", f"no line with the heading {', '.join(lacking)}")
    if kinds != [*_SECTIONS] or "<|" in text:
        raise UnparsedError(
            "not in the layout", "each heading stands once, in order, on its own line"
        )
    ends = [*(title.start() for title in titles[1:]), len(text)]
    bodies = {
        kind: text[title.end() : end]
        for kind, title, end in zip(_SECTIONS, titles, ends, strict=True)
    }
    words = text[: titles[0].start()]
    if found := _EXPLANATION.match(words):
        words = words[found.end() :]
    return words.strip(), bodies


def _lines(body: str) -> list[str]:
    return [line.rstrip() for line in body.replace("**", "").split("\n") if line.strip()]


def _is_none(text: str, kind: str) -> bool:
    found = _NONE.fullmatch(text)
    if found is None:
        return False
    if found["is_level"]:
        return kind == (INSIGNIFICANT if found["level"] else SIGNIFICANT)
    said = text.lower()
    return ("match" not in said or kind == MATCHED) and ("error" not in said or kind != MATCHED)


def _errors(body: str, level: str, *, faithful: bool) -> dict[str, _Listed]:
    lines = _lines(body)
    if not lines:
        raise UnparsedError("missing section", f"nothing under {TITLES[level]}")
    if len(lines) == 1 and _is_none(lines[0].strip(), level):
        return {}
    found: dict[str, tuple[str, list[str]]] = {}
    marks = ""
    for line in lines:
        if category := _CATEGORY.fullmatch(line.strip()):
            mark, label, rest = category.groups()
            marks += mark.lower()
            below: list[str] = []
            found[_category(mark, label)] = rest, below
        elif found:
            below.append(line)
        else:
            raise UnparsedError("not in the layout", f"{TITLES[level]}: {line.strip()[:80]}")
    if [*marks] != sorted(set(marks)) or (marks[0].isdigit() and not marks.isdigit()):
        raise UnparsedError("contradiction", f"{TITLES[level]}: categories once and in order")
    return {
        category: _listed(rest, tuple(below), level, f"({category})", faithful=faithful)
        for category, (rest, below) in found.items()
    }


@lru_cache(256)
def _category(mark: str, label: str) -> str:
    category = category_of(f"({mark}) {label}")
    if category is None:
        raise UnparsedError("contradiction", f"({mark}) is not called {label.strip()[:80]!r}")
    return category


def _matched(body: str, *, is_whole: bool, faithful: bool) -> _Listed:
    lines = _lines(body)
    if not lines:
        raise UnparsedError("missing section", f"nothing under {TITLES[MATCHED]}")
    first = lines[0].strip()
    if len(lines) > 1 and _NUMBERED.fullmatch(first):
        if not is_whole:
            raise UnparsedError("truncated", "a list without a count may go on")
        items = _below(lines, TITLES[MATCHED])
        return _checked(len(items), items, TITLES[MATCHED], faithful=False)
    found = _listed(first, tuple(lines[1:]), MATCHED, TITLES[MATCHED], faithful=faithful)
    if not is_whole and (
        (found.stated and first[-1] != "." and not found.items)  # 1 may be the head of 12
        or (found.stated == 1 and len(lines) == 1)  # the first entry of a numbered list
    ):
        raise UnparsedError("truncated", "the count or its list may go on")
    return found


@lru_cache(4096)  # most lines of a run come again
def _listed(rest: str, below: tuple[str, ...], kind: str, where: str, *, faithful: bool) -> _Listed:
    stated = _COUNT.fullmatch(rest)
    if stated is None:
        if not below and _is_none(rest, kind):
            return _Listed(0)
        raise UnparsedError("unreadable count", f"{where}: {rest[:80]!r}")
    word, _, behind = stated.groups()
    count = _NUMBER[word.lower()] if word.isalpha() else int(word)
    if behind and below:
        raise UnparsedError("not in the layout", f"{where}: items on the line and below it")
    if count == 0:
        if below or (behind and not _is_none(behind, kind)):
            raise UnparsedError(
                "contradiction", f"{where}: 0, and then {(behind or below[0])[:80]!r}"
            )
        return _Listed(0)
    items = [one.strip() for one in behind.split(";")] if behind else _below(below, where)
    return _checked(count, items, where, faithful=faithful)


def _below(lines: Sequence[str], where: str) -> list[str]:
    texts = [line.lstrip() for line in lines]
    if len({len(line) - len(text) for line, text in zip(lines, texts, strict=True)}) > 1:
        raise UnparsedError("not in the layout", f"{where}: a list within a list")
    bullets = [_BULLET.fullmatch(text) for text in texts]
    if texts and all(bullets):
        found = [bullet[1] for bullet in bullets if bullet]
    else:
        numbers = [_NUMBERED.fullmatch(text) for text in texts]
        for at, number in enumerate(numbers, 1):
            if number is None or int(number[1]) != at:
                raise UnparsedError("not in the layout", f"{where}: {texts[at - 1][:80]!r}")
        found = [number[2] for number in numbers if number]
    if several := next((item for item in found if ";" in item), None):
        raise UnparsedError("doubtful item", f"{where}: several in one line: {several[:80]!r}")
    return found


def _checked(count: int, items: Sequence[str], where: str, *, faithful: bool) -> _Listed:
    for item in items:
        if fault := item_fault(item, faithful=faithful, count=count):
            raise UnparsedError("doubtful item", f"{where}: {fault}: {item[:80]!r}")
    if len(items) != count and not faithful:
        raise UnparsedError(
            "count and list differ", f"{where}: {count} is stated, {len(items)} listed"
        )
    return _Listed(count, items)


@lru_cache(4096)
def item_fault(item: str, *, faithful: bool = False, count: int = 0) -> str | None:
    """Return why `item` may be no item, or more than one; None for one that is plain.

    In faithful mode a number within an item is no numbering unless it goes on from a first one.
    """
    if is_no_entry(item):
        return "denies or remarks"
    if _SIGN.search(item) or _MARK.search(item):
        return "a mark"
    if _GRADE.search(item) and _GRADE.search(_NO_GRADE.sub("", item)):
        return "a grade"
    plain = _IN_BRACKETS.sub(" ", item) if "(" in item else item
    numbers = _NUMBERING.findall(plain)
    if faithful:
        numbers = numbers if count == 1 and any(one.strip("#.:)") == "2" for one in numbers) else []
    if numbers or _NUMBER_FIRST.match(item):
        return "a number before it or within"
    if not faithful and _NEXT_SENTENCE.search(item):
        return "several sentences"
    return None


def fits_item(text: str) -> bool:
    """Return whether a list of the layout gives `text` back as one item."""
    is_plain = text == text.strip() and not any(sign in text for sign in (";", "**", "\n", "\r"))
    return is_plain and item_fault(text) is None


def fits_explanation(text: str) -> bool:
    """Return whether `text` comes back unchanged as the explanation."""
    if text != text.strip() or "<|" in text or _EXPLANATION.match(text) or _TITLE.search(text):
        return False
    try:
        return answer_in(f"{text}\n.")[0] == f"{text}\n.".lstrip()
    except UnparsedError:
        return False


_NO_BRACKETS = str.maketrans(dict.fromkeys("()[]<>{}", " "))
_NO_COLONS = str.maketrans(
    {":": ",", "=": ",", "|": ",", "`": "'", "*": " ", "~": " ", "\u2022": ","}
)
_NO_MARKUP = re.compile(r"[^\w\s,'\"/%+-]|_")
_NUMBER_STOP = re.compile(r"(?<=[0-9])[.)](?!\S)")
_EDGES = " *,;|"
_NO_STUDY = Study("", "", "")


def render(annotation: Annotation) -> str:
    """Return `annotation` in GREEN's layout, so that faithful mode gives it back unchanged.

    Raises `ValueError` for an annotation that the layout cannot hold.
    """
    stated = annotation.stated_counts
    if set(stated) != set(NAMES):
        raise ValueError(f"stated_counts needs exactly {', '.join(NAMES)}")
    not_listed = {
        warning.removeprefix(NOT_LISTED)
        for warning in annotation.warnings
        if warning.startswith(NOT_LISTED)
    }
    texts = texts_by_count(annotation)
    sections = [f"[{TITLES[EXPLANATION]}]:\n{annotation.explanation}"]
    for level in LEVELS:
        lines = [f"[{TITLES[level]}]:"]
        for category in CATEGORIES:
            if (name := KEY[level, category]) not in not_listed:
                label = CATEGORY[category].label.capitalize()
                listed = _written(stated[name], texts[name])
                lines.append(f"({category.value}) {label}: {listed}")
        sections.append("\n".join(lines))
    sections.append(f"[{TITLES[MATCHED]}]:\n{_written(stated[MATCHED], texts[MATCHED])}")
    text = "\n\n".join(sections)
    read = partial(parse, study=_NO_STUDY, complete=True, faithful=True)
    return read_back(text, annotation, read)


def _written(count: int, texts: list[str]) -> str:
    return f"{count}. {'; '.join(texts)}".rstrip(" ")


def baseline(comparison: ReportComparison, _study: Study) -> Annotation:
    """Return what rules found as a GREEN annotation that `render` can write.

    A discrepancy of severity 2 or more is clinically significant. Its text is brought into
    the form that a list of the layout can hold: one line, commas for semicolons.
    """
    errors = [
        an_error(
            level_of(discrepancy),
            discrepancy.category,
            _entry(discrepancy.text) or _entry(discrepancy.finding) or "unnamed finding",
        )
        for discrepancy in comparison.discrepancies
    ]
    errors.sort(key=lambda error: KEYS.index(key_of(error)))
    matched = (matched_finding(_entry(text) or "unnamed finding") for text in comparison.matched)
    items = (*errors, *matched)
    return Annotation(items, _explanation(comparison.explanation), stated_counts=counts_of(items))


def _entry(text: str) -> str:
    entry = " ".join(text.replace(";", ",").split()).strip(_EDGES)
    for change in (
        lambda text: _NUMBER_STOP.sub("", text.translate(_NO_COLONS)),
        lambda text: text.translate(_NO_BRACKETS),
        lambda text: _NO_MARKUP.sub(" ", text),
    ):
        if entry == "" or fits_item(entry):
            return entry
        entry = " ".join(change(entry).split()).strip(_EDGES)
    return entry if fits_item(entry) else ""


def _explanation(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.replace("\r", "\n").split("\n"))
    explanation = "\n".join(lines).strip()
    if not fits_explanation(explanation):
        explanation = " ".join(explanation.translate(_NO_BRACKETS).split())
    if not fits_explanation(explanation):
        explanation = f"It says: {explanation}"
    return explanation


class Errors(Form):
    """The errors of one level, each in one of the six categories."""

    # In the order of `CATEGORIES`.
    false_finding: list[Words] = Field(
        description="(a) The candidate says something is there that the reference does not support."
    )
    missing_finding: list[Words] = Field(
        description="(b) The reference reports it, the candidate leaves it out or denies it."
    )
    wrong_location: list[Words] = Field(description="(c) On another side or in another place.")
    wrong_severity: list[Words] = Field(description="(d) Larger, smaller, milder or graver.")
    comparison_not_in_reference: list[Words] = Field(
        description="(e) A change, or its absence, that the reference does not tell."
    )
    omitted_comparison: list[Words] = Field(
        description="(f) A change that the reference tells and the candidate does not."
    )


class Reply(Form):
    """What the candidate gets wrong and what it gets right. One error or finding an entry."""

    optional: ClassVar = {"explanation": ""}

    explanation: Words = Field(description="Two to five sentences on what differs and why.")
    clinically_significant_errors: Errors
    clinically_insignificant_errors: Errors
    matched_findings: list[Words] = Field(
        description="What the candidate says in agreement with the reference, each finding once."
    )


_LISTS = tuple(Errors.model_fields)

_SEVERAL = re.compile(r"[;\n\r\u2022]|(?:^|\s)2[.)]\s")


def parse_reply(text: str, study: Study, *, complete: bool = False) -> Annotation:  # noqa: ARG001
    """Return the annotation in a structured reply.

    A list whose length may not be the number of its errors or findings makes it unparsed.
    """
    reply = checked(Reply, read_json(text))
    levels = (reply.clinically_significant_errors, reply.clinically_insignificant_errors)
    lists = [
        (level, category, getattr(found, name))
        for level, found in zip(LEVELS, levels, strict=True)
        for category, name in zip(CATEGORIES, _LISTS, strict=True)
    ]
    errors = [an_error(level, one, entry) for level, one, entries in lists for entry in entries]
    for entry in (*(item.text for item in errors), *reply.matched_findings):
        if is_no_entry(entry):
            raise UnparsedError("no entry", f"{entry!r} stands in a list, and is no entry of one")
        if _SEVERAL.search(entry):
            raise UnparsedError("several in one entry", f"one entry each: {entry!r}")
    for texts in ([item.text for item in errors], reply.matched_findings):
        if (again := twice(texts)) is not None:
            raise UnparsedError("contradiction", f"twice: {again!r}")
    alone = (Category.FALSE_FINDING, Category.MISSING_FINDING)
    one_sided = {same_words(x) for _, one, entries in lists if one in alone for x in entries}
    if both := next((x for x in reply.matched_findings if same_words(x) in one_sided), None):
        raise UnparsedError("contradiction", f"an error and matched: {both!r}")
    items = (*errors, *map(matched_finding, reply.matched_findings))
    return Annotation(items, reply.explanation, stated_counts=counts_of(items))


def render_reply(annotation: Annotation) -> str:
    """Return the annotation as a structured reply; raises `ValueError` for what none expresses."""
    texts = texts_by_count(annotation)
    lists = [
        {name: texts[KEY[level, one]] for one, name in zip(CATEGORIES, _LISTS, strict=True)}
        for level in LEVELS
    ]
    values = (annotation.explanation, *lists, texts[MATCHED])
    text = json.dumps(dict(zip(Reply.model_fields, values, strict=True)), indent=1)
    return read_back(text, annotation, partial(parse_reply, study=_NO_STUDY))
