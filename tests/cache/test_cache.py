"""The cache forgets nothing, asks nothing twice, and says what is wrong with it."""

from __future__ import annotations

import gzip
import json
import pickle
import signal
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cachehelp import ANSWER, DATABASE, database, fill, put, request, sound, start
from support import Invoke

from judge.cache import key, place
from judge.cache.answers import checksum, intact
from judge.cache.store import CompletionCache
from judge.types import Completion, JudgeError, Usage


def test_the_key_is_a_contract() -> None:
    """These digests are on users' disks: a change of them is a new key version."""
    assert (
        key(request())
        == "v1-7d9dbceee3da5c956bd1460629858225d3d8f986196280982b727dfc8e5eaef1"
    )
    assert (
        key(request(), attempt=1)
        == "v1-fb188225d62966a8fb9c8332fce0b1cf05f1f67041a39f932749ec69fa772611"
    )
    assert (
        key(request(), repeat=1)
        == "v1-51540db7d9b0bc5197f4b67e5a5ed841df3cd450b554732cb8ca732140b61f83"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\nb\x00c",
        "\ud800 lone",
        "é漢 \u202e",
        ', "completion": {"text"',
        "x" * 1_000_000,
    ],
)
def test_what_goes_in_comes_out(tmp_path: Path, text: str) -> None:
    answer = Completion(text, "length", "m", None, None)
    schema = {"properties": {"a": {}, "completion": {"type": "string"}}}
    with CompletionCache(tmp_path / "c") as cache:
        assert cache.get(key(request(text))) is None
        put(cache, request(text), answer)
        put(cache, request(text, schema=schema), answer, attempt=1)
        assert cache.get(key(request(text))) == answer
        assert len(cache) == 2
    with CompletionCache(tmp_path / "c") as cache:
        assert cache.get(key(request(text, schema=schema), 1)) == answer
    assert [*sound(tmp_path / "c").values()] == [answer, answer]


def test_an_old_cache_is_read(tmp_path: Path, invoke: Invoke) -> None:
    """It and the list of its answers were written by the store at commit 586f1f3."""
    old, (path, other) = Path(__file__).parent, (tmp_path / "c", tmp_path / "d")
    path.mkdir()
    (path / DATABASE).write_bytes(
        gzip.decompress((old / "old_cache.db.gz").read_bytes())
    )
    exported = map(json.loads, (old / "old_cache.jsonl").read_text().splitlines())
    answers = {row["key"]: row["completion"] for row in exported}
    assert key(request("plain"), 1) in answers
    with CompletionCache(path) as cache:
        for name, answer in answers.items():
            usage = answer["usage"] and Usage(**answer["usage"])
            assert cache.get(name) == Completion(**(answer | {"usage": usage}))
    assert invoke("cache", "info", "--check", "--cache", path).exit_code == 0
    done = invoke("cache", "import", path, "--cache", other)
    assert done.exit_code == 0, done.stderr
    assert sound(other) == sound(path)
    assert len(sound(path)) == len(answers) == 7


def test_an_answer_survives_kill_9(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from cachehelp import *\n"
        "cache = CompletionCache(Path(sys.argv[1])); put(cache, request())\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    with start(program, tmp_path / "c") as killed:
        pass
    assert killed.returncode == -signal.SIGKILL
    assert [*sound(tmp_path / "c").values()] == [ANSWER]


PROCESS = """
import os, random, sys, time
from pathlib import Path
from cachehelp import *
from judge.cache import key
folder, n = Path(sys.argv[1]), int(sys.argv[2])
log = os.open(folder / "asked", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
with CompletionCache(folder / "c") as cache:
    for at in random.sample(range(n), n):
        name = key(request(str(at)))
        while not cache.claim(name):
            time.sleep(0.001)
        if cache.get(name) is None:
            os.write(log, f"{at}\\n".encode())
            put(cache, request(str(at)))
        cache.release(name)
        assert cache.get(name) == ANSWER
"""
CLAIMS_ALL = """
import sys, time
from pathlib import Path
from cachehelp import *
from judge.cache import key
cache = CompletionCache(Path(sys.argv[1]) / "c")
print(all(cache.claim(key(request(str(at)))) for at in range(int(sys.argv[2]))), flush=True)
time.sleep(600)
"""


def test_five_processes_ask_each_question_once(tmp_path: Path) -> None:
    """What a sixth had claimed is free when it is killed."""
    n = 60
    with start(CLAIMS_ALL, tmp_path, n) as sixth:
        assert sixth.stdout is not None
        assert sixth.stdout.readline() == "True\n"
        five = [start(PROCESS, tmp_path, n) for _ in range(5)]
        sixth.kill()
    assert [process.communicate() and process.returncode for process in five] == [0] * 5
    asked = (tmp_path / "asked").read_text().split()
    assert sorted(asked, key=int) == [str(at) for at in range(n)]
    assert len(sound(tmp_path / "c")) == n
    with closing(database(tmp_path / "c")) as data:
        assert data.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_only_the_owner_may_look(tmp_path: Path) -> None:
    with CompletionCache(tmp_path / "c") as cache:
        put(cache, request())
        assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700
        modes = {
            stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "c").iterdir()
        }
        assert modes == {0o600}


