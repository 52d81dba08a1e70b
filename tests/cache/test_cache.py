"""The cache forgets nothing, runs nothing and says what is wrong with it."""

from __future__ import annotations

import json
import signal
import stat
from pathlib import Path

import pytest
from cachehelp import ANSWER, database, fill, request, sound, start
from hypothesis import given
from hypothesis import strategies as st
from support import Invoke

from judge.cache import CompletionCache, canonical, key, place
from judge.cache.keys import request_of
from judge.types import Completion, Message


def test_the_key_is_a_contract() -> None:
    """These digests are on users' disks: a change of them is a new key version."""
    assert key(request()) == "v1-7d9dbceee3da5c956bd1460629858225d3d8f986196280982b727dfc8e5eaef1"
    assert (
        key(request(), attempt=1)
        == "v1-fb188225d62966a8fb9c8332fce0b1cf05f1f67041a39f932749ec69fa772611"
    )
    assert (
        key(request(), repeat=1)
        == "v1-51540db7d9b0bc5197f4b67e5a5ed841df3cd450b554732cb8ca732140b61f83"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "completions"},
        {"model": "n"},
        {"messages": (Message("user", "s"), Message("user", "question"))},
        {"sampling": {"temperature": 0, "max_tokens": 10}},
        {"schema": {"type": "object"}},
    ],
)
def test_each_part_of_a_request_is_in_the_key(change: dict[str, object]) -> None:
    assert key(request(**change)) != key(request())


