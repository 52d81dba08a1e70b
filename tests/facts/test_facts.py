"""What is read of facts, what they are worth, and what rules make of two reports."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge import prompts, rubrics
from judge.rubrics.facts.parse import Fact, to_annotation
from judge.rubrics.questions import combine_answers, split_answers
from judge.rubrics.quotations import Quotable
from judge.rubrics.replies import word_key
from judge.sentences import lines
from judge.types import Completion, Study, UnparsedError, Usage

RUBRIC = rubrics.load("facts")
WORDS = st.sampled_from(
    ["effusion", "Left", "no", "2.5 cm", "Größe", "(stable)", "line's", "1."]
)
SENTENCE = (
    st.lists(WORDS, min_size=1, max_size=5)
    .map(" ".join)
    .filter(lambda text: any(map(str.isalpha, text)))
)
REPORT = st.lists(SENTENCE, min_size=1, max_size=4).map(
    lambda said: ".\n ".join(said) + "."
)


@st.composite
def judged(draw: st.DrawFn) -> tuple[Study, dict]:
    """A study, and facts about it that quote the other report as it stands."""
    study = Study("s", draw(REPORT), draw(REPORT))
    facts = {}
    for side, other in (("reference", study.candidate), ("candidate", study.reference)):
        # Phrases of the two reports are never the same: then the verdict could be one alone.
        told = SENTENCE.map(f"{side} {{}}".format)
        phrases = draw(st.lists(told, max_size=4, unique_by=word_key))
        facts[side] = []
        for phrase in phrases:
            verdict = draw(
                st.sampled_from(["entailed", "contradicted", "not_mentioned"])
            )
            said = lines(other)
            start = draw(st.integers(0, len(said) - 1))
            quote = " ".join(said[start : draw(st.integers(start + 1, len(said)))])
            evidence = () if verdict == "not_mentioned" else (quote,)
            facts[side].append((phrase, verdict, evidence))
    return study, facts


@settings(max_examples=60, deadline=None)
@given(judged())
def test_what_is_written_is_read_again(drawn: tuple[Study, dict]) -> None:
    study, facts = drawn
    made = {side: [Fact(*one) for one in each] for side, each in facts.items()}
    read = RUBRIC.parse(RUBRIC.render(to_annotation(made)), study)
    assert RUBRIC.parse(RUBRIC.render(read), study) == read
    found = [
        (item.side, item.text, item.label("verdict")) for item in read.of_kind("fact")
    ]
    assert found == [(side, text, v) for side in facts for text, v, _ in facts[side]]
    measures = RUBRIC.measured(read, study)
    assert measures["n_reference"] == len(facts["reference"])
    for item in read.of_kind("fact"):
        for link in item.links:
            evidence = read.items[link]
            other = study.candidate if item.side == "reference" else study.reference
            assert evidence.text in " ".join(other.split())
            assert evidence.side != item.side


@pytest.mark.parametrize(
    ("report", "quote"),
    [
        ("A 1.2 cm nodule.", "2 cm nodule"),
        ("1.2 cm nodule.", "2 cm nodule"),
        ("12.5 mm.", "12"),
        ("Volume: 1,200 mL.", "1"),
        ("Ratio 1:2.", "2"),
        ("Non-displaced fracture.", "displaced fracture"),
        ("Fracture à cote\u0301.", "Fracture à cote"),
        ("Clear of the mass.", "the"),
        ("No pneumothorax.", "pneumothorax"),
        ("No effusion, pneumothorax or mass.", "pneumothorax or mass"),
        ("No effusion (pneumothorax).", "pneumothorax"),
        ("Pneumothorax: none.", "Pneumothorax"),
        ("Negative for: mass.", "mass"),
        ("Negative for: mass; nodule.", "nodule"),
        ("No evidence of:\n- mass\n- nodule", "nodule"),
        ("Pneumomediastinum, not seen.", "Pneumomediastinum"),
        ("Effusion, now resolved.", "Effusion"),
        ("Effusion (resolved).", "Effusion"),
        (
            "Small effusion, previously large, has resolved.",
            "Small effusion, previously large",
        ),
        ("Heart normal. Mass.", "normal. Mass."),
        ("Mass.", " . "),
    ],
)
def test_words_cut_from_a_sentence_are_no_evidence(report: str, quote: str) -> None:
    assert Quotable(report).find(quote) is None


@pytest.mark.parametrize(
    ("report", "quote", "found"),
    [
        ("A 1.2 cm nodule. Mass.", "a 1.2 cm nodule", "A 1.2 cm nodule"),
        ("No effusion.\nNo mass.", "No effusion. No mass", "No effusion. No mass"),
        ("FINDINGS: No mass.", "No mass.", "No mass"),
        ("FINDINGS:\n\n- No  mass.", "'No mass.'", "No mass"),
        ("IMPRESSION: 1. No mass. 2. Nodule.", "no mass", "No mass"),
        ("Heart normal; no mass.", "No mass.", "no mass"),
        ("Heart normal; no mass.", "Heart normal;", "Heart normal"),
        ("Small effusion, unchanged.", "Small effusion", "Small effusion"),
        ("Small effusion (stable).", "small effusion", "Small effusion"),
        ("Small effusion, no mass.", "small effusion", "Small effusion"),
        ("Free air, not seen.", "Free air, not seen", "Free air, not seen"),
        ('He said "no mass." Nodule.', 'He said "no mass', 'He said "no mass'),
        ("Effusion. No effusion.", "No effusion", "No effusion"),
        ("All fat, density A. No mass.", "All fat, density A.", "All fat, density A"),
        ("All fat, density A. No mass.", "No mass.", "No mass"),
    ],
)
def test_sentences_and_clauses_are_evidence(
    report: str, quote: str, found: str
) -> None:
    assert Quotable(report).find(quote) == found


def test_the_worked_examples_of_the_prompt_quote_their_reports() -> None:
    quoted = 0
    for shot in prompts.load("facts-verdicts").shots:
        report = Quotable(shot.reference)
        for one in json.loads(shot.reply)["verdicts"]:
            quoted += len(one["evidence"])
            assert all(map(report.find, one["evidence"])), one
    assert quoted > 8


def test_answers_together_keep_what_each_cost_and_how_each_ended() -> None:
    first = Completion(
        "{}", "stop", "m", Usage(10, 2, 4), "2026-01-01T00:00:00", "json_schema"
    )
    cut = Completion(
        '{"a', "length", "m", Usage(1, 1), "2026-01-02T00:00:00", "json_schema"
    )
    both = combine_answers({"one": first, "two": first})
    assert both.usage == Usage(20, 4, 8)
    assert (both.finish_reason, both.mode, both.model) == ("stop", "json_schema", "m")
    assert split_answers(both.text) == {"one": "{}", "two": "{}"}
    whole = combine_answers({"one": first, "two": cut})
    assert whole.created == "2026-01-02T00:00:00"
    with pytest.raises(UnparsedError, match=r"truncated: two: .*token limit"):
        split_answers(whole.text)
    assert combine_answers({}).text == "{}"


@pytest.mark.parametrize(
    "text",
    [
        '{"one": 1}',
        '{"one": {"text": "x"}}',
        '["one"]',
        '{"one": "", "one": ""}',
        "one",
        "",
    ],
)
def test_what_is_not_several_answers_is_not_read(text: str) -> None:
    with pytest.raises(UnparsedError):
        split_answers(text)


@pytest.mark.parametrize(
    ("report", "quote"),
    [
        ("Lungs are clear.No effusion.", "No effusion."),
        ("Lungs are clear.NO EFFUSION.", "no effusion"),
        ("Lungs are clear.NO EFFUSION.", "Lungs are clear. No effusion."),
        ("Lungs are clear.NO EFFUSION.", "Lungs are clear."),
        ("Heart  size\nis normal.", "Heart sizeis normal."),
        ("Tip 3cm above the carina.", "Tip 3 cm above the carina"),
    ],
)
def test_a_quotation_is_compared_without_white_space(report: str, quote: str) -> None:
    assert Quotable(report).find(quote) is not None


@pytest.mark.parametrize(
    ("report", "quote"),
    [
        ("Negative for: mass.Heart normal.", "mass"),
        ("No effusion.", "effusion"),
        ("A nodule of 1 2 mm.", "nodule of 12 mm"),
    ],
)
def test_a_part_of_a_clause_is_still_no_quotation(report: str, quote: str) -> None:
    assert Quotable(report).find(quote) is None
