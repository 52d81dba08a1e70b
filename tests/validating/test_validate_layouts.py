"""Each published layout, from its files to agreement and ceiling."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import ROOT, Invoke
from validatehelp import TIDY, judged, one, validated

from judge.running.folder import Run

DATA = ROOT / "tests" / "readers" / "data"
LAYOUTS = {
    "tidy": ([TIDY], ("--section", "findings")),
    "rexval": ([DATA / "rexval_reports.csv", DATA / "rexval_counts.csv"], ()),
    "radpref": (
        [DATA / name for name in ("preference_data.json", "user_1.json", "user_2.json")],
        (),
    ),
    "radevalx": ([DATA / "radevalx.csv"], ("--reader", "ann")),
}


def read(invoke: Invoke, out: Path, layout: str) -> Path:
    """Import a layout's files; returns the folder of the readers' runs."""
    files, options = LAYOUTS[layout]
    done = invoke("import", layout, *files, *options, "--out", out)
    assert done.exit_code == 0, done.stderr
    return out


@pytest.mark.parametrize("rubric", ["green", "fineradscore"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_from_a_layouts_files_to_agreement(
    invoke: Invoke, tmp_path: Path, layout: str, rubric: str
) -> None:
    readers = read(invoke, tmp_path / "readers", layout)
    first = sorted(readers.iterdir())[-1]
    judge = judged(invoke, tmp_path / "judge", first, rubric=rubric)
    found = validated(invoke, judge, "--readers", readers)
    assert found["n_studies"] > 1
    names = {row["quantity"] for row in found["agreement"]}
    assert {"errors", "significant"} <= names
    both = rubric == "fineradscore" and layout == "radpref"
    assert ("actionable" in names) == ("no_actionable_error" in found) == both
    assert len(found["ceiling"]) == len(found["readers"]) * len({*names})
    printed = invoke("validate", judge, "--readers", readers)
    assert printed.exit_code == 0, printed.stderr
    assert "nan" not in printed.stdout.lower()
    corrected = invoke("rates", judge, "--readings", first, "--readings-at-random")
    assert corrected.exit_code == 0, corrected.stderr
    assert "with the judge's bias taken out" in corrected.stdout
    few = "too few readings" in corrected.stdout
    assert few or layout == "tidy"  # of the others there are a handful of studies


def test_candidates_of_one_study_are_ordered(invoke: Invoke, tmp_path: Path) -> None:
    readers = read(invoke, tmp_path / "readers", "radpref")
    judge = judged(invoke, tmp_path / "judge", readers / "reader-user_1")
    found = validated(invoke, judge, "--readers", readers)
    assert found["patient_field"] == "patient"
    by_rating = one(found["preference"], quantity="rating")
    assert (by_rating["judge"], by_rating["measure"]) == ("lexicon", "GREEN")
    assert by_rating["n"] == 1
    assert one(found["agreement"], quantity="rating")["measure"] == "GREEN"
    # A level that the readers' scale has not is in no category's count.
    assert one(found["agreement"], quantity="errors_a", own=True)["n"] == 3
    whole = " ".join(found["notes"])
    assert "(c) wrong location" in whole
    assert "the readers had no such category" in whole


def test_what_is_a_candidate_is_told_by_its_model_and_not_by_its_patient(
    invoke: Invoke, tmp_path: Path
) -> None:
    """Ids such as PATIENT/STUDY are of several studies, and two candidates may have a patient."""

    def preferences(name: str, rows: list[tuple[str, str, int]]) -> list[dict[str, object]]:
        head = "study_id,reader,patient,model,category,level,count,reference,candidate"
        lines = [
            f"{study},{reader},p{int(study[-1]) // 2},{model},a,significant,{n + (reader == 'bo')},"
            f"The heart of {study} is large.,Small left effusion by {model or study}."
            for study, model, n in rows
            for reader in ("al", "bo")
        ]
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *lines]))
        readers = tmp_path / name
        done = invoke("import", "tidy", f"{readers}.csv", "--section", "findings", "--out", readers)
        assert done.exit_code == 0, done.stderr
        judge = judged(invoke, tmp_path / f"{name}-judge", readers / "reader-al")
        found: list[dict[str, object]] = validated(invoke, judge, "--readers", readers)[
            "preference"
        ]
        return found

    studies = [(f"p{at // 2}/s{at}", "", at % 2) for at in range(6)]
    assert preferences("studies", studies) == []
    candidates = [(f"s{at}", model, n) for at in range(4) for n, model in enumerate("AB")]
    assert one(preferences("candidates", candidates), quantity="errors", measure="errors")["n"] == 4


def test_lines_without_a_reference_are_held_against_a_judge_of_the_candidates(
    invoke: Invoke, tmp_path: Path
) -> None:
    files = [DATA / "refisco.csv"]
    readers = tmp_path / "readers"
    done = invoke("import", "refisco", *files, "--out", readers)
    assert done.exit_code == 0, done.stderr
    run = sorted(readers.iterdir())[0]
    refused = invoke("green", run)
    assert refused.exit_code == 2
    assert "has no reference reports, since its reader's files have none" in refused.stderr
    records = list(Run(run).records())
    for name, key in (("preds", "candidate"), ("refs", "reference")):
        texts = {one["study_id"]: {key: one["candidate"]} for one in records}
        (tmp_path / f"{name}.json").write_text(json.dumps(texts))
    judge = tmp_path / "judge"
    sides = (tmp_path / "preds.json", tmp_path / "refs.json")
    done = invoke("fineradscore", *sides, "--out", judge)
    assert done.exit_code == 0, done.stderr
    found = validated(invoke, judge, "--readers", readers)
    assert any("the references are not in" in note for note in found["notes"])
    assert {row["quantity"] for row in found["limits"]} == {"errors", "significant", "actionable"}
    scores = {row["measure"] for row in found["agreement"] if not row["own"]}
    assert scores == {"highest severity", "severity sum"}  # more is worse, as of errors


def test_a_folder_of_readers_runs_is_each_of_them(invoke: Invoke, tmp_path: Path) -> None:
    readers = read(invoke, tmp_path / "readers", "tidy")
    judge = judged(invoke, tmp_path / "judge", readers / "reader-fern")
    each = [word for path in sorted(readers.iterdir()) for word in ("--readings", path)]
    named = invoke("rates", judge, *each, "--format", "json")
    folder = invoke("rates", judge, "--readings", readers, "--format", "json")
    assert named.exit_code == 0, named.stderr
    assert folder.stdout == named.stdout
    runs = (f"m={judge}", "--no-tests", "--format", "json", "--readings")
    compared = json.loads(invoke("compare", *runs, f"m={readers}").stdout)
    assert {one["n"] for one in compared["corrected"]["readings"][0]["runs"]} == {13, 15}
    empty = invoke("rates", judge, "--readings", tmp_path)
    assert empty.exit_code == 2
