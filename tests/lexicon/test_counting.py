"""What counts as matched and as an error, once each, and what holds of any reports."""

import json
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lexicon_pairs import LEXICON, table
from support import EXAMPLES

from judge import rubrics
from judge.backends.lexicon import compare
from judge.types import Study


def counted(reference, candidate):
    """How many match, and how many errors are significant and not."""
    told = compare(reference, candidate, LEXICON)
    significant = sum(error.severity > 1 for error in told.discrepancies)
    return len(told.matched), significant, len(told.discrepancies) - significant


def green(reference, candidate):
    matched, significant, _ = counted(reference, candidate)
    return matched / (matched + significant) if matched else 0.0


@pytest.mark.parametrize(("reference", "candidate", "expected"), table("counted.yaml"))
def test_each_thing_is_counted_once(reference, candidate, expected):
    assert counted(reference, candidate) == tuple(expected)


def texts_of(name):
    found = json.loads((EXAMPLES / name).read_text("utf-8"))
    for study, entry in found.items():
        text = entry.get("section_findings") or entry.get("model_prediction")
        if text:
            yield study, text


REPORTS = dict(texts_of("refs.json"))
EXAMPLE_PAIRS = [
    (REPORTS[study], text)
    for name in ("preds.json", "preds_alder.json", "preds_birch.json")
    for study, text in texts_of(name)
    if study in REPORTS
]
SENTENCES = [
    "No pneumothorax.", "The lungs are clear.", "Heart size is normal.", "Small left effusion.",
    "Moderate right effusion, increased.", "Acute rib fracture.", "Old rib fractures.",
    "Stable cardiomegaly.", "ET tube 3 cm above the carina.", "No acute disease.",
    "Right lower lobe opacity, may represent pneumonia.", "Hiatal hernia.", "Normal chest.",
    "Calcified granuloma in the left apex.", "Bibasilar atelectasis.", "PICC tip in the SVC.",
]  # fmt: skip
ERRORS = [
    "Large right tension pneumothorax.", "Free air under the diaphragm.", "Aortic dissection.",
    "Lytic bone lesion.", "Empyema.", "Pneumomediastinum.", "Foreign body.",
]  # fmt: skip
REPORT = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6, unique=True)


@settings(max_examples=150)
@given(REPORT, REPORT, st.data())
def test_a_repeated_sentence_changes_nothing(reference, candidate, data):
    whole = counted(" ".join(reference), " ".join(candidate))
    again = data.draw(st.sampled_from(candidate))
    assert counted(" ".join(reference), " ".join([*candidate, again])) == whole
    again = data.draw(st.sampled_from(reference))
    assert counted(" ".join([*reference, again]), " ".join(candidate)) == whole


@settings(max_examples=150)
@given(REPORT, REPORT, st.sampled_from(ERRORS))
def test_one_error_more_never_raises_the_score(reference, candidate, error):
    one, other = " ".join(reference), " ".join(candidate)
    assert green(one, f"{other} {error}") <= green(one, other)


@settings(max_examples=150)
@given(REPORT)
def test_a_report_has_all_that_it_says(sentences):
    text = " ".join(sentences)
    assert counted(text, text)[1:] == (0, 0)


def test_the_corrected_report_has_no_error_left():
    rubric = rubrics.load("fineradscore")
    made = [(" ".join(one), " ".join(two)) for one, two in product(
        [SENTENCES[:4], SENTENCES[4:8], SENTENCES[8:12], SENTENCES[12:]], repeat=2
    )]  # fmt: skip
    more = [
        ("Tiny residual apical pneumothorax. Right basilar opacity.",
         "No pneumothorax. The lungs are clear. No acute disease."),
        ("Lungs clear.", "Surgical clips. No effusion. There are cholecystectomy clips."),
    ]  # fmt: skip
    for reference, candidate in (*EXAMPLE_PAIRS, *more, *made):
        study = Study("s", reference, candidate)
        annotation = rubric.baseline(compare(reference, candidate, LEXICON), study)
        corrected = rubric.editor(annotation, study)
        assert compare(reference, corrected, LEXICON).discrepancies == (), (
            reference,
            corrected,
        )
