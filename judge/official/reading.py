"""Reads texts off Python sources, from their syntax trees: nothing of them is run."""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import chain

from judge.types import JudgeError

Turns = list[tuple[str, str]]
"""The turns of a prompt, each a role and a content; `{name}` stands for a report."""


def parsed(source: str, path: str) -> ast.Module:
    """Return the syntax tree of a source; raises `JudgeError` where it is none."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise JudgeError(f"{path} is no Python source: {error}") from error


def literals(trees: Collection[ast.Module]) -> dict[str, object]:
    """Return the values that the modules give to names, where they are plain literals."""
    found: dict[str, object] = {}
    for node in chain.from_iterable(tree.body for tree in trees):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                with suppress(ValueError):
                    found[name] = ast.literal_eval(value)
    return found


def prompts_in(function: ast.FunctionDef) -> list[ast.expr | None]:
    """Return what in a function can be its prompt."""
    return [
        node.value
        for node in ast.walk(function)
        if (isinstance(node, ast.Assign | ast.Return) and isinstance(node.value, ast.JoinedStr))
        or (isinstance(node, ast.keyword) and node.arg == "messages")
    ]


def value_of(
    node: ast.expr | None, literals: Mapping[str, object], reports: Collection[str]
) -> str | tuple[str, str] | Turns | None:
    """Return a text, a turn or turns as the source would make them, None for any other form."""
    match node:
        case ast.List(elts=elements):
            found = [value_of(element, literals, reports) for element in elements]
            turns = [turn for turn in found if isinstance(turn, tuple)]
            return turns if len(turns) == len(found) else None
        case ast.Dict([ast.Constant("role"), ast.Constant("content")], [ast.Constant(role), text]):
            content = value_of(text, literals, reports)
            return (str(role), content) if isinstance(content, str) else None
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            parts = [value_of(part, literals, reports) for part in values]
            texts = [part for part in parts if isinstance(part, str)]
            return "".join(texts) if len(texts) == len(parts) else None
        case ast.FormattedValue(value=ast.Name(id=name), conversion=-1, format_spec=None):
            return f"{{{name}}}" if name in reports else None
        case ast.Name(id=name) if isinstance(literals.get(name), str):
            return str(literals[name])
        case ast.Call(ast.Attribute(ast.Name("json"), "dumps"), [ast.Name(id=name)], []):
            return json.dumps(literals[name]) if name in literals else None
    return None
