"""Judging over an API, beside the plain client and two other tools, against one server.

2,000 judgements at 200 ms a request and 64 at a time. Prints wall time as a multiple of the
ideal (N x latency / concurrency) and CPU milliseconds a judgement, each tool in a process
of its own; then a run of 10,000 studies answered wholly from the cache, shell to shell.
Targets: 1.10x and 1.8 ms all in; 6 s.

    python tests/bench/bench_api.py [--n 2000] [--latency 0.2] [--concurrency 64]

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

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from faultserver import Behaviour, FaultServer  # noqa: E402

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


def measured(command: list[str], folder: Path, **environ: str) -> tuple[float, float]:
    """Run a command; returns wall and CPU seconds of it and its children."""
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
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def write(folder: Path, n: int) -> None:
    ids = [f"study-{at:05}" for at in range(n)]
    refs = {key: f"{key}. The lungs are clear." for key in ids}
    preds = dict.fromkeys(ids, "Small left effusion.")
    (folder / "refs.json").write_text(json.dumps(refs), "utf-8")
    (folder / "preds.json").write_text(json.dumps(preds), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--radeval", metavar="PYTHON", help="of an environment with radeval")
    parser.add_argument("--curator", metavar="PYTHON", help="of one with bespokelabs-curator")
    options = parser.parse_args()
    n, ideal = options.n, options.n * options.latency / options.concurrency
    with (
        tempfile.TemporaryDirectory() as work,
        FaultServer(Behaviour(latency=options.latency)) as server,
    ):
        folder = Path(work)
        write(folder, n)
        judge = [sys.executable, "-m", "judge", "green", "preds.json", "refs.json"]
        judge += ["--judge", "model-x", "--base-url", server.url, "--cache", "cache"]
        judge += ["--concurrency", str(options.concurrency)]

        def plain(aio: bool) -> list[str]:
            arguments = json.dumps([server.url, n, options.concurrency, aio])
            return [sys.executable, "-c", PLAIN, arguments]

        tools = {
            "plain async client": plain(aio=False),
            "plain async client, aiohttp": plain(aio=True),
            "judge green, all in": judge,
            "judge green, from its cache": judge,
        }
        arguments = json.dumps([server.url, n, options.concurrency, False])
        if options.radeval:
            tools["RadEval's LLM path"] = [options.radeval, "-c", RADEVAL, arguments]
        if options.curator:
            tools["curator"] = [options.curator, "-c", CURATOR, arguments]
            tools["curator, from its cache"] = tools["curator"]
        print(f"{n:,} judgements, ideal {ideal:.2f} s")
        print(f"{'':<30} {'wall s':>8} {'x ideal':>8} {'CPU ms a judgement':>20}")
        for name, command in tools.items():
            wall, cpu = measured(command, folder, CURATOR_CACHE_DIR=str(folder / "curator"))
            print(f"{name:<30} {wall:>8.2f} {wall / ideal:>8.2f} {1000 * cpu / n:>20.2f}")
        server.set_faults(latency=0.0)
        write(folder, 10_000)
        measured(judge, folder)
        wall, cpu = measured(judge, folder)
        print(f"10,000 studies from the cache, shell to shell: {wall:.2f} s, CPU {cpu:.2f} s")


if __name__ == "__main__":
    main()
