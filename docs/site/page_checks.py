"""Read what the pages say of the program, without running it.

Commands in blocks and in the text are read by click's own parser: the command is there, and so are
its options; no argument is too many. Options that the text names belong to some command, paths lead
to files, extras are those of pyproject.toml, Python compiles and imports what is there.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import yaml
from page_blocks import Block, Page, logical_lines, without_comment

import judge
from judge.cli import MOVED, main
from judge.cli.options import RENAMED
from judge.cli.removed import OPTIONS

ROOT = Path(__file__).parents[2]
LANGUAGES = ("sh", "python", "yaml", "toml", "json", "csv", "text", "mermaid", "xml")
"""The languages that a block may have; one without any shows an output, or is marked."""

# Options of other programs that a text names alone, and the program that has them.
_FOREIGN = {
    "--array": "sbatch",
    "--build-arg": "docker build",
    "--no-healthcheck": "docker run",
    "--structured-outputs-config": "vllm serve",
}
_FOLDERS = (
    ".ci",
    "bench",
    "cache",
    "cli",
    "docs",
    "examples",
    "judge",
    "prompts",
    "rubrics",
    "tests",
)
_PATH = re.compile(rf"^(?:{'|'.join(re.escape(name) for name in _FOLDERS)})/[\w./-]+$")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
_PLACEHOLDER = re.compile(r"^\.{3}$|^\[?[A-Z][A-Z_|]*\]?(\.{3})?$|^\$")
_STARTS_COMMAND = re.compile(r"^(judge|pip|docker|curl|export|python|sbatch) ")


def problems(page: Page) -> list[str]:
    """Return what a page says that the program does not have."""
    name = page.path.relative_to(ROOT)
    found = [f"{name}:{line}: {words}" for line, words in _problems(page)]
    added: list[str] = []
    for comment in page.comments:
        if comment.text.startswith("adds: "):
            added += comment.text.removeprefix("adds: ").split(", ")
    return [
        words
        for words in dict.fromkeys(found)
        if not any(one in words for one in added)
    ]


def _problems(page: Page) -> Iterator[tuple[int, str]]:
    for block in page.blocks:
        for words in _of_block(block):
            yield block.line, words
    for code in page.indented():
        if any(_STARTS_COMMAND.match(line.strip()) for line in code.text.splitlines()):
            yield code.line, "a command in an indented block: fence it"
    are_old_named = any(
        comment.text.startswith("old names: ") for comment in page.comments
    )
    for code in page.inline():
        if are_old_named and _is_old(code.text):
            continue
        for words in _of_inline(code.text):
            yield code.line, f"`{code.text}`: {words}"
    if words := _without_runs(page):
        yield 1, words


def _is_old(text: str) -> bool:
    """Whether the text has a name of the last version."""
    gone = {*RENAMED, *(removed.option for removed in OPTIONS)}
    words = text.split(" ")
    is_moved = words[0] == "judge" and len(words) > 1 and words[1] in MOVED
    return is_moved or any(word in gone for word in words)


def _of_block(block: Block) -> Iterator[str]:
    is_output = block.mark("output") is not None
    if is_output:
        return
    if not block.language:
        if block.mark("not run") is None and block.file is None:
            yield "a block without a language is no output: mark it, or name the language"
        return
    if block.language not in LANGUAGES:
        yield f"an unknown language, {block.language}"
    elif block.language == "sh":
        for line in logical_lines(block.text):
            yield from _of_shell(line)
            if block.mark("not run") is None and _is_out_of_reach(line):
                yield f"it asks a model or fetches a prompt; mark it as not run: {line}"
    elif block.language == "python":
        yield from _of_python(block.text)
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "yaml":
        yield from _of_yaml(block.text)
    elif block.language == "json":
        yield from _of_json(block.text)


def _is_out_of_reach(line: str) -> bool:
    """Whether a command needs a model, a key or a network."""
    line = without_comment(line)
    is_dry = "--dry-run" in line
    if "judge prompts fetch" in line:
        return True
    return not is_dry and bool(re.search(r"--judge (?!lexicon|sides:)", line))


def _of_json(text: str) -> Iterator[str]:
    try:
        json.loads(text)
    except ValueError:
        for line in text.splitlines():
            try:
                json.loads(line)
            except ValueError as error:
                yield f"no JSON: {error}"
                return


def _of_yaml(text: str) -> Iterator[str]:
    loaded = yaml.safe_load(text)
    # The steps of a job of GitHub Actions.
    for job in (loaded or {}).get("jobs", {}).values():
        for step in job["steps"]:
            if "run" in step:
                yield from _of_shell(step["run"])


def _of_shell(line: str) -> Iterator[str]:
    for words in commands_in(line):
        if words[:2] == ["pip", "install"]:
            yield from _of_extras(" ".join(words[2:]))
        elif words[0] == "judge":
            yield from _of_command(words[1:])


def commands_in(line: str) -> list[list[str]]:
    """Return the simple commands of a line of shell, without the variables before them."""
    lexer = shlex.shlex(without_comment(line), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    found: list[list[str]] = []
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set(";&|()<>"):
            if words:
                found.append(words)
            words = []
        elif not words and (re.match(r"\w+=", word) or word in ("do", "then", "!")):
            continue
        else:
            words.append(word)
    return found


def _of_extras(text: str) -> Iterator[str]:
    for extras in re.findall(r"\[([\w,-]+)\]", text):
        for name in extras.split(","):
            if name not in _extras():
                yield f"there is no extra {name}"


@cache
def _extras() -> frozenset[str]:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return frozenset(tomllib.loads(text)["project"]["optional-dependencies"])


def _of_inline(text: str) -> Iterator[str]:
    if text.startswith("pip install "):
        yield from _of_extras(text)
    if text.startswith("judge ") and not re.match(r"judge \d", text):
        try:
            commands = commands_in(text)
        except ValueError as error:
            yield str(error)
            return
        for words in commands:
            if words[0] == "judge":
                yield from _of_command(words[1:], is_whole=False)
        return
    if text.startswith("--"):
        for option in _OPTION.findall(text):
            if option not in options_of_all() and option not in _FOREIGN:
                yield f"no command has the option {option}"
    if (
        _PATH.match(text)
        and "NAME" not in text
        and not (ROOT / text.rstrip("/")).exists()
    ):
        yield "there is no such file"
    for called in re.findall(r"(?<![\w.-])judge((?:\.\w+)+)", text):
        yield from _of_name(f"judge{called}")


def _of_name(name: str) -> Iterator[str]:
    """Say so where a dotted name of Python leads nowhere."""
    if name.rpartition(".")[2] in (
        "rubrics",
        "backends",
        "metrics",
    ):  # entry points, too
        return
    parts = name.split(".")
    here: object = judge
    for at, part in enumerate(parts[1:], 2):
        if not hasattr(here, part):
            try:
                here = importlib.import_module(".".join(parts[:at]))
            except ImportError:
                yield f"there is no {name} in Python"
                return
        else:
            here = getattr(here, part)


def _of_command(words: list[str], *, is_whole: bool = True) -> Iterator[str]:
    """Say what is wrong with the arguments of `judge`; `is_whole`: none is left out."""
    context = click.Context(main, info_name="judge")
    command: click.Command = main
    path = "judge"
    while isinstance(command, click.Group):
        if not words or words[0].startswith("-") or words[0].isupper():
            if is_whole and not words:
                return
            break
        name = words[0]
        child = command.get_command(context, name)
        is_group_itself = getattr(command, "invoke_without_command", False)
        if child is None and is_group_itself:
            break
        if child is None:
            yield f"there is no command `{path} {name}`"
            return
        if getattr(child, "hidden", False):
            yield f"`{path} {name}` is an old name"
        path = f"{path} {name}"
        command, words = child, words[1:]
        context = click.Context(command, info_name=name, parent=context)
    if words and words[0].isupper() and isinstance(command, click.Group):
        if words[0] != "RUBRIC":  # judge COMMAND --help
            return
        child = command.get_command(context, "green")
        assert child is not None
        command, words = child, words[1:]
        context = click.Context(command, info_name="green", parent=context)
    yield from _of_arguments(context, command, words, is_whole=is_whole)


def _of_arguments(
    context: click.Context, command: click.Command, words: list[str], *, is_whole: bool
) -> Iterator[str]:
    has_more = "..." in words
    words = [word for word in words if word != "..."]
    options = [
        param
        for param in command.get_params(context)
        if isinstance(param, click.Option)
    ]
    by_name = {name: option for option in options for name in option.opts}
    if words and not is_whole:
        last = by_name.get(words[-1])
        if last is not None and not (last.is_flag or last.count):
            words = [*words, "X"]
    try:
        values, rest, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        yield error.format_message()
        return
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    if rest and not isinstance(command, click.Group):
        yield f"one argument too many: {' '.join(rest)}"
    for argument in arguments:
        value = values.get(argument.name or "")
        is_missing = value is None or value == () or not isinstance(value, str | tuple)
        if argument.required and is_missing and is_whole and not has_more:
            yield f"{argument.human_readable_name} is missing"
    for option in options:
        yield from _of_value(option, values.get(option.name or ""))


def _of_value(option: click.Option, value: object) -> Iterator[str]:
    """Say so where an option is given what it does not take, as a form that is not there."""
    given = value if isinstance(value, list | tuple) else [value]
    for one in given:
        if not isinstance(one, str) or _PLACEHOLDER.match(one) or one == "X":
            continue
        if isinstance(option.type, click.Choice):
            choices = [str(choice) for choice in option.type.choices]
            if any(part not in choices for part in one.split("|")):
                yield f"{option.opts[0]} takes {', '.join(choices)}, not {one}"


@cache
def options_of_all() -> frozenset[str]:
    """Return the name of every option of every command."""
    names: set[str] = {"--help", "--version"}
    for _, command in all_commands():
        context = click.Context(command)
        for param in command.get_params(context):
            names |= {*param.opts, *param.secondary_opts}
    return frozenset(names)


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its path."""
    yield from _below("judge", main, click.Context(main, info_name="judge"))


