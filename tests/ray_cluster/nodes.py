"""A Ray cluster in a process of its own, runs against it, and what they leave behind."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import children
from support import write_json

from judge.cache.store import CompletionCache

TWO_NODES = Path(__file__).with_name("two_nodes.py")
STANDIN = Path(__file__).parents[1] / "vllm" / "standin.py"
QUESTIONS = 200


class Nodes:
    """A cluster of two nodes with one CPU each, so that each has room for one replica."""

    def __init__(self) -> None:
        environ = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
        self.process = subprocess.Popen(
            [sys.executable, str(TWO_NODES), "1", "1"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def end(self) -> None:
        self.process.communicate(timeout=60)

    def replicas(self) -> dict[int, set[int]]:
        """The actors' processes, each with all that it has started, in the order of their age."""
        here = children.sessions()
        mine = children.descendants(self.process.pid)
        actors = sorted(pid for pid in mine if here[pid][2].startswith("ray::Replica"))
        return {pid: children.descendants(pid) for pid in actors}

    def servers(self) -> list[set[int]]:
        """What each replica's vLLM consists of, its guard apart; of those that have one."""
        here = children.sessions()
        found = []
        for below in self.replicas().values():
            guards = {pid for pid in below if pid in here and "vllm-guard" in here[pid][2]}
            if guards and below - guards:
                found.append(below - guards)
        return found


class Run:
    """`judge green` with `ray:MODEL` over the studies of its folder."""

    def __init__(self, folder: Path, model: Path, *options: str, **environ: str) -> None:
        self.folder = folder
        self.line = [sys.executable, "-m", "judge", "green", "preds.json", "refs.json"]
        self.line += ["--judge", f"ray:{model}", "--cache", "cache", "--out", "run"]
        self.line += ["--server", "gpus-per-replica=0", "--reask", "0", "--give-up-after", "0"]
        self.line += ["--min-coverage", "0", *options]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "RAY_"))}
        self.environ = {**kept, **environ}
        self.process: subprocess.Popen[bytes] | None = None
        self.said = folder / "said.txt"

    def __enter__(self) -> Run:
        with self.said.open("w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                self.line,
                cwd=self.folder,
                env=self.environ,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,  # a Ctrl-C reaches it and what it starts, not the tests
            )
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def err(self) -> str:
        return self.said.read_text("utf-8", "replace")

    def end(self, seconds: float = 240) -> int:
        """Wait for the run's end; returns its exit status."""
        assert self.process is not None
        return self.process.wait(seconds)

    def wait_for(self, count: int, tally: Callable[[], int], seconds: float = 120) -> None:
        """Wait until so many questions are answered; fails where the run ends before."""
        assert self.process is not None

        def reached() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, self.err()
            return tally() >= count

        children.wait_for(reached, seconds)


def write_studies(folder: Path, count: int = QUESTIONS) -> None:
    """Write studies that differ in one word, which marks the question."""
    for name in ("refs", "preds"):
        texts = {f"s{at}": f"Nodule number {at}q in the left lung." for at in range(count)}
        write_json(folder / f"{name}.json", texts)


def records(folder: Path) -> dict[str, str]:
    """Each study's outcome in the run."""
    lines = (folder / "run" / "annotations.jsonl").read_text("utf-8").splitlines()
    found = [(record["study_id"], record["outcome"]) for record in map(json.loads, lines)]
    assert len(dict(found)) == len(found), "one outcome a study"
    return dict(found)


def cached(folder: Path) -> int:
    """How many answers the cache has."""
    with CompletionCache(folder / "cache") as cache:
        return len(cache)


def write_standin(folder: Path, **environ: str) -> Path:
    """Write an executable that stands in for `vllm` and has its orders in its environment."""
    script = folder / "vllm"
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environ.items())
    code = f'#!/bin/sh\n{exports}exec {shlex.quote(sys.executable)} {STANDIN} "$@"\n'
    script.write_text(code, "utf-8")
    script.chmod(0o700)
    return script
