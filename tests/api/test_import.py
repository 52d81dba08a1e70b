"""Answers taken back from run folders: what was paid for is not paid for twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faultserver import Fault, FaultServer, always, first
from running import Shell, keys

from judge.cache.contents import Contents
from judge.cache.entry import Entry, checksum

Made = Callable[[int], Shell]
N = 8
FAULTS = {
    "study-0002": first(Fault.MALFORMED),
    "study-0003": always(Fault.MALFORMED),
    "study-0004": first(Fault.MALFORMED, then=Fault.FILTERED_PROMPT),
    "study-0005": always(Fault.REFUSAL_TEXT),
    "study-0006": always(Fault.TRUNCATED),
    "study-0007": first(Fault.MALFORMED, then=Fault.BROKEN_JSON),
}


@pytest.fixture
def judged(server: FaultServer, shell: Made) -> Shell:
    """A run with answers of every kind, whose cache is lost, and a server that gives no more."""
    ready = shell(N)
    server.set_faults(studies=FAULTS)
    code, _, err = ready.run("--out", "run", "--min-coverage", "0")
    assert code == 0, err
    (ready.folder / "cache").rename(ready.folder / "lost")
    server.set_faults(studies={key: always(Fault.FILTERED_PROMPT) for key in keys(N)})
    server.reset()
    return ready


def records(run: Path) -> list[dict[str, Any]]:
    lines = (run / "annotations.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def rewrite(run: Path, change: Callable[[int, dict[str, Any]], object]) -> None:
    """Change each record in place."""
    found = records(run)
    for at, record in enumerate(found):
        change(at, record)
    text = "\n".join(map(json.dumps, found)) + "\n"
    (run / "annotations.jsonl").write_text(text, "utf-8")


def asked_of(server: FaultServer, judged: Shell, out: str) -> list[str]:
    """Judge the same studies again; returns the study of each request to the server."""
    server.reset()
    server.set_faults(record=True)
    judged.run("--out", out, "--min-coverage", "0")
    return [str(each["study"]) for each in server.requests()]


def test_a_run_gives_every_answer_back(server: FaultServer, judged: Shell) -> None:
    before = [e for e in Contents(judged.folder / "lost") if isinstance(e, Entry)]
    code, _, err = judged.judge("cache", "import", "run", "--cache", "cache")
    assert code == 0, err
    assert f"{len(before)} entries taken, 0 were there already, 0 refused" in err
    after = [e for e in Contents(judged.folder / "cache") if isinstance(e, Entry)]
    assert {(e.key, e.model, e.completion) for e in after} == {
        (e.key, e.model, e.completion) for e in before
    }
    # Where the second attempt got no answer it is made again, but not the first.
    asked = asked_of(server, judged, "again")
    assert set(asked) == {"study-0004", "study-0007"}
    assert asked.count("study-0004") == 1
    same = [r for r in records(judged.folder / "run") if r["study_id"] != "study-0007"]
    assert [r for r in records(judged.folder / "again") if r["study_id"] != "study-0007"] == same
    assert any(record["attempt"] == 1 and record["earlier"] for record in same)


def test_it_can_be_repeated_and_goes_on_from_cache_to_cache(judged: Shell) -> None:
    judged.judge("cache", "import", "run", "--cache", "cache")
    n = len(list(Contents(judged.folder / "cache")))
    for cache, taken in (("cache", 0), ("lost", 0), ("other", n)):
        code, _, err = judged.judge("cache", "import", "run", "run", "--cache", cache)
        assert code == 0
        assert f"{taken} entries taken, {2 * n - taken} were there already, 0 refused" in err
        assert "another answer" not in err
    verified, out, err = judged.judge("cache", "verify", "--cache", "cache")
    assert (verified, out) == (0, f"{n} entries are sound, 0 are not\n")
    assert f"{n} of them came from run folders" in err
    _, out, _ = judged.judge("cache", "info", "--cache", "cache")
    assert f"model-x ({n})" in out
    assert judged.judge("cache", "export", "out.jsonl", "--cache", "cache")[0] == 0
    _, _, err = judged.judge("cache", "import", "out.jsonl", "--cache", "third")
    assert f"{n} entries taken" in err
    _, _, err = judged.judge("cache", "prune", "--model", "model-x", "--yes", "--cache", "third")
    assert f"{n} entries removed" in err


def test_an_answer_that_is_there_already_stays(judged: Shell) -> None:
    def another(at: int, record: dict[str, Any]) -> None:
        if at == 0:
            record["answer"]["text"] += " "
            record["sha256"] = checksum(record["answer"])

    rewrite(judged.folder / "run", another)
    before = list(Contents(judged.folder / "lost"))
    code, _, err = judged.judge("cache", "import", "run", "--cache", "lost")
    assert code == 0
    assert "1 of those that were there already have another answer: it stays" in err
    assert list(Contents(judged.folder / "lost")) == before


def test_what_is_damaged_is_refused_and_the_rest_taken(judged: Shell) -> None:
    def damage(at: int, record: dict[str, Any]) -> None:
        if at == 0:
            record["answer"]["text"] += "."
        if at == 1:
            record["cache_key"] = "v1-" + "g" * 64
        if at == 2:
            record["earlier"] = "none"

    run = judged.folder / "run"
    n = len(list(Contents(judged.folder / "lost")))
    rewrite(run, damage)
    with (run / "annotations.jsonl").open("ab") as file:
        file.write(b'{"study_id": "cut\n\xff\n[]\n')
    code, _, err = judged.judge("cache", "import", "run", "--cache", "cache")
    assert code == 1
    assert "annotations.jsonl, line 1: its answer is not the one that was written" in err
    assert "line 2: neither a request nor a key with a checksum" in err
    for line in (3, N + 1, N + 2, N + 3):
        assert f"line {line}: not the record of a study" in err
    taken = len(list(Contents(judged.folder / "cache")))
    assert f"{taken} entries taken, 0 were there already, 6 refused" in err
    assert n - 4 <= taken <= n - 3


def test_a_rescored_run_holds_the_keys_of_whole_answers_only(judged: Shell) -> None:
    run = judged.folder / "run"
    n = len(list(Contents(judged.folder / "lost")))
    rewrite(run, lambda at, record: at or record["answer"].update(text="changed"))
    assert judged.judge("rescore", "run")[0] == 0
    code, _, err = judged.judge("cache", "import", "run", "--cache", "cache")
    assert code == 1
    assert "1 answers have no key" in err
    assert f"{n - 1} entries taken, 0 were there already, 1 refused" in err


def test_a_run_without_keys_is_one_message(judged: Shell, judged_examples: Path) -> None:
    old = judged_examples
    answers = sum(r["answer"] is not None for r in records(old))
    code, _, err = judged.judge("cache", "import", str(old), "--cache", "cache")
    assert code == 1
    assert f"{answers} answers have no key of a cache" in err
    assert "0 entries taken, 0 were there already, 1 refused" in err


def test_what_is_no_run_is_a_message_and_nothing_is_taken(judged: Shell) -> None:
    (judged.folder / "none").mkdir()
    for name, said in (("none", "none is not a run"), ("x" * 300, "cannot read xxx")):
        code, _, err = judged.judge("cache", "import", name, "run", "--cache", "cache")
        assert code == 2
        assert said in err
    assert not list(Contents(judged.folder / "cache"))
