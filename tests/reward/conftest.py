"""A server that answers rewards, and the libraries that ask for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faultserver import Behaviour, FaultServer
from support import EXAMPLES

from judge.reward import Reward

sys.path.append(str(EXAMPLES / "rewards"))


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(Behaviour()) as running:
        yield running


@pytest.fixture
def made(server: FaultServer, tmp_path: Path) -> Iterator[Callable[..., Reward]]:
    """Make rewards by the server's model, with one cache; they are closed at the end."""
    rewards = []

    def make(**options: Any) -> Reward:
        given = {
            "judge": "model-x",
            "base_url": server.url,
            "cache": tmp_path / "cache",
        }
        rewards.append(Reward(**(given | options)))
        return rewards[-1]

    yield make
    for reward in rewards:
        reward.close()