@given(
    st.text(),
    st.dictionaries(st.text(), st.integers() | st.floats(allow_nan=False, allow_infinity=False)),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_a_kept_request_gives_its_key_again(
    text: str, sampling: dict[str, float], attempt: int, repeat: int
) -> None:
    asked = request(text, sampling=sampling)
    kept = json.loads(json.dumps(canonical(asked, attempt, repeat)))
    assert key(*request_of(kept)) == key(asked, attempt, repeat)


@pytest.mark.parametrize("text", ["", "a\nb\x00c", "\ud800 lone", "é漢 \u202e", "x" * 1_000_000])
def test_what_goes_in_comes_out(tmp_path: Path, text: str) -> None:
    answer = Completion(text, "length", "m", None, None)
    with CompletionCache(tmp_path / "c") as cache:
        assert cache.get(request(text)) is None
        cache.put(request(text), answer)
        cache.put(request(text), ANSWER, attempt=1)
        assert cache.get(request(text)) == answer
        assert cache.get(request(text), attempt=1) == ANSWER
        assert len(cache) == 2
    with CompletionCache(tmp_path / "c") as cache:
        assert cache.get(request(text)) == answer


def test_an_answer_survives_kill_9(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from cachehelp import *\n"
        "cache = CompletionCache(Path(sys.argv[1])); cache.put(request(), ANSWER)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    with start(program, tmp_path / "c") as killed:
        pass
    assert killed.returncode == -signal.SIGKILL
    with CompletionCache(tmp_path / "c") as cache:
        assert cache.get(request()) == ANSWER


def test_two_processes_share_it(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from cachehelp import *\n"
        "with CompletionCache(Path(sys.argv[1])) as cache:\n"
        "    for at in range(300):\n"
        "        cache.put(request(str(at)), ANSWER); assert cache.get(request(str(at))) == ANSWER"
    )
    with start(program, tmp_path / "c") as one, start(program, tmp_path / "c") as two:
        pass
    assert (one.returncode, two.returncode) == (0, 0)
    with CompletionCache(tmp_path / "c") as cache:
        assert len(cache) == len(sound(tmp_path / "c")) == 300
    assert database(tmp_path / "c").execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_several_processes_may_open_a_new_folder_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from cachehelp import *\n"
        "with CompletionCache(Path(sys.argv[1])) as cache: cache.put(request(sys.argv[2]), ANSWER)"
    )
    many = [start(program, tmp_path / "c", at) for at in range(3)]
    assert [process.communicate() and process.returncode for process in many] == [0] * 3
    assert len(sound(tmp_path / "c")) == 3


def test_only_the_owner_may_look(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.mkdir(mode=0o755)
    with CompletionCache(path) as cache:
        cache.put(request(), ANSWER)
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.iterdir()} == {0o600}


def test_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert place(Path("a"), {"JUDGE_CACHE": "b"}) == Path("a")
    assert place(None, {"JUDGE_CACHE": "b"}) == Path("b")
    assert place(None, {}).name == place(None, {"JUDGE_CACHE": ""}).name == "judge"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place(None, {"JUDGE_CACHE": "~/b"}) == place(Path("~/b"), {}) == tmp_path / "b"


def test_out_and_in_again(tmp_path: Path, invoke: Invoke) -> None:
    fill(tmp_path / "c", 5)
    assert invoke("cache", "export", "out.jsonl", "--cache", tmp_path / "c").exit_code == 0
    assert "exists" in invoke("cache", "export", "out.jsonl", "--cache", tmp_path / "c").stderr
    lines = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    forged = json.loads(lines[0])
    forged["request"]["model"] = "another"
    text = "\n".join([json.dumps(forged), *lines[1:], "not json"])
    done = invoke("cache", "import", "-", "--cache", tmp_path / "d", stdin=text)
    assert done.exit_code == 1
    assert "4 entries taken, 0 were there already, 2 refused" in done.stderr
    again = invoke("cache", "import", "out.jsonl", "--cache", tmp_path / "d")
    assert "1 entries taken, 4 were there already, 0 refused" in again.stderr
    assert "line 1: its key is not the one that its request has" in done.stderr
    assert "line 6: not the JSON object of an entry" in done.stderr
    assert sound(tmp_path / "c") == sound(tmp_path / "d")
    assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == 0o600


def test_a_packed_file_that_is_cut_off_is_a_message(tmp_path: Path, invoke: Invoke) -> None:
    fill(tmp_path / "c", 200)
    assert invoke("cache", "export", "out.gz", "--cache", tmp_path / "c").exit_code == 0
    data = (tmp_path / "out.gz").read_bytes()
    (tmp_path / "cut.gz").write_bytes(data[: len(data) // 2])
    done = invoke("cache", "import", "cut.gz", "--cache", tmp_path / "d")
    assert done.exit_code == 2
    assert "cannot read cut.gz to its end" in done.stderr


def test_prune_removes_what_is_named(tmp_path: Path, invoke: Invoke) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    undated = Completion("secret words", "stop", "m")
    with CompletionCache(path) as cache:
        cache.put(request(model="other"), ANSWER)
        cache.put(request(model="other"), undated, attempt=1)

    def prune(*options: str) -> str:
        done = invoke("cache", "prune", "--cache", path, *options)
        assert done.exit_code == 0
        return done.stderr

    assert invoke("cache", "prune", "--cache", path).exit_code == 2
    assert invoke("cache", "prune", "--cache", path, "--model", "m", stdin="n\n").exit_code == 1
    assert len(sound(path)) == 5
    assert "nothing" in prune("--model", "m", "--older-than", "99999")
    assert "nothing" in prune("--unreadable")
    # The answer without a time of its own counts from when it was kept.
    assert "1 entries removed" in prune("--model", "other", "--older-than", "1", "--yes")
    assert "3 entries removed" in prune("--model", "m", "--yes")
    assert list(sound(path).values()) == [undated]
    assert "1 entries removed" in prune("--older-than", "0", "--yes")
    assert not any(b"secret words" in file.read_bytes() for file in path.iterdir())


def test_no_cache_yet(tmp_path: Path, invoke: Invoke) -> None:
    assert invoke("cache", "info", "--cache", tmp_path / "none").exit_code == 0
    assert invoke("cache", "verify", "--cache", tmp_path / "none").exit_code == 2
    assert invoke("cache", "export", "out", "--cache", tmp_path / "none").exit_code == 2
    assert not any((tmp_path / name).exists() for name in ("none", "out"))
