"""What the cache of answers costs, beside plain diskcache with the same `Completion`s.

Requests are of the length of a judge's prompt (3,000 characters) with answers of 900. Both read
the same answers by keys that are known; the last line is the ratio of their CPU time, at most 2.

    python bench/bench_cache.py [--n 10000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import diskcache

from judge.cache import canonical, key_of
from judge.cache.answers import answer_to
from judge.cache.store import CompletionCache
from judge.types import Completion, CompletionRequest, Message, Usage

ANSWER = Completion(
    "a finding " * 90, "stop", "m-1", Usage(700, 200), "2026-01-01T00:00:00+00:00"
)


def request(at: int) -> CompletionRequest:
    """A question of the usual length."""
    turn = Message("user", f"study {at}: " + "the heart is not enlarged. " * 110)
    return CompletionRequest(
        "chat", "m", (turn,), {"temperature": 0, "max_tokens": 2048}
    )


def timed(name: str, n: int, work: Callable[[], object]) -> float:
    began, cpu = time.perf_counter(), time.process_time()
    work()
    wall, used = time.perf_counter() - began, time.process_time() - cpu
    print(f"{name:<28} {wall:>8.3f} {used:>8.3f} {1000 * wall / n:>10.4f}")
    return used


def drain(values: Iterable[object]) -> None:
    for _ in values:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    n: int = options.n
    records = [canonical(request(at)) for at in range(n)]
    print(f"{'':<28} {'wall s':>8} {'cpu s':>8} {'ms each':>10}")
    with tempfile.TemporaryDirectory(dir=options.folder) as work:
        path = Path(work) / "cache"
        timed("open, new", 1, lambda: CompletionCache(path).__exit__())
        timed("key", n, lambda: drain(map(key_of, records)))
        keys = [*map(key_of, records)]
        plain = diskcache.Cache(str(Path(work) / "plain"), eviction_policy="none")
        with plain.transact():
            for key in keys:
                plain[key] = ANSWER
        with CompletionCache(path) as cache:
            timed("get, absent", n, lambda: drain(map(cache.get, keys)))
            pairs = zip(keys, records, strict=True)
            answers = [answer_to(key, record, ANSWER) for key, record in pairs]
            timed("put", n, lambda: drain(map(cache.put, answers)))
            ours, theirs = [], []
            for _ in range(3):
                theirs.append(
                    timed(
                        "plain diskcache, get", n, lambda: drain(map(plain.get, keys))
                    )
                )
                ours.append(timed("get", n, lambda: drain(map(cache.get, keys))))
        timed("open, full", 1, lambda: CompletionCache(path).__exit__())
        with CompletionCache(path) as cache:
            timed("read all entries", n, lambda: drain(cache.iterate()))
        size = sum(file.stat().st_size for file in path.iterdir())
        print(f"{size / 2**20:.1f} MiB for {n:,} answers")
        print(f"get / plain get: {min(ours) / min(theirs):.2f}")


if __name__ == "__main__":
    main()
