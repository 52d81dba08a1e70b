"""A judge of one's own: training data of readings, a gate between judges, a prompt of readings."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from faultserver import Behaviour, Fault, FaultServer, always, annotation_for
from support import EXAMPLES, ROOT, Invoke

from judge.cli import main
from judge.prompts import load
from judge.readers.training import training_set
from judge.rubrics import load as load_rubric
from judge.running.folder import RunFolder
from judge.types import JudgeError, Study

IDS = [f"study-{number:04}" for number in range(60)]
RIGHT = 1
"""The seed by which the server answers as the reader does."""


def write_readings(path: Path, reader: str = "ann") -> None:
    """Write the server's answers of the seed RIGHT as one reader's table, ten patients."""
    names = ("study_id", "reader", "category", "level", "count", "text")
    rows: list[tuple[Any, ...]] = []
    for key in IDS:
        of_study = (f"{key}. Clear lungs.", f"{key}. Small left effusion.", key[-1])
        wrote = False
        for item in annotation_for(key, RIGHT).items:
            code = item.labels.get("category", ("matched",))[0]
            level = item.labels.get("significance", ("",))[0]
            rows.append((key, reader, code, level, "", item.text, *of_study))
            wrote = wrote or code == "matched"
        if not wrote:
            rows.append((key, reader, "matched", "", 0, "", *of_study))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [(*names, "reference", "candidate", "patient"), *rows]
        )


Servers = Mapping[int, FaultServer]


@pytest.fixture(scope="module")
def server() -> Iterator[Servers]:
    """By the seed of its answers a server each: RIGHT answers as the reader does, 0 otherwise."""

    def answering(seed: int) -> FaultServer:
        return FaultServer(
            Behaviour(), annotate=lambda key, _: annotation_for(key, seed)
        )

    with answering(0) as old, answering(RIGHT) as new:
        yield {0: old, RIGHT: new}


PROMPT = "green-structured"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, server: Servers) -> Path:
    """A folder with readings, an old judge's run of the same reports, and training data."""
    folder = tmp_path_factory.mktemp("made")
    write_readings(folder / "readings.csv")
    readers = folder / "readers"
    for words in (
        ("readers", "import", "tidy", folder / "readings.csv", "--out", readers),
        (
            *("green", readers / "reader-ann", *judge_words(folder, server, 0)),
            *("--out", folder / "old"),
        ),
        (
            *("readers", "export", readers, "--for-training", "--prompt", PROMPT),
            *("--out", folder / "training"),
        ),
    ):
        done = CliRunner().invoke(main, [str(word) for word in words])
        assert done.exit_code == 0, done.stderr
    return folder


@pytest.fixture
def work(made: Path, tmp_path: Path, server: Servers) -> Path:
    """A copy of that folder, and servers without a fault."""
    server[RIGHT].set_faults(studies={})
    return Path(shutil.copytree(made, tmp_path / "work"))


def judge_words(folder: Path, server: Servers, seed: int) -> tuple[object, ...]:
    return (
        *("--judge", f"model-{seed}", "--base-url", server[seed].url),
        *("--cache", folder / "cache"),
    )


