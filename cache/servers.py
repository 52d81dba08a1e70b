"""What was learned of each server and model: which form of request it takes. Beside the answers.

    servers.json   {"https://api.example.org/v1 model-x": {"changed": [["temperature", ""]], ...}}

Losing the file costs a refused request or two in the next run, nothing else.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from judge import jsonio

FILE = "servers.json"


def known_facts(folder: Path, name: str) -> dict[str, Any]:
    """Return what is known of a server and model; empty where nothing is, or the file is odd."""
    facts = _read(folder).get(name)
    return facts if isinstance(facts, dict) else {}


def keep_facts(folder: Path, name: str, facts: Mapping[str, object]) -> None:
    """Write down what is known of a server and model.

    Where the form of requests is the same as before, the modes that were accepted are added to
    those before. Another process may write at the same time: the later one stays.
    """
    known = _read(folder)
    before = known.get(name)
    merged = dict(facts)
    if isinstance(before, dict) and all(before.get(key) == facts[key] for key in _FORM):
        modes = {*_texts(before.get("modes")), *_texts(facts.get("modes"))}
        merged["modes"] = sorted(modes)
    if merged == before:
        return
    known[name] = merged
    with suppress(OSError):  # it is a convenience: the next run asks again
        number, path = tempfile.mkstemp(dir=folder, prefix=f".{FILE}.")
        with os.fdopen(number, "w", encoding="utf-8") as file:
            json.dump(known, file, indent=1, sort_keys=True)
        Path(path).replace(folder / FILE)


_FORM = ("changed", "room")


def _texts(value: object) -> list[str]:
    return (
        [text for text in value if isinstance(text, str)]
        if isinstance(value, list)
        else []
    )


def _read(folder: Path) -> dict[str, Any]:
    try:
        known = jsonio.read((folder / FILE).read_bytes())
    except (OSError, jsonio.JsonError):
        return {}
    return known if isinstance(known, dict) else {}
