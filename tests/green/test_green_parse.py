"""GREEN's grammar: what is in it is read as it stands, and whatever is not is unparsed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from green_layouts import KEYS, N_READ, PARTS, STUDY, grammatical, made
from hypothesis import given, settings
from hypothesis import strategies as st

from judge import prompts
from judge.rubrics.derived import for_prompt
from judge.rubrics.green import RUBRIC
from judge.rubrics.green.parse import as_written
from judge.types import Annotation, UnparsedError

SECTIONS = (
    "[Explanation]:\nWhy.\n\n[Clinically Significant Errors]:\n{significant}\n\n"
    "[Clinically Insignificant Errors]:\n{insignificant}\n\n[Matched Findings]:\n{matched}"
)
ADVERSARIAL: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("adversarial.yaml").read_text("utf-8")
)


def answer(
    significant: str = "None.", insignificant: str = "None.", matched: str = "0."
) -> str:
    return SECTIONS.format(
        significant=significant, insignificant=insignificant, matched=matched
    )


def read(text: str, *, complete: bool = True) -> Annotation | None:
    try:
        return RUBRIC.parse(text, STUDY, complete=complete)
    except UnparsedError:
        return None


def counts(text: str, *, complete: bool = True) -> dict[str, int] | None:
    """The counts that are not 0; None for an answer that is unparsed."""
    found = read(text, complete=complete)
    return found and {key: n for key, n in found.stated_counts.items() if n}


@pytest.mark.parametrize(
    ("part", "text", "truth"),
    [
        pytest.param(part, *each, id=f"{part}-{at}")
        for part, entries in ADVERSARIAL.items()
        for at, each in enumerate(entries)
    ],
)
def test_an_adversarial_answer_gives_no_wrong_number(
    part: str, text: str, truth: dict[str, int] | None
) -> None:
    found = counts(answer(**{part: text}))
    names = {"m": "matched"}
    wanted = truth and {
        names.get(key, f"significant_{key}"): n for key, n in truth.items()
    }
    assert found is None or (truth is not None and found == (wanted or {})), found


def test_what_is_in_the_grammar_is_read_as_it_stands() -> None:
    for seed in range(400):
        rng = random.Random(seed)
        one = made(rng, grammatical(rng))
        found = read(one.text)
        assert found is not None, one.text
        assert found.stated_counts == one.stated, one.text
        assert found.explanation == "The reports were compared."


@pytest.mark.parametrize(
    ("part", "style"),
    [
        (part, style)
        for part, styles in PARTS.items()
        for style in styles[N_READ[part] :]
    ],
)
def test_what_is_not_in_the_grammar_is_unparsed(part: str, style: str) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        one = made(rng, grammatical(rng) | {"layout": "lines", part: style})
        assert counts(one.text) is None, one.text


def test_cut_anywhere_never_shows_another_count() -> None:
    shown = 0
    for seed in range(25):
        rng = random.Random(seed)
        one = made(rng, grammatical(rng))
        for end in range(len(one.text)):
            found = read(one.text[:end], complete=False)
            assert found is None or found.stated_counts == one.stated, one.text[:end]
            shown += found is not None
    assert shown > 0


EDITS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.sampled_from(
            ["", "1", "2.", "(b)", ";", "\n", "\n- x", ": ", "None", "0. ", "**"]
        ),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10_000), EDITS)
def test_an_edited_answer_is_honest_or_unparsed(
    seed: int, edits: list[tuple[float, str, int]]
) -> None:
    """Whatever is read states each count where the grammar has it, with as many items."""
    rng = random.Random(seed)
    text = made(rng, grammatical(rng)).text
    for place, put, taken in edits:
        at = int(place * len(text))
        text = text[:at] + put + text[at + taken :]
    found = read(text)
    if found is not None:
        listed = dict.fromkeys([*KEYS, "matched"], 0)
        for item in found.items:
            place = (
                item.labels and f"{item.label('significance')}_{item.label('category')}"
            )
            listed[place or "matched"] += 1
        assert listed == found.stated_counts
        assert RUBRIC.parse(RUBRIC.render(found), STUDY, complete=True) == as_written(
            found
        )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x" * 65_537, "too long"),
        ("\u00e9" * 32_769, "too long"),
        ("", "empty"),
        ("</s>", "empty"),
        ("I'm sorry, but I can't help with that.", "missing section"),
        ("Two errors.", "missing section"),
        (answer(matched=""), "missing section"),
        (answer(significant="(b) Missing finding: some. x"), "unreadable count"),
        (answer(significant="(b) Missing finding: 2. x"), "count and list differ"),
        (answer(significant="(b) False finding: 1. x"), "contradiction"),
        (answer(significant="(b): 0. x"), "contradiction"),
        (answer(significant="(b): 1. Not an error."), "doubtful item"),
        (answer(significant="(b): 1. effusion (not an error)"), "contradiction"),
        (
            answer(significant="(b): 1. scar (clinically insignificant)"),
            "contradiction",
        ),
        (answer(significant="(b): 1. scar, not significant"), "contradiction"),
        (answer(insignificant="(b): 1. Significant: scar"), "contradiction"),
        (answer(significant="(b): 2. scar; Scar."), "contradiction"),
        (answer(significant="(b): 1. scar\n(d): 1. SCAR"), "contradiction"),
        (
            answer(significant="(b): 1. scar", insignificant="(b): 1. scar"),
            "contradiction",
        ),
        (answer(significant="(b): 1. scar", matched="1. Scar."), "contradiction"),
        (answer(matched="2. heart; Heart."), "contradiction"),
        (answer(matched="0.\nDone."), "contradiction"),
        (answer(significant="Well.\n(b): 0."), "not in the layout"),
        (f"<think>{answer()}", "cut short"),
    ],
)
def test_reasons(text: str, reason: str) -> None:
    with pytest.raises(UnparsedError) as caught:
        RUBRIC.parse(text, STUDY, complete=True)
    assert caught.value.reason == reason


def test_the_end_of_an_answer_needs_proof() -> None:
    for matched, whole in (("1. heart", 1), ("1. heart\n2. lungs", 2)):
        text = answer(matched=matched)
        assert read(text, complete=False) is None
        for proved in (f"{text}</s>", f"```\n{text}\n```"):
            assert counts(proved, complete=False) == {"matched": whole}
    assert counts(answer(matched="2. heart; lungs"), complete=False) == {"matched": 2}


def test_a_template_is_no_answer() -> None:
    for name in ("green", "green-structured"):
        prompt = prompts.load(name)
        for said in (prompt.system, *(turn.content for turn in prompt.about(STUDY))):
            assert read(said) is None


@pytest.mark.parametrize(
    ("prompt", "model", "is_faithful"),
    [
        ("green-official", "vllm:StanfordAIMI/GREEN-RadLlama2-7b", True),
        ("green-official", "gpt-4o", False),
        ("green", "hf:StanfordAIMI/GREEN-radllama2-7b", False),
    ],
)
def test_who_is_read_so(prompt: str, model: str, is_faithful: bool) -> None:
    rubric = for_prompt(RUBRIC, prompt, model)
    text = answer(matched="3. heart")
    if is_faithful:
        assert rubric.parse(text, STUDY, complete=True).stated_counts["matched"] == 3
    else:
        assert rubric is RUBRIC
