"""Batches that end otherwise, answers that come otherwise, requests that meet a fault."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import openai
import pytest
from batch_asking import ALL, KEYS, api, as_new, body, create, ended, ids, lines, now, upload
from fault_asking import IMPATIENT, PATIENT, plain
from faultserver import (
    ENDPOINTS,
    Batching,
    BatchPlan,
    Behaviour,
    Fault,
    FaultServer,
    Outage,
    always,
    first,
)


@pytest.fixture(scope="module")
def running():
    with FaultServer(render=plain) as server:
        yield server


@pytest.fixture
def server(running: FaultServer):
    return as_new(running)


def codes(errors: list) -> Counter:
    return Counter(line["error"]["code"] for line in errors if line["error"])


# How batches end


def test_expired_with_a_share_answered(server: FaultServer) -> None:
    server.batches.next(BatchPlan(ending="expired", share=0.4))
    batch = create(server)
    server.batches.advance(86_000)
    assert now(server, batch).status == "in_progress"
    assert now(server, batch).request_counts.completed == 8
    server.batches.advance(400)
    batch, output, errors = ended(server, batch)
    assert (batch.status, batch.expired_at) == ("expired", batch.created_at + 86400)
    assert (len(output), codes(errors)) == (8, {"batch_expired": 12})
    assert all(line["response"] is None for line in errors)
    assert sorted(ids(output) + ids(errors)) == ALL
    assert sorted(server.batches.stats().answered) == sorted(ids(output))


def test_expired_with_nothing_answered_has_no_output(server: FaultServer) -> None:
    server.batches.next(BatchPlan(ending="expired", share=0))
    batch, output, errors = ended(server, create(server))
    assert (batch.output_file_id, output, len(errors)) == (None, [], 20)


def test_cancelled_by_the_client(server: FaultServer) -> None:
    batch = create(server)
    server.batches.advance(60 + 1800)
    with api(server) as asked:
        assert asked.batches.cancel(batch.id).status == "cancelling"
        assert asked.batches.cancel(batch.id).status == "cancelling", "twice is once"
        batch, output, errors = ended(server, batch)
        assert (batch.status, batch.cancelling_at) == ("cancelled", batch.created_at + 1860)
        assert (len(output), codes(errors)) == (10, {"batch_cancelled": 10})
        with pytest.raises(openai.ConflictError, match="cancelled"):
            asked.batches.cancel(batch.id)


@pytest.mark.parametrize("how", ["plan", "handle"])
def test_cancelled_by_somebody_else(server: FaultServer, how: str) -> None:
    if how == "plan":
        server.batches.next(BatchPlan(ending="cancelled", share=0.5))
        batch = create(server)
    else:
        batch = create(server)
        server.batches.advance(1860)
        server.batches.cancel(batch.id)
    batch, output, errors = ended(server, batch)
    assert (batch.status, len(output), len(errors)) == ("cancelled", 10, 10)


def test_one_that_stays_in_progress(server: FaultServer) -> None:
    server.batches.next(BatchPlan(ending="stays", share=0.5))
    batch = create(server)
    server.batches.finish()
    server.batches.advance(999_999)
    batch = now(server, batch)
    assert (batch.status, batch.request_counts.completed) == ("in_progress", 10)
    with api(server) as asked:
        asked.batches.cancel(batch.id)
    assert ended(server, batch)[0].status == "cancelled"


# What the files have


def test_lines_with_errors_by_number(server: FaultServer) -> None:
    server.batches.next(BatchPlan(faults={Fault.TOO_LONG: 2, Fault.RATE_LIMIT: 3}, timeouts=4))
    batch, output, errors = ended(server, create(server))
    answered = [line["response"]["status_code"] for line in errors if line["response"]]
    assert Counter(answered) == {400: 2, 429: 3}
    assert codes(errors) == {"request_timeout": 4}
    assert (batch.request_counts.failed, len(output)) == (9, 11)
    assert sorted(server.batches.stats().failed) == sorted(ids(errors))


def test_lost_lines(server: FaultServer) -> None:
    server.batches.next(BatchPlan(lost=3))
    batch, output, errors = ended(server, create(server))
    assert (batch.status, batch.request_counts.total, errors) == ("completed", 20, [])
    lost = server.batches.all()[0]["lost"]
    assert len(lost) == 3
    assert sorted(ids(output) + lost) == ALL


def test_lines_twice_and_lines_that_nobody_asked(server: FaultServer) -> None:
    server.batches.next(BatchPlan(twice=2, unknown=1))
    _, output, _ = ended(server, create(server))
    found = Counter(ids(output))
    assert sorted(Counter(found.values()).items()) == [(1, 19), (2, 2)]
    assert [name for name in found if name not in ALL] == [set(found).difference(ALL).pop()]
    assert set(server.batches.stats().answered.values()) == {1}


def test_an_output_file_that_ends_in_a_line(server: FaultServer) -> None:
    server.batches.next(BatchPlan(cut=True))
    batch = create(server)
    server.batches.finish()
    with api(server) as asked:
        *whole, last = asked.files.content(now(server, batch).output_file_id).text.split("\n")
    (lost,) = server.batches.all()[0]["lost"]
    assert len(whole) == 19
    assert lost in last
    assert not last.endswith("}")
    # A line of which there is another is cut, and not lost.
    server.batches.next(BatchPlan(cut=True, twice=1))
    create(server, KEYS[:1])
    server.batches.finish()
    assert server.batches.all()[1]["lost"] == []


# Lists


def test_lists_have_pages_the_newest_first(server: FaultServer) -> None:
    made = [create(server, KEYS[:1], metadata={"n": str(n)}).id for n in range(5)]
    with api(server) as asked:
        page = asked.batches.list(limit=2)
        assert ([batch.id for batch in page.data], page.has_more) == (made[:2:-1], True)
        assert [batch.id for batch in page] == made[::-1]
        assert asked.batches.list(after=made[1]).data[0].metadata == {"n": "0"}
        with pytest.raises(openai.BadRequestError):
            asked.batches.list(limit=101)
        with pytest.raises(openai.NotFoundError):
            asked.batches.retrieve("batch_none")


def test_a_list_lags_behind(server: FaultServer) -> None:
    server.batches.next(BatchPlan(hidden_lists=2), BatchPlan(listed_after=600))
    made = [create(server, KEYS[:1]) for _ in range(2)]
    seen = []
    with api(server) as asked:
        for seconds in (0, 0, 0, 599, 1):
            server.batches.advance(seconds)
            seen.append(len(asked.batches.list().data))
        assert seen == [0, 0, 1, 1, 2]
        assert asked.batches.retrieve(made[0].id).id == made[0].id
    assert len(server.batches.all()) == 2


# A clock of its own


def test_a_batch_ends_at_its_last_poll(server: FaultServer) -> None:
    server.batches.set(polls=4)
    batch = create(server)
    states = [now(server, batch) for _ in range(5)]
    assert [each.status for each in states] == ["in_progress"] * 3 + ["completed"] * 2
    done = [each.request_counts.completed for each in states]
    assert done == sorted(done)
    assert 0 < done[0] < done[1] < 20
    create(server, KEYS[:1])
    with api(server) as asked:
        states = [asked.batches.list().data[0].status for _ in range(4)]
    assert states[-1] == "completed"


@pytest.mark.parametrize(("ending", "status"), [("expired", "expired"), ("failed", "failed")])
def test_other_ends_come_by_polls_too(server: FaultServer, ending: str, status: str) -> None:
    server.batches.set(polls=2, plan=BatchPlan(ending=ending))
    batch = create(server)
    assert now(server, batch).status in ("validating", "in_progress")
    assert now(server, batch).status == status


def test_a_batch_ends_after_real_seconds(server: FaultServer) -> None:
    server.batches.set(seconds=1.0)
    batch, start = create(server), time.monotonic()
    while now(server, batch).status != "completed":
        assert time.monotonic() - start < 10
        time.sleep(0.05)
    assert time.monotonic() - start > 0.9


# Requests


def test_creations_that_are_not_taken(server: FaultServer) -> None:
    with api(server) as asked:
        name = upload(server, b"{}").id
        good = {"input_file_id": name, "endpoint": "/v1/chat/completions"}
        for wrong in (
            {"completion_window": "1h"},
            {"endpoint": "/v1/nothing"},
            {"input_file_id": "file-none"},
            {"metadata": {"k": "v" * 513}},
            {"metadata": {str(n): "v" for n in range(17)}},
        ):
            with pytest.raises(openai.BadRequestError):
                asked.batches.create(**{"completion_window": "24h", **good, **wrong})
    assert server.batches.stats().creates == 0


def patience(fault: Fault) -> float:
    return IMPATIENT if fault in (Fault.STALL, Fault.STALL_BODY) else PATIENT


CALLS = {
    "upload_file": lambda asked, _: asked.files.create(file=("a.jsonl", b"{}"), purpose="batch"),
    "list_files": lambda asked, _: asked.files.list(),
    "get_file": lambda asked, batch: asked.files.retrieve(batch.input_file_id),
    "get_content": lambda asked, batch: asked.files.content(batch.input_file_id).text,
    "create_batch": lambda asked, batch: asked.batches.create(
        input_file_id=batch.input_file_id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
    ),
    "list_batches": lambda asked, _: asked.batches.list(),
    "get_batch": lambda asked, batch: asked.batches.retrieve(batch.id),
    "cancel_batch": lambda asked, batch: asked.batches.cancel(batch.id),
    "delete_file": lambda asked, batch: asked.files.delete(batch.input_file_id),
}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_every_endpoint_can_go_wrong(server: FaultServer, endpoint: str) -> None:
    batch = create(server)
    faults = (Fault.RATE_LIMIT, Fault.SERVER_ERROR, Fault.UNAVAILABLE, Fault.STALL, Fault.DROP)
    wrong = []
    server.batches.meet(endpoint, first(*faults))
    with api(server) as asked:
        for fault in faults:
            with pytest.raises(openai.APIError) as caught:
                CALLS[endpoint](asked.with_options(timeout=patience(fault)), batch)
            wrong.append(getattr(caught.value, "status_code", type(caught.value)))
        assert wrong == [429, 500, 503, openai.APITimeoutError, openai.APIConnectionError]
    stats = server.batches.stats()
    assert (stats.uploads, stats.creates) == (1, 1)
    assert server.batches.all()[0]["status"] == "validating"
    with api(server) as asked:
        assert CALLS[endpoint](asked, batch), "the sixth is right"


@pytest.mark.parametrize("fault", [Fault.DROP, Fault.STALL, Fault.SERVER_ERROR, Fault.RESET])
def test_created_without_a_reply(server: FaultServer, fault: Fault) -> None:
    name = create(server, KEYS[:3]).input_file_id
    server.batches.meet("create_batch", first(fault), after=True)
    with api(server) as asked:
        with pytest.raises(openai.APIError):
            asked.with_options(timeout=patience(fault)).batches.create(
                input_file_id=name,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={"intent": "7"},
            )
        assert [batch.metadata for batch in asked.batches.list()] == [{"intent": "7"}, None]
    assert server.batches.stats().creates == 2


@pytest.mark.parametrize("fault", [Fault.CUT_BODY, Fault.STALL_BODY, Fault.RESET])
def test_a_download_that_breaks_off(server: FaultServer, fault: Fault) -> None:
    batch, output, _ = ended(server, create(server))
    server.batches.meet("get_content", first(fault), after=True)
    with api(server, timeout=patience(fault)) as asked, pytest.raises(openai.APIConnectionError):
        asked.files.content(batch.output_file_id)
    assert lines(server, batch.output_file_id) == output


def test_keys_and_outages(server: FaultServer) -> None:
    server.set_faults(api_keys=("the key",))
    with api(server) as asked, pytest.raises(openai.AuthenticationError):
        asked.batches.list()
    with pytest.raises(openai.AuthenticationError):
        upload(server, b"{}")
    assert upload(server, b"{}", api_key="the key").id
    server.set_faults(api_keys=None, outage=Outage())
    with api(server) as asked, pytest.raises(openai.InternalServerError):
        asked.batches.list()


# Counts


def test_what_is_paid_once_and_what_twice(server: FaultServer) -> None:
    server.set_faults(studies={KEYS[0]: first(Fault.RATE_LIMIT)})
    with api(server) as asked:
        asked.chat.completions.create(**body(KEYS[1]))
        ended(server, create(server, KEYS[:4]))
        asked.chat.completions.create(**body(KEYS[0]))
        asked.chat.completions.create(**{**body(KEYS[2]), "seed": 5})
    ended(server, create(server, KEYS[3:5]))
    stats = server.batches.stats()
    assert stats.created == {ALL[0]: 1, ALL[1]: 1, ALL[2]: 1, ALL[3]: 2, ALL[4]: 1}
    assert stats.failed == {ALL[0]: 1}
    assert stats.direct == {ALL[0]: 1, ALL[1]: 1}, "another seed is another request"
    assert stats.paid == {ALL[0]: 1, ALL[1]: 2, ALL[2]: 1, ALL[3]: 2, ALL[4]: 1}
    assert stats.studies[ALL[3]] == KEYS[3]
    assert (stats.uploads, stats.creates, stats.requests["create_batch"]) == (2, 2, 2)
    server.reset()
    assert server.batches.stats().paid == {}
    assert len(server.batches.all()) == 2


def test_it_outlives_clients_that_are_killed(server: FaultServer) -> None:
    program = (
        "import socket, sys\n"
        "sent = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "head = 'POST /v1/files HTTP/1.1\\r\\nContent-Type: multipart/form-data; boundary=x'\n"
        "sent.sendall((head + '\\r\\nContent-Length: 9999999\\r\\n\\r\\n--x').encode())\n"
        "print('half', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(server.port)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as killed:
        assert killed.stdout
        assert killed.stdout.readline() == b"half\n"
        os.kill(killed.pid, signal.SIGKILL)
    batch, output, _ = ended(server, create(server))
    assert (batch.status, len(output)) == ("completed", 20)
    assert server.batches.stats().uploads == 1


def test_the_same_in_a_thread_and_by_its_first_settings() -> None:
    settings = Batching(
        polls=1, plan=BatchPlan(lost=1), endpoints={"get_batch": always(Fault.DROP)}
    )
    with FaultServer(Behaviour(), render=plain, mode="thread", batching=settings) as server:
        create(server)
        with api(server) as asked:
            (batch,) = asked.batches.list()
            assert batch.status == "completed"
            with pytest.raises(openai.APIConnectionError):
                asked.batches.retrieve(batch.id)
        assert len(lines(server, batch.output_file_id)) == 19


@pytest.mark.parametrize(
    "make",
    [
        lambda: BatchPlan(ending="nonsense"),
        lambda: BatchPlan(failure="nonsense"),
        lambda: BatchPlan(share=1.1),
        lambda: Batching(endpoints={"nonsense": first()}),
        lambda: Batching(endpoints={"get_batch": first(Fault.MALFORMED)}),
        lambda: Batching(polls=0),
    ],
)
def test_what_cannot_be_is_refused(make) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - several different texts
        make()
