"""A running server and what asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faultserver import Behaviour, FaultServer
from running import Runner, Shell

from judge import rubrics
from judge.rubrics import Rubric

# What these try is the road that a request takes, whatever it asks.
ROADS = {"test_forecast", "test_give_up", "test_limits", "test_repeats", "test_shell"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try a rubric whose answers are text and one whose reply is JSON; of roads, one."""
    named = metafunc.definition.iter_markers("parametrize")
    is_said = any("rubric" in str(mark.args[0]) for mark in named)
    here = metafunc.definition.path.parent == Path(__file__).parent
    if here and "rubric" in metafunc.fixturenames and not is_said:
        is_road = metafunc.definition.path.stem in ROADS
        names = ["green"] if is_road else ["green", "fineradscore"]
        metafunc.parametrize("rubric", names, indirect=True)


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
