"""The processes that work for the service: slow ones, killed ones, and those it leaves behind."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from served import PAIR, PATIENCE, Served, is_problem, until

from judge.service import ProblemError
from judge.service.annotations import Pair, PairWorkers
from judge.service.settings import MEGABYTE, ServiceSettings
from judge.service.worker import Worker, memory_limit
from judge.types import JudgeError

LONG = "effusion " * 40_000


def workers_of(service: Served, task: str) -> list[int]:
    """The service's processes of a kind."""
    children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children")
    found = []
    for pid in map(int, children.read_text().split()):
        with suppress(OSError):  # it may have ended meanwhile
            if f"{task}_worker".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def state_of(pid: int) -> str:
    """R where it computes, S where it waits, Z where it has ended and nobody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_a_pair_whose_process_breaks_says_so_and_the_next_gets_another(tmp_path: Path) -> None:
    with Served(tmp_path) as service, ThreadPoolExecutor(1) as pool:
        assert service.annotate().status_code == 200
        (old,) = workers_of(service, "pair")
        waiting = pool.submit(service.annotate, candidate=LONG)
        assert until(lambda: state_of(old) == "R")
        os.kill(old, signal.SIGKILL)
        assert "broke off (SIGKILL)" in is_problem(waiting.result(), 502)
        assert service.annotate().status_code == 200
        assert old not in workers_of(service, "pair")


def test_no_process_outlives_a_service_that_was_killed(tmp_path: Path) -> None:
    with Served(tmp_path) as service, ThreadPoolExecutor(1) as pool:
        name = service.start_run().json()["id"]
        service.until_state(name, "finished")
        query = {"run": name, "resamples": 10_000, "flips": 100_000}
        waiting = pool.submit(service.client.get, "/v1/comparison", params=query)
        started = [
            *until(lambda: workers_of(service, "comparison")),
            *until(lambda: workers_of(service, "pair")),
        ]
        service.kill()
        waiting.exception()
        assert len(started) == 2
        assert until(lambda: {state_of(pid) for pid in started} == {"Z"})


def request(**changes: str) -> dict[str, object]:
    return Pair.model_validate(PAIR | changes).model_dump()


def test_a_pair_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async def ask() -> None:
        workers = PairWorkers(ServiceSettings((tmp_path,), pair_seconds=0.01))
        await workers.start()
        first = workers._workers[0]
        for _ in range(2):
            with pytest.raises(ProblemError, match=r"took longer than 0\.01 seconds") as error:
                await workers.annotate(request(candidate=LONG))
            assert error.value.status == 504
            assert first.has_ended
        await workers.close()

    asyncio.run(ask())


def test_a_pair_that_needs_too_much_memory_is_refused_and_the_process_stays(
    tmp_path: Path,
) -> None:
    async def ask() -> None:
        settings = ServiceSettings((tmp_path,), max_memory=64 * MEGABYTE, pair_seconds=600)
        workers = PairWorkers(settings)
        with pytest.raises(ProblemError, match="--max-memory") as error:
            await workers.annotate(request(candidate=LONG))
        assert error.value.status == 413
        worker = workers._workers[0]
        assert not worker.has_ended
        again = request() | settings.for_worker("lexicon") | {"max_memory": 0}
        assert (await worker.ask(again))["record"]["outcome"] == "annotated"
        await workers.close()

    asyncio.run(ask())


def test_a_fault_of_the_process_ends_it_so_that_nobody_waits_for_ever() -> None:
    async def ask() -> None:
        worker = Worker("pair")
        with pytest.raises(ProblemError, match=r"broke off \(exit code 1\)"):
            await worker.ask({"no": "pair"})
        assert worker.has_ended
        await worker.close()

    asyncio.run(ask())


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        ImportError("x.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
        sqlite3.OperationalError("out of memory"),
        ExceptionGroup("two", [ValueError(), MemoryError()]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_want_of_memory_is_known_in_every_form(error: Exception) -> None:
    later = ValueError("it came from that")
    later.__cause__ = error
    with pytest.raises(ProblemError) as found, memory_limit(2**40):
        raise later
    assert found.value.status == 413
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(ValueError, match="another"), memory_limit(2**40):
        raise ValueError("another")
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_message_of_ours_that_quotes_such_words_is_no_want_of_memory() -> None:
    with pytest.raises(JudgeError, match="no field") as found, memory_limit(2**40):
        raise JudgeError("no field 'out of memory'")
    assert not isinstance(found.value, ProblemError)


def test_an_ended_worker_takes_no_request() -> None:
    async def ask() -> None:
        worker = Worker("pair")
        await worker.close()  # there is nothing to end
        await worker.start()
        await worker.close()
        await worker.close()
        assert worker.has_ended
        with pytest.raises(ProblemError, match="broke off"):
            await worker.ask({})

    asyncio.run(ask())


ONE_REPLY = """
from judge.service.worker import Channel

channel = Channel()
request = channel.receive()
with channel.replying(request) as reply:
    reply["length"] = len(request["text"])
"""


def test_a_worker_ends_in_peace_while_its_service_may_still_ask() -> None:
    asked = [{"id": 1, "text": LONG}, {"id": 2, "text": ""}]  # the first fills a pipe
    command, pipe = [sys.executable, "-c", ONE_REPLY], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in asked))
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"id": 1, "length": len(LONG)}
        status = process.wait(PATIENCE)  # its standard input is open still
        assert (status, process.stderr.read()) == (0, b"")


def test_a_worker_that_can_read_no_more_ends() -> None:
    # Its input stays open: nothing but its own end tells who asked.
    command = [sys.executable, "-m", "judge.service.pair_worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdin
        worker.stdin.write(b"no request\n")
        worker.stdin.flush()
        assert worker.wait(60) == 0
