"""`judge green` with the built-in judge in one process beside ROUGE-L, on the same distinct pairs.

Real reports of the shared folder again and again, each made distinct by a sentence with a number,
as real reports are. CPU seconds of whole processes, in turn, so that a busy machine is as busy for
both; ROUGE-L by the package rouge-score with its stemmer. Target: a ratio of at most 1.2.

    python bench/bench_lexicon.py [--data FOLDER] [--pairs N] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
ROUGE = """
import json
from rouge_score.rouge_scorer import RougeScorer
refs, preds = (json.load(open(name, encoding="utf-8")) for name in ("refs.json", "preds.json"))
scorer = RougeScorer(["rougeL"], use_stemmer=True)
for study in refs:
    scorer.score(refs[study], preds[study])
"""


def distinct(texts: list[str], n: int) -> dict[str, str]:
    """Return `n` reports, each with a sentence that no other has."""
    return {
        f"s{at}": f"{text} Nodule of {at % 97 + 1}.{at} mm in series {at}."
        for at, text in enumerate(islice(cycle(texts), n))
    }


def seconds(work: Path, *words: str) -> float:
    """Return the CPU seconds of a Python process."""
    with subprocess.Popen(
        [sys.executable, *words], cwd=work, stdout=subprocess.DEVNULL
    ) as child:
        _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{words[:3]} failed")
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared/data/iu_xray"
    )
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    folder, name = asked.data, "preds_neighbour.json"
    if not folder.is_dir():
        folder, name = ROOT / "examples", "preds_alder.json"
    refs = json.loads((folder / "refs.json").read_text("utf-8"))
    preds = json.loads((folder / name).read_text("utf-8"))
    both = [
        (refs[study]["section_findings"], preds[study]["model_prediction"])
        for study in preds
        if study in refs
        and refs[study]["section_findings"]
        and preds[study]["model_prediction"]
    ]
    with tempfile.TemporaryDirectory() as made:
        work = Path(made)
        for at, file in enumerate(("refs.json", "preds.json")):
            texts = distinct([pair[at] for pair in both], asked.pairs)
            (work / file).write_text(json.dumps(texts), "utf-8")
        green = ("-m", "judge", "green", "preds.json", "refs.json")
        rounds = [
            (seconds(work, *green, "--out", f"run{at}"), seconds(work, "-c", ROUGE))
            for at in range(asked.rounds)
        ]
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {asked.pairs:,} pairs"
    )
    print(f"{'judge green':>12} {'ROUGE-L':>8} {'ratio':>6}   CPU seconds")
    for ours, theirs in rounds:
        print(f"{ours:>12.2f} {theirs:>8.2f} {ours / theirs:>6.2f}")
    ratios = sorted(ours / theirs for ours, theirs in rounds)
    print(f"median ratio {median(ratios):.2f}, {ratios[0]:.2f} to {ratios[-1]:.2f}")


if __name__ == "__main__":
    main()