def test_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place(Path("a"), {"JUDGE_CACHE": "b"}) == Path("a")
    assert place(None, {"JUDGE_CACHE": "b"}) == Path("b")
    assert place(None, {}).name == place(None, {"JUDGE_CACHE": ""}).name == "judge"
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("~/b", "$HOME/b"):
        assert (
            place(None, {"JUDGE_CACHE": name})
            == place(Path(name), {})
            == tmp_path / "b"
        )


# Trouble


@pytest.mark.parametrize("content", [b"something else" * 100, pickle.dumps([1]), None])
def test_a_file_that_is_no_cache_is_a_message(
    tmp_path: Path, invoke: Invoke, content: bytes | None
) -> None:
    """Without content it is a cache that was cut in half."""
    path = tmp_path / "c"
    fill(path, 50)
    if content is None:
        data = (path / DATABASE).read_bytes()
        content = data[: len(data) // 2]
    (path / DATABASE).write_bytes(content)
    with pytest.raises(JudgeError, match="judge cache import") as caught:
        CompletionCache(path)
    assert str(path) in str(caught.value)
    for words in (("info", "--check"), ("prune", "--model", "m", "--yes")):
        done = invoke("cache", *words, "--cache", path)
        assert done.exit_code == 2
        assert str(path) in done.stderr
    assert (path / DATABASE).read_bytes() == content


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
        "        put(cache, request(str(at)), Completion('x' * 5000, 'stop', 'm'))\n"
        "except JudgeError as error: print(at, error)\n"
    )
    kept, message = start(program, tmp_path / "c").communicate()[0].split(maxsplit=1)
    assert str(tmp_path / "c") in message
    assert "--cache" in message
    with CompletionCache(tmp_path / "c") as cache:
        assert len(cache) == int(kept) > 0


