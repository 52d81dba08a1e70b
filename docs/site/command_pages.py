"""A page for each command, made of what its --help says."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterator

import click

from judge import plugins, rubrics
from judge.cli import command_groups, main
from judge.cli.options import HelpEnd, grouped_help, shown_rare

_FOLDER = "reference/commands/"
_NO_GROUP = "Help"
_CODE = re.compile(r"`([^`]+)`|(?<![\w-])--[a-z][a-z-]*[a-z]")


def own_rubrics() -> list[str]:
    """Return the names of the rubrics that this program has itself."""
    return [name for name in rubrics.names() if not plugins.RUBRICS.packages(name)]


def pages() -> dict[str, str]:
    """Return the reference of the command line: where each page lies, and its Markdown."""
    root = click.Context(main, info_name="judge")
    names = [
        name for name in main.list_commands(root) if not plugins.RUBRICS.packages(name)
    ]
    judging = own_rubrics()
    others = [name for name in names if name not in judging]
    found = {
        f"{_FOLDER}index.md": _index(root, judging, others),
        f"{_FOLDER}rubric.md": _judging(root, judging),
    }
    for name in others:
        context = _context(root, name)
        found[f"{_FOLDER}{name}.md"] = "\n\n".join(_page(context))
        if isinstance(context.command, click.Group):
            for sub in context.command.list_commands(context):
                text = "\n\n".join(_page(_context(context, sub)))
                found[f"{_FOLDER}{name}-{sub}.md"] = text
    return found


def _context(parent: click.Context, name: str) -> click.Context:
    assert isinstance(parent.command, click.Group)
    command = parent.command.get_command(parent, name)
    assert command is not None, name
    return command.context_class(command, info_name=name, parent=parent)


def _index(root: click.Context, judging: list[str], others: list[str]) -> str:
    lines = [
        "# Commands",
        "Made from the program itself: each page says what `judge COMMAND --help-all` says.",
        "Each rubric is a command, `judge RUBRIC PREDS [REFS]`: [its options](rubric.md).",
    ]
    for title, names in command_groups().items():
        rows = []
        for name in names:
            if name in judging:
                rows.append(
                    (f"[`judge {name}`](rubric.md)", rubrics.load(name).summary)
                )
            elif name in others:
                context = _context(root, name)
                short = context.command.get_short_help_str(200)
                rows.append((f"[`judge {name}`]({name}.md)", short))
                if isinstance(context.command, click.Group):
                    for sub in context.command.list_commands(context):
                        short = _context(context, sub).command.get_short_help_str(200)
                        rows.append((f"[`judge {name} {sub}`]({name}-{sub}.md)", short))
        lines += [f"## {title}", _table(rows)]
    return "\n\n".join(lines)


def _table(rows: list[tuple[str, str]]) -> str:
    return "\n".join(
        [
            "| command | what it does |",
            "|---|---|",
            *(f"| {a} | {b} |" for a, b in rows),
        ]
    )


def _judging(root: click.Context, names: list[str]) -> str:
    """Return the page of the options that rubrics' commands have in common."""
    context = _context(root, names[0])
    which = ", ".join(f"`{name}`" for name in names)
    usage = context.get_usage().replace(names[0], "RUBRIC")
    parts = [
        "# judge RUBRIC",
        f"`RUBRIC` is one of {which}.",
        f"```text\n{usage}\n```",
        *_prose((context.command.help or "").partition("\n\n")[2]),
    ]
    for title, rows in _records(context).items():
        parts += [f"## {title}", _options(rows)]
    parts += _end(context.command)
    return "\n\n".join(parts)


def _page(context: click.Context) -> Iterator[str]:
    command = context.command
    yield f"# {context.command_path}"
    yield f"```text\n{context.get_usage()}\n```"
    yield from _prose(command.help or "")
    if isinstance(command, click.Group):
        rows = []
        for name in command.list_commands(context):
            short = _context(context, name).command.get_short_help_str(200)
            rows.append(
                (
                    f"[`{context.command_path} {name}`]({context.info_name}-{name}.md)",
                    short,
                )
            )
        yield _table(rows)
    for title, rows in _records(context).items():
        yield f"## {title}"
        yield _options(rows)
    yield from _end(command)


def _end(command: click.Command) -> Iterator[str]:
    """Yield the examples of a command and the page of the documentation."""
    if isinstance(command, HelpEnd):
        lines = "\n".join(command.examples)
        page = command.page.removeprefix("docs/")
        yield "## Examples"
        yield f"```text\n{lines}\n```"
        yield f"More: [{command.page}](../../{page})."


def _records(context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Return the options as --help-all prints them, by their heading."""
    with shown_rare(context.command):
        groups = grouped_help(context)
    return {title: records for title, records in groups.items() if title != _NO_GROUP}


def _prose(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; what click prints as it stands is a block."""
    for part in inspect.cleandoc(text).split("\n\n"):
        if part.startswith("\b"):
            yield f"```text\n{part[1:].strip(chr(10))}\n```"
        elif part.startswith("    "):
            yield f"```text\n{inspect.cleandoc(part)}\n```"
        elif part.strip():
            yield as_html(" ".join(part.split())).replace("*", "&#42;")


def _options(rows: list[tuple[str, str]]) -> str:
    """Return a list of options with what they say; each has an anchor, `#--judge`."""
    lines = ['<dl class="options">']
    for left, right in rows:
        names = re.findall(r"(?<!\w)--[a-z][a-z-]*|(?<!\w)-\w\b", left)
        # The first long name; the short one stands before it.
        name = next((name for name in names if name.startswith("--")), names[0])
        lines.append(f'<dt id="{name}"><code>{html.escape(left)}</code></dt>')
        lines.append(f"<dd>{as_html(right)}</dd>")
    return "\n".join([*lines, "</dl>"])


def as_html(text: str) -> str:
    """Return a line of plain text as HTML; what stands in backticks, and an option, is code."""
    return _CODE.sub(
        lambda found: f"<code>{found[1] or found[0]}</code>",
        html.escape(text, quote=False),
    )
