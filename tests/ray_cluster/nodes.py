"""A Ray cluster in a process of its own, runs against it, and what they leave behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import children
from support import write_json

from judge.cache.store import CompletionCache

TWO_NODES = Path(__file__).with_name("two_nodes.py")
STANDIN = Path(__file__).with_name("standin_app.py")
QUESTIONS = 200


class Nodes:
    """A cluster of two nodes with one CPU each, so that each has room for one replica."""

    def __init__(self) -> None:
        environ = {
            **os.environ,
            "RAY_USAGE_STATS_ENABLED": "0",
            # Ray's workers are nice to others: beside work that fills the cores, a replica
            # would have next to nothing of them and would not be there in time.
            "RAY_worker_niceness": "0",
        }
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

    def actors(self, begin: str) -> set[int]:
        """The processes of the cluster's actors whose names begin so."""
        here = children.sessions()
        mine = children.descendants(self.process.pid)
        return {
            pid
            for pid in mine
            if pid in here and here[pid][2].startswith(f"ray::{begin}")
        }

    def replicas(self) -> set[int]:
        """The processes of replicas of judge's applications, whatever they serve."""
        return self.actors("ServeReplica:judge-")

    def left(self) -> set[int]:
        """What a run might leave on the cluster."""
        names = (
            "ServeReplica:judge-",
            "ServeController",
            "ProxyActor",
            "Steward",
            "Pulse",
        )
        return set().union(*map(self.actors, names))


class Run:
    """`judge green` with `ray:MODEL` over the studies of its folder."""

    def __init__(
        self, program: list[str], folder: Path, *options: str, **environ: str
    ) -> None:
        self.folder = folder
        self.line = [sys.executable, *program, "green", "preds.json", "refs.json"]
        self.line += [
            "--judge",
            f"ray:{folder / 'model'}",
            "--cache",
            "cache",
            "--out",
            "run",
        ]
        self.line += [
            "--reask",
            "0",
            "--give-up-after",
            "0",
            "--min-coverage",
            "0",
            *options,
        ]
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("OPENAI", "RAY_"))
        }
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

    def wait_for(self, reached: Callable[[], object], seconds: float = 240) -> None:
        """Wait until something is so; fails where the run ends before."""
        assert self.process is not None

        def is_reached() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, self.err()
            return bool(reached())

        children.wait_for(is_reached, seconds)


def write_studies(folder: Path, count: int = QUESTIONS) -> None:
    """Write studies that differ in one word, which marks the question."""
    for name in ("refs", "preds"):
        texts = {
            f"s{at}": f"Nodule number {at}q in the left lung." for at in range(count)
        }
        write_json(folder / f"{name}.json", texts)


def records(folder: Path) -> dict[str, str]:
    """Each study's outcome in the run."""
    lines = (folder / "run" / "annotations.jsonl").read_text("utf-8").splitlines()
    found = [
        (record["study_id"], record["outcome"]) for record in map(json.loads, lines)
    ]
    assert len(dict(found)) == len(found), "one outcome a study"
    return dict(found)


def cached(folder: Path) -> int:
    """How many answers the cache has."""
    with CompletionCache(folder / "cache") as cache:
        return len(cache)
