"""Two tracks in one command: findings, and the whole report, side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Invoke


@pytest.fixture
def files() -> tuple[str, str]:
    refs = {
        "a": {"findings": "No effusion.", "impression": "Pneumothorax."},
        "b": {"findings": "Large effusion.", "impression": "Effusion."},
    }
    Path("refs.json").write_text(json.dumps(refs))
    texts = dict.fromkeys(refs, "Findings: No effusion. Impression: Pneumothorax.")
    Path("preds.json").write_text(json.dumps(texts))
    return "preds.json", "refs.json"


def test_each_section_is_a_run_and_all_stand_side_by_side(
    invoke: Invoke, files: tuple[str, str]
) -> None:
    done = invoke("green", *files, "--section", "findings, report", "--out", "both")
    assert done.exit_code == 0, done.stderr
    for section in ("findings", "report"):
        summary = json.loads(Path("both", section, "summary.json").read_text())
        assert summary["section"] == section
        invoke("green", *files, "--section", section, "--out", f"alone-{section}")
        alone = json.loads(Path(f"alone-{section}", "summary.json").read_text())
        assert summary == alone
    last = done.stdout.partition("Sections side by side")[2]
    assert last.split()[:4] == ["all", "studies", "findings", "report"]
    assert "1/2 50.0%" in last
    printed = json.loads(
        invoke(
            "green", *files, "--section", "findings,report", "--out", "both", "--format", "json"
        ).stdout
    )
    assert list(printed) == ["findings", "report"]
    assert printed["report"]["section"] == "report"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--section", "findings,nope"), "unknown section 'nope'"),
        (("--section", "findings,report", "--candidate-field", "nope"), "nope"),
        (("--section", "report,report"), "--section names a section twice"),
        (("--section", "findings,report", "--format", "csv"), "go with --format table and json"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_judged(
    invoke: Invoke, files: tuple[str, str], more: tuple[str, ...], message: str
) -> None:
    done = invoke("green", *files, *more, "--out", "run")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not Path("run").exists()


def test_standard_input_is_read_once(invoke: Invoke, files: tuple[str, str]) -> None:
    done = invoke("green", "-", files[1], "--section", "findings,report", stdin="{}")
    assert "standard input is read once" in done.stderr


def test_compare_has_a_leaderboard_for_each_section(invoke: Invoke, files: tuple[str, str]) -> None:
    for model in ("one", "two"):
        invoke("green", *files, "--section", "findings,report", "--model", model, "--out", model)
    runs = [f"{model}/{section}" for model in ("one", "two") for section in ("findings", "report")]
    done = invoke("compare", "--by-section", "--no-tests", *runs)
    assert done.exit_code == 0, done.stderr
    findings, report = done.stdout.partition("Section report")[::2]
    assert findings.startswith("Section findings")
    for part in (findings, report):
        assert all(model in part for model in ("one", "two"))
    told = invoke("compare", "one/findings", "one/report")
    assert "--by-section compares each section by itself" in told.stderr
    refused = invoke("compare", "--by-section", "--format", "json", *runs)
    assert "--by-section goes with --format table and md" in refused.stderr


def test_a_section_that_nobody_has_is_said_before_the_first_is_judged(invoke: Invoke) -> None:
    Path("refs.json").write_text(json.dumps({"a": {"findings": "No effusion."}}))
    Path("preds.json").write_text(json.dumps({"a": "No effusion."}))
    done = invoke(
        "green", "preds.json", "refs.json", "--section", "findings,impression", "--out", "run"
    )
    assert done.exit_code == 2
    assert "has the section impression" in done.stderr
    assert not Path("run").exists()


@pytest.mark.parametrize("command", ["green", "metrics"])
def test_one_text_is_not_taken_for_findings_and_for_impression(
    invoke: Invoke, command: str
) -> None:
    sections = {"findings": "No effusion.", "impression": "Normal."}
    Path("refs.json").write_text(json.dumps(dict.fromkeys("abc", sections)))
    Path("preds.json").write_text(json.dumps(dict.fromkeys("abc", "No effusion.")))
    line = ("preds.json", "refs.json", "--section", "findings,impression", "--out", "out.csv")
    done = invoke(command, *line)
    assert done.exit_code == 2
    assert "3 of 3 candidates are the same text for findings and impression" in done.stderr
    assert not Path("out.csv").exists()
    # A model may well say the same twice of some study.
    apart = dict.fromkeys("ab", sections) | {"c": dict.fromkeys(sections, "Normal.")}
    Path("preds.json").write_text(json.dumps(apart))
    assert invoke(command, *line).exit_code == 0
    assert invoke(command, *line[:2], "--section", "impression", "--out", "one").exit_code == 0
