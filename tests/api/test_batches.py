"""Runs asked in batches: from the first question to the last answer, whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from faultserver import BatchPlan, Fault, FaultServer, always, first
from hostile import Hostile, reply
from running import Shell, keys
from support import Invoke

from judge.backends.connection import Connection
from judge.batching import batch_run
from judge.batching.ledger import Ledger
from judge.batching.openai import OpenAIBatches
from judge.batching.provider import Sought
from judge.running.folder import RunFolder
from judge.types import JudgeError

Made = Callable[[int], Shell]
N = 12
BATCH = ("--batch", "--batch-poll", "0.05", "--out", "run", "--format", "json")


@pytest.fixture
def ready(shell: Made, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setattr(batch_run, "_LEAST_PAUSE", 0.2)
    return shell(N)


def paid_once(server: FaultServer, n: int = N) -> None:
    """Every study was answered once, in a batch."""
    stats = server.batches.stats()
    assert set(stats.created.values()) <= {1}, "a question stood in two batches"
    assert set(stats.answered.values()) == {1}
    assert sorted(stats.studies.values()) == keys(n)
    assert server.stats().requests == 0


def test_a_run_in_batches_is_the_same_run(server: FaultServer, ready: Shell) -> None:
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    stats = server.batches.stats()
    assert (len(stats.created), stats.creates) == (N, 1)
    paid_once(server)
    batched = RunFolder.open(ready.folder / "run")
    spent, (batch,) = batched.manifest.spent, batched.manifest.batches
    assert (batch["n"], batch["answered"]) == (N, N)
    assert (spent.asked, spent.from_cache, spent.dollars) == (N, 0, None)
    assert spent.prompt_tokens > 0
    assert "asked 12, from cache 0" in err, (
        "the closing account has what the batch took"
    )
    assert "$0.00" not in err

    code, again, err = ready.run("--out", "plain", "--format", "json")
    assert (code, again) == (0, out), "another run of the same signature"
    plain = RunFolder.open(ready.folder / "plain")
    assert plain.signature == batched.signature
    assert [*plain.lines()] == [*batched.lines()]
    code, _, err = ready.run(*BATCH[:-3], "third")
    assert code == 0, err
    assert server.batches.stats().creates == 1, "the cache has all"
    paid_once(server)
    folder = ready.folder / "cache" / "batches"
    with closing(sqlite3.connect(folder / "ledger.db")) as ledger:
        assert ledger.execute("SELECT * FROM question").fetchall() == [], (
            "they hold reports"
        )
    assert not (folder / "requests.jsonl").exists()
    assert server.batches.kept() == [], (
        "files hold reports, too, and are deleted when read"
    )


def test_files_at_openai_have_a_day_on_which_they_end(
    server: FaultServer, ready: Shell
) -> None:
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    week, days = 7 * 86_400, 3 * 86_400
    asked, form = server.batches.asked, server.batches.form
    assert asked["output_expires_after"] == {"anchor": "created_at", "seconds": week}
    assert form["expires_after[anchor]"] == "created_at"
    assert form["expires_after[seconds]"] == str(days)


def test_a_server_that_knows_no_such_day_is_asked_without(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.refuses = {"expires_after", "output_expires_after"}
    code, _, err = ready.run(*BATCH, "--batch-size", "6")
    assert code == 0, err
    paid_once(server)
    requests = server.batches.stats().requests
    assert (requests["upload_file"], requests["create_batch"]) == (3, 3), (
        "it is refused once"
    )


def test_files_that_cannot_be_deleted_are_named(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.meet("delete_file", always(Fault.UNAVAILABLE))
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    assert "could not be deleted" in err
    paid_once(server)


def test_a_batch_has_no_more_than_its_provider_takes(
    server: FaultServer, ready: Shell
) -> None:
    code, _, err = ready.run(*BATCH, "--batch-size", "50001")
    assert code == 2
    assert "at most 50,000" in err
    assert not server.batches.stats().requests


def test_unreadable_answers_go_into_a_second_batch(
    server: FaultServer, ready: Shell
) -> None:
    server.set_faults(studies={key: always(Fault.MALFORMED) for key in keys(5)[2:]})
    code, out, err = ready.run(*BATCH, "--min-coverage", "0.5")
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N - 3
    assert set(server.batches.stats().answered.values()) == {1}
    (one, two) = RunFolder.open(ready.folder / "run").manifest.batches
    assert (one["n"], two["n"]) == (N, 3)


def test_most_first_answers_unreadable_gives_up(
    server: FaultServer, ready: Shell
) -> None:
    server.set_faults(rates={Fault.MALFORMED: 1.0})
    assert ready.run(*BATCH, "--give-up-after", "10")[0] == 3
    assert server.batches.stats().creates == 1
    assert ready.run(*BATCH, "--give-up-after", "0")[0] == 3
    assert server.batches.stats().creates == 2


def test_the_next_batch_lacks_what_a_model_refuses(
    server: FaultServer, ready: Shell
) -> None:
    server.set_faults(
        refused_parameters={"temperature": "unsupported_value"},
        refused_modes=("json_schema",),
    )
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    stats = server.batches.stats()
    assert (stats.creates, set(stats.answered.values())) == (3, {1})
    code, _, err = ready.run(*BATCH[:-3], "warm", "--temperature", "0.5")
    assert code == 2
    assert "temperature" in err


def test_what_expires_is_asked_again(server: FaultServer, ready: Shell) -> None:
    server.batches.plan = BatchPlan(ending="expired", share=0.4)
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    stats = server.batches.stats()
    assert (stats.creates, set(stats.answered.values())) == (2, {1})
    assert re.search(r"is expired: 4 of 12 answered", err)


def test_errors_by_line_and_lines_that_are_missing(
    server: FaultServer, ready: Shell
) -> None:
    faults = {
        **dict.fromkeys(keys(2), always(Fault.TOO_LONG)),
        **dict.fromkeys(keys(4)[2:], first(Fault.RATE_LIMIT)),
    }
    server.set_faults(studies=faults)
    server.batches.plan = BatchPlan(lost=1)
    code, out, err = ready.run(*BATCH, "--min-coverage", "0.5")
    assert code == 0, err
    summary = json.loads(out)
    assert (summary["n_scored"], summary["reasons"]) == (N - 2, {"failed: too long": 2})
    assert re.search(r"7 of 12 answered", err)
    assert set(server.batches.stats().answered.values()) == {1}


def test_lines_that_are_no_answers_are_passed_over(
    server: FaultServer, ready: Shell
) -> None:
    """The answers beside them are kept, and what was cut off is asked again."""
    noise = (
        b"<html>",
        b"[]",
        b'{"custom_id": {}}',
        b"\xff\x00",
        b"x" * 3_000_000,
        b"[" * 100_000,
    )
    server.batches.plan = BatchPlan(noise=noise, cut=True)
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    (one, two) = RunFolder.open(ready.folder / "run").manifest.batches
    assert (one["n"], one["answered"], two["answered"]) == (N, N - 1, 1)


def test_answers_that_do_not_come_stay_at_the_provider(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.meet("get_content", always(Fault.CUT_BODY), after=True)
    code, _, err = ready.run(*BATCH)
    assert code == 2
    assert server.url in err
    assert not (ready.folder / "run").exists()
    server.batches.meet("get_content", first(Fault.CUT_BODY), after=True)
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    paid_once(server)


def test_batches_have_a_size_and_wait_for_room(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.limit = 2
    code, out, err = ready.run(*BATCH, "--batch-size", "4")
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    assert set(server.batches.stats().answered.values()) == {1}
    server.batches.limit = 0
    ready.write(N + 2)
    code, _, err = ready.run(*BATCH[:-3], "more")
    assert code == 2
    assert "--batch-size" in err


def test_a_server_that_is_away_is_waited_for(server: FaultServer, ready: Shell) -> None:
    server.batches.meet("upload_file", first(Fault.SERVER_ERROR))
    server.batches.meet("get_batch", first(Fault.DROP, Fault.UNAVAILABLE))
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    paid_once(server)
    server.batches.meet("get_batch", always(Fault.DROP))
    ready.write(N + 2)
    code, _, err = ready.run(*BATCH[:-3], "more", "--max-outage", "0.01")
    assert code == 2
    assert server.url in err


def test_a_server_that_goes_while_a_batch_is_made(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.meet("create_batch", first(Fault.DROP), after=True)
    code, _, err = ready.run(*BATCH)
    assert code == 2
    assert server.url in err
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    paid_once(server)
    assert server.batches.stats().creates == 1


# Processes that end, and `judge batch`


def cancel(ready: Shell, server: FaultServer, name: str) -> tuple[int, str, str]:
    """Cancel a batch at the server that has it."""
    words = ("batch", "cancel", name, "--cache", "cache", "--base-url", server.url)
    return ready.judge(*words)


def left_running(server: FaultServer, ready: Shell) -> str:
    """Start a batch, kill its process and return the batch's id."""
    with ready.start(*BATCH) as process:
        while not server.batches.stats().requests["get_batch"]:
            time.sleep(0.05)
        process.kill()
        process.communicate()
    code, out, err = ready.judge(
        "batch", "list", "--cache", "cache", "--format", "json"
    )
    assert code == 0, err
    (batch,) = json.loads(out)
    assert (batch["state"], batch["n"]) == ("running", N)
    return str(batch["id"])


