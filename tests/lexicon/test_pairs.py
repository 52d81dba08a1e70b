"""Pairs that were read wrongly once, with neighbours of their kind."""

import pytest

from judge import rubrics
from judge.backends.lexicon import compare, load, named, unfamiliar
from judge.types import Study

LEXICON = load()


def errors(reference, candidate):
    found = compare(reference, candidate, LEXICON).discrepancies
    return sorted(f"{error.category.value}{error.severity}" for error in found)


@pytest.mark.parametrize(
    ("acute", "old", "severity"),
    [
        ("Acute right clavicle fracture.", "Old healed right clavicle fracture.", 2),
        ("Acute left rib fractures.", "Chronic left rib fractures.", 2),
        ("Acute fracture of the left sixth rib.", "Fracture of the left sixth rib, healed.", 2),
        ("Acute compression fracture of T8.", "Chronic compression fracture of T8.", 2),
        ("Subacute fracture of the sternum.", "Remote fracture of the sternum.", 2),
        ("Acute pulmonary hemorrhage.", "Chronic pulmonary hemorrhage.", 3),
        ("Acute pulmonary infarct.", "Old pulmonary infarct.", 4),
        ("Acute interstitial infiltrates.", "Chronic interstitial infiltrates.", 1),
    ],
)
def test_acute_is_not_old(acute, old, severity):
    assert errors(acute, old) == errors(old, acute) == [f"d{severity}"]
    assert errors(acute, acute) == errors(old, old) == []


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("Acute rib fracture. Old rib fractures.", "Old rib fractures. Acute rib fracture.", []),
        ("Acute rib fracture. Old rib fractures.", "Acute rib fracture.", ["b1"]),
        ("No acute fracture.", "Old rib fracture.", ["a1"]),
        ("No effusion, old rib fractures.", "No effusion. Old rib fractures.", []),
        ("Acute on chronic infiltrates.", "Acute infiltrates.", []),
        ("Fracture in a 45 year old.", "Acute fracture.", []),
        ("Acute pulmonary edema.", "Pulmonary edema.", []),
        # A position that calls for action.
        ("ET tube tip is 1.5 cm above the carina; recommend withdrawal by 2-3 cm.",
         "ET tube tip is 4.5 cm above the carina.", ["c3"]),
        ("ET tube 8 cm above the carina, recommend advancement by 3 cm.",
         "ET tube 5 cm above the carina.", ["c3"]),
        ("PICC in the SVC, recommend repositioning.", "PICC in the SVC.", ["c3"]),
        ("NG tube tip in the stomach.", "NG tube in the stomach, should be advanced.", ["c3"]),
        ("ET tube 3 cm above the carina.", "ET tube 5 cm above the carina.", ["c1"]),
        # Sizes by side.
        ("Moderate right and small left effusions.", "Small right and moderate left effusions.",
         ["d3", "d3"]),
        ("Moderate right effusion. Small left effusion.",
         "Small right effusion. Moderate left effusion.", ["d3", "d3"]),
        ("Small right, mild left effusion.", "Mild right, small left effusion.", []),
        ("Moderate right and small left effusions.", "Small right and small left effusions.",
         ["d1"]),
        # What is missed.
        ("Dextrocardia with situs inversus.", "Lungs are clear.", ["b2"]),
        ("Situs inversus totalis.", "", ["b2"]),
        ("Right aortic arch.", "", ["b1"]),
        ("Right upper lobectomy with volume loss.", "Right upper lobe collapse.", ["a3", "b1"]),
        ("Status post left lower lobectomy.", "Status post lobectomy.", []),
        ("Effusion.", "Empyema.", ["a3"]),
        ("Right-sided chest tube.", "Left-sided chest tube.", ["c2"]),
        ("Right pacemaker.", "Left pacemaker.", ["c1"]),
        # Headings, and what is in front of something.
        ("HEART: Mildly enlarged. LUNGS: Clear.", "Mild cardiomegaly. Clear lungs.", []),
        ("Aorta: calcified. Mediastinum: normal.", "Calcified aorta.", []),
        ("LINES/TUBES: None. Lungs: No consolidation.", "Lungs are clear.", []),
        ("Left base is obscured by effusion.", "Effusion.", []),
        ("Recent rib fracture. Pneumothorax has not recurred.", "Old rib fracture.", ["d2"]),
        ("Silhouetting of the left heart border.", "Clear lungs.", ["b2"]),
        # Which finding has changed.
        ("Mild interval increase in moderate effusion.", "Moderate effusion, increased.", []),
        ("Left effusion with adjacent atelectasis has increased since yesterday.",
         "Left effusion with adjacent atelectasis.", ["f2"]),
        ("Effusion and atelectasis have increased.", "Effusion and atelectasis.", ["f2"]),
    ],
)  # fmt: skip
def test_what_was_read_wrongly(reference, candidate, expected):
    assert errors(reference, candidate) == expected


@pytest.mark.parametrize(
    ("reference", "finding"),
    [
        ("Left effusion with adjacent atelectasis, increased since 3/4.", "pleural effusion"),
        ("Atelectasis with a small effusion has increased.", "atelectasis"),
        ("Effusion, with increased atelectasis.", "atelectasis"),
    ],
)
def test_a_change_belongs_to_what_is_spoken_of(reference, finding):
    found = compare(reference, "Left effusion with adjacent atelectasis.", LEXICON).discrepancies
    assert [one.finding for one in found if one.category.value == "f"] == [finding]


def test_a_comparison_the_other_way_is_called_wrong():
    (error,) = compare("Effusion slightly decreased.", "Effusion has increased.", LEXICON)\
        .discrepancies  # fmt: skip
    assert "wrong comparison" in error.text
    (error,) = compare("Effusion.", "Effusion has increased.", LEXICON).discrepancies
    assert "not in the reference" in error.text


@pytest.mark.parametrize(
    ("report", "quoted"),
    [
        ("Collapse of the right lung.", "Collapse of the right lung"),
        ("Collapse of the right upper lobe.", "Collapse of the right upper lobe"),
        ("Pneumothorax (≤ 5 mm).", "Pneumothorax (≤ 5 mm)"),
        ("Nodule in the apex (8 mm, before 6 mm).", "Nodule in the apex (8 mm, before 6 mm)"),
    ],
)
def test_a_quotation_is_whole(report, quoted):
    (error,) = compare(report, "", LEXICON).discrepancies
    assert f'"{quoted}"' in error.text


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
    found = [set(graded(one, reference, candidate)) for one in ("green", "fineradscore", "crimson")]
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
        ("reference", "No effusion", "not_mentioned"),
    ]
    assert {one[2] for one in verdicts("Loculated effusion.", "No effusion.")} == {"contradicted"}
    assert {one[2] for one in verdicts("Old fracture.", "No acute fracture.")} == {"not_mentioned"}
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
        assert named(error.text, LEXICON) == (finding,)


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("Nodule, better characterized on recent CT chest. Lungs clear.", None),
        ("The clinical indication is a CT chest performed on 3/4. Lungs clear.", None),
        ("Lungs clear. The mass demonstrated with CT scan is not visible.", None),
        ("Lungs clear. CT scan of the abdomen is reported separately.", None),
        ("There is a drain that was placed under ultrasound.", None),
        ("Exam: CT chest without contrast. Findings: Nodule in the right apex.", "images"),
        ("Nodule in the right apex. CT of the chest shows emphysema. Axial images show bullae.",
         "images"),
    ],
)  # fmt: skip
def test_only_a_report_of_other_images_is_refused(report, why):
    assert unfamiliar(report, LEXICON) == why
