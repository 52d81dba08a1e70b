"""Readings made on the page: one line a save, whole or not there, and what they cannot say."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge import rubrics
from judge.readers import annotation_store as store
from judge.readers.annotation_store import MarkedItem, PageReading, new_reading
from judge.types import Edit

RECORD: dict[str, Any] = {
    "study_id": "s1",
    "reference": "Heart is enlarged. No pneumothorax.",
    "candidate": "Heart is normal. Small effusion 😀 on the left.",
}
GREEN, FINE = rubrics.load("green"), rubrics.load("fineradscore")
FALSE = {"category": ("a",), "significance": ("significant",)}
URGENT = {"category": ("a", "c"), "severity": ("severity3",)}
# Saves readings until it ends: folder, reader, how many, characters of each.
WRITER = (
    "import sys; from pathlib import Path; from judge.readers import annotation_store as store\n"
    "for at in range(int(sys.argv[3])):\n"
    "    record = {'study_id': f's{at}', 'reference': 'r', 'candidate': 'c'}\n"
    "    text = str(at) + 'x' * int(sys.argv[4])\n"
    "    one = store.new_reading(sys.argv[2], record, done=True, comment=text)\n"
    "    store.append(Path(sys.argv[1]), one)\n"
    "    print(at, flush=True)\n"
)


def writer(folder: Path, reader: str, n: int, size: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), reader, str(n), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def reading(*items: MarkedItem, reader: str = "fern", done: bool = True) -> PageReading:
    return new_reading(reader, RECORD, items, done=done)


def test_a_line_without_later_fields_is_read(tmp_path: Path) -> None:
    line = (
        '{"id": "1", "at": "2026-01-01T00:00:00.000+00:00", "reader": "ash", "study_id": "s1", '
        '"done": true, "items": [], "comment": "", "texts": ""}\n'
    )
    (tmp_path / store.FILE).write_text(line, "utf-8")
    (old,) = store.read(tmp_path)
    assert (old.state, old.seconds, old.cannot_judge) == (store.DONE, None, "")


def test_what_was_kept_is_read(tmp_path: Path) -> None:
    assert store.read(tmp_path) == []
    assert store.current(tmp_path) == {}
    marked = MarkedItem(
        "error", FALSE, "Small effusion 😀", side="candidate", start=17, end=33
    )
    assert RECORD["candidate"][17:33] == marked.text  # code points: the last one is one
    edit = MarkedItem("error", URGENT, edit=Edit("change", 1, "No effusion."))
    readings = [
        reading(marked, MarkedItem("matched", text="ja\nnein <b> \u2028"), done=False),
        reading(edit, reader="Öjvind\n"),
        reading(),
    ]
    for one in readings:
        store.append(tmp_path, one)
    assert store.read(tmp_path) == readings
    assert (tmp_path / store.FILE).stat().st_mode & 0o077 == 0
    assert store.current(tmp_path) == {
        ("fern", "s1"): readings[2],
        ("Öjvind\n", "s1"): readings[1],
    }
    store.append(tmp_path, last := replace(reading(done=False), comment="a\ud800b"))
    assert store.current(tmp_path)["fern", "s1"] == replace(last, comment="a?b")


@given(cut=st.integers(min_value=0))
def test_wherever_a_save_was_cut_the_one_before_counts(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    saves = [
        reading(*[MarkedItem("error", FALSE, "é")] * n, done=False) for n in range(4)
    ]
    for one in saves:
        store.append(folder, one)
    file = folder / store.FILE
    whole = file.read_bytes()
    at = cut % (len(whole) + 1)
    file.write_bytes(whole[:at])
    before = store.read(folder)
    ends = accumulate(len(line) for line in whole.splitlines(keepends=True))
    n_whole = sum(
        end - 1 <= at for end in ends
    )  # one that lacks only its newline is whole
    assert before == saves[:n_whole]
    store.append(folder, last := reading())
    assert store.read(folder) == [*before, last]


def test_two_processes_lose_and_mix_nothing(tmp_path: Path) -> None:
    writers = [writer(tmp_path, name, 100, 5000) for name in ("fern", "moss")]
    for process in writers:
        process.communicate()
        assert process.returncode == 0
    readings = store.read(tmp_path)
    for name in ("fern", "moss"):
        assert [r.study_id for r in readings if r.reader == name] == [
            f"s{n}" for n in range(100)
        ]


def test_a_full_disk_keeps_all_of_a_reading_or_nothing(tmp_path: Path) -> None:
    limit = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))\n"
    )
    command = [sys.executable, "-c", limit + WRITER, str(tmp_path), "fern", "9", "500"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "JudgeError" in done.stderr
    assert (tmp_path / store.FILE).read_bytes().endswith(b"}\n")
    assert len(store.read(tmp_path)) == 2


@pytest.mark.parametrize(
    "edits",
    [
        [Edit("change", 2, "Clear.")],
        [Edit("change", None, "Clear.")],
        [Edit("change", 1, " ")],
        [Edit("delete", 1, "Clear.")],
        [Edit("insert", 3, "Clear.")],
        [Edit("change", 1, "Clear."), Edit("delete", 1, "")],
    ],
)
def test_corrections_that_fit_no_line_are_no_reading(edits: list[Edit]) -> None:
    items = [MarkedItem("error", URGENT, edit=edit) for edit in edits]
    assert "line" in str(store.find_fault(reading(*items), FINE, RECORD))
    fitting = [
        Edit("change", 1, "Clear."),
        Edit("insert", 2, "New."),
        Edit("insert", None, "New."),
    ]
    items = [MarkedItem("error", URGENT, edit=edit) for edit in fitting]
    assert store.find_fault(reading(*items), FINE, RECORD) is None
