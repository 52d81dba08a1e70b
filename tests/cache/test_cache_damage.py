"""A full, read-only, locked or damaged cache says so at once, and what is readable is kept."""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cachehelp import ANSWER, DATABASE, database, fill, request, sound, start
from support import Invoke

from judge.cache import CompletionCache, key
from judge.cache.entry import checksum
from judge.types import Completion, JudgeError

N = 300


PAGE = 4096


def pages(data: bytearray, chosen: Callable[[int], bool]) -> bytearray:
    noise = random.Random(0).randbytes(PAGE)
    for page in filter(chosen, range(len(data) // PAGE)):
        data[page * PAGE : (page + 1) * PAGE] = noise
    return data


# What each does to the file, and the fewest entries that must come back.
DAMAGE: dict[str, tuple[Callable[[bytearray], bytes], int]] = {
    "not a database": (lambda _: b"something else entirely" * 100, 0),
    "cut in half": (lambda data: data[: len(data) // 2], 100),
    "some pages": (lambda data: pages(data, lambda page: page % 9 == 6), 250),
    "last page": (lambda data: pages(data, lambda p: p == len(data) // PAGE - 1), 290),
    "a keyword": (lambda data: data.replace(b"CREATE TABLE Cache", b"CREATE TABLF Cache"), 0),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "c"
    fill(path, N)
    return path


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_cache_says_so(filled: Path, tmp_path: Path, invoke: Invoke, how: str) -> None:
    path = tmp_path / "c"
    shutil.copytree(filled, path)
    change, fewest = DAMAGE[how]
    (path / DATABASE).write_bytes(change(bytearray((path / DATABASE).read_bytes())))
    before = (path / DATABASE).read_bytes()
    with pytest.raises(JudgeError, match="judge cache export") as caught:
        CompletionCache(path)
    assert str(path) in str(caught.value)
    assert invoke("cache", "export", "saved.jsonl.gz", "--cache", path).exit_code == 1
    assert (path / DATABASE).read_bytes() == before
    whole, found = sound(filled), sound(path)
    assert found.items() <= whole.items()
    assert len(found) >= fewest
    assert invoke("cache", "verify", "--cache", path).exit_code == 1
    assert invoke("cache", "info", "--cache", path).exit_code == 0
    assert invoke("cache", "import", "saved.jsonl.gz", "--cache", tmp_path / "d").exit_code == 0
    assert sound(tmp_path / "d") == found


def test_a_full_disk_is_a_message(tmp_path: Path) -> None:
    """A limit on the size of files stands in for it."""
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
    )
    kept, message = start(program, tmp_path / "c").communicate()[0].split(maxsplit=1)
    assert "make room" in message
    with CompletionCache(tmp_path / "c") as cache:
        assert len(cache) == int(kept) > 0


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
    forged = text.replace('"text": "text"', '"text": "next"')
    assert invoke("cache", "import", "-", "--cache", tmp_path / "d", stdin=forged).exit_code == 1
    assert invoke("cache", "import", "out.jsonl", "--cache", tmp_path / "d").exit_code == 0


def test_an_entry_from_before_checksums_is_read(tmp_path: Path, invoke: Invoke) -> None:
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


NAME = key(request("question 1"))


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("exploded",)


PLANTED = {
    "value": "UPDATE Cache SET mode = 4, value = :bomb WHERE key = :key",
    "key": "UPDATE Cache SET raw = 0, key = :bomb WHERE key = :key",
    "file": "UPDATE Cache SET mode = 4, filename = 'b.val', value = NULL WHERE key = :key",
}


@pytest.mark.parametrize("how", PLANTED)
def test_a_pickle_is_not_run_and_can_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke, how: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "c"
    fill(path, 3)
    bomb = pickle.dumps(Bomb())
    (path / "b.val").write_bytes(bomb)
    with closing(database(path)) as planted:
        planted.execute(PLANTED[how], {"bomb": bomb, "key": NAME})
    with CompletionCache(path) as cache:
        assert cache.get(request("question 1")) is None
        assert cache.get(request("question 2")) == ANSWER
        assert cache.n_damaged == (0 if how == "key" else 1)
    verified = invoke("cache", "verify", "--cache", path)
    assert verified.exit_code == 1
    assert "2 entries are sound, 1 are not" in verified.stdout
    assert invoke("cache", "export", "out.jsonl", "--cache", path).exit_code == 1
    pruned = invoke("cache", "prune", "--unreadable", "--yes", "--cache", path)
    assert "1 entries removed" in pruned.stderr
    assert invoke("cache", "verify", "--cache", path).exit_code == 0
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("completion", {"text": 5}),
        ("completion", {"usage": {"prompt_tokens": "7", "completion_tokens": 1}}),
        ("request", {"attempt": 1}),
        ("request", {"messages": [["user", "another"]]}),
        ("request", {"sampling": {"temperature": float("nan")}}),
        ("more", {"x": 1}),
    ],
)
def test_a_changed_value_is_none(tmp_path: Path, part: str, change: dict[str, object]) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as data:
        ((value,),) = data.execute("SELECT value FROM Cache WHERE key = ?", (NAME,)).fetchall()
        entry = json.loads(value)
        del entry["sha256"]
        entry[part] = entry.get(part, {}) | change
        changed = (json.dumps(entry).encode(), NAME)
        data.execute("UPDATE Cache SET value = ? WHERE key = ?", changed)
    with CompletionCache(path) as cache:
        assert cache.get(request("question 1")) is None
        assert cache.n_damaged == 1


def test_a_value_nested_deeply_is_none(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as data:
        data.execute("UPDATE Cache SET value = ? WHERE key = ?", (b"[" * 100_000, NAME))
    with CompletionCache(path) as cache:
        assert cache.get(request("question 1")) is None
        assert cache.n_damaged == 1


def test_the_answer_to_one_request_is_not_given_to_another(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as planted:
        planted.execute(
            "UPDATE Cache SET value = (SELECT value FROM Cache WHERE key = ?) WHERE key = ?",
            (key(request("question 2")), NAME),
        )
    with CompletionCache(path) as cache:
        assert cache.get(request("question 1")) is None


KEYED = {"key": NAME, "model": "m", "completion": ANSWER.plain(), "stored": 0.0}
KEYED["sha256"] = checksum(ANSWER.plain())


UNLIKE = {
    "of another key": {"key": key(request("question 2"))},
    "of no key": {"key": "v1-1"},
    "without a checksum": {"sha256": None},
    "with another checksum": {"sha256": "0" * 64},
}


def test_an_entry_without_its_request_is_found_by_its_key(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as planted:
        value = json.dumps(KEYED).encode()
        planted.execute("UPDATE Cache SET value = ? WHERE key = ?", (value, NAME))
    with CompletionCache(path) as cache:
        assert cache.get(request("question 1")) == ANSWER
        assert cache.n_damaged == 0


@pytest.mark.parametrize("how", UNLIKE)
def test_an_entry_without_a_request_must_fit(tmp_path: Path, invoke: Invoke, how: str) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    value = json.dumps(KEYED | UNLIKE[how])
    with closing(database(path)) as planted:
        planted.execute("UPDATE Cache SET value = ? WHERE key = ?", (value.encode(), NAME))
    with CompletionCache(path) as cache:
        assert cache.get(request("question 1")) is None
        assert cache.n_damaged == 1
    if how != "of another key":  # that is one, by itself
        done = invoke("cache", "import", "-", "--cache", tmp_path / "d", stdin=value)
        assert "0 entries taken, 0 were there already, 1 refused" in done.stderr
