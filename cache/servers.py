"""What was learned of each server and model: which form of request it takes. Beside the answers.

    servers.json   {"https://api.example.org/v1 model-x": {"changed": [["temperature", ""]], ...}}

Losing the file costs a refused request or two in the next run, nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from judge import jsonio
from judge.files import replacing
from judge.types import JudgeError

FILE = "servers.json"


def known_facts(folder: Path, name: str) -> dict[str, Any]:
    """Return what is known of a server and model; empty where nothing is, or the file is odd."""
    facts = _read(folder).get(name)
    if not isinstance(facts, dict):
        return {}
    return facts


def keep_facts(folder: Path, name: str, facts: Mapping[str, object]) -> None:
    """Write down what is known of a server and model.

    Where the form of requests is the same as before, the modes that were accepted are added to
    those before. Another process may write at the same time: the later one stays.
    """
    known = _read(folder)
    before = known.get(name)
    merged = dict(facts)
    if isinstance(before, dict) and _form(before) == _form(facts):
        modes = {*_texts(before.get("modes")), *_texts(facts.get("modes"))}
        merged["modes"] = sorted(modes)
    if merged == before:
        return
    known[name] = merged
    text = json.dumps(known, indent=1, sort_keys=True)
    # It is a convenience: without it the next run asks again.
    with suppress(JudgeError), replacing(folder / FILE) as staged:
        staged.write_text(text, "utf-8")


def _form(facts: Mapping[str, object]) -> tuple[object, object]:
    """Return the form of requests that a server and model take."""
    return facts.get("changed"), facts.get("room")


def _texts(value: object) -> list[str]:
    if not isinstance(value, list):
        return []
    return [text for text in value if isinstance(text, str)]


def _read(folder: Path) -> dict[str, Any]:
    try:
        known = jsonio.read((folder / FILE).read_bytes())
    except (OSError, jsonio.JsonError):
        return {}
    return known if isinstance(known, dict) else {}