def test_a_cache_that_another_process_holds_is_a_message(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fill(path, 1)
    with CompletionCache(path, timeout=0.1) as cache, closing(database(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JudgeError, match="other process"):
            put(cache, request("2"))
        assert cache.get(key(request("question 0"))) == ANSWER
        other.execute("ROLLBACK")
        put(cache, request("3"))
        assert len(cache) == 3
        assert cache.get(key(request("2"))) == ANSWER, (
            "paid for, and written with the next"
        )


def test_an_answer_that_a_disk_has_changed_is_none(
    tmp_path: Path, invoke: Invoke
) -> None:
    path = tmp_path / "c"
    with CompletionCache(path) as cache:
        put(cache, request("1"), Completion("(a) False finding: 1.", "stop", "m"))
        put(cache, request("2"))
    data = (path / DATABASE).read_bytes()
    assert data.count(b"False finding: 1") == 1
    (path / DATABASE).write_bytes(
        data.replace(b"False finding: 1", b"False finding: 3")
    )
    checked = invoke("cache", "info", "--check", "--cache", path)
    assert checked.exit_code == 1
    assert key(request("1")) in checked.stderr
    assert invoke("cache", "info", "--cache", path).exit_code == 0
    with CompletionCache(path) as cache:
        assert cache.get(key(request("1"))) is cache.get(key(request("1"))) is None
        assert cache.n_damaged == 1
        assert cache.get(key(request("2"))) == ANSWER


PLAIN = ANSWER.plain()
NAME = key(request("question 1"))
WHOLE = {"key": NAME, "model": "m", "completion": PLAIN, "sha256": checksum(PLAIN)}


@pytest.mark.parametrize(
    "value",
    [
        b"[" * 100_000,
        pickle.dumps(ANSWER.plain()),
        {**WHOLE, "sha256": "0" * 64},
        {**WHOLE, "completion": {"text": "text"}},
    ],
)
def test_a_value_that_is_no_answer_is_none(
    tmp_path: Path, value: bytes | dict[str, object]
) -> None:
    fill(tmp_path / "c", 3)
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    with closing(database(tmp_path / "c")) as planted:
        planted.execute("UPDATE Cache SET value = ? WHERE key = ?", (data, NAME))
    with CompletionCache(tmp_path / "c") as cache:
        assert cache.get(NAME) is None
        assert cache.n_damaged == 1
    assert len(sound(tmp_path / "c")) == 2


def sealed(**changes: object) -> bytes:
    """An entry whose answer has these fields, with its right checksum."""
    plain = {**PLAIN, **changes}
    return json.dumps(
        {**WHOLE, "completion": plain, "sha256": checksum(plain)}
    ).encode()


@pytest.mark.parametrize(
    "changes",
    [
        {"text": 5},
        {"text": None},
        {"finish_reason": ["stop"]},
        {"model": {}},
        {"usage": {"prompt_tokens": "1", "completion_tokens": 2}},
        {"usage": {"prompt_tokens": -1, "completion_tokens": 2}},
        {"usage": [1, 2]},
        {"created": "yesterday"},
        {"created": "0001-01-01T00:00:00+23:59"},
        {"created": 5},
        {"mode": [1]},
        {"mode": True},
    ],
)
def test_an_entry_of_other_types_is_damaged_and_not_the_end(
    tmp_path: Path, invoke: Invoke, changes: dict[str, object]
) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as planted:
        planted.execute(
            "UPDATE Cache SET value = ? WHERE key = ?", (sealed(**changes), NAME)
        )
    with CompletionCache(path) as cache:
        assert cache.get(NAME) is None
        assert cache.n_damaged == 1
    checked = invoke("cache", "info", "--check", "--cache", path)
    assert checked.exit_code == 1
    assert NAME in checked.stderr
    done = invoke("cache", "prune", "--older-than", "0", "--yes", "--cache", path)
    assert (done.exit_code, done.exception) == (0, None)
    assert "2 entries removed" in done.stderr


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("value", 5),
        ("value", None),
        ("value", "text"),
        ("store_time", "noon"),
        ("store_time", 1e300),
        ("tag", "kind"),
    ],
)
def test_a_row_of_other_types_leaves_the_others(
    tmp_path: Path, invoke: Invoke, column: str, value: object
) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as planted:
        planted.execute(f"UPDATE Cache SET {column} = ? WHERE key = ?", (value, NAME))
    for words in (("info",), ("prune", "--older-than", "0", "--yes")):
        done = invoke("cache", *words, "--cache", path)
        assert done.exit_code == 0, (done.stderr, done.exception)
    with CompletionCache(path) as cache:
        assert cache.answer_tokens("kind") is None


@pytest.mark.parametrize("column", ["key", "tag"])
def test_a_text_that_a_disk_has_changed_is_a_message(
    tmp_path: Path, invoke: Invoke, column: str
) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as planted:
        change = f"UPDATE Cache SET {column} = CAST(? AS TEXT) WHERE key = ?"
        planted.execute(change, (b"\xff\xfe", NAME))
    done = invoke("cache", "info", "--cache", path)
    assert done.exit_code == 2
    assert "judge cache import" in done.stderr


