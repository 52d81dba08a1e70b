"""Judging over an API beside the plain client, and from the cache beside plain diskcache.

Judgements at 200 ms a request and 64 at a time, `judge green` shell to shell and the same requests
by openai's own client, in turn, the least of the rounds; then as many studies answered wholly from
the cache, and the same entries read by diskcache alone. Targets: 1.15 times the plain client at
2,000 and 1.08 times at 10,000; 10,000 from the cache in twice what reading them takes.

    python bench/bench_api.py [--n 2000 10000] [--latency 0.2] [--concurrency 64]
                              [--rounds 3] [--cached 10000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from faultserver import Behaviour, FaultServer

PLAIN = """
import asyncio, json, sys
import openai
from judge.prompts import load

async def main(url, n, concurrency, aio):
    prompt = load("green")
    http = openai.DefaultAioHttpClient() if aio else None
    client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=http)
    places = asyncio.Semaphore(concurrency)
    async def one(at):
        turns = prompt.messages(f"study-{at:05}. The lungs are clear.", "Small left effusion.")
        async with places:
            return await client.chat.completions.create(
                model="model-x", temperature=0, max_tokens=2048,
                messages=[{"role": turn.role, "content": turn.content} for turn in turns])
    answers = await asyncio.gather(*(one(at) for at in range(n)))
    assert len(answers) == n

asyncio.run(main(*json.loads(sys.argv[1])))
"""
READ = """
import json, sys
import diskcache
from judge.cache.store import AnswerDisk

cache = diskcache.Cache(sys.argv[1], disk=AnswerDisk, size_limit=2**62, eviction_policy="none")
assert all(json.loads(cache.get(key))["completion"]["text"] for key in cache)
"""


class Used(NamedTuple):
    """What a command and its children took: wall and CPU seconds, and at most how many MB."""

    wall: float
    cpu: float
    peak: float


def measured(command: list[str], folder: Path) -> Used:
    began = time.perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=folder, **quiet) as child:
        _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(command)[:200]}")
    wall = time.perf_counter() - began
    return Used(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def write(folder: Path, n: int) -> None:
    ids = [f"study-{at:05}" for at in range(n)]
    refs = {key: f"{key}. The lungs are clear." for key in ids}
    preds = dict.fromkeys(ids, "Small left effusion.")
    (folder / "refs.json").write_text(json.dumps(refs), "utf-8")
    (folder / "preds.json").write_text(json.dumps(preds), "utf-8")


def judging(url: str, concurrency: int, cache: str) -> list[str]:
    judge = [sys.executable, "-m", "judge", "green", "preds.json", "refs.json"]
    judge += [
        "--judge",
        "model-x",
        "--base-url",
        url,
        "--cache",
        cache,
        "--reply",
        "text",
    ]
    return [*judge, "--concurrency", str(concurrency)]


def table(title: str, taken: dict[str, list[Used]], n: int) -> None:
    """Print the least of the rounds, with wall time as multiples of the first."""
    print(f"{title}\n{'':<30} {'wall s':>8} {'times':>6} {'CPU ms each':>12} {'MB':>6}")
    first = min(used.wall for used in next(iter(taken.values())))
    for name, rounds in taken.items():
        wall, cpu, peak = (min(figures) for figures in zip(*rounds, strict=True))
        each = 1000 * cpu / n
        print(
            f"{name:<30} {wall:>8.2f} {wall / first:>6.2f} {each:>12.2f} {peak:>6.0f}"
        )


def over_the_api(n: int, options: argparse.Namespace) -> None:
    with (
        tempfile.TemporaryDirectory() as work,
        FaultServer(Behaviour(latency=options.latency)) as server,
    ):
        write(Path(work), n)
        taken: dict[str, list[Used]] = {}
        for at in range(options.rounds):
            tools = {
                name: [
                    sys.executable,
                    "-c",
                    PLAIN,
                    json.dumps([server.url, n, at_once, aio]),
                ]
                for name, aio in (
                    ("AsyncOpenAI, aiohttp", True),
                    ("AsyncOpenAI", False),
                )
                for at_once in (options.concurrency,)
            }
            tools["judge green"] = judging(
                server.url, options.concurrency, f"cache-{at}"
            )
            for name, tool in tools.items():
                taken.setdefault(name, []).append(measured(tool, Path(work)))
    ideal = n * options.latency / options.concurrency
    table(
        f"{n:,} judgements, ideal {ideal:.2f} s, the least of {options.rounds}",
        taken,
        n,
    )


def from_cache(n: int, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as work, FaultServer(Behaviour()) as server:
        write(Path(work), n)
        judge = judging(server.url, options.concurrency, "cache")
        measured(judge, Path(work))
        tools = {
            "diskcache": [sys.executable, "-c", READ, "cache"],
            "judge green": judge,
        }
        taken: dict[str, list[Used]] = {}
        for _ in range(options.rounds):
            for name, tool in tools.items():
                taken.setdefault(name, []).append(measured(tool, Path(work)))
    table(f"{n:,} studies from the cache, the least of {options.rounds}", taken, n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="*", default=[2_000, 10_000])
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cached", type=int, nargs="*", default=[10_000])
    options = parser.parse_args()
    for n in options.n:
        over_the_api(n, options)
    for n in options.cached:
        from_cache(n, options)


if __name__ == "__main__":
    main()
