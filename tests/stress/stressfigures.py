"""Stress tests of made-up judges, as far as figures take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from judge.stats.estimate import wilson
from judge.stress.changes import known


def rate(k: int, n: int) -> dict[str, Any]:
    found = wilson(k, n)
    return {"k": k, "n": n, "rate": found.value, "low": found.low, "high": found.high}


def made_up(judge: str, seed: int, n: int = 1_234) -> dict[str, Any]:
    """A report of every change; a judge of another seed has read others, and found others."""
    rng = np.random.default_rng(seed)

    def row(**names: str) -> dict[str, Any]:
        read = int(rng.integers(n // 2, n))
        some = sorted((int(one) for one in rng.integers(0, read, size=2)), reverse=True)
        of = ("found", "right_category") if "class" in names else ("any", "significant")
        return {**names, "n": read} | {
            name: rate(k, read) for name, k in zip(of, some, strict=True)
        }

    changes = known().values()
    return {
        "judge": {"name": judge},
        "level": {"name": "significant", "label": "significant errors"},
        "detection": [row(**{"class": one.name}) for one in changes if one.group == "error"],
        "detection_all": row(**{"class": "all"}),
        "false_alarms": [
            row(change=one.name, group=one.group)
            for one in changes
            if one.group in ("unchanged", "slip")
        ],
        "false_alarms_all": row(change="all"),
        "signature": f"stress:1|{judge}",
    }


def judges(n: int) -> dict[str, dict[str, Any]]:
    names = ["lexicon", "a-lab/a-judge-with-a-long-name-7b", *(f"judge {at}" for at in range(n))]
    return {name: made_up(name, seed) for seed, name in enumerate(names[:n])}