def judged(
    invoke: Invoke, folder: Path, server: Servers, name: str, *, seed: int
) -> Any:
    reports = folder / "readers" / "reader-ann"
    return invoke(
        "green", reports, *judge_words(folder, server, seed), "--out", folder / name
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# Training data


def test_an_example_is_the_question_of_the_judge_and_the_answer_of_the_reader(
    work: Path,
) -> None:
    examples = lines(work / "training" / "train.jsonl")
    rubric, prompt = load_rubric("green"), load(PROMPT)
    assert rubric.structured is not None
    for example in examples:
        key = example["study_id"]
        *question, answer = example["messages"]
        study = Study(key, f"{key}. Clear lungs.", f"{key}. Small left effusion.")
        sent = [(turn.role, turn.content) for turn in prompt.about(study)]
        assert [(turn["role"], turn["content"]) for turn in question] == sent
        assert answer["role"] == "assistant"
        read = rubric.structured.parse(answer["content"], study, complete=True)
        right = annotation_for(key, RIGHT)
        assert rubric.measured(read, study) == rubric.measured(right, study)


def test_no_patient_is_on_both_sides_and_stays_there_when_more_are_read(
    work: Path,
) -> None:
    trained = {one["study_id"][-1] for one in lines(work / "training" / "train.jsonl")}
    run = RunFolder.open_any(work / "training" / "held-out" / "reader-ann")
    held_out = set(run.columns(["study_id"])["study_id"].to_pylist())
    patients = {study_id[-1] for study_id in held_out}
    assert trained
    assert patients
    assert not trained & patients
    assert len(trained | patients) == 10
    assert {key for key in IDS if key[-1] in patients} == held_out
    card = json.loads((work / "training" / "training.json").read_text("utf-8"))
    assert card["split_by"] == "patient"
    assert (card["n_patients"], card["n_patients_held_out"]) == (
        len(trained),
        len(patients),
    )
    # With half of the readings each patient is on the side that it is on with all.
    train = RunFolder.open(work / "training" / "train" / "reader-ann")
    assert set(train.columns(["study_id"])["study_id"].to_pylist()) == {
        key for key in IDS if key[-1] in trained
    }


def test_held_out_readings_are_opened_by_no_other_command(
    invoke: Invoke, work: Path
) -> None:
    held_out = work / "training" / "held-out"
    reader = held_out / "reader-ann"
    for words in (
        ("validate", work / "old", "--readers", held_out),
        ("rates", work / "old", "--readers", reader),
        ("rates", reader),
        ("audit", reader),
        ("compare", reader, work / "old", "--allow", "judge"),
        ("page", reader, "--out", work / "page.html"),
        ("readers", "export", reader, "--for-training", "--out", work / "again"),
    ):
        done = invoke(*words)
        assert done.exit_code == 2, words
        assert "held out" in done.stderr, words
    assert not (work / "page.html").exists()


def test_what_cannot_be_an_answer_is_left_out_of_training_and_named(
    invoke: Invoke, tmp_path: Path
) -> None:
    readings = EXAMPLES / "readers" / "readings.csv"
    words = ("readers", "import", "tidy", readings, "--section", "findings")
    assert invoke(*words, "--out", tmp_path / "readers").exit_code == 0
    done = invoke(
        *("readers", "export", tmp_path / "readers", "--for-training"),
        *("--out", tmp_path / "training"),
    )
    # A reader who marked no matched finding has said nothing of them: not that there are none.
    assert done.exit_code == 2
    assert "the readers marked no matched findings" in done.stderr
    assert not (tmp_path / "training").exists()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--held-out", "0.001"), "no patient is held out"),
        (("--held-out", "0.999"), "no patient is left for training"),
        (("--prompt", "fineradscore"), "a --prompt of that rubric"),
        (("--prompt", "nothing"), "unknown prompt"),
        (("--patient-field", "nobody"), "no reading has the field"),
    ],
)
def test_a_split_that_cannot_be_made_is_refused(
    invoke: Invoke, work: Path, more: tuple[str, ...], why: str
) -> None:
    words = ("readers", "export", work / "readers", "--for-training")
    done = invoke(*words, "--out", work / "other", *more)
    assert done.exit_code == 2
    assert why in done.stderr
    assert not (work / "other").exists()


def test_options_of_training_go_with_it(invoke: Invoke, work: Path) -> None:
    words = ("readers", "export", work / "old", "--out", work / "other")
    done = invoke(*words, "--held-out", 0.5)
    assert done.exit_code == 2
    assert "--held-out goes with --for-training" in done.stderr


def test_readings_of_two_rubrics_make_no_training_set() -> None:
    from judge.readers.annotations import Readings

    two = [
        Readings(reader=name, rubric=name, readings=())
        for name in ("green", "fineradscore")
    ]
    with pytest.raises(JudgeError, match="those of one rubric at a time"):
        training_set(two, load("green"), share=0.3, seed=1)


# The gate between judges


def gate(invoke: Invoke, work: Path, server: Servers, *more: object, seed: int) -> Any:
    return invoke(
        *("gate", *judge_words(work, server, seed), "--against", work / "old"),
        *("--readers", work / "training" / "held-out", "--out", work / f"new-{seed}"),
        *("--format", "json", *more),
    )


def test_a_judge_that_agrees_more_passes_and_its_inverse_fails(
    invoke: Invoke, work: Path, server: Servers
) -> None:
    done = gate(invoke, work, server, seed=RIGHT)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    checks = {check["metric"]: check for check in found["checks"]}
    same = checks["same_significant"]
    assert same["value"] == 1
    assert same["value"] - same["baseline"] == pytest.approx(same["difference"])
    assert checks["distance_errors"]["value"] == 0
    assert checks["distance_errors"]["difference"] < 0
    # The old judge in the new one's place: it agrees less than what replaced it.
    words = (
        *("gate", *judge_words(work, server, 0), "--against", work / f"new-{RIGHT}"),
        *("--readers", work / "training" / "held-out", "--out", work / "turned"),
        *("--patient-field", "none", "--format", "json"),
    )
    turned = invoke(*words)
    assert turned.exit_code == 1, turned.stdout
    assert json.loads(turned.stdout)["verdict"] == "fail"


