"""The built-in judge over 10,000 studies, and in shards that are merged.

Real reports of the shared folder again and again under new ids. Wall seconds, CPU seconds of all
processes, and the largest process in MB; of the shards what a task takes that judges next to
nothing, which is what each pays for reading the whole set, and what merging takes. The files of the
merged run are held to be those of the whole.

    python bench/bench_shards.py [--data FOLDER] [--studies N] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_run import ROOT, repeated

FILES = ("annotations.jsonl", "studies.csv", "studies.parquet", "summary.json")


def timed(work: Path, *words: str) -> tuple[float, float, float]:
    """Run a command of judge; returns wall seconds, CPU seconds and MB of the largest process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = (
        "import resource, subprocess, sys\n"
        "code = subprocess.call([sys.executable, '-m', 'judge', *sys.argv[1:]])\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=work,
        capture_output=True,
        text=True,
    )
    wall = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"judge {' '.join(words)} failed:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, float(done.stderr.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared/data/iu_xray"
    )
    parser.add_argument("--studies", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    folder, preds_name = asked.data, "preds_neighbour.json"
    if not folder.is_dir():
        folder, preds_name = ROOT / "examples", "preds.json"
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f} before, {asked.studies:,} studies")
    print(f"{'':>16} {'wall s':>8} {'cpu s':>8} {'MB':>6}")

    with tempfile.TemporaryDirectory() as made:
        work = Path(made)
        for name, source in (("refs.json", "refs.json"), ("preds.json", preds_name)):
            data = json.loads((folder / source).read_text("utf-8"))
            (work / name).write_text(json.dumps(repeated(data, asked.studies)), "utf-8")
        green = ("green", "preds.json", "refs.json")

        def show(what: str, *words: str) -> None:
            wall, cpu, memory = timed(work, *words)
            print(f"{what:>16} {wall:>8.2f} {cpu:>8.2f} {memory:>6.0f}")

        for _ in range(asked.rounds):
            show("whole", *green, "--out", "whole")
        show("shard 1/1000", *green, "--shard", "1/1000", "--out", "small")
        shards = [f"s{at}" for at in range(1, 9)]
        for at, out in enumerate(shards, 1):
            timed(work, *green, "--shard", f"{at}/8", "--out", out)
        show("merge of 8", "runs", "merge", *shards, "--out", "merged")
        for name in FILES:
            assert (work / "whole" / name).read_bytes() == (
                work / "merged" / name
            ).read_bytes()


if __name__ == "__main__":
    main()
