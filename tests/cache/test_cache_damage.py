"""A full, read-only, locked or damaged cache says so at once, and what is readable is kept."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from cachehelp import ANSWER, DATABASE, database, fill, request, sound, start
from support import Invoke

from judge.cache import CompletionCache
from judge.cache.contents import Contents
from judge.cache.entry import Entry, UnreadableError, decode
from judge.types import Completion, JudgeError

N = 300
PAGE = 4096


def garbage(n: int) -> bytes:
    return random.Random(0).randbytes(n)


def pages(data: bytearray, chosen: Callable[[int], bool]) -> bytearray:
    for page in range(len(data) // PAGE):
        if chosen(page):
            data[page * PAGE : (page + 1) * PAGE] = garbage(PAGE)
    return data


# What each does to the file, and the fewest entries that must come back.
DAMAGE: dict[str, tuple[Callable[[bytearray], bytes], int]] = {
    "not a database": (lambda _: b"something else entirely" * 100, 0),
    "empty": (lambda _: b"", 0),
    "cut in half": (lambda data: data[: len(data) // 2], 100),
    "some pages": (lambda data: pages(data, lambda page: page % 9 == 6), 250),
    # Without these SQLite finds nothing: run folders are what is left.
    "first page": (lambda data: pages(data, lambda page: page == 0), 0),
    "the trees": (lambda data: pages(data, lambda page: data[page * PAGE] in (2, 5)), 0),
    "last page": (lambda data: pages(data, lambda p: p == len(data) // PAGE - 1), 290),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "c"
    fill(path, N)
    return path


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_cache_says_so_before_anything_is_asked_and_gives_what_it_has(
    filled: Path, tmp_path: Path, invoke: Invoke, how: str
) -> None:
    path = tmp_path / "c"
    shutil.copytree(filled, path)
    change, fewest = DAMAGE[how]
    (path / DATABASE).write_bytes(change(bytearray((path / DATABASE).read_bytes())))
    before = (path / DATABASE).read_bytes()
    with pytest.raises(JudgeError, match=r"cannot be used.*judge cache export") as caught:
        CompletionCache(path)
    assert str(path) in str(caught.value)
    assert "judge cache import FILE RUN..." in str(caught.value)
    done = invoke("cache", "export", "saved.jsonl.gz", "--cache", path)
    assert done.exit_code == 1
    assert "the database is damaged" in done.stderr
    assert "judge cache import RUN..." in done.stderr
    assert (path / DATABASE).read_bytes() == before
    whole, found = sound(filled), sound(path)
    assert found.items() <= whole.items()
    assert len(found) >= fewest
    if "lost" in done.stderr and "cannot be told" not in done.stderr:
        assert f"of {N} entries {N - len(found)} are lost" in done.stderr
    assert invoke("cache", "verify", "--cache", path).exit_code == 1
    assert invoke("cache", "info", "--cache", path).exit_code == 0
    assert invoke("cache", "import", "saved.jsonl.gz", "--cache", tmp_path / "d").exit_code == 0
    assert sound(tmp_path / "d") == found


def test_the_log_of_a_killed_process_is_read_without_changing_the_cache(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from cachehelp import *\n"
        "fill(Path(sys.argv[1]), 20); cache = CompletionCache(Path(sys.argv[1]))\n"
        "for at in range(20, 40): cache.put(request(f'question {at}'), ANSWER)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = tmp_path / "c"
    with start(program, path):
        pass
    log = path / f"{DATABASE}-wal"
    before = log.read_bytes()
    assert len(before) > PAGE
    assert len(sound(path)) == 40
    assert log.read_bytes() == before


@contextmanager
def mounted(path: Path, *arguments: str) -> Iterator[None]:
    path.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", *arguments, path], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mount is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount")
def test_a_full_disk_is_a_message(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=6m", "tmpfs"):
        path = tmp_path / "disk" / "c"
        kept = 0
        with CompletionCache(path) as cache:
            with pytest.raises(JudgeError, match=r"disk is full.*make room"):  # noqa: PT012
                while True:
                    cache.put(request(str(kept)), Completion("x" * 5000, "stop", "m"))
                    kept += 1
            with pytest.raises(JudgeError, match="disk is full"):
                cache.put(request("again"), Completion("x" * 50_000, "stop", "m"))
            assert cache.get(request("0")) is not None
        assert 0 < kept == len(sound(path))
        with pytest.raises(JudgeError, match="make room"):
            CompletionCache(path)
        assert 0 < kept == len(sound(path))


def test_a_file_that_may_not_grow_is_a_message(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk where none can be mounted."""
    program = (
        "import resource, signal, sys; from pathlib import Path; from cachehelp import *\n"
        "from judge.types import JudgeError\n"
        "cache = CompletionCache(Path(sys.argv[1]))\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "try:\n"
        "    for at in range(1000):\n"
        "        cache.put(request(str(at)), Completion('x' * 5000, 'stop', 'm'))\n"
        "except JudgeError as error: print(at, error)\n"
        "try: CompletionCache(Path(sys.argv[1]))\n"
        "except JudgeError as error: print('opened', error)\n"
    )
    said, opened = start(program, tmp_path / "c").communicate()[0].splitlines()
    kept, message = said.split(maxsplit=1)
    assert "make room" in message
    assert "make room" in opened
    with CompletionCache(tmp_path / "c") as cache:
        assert len(cache) == int(kept) > 0


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount")
def test_a_disk_that_cannot_be_written_is_a_message_and_can_be_exported(
    tmp_path: Path, invoke: Invoke
) -> None:
    path = tmp_path / "c"
    fill(path, 5)
    with mounted(path, "--bind", str(path)):
        done = subprocess.run(["mount", "-o", "remount,ro,bind", path], check=False)
        if done.returncode:
            pytest.skip("no folder can be made read-only here")
        with pytest.raises(JudgeError, match=r"can be written, or choose another with --cache"):
            CompletionCache(path)
        exported = invoke("cache", "export", "out.jsonl", "--cache", path)
        assert exported.exit_code == 0
        assert "5 entries written" in exported.stderr


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount")
def test_a_disk_that_turns_read_only_ends_a_run_at_once(tmp_path: Path) -> None:
    """The library's own `retry` would go round for ever."""
    path = tmp_path / "c"
    fill(path, 1)
    with mounted(path, "--bind", str(path)), CompletionCache(path) as cache:
        cache._cache.close()
        if subprocess.run(["mount", "-o", "remount,ro,bind", path], check=False).returncode:
            pytest.skip("no folder can be made read-only here")
        with pytest.raises(JudgeError, match="can be written, or choose another"):
            cache.put(request("2"), ANSWER)


