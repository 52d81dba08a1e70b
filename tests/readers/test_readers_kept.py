"""Readings made on the page: one line a save, whole or not there, and what they cannot say."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge import rubrics
from judge.readers import kept
from judge.readers.kept import KeptReading, MarkedItem, new_reading
from judge.rubrics.reading import as_read
from judge.types import Edit, JudgeError

RECORD: dict[str, Any] = {
    "study_id": "s1",
    "reference": "Heart is enlarged. No pneumothorax.",
    "candidate": "Heart is normal. Small effusion 😀 on the left.",
}
GREEN, FINE = rubrics.load("green"), rubrics.load("fineradscore")
FALSE = {"category": ("a",), "significance": ("significant",)}
URGENT = {"category": ("a", "c"), "severity": ("severity3",)}


def reading(*items: MarkedItem, reader: str = "fern", done: bool = True) -> KeptReading:
    return new_reading(reader, RECORD, items, done=done)


def test_what_was_kept_is_read(tmp_path: Path) -> None:
    marked = MarkedItem("error", FALSE, "Small effusion 😀", "candidate", 17, 33)
    assert RECORD["candidate"][17:33] == marked.text  # code points: the last one is one
    edit = MarkedItem("error", URGENT, edit=Edit("change", 1, "No effusion."))
    readings = [
        reading(marked, MarkedItem("matched", text="ja\nnein <b> \u2028"), done=False),
        reading(edit, reader="Öjvind\n"),
        reading(),
    ]
    for one in readings:
        kept.append(tmp_path, one)
    assert kept.read(tmp_path) == readings
    assert (tmp_path / kept.FILE).stat().st_mode & 0o077 == 0
    assert kept.latest(readings) == {("fern", "s1"): readings[2], ("Öjvind\n", "s1"): readings[1]}
    assert kept.current(tmp_path) == kept.latest(readings)
    kept.append(tmp_path, last := reading(done=False))
    assert kept.current(tmp_path)["fern", "s1"] == last


def test_half_a_surrogate_does_not_spoil_the_file(tmp_path: Path) -> None:
    kept.append(tmp_path, replace(reading(), comment="a\ud800b"))
    (found,) = kept.read(tmp_path)
    assert found.comment == "a?b"


def test_there_are_none_where_there_is_no_file(tmp_path: Path) -> None:
    assert kept.read(tmp_path) == []
    assert kept.current(tmp_path) == {}


@given(cut=st.integers(min_value=0))
def test_wherever_a_save_was_cut_the_one_before_counts(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    saves = [reading(*[MarkedItem("error", FALSE, "é")] * n, done=False) for n in range(4)]
    for one in saves:
        kept.append(folder, one)
    file = folder / kept.FILE
    whole = file.read_bytes()
    at = cut % (len(whole) + 1)
    file.write_bytes(whole[:at])
    before = kept.read(folder)
    ends = accumulate(len(line) for line in whole.splitlines(keepends=True))
    n_whole = sum(end - 1 <= at for end in ends)  # one that lacks only its newline is whole
    assert before == saves[:n_whole]
    kept.append(folder, last := reading())
    assert kept.read(folder) == [*before, last]


def test_killed_while_it_saves_what_was_told_is_kept(tmp_path: Path) -> None:
    """Each save whose writer was told is there, and the next process goes on after it."""
    program = (
        "import sys; from pathlib import Path; from judge.readers import kept\n"
        "record = {'study_id': 's1', 'reference': 'r', 'candidate': 'c'}\n"
        "for at in range(10**6):\n"
        "    one = kept.new_reading('fern', record, done=False, comment=str(at) + 'x' * 200_000)\n"
        "    kept.append(Path(sys.argv[1]), one)\n"
        "    print(at, flush=True)\n"
    )
    for attempt in range(3):
        command = [sys.executable, "-c", program, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(0.03 * (attempt + 1))
            os.kill(writer.pid, signal.SIGKILL)
            told = [0, *map(int, writer.stdout.read().split())]
        found = [int(one.comment.rstrip("x")) for one in kept.read(tmp_path)]
        assert found.count(0) == attempt + 1
        of_this = found[len(found) - found[::-1].index(0) - 1 :]
        assert of_this[: len(told)] == told
        assert len(of_this) <= len(told) + 1  # written, and killed before it was told


def test_two_processes_lose_and_mix_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from judge.readers import kept\n"
        "for at in range(100):\n"
        "    record = {'study_id': f's{at}', 'reference': 'r', 'candidate': 'c'}\n"
        "    one = kept.new_reading(sys.argv[2], record, done=True, comment='x' * 5000)\n"
        "    kept.append(Path(sys.argv[1]), one)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    writers = [subprocess.Popen([*command, name]) for name in ("fern", "moss")]
    assert [writer.wait() for writer in writers] == [0, 0]
    readings = kept.read(tmp_path)
    for name in ("fern", "moss"):
        assert [r.study_id for r in readings if r.reader == name] == [f"s{n}" for n in range(100)]


def test_who_saves_waits_for_the_line_that_is_being_written(tmp_path: Path) -> None:
    """Else half of it would be taken for one that a crash has cut short."""
    kept.append(tmp_path, reading(reader="ash"))
    with (tmp_path / kept.FILE).open("r+b") as file:
        (line,) = file.readlines()
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(line[:40])
        file.flush()
        with ThreadPoolExecutor() as pool:
            saved = pool.submit(kept.append, tmp_path, reading(reader="elm"))
            time.sleep(0.2)
            assert not saved.done()
            file.write(line[40:])
            file.flush()
            fcntl.flock(file, fcntl.LOCK_UN)
            saved.result(timeout=30)
    assert [one.reader for one in kept.read(tmp_path)] == ["ash", "ash", "elm"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[]", "in line 2, Input should be an object"),
        ('{"id": "x", "at": "t", "reader": "r", "study_id": "s"}', "'done': Field required"),
        (
            '{"id": "x", "at": "t", "reader": "r", "study_id": "s", "done": "yes"}',
            "'done': Input should be a valid boolean",
        ),
    ],
)
def test_a_whole_line_that_is_no_reading_is_not_passed_over(
    tmp_path: Path, line: str, words: str
) -> None:
    """Passed over, an earlier save would count in its place."""
    kept.append(tmp_path, reading())
    with (tmp_path / kept.FILE).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(JudgeError, match="damaged: in line 2") as raised:
        kept.read(tmp_path)
    assert words in str(raised.value)


def test_a_link_in_the_files_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / kept.FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JudgeError, match="the reading was not kept"):
        kept.append(tmp_path, reading())
    assert not (tmp_path / "elsewhere").exists()


def test_a_full_disk_keeps_all_of_a_reading_or_nothing(tmp_path: Path) -> None:
    program = (
        "import resource, signal, sys; from pathlib import Path; from judge.readers import kept\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))\n"
        "record = {'study_id': 's1', 'reference': 'r', 'candidate': 'c'}\n"
        "for at in range(9):\n"
        "    one = kept.new_reading('fern', record, done=True, comment='x' * 500)\n"
        "    kept.append(Path(sys.argv[1]), one)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert "JudgeError: the reading was not kept" in done.stderr
    assert (tmp_path / kept.FILE).read_bytes().endswith(b"}\n")
    assert len(kept.read(tmp_path)) == 2


def test_what_was_read_right_has_no_fault() -> None:
    end = len(RECORD["candidate"])
    right = [
        (GREEN, [MarkedItem("error", FALSE, "", "candidate", 0, end), MarkedItem("matched")]),
        (GREEN, []),
        (FINE, [MarkedItem("error", URGENT, edit=Edit("delete", 0, ""))]),
        (FINE, [MarkedItem("error", URGENT, edit=Edit("insert", line, "x")) for line in (None, 2)]),
    ]
    for rubric, items in right:
        assert kept.fault(reading(*items), rubric, RECORD) is None
    own = as_read(GREEN, {}, ["poor_wording"])
    worded = MarkedItem("error", {"category": ("poor_wording",), "significance": ("significant",)})
    assert kept.fault(reading(worded), own, RECORD) is None
    assert "no category 'poor_wording'" in str(kept.fault(reading(worded), GREEN, RECORD))


def _fine(*edits: Edit) -> list[MarkedItem]:
    return [MarkedItem("error", URGENT, edit=edit) for edit in edits]


@pytest.mark.parametrize(
    ("rubric", "items", "words"),
    [
        (GREEN, [MarkedItem("wisdom")], "no 'wisdom'"),
        (GREEN, [MarkedItem("error", {"category": ("a",)})], "no significance"),
        (GREEN, [MarkedItem("error", {"significance": ("significant",)})], "no category"),
        (GREEN, [MarkedItem("error", {**FALSE, "category": ("g",)})], "no category 'g'"),
        (GREEN, [MarkedItem("error", FALSE, "", "candidate", 0, 48)], "outside the candidate"),
        (GREEN, [MarkedItem("error", FALSE, "", "reference", -1, 3)], "outside the reference"),
        (GREEN, [MarkedItem("error", FALSE, "", "reference", 3, 3)], "outside the reference"),
        (GREEN, [MarkedItem("error", FALSE, "", None, 0, 3)], "in no report"),
        (GREEN, [MarkedItem("error", FALSE, "", "candidate", 0)], "from one end"),
        (GREEN, [MarkedItem("error", FALSE, edit=Edit("delete", 0, ""))], "corrects no lines"),
        (FINE, _fine(Edit("delete", 2, "")), "no line 2 in the candidate, which has 2"),
        (FINE, _fine(Edit("insert", 3, "x")), "no line 3"),
        (FINE, _fine(Edit("change", None, "x")), "names no line"),
        (FINE, _fine(Edit("change", 1, " ")), "has no text"),
        (FINE, _fine(Edit("delete", 1, "x")), "is deleted and has a correction"),
        (FINE, _fine(Edit("delete", 1, ""), Edit("change", 1, "x")), "line 1 is corrected twice"),
    ],
)
def test_what_a_reading_cannot_say(rubric: Any, items: list[MarkedItem], words: str) -> None:
    found = kept.fault(reading(*items), rubric, RECORD)
    assert found is not None
    assert words in found


def test_other_reports_were_read() -> None:
    other = RECORD | {"candidate": "Heart is enlarged."}
    assert "other reports" in str(kept.fault(reading(), GREEN, other))
    assert "other reports" in str(kept.fault(reading(), GREEN, RECORD | {"study_id": "s2"}))


def test_a_rubric_without_a_table_of_items_cannot_be_read() -> None:
    assert kept.unreadable(GREEN) is kept.unreadable(FINE) is None
    assert "no table of items" in str(kept.unreadable(replace(GREEN, tally=None)))


def test_lines_are_plain_json(tmp_path: Path) -> None:
    kept.append(tmp_path, one := reading(MarkedItem("error", FALSE, "x", "candidate", 0, 5)))
    (line,) = (tmp_path / kept.FILE).read_text().splitlines()
    assert json.loads(line)["items"] == [
        {
            "kind": "error",
            "labels": {"category": ["a"], "significance": ["significant"]},
            "text": "x",
            "side": "candidate",
            "start": 0,
            "end": 5,
            "edit": None,
        }
    ]
    assert one.texts
