"""`judge serve` and `judge reviews` from the command line: what is said, and when."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from served import Served
from support import Invoke

from judge.service import jobs
from judge.service.settings import JOBS, allowed_judges, is_loopback
from judge.types import JudgeError


def test_a_folder_that_is_no_run_is_named(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("serve", tmp_path)
    assert done.exit_code == 2
    assert "is not a run" in done.stderr


def test_an_address_that_is_taken_is_named(invoke: Invoke) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = invoke("serve", "--port", port)
    assert done.exit_code == 2
    assert f"cannot listen at 127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--token", " "), "the token is empty"),
        (("--allow-judge", ""), "names no judge"),
        (("--host", "no.such.host.invalid"), "cannot listen"),
    ],
)
def test_what_cannot_be_is_said(invoke: Invoke, options: tuple[str, ...], says: str) -> None:
    done = invoke("serve", *options)
    assert done.exit_code == 2
    assert says in done.stderr


def test_runs_that_cannot_be_written_are_known_at_the_start(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    done = invoke("serve", "--runs", tmp_path / "file")
    assert done.exit_code == 2
    assert "--runs" in done.stderr


def test_what_a_cut_off_upload_left_is_swept_up_after_a_day(tmp_path: Path) -> None:
    old, new = (tmp_path / JOBS / f".new-{name}" for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "preds.json").write_text("{}", "utf-8")
    os.utime(old, (0, 0))
    jobs.check(tmp_path)
    assert not old.exists()
    assert new.exists()


def test_two_runs_of_the_same_name_are_told_apart(tmp_path: Path, finished: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / finished.name).symlink_to(finished)
    with Served(tmp_path, finished, tmp_path / "other" / finished.name) as service:
        ids = [run["id"] for run in service.client.get("/v1/runs").json()["runs"]]
        assert len(set(ids)) == 2
        for name in ids:
            assert service.run(name)["n_studies"] == 15


def test_it_ends_at_once_when_it_is_interrupted(tmp_path: Path) -> None:
    with Served(tmp_path) as service:
        pass
    assert service.process.returncode == 130


def test_nothing_heavy_is_loaded_before_it_is_ready() -> None:
    program = (
        "import sys; import judge.cli.serve, judge.service.server\n"
        "print(sorted({'pandas', 'numpy', 'pyarrow', 'openai', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_judges_are_allowed_by_name_and_address() -> None:
    options = ("gpt-4o", "model-x=http://127.0.0.1:8000/v1", "odd=name")
    assert allowed_judges(options) == {
        "gpt-4o": None,
        "model-x": "http://127.0.0.1:8000/v1",
        "odd=name": None,
    }
    with pytest.raises(JudgeError, match="names no judge"):
        allowed_judges(("=http://x/v1",))


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        *((name, True) for name in ("127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8")),
        *((name, False) for name in ("0.0.0.0", "::", "10.0.0.1", "localhost.evil.example", "")),
    ],
)
def test_loopback_is_what_no_other_machine_reaches(host: str, is_one: bool) -> None:
    assert is_loopback(host) is is_one
