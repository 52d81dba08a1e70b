"""GREEN by RadEval (transformers, batches of eight) and by `vllm:`, on the same tiny model.

64 pairs of the shared reports, the same number of new tokens on both sides, float32, both
warm, in one run. Prints seconds a pair and the ratio. Target: 3x on a CPU.

    python bench/bench_vllm.py --radeval PYTHON [--pairs 64] [--layers 2] [--hidden 128]
        [--bind 0-1] [--flag=--enforce-eager ...]

Run it in the environment that .ci/vllm makes; PYTHON is the one of .ci/radeval. The model is
random and never ends an answer by itself: RadEval writes on to its 2,048 tokens, and ours is
told to write as many as RadEval did on average. The prompt is the official one.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

import tinymodel  # noqa: E402
from support import SHARED  # noqa: E402

from judge.backends.vllm import Process, executable  # noqa: E402

KEY = "bench"
WARM = 8

# The package's own __init__ imports every metric there is; the one module does not.
THEIRS = """
import importlib, importlib.util, json, os, sys, time, types
root = importlib.util.find_spec("radeval").submodule_search_locations[0]
for name in ("radeval", "radeval.metrics", "radeval.metrics.green_score"):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [os.path.join(root, *name.split(".")[1:])]
module = importlib.import_module("radeval.metrics.green_score.green")
model, folder, warm = sys.argv[1], sys.argv[2], int(sys.argv[3])
pairs = json.load(open(os.path.join(folder, "pairs.json")))
green = module.GREEN(model, cpu=os.environ.get("BENCH_GPU") is None, num_gpus=1, output_dir=folder)
tokens = []
generate = green.model.generate
def counting(**given):
    out = generate(**given)
    tokens.extend([out.shape[1] - given["input_ids"].shape[1]] * out.shape[0])
    return out
green.model.generate = counting
def run(some):
    began = time.perf_counter()
    green([a for a, _ in some], [b for _, b in some])
    return time.perf_counter() - began
run(pairs[:warm])
tokens.clear()
seconds = run(pairs[warm:])
print("RESULT", json.dumps({"seconds": seconds, "tokens": sum(tokens), "utils": root}))
"""

OURS = """
import json, os, sys, time
from judge import annotate
from judge.running.session import RequestPolicy
model, folder, warm, url, tokens, flight = sys.argv[1:]
pairs = json.load(open(os.path.join(folder, "pairs.json")))
def run(some, cache):
    began = time.perf_counter()
    frame = annotate(
        [a for a, _ in some], [b for _, b in some], judge=f"vllm:{model}", base_url=url,
        max_tokens=int(tokens), timeout=3600, cache=os.path.join(folder, cache),
        policy=RequestPolicy(concurrency=int(flight), reask=0))
    return time.perf_counter() - began, frame
run(pairs[: int(warm)], "warm")
seconds, frame = run(pairs[int(warm):], "cache")
reasons = sorted(set(frame["reason"].fillna("")))
print("RESULT", json.dumps({"seconds": seconds, "reasons": reasons}))
"""


def result(command: list[str], environ: dict[str, str]) -> dict[str, object]:
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, check=False
    )
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line.removeprefix("RESULT "))
    sys.exit(f"failed: {done.stdout[-1000:]}\n{done.stderr[-3000:]}")


def shared_pairs(count: int) -> list[tuple[str, str]]:
    """Pairs of the shared reports whose lengths are ordinary."""
    refs = json.loads((SHARED / "refs.json").read_text("utf-8"))
    preds = json.loads((SHARED / "preds_neighbour.json").read_text("utf-8"))
    found = []
    for key, row in refs.items():
        if key in preds:
            one, other = text(row), text(preds[key])
            if one and other:
                found.append((one, other))
    return found[:count]


def text(row: object) -> str:
    if isinstance(row, str):
        return row
    assert isinstance(row, dict)
    for name in ("section_findings", "model_prediction", "report"):
        if isinstance(row.get(name), str) and row[name].strip():
            return row[name]
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--radeval", required=True, metavar="PYTHON")
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--bind", default=None, help="VLLM_CPU_OMP_THREADS_BIND")
    parser.add_argument(
        "--flight", type=int, default=128, help="most requests in flight"
    )
    parser.add_argument(
        "--flag", action="append", default=[], help="a flag for vllm serve"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model = folder / "model"
        tinymodel.make_model(
            model,
            layers=options.layers,
            hidden=options.hidden,
            heads=options.hidden // 32,
        )
        pairs = shared_pairs(options.pairs + WARM)
        (folder / "pairs.json").write_text(json.dumps(pairs), "utf-8")
        theirs = result(
            [options.radeval, "-c", THEIRS, str(model), place, str(WARM)],
            dict(os.environ),
        )
        n = len(pairs) - WARM
        tokens = int(theirs["tokens"]) // n
        environ = dict(os.environ) | {"VLLM_API_KEY": KEY, "JUDGE_CONFIG": place}
        environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
        if options.bind:
            environ["VLLM_CPU_OMP_THREADS_BIND"] = options.bind
        source = Path(str(theirs["utils"])) / "metrics/green_score/utils.py"
        fetch = ["judge", "prompts", "fetch", "green-official", "--from", str(source)]
        subprocess.run([sys.executable, "-m", *fetch], env=environ, check=True)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
        line = [
            executable(environ),
            "serve",
            str(model),
            "--host",
            "127.0.0.1",
            "--port",
            port,
        ]
        line += ["--dtype", "float32", "--max-model-len", "2048", *options.flag]
        log = folder / "server.log"
        server = Process(line, environ, log.open("ab"))
        try:
            while "startup complete" not in log.read_text("utf-8"):
                if server.exit_status is not None:
                    sys.exit(log.read_text("utf-8")[-3000:])
                time.sleep(0.5)
            url = f"http://127.0.0.1:{port}/v1"
            given = [
                str(model),
                place,
                str(WARM),
                url,
                str(tokens),
                str(options.flight),
            ]
            ours = result([sys.executable, "-c", OURS, *given], environ)
        finally:
            server.stop()
    each, other = float(theirs["seconds"]) / n, float(ours["seconds"]) / n
    print(
        f"{n} pairs, {tokens} new tokens each, {options.layers} layers of {options.hidden}"
    )
    print(f"RadEval   {each:.3f} s a pair, {tokens / each:,.0f} new tokens/s")
    print(f"vllm:     {other:.3f} s a pair, {tokens / other:,.0f} new tokens/s")
    print(
        f"ratio     {each / other:.2f}x   (ours ended as: {', '.join(ours['reasons'])})"
    )


if __name__ == "__main__":
    main()
