"""Judging over an API, beside the plain client and two other tools, against one server.

Judgements at 200 ms a request and 64 at a time. Prints wall time as a multiple of the ideal
(N x latency / concurrency) and of raw aiohttp, and CPU milliseconds a judgement, each tool in
a process of its own, all tools in turn and the least of the rounds; then 10,000 and 100,000
studies answered wholly from the cache, shell to shell. Targets: 1.2x the wall of raw aiohttp
at 2,000, 1.08x and 0.9 ms at 10,000; 10,000 from the cache in 4 s, 100,000 in 600 MB.

    python bench/bench_api.py [--n 2000 10000] [--latency 0.2] [--concurrency 64]
                                    [--rounds 3] [--cached 10000 100000]

RadEval's LLM path and curator are left out where no environment is named for them:
--radeval PYTHON (this project, `pip install --no-deps radeval` and openai are enough),
--curator PYTHON (`pip install bespokelabs-curator`).
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

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from faultserver import Behaviour, FaultServer  # noqa: E402

RAW = """
import asyncio, json, sys
import aiohttp
from judge.prompts import load

async def main(url, n, concurrency):
    prompt = load("green")
    places = asyncio.Semaphore(concurrency)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        async def one(at):
            turns = prompt.messages(f"study-{at:05}. The lungs are clear.", "Small left effusion.")
            body = {"model": "model-x", "temperature": 0, "max_tokens": 2048,
                    "messages": [{"role": turn.role, "content": turn.content} for turn in turns]}
            async with places, session.post(f"{url}/chat/completions", json=body) as response:
                return (await response.json())["choices"][0]["message"]["content"]
        answers = await asyncio.gather(*(one(at) for at in range(n)))
    assert len(answers) == n

url, n, concurrency, _ = json.loads(sys.argv[1])
asyncio.run(main(url, n, concurrency))
"""

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

url, n, concurrency, aio = json.loads(sys.argv[1])
asyncio.run(main(url, n, concurrency, aio))
"""

# Its package imports a zoo of models and fetches data; the two modules of its LLM path do not.
RADEVAL = """
import importlib.util, json, os, sys, types
url, n, concurrency, _ = json.loads(sys.argv[1])
os.environ["OPENAI_API_KEY"] = "none"
os.environ["OPENAI_BASE_URL"] = url
root = importlib.util.find_spec("radeval").submodule_search_locations[0]
for name, path in (("radeval", root), ("radeval.metrics", f"{root}/metrics")):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [path]
from radeval.metrics._llm_base import LLMMetricBase
from judge.prompts import load

class Ask(LLMMetricBase):
    SUPPORTED_PROVIDERS = {"openai"}
    def _build_request(self, ref, hyp, **_):
        turns = self.prompt.messages(ref, hyp)
        return {"messages": [{"role": turn.role, "content": turn.content} for turn in turns]}
    def _parse_response(self, raw): return {"raw": raw}
    def _aggregate(self, results, refs, hyps): return results

Ask.prompt = load("green")
ask = Ask("openai", "model-x", max_concurrent=concurrency)
refs = [f"study-{at:05}. The lungs are clear." for at in range(n)]
assert len(ask(refs, ["Small left effusion."] * n)) == n
"""

CURATOR = """
import json, os, sys
url, n, concurrency, _ = json.loads(sys.argv[1])
os.environ["OPENAI_API_KEY"] = "none"
os.environ["CURATOR_VIEWER"] = "0"
from bespokelabs import curator

class Ask(curator.LLM):
    def prompt(self, row): return row["text"]
    def parse(self, row, answer): return {"answer": answer}

asker = Ask(model_name="openai/model-x", backend="litellm", backend_params={
    "base_url": url, "max_concurrent_requests": concurrency,
    "max_requests_per_minute": 10**7, "max_tokens_per_minute": 10**10})
rows = [{"text": f"study-{at:05}. The lungs are clear. Small left effusion."} for at in range(n)]
done = asker(rows)
"""


