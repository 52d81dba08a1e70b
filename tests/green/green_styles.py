"""Answers by construction: every style of mark, count, list and layout, with known counts.

Nothing here is an example that a parser was written after: a style is a product of parts,
each of which a person reads without doubt.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from green_answers import KEYS, LABELS, LEVELS, TITLES, WORDS

ITEMS = (
    "right pleural effusion not mentioned",
    "2.5 cm nodule in the left upper lobe",
    "tube tip 3 cm above the carina",
    "cardiomegaly called mild",
    "fracture of the 7th rib",
    "old T12 compression fracture",
    "bibasilar atelectasis (left more than right)",
    "left PICC, tip in the SVC",
    "no pneumothorax",
    "heart size normal",
    "hilar mass",
    "interstitial edema",
)

MARKS: dict[str, Callable[[str], str]] = {
    "(a)": lambda m: f"({m})",
    "a)": lambda m: f"{m})",
    "A.": lambda m: f"{m.upper()}.",
    "[a]": lambda m: f"[{m}]",
    "**(a)**": lambda m: f"**({m})**",
    "- (a)": lambda m: f"- ({m})",
    "(1)": lambda m: f"({'abcdef'.index(m) + 1})",
    "a.)": lambda m: f"{m}.)",
    "none": lambda _: "",
}
SEPARATORS = {
    ":": ": ",
    " - ": " - ",
    " -- ": " \u2013 ",
    " :": " : ",
    "arrow": " \u2192 ",
    "=": " = ",
}
COUNTS: dict[str, Callable[[int], str]] = {
    "2.": lambda n: f"{n}.",
    "2": str,
    "**2**.": lambda n: f"**{n}**.",
    "two.": lambda n: f"{WORDS[n]}.",
    "Two": lambda n: WORDS[n].capitalize(),
    "(2)": lambda n: f"({n})",
    "[2].": lambda n: f"[{n}].",
    "<2>.": lambda n: f"<{n}>.",
    "boxed": lambda n: f"\\boxed{{{n}}}.",
    "wide": lambda n: f"{chr(0xFF10 + n)}\uff0e",
    "struck": lambda n: f"~~{n + 1}~~ {n}.",
    "2 errors": lambda n: f"{n} error{'s' * (n != 1)}.",
}
LISTS: dict[str, Callable[[list[str]], str]] = {
    "semicolons": lambda items: f" {'; '.join(items)}",
    "brackets": lambda items: f" ({'; '.join(items)})",
    "bullets": lambda items: "".join(f"\n  - {item}" for item in items),
    "numbers": lambda items: "".join(f"\n   {n}. {i}" for n, i in enumerate(items, 1)),
    "nested": lambda items: "".join(
        f"\n  {n}. {i}\n     - Reference: as stated\n     - Candidate: not stated"
        for n, i in enumerate(items, 1)
    ),
    "nothing": lambda _: "",
}
# How an error or a matched list may stand without a count before it.
UNCOUNTED: dict[str, Callable[[list[str]], str]] = {
    "1. x; 2. y": lambda items: " " + "; ".join(f"{n}. {i}" for n, i in enumerate(items, 1)),
    "1) x; 2) y": lambda items: " " + "; ".join(f"{n}) {i}" for n, i in enumerate(items, 1)),
    "(1) x, (2) y": lambda items: " " + ", ".join(f"({n}) {i}" for n, i in enumerate(items, 1)),
    "1. x / 2. y": lambda items: " " + "\n".join(f"{n}. {i}" for n, i in enumerate(items, 1)),
    "bullets": lambda items: "".join(f"\n- {item}" for item in items),
    "numbers": lambda items: "".join(f"\n{n}. {i}" for n, i in enumerate(items, 1)),
}
ZEROS = {
    "0.": "0.",
    "0": "0",
    "none": "None.",
    "n/a": "N/A",
    "no errors": "No errors.",
    "0. None": "0. None",
    "0 (none)": "0 (none)",
    "comment any": "0. The candidate does not report any finding that is not in the reference.",
    "comment supported": "0. All findings are supported.",
    "comment not present": "0. Not present",
    "none; matches": "None; the candidate matches",
    "comment agree": "0. Both reports agree on this.",
}
TRAILS = {
    "": "",
    "assessment": "\n\nOverall, the candidate is a fair report.",
    "justification": "\n\nJustification:\n- the first point was weighed\n- so was the second",
    "score": "\n\nGREEN score: 0.75",
    "total": "\n\nTotal: {n}",
}
LAYOUTS = ("lines", "one line", "leave out", "table")
HEADS = ("[{}]:", "**{}:**", "## {}", "{} ({n} total):", "### [{}]", "{}:")


@dataclass(frozen=True)
class Styled:
    """An answer, its true counts, and the name of each part of its style."""

    text: str
    stated: dict[str, int]
    style: dict[str, str]


def styled(rng: random.Random) -> Styled:
    """Return an answer in a style drawn from all of them, whose counts a person is sure of."""
    stated = {key: rng.choice([0, 0, 0, 1, 2, 3]) for key in KEYS}
    stated["matched"] = rng.choice([0, 1, 2, 3, 4])
    style = {
        "mark": rng.choice(list(MARKS)),
        "separator": rng.choice(list(SEPARATORS)),
        "count": rng.choice(list(COUNTS)),
        "list": rng.choice([*LISTS, *(f"uncounted {name}" for name in UNCOUNTED)]),
        "zero": rng.choice(list(ZEROS)),
        "trail": rng.choice(list(TRAILS)),
        "layout": rng.choice(LAYOUTS),
        "head": rng.choice(HEADS),
        "label": rng.choice(["published", "short", "no label"]),
    }
    _make_sensible(style)
    parts = []
    for kind, title in TITLES.items():
        if kind == "explanation":
            head, body, total = style["head"], "The reports were compared.", 0
            parts.append(f"{head.replace(' ({n} total)', '').format(title)}\n{body}")
            continue
        if kind == "matched":
            total = stated["matched"]
            body = _matched(rng, style, total).lstrip()
        else:
            total = sum(n for key, n in stated.items() if key.startswith(f"{kind}_"))
            body = _errors(rng, style, kind, stated)
        trail = TRAILS[style["trail"]].format(n=total)
        parts.append(f"{style['head'].format(title, n=total)}\n{body}{trail}")
    return Styled("\n\n".join(parts), stated, style)


def _make_sensible(style: dict[str, str]) -> None:
    """Take out combinations that a person could not read with certainty either."""
    if style["mark"] in ("none", "(1)") and style["label"] == "no label":
        style["label"] = "short"
    if style["layout"] in ("one line", "table") and style["list"] not in ("semicolons", "nothing"):
        style["list"] = "semicolons"
    if style["layout"] == "table":
        style["count"], style["separator"] = "2.", ":"
    if style["count"] in ("2", "Two") and style["list"] in ("semicolons", "bullets"):
        style["list"] = "brackets"
    if style["mark"] == "none" and style["layout"] == "one line":
        style["layout"] = "lines"
    if style["list"] == "numbers" and style["mark"] == "(1)":
        style["list"] = "bullets"


def _label(style: dict[str, str], letter: str) -> str:
    mark = MARKS[style["mark"]](letter)
    label = {"published": LABELS[0], "short": LABELS[1]}.get(style["label"], {}).get(letter, "")
    return f"{mark} {label}".strip()


def _errors(rng: random.Random, style: dict[str, str], kind: str, stated: dict[str, int]) -> str:
    assert kind in LEVELS
    lines = []
    for letter in "abcdef":
        count = stated[f"{kind}_{letter}"]
        items = rng.sample(ITEMS, count)
        label = _label(style, letter)
        separator = SEPARATORS[style["separator"]]
        if style["layout"] == "table":
            joined = "; ".join(items) if items else "-"
            lines.append(f"| {label} | {count} | {joined} |")
        elif count == 0:
            if style["layout"] != "leave out":
                lines.append(f"{label}{separator}{ZEROS[style['zero']]}")
        elif style["list"].startswith("uncounted "):
            listing = UNCOUNTED[style["list"].removeprefix("uncounted ")](items)
            lines.append(f"{label}{separator.rstrip()}{listing}")
        else:
            listing = LISTS[style["list"]](items)
            lines.append(f"{label}{separator}{COUNTS[style['count']](count)}{listing}")
    if style["layout"] == "table":
        return "\n".join(["| Category | Count | Errors |", "|---|---|---|", *lines])
    if not lines:
        return "No errors."
    return (" " if style["layout"] == "one line" else "\n").join(lines)


def _matched(rng: random.Random, style: dict[str, str], count: int) -> str:
    items = rng.sample(ITEMS, count)
    if count == 0:
        return rng.choice(["0.", "None.", "No matched findings.", "1. None", "0. None"])
    if style["list"].startswith("uncounted "):
        return UNCOUNTED[style["list"].removeprefix("uncounted ")](items)
    if style["list"] == "nothing" and style["count"] == "2 errors":
        return f"{count} findings"
    number = COUNTS[style["count"]](count).replace("error", "finding")
    return f"{number}{LISTS[style['list']](items)}"


def mutated(rng: random.Random, text: str) -> str:
    """Return `text` as another hand would have typed it: the counts are the same."""
    change = rng.choice(["blank", "join", "digits", "spaces", "crlf", "bold", "dash"])
    lines = text.split("\n")
    if change == "blank":
        blanks = [at for at, line in enumerate(lines) if not line]
        del lines[rng.choice(blanks)]
        return "\n".join(lines)
    if change == "join":
        at = rng.randrange(len(lines) - 1)
        return "\n".join([*lines[:at], f"{lines[at]} {lines[at + 1]}", *lines[at + 2 :]])
    if change == "digits":
        n = rng.randrange(1, 6)
        return text.replace(f": {n}. ", f": {WORDS[n]}. ")
    if change == "spaces":
        return text.replace(". ", ".  ").replace("\n", " \n")
    if change == "dash":
        at = rng.randrange(len(lines))
        lines[at] = lines[at].replace(": ", " - ", 1)
        return "\n".join(lines)
    if change == "crlf":
        return text.replace("\n", "\r\n")
    at = rng.randrange(len(lines))
    lines[at] = f"**{lines[at]}**" if lines[at].strip() else lines[at]
    return "\n".join(lines)
