"""A running server and what asks it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer
from running import Runner, Shell
from support import REPLIES

from judge import rubrics
from judge.rubrics import Rubric

# Here the answers are read, each rubric's in its own way; what the others try is the road that a
# request takes, whatever it asks.
ANSWERS = {"test_faults", "test_reply"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try a road with one rubric; what speaks of `rubric` itself with one of each reply."""
    named = metafunc.definition.iter_markers("parametrize")
    is_said = any("rubric" in str(mark.args[0]) for mark in named)
    here = metafunc.definition.path.parent == Path(__file__).parent
    if here and "rubric" in metafunc.fixturenames and not is_said:
        speaks = "rubric" in inspect.signature(metafunc.function).parameters
        reads = speaks and metafunc.definition.path.stem in ANSWERS
        metafunc.parametrize("rubric", REPLIES if reads else REPLIES[:1], indirect=True)


@pytest.fixture
def rubric(request: pytest.FixtureRequest) -> Rubric:
    return rubrics.load(request.param)


@pytest.fixture
def server(rubric: Rubric) -> Iterator[FaultServer]:
    """A server without a fault, which answers by the rubric; tests change what it does."""
    with FaultServer(Behaviour(), rubric=rubric.name) as running:
        yield running


@pytest.fixture
def runner(server: FaultServer, rubric: Rubric, tmp_path: Path) -> Runner:
    return Runner(server, rubric, tmp_path / "cache")


@pytest.fixture
def shell(server: FaultServer, rubric: Rubric, tmp_path: Path) -> Callable[[int], Shell]:
    def made(n: int) -> Shell:
        ready = Shell(tmp_path, server.url, rubric.name)
        ready.write(n)
        return ready

    return made
