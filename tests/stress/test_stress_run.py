"""`judge stress REFS`: candidates, a run for each prompt and repeat, and going on."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, Fault, FaultServer
from stresshelp import REFS, start, truth_of
from support import EXAMPLES, ROOT, Invoke, write_json

from judge.running.budget import Purse
from judge.running.folder import Run

FEW = ("--changes", "identical,reordered,denied,instruction", "-n", "4")
PROMPTS = ("--prompt", "green", "--prompt", "green-structured")


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


def asked_of(server: FaultServer, *more: object) -> tuple[object, ...]:
    return (*FEW, "--judge", "model-x", "--base-url", server.url, "--cache", "cache", *more)


def runs_in(folder: Path) -> list[Run]:
    return [Run(path) for path in sorted((folder / "runs").iterdir())]


def test_the_built_in_judge_is_run_once_and_found_again(invoke: Invoke, tmp_path: Path) -> None:
    given = ("stress", REFS, "--out", "made", *FEW, "--repeats", "3", "--prompt", "green")
    done = invoke(*given)
    assert done.exit_code == 0, done.stderr
    assert "lexicon answers the same question the same each time: one run, not 3." in done.stderr
    assert "--prompt has no effect" in done.stderr
    made = tmp_path / "made"
    (run,) = runs_in(made)
    truth = truth_of(made)
    assert run.summary()["n_scored"] == len(truth) > 10
    assert run.summary()["by"] == ["change"]
    assert {"study", "change", "group", "patient"} <= {*run.manifest["fields"]}
    assert run.manifest["model"] == "stress"
    before = {path: path.stat().st_mtime_ns for path in made.iterdir() if path.is_file()}
    again = invoke(*given)
    assert (again.exit_code, again.stdout) == (0, done.stdout)
    assert before == {path: path.stat().st_mtime_ns for path in made.iterdir() if path.is_file()}
    assert len(runs_in(made)) == 1


def test_without_out_the_same_candidates_have_the_same_place(
    invoke: Invoke, tmp_path: Path
) -> None:
    assert invoke("stress", REFS, *FEW).exit_code == 0
    assert invoke("stress", REFS, *FEW).exit_code == 0
    (folder,) = (tmp_path / "judge-runs").iterdir()
    assert re.fullmatch(r"stress-refs-[0-9a-f]{8}", folder.name)
    assert invoke("stress", REFS, *FEW, "--seed", "2").exit_code == 0
    other = write_json(tmp_path / "refs.json", {"a": {"findings": "The lungs are clear."}})
    assert invoke("stress", other, "--changes", "identical").exit_code == 0
    assert len([*(tmp_path / "judge-runs").iterdir()]) == 3


def test_it_takes_what_stress_make_made(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("stress", "make", REFS, "--out", "made", *FEW).exit_code == 0
    assert invoke("stress", REFS, "--out", "made", *FEW).exit_code == 0
    assert len(runs_in(tmp_path / "made")) == 1


def test_each_prompt_and_repeat_asks_for_itself_and_goes_on_without_a_question(
    invoke: Invoke, server: FaultServer, tmp_path: Path
) -> None:
    given = ("stress", REFS, "--out", "made", *asked_of(server, "--repeats", "3", *PROMPTS))
    done = invoke(*given)
    assert done.exit_code == 0, done.stderr
    runs = runs_in(tmp_path / "made")
    places = {(one.manifest["prompt"], one.repeat) for one in runs}
    assert places == {(name, k) for name in ("green", "green-structured") for k in range(3)}
    assert len({one.signature for one in runs}) == len(runs) == 6
    assert all(one.summary()["n_scored"] == len(truth_of(tmp_path / "made")) for one in runs)
    # Of each run, a question whose texts are the same is asked once: identical and errors_0.
    questions = {(one["before"], one["after"]) for one in truth_of(tmp_path / "made")}
    assert server.stats().requests == 6 * len(questions)
    again = invoke(*given)
    assert (again.exit_code, again.stdout) == (0, done.stdout)
    assert server.stats().requests == 6 * len(questions)
    assert "Run 6 of 6: model-x, prompt green-structured, repeat 3" in again.stderr
    more = invoke("stress", REFS, "--out", "made", *asked_of(server, "--temperature", "1"))
    assert more.exit_code == 0, more.stderr
    lexicon = invoke("stress", REFS, "--out", "made", *FEW)
    assert lexicon.exit_code == 0, lexicon.stderr
    assert len(runs_in(tmp_path / "made")) == 8


def test_a_dry_run_says_what_all_runs_ask_together_and_writes_nothing(
    invoke: Invoke, server: FaultServer, tmp_path: Path
) -> None:
    given = ("stress", REFS, "--out", "made", *asked_of(server, "--repeats", "2", *PROMPTS))
    done = invoke(*given, "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert not (tmp_path / "made").exists()
    assert server.stats().requests == 0
    said = int(re.search(r"requests +(\d+) \(0 cached", done.stdout)[1])
    assert invoke(*given).exit_code == 0
    assert server.stats().requests == said
    after = invoke(*given, "--dry-run")
    assert re.search(rf"requests +0 \({said} cached", after.stdout)
    assert server.stats().requests == said


def test_kill_9_and_the_same_command_asks_only_what_is_missing(
    server: FaultServer, tmp_path: Path
) -> None:
    given = ("--out", "made", *asked_of(server, "--repeats", "2", "--concurrency", "2"))
    server.set_faults(latency=0.05)
    with start(tmp_path, *given) as process:
        server.wait_for(lambda stats: stats.answered >= 20)
        process.kill()
        process.communicate()
    server.wait_for(lambda stats: stats.in_flight == 0)
    before = server.stats().requests
    server.set_faults(latency=0.0)
    with start(tmp_path, *given) as process:
        _, err = process.communicate()
    assert process.returncode == 0, err
    questions = {(one["before"], one["after"]) for one in truth_of(tmp_path / "made")}
    assert 2 * len(questions) <= server.stats().requests <= 2 * len(questions) + 2
    assert before < server.stats().requests
    assert len(runs_in(tmp_path / "made")) == 2


def test_ctrl_c_keeps_what_was_answered(server: FaultServer, tmp_path: Path) -> None:
    given = ("--out", "made", *asked_of(server, "--repeats", "2", "--concurrency", "2"))
    server.set_faults(latency=0.1)
    with start(tmp_path, *given) as process:
        server.wait_for(lambda stats: stats.answered >= 6)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "Go on with the same command:" in err
    assert "Run 1 of 2: model-x" in err
    assert not [*(tmp_path / "made").glob("runs/*/manifest.json")]


def test_too_few_scored_is_code_3_after_the_report(
    invoke: Invoke, server: FaultServer, tmp_path: Path
) -> None:
    server.set_faults(rates={Fault.MALFORMED: 0.5})
    done = invoke("stress", REFS, "--out", "made", *asked_of(server, "--repeats", "2"))
    assert done.exit_code == 3
    assert done.stdout
    assert done.stderr.count("less than --min-coverage 0.99") == 2
    assert len(runs_in(tmp_path / "made")) == 2


def test_a_judge_that_reads_nothing_is_given_up(
    invoke: Invoke, server: FaultServer, tmp_path: Path
) -> None:
    server.set_faults(rates={Fault.MALFORMED: 1.0})
    # Few at a time: those under way when it is given up are finished.
    given = asked_of(server, "--give-up-after", "5", "--repeats", "2", "--concurrency", "2")
    done = invoke("stress", REFS, "--out", "made", *given)
    assert done.exit_code == 3
    assert done.stdout == ""
    assert "5 of the first 5 answers cannot be read" in done.stderr
    assert {path.name for path in (tmp_path / "made").iterdir()} >= {"preds.json", "truth.jsonl"}
    assert not [*(tmp_path / "made").glob("runs/*/manifest.json")]


def test_a_price_that_is_not_known_stops_before_anything_is_asked(
    invoke: Invoke, server: FaultServer
) -> None:
    done = invoke("stress", REFS, "--out", "made", *asked_of(server, "--max-cost", "1"))
    assert done.exit_code == 3
    assert "--max-cost is set and the price of an answer is unknown" in done.stderr
    assert server.stats().requests == 0


def test_a_purse_is_one_for_all_runs() -> None:
    purse = Purse(1.0)
    assert purse.reserve(0.6) == ""
    assert "--max-cost (1 dollars)" in purse.reserve(0.6)
    purse.settle(0.6, 0.1)
    assert purse.reserve(0.6) == ""
    purse.settle(0.6, None)  # what an answer cost that was cut off is not known: its most counts
    assert purse.reserve(0.4)
    assert purse.reserve(0.3) == ""
    assert "unknown" in purse.reserve(None)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        (("--seed", "2"), "seed"),
        (("-n", "3"), "the number of studies"),
        (("--changes", "added"), "changes"),
        (("--section", "report"), "section"),
    ],
)
def test_other_candidates_stay(
    invoke: Invoke, tmp_path: Path, change: tuple[str, ...], differs: str
) -> None:
    assert invoke("stress", REFS, "--out", "made", *FEW).exit_code == 0
    before = {path: path.read_bytes() for path in (tmp_path / "made").rglob("*.json*")}
    done = invoke("stress", REFS, "--out", "made", *FEW, *change)
    assert done.exit_code == 2
    assert f"holds other candidates (they differ in {differs}" in done.stderr
    assert before == {path: path.read_bytes() for path in (tmp_path / "made").rglob("*.json*")}


def test_candidates_that_were_changed_are_not_judged(invoke: Invoke, tmp_path: Path) -> None:
    made = tmp_path / "made"
    assert invoke("stress", REFS, "--out", "made", *FEW).exit_code == 0
    whole = {path.name: path.read_text("utf-8") for path in made.iterdir() if path.is_file()}
    preds = json.loads(whole["preds.json"])
    first, *_ = preds
    preds[first]["section_findings"] += " Pneumothorax."
    lines = whole["truth.jsonl"].splitlines(keepends=True)
    for name, text in (
        ("preds.json", json.dumps(preds)),
        ("truth.jsonl", "".join(lines[1:])),
        ("truth.jsonl", "".join(lines[:-1])),
        ("truth.jsonl", "".join([*lines, lines[0]])),
        ("truth.jsonl", "".join(lines).replace('"study": "', '"study": ["', 1)),
        ("truth.jsonl", whole["truth.jsonl"].replace(first.partition("/")[0], "other")),
    ):
        (made / name).write_text(text, "utf-8")
        done = invoke("stress", REFS, "--out", "made", *FEW)
        assert done.exit_code == 2, name
        assert "are not as they were made" in done.stderr
        (made / name).write_text(whole[name], "utf-8")
    assert invoke("stress", REFS, "--out", "made", *FEW).exit_code == 0
    for text in ("{", "[]", "{}", '{"changes": [1]}', '{"changes": []}'):
        (made / "stress.json").write_text(text, "utf-8")
        done = invoke("stress", REFS, "--out", "made", *FEW)
        assert done.exit_code == 2, text
        assert "name another folder with --out" in done.stderr


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["nowhere.json"], "no such file: nowhere.json"),
        ([EXAMPLES / "preds.json"], "has no field for the references"),
        ([REFS, "--rubric", "nothing"], "unknown rubric 'nothing'"),
        ([REFS, "--judge", "lexcion"], "unknown judge 'lexcion'"),
        ([REFS, "--prompt", "nothing"], "unknown prompt 'nothing'"),
        ([REFS, "--prompt", "rewording"], "is for the rubric rewording, not green"),
        ([REFS, "--changes", "nothing"], "unknown change 'nothing'"),
        ([REFS, "--repeats", "0"], "--repeats"),
        ([REFS, "--temperature", "1"], "takes no --temperature"),
        ([REFS, "--out", "mine"], "holds something, and no stress.json"),
        ([REFS, "--out", "mine/file"], "is a file"),
        (["one.json", "--changes", "side_swapped"], "no candidate can be made of one.json"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    invoke: Invoke, tmp_path: Path, given: list[object], says: str
) -> None:
    write_json(tmp_path / "one.json", {"a": {"findings": "Clear."}})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    done = invoke("stress", *given)
    assert done.exit_code == 2, done.stdout
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_help_shows_both_ways(invoke: Invoke) -> None:
    text = invoke("stress", "--help").stdout
    found = re.findall(r"^([A-Z]\w+):$", text, re.MULTILINE)
    wanted = ["Commands", "Files", "Candidates", "Judge", "Sampling", "Running", "Output", "Other"]
    assert found == wanted
    assert "judge stress REFS [OPTIONS]" in text or "stress REFS [OPTIONS]" in text
    assert re.search(r"^  make +Make candidates", text, re.MULTILINE)
    empty = invoke("stress")
    assert empty.exit_code == 2
    assert "REFS" in empty.output + empty.stderr
    options_first = invoke("stress", *FEW, "--out", "made", REFS)
    assert options_first.exit_code == 0, options_first.stderr


@pytest.mark.parametrize("form", ["table", "md", "csv", "json"])
def test_one_study_has_a_report_in_every_form(form: str, invoke: Invoke, tmp_path: Path) -> None:
    refs = write_json(
        tmp_path / "one.json",
        {"a": {"findings": "Small left pleural effusion. Normal heart size. No pneumothorax."}},
    )
    done = invoke("stress", refs, "--out", "made", "--format", form, "--html", "one.html")
    assert done.exit_code == 0, done.output
    assert "detection" in done.stdout or "One error that was put in" in done.stdout


def test_reports_in_another_language_are_counted_and_not_changed(
    invoke: Invoke, tmp_path: Path
) -> None:
    texts = {
        "de": "Kein Pneumothorax. Keine Infiltrate. Herz normal.",
        "fr": "Pas de pneumothorax. Les poumons sont clairs.",
        "ru": "\u041b\u0435\u0433\u043a\u0438\u0435 \u0447\u0438\u0441\u0442\u044b\u0435.",
        "en": "No pneumothorax. A pacemaker is seen en face. Normal.",
        "short": "Normal.",
    }
    refs = write_json(tmp_path / "refs.json", {k: {"findings": v} for k, v in texts.items()})
    done = invoke("stress", "make", refs, "--out", "made", "--format", "json")
    (denied, *_) = (one for one in json.loads(done.stdout)["changes"] if one["change"] == "denied")
    assert denied["not_made"]["the reference is not in English"] == 3
    assert {one["study"] for one in truth_of(tmp_path / "made")} == {"en", "short"}
    (tmp_path / "de.json").write_text(json.dumps({"de": {"findings": texts["de"]}}), "utf-8")
    none = invoke("stress", tmp_path / "de.json", "--out", "none")
    assert none.exit_code == 2
    assert "the reference is not in English" in none.stderr
    assert not (tmp_path / "none").exists()


def test_an_edited_truth_is_not_gone_on_with(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("stress", REFS, "--out", "made", *FEW).exit_code == 0
    truth = tmp_path / "made" / "truth.jsonl"
    text = truth.read_text("utf-8")
    truth.write_text(text.replace('"significant": true', '"significant": false'), "utf-8")
    assert truth.read_text("utf-8") != text
    done = invoke("stress", REFS, "--out", "made", *FEW)
    assert done.exit_code == 2
    assert "are not as they were made" in done.stderr


def test_two_wordings_of_one_name_are_two_and_one_wording_of_two_names_is_one(
    invoke: Invoke, server: FaultServer, tmp_path: Path
) -> None:
    own = (ROOT / "prompts" / "green.yaml").read_text("utf-8")
    edited, renamed = tmp_path / "edited.yaml", tmp_path / "renamed.yaml"
    edited.write_text(own.replace("You are", "You really are", 1), "utf-8")
    renamed.write_text(own.replace("name: green", "name: green-two", 1), "utf-8")
    prompts = ("--prompt", "green", "--prompt", edited, "--prompt", renamed)
    done = invoke("stress", REFS, "--out", "made", *asked_of(server, *prompts), "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert len(runs_in(tmp_path / "made")) == 2
    assert "asks nothing else than the one before" in done.stderr
    assert len(json.loads(done.stdout)["stability"]["prompts"]["of"]) == 2


def test_a_seed_that_is_the_same_each_time_goes_with_no_repeats(invoke: Invoke) -> None:
    done = invoke("stress", REFS, *FEW, "--repeats", "2", "--sampling-seed", "5")
    assert done.exit_code == 2
    assert "--sampling-seed asks for the same answer each time" in done.stderr
