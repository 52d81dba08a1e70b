"""Whose studies are resampled together is asked of the service as of the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from served import Served
from support import EXAMPLES, write_json

from judge.cli import main

REFS = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))


def invoke(*args: object) -> str:
    done = CliRunner().invoke(main, list(map(str, args)))
    assert done.exit_code == 0, done.stderr
    return done.stdout


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Runs of two models on studies with the fields `patient` and `household`."""
    refs = {
        key: {**record, "patient": f"p{at // 2}", "household": f"h{at // 3}"}
        for at, (key, record) in enumerate(REFS.items())
    }
    good = {key: record["section_findings"] for key, record in REFS.items()}
    with_fields = write_json(tmp_path / "refs.json", refs)
    for name, preds in (
        ("good", write_json(tmp_path / "preds_good.json", good)),
        ("bad", EXAMPLES / "preds.json"),
    ):
        invoke("green", preds, with_fields, "--out", tmp_path / "runs" / name)
    return tmp_path / "runs"


def test_the_field_of_patients_is_the_one_asked_for(tmp_path: Path, runs: Path) -> None:
    asked = {"": "patient", "none": None, "household": "household"}
    rate = "green_no_significant_error"
    with Served(tmp_path, "--runs", runs) as running:
        for field, used in asked.items():
            query = [("run", "good"), ("run", "bad"), *([("patient_field", field)] * bool(field))]
            answer = running.client.get("/v1/comparison", params=query)
            assert answer.status_code == 200, answer.text
            found = answer.json()
            options = ("--patient-field", field) if field else ()
            arguments = (runs / "good", runs / "bad", *options, "--format", "json")
            printed = json.loads(invoke("compare", *arguments))
            assert found["patient_field"] == used
            method = found["groups"][0]["tests"][rate][0]["method"]
            assert method == ("sign-flip permutation test" if used else "mcnemar mid-p")
            for name in ("signature", "groups", "notes"):
                assert found[name] == printed[name], name
