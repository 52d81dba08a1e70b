"""The built-in judge in several processes: the same bytes, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster.clusterhelp import REPORTS, judged, manifest, same_files
from support import REPLIES, write_json

from judge.studies import StudySet, from_given

MANY = 6_000


def studies(n: int) -> StudySet:
    """So many studies, no two alike."""
    return from_given(
        [f"{REPORTS[at % 4]} Nodule of {at} mm." for at in range(n)],
        [f"{REPORTS[(at + 1) % 5]}" for at in range(n)],
        study_ids=[f"s{at}" for at in range(n)],
        fields={"site": [at % 3 for at in range(n)]},
    )


@pytest.mark.parametrize(("n", "rubric"), list(zip((31, 200), REPLIES, strict=True)))
def test_the_same_bytes_with_any_number_of_workers(tmp_path: Path, rubric: str, n: int) -> None:
    one = judged(studies(n), tmp_path / "one", rubric=rubric)
    for workers in (2, 3):
        several = judged(studies(n), tmp_path / f"w{workers}", rubric=rubric, workers=workers)
        assert same_files(one.path, several.path)
        assert manifest(several.path)["effort"]["workers"] == workers
        assert manifest(several.path)["spent"] == manifest(one.path)["spent"]
    if n >= 31:
        assert any("in another language" in note for note in one.summary()["notes"])


def started(folder: Path, *options: str) -> subprocess.Popen[str]:
    """A run in mid-work: `judge` in a process of its own, over many studies."""
    many = studies(3 * MANY)
    write_json(folder / "refs.json", dict(zip(many.study_ids, many.references, strict=True)))
    write_json(folder / "preds.json", dict(zip(many.study_ids, many.candidates, strict=True)))
    command = [sys.executable, "-m", "judge", "green", "preds.json", "refs.json", "--workers", "2"]
    return subprocess.Popen(
        [*command, "--out", "run", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8")
    return [int(child) for child in children.split()]


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The workers of a run, as soon as both are there: children of its server of forks."""
    for _ in range(600):
        for child in children_of(process.pid):
            if len(found := children_of(child)) == 2:
                time.sleep(1.0)  # into their work
                return found
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("no workers came")


def all_ended(pids: list[int], seconds: float = 15.0) -> bool:
    """Whether processes end within a time; one that nobody waited for is ended too."""

    def is_there(pid: int) -> bool:
        try:
            return ") Z " not in Path(f"/proc/{pid}/stat").read_text("utf-8")
        except (FileNotFoundError, ProcessLookupError):
            return False

    until = time.monotonic() + seconds
    while any(map(is_there, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(is_there, pids))


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130)])
def test_an_interruption_ends_all_of_it(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    with started(tmp_path) as process:
        pids = workers_of(process)
        process.send_signal(sent)
        out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert out == ""
    assert "Traceback" not in err
    assert "Start again with:" in err
    assert "--workers 2" in err.splitlines()[-1]
    assert all_ended(pids)
    assert not (tmp_path / "run").exists()


def test_a_worker_that_dies_is_one_message(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        first, other = workers_of(process)
        os.kill(first, signal.SIGKILL)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert out == ""
    (line,) = [line for line in err.splitlines() if line.startswith("Error")]
    assert "--workers" in line
    assert "Traceback" not in err
    assert all_ended([first, other])
    assert not (tmp_path / "run").exists()


def test_no_worker_outlives_a_run_that_is_killed(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        pids = workers_of(process)
        process.kill()
        process.communicate(timeout=30)
    assert all_ended(pids)


def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    program = """
from judge import RequestPolicy, annotate
texts = ["The lungs are clear."] * 70
print(len(annotate(texts, texts, policy=RequestPolicy(workers=2))))
"""
    (tmp_path / "script.py").write_text(program)
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "70\n"), done.stderr
