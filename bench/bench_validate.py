"""`judge validate` on 10,000 studies, two judges and six readers, through the command line.

The reports are those of examples/ under ids of their own, judged by the lexicon; each reader has
the lexicon's errors, some left out and some of others added, every fourth patient with two
studies. Prints wall seconds, CPU seconds and peak memory. Target on two cores: 20 s.

    python bench/bench_validate.py [--studies 10000] [--readers 6]
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from judge.running.folder import RunFolder

EXAMPLES = Path(__file__).parents[1] / "examples"


def judged(work: Path, n: int) -> Path:
    """Return the lexicon's run of `n` studies with the reports of the examples."""
    sides = [
        json.loads((EXAMPLES / name).read_text())
        for name in ("refs.json", "preds.json")
    ]
    ids = sorted(sides[0])
    for name, side in zip(("refs.json", "preds.json"), sides, strict=True):
        rows = {
            f"s{at:06}": side[ids[at % len(ids)]] | {"patient": f"p{at * 4 // 5}"}
            for at in range(n)
        }
        (work / name).write_text(json.dumps(rows))
    run("green", "preds.json", "refs.json", "--out", "judged", cwd=work)
    return work / "judged"


def readings(work: Path, folder: Path, readers: int) -> list[str]:
    """Write what readers said as one table, and return their runs."""
    rng = np.random.default_rng(1)
    with (work / "readings.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        names = ("study_id", "reader", "category", "significant", "count", "text")
        writer.writerow([*names, "reference", "candidate", "patient"])
        errors: list[tuple[str, bool, str]] = []
        for record in RunFolder.open(folder).records():
            own = [
                (
                    item["labels"]["category"][0],
                    item["labels"]["significance"][0],
                    item["text"],
                )
                for item in record["annotation"]["items"]
                if item["kind"] == "error"
            ]
            errors = [*errors[-50:], *own]
            texts = (
                record["reference"],
                record["candidate"],
                record["fields"]["patient"],
            )
            for reader in range(readers):
                said = [one for one in own if rng.random() < 0.8]
                if errors and rng.random() < 0.2:
                    said.append(errors[rng.integers(len(errors))])
                for category, level, text in dict.fromkeys(said):
                    grave = level == "significant"
                    writer.writerow(
                        [
                            record["study_id"],
                            f"r{reader}",
                            category,
                            grave,
                            "",
                            text,
                            *texts,
                        ]
                    )
                if not said:
                    writer.writerow(
                        [record["study_id"], f"r{reader}", "", "", 0, "", *texts]
                    )
    run(
        "readers",
        "import",
        "tidy",
        "readings.csv",
        "--section",
        "findings",
        "--out",
        "readers",
        cwd=work,
    )
    return [f"readers/reader-r{reader}" for reader in range(readers)]


def run(*words: str, cwd: Path) -> None:
    command = [sys.executable, "-m", "judge", *words]
    subprocess.run(command, cwd=cwd, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=10_000)
    parser.add_argument("--readers", type=int, default=6)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        folder = judged(work, asked.studies)
        readers = readings(work, folder, asked.readers)
        after = [word for one in readers for word in ("--readers", one)]
        command = [
            sys.executable,
            "-m",
            "judge",
            "validate",
            "one=judged",
            "two=judged",
            *after,
        ]
        began = time.perf_counter()
        with subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL) as child:
            _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        if status:
            sys.exit("judge validate failed")
        cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        print(f"{wall:.2f} s wall, {cpu:.2f} s CPU, peak {peak:,.0f} MB", flush=True)


if __name__ == "__main__":
    main()
