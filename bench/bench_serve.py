"""`judge serve`: how soon it is ready, and its pages over 10,000 studies.

Prints one line a measure beside its target. The clients are one process of their own.

    python bench/bench_serve.py [--studies 10000] [--loads 10000]
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench_run import repeated

ROOT = Path(__file__).parents[1]
WORDS = ("effusion", "pleural+effusion", "no+opacity+left", "cardiomegaly")


@contextmanager
def serving(work: Path, *arguments: str) -> Iterator[tuple[int, int, float]]:
    """A service in `work`: its port, its process id, the seconds until it answered."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "judge", "serve", "--port", str(port), *arguments]
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=work, stderr=subprocess.DEVNULL) as child:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                get(http.client.HTTPConnection("127.0.0.1", port), "/v1/judges")
                break
            except OSError:
                time.sleep(0.01)
        ready = time.perf_counter() - began
        try:
            yield port, child.pid, ready
        finally:
            child.send_signal(signal.SIGINT)


def get(connection: http.client.HTTPConnection, path: str) -> bytes:
    """The body of the answer, which must be a good one."""
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, (path, body)
    return body


def paths(n: int) -> Iterator[str]:
    """What readers' pages ask for: a run is opened, searched four times, ten studies are read."""
    chance = random.Random(7)
    while True:
        yield from (
            "/data/run/run/overview",
            "/data/run/run/index",
            "/v1/runs/run/reviews",
        )
        yield from (f"/v1/runs/run/search?q={words}" for words in WORDS)
        yield from (f"/v1/runs/run/study?row={chance.randrange(n)}" for _ in range(10))


def clients(
    n: int, each: Callable[[http.client.HTTPConnection, int], None], port: int
) -> float:
    """`n` clients at a time, each with its connection; returns the seconds they took."""

    def client(at: int) -> None:
        each(http.client.HTTPConnection("127.0.0.1", port, timeout=60), at)

    threads = [threading.Thread(target=client, args=(at,)) for at in range(n)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def timed_loads(port: int, studies: int, n_clients: int, loads: int) -> list[float]:
    """The seconds that each of `loads` pages took."""
    seconds: list[float] = []
    shared = itertools.islice(paths(studies), loads)
    lock = threading.Lock()

    def each(connection: http.client.HTTPConnection, _at: int) -> None:
        while True:
            with lock:
                path = next(shared, None)
            if path is None:
                return
            began = time.perf_counter()
            get(connection, path)
            seconds.append(time.perf_counter() - began)

    clients(n_clients, each, port)
    return seconds


def megabytes(pid: int) -> float:
    """The memory of a process that is in use."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def line(what: str, figure: str, target: str) -> None:
    print(f"{what:<46} {figure:>22}   target {target}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--studies", "--loads"):
        parser.add_argument(name, type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in ("refs.json", "preds.json"):
            source = json.loads((ROOT / "examples" / name).read_text("utf-8"))
            (work / name).write_text(
                json.dumps(repeated(source, options.studies)), "utf-8"
            )
        judging = [sys.executable, "-m", "judge", "green", "preds.json", "refs.json"]
        subprocess.run(
            [*judging, "--out", "run"],
            cwd=work,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        readies = []
        for _ in range(5):
            with serving(work, "run") as (_, _, ready):
                readies.append(ready)
        line("ready (median of 5)", f"{statistics.median(readies):.2f} s", "1.5 s")
        with serving(work, "run") as (port, pid, _):
            time.sleep(3)  # what it loads once it is ready
            opened = sum(timed_loads(port, options.studies, 1, 3))
            line("what a run's page opens with", f"{1000 * opened:.0f} ms", "none")
            timed_loads(port, options.studies, 1, 40)
            one = timed_loads(port, options.studies, 1, 400)
            line(
                "a request of a page, one client (median)",
                f"{1000 * statistics.median(one):.1f} ms",
                "50 ms",
            )
            many = timed_loads(port, options.studies, 20, 2_000)
            middle, late = statistics.median(many), statistics.quantiles(many, n=20)[-1]
            shown = f"{1000 * middle:.0f} / {1000 * late:.0f} ms"
            line("the same, 20 clients (median / 95th centile)", shown, "300 ms")
            before = megabytes(pid)
            timed_loads(port, options.studies, 4, options.loads)
            shown = f"{before:.0f} -> {megabytes(pid):.0f} MB"
            line(f"memory over {options.loads:,} requests", shown, "flat")


if __name__ == "__main__":
    main()
