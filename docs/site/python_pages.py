"""The Python interface: each public name with its signature and what its docstring says."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, get_args

import judge
import judge.backends
import judge.metrics
import judge.rubrics
import judge.types

_FOLDER = "reference/python/"
# What a package of somebody else's needs beside `judge` itself: see docs/python.md.
_FOR_PACKAGES = (
    (
        "declaring",
        "What a rubric declares",
        {
            judge.rubrics: (
                *(
                    "Kind",
                    "Facet",
                    "Label",
                    "Measure",
                    "Counted",
                    "Statistic",
                    "Mean",
                    "InverseMean",
                    "Rate",
                    "Ratio",
                    "Order",
                    "Tally",
                ),
                *("StructuredReply", "Source"),
            )
        },
    ),
    (
        "extending",
        "For packages that add a rubric, a judge or a metric",
        {
            judge.types: (
                *("Item", "Edit", "Category", "ReportComparison", "Discrepancy"),
                *("ReportFinding", "AttributeDifference", "Statement"),
            ),
            judge.backends: ("Judge", "JudgeSettings"),
            judge.metrics: ("AddedMetric",),
        },
    ),
)
_RESULTS = (
    "Leaderboard",
    "ExperimentResult",
    "Validation",
    "StressReport",
    "RequestPolicy",
    "Resampling",
    "Experiment",
)
_UNDERLINE = re.compile(r"^(.+)\n-{3,}$", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return the reference of the Python interface: where each page lies, and its Markdown."""
    public = {name: getattr(judge, name) for name in judge.__all__}
    functions = {name: of for name, of in public.items() if inspect.isfunction(of)}
    errors = {name: of for name, of in public.items() if _is_error(of)}
    made = {name: public[name] for name in _RESULTS}
    rest = {
        name: of for name, of in public.items() if name not in functions | errors | made
    }
    run = {"Run": rest.pop("Run")}
    del rest["__version__"]  # in the table alone
    lines = [
        "# Python: all names",
        (
            "Made of the program itself. Everything here is imported from `judge`; "
            "[From Python](../../python.md) shows how it is used."
        ),
        "| name | what it is |",
        "|---|---|",
    ]
    table = ["| `__version__` | The version of this program, a text. |"]
    found = {}
    for page, title, names in (
        ("annotate", "annotate and run", _picked(functions, "annotate", "run")),
        ("functions", "Other functions", _without(functions, "annotate", "run")),
        ("runs", "Run", run),
        ("results", "Results and settings", made),
        ("values", "Studies, outcomes, rubrics", rest),
        ("errors", "Errors", errors),
    ):
        found[f"{_FOLDER}{page}.md"] = "\n\n".join(
            [f"# {title}", *_entries("judge", names)]
        )
        table += [
            f"| [`{name}`]({page}.md#{name}) | {_first(of)} |"
            for name, of in names.items()
        ]
    for page, title, modules in _FOR_PACKAGES:
        parts = [f"# {title}"]
        for module, of_module in modules.items():
            of = {name: getattr(module, name) for name in of_module}
            parts += _entries(module.__name__, of)
            table += [
                f"| [`{module.__name__}.{name}`]({page}.md#{name}) | {_first(one)} |"
                for name, one in of.items()
            ]
        found[f"{_FOLDER}{page}.md"] = "\n\n".join(parts)
    index = "\n\n".join(lines[:2]) + "\n\n" + "\n".join([*lines[2:], *table])
    return {f"{_FOLDER}index.md": index, **found}


def _picked(names: dict[str, Any], *wanted: str) -> dict[str, Any]:
    return {name: names[name] for name in wanted}


def _without(names: dict[str, Any], *others: str) -> dict[str, Any]:
    return {name: of for name, of in names.items() if name not in others}


def _is_error(of: object) -> bool:
    return inspect.isclass(of) and issubclass(of, Exception)


