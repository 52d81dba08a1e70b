"""Many who ask at a time, clients that leave, hostile ones, and the service's end."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from faultserver import Behaviour, FaultServer
from served import Served, until
from starlette.types import Message
from test_service_annotations import PATH, about, answer
from test_service_budget import MODEL, PRICED, left

from judge.service import app
from judge.service.settings import ServiceSettings


@pytest.fixture
def model() -> Iterator[FaultServer]:
    with FaultServer(Behaviour(latency=0.2)) as running:
        yield running


def asking(folder: Path, model: FaultServer, *more: object) -> Served:
    arguments = ("--offer", f"{MODEL}={model.url}", "--budget", 100, *more)
    return Served(folder, *arguments, environ={"PYTHONPATH": PRICED})


def post(service: Served, key: str) -> dict[str, Any]:
    """Ask about a study on a connection of one's own."""
    body = {"judge": MODEL, **about(key)}
    got = httpx.post(service.url + PATH, json=body, timeout=60)
    assert got.status_code == 200, got.text
    (one,) = got.json()["annotations"]
    assert one["id"] == key
    found: dict[str, Any] = one | {"cost": got.json()["cost"]}
    return found


@pytest.mark.ci
def test_what_many_ask_at_once_beside_a_run_is_paid_once_and_nothing_is_lost(
    tmp_path: Path, model: FaultServer
) -> None:
    keys = [f"study-{at:04}" for at in range(12)]  # as `start_run` makes them
    with asking(tmp_path, model) as service, ThreadPoolExecutor(48) as pool:
        run = service.start_run(len(keys), judge=MODEL, section="report").json()["id"]
        found = list(pool.map(lambda at: post(service, keys[at % 12]), range(96)))
        assert service.until_state(run, "finished", "failed")["n_scored"] == len(keys)
        stats = model.stats()
        assert stats.by_study == dict.fromkeys(keys, 1)
        spent = 100 - left(service)
    assert {one["outcome"] for one in found} == {"scored"}
    for one in found:
        right = model.annotation(one["id"])
        texts = [item["text"] for item in one["annotation"]["items"]]
        assert texts == [item.text for item in right.items]
    # What the run has not paid for, one of the clients has, once.
    paid = sum(one["cost"]["dollars"] for one in found)
    n_paid = sum(one["cost"]["asked"] for one in found)
    assert paid <= spent + 1e-9
    assert n_paid <= len(keys)
    assert paid == pytest.approx(spent * n_paid / len(keys), rel=0.5, abs=1e-9)


@pytest.mark.ci
def test_a_client_that_leaves_is_asked_for_no_more_and_what_is_paid_is_kept(
    tmp_path: Path, model: FaultServer
) -> None:
    keys = [f"study-{at:04}" for at in range(40)]
    body = {"judge": MODEL, "studies": [about(key) for key in keys]}
    with asking(tmp_path, model, "--concurrency", 4) as service:
        content = json.dumps(body).encode()
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n"
        url = httpx.URL(service.url)
        with socket.create_connection((url.host, url.port)) as client:
            head += "Content-Type: application/json\r\n\r\n"
            client.sendall(head.encode() + content)
            model.wait_for(lambda stats: stats.answered >= 4, 30)
        model.wait_for(lambda stats: stats.in_flight == 0, 30)
        # Those that were sent are answered, and there is no next one.
        sent = model.stats()
        assert sent.requests < len(keys)
        assert sent.in_flight_max <= 4
        found = answer(service, **body)
        assert {one["outcome"] for one in found["annotations"]} == {"scored"}
        assert model.stats().by_study == dict.fromkeys(keys, 1)
        assert found["cost"]["from_cache"] >= sent.answered


HOSTILE = (
    b"[" * 3_000_000,
    b'{"a":' * 500_000,
    b"[]," * 1_000_000,
    b'{"reference": NaN}',
    b'{"reference": "' + b"x" * 3_000_000 + b'", "candidate": ""}',
    b'{"studies": [' + b",".join([b'{"reference": 1}'] * 100_000) + b"]}",
    b"\x00" * 1000,
)


@pytest.mark.ci
def test_a_hostile_client_harms_no_other(tmp_path: Path, model: FaultServer) -> None:
    with asking(tmp_path, model) as service, ExitStack() as stack:
        url = httpx.URL(service.url)
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

        def connect() -> socket.socket:
            return socket.create_connection((url.host, url.port), timeout=60)

        for _ in range(40):  # a body that never comes
            slow = stack.enter_context(connect())
            slow.sendall(f'{head}Content-Length: 1000\r\n\r\n{{"reference": "'.encode())
        for content in HOSTILE:  # answered or hung up on, as it comes
            with connect() as rude:
                rude.sendall(
                    f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content
                )
        pool = stack.enter_context(ThreadPoolExecutor(20))
        keys = [f"study-{at:04}" for at in range(20)]
        honest = pool.map(lambda key: post(service, key), keys)
        for content in HOSTILE:
            refused = httpx.post(
                service.url + PATH,
                content=content,
                headers={"Content-Type": "application/json"},
                timeout=60,
            )
            assert refused.status_code == 422
            assert len(refused.content) < 2_000
        assert {one["outcome"] for one in honest} == {"scored"}
        assert model.stats().by_study == dict.fromkeys(keys, 1)
        assert "Traceback" not in service.said


def test_a_body_that_drips_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_BODY_SECONDS", 0.05)
    sent: list[Message] = []

    async def receive() -> Message:
        if not sent_first:
            sent_first.append(True)
            return {"type": "http.request", "body": b"{", "more_body": True}
        await asyncio.sleep(60)
        raise AssertionError("it was waited for")

    async def send(message: Message) -> None:
        sent.append(message)

    sent_first: list[bool] = []
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "server": ("localhost", 80),
        "client": ("localhost", 1),
    }
    asyncio.run(app.application(ServiceSettings((tmp_path,)))(scope, receive, send))
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]


@pytest.mark.ci
def test_the_end_of_the_service_lets_the_answers_under_way_come(
    tmp_path: Path, model: FaultServer
) -> None:
    model.set_faults(latency=1.0)
    with asking(tmp_path, model) as service, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(post, service, "study-0001")
        model.wait_for(lambda stats: stats.in_flight == 1, 30)
        service.process.send_signal(signal.SIGTERM)
        assert asked.result()["outcome"] == "scored"
        service.process.wait(60)
        assert "Traceback" not in service.said


@pytest.mark.ci
def test_an_answer_that_comes_while_the_service_ends_is_kept(
    tmp_path: Path, model: FaultServer
) -> None:
    model.set_faults(latency=5.0)
    body = {"judge": MODEL, **about("study-0001")}
    with asking(tmp_path, model) as service:
        got: list[httpx.Response] = []
        url = service.url + PATH
        asking_on = threading.Thread(
            target=lambda: got.append(httpx.post(url, json=body, timeout=60))
        )
        asking_on.start()
        model.wait_for(lambda stats: stats.in_flight == 1, 30)
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(60)
        asking_on.join()
        assert got[0].status_code == 503
        assert "Traceback" not in service.said
        service.start()
        assert post(service, "study-0001")["cost"]["asked"] == 0
        assert until(lambda: model.stats().by_study["study-0001"] == 1)
