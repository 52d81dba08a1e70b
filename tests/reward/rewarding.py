"""What the tests of rewards ask for, and what the server must answer to it."""

from __future__ import annotations

import json
from collections.abc import Callable

from faultserver import annotation_for
from support import EXAMPLES

from judge.reward import Reward

Make = Callable[..., Reward]


def examples() -> tuple[list[str], list[str]]:
    """The references and the candidates of the example studies."""
    refs, preds = (
        json.loads((EXAMPLES / name).read_text("utf-8"))
        for name in ("refs.json", "preds.json")
    )
    return [refs[one]["report"] for one in preds], [
        preds[one]["model_prediction"] for one in preds
    ]


def of_studies(*numbers: int) -> dict[str, list[str]]:
    """References that the server knows, as a column of a dataset."""
    return {"reference": [f"study-{n:04}. The lungs are clear." for n in numbers]}


def expected(number: int) -> float:
    """The GREEN score of the server's answer."""
    stated = annotation_for(f"study-{number:04}").stated_counts
    matched = stated["matched"]
    errors = sum(n for key, n in stated.items() if key.startswith("significant"))
    return matched / (matched + errors) if matched else 0.0


class Last:
    """A callable without a name of its own."""

    def __call__(self, text: str) -> str:
        return text.rpartition("REPORT:")[2]
