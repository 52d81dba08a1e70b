"""The page that documents the API, made from the OpenAPI description alone.

Each route with what it takes, what it returns, and a line for the shell that asks it. Where the
description has examples, they are in that line; `RUN` and `STUDY` in them stand for a real run and
one of its studies.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any
from urllib.parse import urlencode

RUN, STUDY = "RUN", "STUDY"
_FILE = "contentMediaType"
_Fields = list[tuple[str, str, bool, dict[str, Any]]]
"""Name, place, whether it must be there, schema."""


def html(described: Mapping[str, Any], url: str, known: Mapping[str, str], *, token: bool) -> str:
    """Return the body of the page for a service at `url`.

    `known` says what to put in the place of `RUN` and `STUDY`; `token` is whether one is needed.
    """
    schemas = described["components"]["schemas"]
    about = described["info"]
    parts = [_paragraphs(about["description"])]
    if token:
        parts.append(_paragraphs("The lines below take the token from the variable `JUDGE_TOKEN`."))
    links, sections = [], []
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            name, at = f"{method.upper()} {path}", re.sub(r"\W+", "-", f"{method}{path}").strip("-")
            title = escape(operation["summary"])
            links.append(f'<li><a href="#{at}"><code>{escape(name)}</code></a> {title}</li>')
            takes = list(_takes(operation, schemas))
            line = shlex.join(_line(method, url + path, takes, known))
            if token:
                line += ' -H "Authorization: Bearer $JUDGE_TOKEN"'
            sections.append(
                f'<section class="route" id="{at}"><h2>{title}</h2>'
                f'<p class="mono">{escape(name)}</p>{_paragraphs(operation["description"])}'
                f"{'<h3>Takes</h3>' + _list(takes, given=True) if takes else ''}"
                f"{_returns(operation, schemas)}"
                f'<pre class="line" tabindex="0">{escape(line)}</pre></section>'
            )
    routes = f'<nav aria-label="Routes"><ul class="routes">{"".join(links)}</ul></nav>'
    return (
        f'<header class="top"><h1>{escape(about["title"])} {escape(about["version"])}: API</h1>'
        '<a href="/">All runs</a> <a href="/openapi.json">OpenAPI description</a></header>'
        f'<main id="main">{"".join((*parts, routes, *sections))}</main>'
    )


def _resolved(schema: dict[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return schemas[name] if name else schema


def _fields(schema: dict[str, Any], place: str) -> _Fields:
    required = schema.get("required", ())
    return [(name, place, name in required, one) for name, one in schema["properties"].items()]


def _takes(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Any]:
    for one in operation.get("parameters", ()):
        yield one["name"], one["in"], one["required"], one["schema"]
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        place = "JSON" if kind.endswith("json") else "form"
        yield from _fields(_resolved(body["schema"], schemas), place)


def _line(method: str, address: str, takes: _Fields, known: Mapping[str, str]) -> list[str]:
    """Return the words of a command that asks a route with its examples."""
    given: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "JSON": {}, "form": {}}
    for name, place, _, schema in takes:
        if _is_file(schema):
            given[place][name] = f"@{name}.json"
        elif examples := schema.get("examples"):
            given[place][name] = _replaced(examples[0], known)
    for name, value in given["path"].items():
        address = address.replace(f"{{{name}}}", str(value))
    query = f"?{urlencode(given['query'], doseq=True)}" if given["query"] else ""
    words = ["curl", *(["-X", "POST"] if method == "post" else []), address + query]
    if given["JSON"]:
        words += ["-H", "Content-Type: application/json", "-d", json.dumps(given["JSON"])]
    for name, value in given["form"].items():
        words += ["-F", f"{name}={value}"]
    return words


def _replaced(example: Any, known: Mapping[str, str]) -> Any:  # noqa: ANN401
    if isinstance(example, list):
        return [_replaced(one, known) for one in example]
    return known.get(example, example) if isinstance(example, str) else example


def _is_file(schema: Mapping[str, Any]) -> bool:
    return any(_FILE in one for one in (schema, *schema.get("anyOf", ())))


def _type(schema: Mapping[str, Any]) -> str:
    if _is_file(schema):
        return "file"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _list(fields: _Fields, *, given: bool) -> str:
    """Return fields with what each is; for those that are `given`, where and whether they must."""
    parts = []
    for name, place, is_required, schema in fields:
        words = [_type(schema)]
        if given:
            default = schema.get("default")
            usual = "" if default in (None, "") else f"by default {json.dumps(default)}"
            words = [place, *words, "required" if is_required else usual]
        parts.append(
            f"<div><dt><code>{escape(name)}</code> "
            f'<span class="small">{escape(", ".join(filter(None, words)))}</span></dt>'
            f"<dd>{_marked(schema.get('description', ''))}</dd></div>"
        )
    return f'<dl class="takes">{"".join(parts)}</dl>'


def _returns(operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """Return what a good answer is; what any other is stands at the top of the page."""
    parts = ["<h3>Returns</h3>"]
    for status, answer in operation["responses"].items():
        if not status.isdecimal():
            continue
        kinds = ", ".join(answer.get("content", ()))
        parts.append(
            f"<p>{escape(status)}: {_marked(answer['description'])} "
            f'<span class="small">{escape(kinds)}</span></p>'
        )
        for content in answer.get("content", {}).values():
            schema = _resolved(content["schema"], schemas)
            if "properties" in schema:
                parts.append(_list(_fields(schema, ""), given=False))
    return "".join(parts)


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{_marked(' '.join(part.split()))}</p>" for part in text.split("\n\n"))


def _marked(text: str) -> str:
    """Return text with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
