"""Reading a count: `2.`, `[2]`, `2 errors`, `two`, `None`, `no significant errors`.

Every form ends in a character that proves it whole, so that a cut answer never shows
another number: a digit run, a number word or a statement that touches the end of what is
there is no count.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from judge.rubrics.significance import MAX_COUNT
from judge.types import Category

_WORD_LIST = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen twenty"
)
WORDS = {word: number for number, word in enumerate(_WORD_LIST.split())}

_MOST_DIGITS = len(str(MAX_COUNT))

NOUN = (
    r"(?:errors?|findings?|instances?|occurrences?|issues?|items?|match(?:es)?|total|mistakes?"
    r"|omissions?|discrepanc(?:y|ies)|comparisons?|reports?|mismatch(?:es)?|differences?)"
)
ADJECTIVE = (
    r"(?:clinically|significant|insignificant|non-?significant|matched|matching|false|falsely"
    r"|missing|missed|omitted|wrong|incorrect|location|severity|additional|total|major|minor"
    r"|such|distinct|separate|comparison|positive|normal|abnormal|key)"
)

_NUMBER = re.compile(
    rf"""
    \s*+
    (?:(?:there\ (?:are|is|were|was)|(?:i|we)\ (?:found|counted|count)|exactly|an?\ total\ of
        |(?:the\ )?(?:total|count|number)\b(?:\ is)?(?:\ (?:number|of|{ADJECTIVE}|{NOUN}))*+\ ?[:=]?
       )\s*+)*+
    (?P<open>[(\[<"'])?+\ ?(?P<word>[0-9]++|[A-Za-z]++)(?(open)\ ?(?P<shut>[)\]>"']))
    """,
    re.IGNORECASE | re.VERBOSE,
)

# What may follow a number and prove that it is whole. A hyphen or a slash may not: 1-2, 2/3.
_AFTER_NUMBER = re.compile(
    rf"""
    [^\S\n]?\.(?![0-9]) | [:;)\]|] | ,(?!\s*[0-9]) | [^\S\n]*+\n
    | [^\S\n]++[(\[]
    | [^\S\n]++(?:[-\u2013\u2014]++|[-=]?>|\u2192)
      (?:[^\S\n]*+\n | [^\S\n]++(?![0-9]++(?![^\S\n]?(?:mm|cm)\b)))
    | \u00d7\.?(?=\s)
    | (?:[^\S\n]++{ADJECTIVE}(?=[^\S\n]))*+
      [^\S\n]++{NOUN}\b(?![^\S\n]++(?:or|to|and|per|of\ [0-9]))[^\S\n]*+[.:;,]?+
    """,
    re.IGNORECASE | re.VERBOSE,
)

_STOP = re.compile(r"[^\S\n]*+[.:;,]?+")

_KINDS = (
    r"(?:[ ](?:clinically|significant|insignificant|non-?significant|such|false|falsely|missing"
    r"|missed|omitted|matched|matching|other|additional|further|notable|major|minor|relevant"
    r"|identified|reported|comparison|location|severity|positional|clinical|real|true|of|this"
    r"|type|or))"
)
_VERBS = r"(?:were|was|are|is|have|has|been|found|identified|noted|detected|observed|present)"

_NOTHING = re.compile(
    rf"""
    [\s("'\[]*+
    (?: n/a | nil | not[ ](?:applicable|present|found|observed|identified|relevant)
      | (?:none|no(?=[^\S\n]*+[.,;\n])) (?:[ ]{_VERBS}){{0,3}}
      | none[ ]of[ ]the[ ]findings[ ](?:are[ ])?match(?:ed|es)?
      | nothing (?:[ ](?:to[ ]report|matched|matches))?
      | (?:there[ ](?:are|were|is|was)[ ])?no{_KINDS}{{0,4}}[ ]
        (?: (?:errors?|discrepanc(?:y|ies)|issues?|instances?|mistakes?|omissions?)
            (?:[ ](?:{_VERBS}|reported|made|listed|here|in|of|for|this|the|any|all|six|type
                |candidate|candidate's|report|section|category|categories)){{0,10}}
          | (?:findings?|match(?:es)?) (?:[ ](?:{_VERBS}|match|matched|missed|missing)){{0,3}}
        )
    )
    ["')\]]*+
    (?: [.!;,:](?=[\s)\]"']|$)["')\]]*+ | [^\S\n]*+(?=\n) | [^\S\n]++(?=[(\u2013\u2014-]) )
    """,
    re.IGNORECASE | re.VERBOSE,
)

_DASH_ALONE = re.compile(r"[^\S\n]*+[-\u2013\u2014]{1,3}[^\S\n]*+\n")
# No number, none of the words before one, and nothing that says "none" begins with these.
_SOMETHING = frozenset("bdfghjklmopqrsuvxyBDFGHJKLMOPQRSUVXY")
_ABSENT = re.compile(
    r"""
    [\s.\-\u2013\u2014(\["']*+
    (?: $ | (?:none|no(?![ ](?:mention|report|description|comment|documentation|reference))
              |nil|n/a|nothing|neither|zero|0
              |(?:found|identified|noted|present|reported|detected|observed)\b
              |not[ ](?:applicable|present|found|identified|seen|observed|noted|relevant|any)
              |there[ ](?:are|were|is|was)[ ]no)(?!\w) )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TURNS = re.compile(
    r"\b(?:but|however|except|although|though|whereas|while|instead|rather|despite|yet"
    r"|other than|apart from|only|unlike|when)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|cannot|no|nothing|none|never|neither|without)\b|n['\u2019]t\b", re.IGNORECASE
)
_FAULT = re.compile(
    r"\b(?:miss(?:es|ed|ing)?|omit(?:s|ted)?|omission|incorrect(?:ly)?|wrong(?:ly)?|false(?:ly)?"
    r"|inconsistent|inaccurate(?:ly)?|mismatch(?:es)?|disagree\w*|over\w*stat\w*|under\w*stat\w*"
    r"|exaggerat\w*|fail(?:s|ed)?|lacks?|leaves? out|left out|error)\b",
    re.IGNORECASE,
)
_AGREES = re.compile(
    r"\b(?:all|both|each|every(?:thing)?|neither|same|identical(?:ly)?|consistent(?:ly)?"
    r"|match(?:es|ed|ing)?|agree(?:s|d|ment)?|concordant|correct(?:ly)?|accurate(?:ly)?"
    r"|appropriate(?:ly)?|supported|covered|captured|included|equivalent|align(?:s|ed)?"
    r"|proper(?:ly)?|adequate(?:ly)?|faithful(?:ly)?|preserved|similar(?:ly)?|complete(?:ly)?)\b",
    re.IGNORECASE,
)
_ANY = re.compile(
    r"\b(?:any(?:thing)?|additional|extra|new|other|false|unsupported|incorrect|erroneous|hallucinated"
    r"|fabricated|beyond)\b|\b(?:absent from|not (?:in|present in|supported by|found in))\b"
    r"|\b(?:is|are|was|were)(?:n't| not) in\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_CANDIDATE_SILENT = re.compile(
    r"(?!.{0,40}\breference\b).*\b(?:not|n['\u2019]t)[ ](?:\w+ly[ ])?"
    r"(?:report|mention|claim|add|introduce|make|include|contain|state|invent|assert|describe"
    r"|refer|compare|hallucinate|suggest|present)",
    re.IGNORECASE,
)
_REFERENCE_SILENT = re.compile(
    r"(?:the\ )?(?:reference|ground\ truth|original)\b[^.]{0,30}?"
    r"(?:\b(?:not|n['\u2019]t)[ ]"
    r"(?:contain|mention|make|include|have|provide|state|report|describe)"
    r"|[ ](?:contains?|has|makes?|includes?)[ ]no\b)",
    re.IGNORECASE | re.VERBOSE,
)
_SILENT = {
    Category.FALSE_FINDING: _CANDIDATE_SILENT,
    Category.FALSE_COMPARISON: _CANDIDATE_SILENT,
    Category.MISSING_FINDING: _REFERENCE_SILENT,
    Category.OMITTED_COMPARISON: _REFERENCE_SILENT,
}
"""Who says nothing where there is no error of a category."""
_NO_ERRORS = re.compile(
    r"[^.;:\n]{0,100}?\b(?:no|zero)\ (?:(?:clinically|relevant|notable|other)\ )*+"
    r"(?P<sig>significant\ |(?:in|non-?)significant\ )?"
    r"(?:errors?|discrepanc(?:y|ies)|differences?|mistakes?)\b[^.;:\n]{0,80}(?:\.|\n)",
    re.IGNORECASE | re.VERBOSE,
)


class Count(NamedTuple):
    """A count, where it ends, and whether its form could also number an entry: `1.`, `(1)`."""

    value: int
    end: int
    numbers: bool


def read_count(line: str) -> Count | None:
    r"""Return the count that `line` begins with; None where there is none.

    A line that is known to be whole ends in `\n`; without it the end of the line proves
    nothing.
    """
    number = _NUMBER.match(line)
    if number and (value := _value(number["word"])) is not None:
        end = number.end()
        bare = number.start("word") == len(line) - len(line.lstrip())
        if number["open"]:
            after = _STOP.match(line, end)
            return Count(value, after.end() if after else end, number["open"] in "([")
        if after := _AFTER_NUMBER.match(line, end):
            return Count(value, after.end(), bare and after[0] in (".", ")"))
        # A lone 0 cannot be the beginning of another count.
        return Count(0, len(line), numbers=False) if line.strip() == "0" else None
    if nothing := _NOTHING.match(line):
        return Count(0, nothing.end(), numbers=False)
    return Count(0, len(line), numbers=False) if _DASH_ALONE.fullmatch(line) else None


def _value(word: str) -> int | None:
    if not word[0].isdigit():
        return WORDS.get(word.lower())
    return int(word) if len(word) <= _MOST_DIGITS else None


def may_hold(text: str, stems: tuple[str, ...]) -> bool:
    """Return False where `text` surely has none of `stems`, in small letters, in any case.

    Beyond ASCII other characters pass for some letters where case is ignored.
    """
    if not text.isascii():
        return True
    low = text.lower()
    for stem in stems:  # noqa: SIM110 - half the time of `any`
        if stem in low:
            return True
    return False


def states_nothing(line: str) -> bool:
    """Return whether all of `line` says that there is nothing: `None.`, `No errors.`, `0.`."""
    if line[:1] in _SOMETHING:
        return False
    count = read_count(line)
    return count is not None and count.value == 0 and is_absent(line[count.end :])


def is_absent(text: str, category: Category | None = None) -> bool:
    """Return whether `text`, beside a count of 0, names no error.

    Empty, `None`, `N/A`, `No ...`, or sentences that say why there is none: that the
    reports agree, or that the candidate does not do what `category` is about.
    """
    text = text.strip(" \t\n-\u2013\u2014()[]\"'")
    return all(_agrees(sentence, category) for sentence in _SENTENCE.split(text))


def _agrees(sentence: str, category: Category | None) -> bool:
    if _TURNS.search(sentence):
        return False
    silent = _SILENT.get(category) if category else None
    if _ABSENT.match(sentence) or (silent and silent.match(sentence)):
        return True
    if negated := _NEGATED.search(sentence):
        return bool(_ANY.search(sentence) or _FAULT.search(sentence, negated.end()))
    return bool(_AGREES.search(sentence)) and not _FAULT.search(sentence)


def says_no_errors(line: str, kind: str) -> bool:
    """Return whether `line` is a sentence that says that a section of `kind` has no error."""
    found = _NO_ERRORS.match(line)
    if found is None or _TURNS.search(found[0]):
        return False
    named = (found["sig"] or "").strip().lower()
    right = not named or (named == "significant") == (kind == "significant")
    return right and not line[found.end() :].strip()
