"""docs/messages.md: each message is one of the program, and those of the main road are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from support import ROOT

PAGE = (ROOT / "docs/messages.md").read_text("utf-8")
SOURCES = ("cli", "judge", "rubrics", "prompts", "cache")

# Whose errors every user can meet, when files are read, a judge is asked and runs are compared.
MAIN_ROAD = (
    "cli/*.py",
    "judge/studies/join.py",
    "judge/studies/json_layouts.py",
    "judge/studies/load.py",
    "judge/studies/pairing.py",
    "judge/studies/sections.py",
    "judge/studies/spreadsheets.py",
    "judge/backends/__init__.py",
    "judge/backends/connection.py",
    "judge/backends/hosted.py",
    "judge/backends/sdk_client.py",
    "judge/running/cached_client.py",
    "judge/running/folder.py",
    "judge/running/shard.py",
    "judge/comparing/alignment.py",
    "judge/comparing/comparison.py",
    "cache/store.py",
)
# Of Python's interface alone, or so rare that the message has to be enough.
LEFT_OUT = (
    "a table holds everything: put study_ids",
    "has another index than the references",
    "values and there are",
)
HOLE = "…"


def template(node: ast.expr) -> str:
    """The text of a literal, with a hole for each value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            template(part) if isinstance(part, ast.Constant) else HOLE
            for part in node.values
        )
    if isinstance(node, ast.BinOp):
        return template(node.left) + template(node.right)
    return HOLE


@cache
def trees() -> dict[Path, ast.Module]:
    found = {}
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "node_modules" not in path.parts:
                found[path] = ast.parse(path.read_text("utf-8"))
    return found


@cache
def literals() -> str:
    """Every text of the source, one after the other."""
    texts = []
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr):
                texts.append(" ".join(template(node).split()))
    return "\n".join(texts)


def pieces(message: str) -> list[str]:
    """The parts of a message between its holes that say something."""
    parts = [part.strip(" :;,.()'\"") for part in message.split(HOLE)]
    return [part for part in parts if len(part) >= 4]


def entries() -> list[str]:
    found = re.findall(r"^\| `(.+?)` \|", PAGE, re.MULTILINE)
    reasons = re.findall(r"^\| (?:failed|unparsed) \| `(.+?)` \|", PAGE, re.MULTILINE)
    return [*found, *reasons]


@pytest.mark.parametrize("message", entries())
def test_each_message_of_the_page_is_one_of_the_program(message: str) -> None:
    assert pieces(message)
    for piece in pieces(message):
        assert piece in literals(), piece


def raised() -> list[tuple[str, str]]:
    """Where an error of the main road is raised, and its text."""
    found = []
    for path, tree in trees().items():
        name = path.relative_to(ROOT).as_posix()
        if not any(Path(name).match(pattern) for pattern in MAIN_ROAD):
            continue
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            called = ast.unparse(node.exc.func).rpartition(".")[2]
            if called in ("JudgeError", "UsageError", "_UserError") and node.exc.args:
                text = " ".join(template(node.exc.args[0]).split())
                if pieces(text):
                    found.append((f"{name}:{node.lineno}", text))
    return found


def test_the_errors_of_the_main_road_are_on_the_page() -> None:
    known = [pieces(message) for message in entries()]
    missing = [
        (where, text)
        for where, text in raised()
        if not any(all(piece in text for piece in parts) for parts in known)
        and not any(words in text for words in LEFT_OUT)
    ]
    assert missing == []
    assert len(raised()) > 90
