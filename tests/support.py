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

# Most tests run over every rubric there is. What asks a server, a browser, a terminal or a process
# of its own takes seconds each, and what it checks there is the same for all rubrics of one form:
# it runs for one built-in rubric whose reply is text and one whose reply is JSON, and where
# something is drawn for the toys too, which have among them every shape that a rubric can have.
REPLIES = ("green", "fineradscore")
SHAPES = (*REPLIES, "toy_attributes", "toy_direct", "toy_facts", "toy_scale")


def with_rules(names: Iterable[str] | None = None) -> list[str]:
    """The rubrics that the built-in judge has rules for, of all there are or of some."""
    every = rubrics.names() if names is None else names
    return [name for name in every if rubrics.load(name).baseline is not None]


Invoke = Callable[..., Result]


def write_json(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), "utf-8")
    return path
