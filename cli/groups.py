"""Options that help shows in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., object])
Decorator = Callable[[Any], Any]
_GROUP = "judge_group"


def grouped(name: str, *options: Decorator) -> tuple[Decorator, ...]:
    """Return `options`, as `click.option` makes them, for a command that shows them as a group."""

    def marked(option: Decorator) -> Decorator:
        def decorate(callback: Any) -> Any:  # noqa: ANN401 - a function or a command
            decorated = option(callback)
            setattr(decorated.__click_params__[-1], _GROUP, name)
            return decorated

        return decorate

    return tuple(map(marked, options))


def with_options(*options: Decorator) -> Callable[[_Command], _Command]:
    """Return a decorator that gives a command all of `options`, in their order."""

    def decorate(callback: Any) -> Any:  # noqa: ANN401
        for option in reversed(options):
            callback = option(callback)
        return callback

    return decorate


class GroupedCommand(click.Command):
    """A command whose help has a heading for each group of options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group; those of none, as --help, come last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                groups.setdefault(getattr(parameter, _GROUP, ""), []).append(record)
        rest = groups.pop("", [])
        for title, records in (*groups.items(), ("Other" if groups else "Options", rest)):
            with formatter.section(title):
                formatter.write_dl(records)
