"""Replies made of forms with a known truth: what is read is the truth, or nothing is.

Every reply is drawn from ways to write each part that a person reads without doubt. Mutants
say something else, or cannot be read by a person either; they are never read as another
number than theirs.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from judge import rubrics
from judge.rubrics.category_names import category_of
from judge.rubrics.fineradscore.wording import edit_of, line_of, severity_of
from judge.types import Annotation, Study, UnparsedError

RUBRIC = rubrics.load("fineradscore")
LINES = [
    "Large right pleural effusion.",
    "Heart is mildly enlarged.",
    "There is a nodule.",
    "Stable.",
]
STUDY = Study("s", "Small left effusion. No change. Heart size is normal.", " ".join(LINES))
N = 4000

SEVERITIES = {
    1: ("not actionable", "Non-actionable", "NotActionable", "Not actionable error"),
    2: ("actionable but not urgent", "Actionable nonurgent error", "non-urgent, actionable"),
    3: ("urgent", "Urgent error", "urgent but not emergent", "actionable and urgent"),
    4: ("emergent", "EMERGENT", "Emergent error"),
}
AROUND: tuple[Callable[[int, str], object], ...] = (
    lambda n, _: n,
    lambda n, _: float(n),
    lambda n, _: str(n),
    lambda n, _: f"{n}.0",
    lambda n, _: f"{n}/4",
    lambda n, _: f"{n} out of 4",
    lambda n, _: f"Level {n}",
    lambda n, _: f"severity_{n}",
    lambda n, _: f"**{n}**",
    lambda _, name: name,
    lambda n, name: f"{n} {name}",
    lambda n, name: f"Severity {n}: {name}",
    lambda n, name: f"{n} - {name}",
    lambda n, name: f"{name} ({n})",
    lambda n, name: f"Level {n} ({name})",
)
CATEGORIES = {
    "a": ("false finding", "False prediction of finding", "FALSE_FINDING"),
    "b": ("missing finding", "Omission of finding", "Missing a finding present in the reference"),
    "c": ("wrong location", "Incorrect location/position of finding", "wrong_location"),
    "d": ("wrong severity", "Incorrect severity of finding"),
    "e": ("comparison not in the reference", "false comparison"),
    "f": ("omitted comparison", "Omission of comparison"),
}
MARKS: tuple[Callable[[str, str], str], ...] = (
    lambda letter, _: letter,
    lambda letter, _: letter.upper(),
    lambda letter, _: f"({letter})",
    lambda letter, _: f"[{letter}]",
    lambda letter, _: f"{letter})",
    lambda letter, _: f"Category {letter}",
    lambda _, name: name,
    lambda letter, name: f"({letter}) {name}",
    lambda letter, name: f"{letter}: {name}",
)
EDITS = {
    "change": ("change", "Change", "replace", "replaced", "modify", "substitution", "rewrite line"),
    "delete": ("delete", "DELETE", "remove", "removal", "delete the line"),
    "insert": ("insert", "add", "Insertion", "addition", "insert new line"),
}
ON_A_LINE: tuple[Callable[[int], object], ...] = (
    *(int, float, str, lambda n: f"[{n}]", lambda n: f"line {n}", lambda n: f"Line {n}:"),
    *(lambda n: f"#{n}", lambda n: [n], lambda n: f"({n})", lambda n: f"{n}."),
)
AT_THE_END = (None, "null", "None", "end", "END", "", "end of the report", "N/A")
NO_TEXT = ("", None, "[delete]", "Deleted", "itself")
BESIDE: tuple[dict[str, object], ...] = (
    {},
    {"confidence": 0.9},
    {"original": LINES[0]},
    {"reason": "Seen.", "id": 7},
)
WRAPPED: dict[str, Callable[[str], str]] = {
    "bare": lambda text: text,
    "fence": lambda text: f"```json\n{text}\n```",
    "prose": lambda text: f"Here are the corrections:\n\n{text}\n\nThese are all.",
    "fence in prose": lambda text: f"The answer:\n```\n{text}\n```\nLine [1] is right.",
    "thought": lambda text: f"<think>An empty list []?</think>\n{text}",
}


@dataclass(frozen=True)
class Reply:
    """A reply, how it is written, and what it says: a line, edit, text, severity, categories."""

    text: str
    styles: tuple[str, ...]
    truth: tuple[tuple[object, ...], ...]


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def indented(value: object) -> str:
    return json.dumps(value, indent=1)


def trailing(value: object) -> str:
    return re.sub(r"(?<=[\w\"\]}])\n(\s*[\]}])", r",\n\1", json.dumps(value, indent=1))


def unquoted(value: object) -> str:
    return re.sub(r"\"(\w+)\":", r"\1:", json.dumps(value))


WRITTEN: dict[str, Callable[[object], str]] = {
    "json": as_json,
    "indented": indented,
    "trailing commas": trailing,
    "python": repr,
    "keys without quotes": unquoted,
}


def reply(rng: random.Random, least: int = 0) -> Reply:
    truth, entries = [], []
    edits: list[tuple[str, int | None]] = [
        (rng.choice(("change", "delete")), at)
        for at in sorted(rng.sample(range(len(LINES)), rng.randrange(3)))
    ]
    edits += [
        ("insert", rng.choice((None, 0, 2, len(LINES)))) for _ in range(rng.randrange(least, 3))
    ]
    for number, (edit, line) in enumerate(edits):
        text = "" if edit == "delete" else f'New statement {number} of "{edit}", the patient\'s.'
        if edit == "insert" and not truth and rng.random() < 0.2:
            text = "No change."
        severity, letters = (
            rng.choice((1, 2, 3, 4)),
            sorted(rng.sample("abcdef", rng.choice((1, 1, 2)))),
        )
        truth.append((line, edit, text, severity, "".join(letters)))
        entry: dict[str, Any] = {
            "line": rng.choice(AT_THE_END) if line is None else rng.choice(ON_A_LINE)(line),
            "edit": rng.choice(EDITS[edit]),
            "corrected": text,
            "severity": rng.choice(AROUND)(severity, rng.choice(SEVERITIES[severity])),
            "categories": categories(rng, letters),
            **rng.choice(BESIDE),
        }
        if edit == "delete":
            assert line is not None
            told = rng.choice(NO_TEXT)
            entry["corrected"] = LINES[line] if told == "itself" else told
        if rng.random() < 0.7:
            entry["comment"] = rng.choice(("It's so, {a} [b].", "", None))
        entries.append(entry)
    whole: object = {
        "corrections": entries,
        **rng.choice(({}, {"summary": "Two."}, {"n": len(entries)})),
    }
    if entries and rng.random() < 0.2:
        whole = entries
    form, wrap = rng.choice(list(WRITTEN)), rng.choice(list(WRAPPED))
    return Reply(WRAPPED[wrap](WRITTEN[form](whole)), (form, wrap), tuple(truth))


def categories(rng: random.Random, letters: Sequence[str]) -> object:
    mark = rng.choice(MARKS)
    named = [mark(letter, rng.choice(CATEGORIES[letter])) for letter in letters]
    return rng.choice((named, ", ".join(named), " and ".join(named)))


def told(annotation: Annotation) -> tuple[tuple[object, ...], ...]:
    return tuple(
        (
            *(error.edit.line, error.edit.kind, error.edit.corrected),
            *(int(error.label("severity")[-1]), "".join(error.labels["category"])),
        )
        for error in annotation.items
        if error.edit
    )


def read(text: str) -> tuple[tuple[object, ...], ...] | str:
    try:
        return told(RUBRIC.parse(text, STUDY))
    except UnparsedError as error:
        return str(error)


def test_every_form_is_read_as_what_it_says() -> None:
    rng = random.Random(12)
    seen: Counter[str] = Counter()
    for _ in range(N):
        one = reply(rng)
        assert read(one.text) == one.truth, one.text
        seen.update(one.styles)
    assert min(seen[style] for style in (*WRITTEN, *WRAPPED)) > N / 10


MUTATIONS: tuple[Callable[[random.Random, str], str], ...] = (
    lambda rng, text: text[: rng.randrange(len(text))],
    lambda rng, text: text[rng.randrange(1, len(text)) :],
    lambda _, text: text + text,
    lambda _, text: text.replace("}, {", "} {").replace("},\n", "}\n"),
    lambda _, text: text.replace(", ", ",, "),
    lambda rng, text: _without(rng, text, "\"'"),
    lambda rng, text: _without(rng, text, "[]{}()"),
    lambda rng, text: _without(rng, text, ",:"),
)


def _without(rng: random.Random, text: str, chars: str) -> str:
    places = [at for at, char in enumerate(text) if char in chars]
    at = rng.choice(places)
    return text[:at] + text[at + 1 :]


@pytest.mark.parametrize("number", range(len(MUTATIONS)))
def test_a_damaged_reply_is_never_read_as_another(number: int) -> None:
    """Texts may lose a letter or a line end; edits, severities and categories stay theirs."""
    rng = random.Random(number)
    refused = 0
    for _ in range(N // 8):
        one = reply(rng, least=1)
        found = read(MUTATIONS[number](rng, one.text))
        if isinstance(found, str):
            refused += 1
            continue
        without_text = [(line, edit, *rest) for line, edit, _, *rest in found]
        assert without_text == [(line, edit, *rest) for line, edit, _, *rest in one.truth], one.text
    assert refused > 0


@pytest.mark.parametrize(
    "value",
    [
        *(True, None, [], [2], 0, 5, 2.5, -1, "0", "5", "2.5", "-2", "- 2 or so", ".2", "02"),
        *("2 or 3", "2-3", "2/3", "3/5", "4 of 5", "1,2", "2?", "~2", "<3", ">2", "3+", "2;3"),
        *("actionable", "not urgent", "non-emergent", "urgent or emergent", "urgent/emergent"),
        *("not actionable but urgent", "not not actionable", "not non-actionable", "un-urgent"),
        *("severe", "high", "moderate", "critical", "no error", "Error", "level", "n/a", ""),
        *("3 not actionable", "urgent 2", "Emergent / 3", "Level 2: level 3", "\u0663", "III"),
        "urgent " * 40,
    ],
)
def test_what_could_be_another_severity_is_none(value: object) -> None:
    assert severity_of(value) is None


@pytest.mark.parametrize(
    "value",
    [
        *(True, None, 0, 7, 1.0, "", "g", "0", "7", "a-d", "a or b", "ab", "finding", "location"),
        *("a missing finding", "b false finding", "(a) b", "omission", "incorrect location 1"),
        *("not a false finding", "false finding?", "a" * 200),
    ],
)
def test_what_is_no_category_is_none(value: object) -> None:
    assert category_of(value) is None


@pytest.mark.parametrize(
    "value",
    [True, "-1", "1-2", "1, 2", [1, 2], [], "1 of 3", "?", "-", "last", "after line 2", "one", {}],
)
def test_what_is_no_line_is_none(value: object) -> None:
    with pytest.raises(ValueError, match="no line number"):
        line_of(value)


@pytest.mark.parametrize("value", ["", None, 1, "none", "no change", "keep", "change or delete"])
def test_what_is_no_edit_is_none(value: object) -> None:
    assert edit_of(value) is None


def original(rng: random.Random) -> Reply:
    """A reply in the original's form: a key a line, "None" for what is missing."""
    truth, pairs = [], []
    for number, line in enumerate((*sorted(rng.sample(range(len(LINES)), 2)), None, None)):
        severity, letter = rng.choice((1, 2, 3, 4)), rng.choice("abcdef")
        is_deletion = line is not None and rng.random() < 0.4
        text = "" if is_deletion else f"New statement {number}."
        edit = "insert" if line is None else "delete" if is_deletion else "change"
        truth.append((line, edit, text, severity, letter))
        entry: dict[str, object] = {
            rng.choice(("corrections", "Correction")): text or rng.choice(("[delete]", "Deleted")),
            rng.choice(("clinical severity", "severity", "Clinical_Severity")): rng.choice(AROUND)(
                severity, rng.choice(SEVERITIES[severity])
            ),
            rng.choice(("error category", "categories")): rng.choice(CATEGORIES[letter]),
        }
        if rng.random() < 0.5:
            entry["comments"] = "Why."
        key = "None" if line is None else rng.choice((str, "[{}]".format, "Line {}".format))(line)
        pairs.append(f"{json.dumps(key)}: {json.dumps(entry)}")
    return Reply(f"{{{', '.join(pairs)}}}", (), tuple(truth))


def test_the_form_of_the_original_is_read_as_what_it_says() -> None:
    rng = random.Random(3)
    for _ in range(N // 4):
        one = original(rng)
        assert read(one.text) == one.truth, one.text


def test_python_keys_of_the_original_are_read() -> None:
    entry = {"corrections": "New.", "clinical severity": "urgent", "error category": "a"}
    assert read(repr({1: entry, None: entry | {"corrections": "More."}})) == (
        (1, "change", "New.", 3, "a"),
        (None, "insert", "More.", 3, "a"),
    )
