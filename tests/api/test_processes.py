"""The command line against the server: processes that end, share and go on; what it says."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable

import pandas as pd
import pytest
from faultserver import Fault, FaultServer, always, first
from running import Shell, keys

from judge.rubrics import Rubric

Made = Callable[[int], Shell]


def test_kill_9_at_half_then_only_the_missing_requests(
    server: FaultServer, shell: Made
) -> None:
    ready = shell(100)
    server.set_faults(latency=0.05)
    with ready.start("--concurrency", "8") as process:
        server.wait_for(lambda stats: stats.answered >= 50)
        process.kill()
        process.communicate()
    assert not list(ready.folder.glob("judge-runs/*/manifest.json"))
    server.wait_for(lambda stats: stats.in_flight == 0)
    assert len(server.stats().by_study) < 100
    code, out, _ = ready.run("--format", "json")
    assert code == 0
    assert json.loads(out)["n_scored"] == 100
    twice = {key for key, n in server.stats().by_study.items() if n > 1}
    assert len(server.stats().by_study) == 100
    assert len(twice) <= 8, "at most what was in flight is asked twice"
    server.reset()
    code, again, err = ready.run("--format", "json")
    assert (code, again) == (0, out), err
    assert server.stats().requests == 0


@pytest.mark.ci
def test_a_process_that_dies_leaves_its_questions(
    server: FaultServer, shell: Made
) -> None:
    ready = shell(40)
    server.set_faults(studies={key: first(Fault.STALL) for key in keys(2)})
    with ready.start("--out", "one", "--concurrency", "2") as one:
        server.wait_for(lambda stats: stats.requests == 2)
        with ready.start("--out", "two", "--concurrency", "2") as two:
            time.sleep(3)
            assert server.stats().requests == 2, "the second waits for the first"
            one.kill()
            one.communicate()
            _, err = two.communicate(timeout=120)
    assert two.returncode == 0, err
    assert server.stats().requests == 42


def test_ctrl_c_collects_what_is_under_way(server: FaultServer, shell: Made) -> None:
    ready = shell(100)
    server.set_faults(latency=0.2)
    with ready.start("--concurrency", "8") as process:
        server.wait_for(lambda stats: stats.answered >= 24)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    done = int(re.search(r"after (\d+) of 100 studies", err)[1])
    assert done == server.stats().answered
    assert "--concurrency 8" in err.splitlines()[-1]
    assert not list(ready.folder.glob("judge-runs/**/*.json*"))
    server.reset()
    server.set_faults(latency=0.0)
    assert ready.run("--concurrency", "8")[0] == 0
    assert server.stats().requests == 100 - done


@pytest.mark.ci
def test_sigterm_keeps_what_comes_soon_and_a_second_ctrl_c_ends_at_once(
    server: FaultServer, shell: Made
) -> None:
    ready = shell(4)
    server.set_faults(studies={key: first(Fault.STALL) for key in keys(4)})
    for signals, code in (([signal.SIGINT] * 2, 130), ([signal.SIGTERM], 143)):
        server.reset()
        with ready.start("--timeout", "300") as process:
            server.wait_for(lambda stats: stats.requests == 4)
            for sent in signals:
                process.send_signal(sent)
                time.sleep(0.5)  # two that are pending at once are one
            _, err = process.communicate(timeout=300)
        assert process.returncode == code, err
        assert "Traceback" not in err


def test_a_dry_run_sends_nothing_and_knows_what_is_cached(
    server: FaultServer, shell: Made
) -> None:
    ready = shell(20)
    code, out, _ = ready.run("--dry-run")
    assert code == 0
    assert "20 (0 cached" in out
    assert server.stats().requests == 0
    ready.run()
    server.reset()
    assert "0 (20 cached" in ready.run("--dry-run")[1]
    assert server.stats().requests == 0


def test_too_little_coverage_is_exit_code_3(
    server: FaultServer, shell: Made, rubric: Rubric
) -> None:
    ready = shell(20)
    server.set_faults(
        studies={
            "study-0001": always(Fault.REFUSAL),
            "study-0002": always(Fault.TOO_LONG),
        }
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
