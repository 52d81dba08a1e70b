"""What the completion cache costs: opening, `put`, `get`, and the size on disk.

Requests are of the length of a judge's prompt (3,000 characters) with answers of 900.
Targets: 10,000 `get`s in less than 1 s, `put` about 0.2 ms.

    python bench/bench_cache.py [--n 10000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from judge.cache import CompletionCache, key
from judge.cache.contents import Contents
from judge.types import Completion, CompletionRequest, Message, Usage

ANSWER = Completion("a finding " * 90, "stop", "m-1", Usage(700, 200), "2026-01-01T00:00:00+00:00")


def request(at: int) -> CompletionRequest:
    """A question of the usual length."""
    turn = Message("user", f"study {at}: " + "the heart is not enlarged. " * 110)
    return CompletionRequest("chat", "m", (turn,), {"temperature": 0, "max_tokens": 2048})


def timed(name: str, n: int, work: Callable[[], object]) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    work()
    wall, used = time.perf_counter() - began, time.process_time() - cpu
    print(f"{name:<28} {wall:>8.3f} {used:>8.3f} {1000 * wall / n:>10.4f}")


def drain(values: Iterable[object]) -> None:
    for _ in values:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    requests = [request(at) for at in range(options.n)]
    print(f"{'':<28} {'wall s':>8} {'cpu s':>8} {'ms each':>10}")
    with tempfile.TemporaryDirectory(dir=options.folder) as work:
        path = Path(work) / "cache"
        timed("open, new", 1, lambda: CompletionCache(path).__exit__(None, None, None))
        timed("key", options.n, lambda: drain(key(r) for r in requests))
        with CompletionCache(path) as cache:
            timed("get, absent", options.n, lambda: drain(cache.get(r) for r in requests))
            timed("put", options.n, lambda: drain(cache.put(r, ANSWER) for r in requests))
            timed("get", options.n, lambda: drain(cache.get(r) for r in requests))
        timed("open, full", 1, lambda: CompletionCache(path).__exit__(None, None, None))
        timed("verify", options.n, lambda: drain(Contents(path)))
        print(f"{Contents(path).size / 2**20:.1f} MiB for {options.n:,} answers")


if __name__ == "__main__":
    main()
