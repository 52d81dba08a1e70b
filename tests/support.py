"""Helpers that tests import."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data" / "iu_xray"
EXAMPLES = ROOT / "examples"
TOYS = ROOT / "tests" / "toy_rubrics"

Invoke = Callable[..., Result]


def write_json(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), "utf-8")
    return path
