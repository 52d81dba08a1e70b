"""Options that help shows in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., object])
Decorator = Callable[[Any], Any]
_GROUP = "judge_group"


def heading(title: str) -> Decorator:
    """Return a decorator that puts the options below it, up to the next heading, in a group."""

    def decorate(callback: Any) -> Any:  # noqa: ANN401 - a function or a command
        # Decorators work from the last to the first: what is below is there, what is above not.
        for option in callback.__click_params__:
            if not hasattr(option, _GROUP):
                setattr(option, _GROUP, title)
        return callback

    return decorate


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
        """Write the options group by group; that of none, --help, comes last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            # Arguments stand in the usage and in the text above.
            if record is not None and isinstance(option, click.Option):
                groups.setdefault(getattr(option, _GROUP, "Other"), []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)
