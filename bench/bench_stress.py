"""`judge stress` on 200 real reports, all changes, the built-in judge, through the command line.

The references are the 590 shared chest X-ray reports, or those of examples/ where these are not
there. One command makes the candidates, judges them and prints the report; another prints it once
more from the folder. Prints wall seconds, CPU seconds and peak memory of each. Target on two
cores: 30 s for the first.

    python bench/bench_stress.py [--data FOLDER] [--studies 200]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared/data/iu_xray"
    )
    parser.add_argument("--studies", type=int, default=200)
    asked = parser.parse_args()
    folder = asked.data if asked.data.is_dir() else ROOT / "examples"
    refs, n = str((folder / "refs.json").resolve()), str(asked.studies)
    print(f"{'what':>30} {'wall s':>8} {'cpu s':>8} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as work:
        for what, words in (
            (
                "candidates, judge and report",
                [refs, "-n", n, "--cache", "cache", "--out", "made"],
            ),
            ("the report alone", ["report", "made"]),
        ):
            command = [sys.executable, "-m", "judge", "stress", *words]
            began = time.perf_counter()
            with subprocess.Popen(
                command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as child:
                _, status, used = os.wait4(child.pid, 0)
            wall = time.perf_counter() - began
            if status:
                sys.exit(f"judge stress failed: {what}")
            cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
            print(f"{what:>30} {wall:>8.2f} {cpu:>8.2f} {peak:>8.0f}", flush=True)
        made = sum(1 for _ in (Path(work) / "made/preds.jsonl").open("rb"))
        print(f"{made:,} candidates")


if __name__ == "__main__":
    main()
