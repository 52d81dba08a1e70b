"""One-word changes of a report, each with the category of the one error that it makes."""

import re
from collections.abc import Iterator

from judge.backends.lexicon.mentions import read
from judge.sentences import sentences

SIDES = {"left": "right", "right": "left"}
PLACES = {
    "upper lobe": "lower lobe",
    "lower lobe": "upper lobe",
    "base": "apex",
    "apex": "base",
    "basilar": "apical",
    "apical": "basilar",
}
LEVELS = {
    "mild": "severe",
    "mildly": "severely",
    "minimal": "severe",
    "small": "large",
    "slight": "marked",
    "large": "small",
    "severe": "mild",
    "marked": "mild",
}
CHANGES = {
    "improved": "worsened",
    "increased": "decreased",
    "unchanged": "worsened",
    "stable": "worsening",
    "persistent": "new",
}
DROPPED = {"unchanged": "", "stable": "", "persistent": "", "again": ""}
DENIALS = re.compile(
    r"(there (?:is|are) no(?: evidence of)?|no evidence of|negative for|no)\s+(?!evidence)(.+)",
    re.I | re.S,
)
ASSERTIONS = re.compile(r"(there (?:is|are))\s+(?:an?\s+)?(?!no\b)(.+)", re.I | re.S)
# "Right greater than left" has no other side.
COMPARED = re.compile(r"\b(?:greater|more|worse|larger) than\b", re.I)


def mutations(text, lexicon) -> Iterator[tuple[str, str, str, str]]:
    """Yield (kind, category, reference, candidate) for one changed word of `text`."""
    for start, end in sentences(text):
        sentence = text[start:end]
        said = read(sentence, lexicon)
        whole = _Whole(text, start, end)
        present = [one for one in said if one.positive]
        yield from _swaps(whole, present)
        denied = [one for one in said if one.finding and not one.present and not one.changes]
        if len(denied) == 1 and not present and (found := DENIALS.match(sentence)):
            begin = "There is " if found.group(1).lower().startswith("there") else ""
            asserted = whole.replaced(begin + found.group(2))
            yield "assert", "a", text, asserted
            yield "deny", "b", asserted, text
        if len(present) == 1 and not denied and (found := ASSERTIONS.match(sentence)):
            denial = whole.replaced(f"There is no {found.group(2)}")
            yield "deny", "b", text, denial
            yield "assert", "a", denial, text


class _Whole:
    """A text with one sentence in it that can be replaced."""

    def __init__(self, text, start, end):
        self.text, self.start, self.end = text, start, end
        self.sentence = text[start:end]

    def replaced(self, sentence):
        tidy = " ".join(sentence.split())
        return self.text[: self.start] + tidy[:1].upper() + tidy[1:] + self.text[self.end :]


def _swaps(whole, present):
    tables = [
        ("side", "c", SIDES, "sides"),
        ("place", "c", PLACES, "places"),
        ("severity", "d", LEVELS, "levels"),
        ("change", "e", CHANGES, "changes"),
        ("dropped change", "f", DROPPED, "changes"),
    ]
    for kind, category, table, attribute in tables:
        for old, new in table.items():
            for found in re.finditer(rf"\b{old}\b", whole.sentence, re.I):
                if not any(
                    getattr(one, attribute) and re.search(rf"\b{old}\b", one.words, re.I)
                    for one in present
                ):
                    continue
                if kind == "side" and COMPARED.search(whole.sentence):
                    continue
                sentence = whole.sentence
                changed = whole.replaced(sentence[: found.start()] + new + sentence[found.end() :])
                yield kind, category, whole.text, changed
                if not new:
                    yield "added change", "e", changed, whole.text