class Used(NamedTuple):
    """What a command and its children took: wall and CPU seconds, and at most how many MB."""

    wall: float
    cpu: float
    peak: float


def measured(command: list[str], folder: Path, **environ: str) -> Used:
    began = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environ},
    ) as child:
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


def compare(n: int, options: argparse.Namespace) -> None:
    """Measure every tool on n studies against one server, and print a table."""
    ideal = n * options.latency / options.concurrency
    with (
        tempfile.TemporaryDirectory() as work,
        FaultServer(Behaviour(latency=options.latency)) as server,
    ):
        folder = Path(work)
        write(folder, n)
        arguments = [json.dumps([server.url, n, options.concurrency, aio]) for aio in (False, True)]
        tools = {
            "raw aiohttp": [sys.executable, "-c", RAW, arguments[0]],
            "plain async client": [sys.executable, "-c", PLAIN, arguments[0]],
            "plain async client, aiohttp": [sys.executable, "-c", PLAIN, arguments[1]],
        }
        if options.radeval:
            tools["RadEval's LLM path"] = [options.radeval, "-c", RADEVAL, arguments[0]]
        if options.curator:
            tools["curator"] = [options.curator, "-c", CURATOR, arguments[0]]
        taken: dict[str, list[Used]] = {}
        for at in range(options.rounds):
            judge = command(server.url, options.concurrency, f"cache-{at}")
            again = {"judge green, all in": judge, "judge green, from its cache": judge}
            for name, tool in {**tools, **again}.items():
                curators = str(folder / f"curator-{at}")
                taken.setdefault(name, []).append(
                    measured(tool, folder, CURATOR_CACHE_DIR=curators)
                )
        print(f"{n:,} judgements, ideal {ideal:.2f} s, the least of {options.rounds}")
        print(f"{'':<30} {'wall s':>8} {'x ideal':>8} {'x raw':>8} {'CPU ms a judgement':>20}")
        raw = min(used.wall for used in taken["raw aiohttp"])
        for name, rounds in taken.items():
            wall, cpu = min(used.wall for used in rounds), min(used.cpu for used in rounds)
            figures = f"{wall:>8.2f} {wall / ideal:>8.2f} {wall / raw:>8.2f}"
            print(f"{name:<30} {figures} {1000 * cpu / n:>20.2f}", flush=True)


def from_cache(n: int, options: argparse.Namespace) -> None:
    """Measure a run whose answers are all kept already, and print a line."""
    with tempfile.TemporaryDirectory() as work, FaultServer(Behaviour()) as server:
        write(Path(work), n)
        judge = command(server.url, options.concurrency, "cache")
        asked = measured(judge, Path(work))
        rounds = [measured(judge, Path(work)) for _ in range(options.rounds)]
        wall, cpu, peak = (min(figures) for figures in zip(*rounds, strict=True))
        print(
            f"{n:,} studies from the cache, shell to shell: {wall:.2f} s, CPU {cpu:.2f} s "
            f"({1000 * cpu / n:.2f} ms each), {peak:.0f} MB; asked without latency before: "
            f"CPU {asked.cpu:.1f} s ({1000 * asked.cpu / n:.2f} ms each), {asked.peak:.0f} MB",
            flush=True,
        )


def command(url: str, concurrency: int, cache: str) -> list[str]:
    """Return the command line of a run with a cache of its own."""
    judge = [sys.executable, "-m", "judge", "green", "preds.json", "refs.json"]
    judge += ["--judge", "model-x", "--base-url", url, "--cache", cache]
    return [*judge, "--concurrency", str(concurrency)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="*", default=[2_000, 10_000])
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cached", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--radeval", metavar="PYTHON", help="of an environment with radeval")
    parser.add_argument("--curator", metavar="PYTHON", help="of one with bespokelabs-curator")
    options = parser.parse_args()
    for n in options.n:
        compare(n, options)
    for n in options.cached:
        from_cache(n, options)


if __name__ == "__main__":
    main()
