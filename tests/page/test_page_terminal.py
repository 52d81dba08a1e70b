"""`judge audit` on terminals of several widths, and in a pipe."""

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
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pagemaking import examples, failed, hostile, write_run
from support import SHAPES

from judge import rubrics
from judge.cli import main

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        name: write_run(
            folder / name,
            rubrics.load(name),
            [*examples(name), failed("f-1"), hostile(rubrics.load(name), "h-1", 2000)],
        ).path
        for name in SHAPES
    }


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, columns: int, *args: object) -> None:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        self._child = subprocess.Popen(
            [sys.executable, "-m", "judge", "audit", *map(str, args)],
            stdin=theirs, stdout=theirs, stderr=theirs,
            env={**env, "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(theirs)
        self._ours = ours
        self.text = ""

    def until(self, wanted: str, seconds: float = 20) -> str:
        """Read on until `wanted` is on the screen; return what came since the last time."""
        found = self._read(wanted, seconds)
        assert wanted in found, f"{wanted!r} did not come: {found[-2000:]}"
        return found

    def press(self, key: str, wanted: str) -> str:
        """Press a key until it is taken: what is typed while a page is drawn is dropped."""
        for _ in range(5):
            time.sleep(0.2)
            os.write(self._ours, key.encode())
            found = self._read(wanted, 4)
            if wanted in found:
                return found
        raise AssertionError(f"{key!r} did not bring {wanted!r}")

    def ended(self) -> tuple[int, str]:
        """Read to the end; the exit status and all that was shown."""
        self._read(None, 20)
        return self._child.wait(20), self.text

    def _read(self, wanted: str | None, seconds: float) -> str:
        """Read until `wanted` comes, the time is over or the command has ended."""
        end, fresh = time.monotonic() + seconds, ""
        while wanted is None or wanted not in fresh:
            if not select.select([self._ours], [], [], max(0, end - time.monotonic()))[0]:
                break
            try:
                part = os.read(self._ours, 65536).decode("utf-8", "replace")
            except OSError:  # how a terminal says that the other side is gone
                break
            fresh += COLOUR.sub("", part)
            self.text += part
        return fresh

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        os.close(self._ours)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(columns: int, *args: object) -> Terminal:
        opened.append(Terminal(columns, *args))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("columns", [40, 80, 150])
def test_no_line_is_wider_than_the_terminal(
    terminal: Callable[..., Terminal], runs: dict[str, Path], name: str, columns: int
) -> None:
    status, text = terminal(columns, runs[name], "ex-015", "--raw").ended()
    assert status == 0
    lines = COLOUR.sub("", text).replace("\r", "").split("\n")
    assert max(map(len, lines)) <= columns
    beside = [line for line in lines if "Reference" in line and "Candidate" in line]
    assert bool(beside) == (columns >= 120)
    marked = re.search(r"\w\([1-9](,\d)*\)", COLOUR.sub("", text))
    assert bool(marked) == bool(rubrics.load(name).graded)


def test_a_correction_hangs_below_its_words(
    terminal: Callable[..., Terminal], runs: dict[str, Path]
) -> None:
    _, text = terminal(60, runs["fineradscore"], "ex-015").ended()
    lines = COLOUR.sub("", text).replace("\r", "").split("\n")
    at = lines.index(next(line for line in lines if line.startswith("+ 0  Large left")))
    assert re.match(r" {5}\S", lines[at + 1])


@pytest.mark.parametrize("name", SHAPES)
def test_a_pipe_gets_no_colour_and_the_same_marks(runs: dict[str, Path], name: str) -> None:
    text = CliRunner().invoke(main, ["audit", str(runs[name]), "ex-010"], color=True).stdout
    assert "\x1b" not in text
    # A direct score and counts mark nothing, and facts are each of one report.
    if name not in ("counts", "facts", "toy_direct", "toy_facts"):
        assert "[Severe cardiomegaly](1). Moderate pulmonary edema." in text
        assert "[Mild cardiomegaly](1). Moderate pulmonary edema." in text
    assert text.index("Reference") < text.index("Candidate")


@pytest.mark.parametrize("name", SHAPES)
def test_hostile_text_steers_nothing(
    terminal: Callable[..., Terminal], runs: dict[str, Path], name: str
) -> None:
    status, text = terminal(100, runs[name], "h-1", "--raw").ended()
    assert status == 0
    assert "\\x1b[31m" in COLOUR.sub("", text)
    assert "\u202e" not in text
    assert "\x00" not in text


def test_next_walks_worst_first(terminal: Callable[..., Terminal], runs: dict[str, Path]) -> None:
    walk = terminal(100, runs["green"], "--next")
    assert "Study ex-015 " in walk.until("1 of 17")
    assert "Study ex-004 " in walk.press("\r", "2 of 17")
    walk.press("n", "3 of 17")
    walk.press("p", "2 of 17")
    walk.press("p", "1 of 17")
    assert "Study ex-015 " in walk.press("p", "1 of 17")
    assert "Raw answer" in walk.press("r", "1 of 17")
    time.sleep(0.2)
    os.write(walk._ours, b"q")
    assert walk.ended()[0] == 0


def test_next_begins_where_it_is_told(
    terminal: Callable[..., Terminal], runs: dict[str, Path]
) -> None:
    walk = terminal(100, runs["green"], "f-1", "--next")
    assert "Failed: timeout" in walk.until("17 of 17")
    walk.press("n", "last study")
    assert walk.ended()[0] == 0


@pytest.mark.parametrize("args", [["--next"], ["ex-001", "--next"]])
def test_next_needs_a_terminal(runs: dict[str, Path], args: list[str]) -> None:
    done = CliRunner().invoke(main, ["audit", str(runs["green"]), *args])
    assert done.exit_code == 2
    assert "needs a terminal" in done.stderr
    assert done.stdout == ""


def test_next_knows_no_such_study(terminal: Callable[..., Terminal], runs: dict[str, Path]) -> None:
    status, text = terminal(100, runs["green"], "nope", "--next").ended()
    assert status == 2
    assert "no study 'nope'" in text
