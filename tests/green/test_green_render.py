"""`render` writes what `parse` reads back, for every annotation that the layout can hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from green_layouts import KEYS, STUDY
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.rubrics.derived import for_prompt
from judge.rubrics.green import RUBRIC
from judge.rubrics.green.parse import (
    NOT_LISTED,
    green_error,
    matched_item,
    warnings_on,
    with_contradictions,
)
from judge.types import (
    Annotation,
    Category,
    Discrepancy,
    ReportComparison,
    UnparsedError,
)

FAITHFUL = for_prompt(RUBRIC, "green-official", "hf:StanfordAIMI/GREEN-radllama2-7b@1")
NASTY = (
    *(
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
    ),
    *(
        "...",
        '"stable"',
        "[Matched Findings]:",
        "[Explanation]",
        "## Matched Findings",
        "- dash",
    ),
    *(
        "Clinically Significant Errors:",
        "matched findings",
        "<count>",
        "1) one",
        "```",
        "T12:",
    ),
    *(
        "___",
        "\u00e9\u2028\u00a0",
        "\x1c",
        "\ud83e\udec1",
        "\\",
        "$mark",
        "*",
        "two errors",
    ),
    *("Note:", "I'm sorry"),
)
words = st.one_of(st.sampled_from(NASTY), st.text(max_size=12))
lines = st.lists(words, min_size=1, max_size=5).map(" ".join)
plain = st.lists(
    st.sampled_from(
        ["effusion", "left", "2.5 cm", "no", "(new)", "T12:", "not", '"old"']
    ),
    min_size=1,
    max_size=4,
).map(lambda some: "x " + " ".join(some))


@st.composite
def annotations(draw: st.DrawFn) -> Annotation:
    """Counts that agree with their lists or do not, plain items or odd, categories left out."""
    stated, items, not_listed = {}, [], set()
    is_plain, agrees = draw(st.booleans()), draw(st.booleans())
    texts_of = st.lists(plain if is_plain else st.one_of(plain, lines), max_size=3)
    for level in ("significant", "insignificant"):
        left_out = draw(st.sets(st.sampled_from(list(Category)), max_size=5))
        for category in Category:
            key = f"{level}_{category.value}"
            texts = [] if category in left_out else draw(texts_of)
            not_listed |= {key} if category in left_out else set()
            more = (
                0
                if agrees or category in left_out
                else draw(st.sampled_from([0, 0, 9]))
            )
            stated[key] = len(texts) + more
            items += [green_error(level, category, text) for text in texts]
    matched = draw(texts_of)
    items += map(matched_item, matched)
    stated["matched"] = len(matched)
    return Annotation(
        items=tuple(items),
        explanation=draw(st.one_of(st.just(""), lines)),
        stated_counts=stated,
        warnings=warnings_on(stated, items, frozenset(not_listed)),
    )


@settings(max_examples=200, deadline=None)
@given(annotations())
def test_parse_reads_back_what_render_writes(annotation: Annotation) -> None:
    try:
        text = RUBRIC.render(annotation)
    except ValueError:
        return
    # What contradicts itself is marked when it is read.
    annotation = replace(annotation, items=tuple(with_contradictions(annotation.items)))
    assert FAITHFUL.parse(text, STUDY, complete=True) == annotation
    try:
        assert RUBRIC.parse(text, STUDY, complete=True) == annotation
    except UnparsedError as error:
        contradicts = any(item.warnings for item in annotation.items)
        reasons = ["count and list differ", "doubtful item"]
        assert error.reason in reasons or (  # noqa: PT017
            contradicts and error.reason == "contradiction"
        )


discrepancies = st.builds(
    Discrepancy,
    category=st.sampled_from(list(Category)),
    severity=st.sampled_from([1, 2, 3, 4]),
    finding=lines,
    text=lines,
)
comparisons = st.builds(
    ReportComparison,
    discrepancies=st.lists(discrepancies, max_size=6).map(tuple),
    matched=st.lists(lines, max_size=5).map(tuple),
    explanation=st.lists(lines, max_size=4).map("\n".join),
)


@settings(max_examples=150, deadline=None)
@given(comparisons)
def test_whatever_rules_find_can_be_rendered(comparison: ReportComparison) -> None:
    annotation = RUBRIC.baseline(comparison, STUDY)
    assert RUBRIC.parse(RUBRIC.render(annotation), STUDY, complete=True) == annotation
    measures = RUBRIC.measured(annotation, STUDY)
    significant = sum(found.severity >= 2 for found in comparison.discrepancies)
    assert measures["n_significant"] == significant
    assert measures["n_insignificant"] == len(comparison.discrepancies) - significant
    assert measures["n_matched"] == len(comparison.matched)
    assert annotation.warnings == ()


def _good() -> Annotation:
    items = (
        green_error("significant", Category.MISSING_FINDING, "effusion"),
        green_error("insignificant", Category.WRONG_LOCATION, "tip"),
        matched_item("heart"),
    )
    stated = dict.fromkeys([*KEYS, "matched"], 0) | {
        "significant_b": 1,
        "insignificant_c": 1,
        "matched": 1,
    }
    return Annotation(items, "Words.", stated_counts=stated)


def _error(**changes: object) -> dict[str, object]:
    first, *others = _good().items
    return {"items": (replace(first, **changes), *others)}


def _labelled(**labels: tuple[str, ...]) -> dict[str, object]:
    return _error(labels={**_good().items[0].labels, **labels})


def _finding(text: str) -> dict[str, object]:
    return {"items": (*_good().items[:2], matched_item(text))}


@pytest.mark.parametrize(
    "changes",
    [
        {"stated_counts": _good().stated_counts | {"significant_b": 10_000}},
        {"stated_counts": _good().stated_counts | {"significant_b": 0}},
        {"items": _good().items[::-1]},
        {"explanation": "Words.\n[Matched Findings]:\n9."},
        {"explanation": "<|im_start|>"},
        _finding("one; two"),
        {"warnings": ("odd",)},
        {"warnings": (NOT_LISTED + "significant_b",)},
        _error(text="one; two"),
        _error(text="one (c) Wrong location: 2. two"),
        _labelled(category=("b", "c")),
        _error(side="candidate"),
        _error(kind="fact"),
        {"values": {"confidence": 0.5}},
    ],
    ids=str,
)
def test_what_cannot_be_read_back_is_not_rendered(changes: dict[str, object]) -> None:
    assert RUBRIC.parse(RUBRIC.render(_good()), STUDY, complete=True) == _good()
    annotation = replace(_good(), **changes)
    with pytest.raises(ValueError, match=r"."):
        RUBRIC.render(annotation)


def test_marks_that_state_no_counts_are_written_with_their_number() -> None:
    """A reader marks errors and findings, and states nothing."""
    items = (
        green_error("significant", Category.MISSING_FINDING, "left effusion"),
        matched_item("clear lungs"),
    )
    assert RUBRIC.render is not None
    text = RUBRIC.render(Annotation(items))
    assert "(b) Missing finding: 1. left effusion" in text
    assert text.endswith("1. clear lungs")
    read = RUBRIC.parse(text, STUDY, complete=True)
    assert read.items == items
    assert (read.stated_counts["significant_b"], read.stated_counts["matched"]) == (
        1,
        1,
    )
