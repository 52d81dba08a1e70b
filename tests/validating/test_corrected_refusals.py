"""What is no ground for a corrected rate is refused, with what to do, and nothing is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Invoke
from validatinghelp import N, as_sample, chosen, corrected, errors_of, judged, read

from judge.running.folder import Run

TOLD = "--readings-at-random"
IDS = list(range(0, N, 3))


@pytest.fixture
def run(invoke: Invoke, tmp_path: Path) -> Path:
    return judged(invoke, tmp_path / "judge")


@pytest.fixture
def ann(invoke: Invoke, tmp_path: Path) -> Path:
    return read(invoke, tmp_path / "readers", {"ann": chosen(IDS, errors_of())})["ann"]


def refused(invoke: Invoke, *arguments: str | Path) -> str:
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return str(done.stderr)


def test_readings_that_were_not_drawn_at_random(invoke: Invoke, run: Path, ann: Path) -> None:
    said = refused(invoke, "rates", run, "--readings", ann)
    assert "does not say how its studies were chosen" in said
    assert "worst first or picked by hand" in said
    assert "--readings-at-random" in said
    assert invoke("rates", run, "--readings", ann, TOLD).exit_code == 0


@pytest.mark.parametrize("field", ["candidate", "reference"])
def test_readings_of_other_texts(invoke: Invoke, run: Path, ann: Path, field: str) -> None:
    lines = (ann / "annotations.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    for record in records[2:5]:
        record[field] = "No focal consolidation."
    records[7][field] = f"  {records[7][field]}\n".replace(". ", ".   ")
    text = "\n".join(json.dumps(one) for one in records) + "\n"
    (ann / "annotations.jsonl").write_text(text, "utf-8")
    said = refused(invoke, "rates", run, "--readings", ann, TOLD)
    assert f"differs for 3 of {len(IDS)} studies in common, 's006' first" in said


def test_readings_of_another_section_are_said_to_be(
    invoke: Invoke, tmp_path: Path, run: Path
) -> None:
    other = "study_id,reader,level,count,candidate\ns000,ann,,0,The findings alone.\n"
    (tmp_path / "other.csv").write_text(other, "utf-8")
    options = ("--section", "findings", "--out", tmp_path / "o")
    assert invoke("import", "tidy", tmp_path / "other.csv", *options).exit_code == 0
    said = refused(invoke, "rates", run, "--readings", tmp_path / "o" / "reader-ann", TOLD)
    assert "(report there, findings here)" in said


def test_no_study_in_common(invoke: Invoke, tmp_path: Path, run: Path) -> None:
    found = {f"other-{at}": (0, 1) for at in range(12)}
    ann = read(invoke, tmp_path / "r", {"ann": found})["ann"]
    said = refused(invoke, "rates", run, "--readings", ann, TOLD)
    assert f"{run} has none of the 12 studies of {ann}, 'other-0' among them" in said


def test_a_run_of_the_wrong_kind(invoke: Invoke, run: Path, ann: Path, tmp_path: Path) -> None:
    assert "is a reader's run" in refused(invoke, "rates", ann, "--readings", ann, TOLD)
    said = refused(invoke, "rates", run, "--readings", run, TOLD)
    assert "is a run of the judge lexicon, not of a reader" in said
    assert "no such run" in refused(invoke, "rates", run, "--readings", tmp_path / "no", TOLD)
    said = refused(invoke, "rates", run, "--readings", ann, "--readings", ann, TOLD)
    assert "are both of the reader 'ann'" in said
    assert "go with --readings" in refused(invoke, "rates", run, TOLD)
    said = refused(invoke, "rates", run, "--readings", ann, TOLD, "--patient-field", "ward")
    assert "has no field 'ward'" in said


def test_readers_who_were_asked_for_nothing_that_the_judge_has(
    invoke: Invoke, run: Path, ann: Path
) -> None:
    file = ann / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    manifest["reading"]["lacks"] = {"error": "no errors were asked for", "matched": "nor these"}
    file.write_text(json.dumps(manifest), "utf-8")
    # Its table says the same.
    table = Run(ann).path / "studies.parquet"
    import pandas as pd

    rows = pd.read_parquet(table)
    for measure in Run(ann).rubric.measures:
        rows[measure.name] = pd.array([None] * len(rows), "Float64")
    rows.to_parquet(table, index=False, write_page_checksum=True)
    said = refused(invoke, "rates", run, "--readings", ann, TOLD)
    assert "can be corrected by these readings" in said


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("by", ["ward"], "'ward', a field that"),
        ("n_studies", 7, "a sample of other studies"),
        ("n_drawn", 3, "readings where 3 studies were drawn"),
    ],
)
def test_a_sample_that_is_not_of_this_run(
    invoke: Invoke, run: Path, ann: Path, key: str, value: object, words: str
) -> None:
    as_sample(ann, ["study_class"], run, {("abnormal",): 30, ("normal",): 90})
    assert corrected(invoke, run, "--readings", ann)["readings"]["drawn"] == "drawn"
    file = ann / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    sample = manifest["reading"]["sample"]
    (sample if key == "by" else sample["strata"][0])[key] = value
    file.write_text(json.dumps(manifest), "utf-8")
    assert words in refused(invoke, "rates", run, "--readings", ann)


def test_a_sample_beside_readings_that_are_none(invoke: Invoke, tmp_path: Path, run: Path) -> None:
    readers = {name: chosen(IDS, errors_of(at)) for at, name in enumerate(("ann", "bob"))}
    paths = read(invoke, tmp_path / "readers", readers)
    options = [word for path in paths.values() for word in ("--readings", path)]
    as_sample(paths["ann"], [], run, {(): 60})
    said = refused(invoke, "rates", run, *options, TOLD)
    assert "reader-bob does not say how its studies were drawn" in said
    as_sample(paths["bob"], ["site"], run, {("north",): 60, ("south",): 54, ("small",): 6})
    said = refused(invoke, "rates", run, *options)
    assert "a sample drawn by no field" in said
    assert "one by site" in said


def test_a_damaged_sample_is_said(invoke: Invoke, run: Path, ann: Path) -> None:
    file = ann / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    manifest["reading"]["sample"] = {"seed": 1, "by": []}
    file.write_text(json.dumps(manifest), "utf-8")
    assert "is damaged: 'reading.sample.strata'" in refused(invoke, "rates", run, "--readings", ann)


def test_compare_prints_them_for_the_rows_that_were_read(
    invoke: Invoke, tmp_path: Path, run: Path, ann: Path
) -> None:
    other = judged(invoke, tmp_path / "other", name="n")
    options = ("compare", run, other, "--readings", ann, TOLD)
    done = invoke(*options, "--format", "json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)["corrected"]
    alone = corrected(invoke, run, "--readings", ann, TOLD)["statistics"]
    by_name = {one["statistic"]: one for one in found["figures"]}
    assert set(by_name) == {"errors", "no_significant_error"}
    for name, one in by_name.items():
        assert one["model"] == "m"
        assert one["corrected"] == alone[name]["corrected"]
        assert one["value"] == alone[name]["value"]
    assert found["readings"][0]["signature"].startswith("corrected:1|readers:ann|")
    table = invoke(*options).stdout
    assert "GREEN: no significant error, with the judge's bias taken out" in table
    assert f"{len(IDS)} of {N}" in table
    assert "corrected  m: corrected:1|" in table
    plain = invoke("compare", run, other, "--format", "json")
    assert "corrected" not in json.loads(plain.stdout)


def test_compare_refuses_what_rates_refuses(
    invoke: Invoke, tmp_path: Path, run: Path, ann: Path
) -> None:
    other = judged(invoke, tmp_path / "other", name="n")
    runs = ("compare", run, other)
    assert "does not say how" in refused(invoke, *runs, "--readings", ann)
    assert "not of a reader" in refused(invoke, *runs, "--readings", run, TOLD)
    said = refused(invoke, *runs, "--readings", f"x={ann}", TOLD)
    assert "about the model 'x', and compared are 'm', 'n'" in said
    assert "--format table or json" in refused(
        invoke, *runs, "--readings", ann, TOLD, "--format", "csv"
    )
    assert "goes with --readings" in refused(invoke, *runs, TOLD)
