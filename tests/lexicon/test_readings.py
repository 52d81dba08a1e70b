"""How single words, hedges, numbers and places are read: each was once read wrongly."""

from pathlib import Path

import pytest
import yaml
from support import EXAMPLES

from judge.backends.lexicon import compare, load, unfamiliar
from judge.backends.lexicon.mentions import read
from judge.backends.lexicon.tokens import mended

LEXICON = load()
TABLES = yaml.safe_load(Path(__file__).with_name("tables.yaml").read_text("utf-8"))


def said(text):
    """What `text` says is there, then after a bar what it denies."""
    mentions = [one for one in read(text, LEXICON) if one.finding]
    there = [one.finding for one in mentions if one.present]
    denied = [one.finding for one in mentions if not one.present]
    return " ".join(there) + ("|" + " ".join(denied) if denied else "")


def errors(reference, candidate):
    """Letter and severity of each error."""
    found = compare(reference, candidate, LEXICON).discrepancies
    return sorted(f"{error.category.value}{error.severity}" for error in found)


@pytest.mark.parametrize(("slip", "word"), TABLES["a_slip_is_read_as_the_word"])
def test_a_slip_is_read_as_the_word(slip, word):
    assert read(f"There is {slip}.", LEXICON) == read(f"There is {word}.", LEXICON)


@pytest.mark.parametrize(
    "word",
    [
        "confusion",
        "injection",
        "infusion",
        "diffusion",
        "perfusion",
        "patient",
        "medial",
        "precious",
        "stricture",
        "cardia",
        "arteritis",
        "making",
        "string",
        "swallow",
        "modest",
        "nodes",
        "evacuation",
        "maternal",
        "lesser",
    ],
)
def test_a_right_word_is_not_mended(word):
    assert mended(word, LEXICON) == word
    assert said(f"There is {word}.") == ""


def test_no_word_of_the_lexicon_is_taken_for_another():
    assert all(mended(word, LEXICON) == word for word in LEXICON.words)


@pytest.mark.parametrize(("text", "expected"), TABLES["what_is_read"])
def test_what_is_read(text, expected):
    assert said(text) == expected


def test_a_strong_hedge_weighs_like_a_firm_word_and_a_weak_one_less():
    def weight(text):
        (error,) = compare("The lungs are clear.", text, LEXICON).discrepancies
        return error.severity

    assert weight("Opacity concerning for pneumonia.") == weight("Likely pneumonia.") == 3
    assert weight("Opacity, possibly pneumonia.") == weight("Possible pneumonia.") == 2


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"), TABLES["differences_that_were_misread"]
)
def test_differences_that_were_misread(reference, candidate, expected):
    assert errors(reference, candidate) == expected


@pytest.mark.parametrize(("missed", "severity"), TABLES["what_is_missed_or_made_up_weighs"])
def test_what_is_missed_or_made_up_weighs_by_place_and_kind(missed, severity):
    assert errors(missed, "") == [f"b{severity}"]
    assert errors("", missed) == [f"a{severity}"]


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    TABLES["a_comparison_weighs"],
)
def test_a_comparison_weighs_only_where_the_change_matters(reference, candidate, expected):
    assert errors(reference, candidate) == expected


def test_matching_is_local_to_a_statement():
    candidate = "Cardiac contours are within normal limits. The lungs are clear."

    def green(reference):
        told = compare(reference, candidate, LEXICON)
        significant = sum(error.severity >= 2 for error in told.discrepancies)
        return len(told.matched) / (len(told.matched) + significant)

    assert green("Heart size is normal. No effusion.") == 1
    assert green("Heart size is normal. No effusion. Vascular congestion.") == 3 / 4
    for candidate, matches in [("Left lung", True), ("Lungs", True), ("Right lung", False)]:
        told = compare("Left lung is clear.", f"{candidate} clear.", LEXICON)
        assert bool(told.matched) == matches
    # What a finding contradicts is not matched; the rest is.
    assert compare("Lungs clear. Heart normal.", "Pneumonia. Heart normal.", LEXICON).matched == (
        "Heart normal",
    )


@pytest.mark.parametrize(("report", "why"), TABLES["a_report_that_the_rules_were_not_made_for"])
def test_a_report_that_the_rules_were_not_made_for(report, why):
    assert unfamiliar(report, LEXICON) == why


def test_a_small_lexicon_of_somebody_s_own_does_not_make_english_another_language():
    own = load(EXAMPLES / "lexicon.yaml")
    assert len(own.words) < 100
    assert unfamiliar("The cardiomediastinal silhouette is unremarkable.", own) is None
    assert unfamiliar("Großer Pleuraerguss links.", own) == "language"
