"""`POST /v1/annotations` of `judge serve`: many clients at a judge that takes 200 ms.

Each client has a connection of its own and asks about one study at a time, a new one each time,
`--pause` seconds after the one before. Prints the latencies of the judge itself, asked by the same
clients in the same way, those of the service, and their ratio at the 99th centile; then how many
questions the judge got twice, and how many had no score. Judge, service and clients are a process
each.

    python bench/bench_ask.py [--clients 200] [--rounds 5] [--pause 8]
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "service")]

from faultserver import Behaviour, FaultServer  # noqa: E402
from served import Served  # noqa: E402

MODEL = "model-x"
LATENCY = 0.2
TARGET = 1.5


@dataclass(frozen=True)
class Latencies:
    """The seconds that each question took, sorted, and those of all of them."""

    seconds: list[float]
    wall: float
    n_unscored: int

    def centile(self, share: float) -> float:
        """Return a quantile in milliseconds."""
        place = min(len(self.seconds) - 1, int(share * len(self.seconds)))
        return 1000 * self.seconds[place]

    def line(self, name: str) -> str:
        """Return them as a line."""
        rate = len(self.seconds) / self.wall
        median, late = self.centile(0.5), self.centile(0.99)
        return f"{name:<12}{rate:>8.1f} /s{median:>8.0f} ms median{late:>8.0f} ms p99"


def judge_process(pipe: Connection) -> None:
    """Be the judge; says its address, then, when asked, how often it was asked what."""
    with FaultServer(Behaviour(latency=LATENCY)) as model:
        pipe.send(model.url)
        while pipe.recv():
            pipe.send(dict(model.stats().by_study))


def asked_of_judge(key: str) -> dict[str, Any]:
    """Return what a client asks the judge itself."""
    message = {"role": "user", "content": f"{key}. The lungs are clear."}
    return {"model": MODEL, "messages": [message], "max_tokens": 1000}


def asked_of_service(key: str) -> dict[str, Any]:
    """Return what a client asks the service."""
    reference = f"{key}. The lungs are clear."
    return {"judge": MODEL, "reference": reference, "candidate": "Small effusion."}


async def drive(
    url: str, question: Callable[[str], dict[str, Any]], first: int, how: Any
) -> Latencies:
    """Let all clients ask, from the study with the number `first` on."""
    seconds: list[float] = []
    n_unscored = 0

    async def client(session: aiohttp.ClientSession, number: int) -> None:
        nonlocal n_unscored
        await asyncio.sleep(how.pause * number / how.clients)
        for at in range(how.rounds):
            key = f"study-{first + number * how.rounds + at:06}"
            began = time.perf_counter()
            async with session.post(url, json=question(key)) as reply:
                answer = await reply.json()
            took = time.perf_counter() - began
            seconds.append(took)
            for study in answer.get("annotations", ()):
                n_unscored += study["outcome"] != "scored"
            await asyncio.sleep(max(0.0, how.pause - took))

    began = time.perf_counter()
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        clients = [client(session, number) for number in range(how.clients)]
        await asyncio.gather(*clients)
    wall = time.perf_counter() - began
    return Latencies(sorted(seconds), wall, n_unscored)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pause", type=float, default=8.0)
    how = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    context.Process(target=judge_process, args=(other,), daemon=True).start()
    url = pipe.recv()
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        allowed = ("--offer", f"{MODEL}={url}")
        with Served(Path(folder), *allowed) as service:
            path = f"{service.url}/v1/annotations"
            once = argparse.Namespace(clients=1, rounds=1, pause=0.0)
            asyncio.run(drive(path, asked_of_service, 0, once))  # loads the judge
            plain = asyncio.run(
                drive(f"{url}/chat/completions", asked_of_judge, 100_000, how)
            )
            print(plain.line("the judge"), flush=True)
            served = asyncio.run(drive(path, asked_of_service, 200_000, how))
            print(served.line("the service"), flush=True)
    ratio = served.centile(0.99) / plain.centile(0.99)
    print(f"p99, times the judge's own {ratio:>8.2f}   target {TARGET}")
    pipe.send(True)
    asked = [n for key, n in pipe.recv().items() if key >= "study-200000"]
    pipe.send(False)
    n_questions = how.clients * how.rounds
    print(f"lost {n_questions - len(asked) + served.n_unscored}, target 0")
    print(f"asked twice {sum(asked) - len(asked)}, target 0")


if __name__ == "__main__":
    main()
