"""`judge audit RUN STUDY` on terminals of several widths and in a pipe."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from pagemaking import examples, failed, hostile, write_run

from judge import rubrics
from judge.cli import main

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    made = {}
    for name in ("green", "fineradscore", "facts"):
        ends = [*examples(name), failed("f-1"), hostile(rubrics.load(name), "h-1", 2000)]
        made[name] = write_run(folder / name, rubrics.load(name), ends).path
    return made


class Terminal:
    """`judge audit` in a terminal of its own."""

    def __init__(self, columns: int, *args: object) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        command = [sys.executable, "-m", "judge", "audit", *map(str, args)]
        own = ("COLUMNS", "LINES", "NO_COLOR")
        env = {k: v for k, v in os.environ.items() if k not in own} | {"TERM": "xterm-256color"}
        self.child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)

    def read(self, wanted: str | None, seconds: float = 60) -> str:
        """Read until `wanted` comes, the time is over or the command has ended."""
        end, shown = time.monotonic() + seconds, ""
        while wanted is None or wanted not in COLOUR.sub("", shown):
            if not select.select([self._ours], [], [], max(0, end - time.monotonic()))[0]:
                break
            try:
                shown += os.read(self._ours, 65536).decode("utf-8", "replace")
            except OSError:  # how a terminal says that the other side is gone
                break
        return COLOUR.sub("", shown)

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self._ours)


@pytest.mark.parametrize(("columns", "name"), [(40, "green"), (80, "facts"), (150, "fineradscore")])
def test_no_line_is_wider_than_the_terminal(runs: dict[str, Path], columns: int, name: str) -> None:
    with closing(Terminal(columns, runs[name], "ex-015", "--raw")) as terminal:
        lines = terminal.read(None).replace("\r", "").split("\n")
    assert max(map(len, lines)) <= columns
    with closing(Terminal(columns, runs[name], "h-1", "--raw")) as terminal:
        hostile = terminal.read(None)  # text that would steer a terminal is shown
    assert "\\x1b[31m" in hostile
    assert not set("\u202e\x00\x1b") & set(hostile)


def test_a_pipe_gets_no_colour_and_the_same_marks(runs: dict[str, Path]) -> None:
    done = CliRunner().invoke(main, ["audit", str(runs["green"]), "ex-010"], color=True)
    assert "\x1b" not in done.stdout
    assert "[Severe cardiomegaly](1). Moderate pulmonary edema." in done.stdout
    assert "[Mild cardiomegaly](1). Moderate pulmonary edema." in done.stdout
    done = CliRunner().invoke(main, ["audit", str(runs["green"]), "nope"])
    assert (done.exit_code, done.stdout) == (2, "")
