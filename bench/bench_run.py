"""Each rubric with the built-in judge over 1,000, 10,000 and 100,000 studies.

Prints wall seconds, CPU seconds, peak memory and milliseconds a study; the last column
stays level where time is linear in studies. Targets: 60 s for 10,000 studies on two cores,
and 600 MB for 100,000.

    python bench/bench_run.py [--data FOLDER]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from judge import rubrics

ROOT = Path(__file__).parents[1]
RULED = [name for name in rubrics.built_in() if rubrics.load(name).baseline]


def repeated(source: dict[str, object], n: int) -> dict[str, object]:
    """The studies of `source` again and again under new ids until there are `n`."""
    rounds = itertools.count()
    endless = ((f"{key}-{r}", value) for r in rounds for key, value in source.items())
    return dict(itertools.islice(endless, n))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared/data/iu_xray"
    )
    folder = parser.parse_args().data
    preds_name = "preds_neighbour.json"
    if not folder.is_dir():
        folder, preds_name = ROOT / "examples", "preds.json"
    refs = json.loads((folder / "refs.json").read_text("utf-8"))
    preds = json.loads((folder / preds_name).read_text("utf-8"))
    print(
        f"{'rubric':>13} {'studies':>8} {'wall s':>8} {'cpu s':>8} {'peak MB':>8} {'ms each':>8}"
    )
    for rubric, n in itertools.product(RULED, (1_000, 10_000, 100_000)):
        with tempfile.TemporaryDirectory() as work:
            for name, source in (("refs.json", refs), ("preds.json", preds)):
                (Path(work) / name).write_text(json.dumps(repeated(source, n)), "utf-8")
            command = [sys.executable, "-m", "judge", rubric, "preds.json", "refs.json"]
            began = time.perf_counter()
            with subprocess.Popen(
                command, cwd=work, stdout=subprocess.DEVNULL
            ) as child:
                _, status, used = os.wait4(child.pid, 0)
            wall = time.perf_counter() - began
            if status:
                sys.exit(f"the run over {n} studies failed")
            cpu = used.ru_utime + used.ru_stime
            peak = used.ru_maxrss / 1024
            each = 1000 * wall / n
            print(
                f"{rubric:>13} {n:>8} {wall:>8.2f} {cpu:>8.2f} {peak:>8.0f} {each:>8.2f}"
            )


if __name__ == "__main__":
    main()