def test_a_cache_that_another_process_holds_is_a_message(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fill(path, 1)
    with CompletionCache(path, timeout=0.1) as cache, closing(database(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JudgeError, match="wait until the other process has ended"):
            cache.put(request("2"), ANSWER)
        assert cache.get(request("question 0")) == ANSWER
        with pytest.raises(JudgeError, match="wait until the other process has ended"):
            CompletionCache(path, timeout=0.1)
        other.execute("ROLLBACK")
        cache.put(request("3"), ANSWER)
        assert len(cache) == 3
        assert cache.get(request("2")) == ANSWER, "it was paid for, and is written with the next"


def test_a_place_that_can_be_no_folder_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "c", Path("/proc/judge")):
        with pytest.raises(JudgeError, match=r"cannot be used.*--cache"):
            CompletionCache(path)
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208


def test_any_bit_that_a_disk_turns_in_an_entry_is_found(tmp_path: Path) -> None:
    """Whatever still is an entry has the same request and the same answer, and is checked."""
    path = tmp_path / "c"
    fill(path, 1)
    (whole,) = Contents(path)
    assert isinstance(whole, Entry)
    with closing(database(path)) as data:
        ((value, stored),) = data.execute("SELECT value, store_time FROM Cache").fetchall()
    for at in range(len(value)):
        for bit in range(8):
            turned = bytearray(value)
            turned[at] ^= 1 << bit
            try:
                found = decode(whole.row, whole.key, bytes(turned), stored)
            except UnreadableError:
                continue
            assert found == whole


def turn(path: Path, old: bytes, new: bytes) -> None:
    """Change bytes of the file behind the database's back."""
    file = path / DATABASE
    data = file.read_bytes()
    assert data.count(old) == 1
    file.write_bytes(data.replace(old, new))


def test_an_answer_that_a_disk_has_changed_is_none(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "c"
    with CompletionCache(path) as cache:
        cache.put(request("1"), Completion("(a) False finding: 1.", "stop", "m"))
        cache.put(request("2"), ANSWER)
    turn(path, b"False finding: 1", b"False finding: 3")
    verified = invoke("cache", "verify", "--cache", path)
    assert verified.exit_code == 1
    assert "its answer is not the one that was written" in verified.stdout
    assert "1 entries are sound, 1 are not" in verified.stdout
    with CompletionCache(path) as cache:
        assert cache.get(request("1")) is None
        assert cache.get(request("1")) is None
        assert cache.n_damaged == 1
        assert cache.get(request("2")) == ANSWER
    exported = invoke("cache", "export", "out.jsonl", "--cache", path)
    assert "1 entries written, 1 could not be read" in exported.stderr
    text = Path("out.jsonl").read_text()
    for changed, said in (
        (text.replace('"text": "text"', '"text": "next"'), "its answer is not the one"),
        (text.replace('"sha256"', '"sha257"'), "not the fields of an entry"),
    ):
        done = invoke("cache", "import", "-", "--cache", tmp_path / "d", stdin=changed)
        assert done.exit_code == 1
        assert said in done.stderr
    assert invoke("cache", "import", "out.jsonl", "--cache", tmp_path / "d").exit_code == 0


def test_an_entry_from_before_checksums_is_read_and_said_to_be_unchecked(
    tmp_path: Path, invoke: Invoke
) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as data:
        name, value = data.execute("SELECT key, value FROM Cache LIMIT 1").fetchone()
        entry = json.loads(value)
        del entry["sha256"]
        changed = (json.dumps(entry).encode(), name)
        data.execute("UPDATE Cache SET value = ? WHERE key = ?", changed)
    with CompletionCache(path) as cache:
        assert all(cache.get(request(f"question {at}")) == ANSWER for at in range(3))
    verified = invoke("cache", "verify", "--cache", path)
    assert verified.exit_code == 0
    assert "3 entries are sound, 0 are not" in verified.stdout
    assert "1 of them were kept before answers had checksums" in verified.stderr
    invoke("cache", "export", "out.jsonl", "--cache", path)
    assert Path("out.jsonl").read_text().count("sha256") == 2
    assert "3 entries taken" in invoke("cache", "import", "out.jsonl", "--cache", "d").stderr
    assert "checksums" not in invoke("cache", "verify", "--cache", "d").stderr


# What is changed into what, and how many of 20 entries SQLite then still finds.
SCHEMA = {
    "a letter of a trigger's name": (b"Settings_count_insert", b"Settings_countVinsert", 20),
    "no letter in a trigger's name": (
        b"TRIGGER Settings_size_delete",
        b"TRIGGER S\xe5ttings_size_delete",
        20,
    ),
    "a trigger's table": (b"AFTER INSERT ON Cache", b"AFTER INSERT ON Bache", 20),
    "a column": (b"expire_time REAL", b"expi\xf2e_time REAL", 20),
    "the column that is read": (b"store_time REAL", b"stove_time REAL", 0),
    "a keyword": (b"CREATE TABLE Cache", b"CREATE TABLF Cache", 0),
    "the table's name": (b"CREATE TABLE Cache", b"CREATE TABLE Bache", 0),
}


@pytest.mark.parametrize("how", SCHEMA)
def test_a_damaged_schema_is_a_message_and_what_is_left_is_read(
    tmp_path: Path, invoke: Invoke, how: str
) -> None:
    path = tmp_path / "c"
    fill(path, 20)
    file = path / DATABASE
    data = file.read_bytes()
    old, new, found = SCHEMA[how]
    assert old in data
    file.write_bytes(data.replace(old, new, 1))
    with pytest.raises(JudgeError, match=r"cannot be used.*judge cache export") as caught:
        CompletionCache(path)
    assert str(caught.value).isprintable()
    for command in (["info"], ["verify"], ["prune", "--model", "m", "--yes"]):
        done = invoke("cache", *command, "--cache", path)
        assert done.exit_code in (0, 1, 2)
        assert "Traceback" not in done.output
        assert done.exception is None or isinstance(done.exception, SystemExit)
    done = invoke("cache", "export", "out.jsonl", "--cache", path)
    assert done.exit_code == 1
    assert f"{found} entries written, 0 could not be read" in done.stderr
    assert f"of 20 entries {20 - found} are lost" in done.stderr
    assert f"{found} entries taken" in invoke("cache", "import", "out.jsonl", "--cache", "d").stderr


def test_an_index_that_lost_an_entry_is_found(tmp_path: Path, invoke: Invoke) -> None:
    """Its answer would be asked for again, and nothing would say why."""
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as data:
        (name,) = data.execute("SELECT key FROM Cache LIMIT 1").fetchone()
    whole = (path / DATABASE).read_bytes()
    assert whole.count(name.encode()) == 2  # in the table and in its index
    at = whole.rindex(name.encode())
    first = whole.index(name.encode())
    # The index's page comes before the table's in the file.
    for place in (first, at):
        turned = whole[:place] + b"v9" + whole[place + 2 :]
        (path / DATABASE).write_bytes(turned)
        assert invoke("cache", "verify", "--cache", path).exit_code == 1
