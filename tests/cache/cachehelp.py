"""What the tests of the cache share; programs of their own process import it too."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

from judge.cache import canonical, key_of
from judge.cache.answers import KeptAnswer, answer_to
from judge.cache.store import CompletionCache
from judge.types import Completion, CompletionRequest, Message, Usage

DATABASE = "cache.db"
ANSWER = Completion("text", "stop", "m-1", Usage(10, 5, 2), "2026-01-01T00:00:00+00:00")


def request(text: str = "question", **change: object) -> CompletionRequest:
    parts: dict[str, object] = {
        "endpoint": "chat",
        "model": "m",
        "messages": (Message("system", "s"), Message("user", text)),
        "sampling": {"temperature": 0, "max_tokens": 9},
    }
    return CompletionRequest(**(parts | change))  # type: ignore[arg-type]


def put(
    cache: CompletionCache,
    asked: CompletionRequest,
    answer: Completion = ANSWER,
    attempt: int = 0,
) -> None:
    record = canonical(asked, attempt)
    cache.put(answer_to(key_of(record), record, answer))


def fill(path: Path, n: int = 20) -> None:
    with CompletionCache(path) as cache:
        for at in range(n):
            put(cache, request(f"question {at}"))


def database(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path / DATABASE, isolation_level=None)


def sound(path: Path) -> dict[str, Completion]:
    """The readable entries by key."""
    with CompletionCache(path, must_exist=True) as cache:
        return {
            found.key: found.completion
            for found in cache.iterate()
            if isinstance(found, KeptAnswer)
        }


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Run a program that may import this module."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        stdout=subprocess.PIPE,
        text=True,
    )
