"""A running server and what asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer
from running import Runner, Shell

from judge import rubrics
from judge.rubrics import Rubric


@pytest.fixture
def rubric(request: pytest.FixtureRequest) -> Rubric:
    """GREEN, or the one that a test names: the road of a request is the same for all."""
    return rubrics.load(getattr(request, "param", "green"))


@pytest.fixture
def server(rubric: Rubric) -> Iterator[FaultServer]:
    """A server without a fault, which answers by the rubric; tests change what it does."""
    with FaultServer(Behaviour(), rubric=rubric.name) as running:
        running.batches.polls = 2
        yield running


@pytest.fixture
def runner(server: FaultServer, rubric: Rubric, tmp_path: Path) -> Runner:
    return Runner(server, rubric, tmp_path / "cache")


@pytest.fixture
def shell(
    server: FaultServer, rubric: Rubric, tmp_path: Path
) -> Callable[[int], Shell]:
    def made(n: int) -> Shell:
        ready = Shell(tmp_path, server.url, rubric.name)
        ready.write(n)
        return ready

    return made