def test_list_and_cancel(server: FaultServer, ready: Shell) -> None:
    code, _, err = ready.judge("batch", "list", "--cache", "cache")
    assert (code, err) == (0, "")
    code, _, err = ready.judge("batch", "cancel", "b-1", "--cache", "cache")
    assert code == 2
    assert "--cache" in err
    server.batches.plan = BatchPlan(ending="stays", share=0.5)
    name = left_running(server, ready)
    code, _, err = ready.judge(
        "batch", "cancel", name, "--cache", "cache", "--base-url", server.url
    )
    assert code == 0, err
    assert "judge green preds.json refs.json --judge model-x" in err
    server.batches.finish()
    code, _, err = ready.run(*BATCH)
    assert code == 3
    assert f"batch {name} was cancelled" in err
    assert cancel(ready, server, name)[0] == 2, "it is over"
    assert name in ready.judge("batch", "list", "--cache", "cache")[1]


def test_a_batch_that_its_provider_has_lost_is_forgotten(
    server: FaultServer, ready: Shell
) -> None:
    server.batches.plan = BatchPlan(ending="stays")
    name = left_running(server, ready)
    server.batches.lose()
    code, _, err = ready.run(*BATCH)
    assert code == 2
    assert "judge batch cancel" in err
    assert cancel(ready, server, name)[0] == 0
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    assert server.batches.stats().creates == 2


