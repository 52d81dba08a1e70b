"""`judge stress` over a real vLLM: a model whose mistakes are known, and a small instruct model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from model_server import KEY, Served, serving_model
from serving import Taught, environ, need_vllm, records, taught_these
from support import write_json

from judge.cli import main
from judge.rubrics.green.layout import NAMES, an_error, key_of, matched_finding
from judge.types import Annotation, Category, Study

pytestmark = pytest.mark.vllm

REFERENCES = {
    "one": "There is a small pleural effusion in the left lower lobe. No pneumothorax is seen. "
    "The tip of the chest tube projects 4.1 cm above the carina.",
    "two": "There is a large consolidation in the right upper lobe. No nodule is seen.",
}
CHANGES = ("identical", "denied", "side_swapped", "errors_1", "instruction")
MADE = ["--changes", ",".join(CHANGES)]
# So little that what was learnt is said again, and none of it is the likeliest by decree.
WARM = ["--temperature", "0.1"]
EVERYTHING = len(CHANGES) * len(REFERENCES)


def said_of(truth: dict[str, Any]) -> Annotation:
    """What the taught model says of a candidate: the truth, and five mistakes."""
    errors = [(one["significant"], one["categories"][0]) for one in truth["errors"]]
    match truth["id"]:
        case "one/side_swapped" | "two/side_swapped" | "one/instruction":
            errors = []  # it does not see these, and does as it is told
        case "one/denied":
            errors = [(True, "d")]
        case "two/identical":
            errors = [(True, "a")]
    items = [
        an_error("significant" if grave else "insignificant", Category(letter), f"error {letter}")
        for grave, letter in errors
    ]
    stated = dict.fromkeys(NAMES, 0) | {key_of(one): 1 for one in items} | {"matched": 1}
    items.append(matched_finding("the rest"))
    return Annotation(tuple(items), explanation=f"Of {truth['id']}.", stated_counts=stated)


@pytest.fixture(scope="module")
def stressed(tmp_path_factory: pytest.TempPathFactory) -> Taught:
    """A model that has learnt what it is to say of each candidate."""
    need_vllm()
    folder = tmp_path_factory.mktemp("stressed")
    refs = write_json(folder / "refs.json", REFERENCES)
    words = ["stress", "make", str(refs), "--out", str(folder / "made"), *MADE]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    lines = (folder / "made" / "truth.jsonl").read_text("utf-8").splitlines()
    truths = [json.loads(line) for line in lines]
    assert len(truths) == EVERYTHING
    return taught_these(
        folder,
        [(Study(one["id"], one["before"], one["after"]), said_of(one)) for one in truths],
    )


@pytest.fixture(scope="module")
def server(stressed: Taught, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving_model(stressed.folder, tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def instruct_server(instruct: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    need_vllm()
    with serving_model(instruct, tmp_path_factory.mktemp("server"), longest=4096) as running:
        yield running


def stress(folder: Path, model: Path, url: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Put the model behind `url` to the test; candidates and runs come to `folder`/stress."""
    write_json(folder / "refs.json", REFERENCES)
    line = [sys.executable, "-m", "judge", "stress", "refs.json", *MADE, "--out", "stress"]
    line += ["--judge", f"vllm:{model}", "--base-url", url, "--cache", "cache", *options]
    return subprocess.run(
        line,
        cwd=folder,
        env={**environ(folder), "VLLM_API_KEY": KEY},
        capture_output=True,
        text=True,
        check=False,
    )


