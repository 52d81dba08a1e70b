"""Reads texts out of Python source through its syntax tree; nothing of it is run."""

from __future__ import annotations

import ast
from collections.abc import Collection

from judge.types import JudgeError


def parsed(source: str, where: str) -> ast.Module:
    """Return the syntax tree; raises `JudgeError` for a file that is no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise JudgeError(f"{where} is no Python source: {error}") from error


def function(tree: ast.Module, name: str, where: str) -> ast.FunctionDef:
    """Return the one function of that name; raises `JudgeError` where there is not one."""
    found = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    if len(found) != 1:
        raise JudgeError(f"{where} defines {len(found) or 'no'} functions {name}, not one")
    return found[0]


def template(node: ast.JoinedStr, names: Collection[str], where: str) -> str:
    """Return the text of an f-string, with `{name}` for each value.

    Raises `JudgeError` for a value that is not simply one of `names`.
    """
    parts = []
    for part in node.values:
        match part:
            case ast.Constant(value=str(text)):
                parts.append(text)
            case ast.FormattedValue(value=ast.Name(id=name), conversion=-1, format_spec=None) if (
                name in names
            ):
                parts.append(f"{{{name}}}")
            case _:
                raise JudgeError(f"{where} holds a template with an unexpected value")
    return "".join(parts)