@pytest.mark.ci
@pytest.mark.parametrize(
    ("name", "is_done"),
    [("upload_file", False), ("create_batch", True), ("get_content", False)],
)
def test_killed_while_a_call_is_under_way(
    server: FaultServer, ready: Shell, name: str, *, is_done: bool
) -> None:
    server.batches.meet(name, first(Fault.STALL), after=is_done)
    with ready.start(*BATCH) as process:
        while not server.batches.stats().requests[name]:
            time.sleep(0.05)
        process.kill()
        process.communicate()
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    paid_once(server)
    assert server.batches.stats().creates == 1
    left = {
        one.name.partition("-")[0]
        for one in (ready.folder / "cache" / "batches").iterdir()
    }
    assert left <= {"ledger.db", "making.lock"}


@pytest.mark.ci
def test_ctrl_c_leaves_the_batch_running(server: FaultServer, ready: Shell) -> None:
    server.batches.polls = None
    # As a shell does to what it starts with `&`.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = ready.start(*BATCH)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        while not server.batches.stats().requests["get_batch"]:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "judge green preds.json refs.json --judge model-x" in err
    assert "Traceback" not in err
    assert not server.batches.stats().requests["cancel_batch"]
    server.batches.polls = 1
    ready.write(N + 5)
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    paid_once(server, N + 5)  # more studies wait for the batch of fewer


