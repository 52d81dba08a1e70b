"""A Ray cluster for the tests of this folder, and a stand-in for `vllm` on its nodes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The helpers of the tests that start a vLLM.
sys.path.append(str(Path(__file__).parents[1] / "vllm"))

from nodes import Nodes, write_standin, write_studies


@pytest.fixture(scope="session")
def session_nodes() -> Iterator[Nodes]:
    nodes = Nodes()
    yield nodes
    nodes.end()


@pytest.fixture
def nodes(session_nodes: Nodes) -> Iterator[Nodes]:
    """The cluster; nothing of a test may be left on it."""
    yield session_nodes
    assert not session_nodes.servers()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with studies and as much of a model as has to be known before it is served."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    write_studies(tmp_path)
    return tmp_path


@pytest.fixture
def standin(tmp_path: Path) -> Path:
    """A stand-in for `vllm` that takes its time and writes down what it has answered.

    It answers nothing while there is a file `waits` in the folder.
    """
    return write_standin(
        tmp_path,
        STANDIN_DELAY="0.1",
        STANDIN_TALLY=str(tmp_path / "tally"),
        STANDIN_WAITS=str(tmp_path / "waits"),
    )
