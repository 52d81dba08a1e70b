"""What a run says of its judge: what its passport covers, and what others found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import EXAMPLES, ROOT, Invoke, write_json

from judge import Run
from judge.backends.published import published_notes, published_of
from judge.studies.language import language_of, languages_of

PREDS, REFS = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
GREEN_MODEL = "StanfordAIMI/GREEN-radllama2-7b"


@pytest.fixture
def passport(invoke: Invoke) -> Path:
    """A passport of the built-in judge, of chest radiographs, where runs look for it."""
    words = ("green", PREDS, REFS, "--limit", 5, "--modality", "xr")
    assert invoke(*words).exit_code == 0
    done = invoke("passport", "lexicon")
    assert done.exit_code == 0, done.stderr
    (path,) = Path("judge-runs/passports").glob("*.json")
    return path


def test_a_run_says_that_its_modality_is_not_covered(
    invoke: Invoke, passport: Path
) -> None:
    """On the terminal before and after, and in both files of the run."""
    said = f"the passport {passport} does not cover this run's modality, not stated: it covers xr"
    done = invoke("green", PREDS, REFS, "--limit", 5, "--out", "run")
    assert done.exit_code == 0, done.stderr
    assert said in done.stderr
    run = Run.open("run")
    assert said in run.manifest.notes
    assert said in run.summary().notes
    assert "does not cover this run's modality" in " ".join(done.stdout.split())
    assert said in invoke("green", PREDS, REFS, "--dry-run").stderr

    ct = invoke("green", PREDS, REFS, "--modality", "ct", "--out", "ct")
    assert "this run's modality, ct: it covers xr" in ct.stderr


def test_a_run_that_is_covered_says_the_verdict(invoke: Invoke, passport: Path) -> None:
    words = ("green", PREDS, REFS, "--limit", 5, "--modality", "xr", "--out", "run")
    done = invoke(*words)
    said = f"the passport {passport}: it is unknown whether to trust lexicon on xr (agreement"
    assert said in done.stderr
    assert "does not cover" not in done.stderr

    made = json.loads(passport.read_text())
    (entry,) = made["modalities"]
    for criterion in entry["criteria"]:
        criterion["answer"] = "yes"
    entry["criteria"][3]["answer"] = "no"
    passport.write_text(
        json.dumps({**made, "modalities": [{**entry, "verdict": "not trusted"}]})
    )
    again = invoke(*words[:-1], "again")
    said = f"the passport {passport}: lexicon is not trusted on xr (false alarms)"
    assert said in again.stderr
    assert said in Run.open("again").manifest.notes


def test_a_run_says_that_its_language_is_not_covered(
    invoke: Invoke, passport: Path
) -> None:
    german = "Die Lunge ist frei. Kein Erguss. Das Herz ist nicht vergrößert."
    english = "The lungs are clear. There is no effusion."
    texts = {f"s{n}": german if n < 4 else english for n in range(12)}
    reports = write_json(Path("reports.json"), texts)
    words = ("--modality", "xr", "--out", "run", "--min-coverage", 0)
    done = invoke("green", reports, reports, *words)
    assert done.exit_code == 0, done.stderr
    said = (
        f"the passport {passport} does not cover 4 of 12 references, which seem to be in German: "
        "it covers English"
    )
    assert said in done.stderr
    assert said in Run.open("run").manifest.notes


def test_another_judge_or_rubric_has_no_passport_here(
    invoke: Invoke, passport: Path
) -> None:
    done = invoke("fineradscore", PREDS, REFS, "--limit", 5, "--out", "run")
    assert "passport" not in done.stderr
    lexicon = EXAMPLES / "lexicon.yaml"
    words = ("--judge", f"lexicon:{lexicon}", "--limit", 5, "--out", "own")
    assert "passport" not in invoke("green", PREDS, REFS, *words).stderr
    assert passport.is_file()


def test_a_file_that_is_no_passport_is_named_and_stops_nothing(
    invoke: Invoke, passport: Path
) -> None:
    passport.write_text('{"format": 7}')
    done = invoke("green", PREDS, REFS, "--limit", 5, "--out", "run")
    assert done.exit_code == 0, done.stderr
    assert (
        f"a passport cannot be read: {passport} is no passport: it has the format 7"
        in done.stderr
    )


def test_greens_model_on_ct_says_what_two_groups_found_before_anything_is_asked(
    invoke: Invoke,
) -> None:
    words = ("--judge", GREEN_MODEL, "--base-url", "http://127.0.0.1:9/v1")
    words += ("--prompt", "green", "--dry-run")
    done = invoke("green", PREDS, REFS, *words, "--modality", "ct")
    assert done.exit_code == 0, done.stderr
    assert "Kendall's tau 0.05 (n = 400; " in done.stderr
    assert "Spearman's rho 0.70 (n = 175; " in done.stderr
    assert (
        "published"
        not in invoke("green", PREDS, REFS, *words, "--modality", "xr").stderr
    )
    # Who does not say what the reports are of learns it too.
    unstated = invoke("green", PREDS, REFS, *words)
    assert "if these reports are of ct, measure it" in unstated.stderr


@pytest.mark.parametrize(
    "judge",
    [
        *(GREEN_MODEL, f"vllm:{GREEN_MODEL}", "hf:/models/GREEN-RadPhi2/"),
        *("vllm:GREEN-radllama2-7b", f"ray:{GREEN_MODEL}@1fa8c82"),
    ],
)
@pytest.mark.parametrize("modality", ["ct", "chest-ct"])
def test_the_names_of_greens_models(judge: str, modality: str) -> None:
    assert len(published_notes(judge, "green", modality)) == 1


def test_other_judges_rubrics_and_modalities_have_nothing_published() -> None:
    assert published_notes("lexicon", "green", "ct") == []
    assert published_notes("evergreen", "green", "ct") == []
    assert published_notes(GREEN_MODEL, "crimson", "ct") == []
    assert published_notes(GREEN_MODEL, "green", "mr") == []
    # Agreement on chest radiographs is not low, and needs no warning.
    assert published_notes(GREEN_MODEL, "green", "xr") == []
    assert all(entry.source for entry in published_of(GREEN_MODEL, "green"))


def test_a_passport_without_runs_has_what_is_published_and_trusts_nothing(
    invoke: Invoke,
) -> None:
    done = invoke("passport", GREEN_MODEL, "--rubric", "green", "--format", "json")
    assert done.exit_code == 0, done.stderr
    made = json.loads(done.stdout)
    verdicts = {entry["modality"]: entry["verdict"] for entry in made["modalities"]}
    assert verdicts == {"ct": "unknown", "xr": "unknown"}
    of_ct = [entry for entry in made["published"] if entry["modality"] == "ct"]
    assert [(entry["statistic"], entry["value"]) for entry in of_ct] == [
        ("kendall", 0.047),
        ("spearman", 0.7),
    ]


def test_the_road_of_a_run_does_not_load_what_makes_passports() -> None:
    """`judge green` is as fast as before: it reads passports, and makes none."""
    for path in ("cli/judging.py", "judge/running/coverage.py", "judge/running/run.py"):
        assert "judge.passports" not in (ROOT / path).read_text(), path


@pytest.mark.parametrize(
    ("report", "language"),
    [
        ("No effusion. The heart is not enlarged.", "en"),
        ("Lungs are clear.", "en"),
        ("Kein Pleuraerguss. Das Herz ist normal groß.", "de"),
        ("Pas d'épanchement pleural. Le coeur est de taille normale.", "fr"),
        ("No se observa derrame pleural. Los pulmones están claros.", "es"),
        ("Non si osserva versamento pleurico. I polmoni sono chiari.", "it"),
        ("Sem derrame pleural. Os pulmões não têm consolidação.", "pt"),
        ("Geen pleuravocht. Het hart is niet vergroot.", "nl"),
        ("双肺清晰。未见胸腔积液。", "zh"),
        ("両側肺野に異常を認めない。", "ja"),
        ("흉수는 보이지 않는다.", "ko"),
        ("Лёгкие без очаговых изменений.", "ru"),
        ("Normal.", "und"),
        ("", "und"),
        ("Pneumothorax 3 mm.", "und"),
    ],
)
def test_languages_are_told_by_their_commonest_words(
    report: str, language: str
) -> None:
    assert language_of(report) == language


def test_a_rare_language_may_be_a_mistake() -> None:
    english, german = "The lungs are clear.", "Die Lunge ist frei."
    assert languages_of([english] * 39 + [german] + ["Normal."]) == {"en": 39, "und": 2}
    assert languages_of([english] * 18 + [german] * 2) == {"en": 18, "de": 2}
