"""Answers as models write them, drawn by chance, with the counts that they state."""

from __future__ import annotations

import random
from dataclasses import dataclass

from judge.types import Category, Study

LEVELS = ("significant", "insignificant")
TITLES = {
    "explanation": "Explanation",
    "significant": "Clinically Significant Errors",
    "insignificant": "Clinically Insignificant Errors",
    "matched": "Matched Findings",
}
KEYS = [f"{level}_{category.value}" for level in LEVELS for category in Category]
STUDY = Study(
    "s1",
    reference="Small right pleural effusion, unchanged. No pneumothorax. Heart size is normal.",
    candidate="Moderate left pleural effusion. Heart size is normal.",
)

LABELS = [
    {
        "a": "False report of a finding in the candidate",
        "b": "Missing a finding present in the reference",
        "c": "Misidentification of a finding's anatomic location/position",
        "d": "Misassessment of the severity of a finding",
        "e": "Mentioning a comparison that isn't in the reference",
        "f": "Omitting a comparison detailing a change from a prior study",
    },
    {category.value: category.label.capitalize() for category in Category},
]
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
PHRASES = [
    "right pleural effusion not mentioned",
    "nodule of 2.5 cm in the left upper lobe",
    "tube tip 3 cm too low (carina)",
    "cardiomegaly called mild",
    "tip at the 7. rib",
    "heart size is normal.",
    'the word "stable" has no ground',
    "no pneumothorax",
    "T12: old fracture",
    "matched findings are few here",
    "atelectasis at both bases, 1-2 bands",
    "\u00e9panchement pleural",
    "clinically significant errors aside, lungs clear",
]
EXPLANATIONS = [
    "The candidate misses the effusion. Two errors of note; matched findings: 3.",
    "Reports agree.\n\nThe explanation has two paragraphs.",
    "No errors.",
    "There are 4 significant errors, (a) 1. and (b) 2. among them.",
]
HEADINGS = ["[{}]:", "**[{}]:**", "## {}", "**{}:**", "{}:", "### [{}]", "[{}]", "**{}**", "# {}:"]
MARKS = ["({})", "{})", "{}.", "**({})**", "- ({})", "* **{}.**", "({}):"]
ECHO = """Report in this layout:
```
[Explanation]:
<Explanation>

[Clinically Significant Errors]:
(a) <Error Type>: <The number of errors>. <Error 1>; <Error 2>
....
(f) <Error Type>: <The number of errors>. <Error 1>; <Error 2>

[Clinically Insignificant Errors]:
(a) <Error Type>: <The number of errors>. <Error 1>; <Error 2>

[Matched Findings]:
<The number of matched findings>. <Finding 1>; <Finding 2>
```
"""


@dataclass(frozen=True)
class Answer:
    """An answer; `needs_complete` where it takes the judge's word that it had finished."""

    text: str
    stated: dict[str, int]
    explanation: str
    needs_complete: bool


@dataclass
class _Style:
    heading: str
    mark: str
    marks: str
    labels: dict[str, str]
    count: str
    listing: str
    omit_zero: bool
    matched: str


def draw(rng: random.Random, *, plain: bool = False) -> Answer:
    """Return an answer in some style; in the published one where `plain`."""
    stated = {key: rng.choice([0, 0, 0, 0, 1, 2, 3]) for key in KEYS}
    if rng.random() < 0.3:
        stated.update({key: 0 for key in KEYS if key.startswith(rng.choice(LEVELS))})
    stated["matched"] = rng.choice([0, 1, 2, 3, 5, 10, 12])
    style = _style(rng)
    if plain:
        style = _Style("[{}]:", "({})", "abcdef", LABELS[0], "{n}.", "inline", False, "{n}. ")
    order = list(TITLES)
    if not plain and rng.random() < 0.4:
        rng.shuffle(order)
    explanation = rng.choice(EXPLANATIONS)
    if not plain and rng.random() < 0.1:
        order.remove("explanation")
        explanation = ""
    parts = []
    needs_complete = False
    for kind in order:
        last = kind == order[-1]
        heading = style.heading.format(TITLES[kind])
        same_line = heading.endswith(":") and rng.random() < 0.2 and kind == "explanation"
        if kind == "explanation":
            body = explanation
        elif kind == "matched":
            more = order[order.index(kind) + 1 :]
            numbers_safe = bool({"significant", "insignificant"} & set(more))
            body, open_ended = _matched(rng, style, stated["matched"], numbers_safe)
            # "1. x" may be the first entry of a list that was cut.
            open_ended |= stated["matched"] == 1
            needs_complete |= last and open_ended
        else:
            body, open_ended = _errors(rng, style, kind, stated)
            needs_complete |= last and open_ended
        parts.append(f"{heading}{' ' if same_line else chr(10)}{body}")
    text = ("\n\n" if plain or rng.random() < 0.8 else "\n").join(parts)
    if plain:
        return Answer(text, stated, explanation, needs_complete)
    return _dressed(rng, text, stated, explanation, needs_complete)


