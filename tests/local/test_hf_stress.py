"""`judge stress` with a small real instruct model in this process."""

from __future__ import annotations

import json
from pathlib import Path

from support import Invoke, write_json

REFERENCES = {"one": "There is a small pleural effusion in the left lower lobe. No pneumothorax."}
CHANGES = ["identical", "denied", "side_swapped"]


def test_every_candidate_is_asked_once_and_counted(
    invoke: Invoke, instruct: Path, tmp_path: Path
) -> None:
    refs = write_json(tmp_path / "refs.json", REFERENCES)
    done = invoke(
        *("stress", refs, "--changes", ",".join(CHANGES), "--out", "stress", "--repeats", 2),
        *("--judge", f"hf:{instruct}", "--prompt", "green", "--max-tokens", 40, "--reask", 0),
        *("--cache", tmp_path / "cache"),
    )
    assert done.exit_code == 3, done.output
    assert "Traceback" not in done.output
    assert "answers the same question the same each time: one run, not 2" in done.stderr
    (run,) = (tmp_path / "stress" / "runs").iterdir()
    lines = (run / "annotations.jsonl").read_text("utf-8").splitlines()
    answers = [json.loads(line) for line in lines]
    assert [one["study_id"] for one in answers] == [f"one/{change}" for change in CHANGES]
    # Words, and not the rubric's layout: 40 tokens hold no answer to GREEN.
    assert [one["outcome"] for one in answers] == ["unparsed"] * len(CHANGES)
    assert all(len(one["answer"]["text"].split()) > 5 for one in answers)
    told = json.loads(invoke("stress", "report", "stress", "--format", "json").stdout)
    assert [(one["n_scored"], one["n_unparsed"]) for one in told["runs"]] == [(0, len(CHANGES))]
    assert told["detection_all"]["found"]["rate"] is None
    assert told["detection_all"]["lost"]["unparsed"] == 2
    assert told["stability"]["repeats"] is None
    assert told["stability"]["why"]
