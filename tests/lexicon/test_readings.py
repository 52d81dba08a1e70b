"""How single words, hedges, numbers and places are read: each was once read wrongly."""

import pytest
from support import EXAMPLES

from judge.backends.lexicon import compare, load, unfamiliar
from judge.backends.lexicon.reading import read
from judge.backends.lexicon.tokens import mended

LEXICON = load()


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


@pytest.mark.parametrize(
    ("slip", "word"),
    [
        ("pnuemothorax", "pneumothorax"),
        ("pneumothoraces", "pneumothorax"),
        ("effusoin", "effusion"),
        ("atelectesis", "atelectasis"),
        ("cardiomegally", "cardiomegaly"),
        ("pleual", "pleural"),
        ("bilaterral", "bilateral"),
        ("emphsema", "emphysema"),
    ],
)
def test_a_slip_is_read_as_the_word(slip, word):
    assert read(f"There is {slip}.", LEXICON) == read(f"There is {word}.", LEXICON)


@pytest.mark.parametrize(
    "word",
    [
        "confusion", "injection", "infusion", "diffusion", "perfusion", "patient", "medial",
        "precious", "stricture", "cardia", "arteritis", "making", "string", "swallow", "modest",
        "nodes", "evacuation", "maternal", "lesser",
    ],
)  # fmt: skip
def test_a_right_word_is_not_mended(word):
    assert mended(word, LEXICON) == word
    assert said(f"There is {word}.") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # abbreviations
        ("Bibasilar atx.", "atelectasis"),
        ("RLL PNA.", "pneumonia"),
        ("Bilateral GGO.", "opacity"),
        ("Lungs w/o consolidation.", "|consolidation"),
        ("Opacity c/w pneumonia.", "opacity"),
        ("Film to r/o pneumonia.", ""),
        # hedges that deny
        ("Opacity unlikely to represent pneumonia.", "opacity|pneumonia"),
        ("Pneumonia is thought less likely.", "|pneumonia"),
        ("Doubt pneumonia.", "|pneumonia"),
        ("Likely atelectasis, less likely pneumonia.", "atelectasis"),
        # what is not said of the lungs
        ("The tip lies outside the thoracic cavity.", ""),
        ("The study is limited for evaluation of pneumonia.", ""),
        ("Evaluation for pneumothorax is limited.", ""),
        ("Evaluation of the bases for effusion is limited; small pneumothorax.", "pneumothorax"),
        ("Evaluation of the spine is limited due to osteopenia.", "osteopenia"),
        ("No respiratory failure.", ""),
        ("Known metastases are better assessed on CT.", "mass"),
        # one finding, several words
        ("There is a right hydro-pneumothorax.", "hydropneumothorax"),
        ("Complete opacification of the left hemithorax.", "whiteout"),
        ("Retrocardiac opacity is likely atelectasis.", "opacity"),
        ("Opacity could be edema, infection or scarring.", "opacity"),
        ("Opacity could be scarring, and there is a small effusion.", "opacity effusion"),
        ("Mild edema, slightly increased in the interval.", "edema"),
        ("Borderline size of the heart without edema.", "borderline_heart|edema"),
    ],
)
def test_what_is_read(text, expected):
    assert said(text) == expected


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        # where a tube ends
        ("Feeding tube in the stomach.", "Feeding tube post-pyloric.", ["c2"]),
        ("NG tube in the stomach.", "NG tube ends below the diaphragm, off the film.", []),
        ("PICC at the cavoatrial junction.", "PICC in the right atrium.", ["c2"]),
        ("PICC in the azygos vein.", "PICC in standard position.", ["c3"]),
        ("ET tube in the right main bronchus.", "ET tube in good position.", ["c4"]),
        ("ET tube in the right main bronchus.", "Lungs are clear.", ["b4"]),
        ("Oesophageal intubation.", "ET tube above the carina.", ["c4"]),
        ("ET tube 1 cm above the carina.", "ET tube 4 cm above the carina.", ["c3"]),
        ("New right internal jugular vein catheter.", "New right IJ line.", []),
        ("Right IJ line in place.", "", ["b1"]),
        ("ET tube removed.", "ET tube in place.", ["a2"]),
        # sides and degrees
        ("Right greater than left effusions.", "Right larger than left effusions.", []),
        ("Effusions, right larger than left.", "Effusions, unchanged.", ["e1"]),
        ("Calcified granuloma on the left.", "Calcified granuloma on the right.", ["c1"]),
        ("Small left, large right effusion.", "Large left, small right effusion.", ["d3", "d3"]),
        ("Small left and large right effusion.", "Large right effusion. Small left effusion.", []),
        ("Nodule in the left apex, mass in the right base.",
         "Nodule in the right apex, mass in the left base.", ["c3", "c3"]),
        # how many
        ("Three nodules on the left.", "Two nodules on the left.", ["b2"]),
        ("Two right rib fractures.", "3 right rib fractures.", ["a2"]),
        ("Two nodules.", "Nodule. Another nodule.", []),
        ("Apical pneumothorax of 1 cm.", "Apical pneumothorax of 1 cm, previously 2 cm.", []),
        # more than the wider word
        ("Right hydropneumothorax.", "Right effusion.", ["b3"]),
        ("Right hydropneumothorax.", "Right effusion and pneumothorax.", []),
        ("Right upper lobe opacity.", "Right upper lobe cavity.", ["a3"]),
        ("Right upper lobe mass.", "Right upper lobe opacity.", ["b2"]),
        ("Near complete resolution of the left effusion.", "Large left effusion.", ["d3", "f1"]),
        # normal again
        ("Lungs are clear.", "Lungs remain clear.", []),
        ("Stable mediastinal contours.", "Mediastinal contours.", ["f1"]),
    ],
)  # fmt: skip
def test_differences_that_were_misread(reference, candidate, expected):
    assert errors(reference, candidate) == expected


