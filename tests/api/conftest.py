"""A running server and what asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer
from running import Runner, Shell


@pytest.fixture
def server() -> Iterator[FaultServer]:
    """A server without a fault; tests change what it does."""
    with FaultServer(Behaviour()) as running:
        yield running


@pytest.fixture
def runner(server: FaultServer, tmp_path: Path) -> Runner:
    return Runner(server, tmp_path / "cache")


@pytest.fixture
def shell(server: FaultServer, tmp_path: Path) -> Callable[[int], Shell]:
    def made(n: int) -> Shell:
        ready = Shell(tmp_path, server.url)
        ready.write(n)
        return ready

    return made