def _below(
    path: str, command: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            inner = click.Context(child, info_name=name, parent=context)
            yield from _below(f"{path} {name}", child, inner)


def _of_python(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        yield f"no Python: {error}"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("judge"):
            yield from _of_import(str(node.module), [one.name for one in node.names])


def _of_import(module: str, names: list[str]) -> Iterator[str]:
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        if error.name and error.name.startswith("judge"):
            yield f"there is no module {module}"
        return  # a package of somebody else's is not here
    for name in names:
        if not hasattr(found, name):
            yield f"{module} has no {name}"


def _without_runs(page: Page) -> str:
    """Say so where a page has commands and runs none of them, without a reason."""
    has_commands = any(
        block.language in ("sh", "python") and not block.file for block in page.blocks
    )
    has_commands = has_commands or any(
        code.text.startswith("judge ") for code in page.inline()
    )
    runs = any(
        block.language in ("sh", "python")
        and not block.file
        and block.mark("not run") is None
        and not re.fullmatch(r"(pip install [^&\n]*\s*)*", block.text)
        for block in page.blocks
    )
    is_excused = any(
        comment.text.startswith("runs nothing: ") for comment in page.comments
    )
    if has_commands and not runs and not is_excused:
        return "it has commands, and none of them is run"
    return ""
