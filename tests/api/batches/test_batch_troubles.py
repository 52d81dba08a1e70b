"""Batches where something goes wrong around them: replies, files, folders, money."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from faultserver import Batching, BatchPlan, Fault, FaultServer, always, first
from running import Shell, study_set
from test_batch_commands import answers_of, left_running
from test_batch_money import priced, session
from test_batch_runs import paid_once

from judge.batching.ledger import Ledger
from judge.batching.rounds import BatchPolicy, in_batches
from judge.running.engine import ProgressListener, judge_set
from judge.running.progress import Progress

__all__ = ["priced"]

Made = Callable[[int], Shell]
N = 8
BATCH = ("--batch", "--batch-poll", "0.05", "--out", "run", "--format", "json")


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(rubric="green", batching=Batching(polls=2)) as running:
        yield running


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *(("upload_file", Fault.HTML), ("create_batch", Fault.HTML), ("get_batch", Fault.HTML)),
        *(("get_batch", Fault.BROKEN_JSON), ("get_content", Fault.CUT_BODY)),
        ("get_content", Fault.RESET),
    ],
)
def test_a_reply_that_is_none_is_asked_for_again(
    server: FaultServer, shell: Made, name: str, fault: Fault
) -> None:
    server.batches.meet(name, first(fault))
    code, out, err = shell(N).run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    paid_once(server, N)


@pytest.mark.parametrize("fault", [Fault.DROP, Fault.HTML])
def test_a_server_that_goes_while_a_batch_is_made_is_said(
    server: FaultServer, shell: Made, fault: Fault
) -> None:
    ready = shell(N)
    server.batches.meet("create_batch", first(Fault.DROP), after=True)
    server.batches.meet("list_batches", always(fault))
    for _ in range(2):
        code, _, err = ready.run(*BATCH)
        assert code == 2
        assert "does not answer" in err
        assert "the same command" in err
        assert "Traceback" not in err
    server.batches.meet("list_batches", first())
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    paid_once(server, N)
    assert server.batches.stats().creates == 1


def test_commands_at_a_server_that_is_gone(server: FaultServer, shell: Made) -> None:
    ready = shell(N)
    server.batches.set(polls=None)
    name = left_running(server, ready)
    server.batches.meet("get_batch", always(Fault.DROP))
    for word in ("show", "cancel"):
        code, _, err = ready.judge("batch", word, name, "--cache", "cache")
        assert code == 2
        assert "does not answer" in err
        assert "Traceback" not in err


def test_a_batch_that_is_gone_from_its_provider_can_be_forgotten(
    server: FaultServer, shell: Made
) -> None:
    ready = shell(N)
    server.batches.set(polls=None)
    name = left_running(server, ready)
    server.batches.clear()
    code, _, err = ready.run(*BATCH)
    assert code == 2
    assert f"judge batch cancel {name} forgets it" in err
    code, _, err = ready.judge("batch", "cancel", name, "--cache", "cache")
    assert code == 0, err
    server.batches.set(polls=2)
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N


def test_cancelling_a_batch_that_has_ended_reads_it(server: FaultServer, shell: Made) -> None:
    ready = shell(N)
    server.batches.set(polls=None)
    name = left_running(server, ready)
    server.batches.finish()
    code, _, err = ready.judge("batch", "cancel", name, "--cache", "cache")
    assert code == 0, err
    assert "is completed: 7 answered" in err
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    paid_once(server, N)
    assert server.batches.stats().creates == 1


def test_a_folder_with_another_run_is_found_before_anything_is_sent(
    server: FaultServer, shell: Made
) -> None:
    ready = shell(N)
    assert ready.judge("green", "preds.json", "refs.json", "--out", "run")[0] == 0
    for options in (BATCH, (*BATCH[:-3], "new", "--by", "no-such-field")):
        code, _, err = ready.run(*options)
        assert code == 2
        assert "holds another run" in err or "no such field" in err
        assert (server.batches.stats().uploads, server.stats().requests) == (0, 0)


def test_an_answer_that_comes_after_an_error_is_taken(server: FaultServer, shell: Made) -> None:
    ready = shell(2)
    asked = ("--rubric", "green", "--judge", "model-x", "--base-url", ready.url, "--cache", "cache")
    assert ready.judge("batch", "write", "q.jsonl", "preds.json", "refs.json", *asked)[0] == 0
    one, two = answers_of(ready.folder / "q.jsonl", server)
    wrong = json.loads(two)
    wrong["response"] = {"status_code": 500, "body": {"error": {"message": "out of memory"}}}
    (ready.folder / "a.jsonl").write_bytes(one + json.dumps(wrong).encode() + b"\n")
    assert ready.judge("batch", "read", "a.jsonl", "--cache", "cache")[:2] == (
        1,
        "1 answers taken\n",
    )
    (ready.folder / "b.jsonl").write_bytes(two)
    code, out, err = ready.judge("batch", "read", "b.jsonl", "--cache", "cache")
    assert (code, out) == (0, "1 answers taken\n"), err
    (batch,) = json.loads(ready.judge("batch", "list", "--cache", "cache", "--format", "json")[1])
    assert (batch["state"], batch["answered"], batch["again"]) == ("over", 2, 0)


def test_a_plain_run_says_that_somebody_else_was_given_its_questions(
    server: FaultServer, shell: Made
) -> None:
    ready = shell(2)
    asked = ("--rubric", "green", "--judge", "model-x", "--base-url", server.url)
    assert (
        ready.judge(
            *("batch", "write", "q.jsonl", "preds.json", "refs.json", *asked, "--cache", "cache")
        )[0]
        == 0
    )
    code, _, err = ready.run("--out", "run")
    assert code == 0
    assert "under way in batches" in err


def test_a_ledger_can_be_read_while_a_large_batch_is_written_down(tmp_path: Path) -> None:
    with Ledger(tmp_path) as writing, writing.change():
        began = time.monotonic()
        with Ledger(tmp_path) as reading:
            assert reading.batches() == []
        assert time.monotonic() - began < 10


def test_what_a_killed_process_left_is_cleared_away(server: FaultServer, shell: Made) -> None:
    ready = shell(N)
    server.batches.meet("upload_file", first(Fault.STALL))
    with ready.start(*BATCH) as process:
        while not server.batches.stats().requests.get("upload_file"):
            time.sleep(0.05)
        process.kill()
        process.communicate()
    folder = ready.folder / "cache" / "batches"
    assert [*folder.glob("new-*")], "the reports that were being sent"
    code, _, err = ready.run(*BATCH)
    assert code == 0, err
    assert {one.name for one in folder.iterdir()} <= {"ledger.db", "making.lock"}


def test_what_ended_while_there_was_no_room_makes_room(server: FaultServer, shell: Made) -> None:
    server.batches.set(polls=1)
    server.batches.next(BatchPlan())
    server.batches.next(BatchPlan(ending="failed", failure="token_limit_exceeded"))
    code, _, err = shell(N).run(*BATCH, "--batch-size", "4")
    assert code == 0, err
    assert "No room for batch" in err
    paid_once(server, N)


def test_the_same_report_twice_in_a_batch_that_is_not_made(
    server: FaultServer, shell: Made
) -> None:
    ready = shell(N)
    for name in ("preds", "refs"):
        file = ready.folder / f"{name}.json"
        reports = json.loads(file.read_text())
        reports["twin"] = reports["study-0005"]
        file.write_text(json.dumps(reports))
    server.batches.meet("create_batch", first(Fault.DROP))
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert "was not made" in err
    assert json.loads(out)["n_scored"] == N + 1


@pytest.mark.usefixtures("priced")
def test_a_batch_under_way_is_paid_before_more_is_sent(server: FaultServer, tmp_path: Path) -> None:
    """A run that comes back to a batch with the same limit sends nothing that could pass it."""
    server.batches.set(polls=None)
    policy = BatchPolicy(50_000, 0.05)

    def interrupted(_progress: Progress) -> None:
        if server.batches.stats().creates:
            raise KeyboardInterrupt

    def asking(limit: float, listener: ProgressListener) -> None:
        opened = session(server, tmp_path / "cache", limit)
        with opened, in_batches(opened, study_set(N), policy, listener):
            assert opened.budget.spent <= limit  # type: ignore[union-attr]

    with pytest.raises(KeyboardInterrupt):
        asking(0.05, ProgressListener(tick=interrupted))
    with Ledger(tmp_path / "cache") as ledger:
        (batch,) = ledger.batches()
    assert batch.n < N - 1, "the limit left some out"
    sent = server.batches.stats().uploads
    with pytest.raises(KeyboardInterrupt):
        asking(0.05, ProgressListener(tick=interrupted))
    assert server.batches.stats().uploads == sent
    server.batches.set(polls=2)
    opened = session(server, tmp_path / "cache", batch.most and batch.most / 2)
    with opened, in_batches(opened, study_set(batch.n + 1), policy, ProgressListener()):
        assert opened.budget.spent > 0  # type: ignore[union-attr]


def test_no_question_stays_in_the_ledger_when_its_run_is_there(
    server: FaultServer, tmp_path: Path
) -> None:
    server.batches.next(BatchPlan(ending="expired", share=0.4))
    policy = BatchPolicy(50_000, 0.05, directly=True)
    listener = ProgressListener()
    opened = session(server, tmp_path / "cache", None)
    asking = in_batches(opened, study_set(N), policy, listener)

    def run_that_is_interrupted() -> None:
        with opened, asking:
            judge_set(opened, study_set(N), lambda _end: None, listener)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_that_is_interrupted()
    opened = session(server, tmp_path / "cache", None)
    with opened, in_batches(opened, study_set(N), policy, listener):
        pass
    with closing(sqlite3.connect(tmp_path / "cache" / "batches" / "ledger.db")) as data:
        assert data.execute("SELECT COUNT(*) FROM question").fetchall() == [(0,)]
