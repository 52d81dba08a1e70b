"""`judge audit` of one study with very many errors: shell to shell, both rubrics.

The reports are of words from a list of 300, the errors quote twelve of them each. Prints the
CPU and wall seconds of each size and of a study with one error, the least of three. Time must
be linear: twice the errors, or twice the words, at most twice the time beyond the start.

    python bench/bench_audit.py
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from judge import rubrics

ROOT = Path(__file__).parents[1]
RULED = [name for name in rubrics.built_in() if rubrics.load(name).baseline]
SIZES = ((1, 2_000), (3_000, 2_000), (6_000, 2_000), (12_000, 2_000), (12_000, 4_000))
ROUNDS = 3
WORDS = [*(f"finding{at}" for at in range(300)), "left", "right", "small", "the"]


def judge(folder: Path, *arguments: str) -> tuple[float, float]:
    """Run a command; returns its CPU and wall seconds."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "judge", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as child:
        _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"failed: judge {' '.join(arguments)}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - began


def words(rng: random.Random, n: int) -> str:
    """Return `n` words in sentences of twenty."""
    drawn = rng.choices(WORDS, k=n)
    return " ".join(
        f"{word}." if at % 20 == 0 else word for at, word in enumerate(drawn, 1)
    )


def enlarge(run: Path, n_errors: int, n_words: int) -> str:
    """Give the run's first study with an error so many, and such reports; returns its id."""
    rng = random.Random(0)
    path = run / "annotations.jsonl"
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    record, first = next(
        (one, item)
        for one in records
        for item in one["annotation"]["items"]
        if item["kind"] == "error"
    )
    record["reference"], record["candidate"] = words(rng, n_words), words(rng, n_words)
    n_lines = record["candidate"].count(".")
    record["annotation"]["items"] = [
        {
            **first,
            "text": words(rng, 12),
            "edit": first["edit"]
            and {
                "kind": "insert",
                "line": rng.randrange(n_lines),
                "corrected": words(rng, 10),
            },
        }
        for _ in range(n_errors)
    ]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records), "utf-8")
    return str(record["study_id"])


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"{'rubric':>13} {'errors':>8} {'words':>8} {'cpu s':>8} {'wall s':>8}")
    for rubric in RULED:
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            examples = [
                str(ROOT / "examples" / name) for name in ("preds.json", "refs.json")
            ]
            ids = []
            for at, size in enumerate(SIZES):
                judge(folder, rubric, *examples, "--out", f"run-{at}")
                ids.append(enlarge(folder / f"run-{at}", *size))
            rounds = [
                [
                    judge(folder, "audit", f"run-{at}", ids[at])
                    for at in range(len(SIZES))
                ]
                for _ in range(ROUNDS)
            ]
        for (n_errors, n_words), *taken in zip(SIZES, *rounds, strict=True):
            cpu, wall = (min(figures) for figures in zip(*taken, strict=True))
            print(f"{rubric:>13} {n_errors:>8,} {n_words:>8,} {cpu:>8.2f} {wall:>8.2f}")


if __name__ == "__main__":
    main()
