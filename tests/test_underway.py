"""What a run has written before its end, read while it is written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from judge.files import WRITING, is_being_written, staging_folder
from judge.run_files.manifest import MANIFEST
from judge.run_files.study_record import ANNOTATIONS
from judge.running.progress import Progress, ProgressListener
from judge.running.underway import (
    BEGUN,
    MOST_KEPT,
    BegunRun,
    begun_in,
    forget_begun,
    keep_begun,
    read_progress,
    staging_of,
    with_progress_file,
    write_progress,
)
from judge.types import JudgeError


@pytest.fixture
def lines(judged_examples: Path) -> list[bytes]:
    return (judged_examples / ANNOTATIONS).read_bytes().splitlines(keepends=True)


@pytest.fixture
def begun(tmp_path: Path, judged_examples: Path) -> Path:
    folder = tmp_path / "begun"
    folder.mkdir()
    shutil.copy(judged_examples / MANIFEST, folder / BEGUN)
    (folder / ANNOTATIONS).write_bytes(b"")
    return folder


def append(folder: Path, data: bytes) -> None:
    with (folder / ANNOTATIONS).open("ab") as file:
        file.write(data)


def test_a_line_counts_once_it_is_whole(begun: Path, lines: list[bytes]) -> None:
    run = BegunRun(begun)
    assert run.read_on()
    assert run.n_ended == 0
    append(begun, lines[0] + lines[1][:40])
    assert run.read_on()
    assert [record["study_id"] for record in run.first] == ["ex-001"]
    append(begun, lines[1][40:] + lines[2])
    assert run.read_on()
    assert run.n_ended == 3
    assert len(run.table()) == 3
    assert len(run.first) <= MOST_KEPT


def test_another_file_is_another_run(begun: Path, lines: list[bytes]) -> None:
    append(begun, lines[0])
    run = BegunRun(begun)
    assert run.read_on()
    (begun / "new").write_bytes(lines[1])
    (begun / "new").replace(begun / ANNOTATIONS)
    assert not run.read_on()


def test_a_changed_line_is_refused(begun: Path, lines: list[bytes]) -> None:
    append(begun, lines[0].replace(b"scored", b"failed", 1))
    with pytest.raises(JudgeError, match="line 1"):
        BegunRun(begun).read_on()


def test_a_run_of_another_version_is_not_shown(begun: Path) -> None:
    manifest = json.loads((begun / BEGUN).read_text("utf-8"))
    (begun / BEGUN).write_text(json.dumps(manifest | {"rubric_version": "0"}))
    assert begun_in(None, begun) is None


def test_what_is_kept_outlives_the_command(
    tmp_path: Path, judged_examples: Path, lines: list[bytes]
) -> None:
    run, job = tmp_path / "run", tmp_path / "job"
    run.mkdir()
    job.mkdir()
    assert not keep_begun(run, job)
    with staging_folder(run) as staging:
        assert is_being_written(run)
        assert staging_of(run) is None
        shutil.copy(judged_examples / MANIFEST, staging / BEGUN)
        append(staging, lines[0])
        assert staging_of(run) == staging
        assert keep_begun(run, job)
        # What is written later is kept too.
        append(staging, lines[1])
    assert not (run / WRITING).exists()
    assert not is_being_written(run)
    kept = BegunRun(job)
    assert kept.read_on()
    assert kept.n_ended == 2
    forget_begun(job)
    assert list(job.iterdir()) == []


def test_counts_are_read_whole_or_not_at_all(tmp_path: Path) -> None:
    assert read_progress(tmp_path) is None
    progress = Progress(total=9, done=4, sentences={"a long one": 3})
    write_progress(tmp_path, progress)
    found = read_progress(tmp_path)
    assert found is not None
    assert (found.total, found.done, found.sentences) == (9, 4, {})
    for text in ("", "{}", "[1]", '{"total": "many"}', '{"total": 9'):
        (tmp_path / "progress.json").write_text(text)
        assert read_progress(tmp_path) is None


def test_a_run_goes_on_where_its_counts_cannot_be_written(tmp_path: Path) -> None:
    seen: list[Progress] = []
    listener = with_progress_file(
        tmp_path / "nowhere", ProgressListener(seen.append, print)
    )
    listener.tick(Progress(total=1))
    assert len(seen) == 1


def test_a_look_does_not_keep_a_command_from_its_folder(tmp_path: Path) -> None:
    """As a service that asks again and again whether a run is being written."""
    import fcntl
    import threading
    import time

    place = tmp_path / WRITING
    place.mkdir()
    lock = (place / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)

    def let_go() -> None:
        time.sleep(0.08)
        lock.close()

    looking = threading.Thread(target=let_go)
    looking.start()
    with staging_folder(tmp_path) as staging:
        assert staging.is_dir()
    looking.join()
