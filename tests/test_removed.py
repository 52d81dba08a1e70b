"""A command or an option that is gone names what replaced it, and that exists."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from support import ROOT, Invoke

import judge
from judge import rubrics
from judge.cli import main
from judge.cli.options import RENAMED
from judge.cli.removed import COMMANDS, OPTIONS, Removed

ALL = [*COMMANDS.values(), *(removed.instead for removed in OPTIONS)]
NAMED = re.compile(r"judge (?P<path>[a-z]+(?: [a-z]+)?)")
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*(?=[\s,.;)]|$)")


def command_at(path: str) -> click.Command | None:
    """The command of this name below the program, such as `cache info`."""
    found: click.Command = main
    for name in path.split():
        if not isinstance(found, click.Group):
            return None
        within = found.get_command(click.Context(found), name)
        if within is None:
            return None
        found = within
    return found


def options_of(path: str) -> set[str]:
    command = command_at(path)
    assert command is not None, path
    return {name for param in command.params for name in param.opts}


def named_in(text: str) -> list[tuple[str, set[str]]]:
    """The commands that a sentence names, each with the options that follow it."""
    found = []
    pieces = re.split(r"(?=\bjudge [a-z])", text)
    for piece in pieces:
        match = NAMED.match(piece)
        if match is None:
            continue
        path = match["path"]
        if command_at(path) is None:
            path = path.split()[0]
        found.append((path, set(OPTION.findall(piece))))
    return found


@pytest.mark.parametrize("text", ALL)
def test_each_replacement_exists(text: str) -> None:
    named = named_in(text)
    for path, options in named:
        assert options <= options_of(path), path
    if not named:
        # A sentence about judging names options alone.
        assert set(OPTION.findall(text)) <= options_of("green")
    for file in re.findall(r"(?:docs|examples)/[\w.]+", text):
        assert (ROOT / file).is_file(), file


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_gone_says_so(invoke: Invoke, name: str) -> None:
    assert command_at(name) is None
    done = invoke(*name.split(), "x", "--format", "json")
    assert done.exit_code == 2
    said = done.stderr.splitlines()[-1]
    assert said == f"Error: judge {name} is gone: {COMMANDS[name]}."


@pytest.mark.parametrize("removed", OPTIONS, ids=lambda removed: removed.option)
def test_an_option_that_is_gone_says_so(invoke: Invoke, removed: Removed) -> None:
    for path in removed.commands or ("green", "crimson", "validate"):
        assert removed.option not in options_of(path)
        for given in ([removed.option, "3"], [f"{removed.option}=3"]):
            done = invoke(*path.split(), "x", "y", *given)
            assert done.exit_code == 2
            said = done.stderr.splitlines()[-1]
            assert said == f"Error: {removed.option} is gone: {removed.instead}."
    if removed.commands:
        # Another command never had it.
        done = invoke("runs", "rescore", "x", removed.option)
        assert f"No such option '{removed.option}'" in done.stderr


def test_no_option_is_both_renamed_and_gone() -> None:
    assert not {removed.option for removed in OPTIONS} & set(RENAMED)
    known: set[str] = set()
    for path in ("green", "compare", "rates", "audit", "readers sample", "serve"):
        known |= options_of(path)
    known |= options_of("cache prune")
    for name, names in RENAMED.items():
        for new in names:
            assert new.partition(" ")[0] in known, name


def test_each_command_that_the_changelog_removes_is_known() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    _, _, rest = text.partition("### Removed")
    section, _, _ = rest.partition("\n## ")
    gone = set(re.findall(r"^- `judge ([a-z]+)`", section, re.MULTILINE))
    assert gone
    assert gone <= set(COMMANDS)


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("gren",), "green"),
        (("Comapre", "x"), "compare"),
        (("cache", "inof"), "info"),
        (("prompts", "shwo"), "show"),
        (("green", "a", "b", "--dry-rnu"), "--dry-run"),
        (("compare", "a", "--sotr", "x"), "--sort"),
    ],
)
def test_a_slip_names_the_nearest(
    invoke: Invoke, words: tuple[str, ...], near: str
) -> None:
    done = invoke(*words)
    assert done.exit_code == 2
    said = done.stderr.splitlines()[-1]
    assert "Did you mean" in said
    assert near in said


def test_a_rubric_may_have_the_name_of_a_command_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    known = [*rubrics.names(), "reviews"]
    green = rubrics.load("green")
    monkeypatch.setattr(rubrics, "names", lambda: known)
    monkeypatch.setattr(rubrics, "load", lambda _name: green)
    assert invoke("reviews", "--help").exit_code == 0


def test_a_name_of_python_that_is_gone_says_so() -> None:
    for name, new in judge._REMOVED.items():
        assert new in judge.__all__
        with pytest.raises(
            AttributeError, match=rf"judge\.{name} is gone: use judge\.{new}"
        ):
            getattr(judge, name)


def test_the_table_is_loaded_for_errors_alone() -> None:
    source = (Path(judge.__file__).parent / "cli" / "options.py").read_text("utf-8")
    assert not re.search(r"^from judge\.cli\.removed", source, re.MULTILINE)
