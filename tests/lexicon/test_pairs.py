"""Pairs that were read wrongly once, with neighbours of their kind."""

import pytest
from lexicon_pairs import LEXICON, errors, table

from judge import rubrics
from judge.backends.lexicon import compare, named_findings
from judge.types import Study


@pytest.mark.parametrize(("reference", "candidate", "expected"), table("misread.yaml"))
def test_what_was_read_wrongly(reference, candidate, expected):
    assert errors(reference, candidate) == expected.split()
    assert errors(reference, reference) == errors(candidate, candidate) == []


@pytest.mark.parametrize(
    ("reference", "finding"),
    [
        (
            "Left effusion with adjacent atelectasis, increased since 3/4.",
            "pleural effusion",
        ),
        ("Atelectasis with a small effusion has increased.", "atelectasis"),
        ("Effusion, with increased atelectasis.", "atelectasis"),
    ],
)
def test_a_change_belongs_to_what_is_spoken_of(reference, finding):
    found = compare(
        reference, "Left effusion with adjacent atelectasis.", LEXICON
    ).discrepancies
    assert [one.finding for one in found if one.category.value == "f"] == [finding]


def test_a_comparison_the_other_way_is_called_wrong():
    (error,) = compare("Effusion slightly decreased.", "Effusion has increased.", LEXICON)\
        .discrepancies  # fmt: skip
    assert "wrong comparison" in error.text
    (error,) = compare("Effusion.", "Effusion has increased.", LEXICON).discrepancies
    assert "not in the reference" in error.text


def graded(rubric, reference, candidate):
    """The weights that a rubric gives the errors of a pair."""
    made = rubrics.load(rubric)
    study = Study("s", reference, candidate)
    annotation = made.baseline(compare(reference, candidate, LEXICON), study)
    facet = "significance" if rubric in ("green", "crimson") else "severity"
    return [one.labels[facet][0] for one in annotation.items if one.kind == "error"]


@pytest.mark.parametrize(
    ("reference", "candidate", "by_rubric"),
    [
        ("NG tube tip is in the stomach.", "Nasogastric tube tip is in the left main bronchus.",
         ("significant", "severity4", "urgent")),
        ("PICC tip is in the SVC.", "PICC tip is in the right atrium.",
         ("significant", "severity2", "actionable_not_urgent")),
        ("Moderate right and small left effusions.", "Small right and moderate left effusions.",
         ("significant", "severity3", "urgent")),
        ("ET tube 3 cm above the carina.", "ET tube 5 cm above the carina.",
         ("insignificant", "severity1", "negligible")),
    ],
)  # fmt: skip
def test_every_rubric_has_the_severity_of_the_error(reference, candidate, by_rubric):
    found = [
        set(graded(one, reference, candidate))
        for one in ("green", "fineradscore", "crimson")
    ]
    assert found == [{one} for one in by_rubric]


def verdicts(reference, candidate):
    return [
        (one.side, one.text, one.verdict)
        for one in compare(reference, candidate, LEXICON).statements
    ]


def test_facts():
    assert verdicts("Large right tension pneumothorax.", "No pneumothorax.") == [
        ("reference", "Large right tension pneumothorax", "contradicted"),
        ("candidate", "No pneumothorax", "contradicted"),
    ]
    assert verdicts("PA and lateral views of the chest. No effusion.", "") == [
        ("reference", "No effusion", "not_mentioned")
    ]
    assert {one[2] for one in verdicts("Loculated effusion.", "No effusion.")} == {
        "contradicted"
    }
    assert {one[2] for one in verdicts("Old fracture.", "No acute fracture.")} == {
        "not_mentioned"
    }
    assert {one[2] for one in verdicts("Effusion, improved.", "Larger effusion.")} == {
        "contradicted"
    }
    assert [one[2] for one in verdicts("Effusion.", "Larger effusion.")] == [
        *("entailed", "not_mentioned")
    ]


def test_an_error_is_about_what_the_report_has_that_is_wrong_in_it():
    for reference, candidate, finding in [
        ("Right apical mass.", "Right apical nodule.", "mass"),
        ("Lungs are clear.", "Calcified granuloma.", "granuloma"),
        ("Nodule in the apex.", "New granuloma in the apex.", "nodule"),
    ]:
        (error,) = compare(reference, candidate, LEXICON).discrepancies
        assert named_findings(error.text, LEXICON) == (finding,)