@pytest.mark.parametrize(
    ("missed", "severity"),
    [
        # not actionable
        ("Right IJ line in the SVC.", 1),
        ("Apical scarring.", 1),
        # actionable
        ("Moderate cardiomegaly.", 2),
        ("Small effusion.", 2),
        ("Right basilar opacity.", 2),
        # urgent
        ("Right lower lobe consolidation.", 3),
        ("Pulmonary edema.", 3),
        ("Moderate effusion.", 3),
        ("Tiny apical pneumothorax.", 3),
        # emergent
        ("Large pneumothorax.", 4),
        ("Tension pneumothorax.", 4),
        ("Free air under the diaphragm.", 4),
        ("ET tube in the right main bronchus.", 4),
    ],
)
def test_what_is_missed_or_made_up_weighs_by_place_and_kind(missed, severity):
    assert errors(missed, "") == [f"b{severity}"]
    assert errors("", missed) == [f"a{severity}"]


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("Left effusion.", "Left effusion, unchanged.", ["e1"]),
        ("Left effusion, improved.", "Left effusion.", ["f1"]),
        ("New left pneumothorax.", "Left pneumothorax.", ["f2"]),
        ("Mass in the left apex.", "Enlarging mass in the left apex.", ["e2"]),
        ("Edema has worsened.", "Edema has improved.", ["e3"]),
        ("New PICC.", "PICC.", ["f1"]),
        ("Cardiomegaly.", "No change. Cardiomegaly.", ["e1"]),
    ],
)
def test_a_comparison_weighs_only_where_the_change_matters(reference, candidate, expected):
    assert errors(reference, candidate) == expected


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("No pneumothorax. The lungs are clear.", None),
        ("Clear lungs.", None),
        ("", None),
        ("Opacity seen en face.", None),
        ("Kein Pneumothorax. Die Lunge ist frei, das Herz nicht vergrößert.", "language"),
        ("Pas de pneumothorax. Le cœur est de taille normale.", "language"),
        ("Лёгкие без очаговых изменений.", "language"),
        ("双肺清晰", "language"),
        # Short ones, without two of the function words.
        ("Großer Pleuraerguss links. Herz vergrößert.", "language"),
        ("Épanchement pleural gauche. Cardiomégalie.", "language"),
        ("Derrame pleural izquierdo. Cardiomegalia.", "language"),
        ("Bez pleurálního výpotku. Srdce nezvětšeno.", "language"),
        ("asdf qwer zxcv.", "language"),
        ("XXXX XXXX, ___.", None),
        ("Pnuemothorax.", None),
        ("MRI compatible pacemaker leads in place. No pneumothorax.", None),
        ("Known mass on CT scan. Lungs otherwise clear.", None),
        ("Lungs clear. Electronically signed by John Smith, Department of Imaging.", None),
        ("Indication: Pelvic organ prolapse preop for surgery Impression: Clear lungs.", None),
        ("Tortuous aorta.", None),
        ("CT chest with intravenous contrast. Nodule in the right apex.", "images"),
        ("CT of the chest was obtained following contrast. Nodule in the right apex.", "images"),
        ("MRI shows an infarct compatible with embolism.", "images"),
        ("CT of the chest shows a known mass. A nodule is seen in the right apex.", "images"),
        ("Nodule as seen on the CT scan. Lungs otherwise clear.", None),
        ("T2-weighted images show a lesion.", "images"),
        ("Ultrasound of the chest: anechoic effusion.", "images"),
        ("Axial images show a nodule with attenuation of 20 Hounsfield units.", "images"),
        ("Compared to the CT chest with contrast of yesterday, no change.", None),
        ("Recommend CT scan for the nodule.", None),
    ],
)
def test_a_report_that_the_rules_were_not_made_for(report, why):
    assert unfamiliar(report, LEXICON) == why


def test_a_small_lexicon_of_somebody_s_own_does_not_make_english_another_language():
    own = load(EXAMPLES / "lexicon.yaml")
    assert len(own.words) < 100
    assert unfamiliar("The cardiomediastinal silhouette is unremarkable.", own) is None
    assert unfamiliar("Großer Pleuraerguss links.", own) == "language"
