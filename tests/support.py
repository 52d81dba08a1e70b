"""Helpers that tests import."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from click.testing import Result

from judge import rubrics

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data" / "iu_xray"
EXAMPLES = ROOT / "examples"
TOYS = ROOT / "tests" / "toy_rubrics"

# What is the same for all rubrics of a form is tested with one whose reply is text and one of JSON.
REPLIES = ("green", "fineradscore")


def with_rules(names: Iterable[str] | None = None) -> list[str]:
    """The rubrics that the built-in judge has rules for, of all there are or of some."""
    every = rubrics.names() if names is None else names
    return [name for name in every if rubrics.load(name).baseline is not None]


Invoke = Callable[..., Result]


def write_json(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), "utf-8")
    return path
