"""A server and a judge for the small rubric of `toy`, in place of every rubric's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import toy
from faultserver import Behaviour, FaultServer

from judge.rubrics import Rubric


@pytest.fixture
def rubric() -> Rubric:
    return toy.TOY


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour(), render=toy.render, annotate=toy.annotate) as running:
        yield running