def _first(of: object) -> str:
    """Return the first sentence of what documents it."""
    if not inspect.isclass(of) and not inspect.isfunction(of):
        return "Any of the ways in which a study ends."
    text = " ".join((inspect.getdoc(of) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s", text)[0].replace("|", "\\|")


def _entries(module: str, names: dict[str, Any]) -> Iterator[str]:
    for name, of in names.items():
        yield f'<a id="{name}"></a>\n\n## `{name}`'
        if inspect.isclass(of) or inspect.isfunction(of):
            yield f"```python\n{_import(module, name)}\n\n{_called(name, of)}\n```"
            yield from _documented(of)
            if inspect.isclass(of):
                yield from _members(of)
        else:
            kinds = " | ".join(one.__name__ for one in get_args(of))
            yield f"```python\n{_import(module, name)}\n\n{name} = {kinds}\n```"
            yield _first(of)


def _import(module: str, name: str) -> str:
    return f"from {module} import {name}"


def _called(name: str, of: Callable[..., object]) -> str:
    """Return how it is called, a parameter a line where there are several."""
    if inspect.isclass(of) and issubclass(of, Enum):
        return "\n".join(f"{name}.{one}  # {of[one].value!r}" for one in of.__members__)
    if _is_error(of):
        return f"raise {name}(...)" if name == "JudgeError" else f"except {name}: ..."
    signature = inspect.signature(of)
    own = [
        one for one in signature.parameters.values() if one.name not in ("self", "cls")
    ]
    own = [one for one in own if not one.name.startswith("_")]
    shown = [_parameter(one) for one in own]
    stars = [
        at for at, one in enumerate(own) if one.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    has_rest = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in own)
    if stars and not has_rest:
        shown.insert(stars[0], "*")
    returned = signature.return_annotation
    is_said = (
        isinstance(returned, str) and returned != "None" and not inspect.isclass(of)
    )
    arrow = f" -> {returned}" if is_said else ""
    flat = f"{name}({', '.join(shown)}){arrow}"
    if len(flat) <= 88:
        return flat
    return "\n".join([f"{name}(", *(f"    {one}," for one in shown), f"){arrow}"])


def _parameter(one: inspect.Parameter) -> str:
    star = "*" * (one.kind is one.VAR_POSITIONAL) + "**" * (one.kind is one.VAR_KEYWORD)
    kind = "" if one.annotation is one.empty else f": {one.annotation}"
    if one.default is one.empty:
        return f"{star}{one.name}{kind}"
    default = "..." if "<" in repr(one.default) else repr(one.default)
    if isinstance(one.default, frozenset):  # in no order of its own
        default = f"frozenset({sorted(one.default)!r})"
    return f"{star}{one.name}{kind} = {default}"


def _documented(of: object) -> Iterator[str]:
    """Yield a docstring as Markdown: numpydoc's sections as lists, the rest as it stands."""
    parts = _UNDERLINE.split(inspect.getdoc(of) or "")
    yield _escaped(parts[0].strip())
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        yield f"**{title}**"
        yield "\n".join(_definitions(body.strip("\n")))


def _definitions(body: str) -> Iterator[str]:
    for block in re.split(r"\n(?=\S)", body):
        head, _, said = block.partition("\n")
        yield f"- `{head}`: {_escaped(' '.join(said.split()))}"


def _escaped(text: str) -> str:
    """Return text of which no mark outside of backticks is taken for Markdown."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*_<\[\]])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def _members(of: type) -> Iterator[str]:
    for name, member in vars(of).items():
        if name.startswith("_"):
            continue
        inner = getattr(member, "func", member)  # of a property that is kept
        if isinstance(member, property):
            inner = member.fget
        if isinstance(member, (classmethod, staticmethod)):
            inner = member.__func__
        if not inspect.isfunction(inner) or not inspect.getdoc(inner):
            continue
        is_read = isinstance(member, property) or (
            inner is not member and hasattr(member, "func")
        )
        yield f'<a id="{of.__name__}.{name}"></a>\n\n### `{of.__name__}.{name}`'
        returned = inspect.signature(inner).return_annotation
        shown = f"{name}: {returned}" if is_read else _called(name, inner)
        yield f"```python\n{shown}\n```"
        yield from _documented(inner)