def report(folder: Path) -> dict[str, Any]:
    done = CliRunner().invoke(
        main, ["stress", "report", str(folder / "stress"), "--format", "json"]
    )
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_what_a_model_was_taught_is_what_the_report_says(
    stressed: Taught, server: Served, tmp_path: Path
) -> None:
    options = ("--prompt", str(stressed.prompt), *WARM, "--repeats", "2", "--reask", "0")
    done = stress(tmp_path, stressed.folder, server.url, *options)
    assert done.returncode == 0, done.stderr
    assert server.answers() == 2 * EVERYTHING, "no answer of the first time is one of the second"
    said = report(tmp_path)
    assert [one["repeat"] for one in said["runs"]] == [0, 1]
    assert [one["n_scored"] for one in said["runs"]] == [EVERYTHING, EVERYTHING]
    seen = {
        one["class"]: [
            (one[name]["k"], one[name]["n"])
            for name in ("found", "right_category", "right_significance")
        ]
        for one in said["detection"]
    }
    # Whether an effusion is significant is doubtful, so that one study is left.
    assert seen == {
        "denied": [(2, 2), (1, 2), (1, 1)],
        "side_swapped": [(0, 2), (0, 2), (0, 1)],
    }
    alarms = {one["change"]: (one["any"]["k"], one["any"]["n"]) for one in said["false_alarms"]}
    assert alarms == {"identical": (1, 2)}
    changed = [(one["id"], one["base"], one["effect"]) for one in said["hostile"]]
    assert changed == [("one/instruction", "one/errors_1", "fewer")]
    still = said["stability"]["repeats"]
    assert (still["n"], still["lost"]) == (EVERYTHING, 0)
    assert (still["flips"]["k"], still["flips"]["n"]) == (0, EVERYTHING)
    assert still["score_sd"] == 0
    # It goes on where it was stopped: all is there, and nothing is asked.
    again = stress(tmp_path, stressed.folder, server.url, *options)
    assert again.returncode == 0, again.stderr
    assert server.answers() == 2 * EVERYTHING
    assert report(tmp_path) == said


def test_an_instruct_model_that_keeps_to_no_layout_is_counted_and_given_no_rate(
    instruct: Path, instruct_server: Served, tmp_path: Path
) -> None:
    options = ("--prompt", "green", "--max-tokens", "80", "--reask", "0")
    done = stress(tmp_path, instruct, instruct_server.url, *options)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    (run,) = (tmp_path / "stress" / "runs").iterdir()
    answers = list(records(run))
    assert len(answers) == EVERYTHING
    assert all(one["answer"]["text"].strip() for one in answers)
    said = report(tmp_path)
    (told,) = said["runs"]
    unparsed = [one["reason"] for one in answers if one["outcome"] == "unparsed"]
    assert told["n_unparsed"] == len(unparsed) >= 0.9 * EVERYTHING
    assert told["n_scored"] + told["n_unparsed"] == EVERYTHING
    assert told["n_failed"] == 0
    assert sum(told["reasons"].values()) == len(unparsed)
    check_unread(said, answers)


def test_an_instruct_model_that_is_held_to_a_form_is_read(
    instruct: Path, instruct_server: Served, tmp_path: Path
) -> None:
    # Without a penalty it would say the same words until its room is used up.
    options = ("--reply", "structured", "--body", "repetition_penalty=1.05")
    done = stress(
        *(tmp_path, instruct, instruct_server.url, *options),
        *("--max-tokens", "300", "--reask", "0", "--min-coverage", "0"),
    )
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "stress" / "runs").iterdir()
    answers = list(records(run))
    read = [one for one in answers if one["outcome"] == "annotated"]
    assert len(read) >= EVERYTHING / 2, [one["detail"] for one in answers]
    assert all(json.loads(one["answer"]["text"]) for one in read)
    said = report(tmp_path)
    assert said["runs"][0]["n_scored"] == len(read)
    check_unread(said, answers)


def check_unread(said: dict[str, Any], answers: list[dict[str, Any]]) -> None:
    """Every candidate is in a denominator or counted as lost, and no rate is of nothing."""
    outcomes: dict[str, list[str]] = {name: [] for name in CHANGES}
    for one in answers:
        outcomes[one["fields"]["change"]].append(one["outcome"])
    for one in said["detection"]:
        check_counted(one["found"], one["lost"], outcomes[one["class"]])
    for one in said["false_alarms"]:
        check_counted(one["any"], one["lost"], outcomes[one["change"]])
    assert {one["class"] for one in said["detection"]} == {"denied", "side_swapped"}
    assert {one["change"] for one in said["false_alarms"]} == {"identical"}


def check_counted(rate: dict[str, Any], lost: dict[str, int], outcomes: list[str]) -> None:
    assert len(outcomes) == len(REFERENCES)
    assert rate["n"] == outcomes.count("annotated")
    unread = {name: outcomes.count(name) for name in ("unparsed", "failed")}
    assert lost == dict.fromkeys(lost, 0) | unread
    if not rate["n"]:
        assert (rate["k"], rate["rate"], rate["low"], rate["high"]) == (0, None, None, None)
