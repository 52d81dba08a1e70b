"""`judge --help` beside `python -c "import click"`, in turn, and the difference.

Target: within 0.15 s.

    python bench/bench_help.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 15


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    bare = [sys.executable, "-c", "import click"]
    ours = [sys.executable, "-m", "judge", "--help"]
    pairs = [(seconds(bare), seconds(ours)) for _ in range(RUNS)]
    bare_median = statistics.median(pair[0] for pair in pairs)
    ours_median = statistics.median(pair[1] for pair in pairs)
    extra = statistics.median(pair[1] - pair[0] for pair in pairs)
    print(
        f"import click {bare_median:.3f} s, judge --help {ours_median:.3f} s, extra {extra:.3f} s"
    )


if __name__ == "__main__":
    main()
