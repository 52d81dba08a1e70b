"""A Ray cluster for the tests of this folder, and studies to judge on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The helpers of the tests that start a vLLM.
sys.path.append(str(Path(__file__).parents[1] / "vllm"))

from children import wait_for
from nodes import Nodes, write_studies


@pytest.fixture(scope="session")
def session_nodes() -> Iterator[Nodes]:
    nodes = Nodes()
    yield nodes
    nodes.end()


@pytest.fixture
def nodes(session_nodes: Nodes) -> Iterator[Nodes]:
    """The cluster; nothing of a test may be left on it."""
    yield session_nodes
    wait_for(lambda: not session_nodes.left(), 60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with studies and as much of a model as has to be known before it is served."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    write_studies(tmp_path)
    return tmp_path
