"""`judge bridge` on runs of the built-in judge, to another lexicon and to a served judge."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from faultserver import Behaviour, Fault, FaultServer, always
from support import EXAMPLES, Invoke, with_rules, write_json

from judge.cli import main
from judge.running.cost import Prices

COPIES, N, DRAWN = 20, 60, 40
LEXICON = f"lexicon:{EXAMPLES / 'lexicon.yaml'}"
MODELS = ("alder", "birch")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of two models on each example study twenty times. Read them only."""
    folder = tmp_path_factory.mktemp("old")
    refs = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    runs = {}
    for name in MODELS:
        preds = json.loads((EXAMPLES / f"preds_{name}.json").read_text("utf-8"))
        runs[name] = judged(folder, name, preds, refs)
    return runs


def judged(
    folder: Path, name: str, preds: dict[str, Any], refs: dict[str, Any]
) -> Path:
    files = []
    for side, studies in ((f"preds_{name}", preds), ("refs", refs)):
        copies = {
            f"{key}-{copy}": {**study, "subject_id": key}
            for key, study in studies.items()
            for copy in range(COPIES)
        }
        files.append(write_json(folder / f"{side}.json", copies))
    words = ["green", *files, "--out", folder / name]
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.stderr
    return folder / name


def bridged(invoke: Invoke, *words: object, code: int = 0) -> dict[str, Any]:
    done = invoke("bridge", *words, "--format", "json")
    assert done.exit_code == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def options_of(path: Path, *more: object, studies: int = 100) -> tuple[object, ...]:
    few = ("--resamples", 200)
    return ("--judge", LEXICON, "--limit", studies, "--out", path, *few, *more)


def test_a_leaderboard_is_restated_and_kept_in_a_file(
    invoke: Invoke, old: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "bridge"
    free = ("--patient-field", "none")
    found = bridged(invoke, *old.values(), *options_of(out, *free))
    assert json.loads((out / "bridge.json").read_text("utf-8")) == found
    assert found["models"] == ["alder", "birch"]
    assert found["n_drawn"] == found["n_scored"] == 200
    assert [run["judge"] for run in found["runs"]] == ["old", "old", "new"]
    signatures = {run["signature"] for run in found["runs"]}
    for run in found["runs"]:
        manifest = json.loads((Path(run["run"]) / "manifest.json").read_text("utf-8"))
        assert manifest["signature"] in signatures
    sizes = [one["n_studies"] for one in found["sample"]["strata"]]
    assert sum(sizes) == 600
    for restated in found["restated"]:
        if not restated["group"] and restated["metric"] == "green":
            assert restated["old"]["n"] == 300
            assert restated["new"]["n"] == 100
            assert restated["new"]["low"] < restated["new"]["value"]
    # The other lexicon was asked about the same reports, and found what it found there.
    table = new_table(Path(found["runs"][-1]["run"]))
    for model in MODELS:
        (shift,) = [
            one
            for one in found["shifts"]
            if one["model"] == model and one["name"] == "green" and not one["group"]
        ]
        scores = [float(row["green"]) for row in table if row["model"] == model]
        assert shift["new"] == pytest.approx(sum(scores) / 100, abs=0.03)
    for shift in found["shifts"]:
        low, high = shift["shift"]["low"], shift["shift"]["high"]
        if low is not None:
            assert shift["is_shifted"] == (low > 0 or high < 0)
    again = bridged(invoke, *old.values(), *options_of(out, *free))
    assert again == found


def test_a_stricter_old_test_is_no_change_of_the_judge(
    invoke: Invoke, tmp_path: Path
) -> None:
    """Of fifteen studies permutations find no difference; the test of restated figures does."""
    runs = []
    for name in MODELS:
        runs.append(tmp_path / name)
        preds = EXAMPLES / f"preds_{name}.json"
        assert (
            invoke("green", preds, EXAMPLES / "refs.json", "--out", runs[-1]).exit_code
            == 0
        )
    found = bridged(invoke, *runs, *options_of(tmp_path / "bridge"))
    by_metric = {one["metric"]: one for one in found["conclusions"]}
    rate = by_metric["green_no_significant_error"]
    assert rate["old"]["p_holm"] > 0.05 > rate["new"]["p_holm"]
    assert rate["old"]["p_holm_by_bootstrap"] < 0.05
    assert rate["changed"] == "same"


def new_table(run: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((run / "studies.csv").read_text("utf-8"))))


