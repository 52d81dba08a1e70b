"""Right answers that a test knows, and wrong ones in which nothing is right."""

from __future__ import annotations

import random
from collections.abc import Callable

from judge.rubrics.categories import KEYS, error_item
from judge.rubrics.crimson.parse import (
    CANDIDATE,
    FALSE,
    LEVELS,
    MISSING,
    REFERENCE,
    match_item,
    unmatched_item,
)
from judge.rubrics.direct import ASPECTS
from judge.rubrics.green.parse import count_name, green_error, matched_item
from judge.types import Annotation, Category, Edit, Item, Side

Annotate = Callable[[str, int], Annotation]
Render = Callable[[Annotation], str]

_LEVELS = ("significant", "insignificant")
_FINDINGS = (
    *(
        "pleural effusion",
        "pneumothorax",
        "consolidation",
        "cardiomegaly",
        "atelectasis",
    ),
    *("pulmonary edema", "rib fracture", "hilar prominence", "interstitial opacity"),
)
_SIDES = ("left", "right", "bilateral")
_SIZES = ("small", "moderate", "large", "trace")
_ERRORS = {
    Category.FALSE_FINDING: "{size} {side} {finding} that the reference does not have",
    Category.MISSING_FINDING: "{size} {side} {finding} is left out",
    Category.WRONG_LOCATION: "{finding} is {side} in the reference",
    Category.WRONG_SEVERITY: "{side} {finding} is {size} in the reference",
    Category.FALSE_COMPARISON: "{side} {finding} called new without a prior",
    Category.OMITTED_COMPARISON: "{side} {finding} has grown since the prior",
}

_CHANGED = (Category.WRONG_LOCATION, Category.WRONG_SEVERITY, Category.FALSE_COMPARISON)
_INSERTED = (Category.MISSING_FINDING, Category.OMITTED_COMPARISON)

REFUSAL = "I am sorry, but I cannot assist with assessing these reports."
"""What a judge that refuses says."""

MALFORMED = (
    "The candidate agrees with the reference in most respects. It is a fair report."
)
"""An answer that is in no rubric's format."""


def annotation_for(key: str, seed: int = 0) -> Annotation:
    """Return the annotation, in the manner of GREEN, that is right for the study `key`."""
    rng = random.Random(f"{seed}/{key}")
    drawn = [
        green_error(level, category, _ERRORS[category].format(**_words(rng)))
        for level, most in zip(_LEVELS, (4, 3), strict=True)
        for category in sorted(rng.choices(tuple(Category), k=rng.randint(0, most)))
    ]
    # No error and no finding stands twice.
    once = dict(
        zip(reversed([each.text for each in drawn]), reversed(drawn), strict=True)
    )
    errors = tuple(each for each in drawn if once[each.text] is each)
    stated = {
        f"{level}_{category.value}": 0 for level in _LEVELS for category in Category
    }
    for each in errors:
        stated[count_name(each)] += 1
    names = (
        "no {side} {finding}".format(**_words(rng)) for _ in range(rng.randint(0, 7))
    )
    matched = tuple(dict.fromkeys(names))
    return Annotation(
        items=(*errors, *map(matched_item, matched)),
        explanation=f"This is about {key}. The candidate was held against the reference.",
        stated_counts={**stated, "matched": len(matched)},
    )


def corrections_for(key: str, seed: int = 0) -> Annotation:
    """Return the annotation, in the manner of FineRadScore, that is right for the study `key`."""
    rng = random.Random(f"{seed}/{key}")
    findings = rng.sample(_FINDINGS, k=rng.randint(0, 3))
    errors = []
    for at, finding in enumerate(findings):
        line = f"{rng.choice(_SIZES)} {rng.choice(_SIDES)} {finding}.".capitalize()
        kinds = [(Edit("insert", None, line), _INSERTED)]
        if at == 0:
            kinds.append((Edit("change", 1, line), _CHANGED))
            kinds.append((Edit("delete", 1, ""), (Category.FALSE_FINDING,)))
        edit, categories = rng.choice(kinds)
        chosen = sorted(rng.sample(categories, k=rng.randint(1, len(categories))))
        comment = f"This is about {key}. The {finding} is not as in the reference."
        severity = f"severity{rng.randint(1, 4)}"
        errors.append(error_item(chosen, "severity", severity, comment, edit))
    return Annotation(tuple(errors))


def counts_for(key: str, seed: int = 0) -> Annotation:
    rng = random.Random(f"{seed}/{key}")
    return Annotation(
        stated_counts={name: rng.choice((0, 0, 1, 2, 3)) for name in KEYS}
    )


def score_for(key: str, seed: int = 0) -> Annotation:
    """Return the score from 0 to 100, with those of some aspects, that is right for the study."""
    rng = random.Random(f"{seed}/{key}")
    aspects = {
        name: float(rng.randint(0, 100)) for name in ASPECTS if rng.random() < 0.6
    }
    values = {"low": 0.0, "high": 100.0, "score": rng.randint(0, 1000) / 10, **aspects}
    return Annotation(
        explanation=f"This is about {key}. It says most of it.", values=values
    )


def findings_for(key: str, seed: int = 0) -> Annotation:
    """Return the annotation, in the manner of CRIMSON, that is right for the study `key`."""
    rng = random.Random(f"{seed}/{key}")
    drawn = rng.sample(_FINDINGS, k=rng.randint(0, 5))
    sides: tuple[tuple[str, Side], ...]
    sides = ((REFERENCE.name, "reference"), (CANDIDATE.name, "candidate"))
    both, missing, false = drawn[:2], drawn[2:3], drawn[3:]
    # An error about a pair needs two findings that are not in the same words.
    words = {"reference": "{} of {}", "candidate": "{} in {}"}
    items = [
        Item(
            kind,
            words[side].format(finding, key),
            {"significance": (rng.choice(LEVELS),)},
            side,
        )
        for (kind, side), own in zip(
            sides, ((*both, *missing), (*both, *false)), strict=True
        )
        for finding in own
    ]
    first = len(both) + len(missing)
    pairs = [(at, first + at) for at in range(len(both))]
    items += [match_item(items, *pair) for pair in pairs]
    items += [
        unmatched_item(items, first + len(both) + at, FALSE) for at in range(len(false))
    ]
    items += [
        unmatched_item(items, len(both) + at, MISSING) for at in range(len(missing))
    ]
    for pair in pairs:
        grade = rng.choice(("negligible", items[pair[0]].label("significance"), None))
        if grade:
            labels = {"error_type": ("severity",), "significance": (grade,)}
            items.append(
                Item("error", f"Of {key}: larger than it is.", labels, links=pair)
            )
    return Annotation(tuple(items))


def _words(rng: random.Random) -> dict[str, str]:
    choices = {"finding": _FINDINGS, "side": _SIDES, "size": _SIZES}
    return {name: rng.choice(words) for name, words in choices.items()}


ANNOTATE: dict[str, Annotate] = {
    "green": annotation_for,
    "fineradscore": corrections_for,
    "counts": counts_for,
    "direct": score_for,
    "crimson": findings_for,
}
"""Each rubric's function from a study's key and a seed to the annotation that is right for it."""
