"""Context, prior report and modality: read from fields, shown in the question, signed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import Invoke, write_json

from judge import prompts
from judge.running.folder import RunFolder
from judge.running.run import input_notes
from judge.studies import StudySet, from_python, read_pair
from judge.studies.study_set import attach_context, read_context
from judge.types import Failed, JudgeError, Study

REXRANK = "Age:50-60.Indication: Chest pain, dyspnea Comparison: None."


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (REXRANK, {"age": "50-60", "indication": "Chest pain, dyspnea"}),
        # As ReXrank's files have it: parts that are glued, nan, and tags around.
        (
            "Age:77.0.Gender:F.Indication:nanComparison: None.",
            {"age": "77", "sex": "F"},
        ),
        (
            "Indication: r/o PNA?Comparison: CT.",
            {"indication": "r/o PNA?", "comparison": "CT."},
        ),
        (
            "<context>Age:50-60.Indication: Cough.</context>",
            {"age": "50-60", "indication": "Cough."},
        ),
        ("<history> nan </history>", {}),
        ("<5 mm nodule>", {"context": "<5 mm nodule>"}),
        ("Exam: [Not provided].History: (None)", {}),
        ("Age:80.Gender:M.", {"age": "80", "sex": "M"}),
        ("Indication: Age related decline?", {"indication": "Age related decline?"}),
        ("Cough for 3 days: fever", {"context": "Cough for 3 days: fever"}),
        ('{"Age": 61, "sex": "F", "note": null}', {"age": "61", "sex": "F"}),
        ("[Clinical] cough", {"context": "[Clinical] cough"}),
        (61, {"context": "61"}),
        (" N/A ", {}),
        ('{"age": NaN, "sex": "Unknown", "history": "-"}', {}),
        (
            "Age:na.Gender:null.Indication: None Comparison: none known",
            {"comparison": "none known"},
        ),
    ],
)
def test_a_context_is_read_by_its_names(value: object, said: dict[str, str]) -> None:
    assert read_context("context", value) == said


def _studies(**fields: list[object]) -> StudySet:
    n = len(next(iter(fields.values()), [None]))
    return from_python(["No effusion."] * n, ["Effusion."] * n, fields=fields)


def test_fields_are_known_by_their_names_or_named() -> None:
    studies = _studies(
        site=["A"], Indication=["cough"], patient_age=[61], earlier=["Clear."]
    )
    usual = attach_context(studies, context=None)
    assert usual.judge_context.context == ("patient_age", "Indication")
    assert usual.study(0).context == {"age": "61", "indication": "cough"}
    own = attach_context(
        studies, context=["SITE", "site"], prior="earlier", modality="DX"
    )
    assert own.study(0).context == {"site": "A"}
    assert own.study(0).prior == "Clear."
    assert own.study(0).modality == "xr"
    assert own.take([0]).study(0) == own.study(0)
    assert own.judge_context.shown == {
        "context": ["site"],
        "prior": ["earlier"],
        "modality": ["xr"],
    }
    assert attach_context(studies, context=()).judge_context.shown == {}


def test_a_field_of_the_candidates_alone_is_shown_only_by_its_name(
    tmp_path: Path,
) -> None:
    refs = [{"study_id": "a", "findings": "Clear.", "age": 61}]
    preds = [
        {
            "study_id": "a",
            "prediction": "Mass.",
            "age": 20,
            "Indication": "x",
            "status": "y",
        }
    ]
    paths = [
        write_json(tmp_path / n, d) for n, d in (("p.json", preds), ("r.json", refs))
    ]
    studies = read_pair(*map(str, paths), reserved=["status"])
    assert studies.of_candidates == {"Indication", "field_status"}
    assert attach_context(studies.take([0]), context=None).judge_context.context == (
        "age",
    )
    named = attach_context(studies, context=["indication"])
    assert named.study(0).context == {"indication": "x"}
    both = write_json(tmp_path / "both.json", [refs[0] | preds[0]])
    alone = read_pair(str(both), None)
    assert alone.of_candidates == frozenset()
    assert attach_context(alone, context=None).judge_context.context == (
        "age",
        "Indication",
    )


def test_the_question_shows_it_between_marks_before_the_reports() -> None:
    prompt = prompts.load("fineradscore-zeroshot")
    plain = prompt.messages("Clear.", "Effusion.")
    study = Study(
        "1",
        "Clear.",
        "Effusion.",
        context={"age": "61"},
        prior="Old effusion.",
        modality="mg",
    )
    *before, question = prompt.about(study)
    assert tuple(before) == plain[:-1]
    assert question.content.endswith(
        plain[-1].content.split("<<<REFERENCE ")[1].partition("\n")[2]
    )
    for part in (
        "mammography",
        "BI-RADS",
        "CONTEXT>>>",
        "age: 61",
        "\nOld effusion.\n",
    ):
        assert question.content.count(part) >= 1, part
    places = [
        question.content.index(one)
        for one in ("mammography", "age: 61", "Old", "Clear.")
    ]
    assert places == sorted(places)
    assert prompt.about(Study("1", "Clear.", "Effusion.")) == plain


@pytest.mark.parametrize(
    ("fields", "asked", "message"),
    [
        (
            {"site": ["A"]},
            {"context": ["nope"]},
            "no field 'nope', for --column context; .* site",
        ),
        ({"old": ["N/A"]}, {"prior": "old"}, "old of --column prior is empty"),
        ({"site": ["A"]}, {"modality": "pet"}, "unknown modality 'pet'; .* xr, ct"),
    ],
)
def test_a_wrong_context_names_the_field(fields, asked, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(JudgeError, match=message):
        attach_context(_studies(**fields), **{"context": None, **asked})


def test_an_exact_wording_has_no_place_for_it(tmp_path: Path) -> None:
    path = tmp_path / "exact.yaml"
    path.write_text(
        "name: exact\nversion: 1\nrubric: green\nwords: 300\nuser: $reference $candidate\n"
    )
    prompt = prompts.load(str(path))
    with pytest.raises(JudgeError, match="--no-context"):
        prompt.messages("R", "C", {"age": "61"})
    # Chest radiographs are what it is about.
    assert prompt.messages("R", "C", modality="xr") == prompt.messages("R", "C")


def test_the_rules_judge_only_what_they_were_made_for(invoke: Invoke) -> None:
    refs = {
        "english": {"findings": "No effusion."},
        "french": {"findings": "Le coeur est de taille normale."},
        "ct": {"findings": "CT of the chest shows no effusion."},
    }
    write_json(Path("refs.json"), refs)
    write_json(Path("preds.json"), dict.fromkeys(refs, "No effusion."))
    files = ("green", "preds.json", "refs.json", "--min-coverage", 0)
    assert invoke(*files, "--out", "run").exit_code == 0
    failed = {
        s.study_id: o.reason
        for s, o in RunFolder.open("run").outcomes()
        if isinstance(o, Failed)
    }
    assert failed == {"french": "unfamiliar language", "ct": "unfamiliar images"}
    # With modality xr it judges them all; with ct none.
    for modality, n in (("xr", 1), ("ct", 3)):
        assert invoke(*files, "--out", modality, "--modality", modality).exit_code == 0
        assert RunFolder.open(modality).summary().n_failed == n
        assert f"modality:{modality}" in RunFolder.open(modality).signature


def test_an_earlier_report_that_is_shown_is_not_missed() -> None:
    """Only a judge that reads it, and only where there is one."""
    studies = from_python(
        ["Unchanged.", "Stable mass.", "Clear."],
        ["Clear."] * 3,
        fields={"earlier": ["Mass.", "None.", None]},
    )
    shown = attach_context(studies, context=(), prior="earlier")

    class Asked:
        prompts = ("one",)

    class Rules:
        prompts = ()

    def n_missed(judge: object, some: StudySet) -> str:
        return input_notes(judge, some)[-1].partition(" ")[0]  # type: ignore[arg-type]

    assert n_missed(Asked(), shown) == "1"
    assert n_missed(Asked(), studies) == "2"
    assert n_missed(Rules(), shown) == "2"