def _style(rng: random.Random) -> _Style:
    mark, marks = rng.choice(MARKS), rng.choice(["abcdef", "abcdef", "ABCDEF", "123456"])
    return _Style(
        heading=rng.choice(HEADINGS),
        mark=mark,
        marks=marks,
        labels=rng.choice(LABELS),
        count=rng.choice(["{n}.", "{n}.", "**{n}**.", "{n} error(s):", "{w}.", "{n}\n", "({n})"]),
        listing=rng.choice(["inline", "inline", "bullets", "numbers", "uncounted"]),
        omit_zero=rng.random() < 0.3,
        matched=rng.choice(["{n}. ", "{n}. ", "**{n}**. ", "{n} findings: ", "{n}\n", "- ", "1. "]),
    )


def _phrases(rng: random.Random, count: int) -> list[str]:
    return [rng.choice(PHRASES) for _ in range(count)]


def _errors(
    rng: random.Random, style: _Style, kind: str, stated: dict[str, int]
) -> tuple[str, bool]:
    counts = {mark: stated[f"{kind}_{mark}"] for mark in "abcdef"}
    if not any(counts.values()) and (style.omit_zero or rng.random() < 0.2):
        return rng.choice(["No significant errors.", "None.", "No errors were identified."]), False
    lines = []
    # "1. x" may be the first entry of a list that was cut.
    open_ended = counts["f"] == 1
    for at, (letter, count) in enumerate(counts.items()):
        if style.omit_zero and count == 0:
            open_ended = True
            continue
        mark = style.mark.format(style.marks[at])
        if count == 0:
            zero = rng.choice(["0.", "0", "None.", "No errors.", "zero.", "0 errors", "0. None"])
            lines.append(f"{mark} {style.labels[letter]}: {zero}")
            continue
        number = style.count.replace("error(s)", "error" if count == 1 else "errors")
        number = number.format(n=count, w=WORDS[count])
        phrases = _phrases(rng, count)
        label = f"{mark} {style.labels[letter]}"
        if style.listing == "inline" or number.endswith("\n"):
            joined = "; ".join(phrases)
            bullets = "".join(f"- {phrase}\n" for phrase in phrases).rstrip("\n")
            lines.append(
                f"{label}: {number}{bullets if number.endswith(chr(10)) else ' ' + joined}"
            )
        elif style.listing == "bullets":
            lines += [f"{label}: {number}", *(f"  - {phrase}" for phrase in phrases)]
        elif style.listing == "numbers" and style.marks != "123456":
            numbered = [f"   {n}. {phrase}" for n, phrase in enumerate(phrases, start=1)]
            lines += [f"{label}: {number}", *numbered]
        else:
            lines += [f"{label}:", *(f"* {phrase}" for phrase in phrases)]
            open_ended = open_ended or letter == "f"
    return "\n".join(lines), open_ended


def _matched(rng: random.Random, style: _Style, count: int, numbers_safe: bool) -> tuple[str, bool]:
    phrases = _phrases(rng, count)
    if count == 0:
        return rng.choice(["0.", "None.", "No matched findings.", "0"]), False
    if style.matched == "- ":
        return "\n".join(f"- {phrase}" for phrase in phrases), True
    if style.matched == "1. ":
        if numbers_safe and count > 1:
            return "\n".join(f"{n}. {phrase}" for n, phrase in enumerate(phrases, start=1)), True
        return f"{count}. {'; '.join(phrases)}", False
    if style.matched.endswith("\n"):
        return f"{count}\n" + "\n".join(f"- {phrase}" for phrase in phrases), False
    return style.matched.format(n=count) + "; ".join(phrases), False


def _dressed(
    rng: random.Random, text: str, stated: dict[str, int], explanation: str, needs_complete: bool
) -> Answer:
    """Return the answer with what else comes with it: line ends, tokens, a fence, an echo."""
    dress = rng.choice(["", "", "", "token", "fence", "note", "echo", "think", "crlf"])
    if dress == "token":
        text, needs_complete = text + rng.choice(["</s>", "<|im_end|>", "\n<|eot_id|>\n"]), False
    elif dress == "fence":
        text, needs_complete = f"```\n{text}\n```\n", False
    elif dress == "note":
        text = f"Here is the assessment.\n\n{text}"
    elif dress == "echo":
        text = f"{ECHO}{text}"
    elif dress == "think":
        text = f"<think>\nMatched Findings: 7.\nWell.\n</think>\n{text}"
    elif dress == "crlf":
        text = text.replace("\n", "\r\n")
        explanation = explanation.replace("\r\n", "\n")
    return Answer(text, stated, explanation, needs_complete)
