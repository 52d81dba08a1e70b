"""`judge plan` on runs of the built-in judge."""

from __future__ import annotations

import csv
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support import Invoke, write_json

from judge.cli import main

FINDINGS = [
    "Small left pleural effusion.",
    "Mild cardiomegaly.",
    "Right rib fracture.",
]
N = 90


def run(*words: object) -> None:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.stderr


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two models on 90 studies of 60 patients, and 40 readings. Read them only."""
    folder = tmp_path_factory.mktemp("pilot")
    rng = random.Random(4)
    references: dict[str, Any] = {}
    models: dict[str, dict[str, str]] = {"oak": {}, "elm": {}}
    for number in range(N):
        seen = rng.sample(FINDINGS, 2)
        patient = number // 2 if number < 60 else number
        study = f"st-{number}"
        references[study] = {"findings": " ".join(seen), "patient": f"p{patient}"}
        for reports in models.values():
            said = [one for one in seen if rng.random() > 0.15]
            reports[study] = " ".join(said) or "The lungs are clear."
    refs = write_json(folder / "refs.json", references)
    for name, reports in models.items():
        preds = write_json(folder / f"{name}.json", reports)
        run("green", preds, refs, "--out", folder / name)
    columns = (
        "study_id,reader,category,level,count,text,study_class,reference,candidate"
    )
    with (folder / "readings.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(columns.split(","))
        for study in sorted(references)[:40]:
            reference = references[study]["findings"]
            candidate = models["oak"][study]
            missing = sum(one not in candidate for one in reference.split(". "))
            for reader in ("fern", "moss", "reed"):
                count = missing
                if rng.random() < 0.1:
                    count = max(0, missing + rng.choice([-1, 1]))
                found = ["b", "significant", count] if count else ["", "", 0]
                rows.writerow([study, reader, *found, "", "", reference, candidate])
    readings = folder / "readings.csv"
    run(
        *("readers", "import", "tidy", readings, "--section", "findings"),
        *("--out", folder / "readers"),
    )
    return folder


def planned(invoke: Invoke, *words: object) -> dict[str, Any]:
    done = invoke("plan", *map(str, words), "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert "NaN" not in done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def refused(invoke: Invoke, *words: object) -> str:
    done = invoke("plan", *map(str, words))
    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    return " ".join(done.stderr.split())


def test_the_width_of_each_figure_and_what_the_pilot_cannot_tell(
    invoke: Invoke, pilot: Path
) -> None:
    found = planned(invoke, pilot / "oak", "--width", "0.1")
    rows = {row["metric"]: row for row in found["studies"]}
    assert list(rows) == ["green", "green_no_significant_error"]
    assert (found["n_studies"], found["n_units"]) == (N, 60)
    for row in rows.values():
        studies, patients = row["studies"], row["patients"]
        assert 0 < studies["n"] <= studies["cautious"]
        assert studies["n"] == pytest.approx(1.5 * patients["n"], abs=1)
    # The interval that is printed for the pilot is that of judge rates.
    rates = json.loads(invoke("rates", str(pilot / "oak"), "-f", "json").stdout)
    figure = rates["statistics"]["no_significant_error"]
    shown = rows["green_no_significant_error"]["pilot"]
    assert (shown["low"], shown["high"]) == (figure["low"], figure["high"])
    assert found["dollars"] is None
    text = invoke("plan", str(pilot / "oak"), "--width", "0.1").stdout
    assert "0.1 wide in all, upper end less lower end" in text
    assert "unknown: the pilot has no recorded price" in text
    assert "unknown: the pilot has no readings" in text
    assert "a pilot of 60 patients is small" in " ".join(text.split())


def test_a_gate_and_a_difference(invoke: Invoke, pilot: Path) -> None:
    words = (
        pilot / "oak",
        "--against",
        pilot / "elm",
        "--metric",
        "no_significant_error",
    )
    found = planned(invoke, *words, "--margin", "0.05", "--width", "0.1")
    (row,) = found["drops"]
    assert row["studies"]["n"] > 50
    assert 0 < row["power_at_half"] < 0.8
    assert found["goal"]["power"] == 0.8
    more = planned(invoke, *words, "--margin", "0.05", "--power", "0.95")
    assert more["drops"][0]["studies"]["n"] > 1.3 * row["studies"]["n"]
    (difference,) = found["differences"]
    gate = json.loads(
        invoke(
            *("gate", str(pilot / "oak"), "--against", str(pilot / "elm")),
            *("--non-inferior", "--max-drop", "0.05", "--format", "json"),
            *("--metric", "no_significant_error"),
        ).stdout
    )
    check = gate["checks"][1]
    assert row["pilot"]["value"] == pytest.approx(check["difference"])
    assert row["pilot"]["low"] == pytest.approx(check["low"])
    assert difference["n"] == N


@pytest.mark.ci
def test_readings_and_readers(invoke: Invoke, pilot: Path) -> None:
    words = (pilot / "oak", "--readers", pilot / "readers", "--drawn-at-random")
    words += ("--width", "0.1", "--metric", "no_significant_error")
    found = planned(invoke, *words, "--studies", "5000", "--patient-field", "none")
    (row,) = found["readings"]
    assert row["n_read"] == 40
    assert row["n_judged"] == 5000
    assert row["correlation"] > 0.5
    # A judge that is nearly right spares most readings.
    assert 10 < row["readings"]["n"] < 0.6 * row["alone"]["n"]
    few = planned(invoke, *words, "--studies", "100", "--patient-field", "none")
    (row,) = few["readings"]
    assert row["readings"]["n"] is None
    assert "100 judged studies are too few" in row["reason"]
    fixed, *others = [
        one for one in found["readers"] if one["figure"].startswith("agreement")
    ]
    assert fixed["readers"] is None
    assert fixed["readings"]["n"] == 3 * fixed["studies"]["n"]
    assert [one["readers"] for one in others] == [3, 5, 10, 20]
    needed = [one["studies"]["n"] for one in others if one["studies"]["n"]]
    assert needed == sorted(needed, reverse=True)
    # As judge validate prints it for these readers.
    validated = json.loads(
        invoke(
            *("validate", str(pilot / "oak"), "--readers", str(pilot / "readers")),
            *("--patient-field", "none", "--format", "json"),
        ).stdout
    )
    (of_judge,) = [
        one
        for one in validated["no_significant_error"]
        if one.get("judge")
        and one["against"] == "leave one out"
        and one["study_class"] is None
    ]
    shown = (fixed["pilot"]["value"], fixed["pilot"]["low"], fixed["pilot"]["high"])
    printed = of_judge["agreement"]
    assert shown == pytest.approx((printed["value"], printed["low"], printed["high"]))


def test_one_reader_tells_nothing_of_readers(invoke: Invoke, pilot: Path) -> None:
    found = planned(
        *(invoke, pilot / "oak", "--readers", pilot / "readers" / "reader-fern"),
        *("--drawn-at-random", "--width", "0.2", "--patient-field", "none"),
    )
    reasons = [row["reason"] for row in found["readers"] if row["reason"]]
    assert (
        "unknown for other readers: the pilot has one reader, and 3 are needed"
        in reasons
    )


def test_a_price_is_that_of_the_pilot(
    invoke: Invoke, pilot: Path, tmp_path: Path
) -> None:
    priced = shutil.copytree(pilot / "oak", tmp_path / "oak")
    manifest = json.loads((priced / "manifest.json").read_text("utf-8"))
    spent = {"asked": N, "from_cache": 0, "dollars": 0.18}
    manifest["spent"] = {**(manifest.get("spent") or {}), **spent}
    (priced / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    found = planned(invoke, priced, "--width", "0.1")
    assert found["dollars"] == pytest.approx(0.002)
    for row in found["studies"]:
        assert row["dollars"] == pytest.approx(0.002 * row["studies"]["n"])


def test_several_candidates_of_a_reference(invoke: Invoke, tmp_path: Path) -> None:
    candidates = {}
    references = {}
    for number in range(40):
        for place, letter in enumerate("ab"):
            study = f"st-{number}/{letter}"
            references[study] = {"findings": FINDINGS[number % 3]}
            candidates[study] = FINDINGS[(number + place * (number % 4)) % 3]
    refs = write_json(tmp_path / "refs.json", references)
    preds = write_json(tmp_path / "preds.json", candidates)
    run("green", preds, refs, "--out", tmp_path / "several")
    found = planned(invoke, tmp_path / "several", "--width", "0.2")
    assert found["candidates_reason"] == ""
    assert {row["k"] for row in found["candidates"]} == {1, 2, 3, 5, 10}
    assert {row["metric"] for row in found["candidates"]} == {
        row["metric"] for row in found["studies"]
    }


def test_a_tiny_pilot_is_refused_with_what_is_enough(
    invoke: Invoke, example_run: Path
) -> None:
    text = refused(invoke, example_run, "--width", "0.05")
    assert "has 15 scored studies, and a pilot needs 30" in text
    assert "1,533 independent studies give it an interval of 0.05" in text


def test_what_does_not_go_together_is_refused(invoke: Invoke, pilot: Path) -> None:
    oak, elm = pilot / "oak", pilot / "elm"
    assert "say what the plan is for" in refused(invoke, oak)
    assert "--margin goes with --against" in refused(invoke, oak, "--margin", "0.1")
    width = (oak, "--width", "0.1")
    assert "--power goes with --margin" in refused(invoke, *width, "--power", "0.9")
    assert "--studies goes with --readers" in refused(invoke, *width, "--studies", "9")
    gate = (oak, "--against", elm, "--margin", "0.1")
    text = refused(invoke, *gate, "--readers", pilot / "readers")
    assert "--readers goes with --width" in text
    text = refused(invoke, *gate, "--width", "0.1", "--readers", pilot / "readers")
    assert "not both" in text
    text = refused(invoke, *gate, "--difference", "0.01")
    assert "choose one of green, green_no_significant_error with --metric" in text
    assert "is no metric of these runs" in refused(invoke, *width, "--metric", "bleu")
    assert refused(invoke, pilot / "nowhere", "--width", "0.1")