def test_each_opening_is_counted_and_said(
    invoke: Invoke, work: Path, server: Servers
) -> None:
    first = json.loads(gate(invoke, work, server, seed=RIGHT).stdout)
    second = json.loads(gate(invoke, work, server, seed=RIGHT).stdout)
    assert any("opened for the first time" in note for note in first["notes"])
    assert any("opened once before" in note for note in second["notes"])
    opened = lines(work / "training" / "held-out" / "opened.jsonl")
    assert [one["verdict"] for one in opened] == ["pass", "pass"]
    assert opened[0]["signature"] == first["signature"] == second["signature"]


def test_what_the_new_judge_does_not_answer_counts_at_its_worst(
    invoke: Invoke, work: Path, server: Servers
) -> None:
    server[RIGHT].set_faults(
        studies={key: always(Fault.MALFORMED) for key in IDS if int(key[-2]) < 3}
    )
    more = ("--give-up-after", 0)
    done = gate(invoke, work, server, *more, seed=RIGHT)
    found = json.loads(done.stdout)
    assert found["verdict"] == "undecided"
    assert done.exit_code == 3
    assert {check["value"] for check in found["checks"]} >= {0, 1}


def test_only_reports_that_were_read_are_asked_about(
    invoke: Invoke, work: Path, server: Servers
) -> None:
    before = server[RIGHT].stats().requests
    dry = gate(invoke, work, server, "--dry-run", seed=RIGHT)
    assert dry.exit_code == 0, dry.stderr
    assert server[RIGHT].stats().requests == before
    assert not (work / "training" / "held-out" / "opened.jsonl").exists()
    done = gate(invoke, work, server, seed=RIGHT)
    assert done.exit_code == 0, done.stderr
    n_held_out = len(
        RunFolder.open_any(work / "training" / "held-out" / "reader-ann").columns([])
    )
    assert server[RIGHT].stats().requests == before + n_held_out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--judge", "lexicon"), "--judge needs --against"),
        (("RUN", "--judge", "lexicon", "--against", "RUN"), "--judge needs --against"),
        (("--against", "RUN", "RUN", "--readers", "X"), "--readers goes with --judge"),
        (("--drift", "RUN", "--prompt", "green"), "--prompt goes with --judge"),
        (("RUN", "--min-coverage", "0.5"), "--min-coverage goes with judge RUBRIC"),
        (
            (
                *("--judge", "lexicon", "--against", "RUN", "--readers", "X"),
                *("--min", "scored=1"),
            ),
            "leave --min",
        ),
        (
            ("--judge", "lexicon", "--against", "RUN", "--readers", "training/train"),
            "is not held out",
        ),
        (
            ("--judge", "lexicon", "--against", "RUN", "--readers", "nowhere"),
            "has no held-out readings",
        ),
    ],
)
def test_what_a_gate_between_judges_needs(
    invoke: Invoke, work: Path, words: tuple[str, ...], why: str
) -> None:
    paths = {"RUN": work / "old", "training/train": work / "training" / "train"}
    done = invoke("gate", *(paths.get(word, word) for word in words))
    assert done.exit_code == 2, done.stdout
    assert why in done.stderr


# A prompt of readings


def from_readings(invoke: Invoke, work: Path, *more: object, out: str) -> Any:
    words = ("prompts", "from-readings", work / "old", work / "training")
    return invoke(*words, "--out", work / out, *more)


def counts_apart(one: Mapping[str, int], other: Mapping[str, int]) -> int:
    """How far two answers are apart: by category, and in all significant errors."""
    apart = 0
    for category in "abcdef":
        names = [f"{level}_{category}" for level in ("significant", "insignificant")]
        apart += abs(sum(one[name] - other[name] for name in names))
    significant = [f"significant_{category}" for category in "abcdef"]
    return apart + abs(sum(one[name] - other[name] for name in significant))