@pytest.mark.parametrize(
    ("setting", "says"),
    [("get", "which judge did not make"), ("disk_other", "settings are damaged")],
)
def test_a_cache_with_settings_of_another_program_is_refused(
    tmp_path: Path, setting: str, says: str
) -> None:
    fill(tmp_path / "c", 1)
    with closing(database(tmp_path / "c")) as planted:
        planted.execute("INSERT INTO Settings VALUES (?, 5)", (setting,))
    with pytest.raises(JudgeError, match=says):
        CompletionCache(tmp_path / "c")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    """A row that says that it is a pickle is a damaged answer."""
    fill(tmp_path / "c", 1)
    (name,) = sound(tmp_path / "c")
    code = b"cbuiltins\nexit\n(I7\ntR."
    with closing(database(tmp_path / "c")) as planted:
        planted.execute("UPDATE Cache SET mode = 4, value = ?", (code,))
    with CompletionCache(tmp_path / "c") as cache:
        assert cache.get(name) is None
        assert cache.n_damaged == 1
    assert sound(tmp_path / "c") == {}
    with closing(database(tmp_path / "c")) as planted:
        planted.execute("UPDATE Cache SET raw = 0, key = ?", (code,))
    assert sound(tmp_path / "c") == {}


def test_an_answer_that_is_not_there_after_it_was_written_is_said(
    tmp_path: Path,
) -> None:
    fill(tmp_path / "c", 1)
    with closing(database(tmp_path / "c")) as planted:
        planted.execute("DROP TRIGGER Settings_count_insert")
        planted.execute(
            "CREATE TRIGGER Settings_count_insert AFTER INSERT ON Cache"
            " BEGIN DELETE FROM Cache WHERE rowid = NEW.rowid; END"
        )
    with (
        CompletionCache(tmp_path / "c") as cache,
        pytest.raises(JudgeError, match="does not hold what was just written"),
    ):
        put(cache, request("another"))


def test_an_answer_without_a_time_counts_from_the_one_before_it(tmp_path: Path) -> None:
    """Earlier versions left its time to diskcache, which does not tell."""
    fill(tmp_path / "c", 1)
    with CompletionCache(tmp_path / "c") as cache:
        put(cache, request("undated"), Completion("x", "stop", "m"))
    with closing(database(tmp_path / "c")) as data:
        (value,) = data.execute("SELECT value FROM Cache WHERE rowid = 2").fetchone()
        old = json.loads(value)
        del old["stored"]
        new = json.dumps(old).encode()
        data.execute("UPDATE Cache SET value = ? WHERE rowid = 2", (new,))
    with CompletionCache(tmp_path / "c", must_exist=True) as cache:
        first, second = intact(cache.iterate(), [])
    assert first.time == second.time == datetime(2026, 1, 1, tzinfo=UTC)


# The commands


def test_another_cache_is_taken_in(tmp_path: Path, invoke: Invoke) -> None:
    one, other = tmp_path / "c", tmp_path / "d"
    fill(one, 5)
    with closing(database(one)) as planted:
        planted.execute(
            "UPDATE Cache SET key = ? WHERE key = ?", (key(request("x")), NAME)
        )
    with CompletionCache(other) as cache:
        put(cache, request("question 0"))
    done = invoke("cache", "import", one, "--cache", other)
    assert done.exit_code == 1
    assert "3 entries added, 1 were there already" in done.stderr
    assert key(request("x")) in done.stderr
    assert sound(one) == sound(other)
    assert invoke("cache", "import", tmp_path / "none", "--cache", other).exit_code == 2


def test_prune_removes_what_is_named(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    undated = Completion("secret words", "stop", "m")
    with CompletionCache(path) as cache:
        put(cache, request(model="other"))
        put(cache, request(model="other"), undated, attempt=1)

    def prune(*options: str) -> str:
        done = invoke("cache", "prune", "--cache", path, *options)
        assert done.exit_code == 0
        return done.stderr

    assert invoke("cache", "prune", "--cache", path).exit_code == 2
    for answer in ("n\n", ""):
        asked = invoke("cache", "prune", "--cache", path, "--model", "m", stdin=answer)
        assert asked.exit_code == 1
    assert len(sound(path)) == 5
    assert "0 entries removed" in prune("--model", "m", "--older-than", "99999")
    # The answer without a time of its own counts from when it was kept.
    assert "1 entries removed" in prune(
        "--model", "other", "--older-than", "1", "--yes"
    )
    assert "3 entries removed" in prune("--model", "m", "--yes")
    assert list(sound(path).values()) == [undated]
    assert "1 entries removed" in prune("--older-than", "0", "--yes")
    assert not any(b"secret words" in file.read_bytes() for file in path.iterdir())
