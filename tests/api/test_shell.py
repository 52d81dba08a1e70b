"""The command line against the server: interruption, going on, sharing, money, what is said."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest
import yaml
from faultserver import Behaviour, Fault, FaultServer, always, first
from running import Shell, keys

from judge import prompts
from judge.rubrics import Rubric
from judge.running.folder import Run

Made = Callable[[int], Shell]


def test_kill_9_at_half_then_only_the_missing_requests(server: FaultServer, shell: Made) -> None:
    ready = shell(200)
    server.set_faults(latency=0.05)
    with ready.start("--concurrency", "8") as process:
        server.wait_for(lambda stats: stats.answered >= 100)
        process.kill()
        process.communicate()
    assert not list(ready.folder.glob("judge-runs/*/manifest.json"))
    server.wait_for(lambda stats: stats.in_flight == 0)
    asked = server.stats().by_study
    code, out, _ = ready.run("--format", "json")
    assert code == 0
    assert json.loads(out)["n_scored"] == 200
    twice = {key for key, n in server.stats().by_study.items() if n > 1}
    assert len(server.stats().by_study) == 200
    assert len(twice) <= 8, "at most what was in flight is asked twice"
    assert len(asked) < 200
    server.reset()
    code, again, err = ready.run("--format", "json")
    assert (code, again) == (0, out)
    assert server.stats().requests == 0
    assert "asked 0, from cache 200" in err


def test_two_processes_share_a_cache(server: FaultServer, shell: Made) -> None:
    ready = shell(200)
    server.set_faults(latency=0.02)
    with (
        ready.start("--out", "one", "--format", "json") as one,
        ready.start("--out", "two", "--format", "json") as two,
    ):
        results = [process.communicate() for process in (one, two)]
    assert [one.returncode, two.returncode] == [0, 0], results
    one_summary, two_summary = (json.loads(out) for out, _ in results)
    assert one_summary == two_summary
    assert one_summary["n_scored"] == 200
    assert server.stats().requests <= 204, "what one asks the other waits for"
    server.reset()
    assert ready.run("--out", "three")[0] == 0
    assert server.stats().requests == 0


def test_a_process_that_dies_leaves_its_questions_to_the_other(
    server: FaultServer, shell: Made
) -> None:
    ready = shell(40)
    server.set_faults(studies={key: first(Fault.STALL) for key in keys(2)})
    with ready.start("--out", "one", "--concurrency", "2") as one:
        server.wait_for(lambda stats: stats.requests == 2)
        with ready.start("--out", "two", "--concurrency", "2") as two:
            time.sleep(1.5)
            assert server.stats().requests == 2, "the second waits for the first"
            one.kill()
            one.communicate()
            _, err = two.communicate(timeout=30)
    assert two.returncode == 0, err
    assert server.stats().requests == 42


def test_ctrl_c_collects_what_is_under_way_and_says_how_to_go_on(
    server: FaultServer, shell: Made
) -> None:
    ready = shell(200)
    server.set_faults(latency=0.2)
    with ready.start("--concurrency", "8") as process:
        server.wait_for(lambda stats: stats.answered >= 24)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    done = int(re.search(r"after (\d+) of 200 studies", err)[1])
    assert done == server.stats().answered
    assert "--concurrency 8" in err.splitlines()[-1]
    assert not list(ready.folder.glob("judge-runs/**/*.json*"))
    server.reset()
    server.set_faults(latency=0.0)
    assert ready.run("--concurrency", "8")[0] == 0
    assert server.stats().requests == 200 - done


def test_ctrl_c_twice_stops_now(server: FaultServer, shell: Made) -> None:
    ready = shell(50)
    server.set_faults(latency=0.01, studies={"study-0010": always(Fault.STALL)})
    with ready.start() as process:
        server.wait_for(lambda stats: stats.answered >= 40)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None, "it waits for what is under way"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_prompt_with_one_more_character_asks_again(
    server: FaultServer, shell: Made, rubric: Rubric
) -> None:
    ready = shell(10)
    kept = Path(prompts.__file__).parent / f"{rubric.prompt}.yaml"
    prompt = yaml.safe_load(kept.read_text("utf-8"))
    (ready.folder / "mine.yaml").write_text(yaml.safe_dump(prompt), "utf-8")
    assert ready.run("--prompt", "mine.yaml")[0] == 0
    server.reset()
    assert ready.run("--prompt", "mine.yaml")[0] == 0
    assert server.stats().requests == 0
    more = {**prompt, "user": prompt["user"] + "."}
    (ready.folder / "mine.yaml").write_text(yaml.safe_dump(more), "utf-8")
    assert ready.run("--prompt", "mine.yaml")[0] == 0
    assert server.stats().requests == 10


def test_a_changed_study_id_asks_nothing(server: FaultServer, shell: Made) -> None:
    ready = shell(10)
    assert ready.run()[0] == 0
    for name in ("refs.json", "preds.json"):
        path = ready.folder / name
        data = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps({f"other-{key}": text for key, text in data.items()}), "utf-8")
    server.reset()
    assert ready.run()[0] == 0
    assert server.stats().requests == 0


def test_a_dry_run_sends_nothing_and_knows_what_is_cached(server: FaultServer, shell: Made) -> None:
    ready = shell(20)
    code, out, _ = ready.run("--dry-run")
    assert code == 0
    assert "requests        20 (0 cached" in out
    assert re.search("typical +unknown until some answers are there: --limit 50\n", out)
    assert re.search("worst +40 requests, .*, minutes unknown\n", out)
    assert "cost unknown" in out
    assert server.stats().requests == 0
    ready.run()
    server.reset()
    code, out, _ = ready.run("--dry-run")
    assert "requests        0 (20 cached" in out
    assert "20 answers of this prompt in the cache" in out
    assert server.stats().requests == 0


def test_a_limit_judges_a_few_drawn_at_random(server: FaultServer, shell: Made) -> None:
    ready = shell(20)
    code, _, err = ready.run("--limit", "5", "--out", "some")
    assert code == 0
    assert server.stats().requests == 5
    assert "5 of 20 studies, drawn at random" in err
    first = [study.study_id for study, _ in Run(ready.folder / "some").outcomes()]
    assert ready.run("--limit", "5", "--out", "some")[0] == 0
    assert [study.study_id for study, _ in Run(ready.folder / "some").outcomes()] == first
    assert server.stats().requests == 5, "the draw is the same each time"
    _, coming, _ = ready.run("--dry-run")
    assert "requests        15 (5 cached" in coming
    assert ready.run("--out", "all")[0] == 0
    assert server.stats().requests == 20


def test_a_dry_run_of_several_judges(shell: Made) -> None:
    ready = shell(3)
    code, out, _ = ready.run("--judge", "model-y", "--dry-run")
    assert code == 0
    assert re.search("model-x +model-y", out)
    assert out.count("3 (0 cached, 0 repeated)") == 2
    code, _, err = ready.run("--judge", "model-y")
    assert code == 2
    assert "several go with --dry-run" in err


def test_a_server_that_is_not_there_is_named_at_once(server: FaultServer, shell: Made) -> None:
    ready = shell(5)
    port = server.url.rpartition(":")[2].partition("/")[0]
    server.stop()
    code, _, err = ready.run("--max-outage", "0.05")
    assert code == 2
    assert "No answer: " in err
    assert port in err.partition("No answer: ")[2]
    assert "at most 0.05 minutes where the server is gone (--max-outage)" in err


def test_too_little_coverage_is_exit_code_3_with_its_reasons(
    server: FaultServer, shell: Made, rubric: Rubric
) -> None:
    ready = shell(20)
    server.set_faults(
        studies={"study-0001": always(Fault.REFUSAL), "study-0002": always(Fault.TOO_LONG)}
    )
    code, out, err = ready.run("--out", "run")
    assert code == 3
    assert "18 of 20" in err
    assert re.search(r"unparsed: refusal +1", out)
    assert re.search(r"failed: too long +1", out)
    table = pd.read_parquet(ready.folder / "run/studies.parquet").set_index("study_id")
    lost = table.loc[["study-0001", "study-0002"]]
    assert list(lost["outcome"]) == ["unparsed", "failed"]
    assert lost[[measure.name for measure in rubric.measures]].isna().all().all()
    assert ready.run("--out", "run", "--min-coverage", "0.9")[0] == 0


def test_an_address_that_is_not_this_machine_is_named_before_anything_is_sent(
    server: FaultServer, shell: Made, rubric: Rubric
) -> None:
    ready = shell(3)
    code, _, err = ready.run()
    assert code == 0
    assert "Sending reports" not in err
    elsewhere = server.url.replace("127.0.0.1", "0.0.0.0")  # the same server by another name
    command = [sys.executable, "-m", "judge", rubric.name, "preds.json", "refs.json"]
    command += ["--judge", "model-x", "--base-url", elsewhere, "--cache", "another"]
    done = subprocess.run(
        command,
        cwd=ready.folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin", "OPENAI_API_KEY": "k", "HOME": str(ready.folder)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"Sending reports to {elsewhere}") == 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [(Fault.WRONG_KEY, "key"), (Fault.NO_QUOTA, "quota"), (Fault.UNKNOWN_MODEL, "model")],
)
def test_what_stops_a_run_is_one_line_and_exit_code_2(
    server: FaultServer, shell: Made, fault: Fault, says: str
) -> None:
    ready = shell(30)
    server.set_faults(studies={key: always(fault) for key in keys(30)})
    code, out, err = ready.run("--format", "json")
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err


def test_a_later_parser_reads_the_answers_of_an_earlier_run(
    server: FaultServer, shell: Made
) -> None:
    """The raw answer is what is kept: what is unreadable today may be read tomorrow."""
    ready = shell(5)
    server.set_faults(studies={"study-0003": always(Fault.MALFORMED)})
    ready.run("--out", "run", "--min-coverage", "0")
    lines = (ready.folder / "run/annotations.jsonl").read_text("utf-8").splitlines()
    record = next(r for r in map(json.loads, lines) if r["study_id"] == "study-0003")
    assert record["outcome"] == "unparsed"
    assert record["answer"]["text"]
    assert record["attempt"] == 1


def test_progress_is_a_plain_line_without_a_terminal(shell: Made) -> None:
    _, _, err = shell(5).run()
    assert "\x1b" not in err
    assert "asked 5, from cache 0" in err
    assert "cost unknown" in err


def test_ten_thousand_studies_in_little_memory_and_again_from_the_cache(tmp_path: Path) -> None:
    name, n = "green", 10_000
    program = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from judge.cli import main\n"
        "try: main()\n"
        "finally:\n"
        # Not ru_maxrss, which begins with the memory of the process that started this one.
        "    used = re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]\n"
        "    print('peak', int(used) // 1024, file=sys.stderr)"
    )
    with FaultServer(Behaviour(), rubric=name) as server:
        ready = Shell(tmp_path, server.url, name)
        ready.write(n)
        command = [sys.executable, "-c", program, name, "preds.json", "refs.json"]
        command += ["--judge", "model-x", "--base-url", server.url, "--cache", "cache"]
        command += ["--concurrency", "64", "--format", "json"]
        for requests in (n, 0):
            server.reset()
            done = subprocess.run(
                command, cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["n_scored"] == n
            assert server.stats().requests == requests
            assert int(re.search(r"peak (\d+)", done.stderr)[1]) <= 300


def test_a_damaged_answer_is_asked_for_again_and_that_is_said(
    server: FaultServer, shell: Made
) -> None:
    """The figure that the damage would have made is never seen."""
    ready = shell(5)
    _, whole, _ = ready.run("--format", "json")
    cache = ready.folder / "cache"
    with closing(sqlite3.connect(cache / "cache.db", isolation_level=None)) as data:
        for name, value in data.execute("SELECT key, value FROM Cache LIMIT 2").fetchall():
            entry = json.loads(value)
            entry["completion"]["text"] += " "
            changed = (json.dumps(entry).encode(), name)
            data.execute("UPDATE Cache SET value = ? WHERE key = ?", changed)
    _, _, err = ready.run("--dry-run")
    assert "2 cached answers are damaged and would be asked for again" in err
    server.reset()
    code, again, err = ready.run("--format", "json")
    assert (code, again) == (0, whole)
    assert server.stats().requests == 2
    assert "asked 2, from cache 3" in err
    assert "2 cached answers were damaged and asked for again" in err
    (manifest,) = ready.folder.glob("judge-runs/*/manifest.json")
    assert json.loads(manifest.read_text())["spent"]["damaged"] == 2
    assert "damaged" not in ready.run()[2]