def test_the_examples_are_training_readings_on_which_judge_and_reader_differ(
    invoke: Invoke, work: Path, server: Servers
) -> None:
    asked = judge_words(work, server, RIGHT)
    done = from_readings(invoke, work, *asked, out="mine.yaml")
    assert done.exit_code == 0, done.stderr
    prompt = load(str(work / "mine.yaml"))
    assert prompt.name == "mine"
    assert len(prompt.shots) == 4
    trained = {one["study_id"] for one in lines(work / "training" / "train.jsonl")}
    found = {shot.reference.split(".")[0] for shot in prompt.shots}
    assert len(found) == 4
    assert found <= trained
    rubric = load_rubric("green")
    assert rubric.structured is not None
    away = {}
    for key in trained:
        right, wrong = annotation_for(key, RIGHT), annotation_for(key, 0)
        away[key] = counts_apart(right.stated_counts, wrong.stated_counts)
    assert min(away[key] for key in found) >= sorted(away.values())[-4]
    for shot in prompt.shots:
        key = shot.reference.split(".")[0]
        study = Study(key, shot.reference, shot.candidate or "")
        read = rubric.structured.parse(shot.reply, study, complete=True)
        right = annotation_for(key, RIGHT)
        assert rubric.measured(read, study) == rubric.measured(right, study)
    # The rest of the wording is the old prompt's.
    old = load(PROMPT)
    assert (prompt.system, prompt.user, prompt.reply) == (
        old.system,
        old.user,
        old.reply,
    )
    # It was compared with the old one on the held-out part.
    assert "verdict" in done.stdout
    (opened,) = lines(work / "training" / "held-out" / "opened.jsonl")
    assert opened["prompts"] == [f"mine+{prompt.digest}"]


def test_the_price_comes_first_and_a_file_is_not_overwritten(
    invoke: Invoke, work: Path, server: Servers
) -> None:
    before = server[RIGHT].stats().requests
    asked = judge_words(work, server, RIGHT)
    dry = from_readings(invoke, work, *asked, "--dry-run", out="mine.yaml")
    assert dry.exit_code == 0, dry.stderr
    assert server[RIGHT].stats().requests == before
    assert "requests" in dry.stdout
    assert yaml.safe_load((work / "mine.yaml").read_text("utf-8"))["shots"]
    again = from_readings(invoke, work, *asked, out="mine.yaml")
    assert again.exit_code == 2
    assert "is there already" in again.stderr


def test_a_prompt_needs_a_judge_that_reads_one_and_readings_that_differ(
    invoke: Invoke, work: Path, server: Servers
) -> None:
    reports = work / "readers" / "reader-ann"
    assert invoke("green", reports, "--out", work / "rules").exit_code == 0
    words = ("prompts", "from-readings", work / "rules", work / "training")
    done = invoke(*words, "--out", work / "mine.yaml")
    assert done.exit_code == 2
    assert "was not judged by one prompt" in done.stderr
    assert judged(invoke, work, server, "same", seed=RIGHT).exit_code == 0
    words = ("prompts", "from-readings", work / "same", work / "training")
    done = invoke(*words, "--out", work / "mine.yaml")
    assert done.exit_code == 2
    assert "agree on every study" in done.stderr
    assert not (work / "mine.yaml").exists()


def test_examples_of_readings_take_the_place_of_those_of_a_modality(
    invoke: Invoke, work: Path, server: Servers
) -> None:
    reports = work / "readers" / "reader-ann"
    asked = judge_words(work, server, 0)
    words = ("green", reports, *asked, "--modality", "chest-ct", "--out", work / "ct")
    assert invoke(*words).exit_code == 0
    words = ("prompts", "from-readings", work / "ct", work / "training", "--dry-run")
    done = invoke(*words, *asked, "--out", work / "mine.yaml")
    assert done.exit_code == 0, done.stderr
    prompt = load(str(work / "mine.yaml"))
    assert len(prompt.shots) == 4
    assert not prompt.modality_shots


def test_a_changed_prompt_is_not_taken_for_the_old_one(
    invoke: Invoke, work: Path, server: Servers
) -> None:
    data = yaml.safe_load(
        (ROOT / "prompts" / "green-structured.yaml").read_text("utf-8")
    )
    own = work / "own.yaml"
    own.write_text(yaml.safe_dump({**data, "name": "own"}), "utf-8")
    reports = work / "readers" / "reader-ann"
    asked = judge_words(work, server, 0)
    done = invoke("green", reports, *asked, "--prompt", own, "--out", work / "by-own")
    assert done.exit_code == 0, done.stderr
    data["system"] += "\nBe strict."
    own.write_text(yaml.safe_dump({**data, "name": "own"}), "utf-8")
    words = ("prompts", "from-readings", work / "by-own", work / "training")
    done = invoke(*words, "--out", work / "mine.yaml")
    assert done.exit_code == 2
    assert "is another one" in done.stderr


def test_written_json_is_what_a_command_printed(invoke: Invoke, work: Path) -> None:
    words = ("readers", "export", work / "readers", "--for-training")
    done = invoke(*words, "--out", work / "other", "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(
        (work / "other" / "training.json").read_text("utf-8")
    )
