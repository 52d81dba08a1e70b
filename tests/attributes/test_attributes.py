"""The attributes of matches: what is counted, what rules say, what a judge is asked for."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support import EXAMPLES, SHARED, Invoke

from judge import prompts, rubrics
from judge.backends import lexicon
from judge.rubrics.attributes.declared import ATTRIBUTES, JUDGED, NOT_STATED, VERDICTS
from judge.rubrics.attributes.reply import Reply
from judge.rubrics.derived import restrict
from judge.stats.summary import TableBuilder, summarise
from judge.types import Annotation, Failed, Item, Scored, Study, Unparsed

RUBRIC = rubrics.load("attributes")
LEXICON = lexicon.load()
Counts = dict[str, float | None]


def judged(reference: str, candidate: str) -> tuple[Annotation, Counts]:
    """What the rules say of two reports, as the rubric reads it, and the numbers."""
    study = Study("s", reference, candidate)
    assert RUBRIC.baseline is not None
    assert RUBRIC.render is not None
    found = RUBRIC.baseline(lexicon.compare(reference, candidate, LEXICON), study)
    assert RUBRIC.parse(RUBRIC.render(found), study) == found
    return found, dict(RUBRIC.measured(found, study))


def match_of(found: Annotation) -> Item:
    (match,) = found.of_kind("match")
    return match


@pytest.mark.parametrize(
    ("attribute", "reference", "candidate", "verdict"),
    [
        ("location", "Nodule in the upper lobe.", "Upper lobe nodule.", "right"),
        (
            "location",
            "Consolidation in the right upper lobe.",
            "Consolidation in the right lower lobe.",
            "wrong_major",
        ),
        ("location", "Nodule in the upper lobe.", "Lung nodule.", "omitted"),
        ("location", "Lung nodule.", "Nodule in the upper lobe.", "added"),
        ("side", "Left effusion.", "Right effusion.", "wrong_major"),
        ("side", "Left effusion.", "Pleural effusion.", "omitted"),
        ("side", "Left effusion.", "Pleural effusion on the left.", "right"),
        ("size", "A 10 mm nodule.", "A 1.1 cm nodule.", "right"),
        ("size", "A 10 mm nodule.", "A 13 mm nodule.", "wrong_minor"),
        ("size", "A 10 mm nodule.", "A 2 cm nodule.", "wrong_major"),
        ("size", "A 10 mm nodule.", "A nodule.", "omitted"),
        ("size", "A nodule.", "A 10 mm nodule.", "added"),
        ("severity", "Small effusion.", "Large effusion.", "wrong_major"),
        ("severity", "Small effusion.", "Moderate effusion.", "wrong_minor"),
        ("severity", "Small effusion.", "Small pleural effusion.", "right"),
        ("severity", "Small effusion.", "Pleural effusion.", "omitted"),
        ("morphology", "Smooth nodule.", "Spiculated nodule.", "wrong_major"),
        ("morphology", "Smooth nodule.", "Lung nodule.", "omitted"),
        ("morphology", "Smooth nodule.", "Smooth lung nodule.", "right"),
        ("certainty", "Pneumothorax.", "Possible pneumothorax.", "wrong_major"),
        ("certainty", "Effusion.", "Possible effusion.", "wrong_minor"),
        ("certainty", "Possible effusion.", "Possible pleural effusion.", "right"),
        ("comparison", "Effusion, larger.", "Effusion, smaller.", "wrong_major"),
        ("comparison", "Effusion, larger.", "Pleural effusion.", "omitted"),
        ("comparison", "Pleural effusion.", "Stable effusion.", "added"),
        ("comparison", "Stable effusion.", "Effusion is unchanged.", "right"),
    ],
)
def test_what_rules_say_of_an_attribute(
    attribute: str, reference: str, candidate: str, verdict: str
) -> None:
    found, _ = judged(reference, candidate)
    match = match_of(found)
    assert match.labels[attribute] == (verdict,)
    # Nothing else differs, and what is wrong is an error of that type and grade.
    grades = {"wrong_major": "significant", "wrong_minor": "insignificant"}
    expected = []
    if verdict in grades:
        expected = [(attribute, grades[verdict])]
    errors = [
        (error.label("error_type"), error.label("grade"))
        for error in found.of_kind("error")
    ]
    assert errors == expected


def test_what_no_report_states_has_no_verdict() -> None:
    found, numbers = judged("Effusion.", "Pleural effusion.")
    assert match_of(found).labels == {"certainty": ("right",)}
    for attribute in ATTRIBUTES:
        stated = [
            numbers[f"{attribute}_{verdict}"]
            for verdict in ("right", "omitted", "added")
            if f"{attribute}_{verdict}" in numbers
        ]
        assert sum(filter(None, stated)) == (attribute == "certainty")


def test_rules_match_one_finding_with_two() -> None:
    found, numbers = judged(
        "Bilateral pleural effusions.",
        "Left pleural effusion. Heart is enlarged. Right pleural effusion.",
    )
    match = match_of(found)
    assert [found.items[link].kind for link in match.links] == [
        "reference_finding",
        "candidate_finding",
        "candidate_finding",
    ]
    assert (numbers["n_matches"], numbers["n_reference_matched"]) == (1, 1)
    assert (numbers["n_candidate_matched"], numbers["n_false"]) == (2, 1)
    assert numbers["finding_precision"] == pytest.approx(2 / 3)


def test_a_size_is_that_of_the_finding_and_of_today() -> None:
    found, _ = judged(
        "A 12 mm nodule, previously 6 mm. ET tube ends 4 cm above the carina.",
        "A 12 mm nodule. ET tube ends 1 cm above the carina.",
    )
    assert [item.text for item in found.of_kind("size")] == [
        *("12 mm", "4 cm"),
        *("12 mm", "1 cm"),
    ]
    wrong = [error.text for error in found.of_kind("error")]
    assert wrong == ["The reference says 4 cm, the candidate 1 cm."]


def test_two_findings_of_one_size_are_two_sizes() -> None:
    nodules = "Right nodule of 4 mm. Left nodule of 4 mm."
    candidate = "Right nodule of 4 mm. Left nodule of 9 mm."
    listed = [
        [
            finding(index, words, ACTIONABLE, sizes=[size])
            for index, words, size in (
                (1, "Right nodule of 4 mm", "4 mm"),
                (2, f"Left nodule of {last}", last),
            )
        ]
        for last in ("4 mm", "9 mm")
    ]
    reply = {
        "reference_findings": listed[0],
        "candidate_findings": listed[1],
        "matches": [match([1, 2], [1, 2])],
    }
    found = RUBRIC.parse(json.dumps(reply), Study("s", nodules, candidate))
    (error,) = found.of_kind("error")
    assert error.label("error_type") == "size"
    assert error.text == "The reference says 4 mm, 4 mm, the candidate 4 mm, 9 mm."


def finding(index: int, words: str, triage: str, **more: Any) -> dict[str, Any]:
    listed = {"finding": words, "quotes": [words], "sizes": [], "triage": triage}
    return {"index": index, **listed, **more}


def match(*indices: list[int], **verdicts: str) -> dict[str, Any]:
    reference, candidate = indices
    verdicts = dict.fromkeys(JUDGED, NOT_STATED) | {"certainty": "right"} | verdicts
    places = {"reference": reference, "candidate": candidate}
    return {**places, "explanation": "It differs.", **verdicts}


def answered(
    reference: list[str], candidate: list[str], matches: list[dict[str, Any]]
) -> Annotation:
    """Read an answer about findings of these triage levels."""
    listed: dict[str, list[dict[str, Any]]] = {}
    for side, levels in (("reference", reference), ("candidate", candidate)):
        listed[side] = [
            finding(index, f"{side} {index} seen.", level)
            for index, level in enumerate(levels, 1)
        ]
    reports = {
        side: " ".join(one["finding"].capitalize() for one in findings)
        for side, findings in listed.items()
    }
    reply = {
        "reference_findings": listed["reference"],
        "candidate_findings": listed["candidate"],
        "matches": matches,
    }
    return RUBRIC.parse(json.dumps(reply), Study("s", **reports))


def summary(*outcomes: Annotation | Failed | Unparsed) -> dict[str, Any]:
    table = TableBuilder(RUBRIC, [])
    for number, outcome in enumerate(outcomes):
        study = Study(f"s{number}", "x", "y")
        if isinstance(outcome, Annotation):
            table.add(study, Scored(outcome), RUBRIC.measured(outcome, study))
        else:
            table.add(study, outcome, None)
    return dict(summarise(table.build(), RUBRIC))


URGENT, ACTIONABLE, LOW = "urgent", "actionable", "not_actionable"
STUDIES = (
    answered(
        [URGENT, ACTIONABLE, LOW],
        [ACTIONABLE, URGENT],
        [
            match([1], [1], side="right", severity="wrong_major", location="omitted"),
            match([2], [2], side="wrong_minor", comparison="added"),
        ],
    ),
    answered([URGENT, URGENT], [URGENT], [match([1, 2], [1], side="right")]),
    answered([URGENT], [], []),
    answered([], [LOW], []),
)


@pytest.fixture(scope="module")
def of_all() -> dict[str, Any]:
    """The statistics of `STUDIES`."""
    return dict(summary(*STUDIES)["statistics"])


@pytest.mark.parametrize(
    ("name", "numerator", "denominator"),
    [
        ("finding_recall", 4, 6),
        ("finding_precision", 3, 4),
        ("right_matches", 1, 3),
        # Of both: side three times, severity once, certainty three times.
        ("wrong_attributes", 2, 7),
        ("major_attributes", 1, 7),
        # Of the reference without certainty: side, severity, and the location left out.
        ("omitted_attributes", 1, 5),
        ("added_attributes", 1, 5),
        ("wrong_side", 1, 3),
        ("major_side", 0, 3),
        ("wrong_severity", 1, 1),
        ("major_severity", 1, 1),
        ("wrong_certainty", 0, 3),
        ("urgent_recall", 3, 4),
        ("urgent_precision", 2, 2),
    ],
)
def test_ratios_are_of_sums_over_studies(
    of_all: dict[str, Any], name: str, numerator: int, denominator: int
) -> None:
    statistic = of_all[name]
    assert (statistic["numerator"], statistic["denominator"]) == (
        numerator,
        denominator,
    )
    assert statistic["value"] == pytest.approx(numerator / denominator)


def test_means_and_rates_of_the_set(of_all: dict[str, Any]) -> None:
    # Two wrong attributes and three findings in no match.
    assert of_all["errors"]["value"] == pytest.approx(5 / 4)
    assert of_all["no_significant_error"]["value"] == pytest.approx(2 / 4)
    assert of_all["no_missed_urgent"]["value"] == pytest.approx(3 / 4)


def test_without_anything_to_divide_by_there_is_no_number() -> None:
    statistics = summary(answered([], [], []), answered([], [], []))["statistics"]
    for name in ("finding_recall", "right_matches", "wrong_side", "urgent_recall"):
        assert statistics[name]["value"] is None
    alone = summary(STUDIES[1])["statistics"]
    for name in ("wrong_location", "wrong_size", "major_size", "omitted_attributes"):
        is_stated = name == "omitted_attributes"
        assert (alone[name]["value"] is not None) == is_stated


def test_studies_without_a_score_are_counted_and_in_no_number(
    of_all: dict[str, Any],
) -> None:
    with_them = summary(*STUDIES, Failed("timeout"), Unparsed("no JSON"))
    assert (with_them["n_studies"], with_them["n_scored"]) == (6, 4)
    assert (with_them["n_failed"], with_them["n_unparsed"]) == (1, 1)
    for name, statistic in with_them["statistics"].items():
        assert statistic["value"] == of_all[name]["value"], name


def test_intervals_are_by_patient(tmp_path: Path, invoke: Invoke) -> None:
    """Each study four times: alike as those of a patient, they tell no more than once."""
    refs = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    preds = json.loads((EXAMPLES / "preds.json").read_text("utf-8"))
    again: dict[str, dict[str, Any]] = {"refs": {}, "preds": {}}
    for study_id, reference in refs.items():
        for copy in range(4):
            key = f"{study_id}_{copy}"
            again["refs"][key] = {**reference, "patient": study_id}
            again["preds"][key] = preds[study_id]
    for name, records in again.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(records), "utf-8")
    examples = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")
    for out, files in (("run", ("preds.json", "refs.json")), ("once", examples)):
        done = invoke("attributes", *files, "-o", out, "--format", "json")
        assert done.exit_code == 0
    widths: dict[str, list[float]] = {"wrong_attributes": [], "urgent_recall": []}
    for run in (("once",), ("run",), ("run", "--patient-field", "none")):
        printed = invoke("rates", *run, "--resamples", 2000, "--format", "json")
        statistics = json.loads(printed.stdout)["statistics"]
        for name, of_name in widths.items():
            of_name.append(statistics[name]["high"] - statistics[name]["low"])
    for once, by_patient, independent in widths.values():
        assert by_patient == pytest.approx(once, rel=0.1)
        assert independent < 0.75 * by_patient


def test_the_judge_is_asked_for_all_attributes_but_the_size() -> None:
    schema = Reply.model_json_schema()["$defs"]
    judged_names = set(schema["ListedMatch"]["properties"])
    judged_names -= {"reference", "candidate", "explanation"}
    assert judged_names == set(ATTRIBUTES) - {"size"} == set(JUDGED)
    assert len(ATTRIBUTES) == 7
    system = prompts.load("attributes").system
    for word in (*ATTRIBUTES, *VERDICTS, NOT_STATED, URGENT, ACTIONABLE, LOW):
        assert word in system
    closed = schema["ListedMatch"]["properties"]["side"]["enum"]
    assert set(closed) == {*VERDICTS, NOT_STATED}


def test_a_reader_of_errors_alone_has_no_numbers_of_matches() -> None:
    why = "the readers marked no findings"
    kinds = ("reference_finding", "candidate_finding", "match")
    reader = restrict(RUBRIC, dict.fromkeys(kinds, why))
    labels = {"error_type": ("side",), "grade": ("significant",)}
    marked = Annotation((Item("error", "left effusion", labels),))
    numbers = reader.measured(marked, Study("s", "x", "y"))
    assert numbers["significant_side"] == numbers["n_significant"] == 1
    for name in ("finding_recall", "n_matches", "side_right", "n_urgent_reference"):
        assert numbers[name] is None


@pytest.mark.skipif(not SHARED.exists(), reason="the shared real reports are not here")
def test_real_reports_are_answered_and_a_report_agrees_with_itself() -> None:
    records = json.loads((SHARED / "refs.json").read_text("utf-8"))
    texts = [record["report"] for record in [*records.values()][:120]]
    for text, other in pairwise(texts):
        judged(text, other)
        _, numbers = judged(text, text)
        assert numbers["n_significant"] == numbers["n_insignificant"] == 0
        assert numbers["right_matches"] in (None, 1)
