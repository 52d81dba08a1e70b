"""Reading a count: `2.`, `**2**.`, `2 errors`, `two`, `None`, `no significant errors`.

Every form ends in a character that proves it whole, so that a cut answer never shows
another number: a digit run, a number word or a statement that touches the end of what is
there is no count.
"""

from __future__ import annotations

import re

from judge.rubrics.green.layout import MAX_COUNT

_WORDS = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}

_MOST_DIGITS = len(str(MAX_COUNT))

_NUMBER = re.compile(
    r"""
    [\s*_(]*+
    (?:(?:total|count|number)\b(?:[ ](?:number|of|matched|findings?|errors?))*+[ ]?[:=]?[\s*_]*+)?+
    ([0-9]++|[A-Za-z]++)[*_]*+
    """,
    re.IGNORECASE | re.VERBOSE,
)

# What may follow a number and prove that it is whole. A hyphen or a slash may not: 1-2, 2/3.
_AFTER_NUMBER = re.compile(
    r"""
    \.(?![0-9]) | [:;)\]] | ,(?!\s*[0-9]) | [^\S\n]*+\n
    | [^\S\n]++[(\[]
    | [^\S\n]++[-\u2013\u2014]++[^\S\n]++(?![0-9])
    | (?:[^\S\n]++(?:clinically|significant|insignificant|matched|matching|false|missing|missed)
        (?=[^\S\n]))*+
      [^\S\n]++(?:errors?|findings?|instances?|occurrences?|issues?|items?|match(?:es)?|total
        |mistakes?|omissions?|discrepanc(?:y|ies))\b[*_]*+[^\S\n]*+[.:;,]?+
    """,
    re.IGNORECASE | re.VERBOSE,
)

_KINDS = (
    r"(?:[ ](?:clinically|significant|insignificant|non-?significant|such|false|falsely|missing"
    r"|missed|omitted|matched|matching|other|additional|further|notable|major|minor|relevant"
    r"|identified|reported|comparison|location|severity|of|this|type))"
)
_VERBS = r"(?:were|was|are|is|have|has|been|found|identified|noted|detected|observed|present)"

_NOTHING = re.compile(
    rf"""
    [\s*_("'\[]*+
    (?: n/a | nil | not[ ]applicable
      | none (?:[ ]{_VERBS}){{0,3}}
      | none[ ]of[ ]the[ ]findings[ ](?:are[ ])?match(?:ed|es)?
      | nothing (?:[ ](?:to[ ]report|matched|matches))?
      | (?:there[ ](?:are|were|is|was)[ ])?no{_KINDS}{{0,4}}[ ]
        (?: (?:errors?|discrepanc(?:y|ies)|issues?|instances?|mistakes?|omissions?)
            (?:[ ](?:{_VERBS}|reported|made|listed|here|in|of|for|this|the|any|all|six|type
                |candidate|candidate's|report|section|category|categories)){{0,10}}
          | (?:findings?|match(?:es)?) (?:[ ](?:{_VERBS}|match|matched|missed|missing)){{0,3}}
        )
    )
    ["')\]*_]*+
    (?: [.!;,:](?=[\s*)\]"']|$)["')\]*_]*+ | [^\S\n]*+(?=\n) | [^\S\n]++(?=[(\u2013\u2014-]) )
    """,
    re.IGNORECASE | re.VERBOSE,
)

_ABSENT = re.compile(
    r"""
    [\s*_.\-\u2013\u2014(\["']*+
    (?: $ | (?:none|no(?![ ]mention)|nil|n/a|nothing|not[ ]applicable|zero|0
         |there[ ](?:are|were|is|was)[ ]no)(?!\w) )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def read_count(line: str) -> tuple[int, int] | None:
    r"""Return the count that `line` begins with and where it ends; None where there is none.

    A line that is known to be whole ends in `\n`; without it the end of the line proves
    nothing.
    """
    number = _NUMBER.match(line)
    if number:
        word = number[1]
        digits = word[0] in "0123456789"
        if digits and len(word) > _MOST_DIGITS:
            return None
        value = int(word) if digits else _WORDS.get(word.lower())
        if value is not None:
            after = _AFTER_NUMBER.match(line, number.end())
            if after:
                return value, after.end()
            # A lone 0 cannot be the beginning of another count.
            return (0, len(line)) if word == "0" and number.end() == len(line) else None
    nothing = _NOTHING.match(line)
    return (0, nothing.end()) if nothing else None


def states_nothing(line: str) -> bool:
    """Return whether all of `line` says that there is nothing: `None.`, `No errors.`, `0.`."""
    count = read_count(line)
    return count is not None and count[0] == 0 and is_absent(line[count[1] :])


def is_absent(text: str) -> bool:
    """Return whether `text`, beside a count of 0, lists nothing: empty, `None`, `N/A`, `No ...`."""
    return _ABSENT.match(text) is not None
