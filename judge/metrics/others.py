"""The metrics of the package radeval, each asked in a process of its own.

They load models of gigabytes, and a metric whose weights cannot be had fails in ways of its
own. In a process apart, one that fails says so and leaves the others alone, and its memory
is given back.
"""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from judge.distribution import install

NAMES = ("bertscore", "semb", "radgraph", "radcliq", "ratescore")
"""What `judge.metrics.worker` can compute."""

_SHOWN = 300


def ask(name: str, references: Sequence[str], candidates: Sequence[str]) -> tuple[float, ...] | str:
    """Return a metric's value of each pair of reports, or in a line why there are none."""
    if importlib.util.find_spec("radeval") is None:
        return f"it comes with the package radeval: {install('radeval', 'six')}"
    with tempfile.TemporaryDirectory() as folder:
        texts, scores = Path(folder, "texts.json"), Path(folder, "scores.json")
        texts.write_text(json.dumps([list(references), list(candidates)]), "utf-8")
        done = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-P", "-m", "judge.metrics.worker", name, str(texts), str(scores)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode or not scores.is_file():
            said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            why = said[-1][:_SHOWN] if said else "no reason given"
            return f"radeval could not compute it (are its weights here?): {why}"
        values = tuple(map(float, json.loads(scores.read_text("utf-8"))))
    if len(values) != len(references) or not all(map(math.isfinite, values)):
        return f"radeval gave {len(values)} values for {len(references)} studies, or none at all"
    return values
