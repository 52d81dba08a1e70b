"""A run's files: written by one process at a time, for their owner alone, and damaged ones."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support import EXAMPLES, Invoke

from judge.running.files import LARGEST, WRITING
from judge.running.folder import ANNOTATIONS, MANIFEST, SUMMARY, TABLE_PARQUET, Run
from judge.types import JudgeError

PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
HOLD = (
    "import sys, time; from pathlib import Path; from judge.running.files import held\n"
    "with held(Path(sys.argv[1])) as place:\n"
    "    (place / 'mine').write_text('mine'); print(place, flush=True); sys.stdin.read()\n"
)


@contextmanager
def holder(run: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process that holds `run`, and the folder that it writes to."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    try:
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def test_the_second_to_write_a_run_says_who_holds_it_and_takes_nothing_away(
    invoke: Invoke, example_run: Path
) -> None:
    before = (example_run / MANIFEST).read_bytes()
    with holder(example_run) as (process, place):
        for line in (("green", *PAIR, "--out", example_run), ("rescore", example_run)):
            done = invoke(*line)
            assert done.exit_code == 2
            assert f"{example_run} is being written by process {process.pid} on " in done.stderr
            assert socket.gethostname() in done.stderr
        assert (place / "mine").read_text() == "mine"
        assert (example_run / MANIFEST).read_bytes() == before
    assert not (example_run / WRITING).exists()
    assert invoke("rescore", example_run).exit_code == 0


def test_the_same_command_twice_at_once(tmp_path: Path) -> None:
    """Whichever comes first is whole; the other is refused or comes after it."""
    command = [sys.executable, "-m", "judge", "green", *map(str, PAIR), "--out", "run"]
    both = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [process.communicate()[1].decode() for process in both]
    assert sorted(process.returncode for process in both) in ([0, 0], [0, 2])
    assert not any("Traceback" in text for text in said)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {MANIFEST, ANNOTATIONS, TABLE_PARQUET, SUMMARY} < names
    assert WRITING not in names


def test_what_a_killed_process_left_is_removed(invoke: Invoke, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with holder(run) as (process, place):
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (place / "mine").exists()
    assert invoke("green", *PAIR, "--out", run).exit_code == 0
    assert not (run / WRITING).exists()


def test_a_run_is_its_owners_alone(invoke: Invoke, example_run: Path) -> None:
    def rights() -> set[int]:
        return {stat.S_IMODE(path.stat().st_mode) for path in example_run.iterdir()}

    assert rights() == {0o600}
    # What its owner has opened to a group stays so.
    for path in example_run.iterdir():
        path.chmod(0o640)
    assert invoke("rescore", example_run).exit_code == 0
    assert rights() == {0o640}


def says(invoke: Invoke, run: Path, *command: str) -> str:
    """What commands say of a run that they cannot read."""
    name, *rest = command
    done = invoke(name, run, *rest)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert str(run) in done.stderr
    return done.stderr


def edited(change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """Return what changes the JSON of a file."""
    return lambda raw: json.dumps(change(json.loads(raw))).encode()


def line_7(*path: str | int, value: object) -> Callable[[bytes], bytes]:
    """Return what sets one value in the record of the seventh study, which has an error."""

    def change(raw: bytes) -> bytes:
        lines = raw.splitlines()
        record = at = json.loads(lines[6])
        for name in path[:-1]:
            at = at[name]
        at[path[-1]] = value
        return b"\n".join([*lines[:6], json.dumps(record).encode(), *lines[7:], b""])

    return change


DAMAGED: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "a manifest that is none": (MANIFEST, lambda _: b"[]", "damaged"),
    "a manifest without its signature": (
        MANIFEST,
        edited(lambda data: {**data, "signature": None}),
        "'signature'",
    ),
    "another format": (MANIFEST, edited(lambda data: {**data, "format": 1}), "format 1"),
    "a summary without a number": (
        SUMMARY,
        edited(lambda data: {**data, "statistics": {"green": 0.5}}),
        "statistics.green",
    ),
    "annotations cut off": (ANNOTATIONS, lambda raw: raw[:-20], "line 15"),
    "annotations of fewer studies": (
        ANNOTATIONS,
        lambda raw: b"".join(raw.splitlines(keepends=True)[:9]),
        "9 studies",
    ),
    "a record without a text": (ANNOTATIONS, line_7("reference", value=None), "line 7"),
    "a link to no item": (
        ANNOTATIONS,
        line_7("annotation", "items", 0, "links", value=[99]),
        "line 7",
    ),
}


@pytest.mark.parametrize(("name", "damage", "said"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_run_is_one_message_with_its_file(
    invoke: Invoke,
    example_run: Path,
    name: str,
    damage: Callable[[bytes], bytes],
    said: str,
) -> None:
    path = example_run / name
    path.write_bytes(damage(path.read_bytes()))
    before = {file.name: file.read_bytes() for file in example_run.iterdir()}
    for command in (("audit", "--html", "page.html"), ("rescore",)):
        assert said in says(invoke, example_run, *command)
    assert not Path("page.html").exists()
    assert {file.name: file.read_bytes() for file in example_run.iterdir()} == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: table[:1],
        lambda table: table.assign(outcome=["failed", *table["outcome"][1:]]),
        lambda table: table.drop(columns=["green"]),
    ],
)
def test_a_damaged_table_is_made_anew(
    invoke: Invoke, example_run: Path, damage: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    path = example_run / TABLE_PARQUET
    whole = pd.read_parquet(path)
    damage(whole).to_parquet(path, index=False)
    for command in (("rates",), ("audit", "--worst", "3")):
        assert "judge rescore" in says(invoke, example_run, *command)
    assert invoke("rescore", example_run).exit_code == 0
    assert pd.read_parquet(path).equals(whole)


def test_a_byte_that_was_turned_never_gives_another_number(example_run: Path) -> None:
    path = example_run / TABLE_PARQUET
    whole, table = path.read_bytes(), Run(example_run).table()
    refused = 0
    for at in range(0, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        try:
            found = Run(example_run).table()
        except JudgeError:
            refused += 1
        else:
            pd.testing.assert_frame_equal(found, table, check_dtype=False)
    assert refused > 50


def test_a_record_of_an_older_rubric_is_brought_up_to_date(
    invoke: Invoke, example_run: Path
) -> None:
    path = example_run / ANNOTATIONS
    whole = path.read_bytes()
    path.write_bytes(line_7("measures", value={})(whole))
    said = says(invoke, example_run, "audit", "--html", "page.html")
    assert re.search("line 7.*judge rescore", said)
    assert invoke("rescore", example_run).exit_code == 0
    assert path.read_bytes() == whole


def test_a_summary_that_lacks_a_number_of_today_is_made_anew(example_run: Path) -> None:
    whole = Run(example_run).summary()
    lacking = {name: of for name, of in whole["statistics"].items() if name != "green"}
    (example_run / SUMMARY).write_text(json.dumps({**whole, "statistics": lacking}), "utf-8")
    assert Run(example_run).summary() == whole


def test_a_run_of_no_files_and_no_model_is_read(invoke: Invoke, example_run: Path) -> None:
    data = json.loads((example_run / MANIFEST).read_text("utf-8"))
    for name in ("inputs", "model", "read_from"):
        del data[name]
    (example_run / MANIFEST).write_text(json.dumps(data), "utf-8")
    done = invoke("compare", example_run, "--format", "json")
    assert json.loads(done.stdout)["models"] == ["example-run"]


def test_a_file_that_is_larger_than_it_can_be_is_a_message(
    invoke: Invoke, example_run: Path
) -> None:
    os.truncate(example_run / MANIFEST, LARGEST + 1)
    assert MANIFEST in says(invoke, example_run, "rates")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_what_may_not_be_read_or_written_is_a_message(invoke: Invoke, example_run: Path) -> None:
    folder = example_run.parent / "locked"
    folder.mkdir()
    example_run.rename(folder / "run")
    folder.chmod(0)
    try:
        assert "Permission denied" in says(invoke, folder / "run", "rates")
        done = invoke("green", *PAIR, "--out", folder / "new")
        assert done.exit_code == 2
        assert "Permission denied" in done.stderr
    finally:
        folder.chmod(0o700)