@pytest.mark.ci
def test_two_processes_share_the_batches(server: FaultServer, ready: Shell) -> None:
    server.batches.polls = 40  # two seconds
    with ready.start(*BATCH[:-3], "one") as one, ready.start(*BATCH[:-3], "two") as two:
        results = [process.communicate() for process in (one, two)]
    assert [one.returncode, two.returncode] == [0, 0], results
    paid_once(server)


def test_a_damaged_ledger_is_said(tmp_path: Path) -> None:
    Ledger(tmp_path).__exit__()
    file = tmp_path / "batches" / "ledger.db"
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(JudgeError, match=r"ledger\.db"):
        Ledger(tmp_path)


# What a provider says of a batch, and what stands in the record of batches

OBJECT = {"id": "batch-1", "object": "batch", "status": "in_progress"}


@pytest.mark.parametrize(
    ("said", "named"),
    [
        (None, "not a file with an id"),
        ({**OBJECT, "id": 5}, "not a file with an id"),
        ({**OBJECT, "status": ["completed"]}, "'status'"),
        ({**OBJECT, "status": None}, "'status'"),
        ({**OBJECT, "status": "completed", "output_file_id": [1]}, "'output_file_id'"),
        ({**OBJECT, "metadata": "text"}, "'metadata'"),
        ({**OBJECT, "status": "failed", "errors": [1]}, "[1]"),
        ({**OBJECT, "status": "failed", "errors": "no money"}, "no money"),
        ({**OBJECT, "status": "failed", "errors": {"data": [1]}}, '"data": [1]'),
        (
            {**OBJECT, "status": "failed", "errors": {"data": [{"line": "x"}]}},
            '"line": "x"',
        ),
    ],
)
def test_a_batch_of_another_form_is_one_message(
    shell: Made, said: object, named: str
) -> None:
    with Hostile(reply(said)) as provider:
        made = shell(2)
        code, _, err = made.judge(
            *("green", "preds.json", "refs.json", "--judge", "model-x"),
            *("--base-url", provider.url, "--cache", "cache", *BATCH),
        )
    assert code == 2, err
    assert "Traceback" not in err
    assert named in err


def test_a_list_of_batches_without_an_end_is_no_list_without_the_batch() -> None:
    said = {"object": "list", "data": [OBJECT], "has_more": True}

    async def find(url: str) -> object:
        sought = Sought(mark="b-1", n=1, since=datetime.now(UTC))
        async with OpenAIBatches(Connection(url), "key", "OPENAI_API_KEY") as provider:
            return (await provider.find(sought)).batch

    with Hostile(reply(said)) as endless, pytest.raises(JudgeError, match="no end"):
        asyncio.run(find(endless.url))
    with Hostile(reply({**said, "has_more": False})) as ends:
        assert asyncio.run(find(ends.url)) is None


@pytest.mark.parametrize("data", ["[", "5", "{}", '{"id": 5}', None, "[" * 100_000])
def test_an_odd_record_of_a_batch_is_one_message(
    tmp_path: Path, data: str | None, invoke: Invoke
) -> None:
    Ledger(tmp_path).__exit__()
    with closing(sqlite3.connect(tmp_path / "batches" / "ledger.db")) as ledger:
        if data is None:
            ledger.execute("INSERT INTO batch VALUES ('b-1', x'00ff')")
        else:
            ledger.execute("INSERT INTO batch VALUES ('b-1', ?)", (data,))
        ledger.commit()
    done = invoke("batch", "list", "--cache", tmp_path)
    assert done.exit_code == 2, done.exception
    assert "ledger.db is damaged" in done.stderr
