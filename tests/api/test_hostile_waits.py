"""What a server asks to wait, and who may end the waiting."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from hostile import Hostile, reply
from running import Shell

from judge.backends.replies import LONGEST_WAIT, ErrorReply


def wait(**headers: str) -> float | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ErrorReply("http://127.0.0.1/v1", 429, named, b"{}").retry_after


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("inf", LONGEST_WAIT),
        ("-inf", 0.0),
        ("1e999", LONGEST_WAIT),
        ("nan", None),
        ("", None),
        ("soon", None),
        ("99999999999999999999999", LONGEST_WAIT),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 2001 00:00:00", 0.0),
        ("Mon, 01 Jan 2001 00:00:00 -0000", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_WAIT),
        ("Fri, 31 Dec 9999 23:59:59 -2359", LONGEST_WAIT),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
        ("Mon, 99 Jan 2001 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_or_ignored_and_never_more_than_the_most(
    value: str, seconds: float | None
) -> None:
    assert wait(retry_after=value) == seconds


def test_a_date_with_and_without_a_zone() -> None:
    later = datetime.now(UTC) + timedelta(seconds=100)
    for text in (format_datetime(later, usegmt=True), f"{later:%a, %d %b %Y %H:%M:%S}"):
        assert wait(retry_after=text) == pytest.approx(100, abs=30)


def test_milliseconds_come_first() -> None:
    assert wait(retry_after_ms="1500", retry_after="9") == 1.5
    assert wait(retry_after_ms="soon", retry_after="9") == 9


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_ends_a_long_wait(tmp_path: Path, number: int, code: int) -> None:
    with Hostile(reply({}, "429 Too Many Requests", "Retry-After: 250")) as server:
        shell = Shell(tmp_path, server.url, "green")
        shell.write(30)
        with shell.start() as process:
            until = time.monotonic() + 60
            while not server.requests and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(0.5)
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert out == ""
    assert "Traceback" not in err
    assert "Go on with the same command" in err or "Start again with" in err
    assert not list(tmp_path.glob("judge-runs/*/.writing")), "nothing half-written is left"


def test_sigterm_in_the_middle_of_other_work_cleans_up(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from judge.running import writer\n"
        "def stopped(*_): os.kill(os.getpid(), signal.SIGTERM); import time; time.sleep(30)\n"
        "writer.RunWriter.finish = stopped\n"
        "from judge.cli import main\n"
        "main()\n"
    )
    shell = Shell(tmp_path, "", "green")
    shell.write(3)
    done = subprocess.run(
        [sys.executable, "-c", program, "green", "preds.json", "refs.json", "--out", "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 143, done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
