"""What `judge compare` must not mix: references, patients, orders, damaged tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from support import EXAMPLES, Invoke, write_json

PREDS = json.loads((EXAMPLES / "preds.json").read_text("utf-8"))
REFS = {
    key: {"report": record["section_findings"], "study_class": record["study_class"]}
    for key, record in json.loads((EXAMPLES / "refs.json").read_text("utf-8")).items()
}
IDS = list(REFS)


def judged(invoke: Invoke, name: str, refs: Path, rubric: str = "green") -> Path:
    """A run over the example predictions, in the order of the references."""
    preds = write_json(Path(f"preds_{name}.json"), PREDS)
    done = invoke(rubric, preds, refs, "--out", name, "--section", "report")
    assert done.exit_code == 0, done.stderr
    return Path(name)


def as_csv(path: Path, refs: dict) -> Path:
    """The references as CSV, where every value is text."""
    with path.open("w", newline="") as file:
        rows = [{"study_id": key, **record} for key, record in refs.items()]
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def found(invoke: Invoke, *args: object) -> dict:
    done = invoke("compare", *args, "--format", "json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def fails(invoke: Invoke, *args: object) -> str:
    done = invoke("compare", *args)
    assert done.exit_code == 2, done.stdout
    return " ".join(done.stderr.split())


def test_other_references_are_refused_though_the_ids_agree(invoke: Invoke) -> None:
    one = judged(invoke, "a", write_json(Path("one.json"), REFS))
    moved = dict(zip(IDS, [*list(REFS.values())[1:], REFS[IDS[0]]], strict=True))
    other = judged(invoke, "b", write_json(Path("other.json"), moved))
    text = fails(invoke, one, other)
    assert "a and b judged different references for 15 of 15 studies, 'ex-001' among" in text
    assert "--allow references" in text
    notes = found(invoke, one, other, "--allow", "references")["notes"]
    assert any("different references for 15 of 15" in note for note in notes)
    assert "allowed:references" in found(invoke, one, other, "--allow", "references")["signature"]


def test_references_of_another_form_are_the_same(invoke: Invoke) -> None:
    spaced = {
        key: {**record, "report": record["report"].replace(" ", "  ") + "\n"}
        for key, record in REFS.items()
    }
    one = judged(invoke, "a", write_json(Path("one.json"), REFS))
    other = judged(invoke, "b", as_csv(Path("other.csv"), spaced))
    test = found(invoke, one, other)["groups"][0]["tests"]["green"][0]
    assert (test["n"], test["difference"]) == (15, 0)


def test_only_the_common_studies_must_have_the_same_references(invoke: Invoke) -> None:
    one = judged(invoke, "a", write_json(Path("one.json"), REFS))
    fewer = {key: REFS[key] for key in IDS[:12]}
    preds = write_json(Path("preds_b.json"), {key: PREDS[key] for key in IDS[:12]})
    refs = write_json(Path("fewer.json"), fewer)
    assert invoke("green", preds, refs, "--out", "b", "--section", "report").exit_code == 0
    both = found(invoke, one, "b", "--common")
    assert [(run["n_studies"], run["n_scored"]) for run in both["runs"]] == [(12, 12)] * 2


def test_a_run_without_its_records_cannot_show_its_references(invoke: Invoke) -> None:
    one = judged(invoke, "a", write_json(Path("one.json"), REFS))
    other = judged(invoke, "b", as_csv(Path("other.csv"), REFS))
    lines = (other / "annotations.jsonl").read_text("utf-8").splitlines(keepends=True)
    (other / "annotations.jsonl").write_text("".join([lines[1], *lines[1:]]), "utf-8")
    text = fails(invoke, one, other)
    assert "annotations.jsonl of b lacks 1 studies, 'ex-001' among them" in text


def test_a_patient_is_the_same_as_number_and_as_text(invoke: Invoke) -> None:
    refs = {key: {**record, "patient": at // 3} for at, (key, record) in enumerate(REFS.items())}
    one = judged(invoke, "a", write_json(Path("one.json"), refs))
    other = judged(invoke, "b", as_csv(Path("other.csv"), refs))
    assert found(invoke, one, other)["patient_field"] == "patient"


def test_patients_that_disagree_are_not_quietly_set_aside(invoke: Invoke) -> None:
    sides = [
        {key: {**record, "patient": at // by} for at, (key, record) in enumerate(REFS.items())}
        for by in (2, 3)
    ]
    one = judged(invoke, "a", write_json(Path("one.json"), sides[0]))
    other = judged(invoke, "b", write_json(Path("other.json"), sides[1]))
    text = fails(invoke, one, other)
    assert "disagree about 'patient'" in text
    assert "--patient-field none" in text
    assert found(invoke, one, other, "--patient-field", "none")["patient_field"] is None


def test_the_order_of_runs_and_studies_changes_no_number(invoke: Invoke) -> None:
    one = judged(invoke, "a", write_json(Path("one.json"), REFS))
    backwards = dict(reversed(REFS.items()))
    empty = write_json(Path("preds_b.json"), dict.fromkeys(IDS, "The lungs are clear."))
    refs = write_json(Path("other.json"), backwards)
    assert invoke("green", empty, refs, "--out", "b", "--section", "report").exit_code == 0
    first, second = found(invoke, one, "b"), found(invoke, "b", one)
    assert first["signature"] == second["signature"]
    ours = first["groups"][0]["tests"]["green"][0]
    theirs = second["groups"][0]["tests"]["green"][0]
    assert ours["p"] == theirs["p"]
    assert [ours["low"], ours["high"]] == pytest.approx([-theirs["high"], -theirs["low"]])


def test_the_signature_names_the_judge_and_how_metrics_are_read(invoke: Invoke) -> None:
    run = judged(invoke, "a", write_json(Path("one.json"), REFS))
    rows = "".join(f"{key},a,0.5\n" for key in IDS)
    Path("m.csv").write_text(f"study_id,model,mine\n{rows}", "utf-8")
    signatures = {
        found(invoke, run, "--metrics", "m.csv", f"--{way}-is-better", "mine")["signature"]
        for way in ("higher", "lower")
    }
    assert len(signatures) == 2
    assert all("|judge:green=lexicon-2+" in line for line in signatures)


def test_the_judges_word_of_itself_is_in_what_is_published(invoke: Invoke) -> None:
    refs = write_json(Path("one.json"), REFS)
    runs = [judged(invoke, "a", refs), judged(invoke, "f", refs, "fineradscore")]
    named = [f"m={run}" for run in runs]
    (note,) = [note for note in found(invoke, *named)["notes"] if "lexicon" in note]
    assert note.startswith("GREEN and FineRadScore: judged by lexicon, ")
    assert "never report its numbers" in invoke("compare", *named, "--format", "md").stdout


def test_a_model_without_a_run_of_a_rubric_is_named(invoke: Invoke) -> None:
    refs = write_json(Path("one.json"), REFS)
    runs = [judged(invoke, "a", refs), judged(invoke, "b", refs, "fineradscore")]
    notes = found(invoke, *runs)["notes"]
    assert "no run of green is of b" in notes
    assert "no run of fineradscore is of a" in notes