def test_the_same_seed_draws_the_same_studies_and_patients_are_resampled(
    invoke: Invoke, old: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "bridge"
    drawn = []
    for seed in (1, 1, 2):
        found = bridged(invoke, *old.values(), *options_of(out, "--draw-seed", seed))
        assert found["patient_field"] == "subject_id"
        run = Path(found["runs"][-1]["run"])
        drawn.append({row["study_id"] for row in new_table(run)})
    assert drawn[0] == drawn[1] != drawn[2]
    larger = options_of(out, "--draw-seed", 1, studies=150)
    more = bridged(invoke, *old.values(), *larger)
    run = Path(more["runs"][-1]["run"])
    assert drawn[0] < {row["study_id"] for row in new_table(run)}


def test_the_same_judge_may_stand_in_one_table(
    invoke: Invoke, old: dict[str, Path], tmp_path: Path
) -> None:
    words = ("--judge", "lexicon", "--limit", 200, "--patient-field", "none")
    found = bridged(invoke, *old.values(), *words, "--out", tmp_path / "bridge")
    assert [verdict["answer"] for verdict in found["verdicts"]] == ["yes", "not known"]
    # Of 5 of 15 studies in a class, too few are drawn for a margin of 5 points: 67.
    assert found["verdicts"][1]["n_needed"] in range(201, 300)
    assert {one["changed"] for one in found["conclusions"]} == {"same"}
    assert all(one["shift"]["value"] == 0 for one in found["shifts"])
    narrow = bridged(
        invoke, *old.values(), *words, "--out", tmp_path / "bridge", "--margin", 0.001
    )
    assert {verdict["answer"] for verdict in narrow["verdicts"]} == {"not known"}
    assert narrow["verdicts"][0]["n_needed"] > 200


@pytest.mark.parametrize("rubric", with_rules(["fineradscore", "crimson", "facts"]))
def test_other_rubrics_have_a_bridge_and_one_without_a_rate_no_answer(
    invoke: Invoke, tmp_path: Path, rubric: str
) -> None:
    files = (EXAMPLES / "preds.json", EXAMPLES / "refs.json")
    assert invoke(rubric, *files, "--out", tmp_path / "old").exit_code == 0
    words = (tmp_path / "old", "--judge", "lexicon", "--limit", 15)
    found = bridged(invoke, *words, "--out", tmp_path / "bridge")
    has_rate = any(shift["is_share"] for shift in found["shifts"])
    assert bool(found["verdicts"]) == has_rate == (rubric != "facts")
    assert {one["shift"]["value"] for one in found["shifts"]} <= {0, None}
    shown = invoke("bridge", *words, "--out", tmp_path / "bridge").stdout
    assert ("has no rate" in shown) == (rubric == "facts")
    if rubric != "fineradscore":
        assert any("only means and rates" in note for note in found["notes"])


def test_the_built_in_judge_is_the_new_one_where_none_is_named(
    invoke: Invoke, old: dict[str, Path], tmp_path: Path
) -> None:
    done = invoke("bridge", old["alder"], "--limit", 40, "--out", tmp_path / "bridge")
    assert done.exit_code == 0, done.stderr
    assert "No --judge given: using lexicon" in done.stderr


@pytest.mark.parametrize("form", ["table", "md", "latex", "csv"])
def test_every_form_has_the_tables(
    invoke: Invoke, old: dict[str, Path], tmp_path: Path, form: str
) -> None:
    words = (*old.values(), *options_of(tmp_path / "bridge"), "--format", form)
    done = invoke("bridge", *words)
    assert done.exit_code == 0, done.stderr
    assert "alder" in done.stdout
    assert "bridge:1" in done.stdout
    shift = invoke("bridge", *words, "--table", "shift")
    assert "slope" in shift.stdout
    assert "AC1" not in shift.stdout


def test_what_is_no_old_judge_s_run_is_refused(
    invoke: Invoke, old: dict[str, Path], tmp_path: Path
) -> None:
    def refused(*words: object) -> str:
        done: Result = invoke("bridge", *words)
        assert done.exit_code == 2, done.output
        return " ".join(done.stderr.split())

    few = refused(old["alder"], "--judge", "lexicon", "--limit", 5)
    assert "too few" in few
    assert "no field" in refused(
        old["alder"], "--judge", "lexicon", "--strata", "hospital"
    )
    twice = refused(old["alder"], old["alder"], "--judge", "lexicon")
    assert "two runs" in twice
    imported = invoke(
        *("import", "tidy", EXAMPLES / "readers/readings.csv"),
        *("--section", "findings", "--out", tmp_path / "readers"),
    )
    assert imported.exit_code == 0, imported.stderr
    reader = next((tmp_path / "readers").glob("*/manifest.json")).parent
    assert "reader's run" in refused(reader, "--judge", "lexicon")
    assert not (tmp_path / "bridge").exists()


# A judge behind a server


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


@pytest.fixture
def kept(tmp_path: Path, invoke: Invoke) -> Path:
    """An old run whose studies the server knows by a word in their references."""
    names = [f"study-{at:04}" for at in range(N)]
    refs = {
        name: {"report": f"{name}. Small left effusion.", "class": f"c{at % 2}"}
        for at, name in enumerate(names)
    }
    preds = {
        name: ("Small left effusion." if at % 3 else "No effusion.")
        for at, name in enumerate(names)
    }
    files = (
        write_json(tmp_path / "preds.json", preds),
        write_json(tmp_path / "refs.json", refs),
    )
    words = ("--column", "class=class", "--out", tmp_path / "old")
    done = invoke("green", *files, *words)
    assert done.exit_code == 0, done.stderr
    return tmp_path / "old"


def asked_of(server: FaultServer, folder: Path, *more: object) -> tuple[object, ...]:
    asked = (
        "--judge",
        "model-x",
        "--base-url",
        server.url,
        "--cache",
        folder / "cache",
    )
    return (*asked, "--limit", DRAWN, "--out", folder / "bridge", *more)


def test_a_dry_run_asks_nothing_and_a_second_run_nothing_twice(
    server: FaultServer, kept: Path, invoke: Invoke, tmp_path: Path
) -> None:
    words = (kept, *asked_of(server, tmp_path))
    dry = invoke("bridge", *words, "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    assert f"{DRAWN} (0 cached, 0 repeated)" in dry.stdout
    assert server.stats().requests == 0
    assert not (tmp_path / "bridge").exists()
    done = invoke("bridge", *words)
    assert done.exit_code == 0, done.stderr
    # The price comes before the first question.
    assert f"requests  {DRAWN} (0 cached" in done.stderr
    assert server.stats().requests == DRAWN
    again = invoke("bridge", *words)
    assert again.exit_code == 0
    assert again.stdout == done.stdout
    assert server.stats().requests == DRAWN


def test_reports_that_the_new_judge_does_not_score_are_named_and_never_scored(
    server: FaultServer, kept: Path, invoke: Invoke, tmp_path: Path
) -> None:
    bad = {f"study-{at:04}": always(Fault.MALFORMED) for at in range(0, N, 5)}
    server.set_faults(studies=bad)
    words = (kept, *asked_of(server, tmp_path), "--give-up-after", 0)
    found = bridged(invoke, *words, code=3)
    run = Path(found["runs"][-1]["run"])
    lost = [row for row in new_table(run) if row["outcome"] != "scored"]
    assert 0 < len(lost) == found["n_drawn"] - found["n_scored"]
    assert sum(found["unscored"].values()) == len(lost)
    assert any(
        f"{len(lost)} reports of {DRAWN} have no score" in note
        for note in found["notes"]
    )
    whole = [one for one in found["shifts"] if not one["group"]]
    assert {one["n"] for one in whole} == {found["n_scored"]}
    assert found["verdicts"][0]["answer"] != "yes"


def test_a_limit_of_cost_stops_and_a_higher_one_goes_on(
    server: FaultServer,
    kept: Path,
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dollars = Prices.dollars

    def of_gpt_4o(self: Prices, usage: Any) -> float | None:
        self.model, self.base_url = "gpt-4o", "https://api.openai.com/v1"
        return dollars(self, usage)

    monkeypatch.setattr(Prices, "dollars", of_gpt_4o)
    words = (kept, *asked_of(server, tmp_path), "--concurrency", 1)
    stopped = invoke("bridge", *words, "--max-cost", 0.1)
    assert stopped.exit_code == 3, stopped.stderr
    assert "--max-cost" in stopped.stderr
    asked = server.stats().requests
    assert 0 < asked < DRAWN
    done = invoke("bridge", *words, "--max-cost", 10)
    assert done.exit_code == 0, done.stderr
    assert server.stats().requests == DRAWN


@pytest.mark.ci
def test_killed_it_goes_on_and_ends_the_same(
    server: FaultServer, kept: Path, tmp_path: Path
) -> None:
    server.set_faults(latency=0.05)
    in_flight = 4
    words = [
        str(kept),
        *map(str, asked_of(server, tmp_path, "--concurrency", in_flight)),
    ]

    def start(*more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "judge", "bridge", *words, *more]
        environ = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI")}
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            command, cwd=tmp_path, env=environ, stdout=quiet, stderr=quiet
        )

    with start() as process:
        while process.poll() is None and server.stats().requests < DRAWN // 2:
            time.sleep(0.005)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "bridge" / "bridge.json").exists()
    with start() as process:
        assert process.wait() == 0
    assert DRAWN <= server.stats().requests <= DRAWN + in_flight
    asked = server.stats().requests
    with start("--out", str(tmp_path / "other")) as process:
        assert process.wait() == 2  # --out twice
    first = json.loads((tmp_path / "bridge" / "bridge.json").read_text("utf-8"))
    with start() as process:
        assert process.wait() == 0
    again = json.loads((tmp_path / "bridge" / "bridge.json").read_text("utf-8"))
    assert again == first
    assert server.stats().requests == asked
