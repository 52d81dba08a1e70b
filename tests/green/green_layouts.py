"""Answers by construction, with known counts: in the grammar, and each part in other styles.

`PARTS` names the styles of each part of an answer, those of the grammar first, up to the number
that `N_READ` gives. Shared with tests/parity and docs/answers.md's table.
"""

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
    "s1", "Small right pleural effusion. Heart normal.", "Moderate left effusion."
)
PUBLISHED = {
    "a": "False report of a finding in the candidate",
    "b": "Missing a finding present in the reference",
    "c": "Misidentification of a finding's anatomic location/position",
    "d": "Misassessment of the severity of a finding",
    "e": "Mentioning a comparison that isn't in the reference",
    "f": "Omitting a comparison detailing a change from a prior study",
}
SHORT = {category.value: category.label.capitalize() for category in Category}
WORDS = ["zero", "one", "two", "three", "four", "five"]
ITEMS = (
    "right pleural effusion not mentioned",
    "2.5 cm nodule in the left upper lobe",
    "tube tip 3 cm above the carina",
    "cardiomegaly called mild",
    "fracture of the 7th rib (grade 2)",
    "old T12 compression fracture",
    "bibasilar atelectasis (left more than right)",
    "no evidence of new acute pneumonia",
    "no significant interval change",
    "heart size is normal.",
    "T12: old fracture",
    'the word "unchanged"',
)

# Each style is a text with places: n, w the count, items; m the mark's letter.
_OF_GRAMMAR: dict[str, list[str]] = {
    "mark": ["({m})", "**({m})**", "- ({m})", "({d})"],
    "separator": [": ", " : "],
    "count": ["{n}. ", "{w}. ", "**{n}**. "],
    "list": ["semicolons", "bullets", "numbers"],
    "zero": ["0.", "0", "None.", "N/A", "No errors.", "No errors found.", "0. None"],
    "head": ["[{}]:", "**{}:**", "## {}", "### [{}]", "{}:"],
    "label": ["published", "short", "none"],
    "layout": ["lines", "leave out", "reverse"],
    "trail": [""],
    "around": [
        "{}",
        "```\n{}\n```",
        "<think>\nMatched Findings: 7.\n</think>\n{}",
        "{}</s>",
    ],
}
_OTHER: dict[str, list[str]] = {
    "mark": ["{m})", "{u}.", "[{m}]", "{m}.)", "", "({m}", "{d}."],
    "separator": [" - ", " \u2013 ", " \u2192 ", " = ", " "],
    "count": [
        *(
            "({n}) ",
            "[{n}]. ",
            "<{n}>. ",
            "\\boxed{{{n}}}. ",
            "~~9~~ {n}. ",
            "{n} errors. ",
        ),
        *("{n}: ", "{n}) ", "at least {n}. ", "", "{n}/9. ", "0{n}. ", "**1**{n}. "),
    ],
    "list": [
        *(
            "nested",
            "inline numbers",
            "inline brackets",
            "commas",
            "one more",
            "none",
            "struck",
        )
    ],
    "zero": [
        "0 (none)",
        "0. The candidate adds nothing.",
        "-",
        "",
        "0; fine",
        "none that matters",
    ],
    "head": ["{} (2 total):", "{} -", "1. {}"],
    "label": ["other", "number"],
    "layout": ["one line", "table", "twice"],
    "trail": [
        *("\n\nOverall, it is fair.", "\n\nTotal: 2", "\n- Note: done"),
        "\nCorrection: (b) should be 2",
    ],
    "around": ["{}\nDone.", "<think>\n{}", "```\n{}", "{}\n\n{}", "{}<think>"],
}
PARTS = {part: [*styles, *_OTHER[part]] for part, styles in _OF_GRAMMAR.items()}
N_READ = {part: len(styles) for part, styles in _OF_GRAMMAR.items()}


