"""`render` writes what `parse` reads back, for every annotation that the rubric can hold."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from green_answers import KEYS, STUDY, draw
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.rubrics.green import RUBRIC
from judge.rubrics.green.layout import (
    DIFFERS,
    INLINE,
    NOT_LISTED,
    fits_explanation,
    fits_list,
    remarks_on,
    tidy,
)
from judge.types import Annotation, Category, Comparison, Discrepancy, Edit, Error

NASTY = [
    "(a)",
    "(b) Missing finding",
    "2.5 cm",
    "2.",
    "1.",
    ": 2",
    "3",
    "None.",
    "No errors.",
    "0.",
    "...",
    '"stable"',
    "[Matched Findings]:",
    "[Explanation]",
    "## Matched Findings",
    "Clinically Significant Errors:",
    "matched findings",
    "<count>",
    "(count)",
    "- dash",
    "1) one",
    "```",
    "T12:",
    "___",
    "\u00e9\u2028\u00a0",
    "\x1c",
    "\ud83e\udec1",
    "\\",
    "$mark",
    "*",
    "two errors",
    "Note:",
    "I'm sorry",
]
words = st.one_of(st.sampled_from(NASTY), st.text(max_size=12))
lines = st.lists(words, min_size=1, max_size=5).map(" ".join)
entries = lines.map(lambda text: tidy(text.replace(";", ","))).filter(fits_list)
error_texts = entries.filter(lambda text: not INLINE.search(text))
explanations = st.one_of(
    st.just(""), st.lists(lines, max_size=4).map("\n".join).map(str.strip).filter(fits_explanation)
)


@st.composite
def annotations(draw: st.DrawFn) -> Annotation:
    """Any annotation in normal form: counts with or without lists, categories left out."""
    stated, errors, not_listed = {}, [], set()
    for level in ("significant", "insignificant"):
        left_out = draw(st.sets(st.sampled_from(list(Category)), max_size=5))
        for category in Category:
            key = f"{level}_{category.value}"
            texts = draw(st.lists(error_texts, max_size=3))
            stated[key] = 0
            if category in left_out:
                not_listed.add(key)
            elif texts or draw(st.booleans()):
                stated[key] = draw(st.one_of(st.just(len(texts) or 1), st.integers(1, 9999)))
                errors += [Error((category,), level, text) for text in texts]
    matched = draw(st.lists(entries, max_size=4))
    stated["matched"] = len(matched) if draw(st.booleans()) else draw(st.integers(1, 9999))
    return Annotation(
        errors=tuple(errors),
        matched=tuple(matched),
        explanation=draw(explanations),
        stated=stated,
        remarks=remarks_on(stated, errors, matched, frozenset(not_listed)),
    )


@settings(max_examples=400)
@given(annotations())
def test_parse_reads_back_what_render_writes(annotation: Annotation) -> None:
    text = RUBRIC.render(annotation)
    assert RUBRIC.parse(text, STUDY) == annotation
    assert RUBRIC.parse(text, STUDY, complete=True) == annotation


def test_what_was_parsed_renders_to_the_same_annotation() -> None:
    rng = random.Random(5)
    for _ in range(500):
        answer = draw(rng)
        once = RUBRIC.parse(answer.text, STUDY, complete=answer.needs_complete)
        assert RUBRIC.parse(RUBRIC.render(once), STUDY) == once


discrepancies = st.builds(
    Discrepancy,
    category=st.sampled_from(list(Category)),
    severity=st.sampled_from([1, 2, 3, 4]),
    finding=lines,
    text=lines,
)
comparisons = st.builds(
    Comparison,
    discrepancies=st.lists(discrepancies, max_size=6).map(tuple),
    matched=st.lists(lines, max_size=5).map(tuple),
    explanation=st.lists(lines, max_size=4).map("\n".join),
)


@settings(max_examples=300)
@given(comparisons)
def test_whatever_rules_find_can_be_rendered(comparison: Comparison) -> None:
    annotation = RUBRIC.from_comparison(comparison, STUDY)
    assert RUBRIC.parse(RUBRIC.render(annotation), STUDY) == annotation
    counts = RUBRIC.score(annotation, STUDY)
    significant = sum(found.severity >= 2 for found in comparison.discrepancies)
    assert counts.n_significant == significant
    assert counts.n_insignificant == len(comparison.discrepancies) - significant
    assert counts.n_matched == len(comparison.matched)
    assert annotation.remarks == ()


def test_plain_comparison_keeps_its_words() -> None:
    comparison = Comparison(
        discrepancies=(
            Discrepancy(Category.WRONG_SEVERITY, 1, "effusion", "small; reference: moderate"),
            Discrepancy(Category.MISSING_FINDING, 3, "nodule", "nodule of 2.5 cm\nnot mentioned"),
        ),
        matched=("heart size normal",),
        explanation="Two findings differ.",
    )
    annotation = RUBRIC.from_comparison(comparison, STUDY)
    assert annotation.errors == (
        Error((Category.MISSING_FINDING,), "significant", "nodule of 2.5 cm not mentioned"),
        Error((Category.WRONG_SEVERITY,), "insignificant", "small, reference: moderate"),
    )
    assert annotation.matched == ("heart size normal",)
    assert annotation.explanation == "Two findings differ."
    assert {key for key, count in annotation.stated.items() if count} == {
        "significant_b",
        "insignificant_d",
        "matched",
    }


def _good() -> Annotation:
    errors = (
        Error((Category.MISSING_FINDING,), "significant", "effusion"),
        Error((Category.WRONG_LOCATION,), "insignificant", "tip"),
    )
    stated = dict.fromkeys([*KEYS, "matched"], 0) | {
        "significant_b": 1,
        "insignificant_c": 1,
        "matched": 1,
    }
    return Annotation(errors, ("heart",), "Words.", stated)


def _error(**changes: object) -> dict[str, object]:
    return {"errors": (replace(_good().errors[0], **changes), _good().errors[1])}


@pytest.mark.parametrize(
    "changes",
    [
        {"stated": {}},
        {"stated": _good().stated | {"further": 1}},
        {"stated": _good().stated | {"significant_b": -1}},
        {"stated": _good().stated | {"significant_b": 10_000}},
        {"stated": _good().stated | {"significant_b": 0}},
        {"stated": _good().stated | {"matched": 0}},
        {"stated": _good().stated | {"significant_a": 1}},
        {"errors": _good().errors[::-1]},
        {"explanation": "Words.\n[Matched Findings]:\n9."},
        {"explanation": " Words."},
        {"explanation": "<Explanation>"},
        {"explanation": "one\r\ntwo"},
        {"explanation": "ends here</s>"},
        {"matched": ("",)},
        {"matched": ("one; two",)},
        {"remarks": ("odd",)},
        {"remarks": (NOT_LISTED + "significant_b",)},
        {"remarks": (DIFFERS + "matched",)},
        {"remarks": tuple(NOT_LISTED + f"insignificant_{mark}" for mark in "abdef")},
        _error(text=""),
        _error(text="one; two"),
        _error(text="one\ntwo"),
        _error(text=" one"),
        _error(text="**one**"),
        _error(text="one</s>"),
        _error(text="one (c) Wrong location: 2. two"),
        _error(level="grave"),
        _error(categories=()),
        _error(categories=(Category.MISSING_FINDING, Category.WRONG_LOCATION)),
        _error(edit=Edit("delete", 0, "")),
    ],
    ids=str,
)
def test_what_cannot_be_read_back_is_not_rendered(changes: dict[str, object]) -> None:
    assert RUBRIC.parse(RUBRIC.render(_good()), STUDY) == _good()
    annotation = replace(_good(), **changes)
    if "remarks" in changes and len(changes["remarks"]) == 5:
        # Five of six left out is fine; so the sixth must be what makes the difference.
        assert RUBRIC.parse(RUBRIC.render(annotation), STUDY) == annotation
        stated = annotation.stated | {"insignificant_c": 0}
        remarks = tuple(NOT_LISTED + f"insignificant_{mark}" for mark in "abcdef")
        annotation = replace(
            annotation, errors=annotation.errors[:1], stated=stated, remarks=remarks
        )
    with pytest.raises(ValueError, match=r"."):
        RUBRIC.render(annotation)
