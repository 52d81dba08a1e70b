"""A run in batches that is killed at each thing that a server does for it, and started again.

Whatever the moment: no question is asked twice, and no answer is lost.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from faultserver import Behaviour, Fault, FaultServer, first
from faultserver.anthropic_batches import AnthropicBatches
from faultserver.batches import Batches
from faultserver.google_batches import GoogleBatches
from running import Shell, keys

pytest.importorskip("anthropic")
pytest.importorskip("google.genai")

N = 4
BATCH = ("--batch", "--batch-poll", "0.05", "--out", "run", "--format", "json")
KINDS: dict[str, tuple[type[Batches], str]] = {
    "openai": (Batches, "model-x"),
    "anthropic": (AnthropicBatches, "anthropic:claude-haiku-5-5"),
    "google": (GoogleBatches, "google:gemini-3.5-flash-lite"),
    "google-file": (GoogleBatches, "google:gemini-3.5-flash-lite"),
}
# What a server is asked to do, in this order.
EVENTS = {
    "openai": (
        "upload_file",
        "create_batch",
        "get_batch",
        "get_content",
        "delete_file",
    ),
    "anthropic": ("create_batch", "get_batch", "get_results", "delete_batch"),
    "google": ("create_batch", "get_batch", "delete_batch"),
    "google-file": (
        *("start_upload", "upload_file", "create_batch", "get_batch", "get_content"),
        *("delete_file", "delete_batch"),
    ),
}


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(kind: str) -> Iterator[FaultServer]:
    with FaultServer(Behaviour(), batches=KINDS[kind][0]) as running:
        running.batches.polls = 1
        yield running


@pytest.fixture
def ready(
    kind: str, server: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Shell:
    url = server.url if kind == "openai" else server.address
    made = Shell(tmp_path, url, "green", KINDS[kind][1])
    made.write(N)
    made.patches["judge.batching.batch_run._LEAST_PAUSE"] = 0.1
    if kind == "google-file":
        made.patches["judge.batching.google.MOST_INLINE"] = 0
    for name, value in made.patches.items():
        monkeypatch.setattr(name, value)
    return made


def kill_at(ready: Shell, server: FaultServer, event: str, *, is_done: bool) -> None:
    """Start the run, and kill its process when it waits for the reply to its first `event`."""
    server.batches.meet(event, first(Fault.STALL), after=is_done)
    before = server.batches.stats().requests[event]
    process = ready.fork(*BATCH)
    try:
        until = time.monotonic() + 60
        while server.batches.stats().requests[event] == before:
            assert time.monotonic() < until, f"{event} never came"
            assert process.is_alive(), f"the run ended before {event}"
            time.sleep(0.01)
    finally:
        process.kill()
        process.join()


def assert_whole(ready: Shell, server: FaultServer) -> None:
    """The same command ends with all answers, each of them bought once."""
    code, out, err = ready.run(*BATCH)
    assert code == 0, err
    assert json.loads(out)["n_scored"] == N
    stats = server.batches.stats()
    assert (stats.creates, set(stats.created.values())) == (1, {1}), (
        "nothing is asked twice"
    )
    assert set(stats.answered.values()) == {1}
    assert sorted(stats.studies.values()) == keys(N)
    left = {
        one.name.partition("-")[0]
        for one in (ready.folder / "cache" / "batches").iterdir()
    }
    assert left <= {"ledger.db", "making.lock"}, "reports are left on disk"


# The moments at which something could be lost or bought twice; the others take their time in CI.
DECISIVE = ("create_batch", "get_content", "get_results")


def moments() -> list[object]:
    found: list[object] = []
    for kind, events in EVENTS.items():
        for event in events:
            marks = () if event in DECISIVE else (pytest.mark.ci,)
            found += [
                pytest.param(kind, event, done, marks=marks) for done in (False, True)
            ]
    return found


@pytest.mark.parametrize(("kind", "event", "is_done"), moments(), indirect=["kind"])
def test_killed_at(
    ready: Shell, server: FaultServer, event: str, *, is_done: bool
) -> None:
    kill_at(ready, server, event, is_done=is_done)
    assert_whole(ready, server)


@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_killed_again_while_the_batch_is_sought(
    ready: Shell, server: FaultServer
) -> None:
    kill_at(ready, server, "create_batch", is_done=True)
    kill_at(ready, server, "list_batches", is_done=True)
    assert_whole(ready, server)


# Anthropic's batches have no name of ours


def anthropic(server: FaultServer) -> AnthropicBatches:
    assert isinstance(server.batches, AnthropicBatches)
    return server.batches


only_anthropic = pytest.mark.parametrize("kind", ["anthropic"], indirect=True)


@only_anthropic
def test_killed_while_a_batch_is_told_from_others(
    ready: Shell, server: FaultServer
) -> None:
    kill_at(ready, server, "create_batch", is_done=True)
    kill_at(ready, server, "get_results", is_done=True)
    assert_whole(ready, server)


@only_anthropic
@pytest.mark.parametrize(
    "ahead", [timedelta(), timedelta(minutes=40), timedelta(minutes=-40)]
)
def test_a_batch_is_told_from_those_of_others(
    ready: Shell, server: FaultServer, ahead: timedelta
) -> None:
    """They are left alone. A server's clock may go wrong, and a list may have many pages."""
    batches = anthropic(server)
    batches.page, batches.ahead = 1, ahead
    theirs = [batches.plant(N), batches.plant(N, ending="ended"), batches.plant(N + 1)]
    kill_at(ready, server, "create_batch", is_done=True)
    theirs.append(batches.plant(N, ending="ended"))
    before = {name: batches.states()[name] for name in theirs}
    assert_whole(ready, server)
    assert batches.states() == before, (
        "those of others are neither cancelled nor deleted"
    )
    assert not batches.stats().requests["cancel_batch"]


@only_anthropic
def test_nothing_is_asked_again_while_a_batch_may_be_ours(
    ready: Shell, server: FaultServer
) -> None:
    batches = anthropic(server)
    theirs = batches.plant(N)
    kill_at(ready, server, "create_batch", is_done=False)
    seen: list[int] = []

    def end() -> None:
        while batches.stats().requests["list_batches"] < 3:
            time.sleep(0.01)
        seen.append(batches.stats().creates)
        batches.end_planted(theirs)

    ending = threading.Thread(target=end)
    ending.start()
    code, _, err = ready.run(*BATCH)
    ending.join()
    assert code == 0, err
    assert seen == [0], (
        "asked again before it was known that the running batch is another's"
    )
    assert "which is known when it ends" in err
    assert batches.stats().creates == 1


@only_anthropic
def test_a_batch_of_another_size_is_not_waited_for(
    ready: Shell, server: FaultServer
) -> None:
    theirs = anthropic(server).plant(N + 1)
    kill_at(ready, server, "create_batch", is_done=False)
    assert_whole(ready, server)
    assert anthropic(server).states()[theirs] == "in_progress"


@only_anthropic
def test_batches_of_other_commands_are_not_taken_for_it(
    ready: Shell, server: FaultServer
) -> None:
    """Two commands with as many questions: each finds its own."""
    kill_at(ready, server, "get_batch", is_done=True)
    ready.write(2 * N)
    code, _, err = ready.run(*BATCH[:-3], "more", "--limit", str(2 * N))
    assert code == 0, err
    stats = server.batches.stats()
    assert (stats.creates, set(stats.created.values())) == (2, {1})
