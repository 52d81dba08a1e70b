"""How single words, hedges, numbers and places are read: each was once read wrongly."""

import pytest
from lexicon_pairs import LEXICON, errors, table
from support import EXAMPLES

from judge.backends.lexicon import compare, load, unfamiliar_reason
from judge.backends.lexicon.data import correct_slip
from judge.backends.lexicon.reports import read

READINGS = table("readings.yaml")


def said(text):
    """What `text` says is there, then after a bar what it denies."""
    mentions = [one for one in read(text, LEXICON) if one.finding]
    there = [one.finding for one in mentions if one.present]
    denied = [one.finding for one in mentions if not one.present]
    return " ".join(there) + ("|" + " ".join(denied) if denied else "")


@pytest.mark.parametrize(
    ("slip", "word"),
    [
        ("pnuemothorax", "pneumothorax"),
        ("pneumothoraces", "pneumothorax"),
        ("cardiomegally", "cardiomegaly"),
        ("pleual", "pleural"),
    ],
)
def test_a_slip_is_read_as_the_word(slip, word):
    assert read(f"There is {slip}.", LEXICON) == read(f"There is {word}.", LEXICON)


@pytest.mark.parametrize(
    "word",
    [
        "confusion",
        "injection",
        "perfusion",
        "patient",
        "medial",
        "stricture",
        "string",
        "nodes",
    ],
)
def test_a_right_word_is_not_mended(word):
    assert correct_slip(word, LEXICON) == word
    assert said(f"There is {word}.") == ""


def test_a_small_lexicon_of_somebody_s_own_does_not_make_english_another_language():
    own = load(EXAMPLES / "lexicon.yaml")
    assert len(own.words) < 100
    assert (
        unfamiliar_reason("The cardiomediastinal silhouette is unremarkable.", own)
        is None
    )
    assert unfamiliar_reason("Großer Pleuraerguss links.", own) == "language"


@pytest.mark.parametrize(("text", "expected"), READINGS["read"])
def test_what_is_read(text, expected):
    assert said(text) == expected


@pytest.mark.parametrize(("missed", "severity"), READINGS["weight"])
def test_what_is_missed_or_made_up_weighs_by_place_and_kind(missed, severity):
    assert errors(missed, "") == [f"b{severity}"]
    assert errors("", missed) == [f"a{severity}"]


@pytest.mark.parametrize(("report", "quoted"), READINGS["quoted"])
def test_a_quotation_is_whole(report, quoted):
    (error,) = compare(report, "", LEXICON).discrepancies
    assert f'"{quoted}"' in error.text


@pytest.mark.parametrize(("report", "why"), READINGS["unfamiliar"])
def test_a_report_that_the_rules_were_not_made_for(report, why):
    assert unfamiliar_reason(report, LEXICON) == why