@dataclass(frozen=True)
class Made:
    """An answer and its true counts."""

    text: str
    stated: dict[str, int]


def grammatical(rng: random.Random) -> dict[str, str]:
    """Return a style for each part that the grammar has."""
    return {part: rng.choice(styles[: N_READ[part]]) for part, styles in PARTS.items()}


def made(rng: random.Random, style: dict[str, str]) -> Made:
    """Return an answer of at least one error of each level and one matched finding in a style."""
    stated = {key: rng.choice([0, 0, 1, 2, 3]) for key in KEYS} | {
        "matched": rng.choice([1, 2, 4]),
        f"significant_{rng.choice('abcdef')}": 2,
        f"insignificant_{rng.choice('abcdef')}": 1,
    }
    stated[rng.choice(KEYS[:6])] = 0
    if not any(stated[key] for key in KEYS[:6]):
        stated["significant_a"] = 2
    parts = [
        f"{style['head'].format(TITLES['explanation'])}\nThe reports were compared."
    ]
    for level in LEVELS:
        counts = {letter: stated[f"{level}_{letter}"] for letter in "abcdef"}
        lines = [
            _line(rng, style, letter, count)
            for letter, count in counts.items()
            if count or style["layout"] != "leave out"
        ]
        if style["layout"] == "reverse":
            lines = lines[::-1]
        if style["layout"] == "twice":
            lines += lines[-1:]
        body = (" " if style["layout"] == "one line" else "\n").join(lines)
        parts.append(f"{style['head'].format(TITLES[level])}\n{body}")
    # A style of errors alone leaves the matched findings as the grammar has them.
    matched = _counted(rng, style, stated["matched"])
    parts.append(f"{style['head'].format(TITLES['matched'])}\n{matched}")
    text = "\n\n".join(parts) + style["trail"]
    return Made(style["around"].replace("{}", text), stated)


def _line(rng: random.Random, style: dict[str, str], letter: str, count: int) -> str:
    other = "bcdefa"["abcdef".index(letter)]
    label = {
        "published": PUBLISHED[letter],
        "short": SHORT[letter],
        "none": "",
        "other": SHORT[other],
        "number": f"{SHORT[letter]} ({count})",
    }[style["label"]]
    number = "abcdef".index(letter) + 1
    mark = style["mark"].format(m=letter, u=letter.upper(), d=number)
    head = f"{mark} {label}".strip()
    if style["layout"] == "table":
        return f"| {head} | {count} | {'; '.join(rng.sample(ITEMS, count))} |"
    if count == 0:
        return f"{head}{style['separator']}{style['zero']}"
    return f"{head}{style['separator']}{_counted(rng, style, count)}"


def _counted(rng: random.Random, style: dict[str, str], count: int) -> str:
    # No answer has an item twice: the same words in two lists are a contradiction.
    word = "".join(rng.choices("ghjklmnpqr", k=6))
    items = [f"{item[:-1]}, {word}{item[-1]}" for item in rng.sample(ITEMS, count)]
    stated = style["count"].format(n=count, w=WORDS[count])
    numbered = [f"{n}. {item}" for n, item in enumerate(items, 1)]
    below = {
        "bullets": "".join(f"\n- {item}" for item in items),
        "numbers": "".join(f"\n{item}" for item in numbered),
        "nested": "".join(f"\n- {item}\n  - as the reference has it" for item in items),
        "struck": "".join(f"\n- ~~{item}~~" for item in items),
    }.get(style["list"])
    if below is not None:
        return stated.rstrip() + below
    inline = {
        "semicolons": "; ".join(items),
        "inline numbers": "; ".join(numbered),
        "inline brackets": " ".join(f"({n}) {item}" for n, item in enumerate(items, 1)),
        "commas": ", ".join([*items, "and more"]) + "; all of them",
        "one more": "; ".join([*items, "one"]),
        "none": "",
    }[style["list"]]
    return (stated + inline).strip()
