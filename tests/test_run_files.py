"""A run's files: written by one process at a time, for their owner alone, and damaged ones."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from support import EXAMPLES, Invoke

from judge.running.folder import ANNOTATIONS, MANIFEST, TABLE_PARQUET, WRITING, Run

PAIR = EXAMPLES / "preds.json", EXAMPLES / "refs.json"
HOLD = (
    "import sys, time; from pathlib import Path; from judge.running.folder import staging_folder\n"
    "with staging_folder(Path(sys.argv[1])) as place:\n"
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


def test_the_second_to_write_a_run_is_refused_and_takes_nothing_away(
    invoke: Invoke, example_run: Path
) -> None:
    before = (example_run / MANIFEST).read_bytes()
    with holder(example_run) as (_process, place):
        for line in (("green", *PAIR, "--out", example_run), ("rescore", example_run)):
            done = invoke(*line)
            assert done.exit_code == 2
            assert f"{example_run} is being written" in done.stderr
        assert (place / "mine").read_text() == "mine"
        assert (example_run / MANIFEST).read_bytes() == before
    assert not (example_run / WRITING).exists()
    assert invoke("rescore", example_run).exit_code == 0


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


def refused(invoke: Invoke, *words: object, names: tuple[object, ...]) -> None:
    """A command ends in one message that names these."""
    done = invoke(*words)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert all(str(name) in done.stderr for name in names), done.stderr


def edited(**changes: object) -> Callable[[bytes], bytes]:
    """Return what changes the JSON object of a file."""
    return lambda raw: json.dumps(json.loads(raw) | changes).encode()


DAMAGED: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "a manifest that is none": (MANIFEST, lambda _: b"[]", MANIFEST),
    "a manifest without its signature": (MANIFEST, edited(signature=None), "signature"),
    "another format": (MANIFEST, edited(format=1), "format 1"),
    "annotations cut off": (ANNOTATIONS, lambda raw: raw[:-20], "line 15"),
    "annotations of fewer studies": (
        ANNOTATIONS,
        lambda raw: b"".join(raw.splitlines(keepends=True)[:9]),
        ANNOTATIONS,
    ),
}


@pytest.mark.parametrize(("name", "damage", "named"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_run_is_one_message_with_its_file(
    invoke: Invoke, example_run: Path, name: str, damage: Callable[[bytes], bytes], named: str
) -> None:
    path = example_run / name
    path.write_bytes(damage(path.read_bytes()))
    before = {file.name: file.read_bytes() for file in example_run.iterdir()}
    for command in (("audit", example_run, "--html", "page.html"), ("rescore", example_run)):
        refused(invoke, *command, names=(example_run, named))
    assert not Path("page.html").exists()
    assert {file.name: file.read_bytes() for file in example_run.iterdir()} == before


def test_a_table_without_a_column_is_made_anew(invoke: Invoke, example_run: Path) -> None:
    path = example_run / TABLE_PARQUET
    whole = pd.read_parquet(path)
    for damaged in (whole.drop(columns=["green"]), None):
        if damaged is None:
            path.write_bytes(b"PAR1")
        else:
            damaged.to_parquet(path, index=False)
        for command in (("rates", example_run), ("audit", example_run, "--worst", "3")):
            refused(invoke, *command, names=(path, "judge rescore"))
        assert invoke("rescore", example_run).exit_code == 0
        assert pd.read_parquet(path).equals(whole)


def test_a_run_of_an_older_rubric_is_brought_up_to_date(invoke: Invoke, example_run: Path) -> None:
    whole = (example_run / ANNOTATIONS).read_bytes()
    path = example_run / MANIFEST
    signature = json.loads(path.read_bytes())["signature"]
    path.write_bytes(edited(signature=signature.replace("green:", "green:1"))(path.read_bytes()))
    for words in (("audit", example_run, "ex-001"), ("rates", example_run)):
        refused(invoke, *words, names=("green:1", "judge rescore"))
    assert invoke("rescore", example_run).exit_code == 0
    assert (example_run / ANNOTATIONS).read_bytes() == whole
    assert Run(example_run).signature == signature
