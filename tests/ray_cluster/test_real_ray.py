"""`--judge ray:MODEL` with a real Ray cluster and a real vLLM on each of its two nodes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tinymodel
from children import gone, sessions, wait_for
from nodes import QUESTIONS, Nodes, Run, cached, records, write_studies
from serving import ENVIRON, PROMPT, flags

pytestmark = pytest.mark.vllm

IN_FLIGHT = 8
ANSWERED = '"POST /v1/completions HTTP/1.1" 200'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Studies, a prompt and a model that has learnt nothing and writes to the last token."""
    write_studies(tmp_path)
    (tmp_path / "tiny.yaml").write_text(PROMPT, "utf-8")
    tinymodel.make_model(tmp_path / "model", chat_template=tinymodel.CHAT)
    return tmp_path


def judge(folder: Path, *options: str) -> Run:
    line = ["--prompt", "tiny.yaml", "--max-tokens", "48", *flags()]
    line += ["--concurrency", str(IN_FLIGHT), *options]
    return Run(folder, folder / "model", *line, **ENVIRON)


def answers(nodes: Nodes) -> int:
    return sum(text.count(ANSWERED) for text in nodes.logs().values())


@contextmanager
def halted(nodes: Nodes) -> Iterator[None]:
    """Let the vLLM that is ready take requests and answer none."""
    logs = nodes.logs().items()
    ready = {int(path.stem.rpartition("-")[2]) for path, text in logs if "complete" in text}
    stopped = [pid for actor, below in nodes.replicas().items() if actor in ready for pid in below]
    assert stopped
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


def test_two_replicas_share_and_survive_and_a_killed_driver_leaves_none(
    nodes: Nodes, folder: Path
) -> None:
    base = answers(nodes)
    with judge(folder, "--ray-address", nodes.address) as run:
        run.wait_for(20, lambda: cached(folder), 240)
        assert run.process is not None
        there = set().union(*nodes.servers())
        assert [pid for pid in there if "EngineCore" in sessions()[pid][2]]
        run.process.kill()
        assert gone(there), "no vLLM outlives the driver"
        assert wait_for(lambda: not nodes.replicas(), 20)
    known, asked = cached(folder), answers(nodes) - base
    assert known < QUESTIONS, "the run was cut short"
    assert asked - known <= IN_FLIGHT, "what was answered is in the cache, but for those under way"

    with judge(folder, "--ray-address", nodes.address, "--ray-replicas", "2") as run:
        run.wait_for(1, lambda: "1 of 2 replicas ready" in run.err(), 400)
        with halted(nodes):  # or it might answer all before the other is there
            run.wait_for(1, lambda: "2 of 2 replicas ready" in run.err(), 400)
        run.wait_for(known + 10, lambda: cached(folder))
        lost = max(nodes.servers(), key=len)
        for pid in lost:
            os.kill(pid, signal.SIGKILL)
        assert run.end() == 0, run.err()
    assert run.err().count("is lost") == 1, run.err()
    assert gone(lost)
    assert set(records(folder).values()) == {"unparsed"}
    assert len(records(folder)) == cached(folder) == QUESTIONS
    # The dead vLLM may have answered what it could no longer send.
    assert 0 <= answers(nodes) - base - asked - (QUESTIONS - known) <= IN_FLIGHT

    # The same files, flags and engine: to `vllm:` they are the same answers.
    own = judge(folder)
    at = own.line.index("--gpus-per-replica")
    own.line[at : at + 2] = ["--judge", f"vllm:{folder / 'model'}"]
    own.line.remove("--judge"), own.line.remove(f"ray:{folder / 'model'}")
    own.line[own.line.index("run")] = "as-vllm"
    with own:
        assert own.end() == 0, own.err()
    assert f"asked 0, from cache {QUESTIONS}" in own.err()
