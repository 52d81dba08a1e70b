"""Clients that stall, send without end or come in crowds."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from served import Served, is_problem, until

from judge.service.guard import Folding

# The bounds of a service, smaller than they are, so that nobody has to wait for them.
PROGRAM = """
import sys
from pathlib import Path
from judge.cli.output import note
from judge.service import server
from judge.service.settings import ServiceSettings
bounds = dict(head_seconds=0.5, max_connections=20)
server.serve(ServiceSettings(runs=(Path("judge-runs"),), cache=Path("cache"), token="t", **bounds),
              "127.0.0.1", 0, note)
"""


class Bounded(Served):
    program = (sys.executable, "-c", PROGRAM)


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Bounded(tmp_path_factory.mktemp("bounded")) as running:
        yield running


def connect(service: Served) -> socket.socket:
    url = httpx.URL(service.url)
    return socket.create_connection((url.host, url.port), timeout=60)


def answer(connection: socket.socket) -> bytes:
    """All that the service says until it closes the connection."""
    parts = []
    try:
        while part := connection.recv(2**16):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def ask(service: Served) -> httpx.Response:
    headers = {"authorization": "Bearer t"}
    return httpx.get(f"{service.url}/v1/rubrics", headers=headers, timeout=60)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nhost: x\r\nx-a: "])
def test_a_head_that_does_not_come_is_not_waited_for(bounded: Served, sent: bytes) -> None:
    with connect(bounded) as connection:
        connection.sendall(sent)
        said = answer(connection)
    assert said.startswith(b"HTTP/1.1 408") if sent else said == b""
    assert ask(bounded).status_code == 200


def test_the_second_head_on_a_connection_is_not_waited_for_either(bounded: Served) -> None:
    whole = b"GET /v1/rubrics HTTP/1.1\r\nhost: x\r\nauthorization: Bearer t\r\n\r\n"
    with connect(bounded) as connection:
        connection.sendall(whole)
        assert connection.recv(2**16).startswith(b"HTTP/1.1 200")
        connection.sendall(whole[:20])
        assert b"HTTP/1.1 408" in answer(connection)


@pytest.mark.parametrize("line", [b"x-a: " + b"a" * 1000 + b"\r\n", b"a" * 1000])
def test_a_head_without_end_is_refused(bounded: Served, line: bytes) -> None:
    sent = 0
    with connect(bounded) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n" + (b"" if b":" in line else b"x-b: "))
        try:
            while sent < 2**26:
                connection.sendall(line)
                sent += len(line)
        except ConnectionError:
            pass
    assert sent < 2**23  # what the system's own buffers take
    assert ask(bounded).status_code == 200


def test_a_head_that_is_too_large_is_told_so(bounded: Served) -> None:
    with connect(bounded) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nx-a: " + b"a" * 70_000)
        said = answer(connection)
    assert said.startswith(b"HTTP/1.1 431")
    assert b"application/problem+json" in said


def test_a_body_that_stops_coming_is_not_waited_for(bounded: Served) -> None:
    head = (
        b"POST /v1/annotations HTTP/1.1\r\nhost: x\r\nauthorization: Bearer %s\r\n"
        b"content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"
    )
    with connect(bounded) as connection:
        connection.sendall(head % b"t")
        assert answer(connection) == b""
    with connect(bounded) as connection:  # without the token it is answered first
        connection.sendall(head % b"wrong")
        assert answer(connection).startswith(b"HTTP/1.1 401")


def test_a_crowd_that_asks_nothing_keeps_nobody_out_and_fills_no_log(bounded: Served) -> None:
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connect(bounded)).sendall(b"GET / HTTP/1.1\r\nhost: x\r\n")
        assert ask(bounded).status_code == 200
    for _ in range(300):
        with connect(bounded) as connection:
            connection.sendall(b"no HTTP at all\r\n\r\n")
            answer(connection)
    assert ask(bounded).status_code == 200
    assert len(bounded.said) < 5_000


def test_readers_that_are_busy_are_not_sent_away_for_others(bounded: Served) -> None:
    """A reader whose request is under way stays; who comes when all are such is told so."""
    head = (
        b"POST /v1/annotations HTTP/1.1\r\nhost: x\r\nauthorization: Bearer t\r\n"
        b"content-type: application/json\r\ncontent-length: 400000\r\n\r\n{"
    )

    def refused() -> str | None:
        answered = ask(bounded)
        return is_problem(answered, 503) if answered.status_code == 503 else None

    with ExitStack() as stack:
        for _ in range(25):
            stack.enter_context(connect(bounded)).sendall(head)
        assert "too many connections" in str(until(refused, patience=2.0))
    assert until(lambda: ask(bounded).status_code == 200)


def test_a_crowd_at_a_service_as_it_is(tmp_path: Path) -> None:
    """With its own bounds: 1,100 half-open requests stopped it and filled the log."""
    with Served(tmp_path) as service, ExitStack() as stack:
        for _ in range(1100):
            stack.enter_context(connect(service)).sendall(b"GET / HT")
        assert httpx.get(f"{service.url}/v1/rubrics", timeout=60).status_code == 200
        assert len(service.said) < 5_000


def test_what_is_logged_again_is_folded() -> None:
    folding = Folding()

    def logged(at: float, text: str) -> str | None:
        record = logging.LogRecord("x", logging.WARNING, "", 0, text, (), None)
        record.created = at
        return record.getMessage() if folding.filter(record) else None

    assert logged(0, "one") == "one"
    assert [logged(at, "one") for at in range(1, 50)] == [None] * 49
    assert logged(10, "two") == "two"
    assert logged(61, "one") == "one (49 more of these before)"
    assert logged(125, "one") == "one"
