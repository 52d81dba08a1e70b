"""Whatever was planted in a cache, nothing of it runs, is followed, or takes effect."""

from __future__ import annotations

import json
import os
import pickle
from contextlib import closing
from pathlib import Path

import pytest
from cachehelp import ANSWER, database, fill, request, sound
from support import Invoke

from judge.cache import CompletionCache, key
from judge.cache.entry import checksum
from judge.cache.files import FILES
from judge.types import Completion

NAME = key(request("question 1"))


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("exploded",)


PLANTED = {
    "value": ("UPDATE Cache SET mode = 4, value = :bomb WHERE key = :key", ""),
    "key": ("UPDATE Cache SET raw = 0, key = :bomb WHERE key = :key", ""),
    "file": ("UPDATE Cache SET mode = 4, filename = :file, value = NULL WHERE key = :key", "b.val"),
    "elsewhere": (
        "UPDATE Cache SET mode = 3, filename = :file, value = NULL WHERE key = :key",
        "../outside.val",
    ),
    "whole path": (
        "UPDATE Cache SET mode = 2, filename = :file, value = NULL WHERE key = :key",
        "/etc/hostname",
    ),
    "blob key": ("UPDATE Cache SET key = CAST(key AS BLOB) WHERE key = :key", ""),
}


@pytest.mark.parametrize("how", PLANTED)
def test_a_planted_row_is_not_run_not_followed_and_can_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke, how: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "c"
    fill(path, 3)
    bomb = pickle.dumps(Bomb())
    outside = tmp_path / "outside.val"
    outside.write_bytes(bomb)
    (path / "b.val").write_bytes(bomb)
    change, file = PLANTED[how]
    with closing(database(path)) as planted:
        planted.execute(change, {"bomb": bomb, "key": NAME, "file": file})
    with CompletionCache(path) as cache:
        assert cache.get(request("question 1")) is None
        assert cache.get(request("question 2")) == ANSWER
        assert cache.n_damaged == (0 if "key" in how else 1)
    verified = invoke("cache", "verify", "--cache", path)
    assert verified.exit_code == 1
    assert "2 entries are sound, 1 are not" in verified.stdout
    assert invoke("cache", "info", "--cache", path).exit_code == 0
    exported = invoke("cache", "export", "out.jsonl", "--cache", path)
    assert exported.exit_code == 1
    assert "2 entries written, 1 could not be read" in exported.stderr
    pruned = invoke("cache", "prune", "--unreadable", "--yes", "--cache", path)
    assert "1 entries removed" in pruned.stderr
    assert invoke("cache", "verify", "--cache", path).exit_code == 0
    assert outside.read_bytes() == (path / "b.val").read_bytes() == bomb
    assert not (tmp_path / "exploded").exists()


def test_an_unreadable_entry_gives_way_and_its_file_is_left_alone(tmp_path: Path) -> None:
    path, outside = tmp_path / "a" / "c", tmp_path / "outside"
    fill(path, 2)
    outside.write_text("precious")
    with closing(database(path)) as planted:
        planted.execute(
            "UPDATE Cache SET mode = 3, filename = '../../outside', value = NULL WHERE key = ?",
            (NAME,),
        )
    with CompletionCache(path) as cache:
        cache.put(request("question 1"), ANSWER)
        assert cache.get(request("question 1")) == ANSWER
    assert outside.read_text() == "precious"


def _changed(**parts: object) -> str:
    """The value of an entry in which some parts are others."""
    asked = request("question 1")
    entry: dict[str, object] = {
        "endpoint": asked.endpoint,
        "model": asked.model,
        "messages": [[m.role, m.content] for m in asked.messages],
        "sampling": dict(asked.sampling),
        "schema": None,
        "attempt": 0,
    }
    answer = {"text": "t", "finish_reason": "stop", "model": "m", "usage": None, "created": None}
    usage = parts.pop("usage", None)
    answer |= {name: parts.pop(name) for name in tuple(parts) if name in answer and name != "model"}
    return json.dumps({"request": entry | parts, "completion": answer | {"usage": usage}})


@pytest.mark.parametrize(
    "value",
    [
        "",
        "[" * 100_000,
        "null",
        "{}",
        '{"request": {}, "completion": {}}',
        _changed(messages="question"),
        _changed(messages=[["user", "another"]]),
        _changed(sampling={"temperature": float("nan")}),
        _changed(sampling={"temperature": 1e999}),
        _changed(sampling=None),
        _changed(attempt=1),
        _changed(more=1),
        _changed(model=["m"]),
        _changed(text=5),
        _changed(finish_reason=None),
        _changed(created=5),
        _changed(usage={"prompt_tokens": "7", "completion_tokens": 1}),
        _changed(usage={"tokens": 7}),
    ],
)
def test_a_value_that_is_no_entry_counts_as_none(
    tmp_path: Path, invoke: Invoke, value: str
) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as planted:
        planted.execute("UPDATE Cache SET value = ? WHERE key = ?", (value.encode(), NAME))
    with CompletionCache(path) as cache:
        assert cache.get(request("question 1")) is None
        assert cache.n_damaged == 1
    assert "2 entries are sound, 1 are not" in invoke("cache", "verify", "--cache", path).stdout
    assert invoke("cache", "info", "--cache", path).exit_code == 0


def test_the_value_that_those_change_is_an_entry(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    with closing(database(path)) as planted:
        planted.execute("UPDATE Cache SET value = ? WHERE key = ?", (_changed().encode(), NAME))
    with CompletionCache(path) as cache:
        assert cache.get(request("question 1")) == Completion("t", "stop", "m")


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
    "of a key that is no text": {"key": 5},
    "without a checksum": {"sha256": None},
    "with another checksum": {"sha256": "0" * 64},
    "of no model": {"model": None},
    "with an empty request": {"request": None},
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
def test_an_entry_without_its_request_must_prove_itself(
    tmp_path: Path, invoke: Invoke, how: str
) -> None:
    path = tmp_path / "c"
    fill(path, 3)
    value = json.dumps(KEYED | UNLIKE[how])
    with closing(database(path)) as planted:
        planted.execute("UPDATE Cache SET value = ? WHERE key = ?", (value.encode(), NAME))
    with CompletionCache(path) as cache:
        assert cache.get(request("question 1")) is None
        assert cache.n_damaged == 1
    assert "2 entries are sound, 1 are not" in invoke("cache", "verify", "--cache", path).stdout
    if how != "of another key":  # that is one, by itself
        done = invoke("cache", "import", "-", "--cache", tmp_path / "d", stdin=value)
        assert "0 entries taken, 0 were there already, 1 refused" in done.stderr


def test_nothing_is_evicted_whatever_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "c"
    fill(path)
    settings = {"eviction_policy": "least-recently-stored", "size_limit": 1, "cull_limit": 100}
    with closing(database(path)) as planted:
        for item in settings.items():
            planted.execute("UPDATE Settings SET value = ?2 WHERE key = ?1", item)
    with CompletionCache(path) as cache:
        for at in range(20, 60):
            cache.put(request(f"question {at}"), ANSWER)
        assert all(cache.get(request(f"question {at}")) == ANSWER for at in range(60))
        assert len(cache) == 60
    assert {file.name for file in path.iterdir()} <= set(FILES)


def test_a_link_in_place_of_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "big disk").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "big disk")
    fill(tmp_path / "c", 2)
    assert len(sound(tmp_path / "big disk")) == 2
