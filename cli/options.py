"""The options of the commands, in click's own words, and those that several commands share.

A command is a function below `@click.command(NAME, cls=GroupedCommand)`, its `@click.argument`s
and its `@click.option`s, in the order of the help; each is a keyword of the function. A heading of
the help has a decorator, `partial(click.option, cls=GroupedOption, group=HEADING)`. Options that
commands share are decorators too, such as `@align_options`. The many options of a run are passed
on as one: a command takes them as `**values`, and makes `RunOptions(**values)`, a dataclass.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from click.core import ParameterSource

from judge.text import harmless

if TYPE_CHECKING:
    from judge.comparing.metric_files import MetricFile

_Command = TypeVar("_Command", bound=Callable[..., Any] | click.Command)

RENAMED = {
    **{
        f"--{role}-field": f"--column {role}="
        for role in (
            "id",
            "candidate",
            "reference",
            "class",
            "patient",
            "context",
            "prior",
        )
    },
    "--tables": "--table",
    "--top-p": "--body top_p=",
    "--seed": "--body seed=",
    "--sampling-seed": "--body seed=",
    "--vllm-arg": "--server ",
    "--ray-address": "--server address=",
    "--ray-replicas": "--server replicas=",
    "--gpus-per-replica": "--server gpus-per-replica=",
}
"""Options of the last version -> how they are written now, up to the value."""


class FiniteRange(click.FloatRange):
    """A number in a range, other than `nan` and `inf`."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:  # noqa: ANN401
        """Return the number; raises `click.BadParameter`."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


PATH = click.Path(path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
NEW_FOLDER = click.Path(file_okay=False, path_type=Path)
POSITIVE_INTEGER = click.IntRange(min=1)
POSITIVE = FiniteRange(min=0, min_open=True)


class GroupedOption(click.Option):
    """An option below a heading of the help."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401
        group: str,
        **attributes: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **attributes)
        self.group = group


class OptionDecorator(Protocol):
    """What `click.option(...)` returns."""

    def __call__(self, command: _Command, /) -> _Command:
        """Add options to a command."""


def shared_options(options: Sequence[OptionDecorator]) -> OptionDecorator:
    """Return one decorator of several, which are in the order of the help."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class GroupedCommand(click.Command):
    """A command that shows its options in groups, and takes the option names of `RENAMED`."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, --help-all too where some are rare."""
        params = super().get_params(ctx)
        if any(getattr(param, "hidden", False) for param in self.params):
            params.insert(-1, _HELP_ALL)
        return params

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line, in which old option names may stand.

        Raises `click.UsageError` where an option that takes one value is given twice.
        """
        current = list(_renamed(args, self.params))
        try:
            self._refuse_repeated(ctx, current)
            return super().parse_args(ctx, current)
        except click.NoSuchOption as error:
            raise _with_replacement(error, ctx) from error

    def _refuse_repeated(self, ctx: click.Context, args: list[str]) -> None:
        # click itself takes the last value in silence: who writes `--judge A --judge B` would
        # pay for B and believe that both had been asked.
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        seen = set()
        for param in given:
            takes_one = isinstance(param, click.Option) and not (
                param.multiple or param.is_flag
            )
            if takes_one and param.name in seen:
                name = max(param.opts, key=len)
                raise click.UsageError(
                    f"{name} takes one value and was given twice", ctx=ctx
                )
            seen.add(param.name)

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options group by group."""
        for title, records in grouped_help(ctx).items():
            with formatter.section(title):
                formatter.write_dl(records)


def _with_replacement(
    error: click.NoSuchOption, ctx: click.Context
) -> click.UsageError:
    """Return the error with what replaced the option, where it is one that is gone."""
    from judge.cli.removed import removed_option

    instead = removed_option(error.option_name, below_program(ctx))
    if instead is None:
        return error
    return click.UsageError(f"{error.option_name} is gone: {instead}.", ctx)


def below_program(ctx: click.Context) -> str:
    """Return the names of a context's commands below the program's, as `stress make`."""
    names: list[str] = []
    inner: click.Context | None = ctx
    while inner is not None and inner.parent is not None:
        names.insert(0, inner.info_name or "")
        inner = inner.parent
    return " ".join(names)


class SuggestingGroup(click.Group):
    """A group that names what replaced a command that is gone, or the nearest one there is."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; raises `click.UsageError` where there is none of that name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            self.refuse_removed(ctx, args[0])
            names = self.list_commands(ctx)
            near = difflib.get_close_matches(args[0].lower(), names, 1)
            if near and "Did you mean" not in error.message:
                words = f"{error.message} Did you mean {near[0]}?"
                raise click.UsageError(words, error.ctx) from error
            raise

    def refuse_removed(self, ctx: click.Context, name: str) -> None:
        """Raise `click.UsageError` for a command that is gone, with what replaced it."""
        from judge.cli.removed import removed_command

        path = f"{below_program(ctx)} {name}".strip()
        instead = removed_command(path)
        if instead is not None:
            raise click.UsageError(f"judge {path} is gone: {instead}.", ctx)


def grouped_help(ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Return each group's options with their help, but for hidden ones."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for param in ctx.command.get_params(ctx):
        if isinstance(param, click.Option):
            record = param.get_help_record(ctx)
            # A hidden option has none.
            if record is not None:
                groups.setdefault(_group_of(param), []).append(record)
    return groups


def _group_of(option: click.Option) -> str:
    if isinstance(option, GroupedOption):
        return option.group
    if "--help" in option.opts or option is _HELP_ALL:
        return "Help"
    return "Options"


def show_rare(command: click.Command) -> None:
    """Have the help of a command show its rarely used options."""
    for param in command.params:
        if isinstance(param, click.Option):
            param.hidden = False


def _show_all(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        show_rare(ctx.command)
        click.echo(ctx.get_help())
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options, rarely used ones too, and exit.",
)


def _renamed(args: Iterable[str], params: Iterable[click.Parameter]) -> Iterator[str]:
    """Yield the arguments with the options that a command lacks under their new names."""
    known: set[str] = set()
    for param in params:
        known |= set(param.opts)
    noted = set()
    rest = iter(args)
    for arg in rest:
        name, equals, value = arg.partition("=")
        new, _, key = RENAMED.get(name, "").partition(" ")
        if name in known or new not in known:
            yield arg
            if arg == "--":
                yield from rest
            continue
        if not equals:
            value = next(rest, "")
            if not value:
                raise click.UsageError(f"{name} needs a value")
        if key:
            pair = f"{key}{value}"
        else:
            pair = value.removeprefix("--")
        if name not in noted:
            noted.add(name)
            click.echo(
                f"{name} will be removed: write {new} {harmless(pair)}", err=True
            )
        yield f"{new}={pair}"


def require(holds: bool, needed: str, *fields: str) -> None:  # noqa: FBT001
    """Raise `click.UsageError` where one of the options was given without what it needs.

    `needed` is the condition in words, such as "--figures or --html"; `holds`, whether it holds.
    """
    context = click.get_current_context()
    for param in () if holds else context.command.params:
        source = context.get_parameter_source(str(param.name))
        if param.name in fields and source is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{param.opts[0]} goes with {needed}")


def split_commas(
    _ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the values of an option that is repeated, or has several between commas."""
    names: list[str] = []
    for part in value:
        names += [name.strip() for name in part.split(",")]
    if not all(names):
        raise click.BadParameter("an empty name")
    return tuple(names)


def groupings(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the groupings of `--by FIELD[,FIELD]`, each its fields with commas between them.

    Each has a table, of the combinations of its fields.
    """
    return tuple(",".join(split_commas(ctx, param, (fields,))) for fields in value)


def key_values(
    *, keys: Iterable[str] = (), parse: Callable[[str], object] | None = None
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, Any]]:
    """Return a callback that makes a dictionary of an option KEY=VALUE that is repeated.

    Without `keys` any are allowed; of those, `context` may be repeated and is a tuple. `parse`
    makes the value of its text; without it a key alone has the value None.
    """

    def convert(
        _ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
    ) -> dict[str, Any]:
        form = param.metavar
        pairs: dict[str, Any] = {}
        for pair in value:
            key, equals, text = pair.partition("=")
            if not key or (keys and not (key in keys and text)):
                listed = f" with one of {', '.join(keys)}" if keys else ""
                raise click.BadParameter(f"{pair!r} is not {form}{listed}")
            if parse and not text:
                raise click.BadParameter(f"{form} is needed, not {pair!r}")
            try:
                parsed = parse(text) if parse else text if equals else None
            except ValueError as error:
                raise click.BadParameter(f"{pair!r} is not {form}: {error}") from error
            if key in pairs and key != "context":
                raise click.BadParameter(f"{key} is given twice")
            pairs[key] = (
                (*pairs.get(key, ()), parsed) if key == "context" and keys else parsed
            )
        return pairs

    return convert


def format_option(
    forms: Sequence[str], *, text: str = "", group: str = "Options"
) -> OptionDecorator:
    """Return `--format` with its forms, the usual one first; `text` explains some of them."""
    help_text = "What to print."
    if text:
        help_text += f" {text}"
    return click.option(
        "--format",
        "form",
        cls=GroupedOption,
        group=group,
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help=help_text,
    )


def table_option(tables: Sequence[str], *, group: str = "Options") -> OptionDecorator:
    """Return `--table` of a command that prints these tables."""

    def choose(
        ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
    ) -> tuple[str, ...]:
        names = split_commas(ctx, param, value)
        for name in names:
            if name not in tables:
                listed = ", ".join(tables)
                raise click.BadParameter(
                    f"there is no table {name!r}; there are: {listed}"
                )
        return names

    return click.option(
        "--table",
        cls=GroupedOption,
        group=group,
        metavar="NAME",
        multiple=True,
        callback=choose,
        help=f"Print this table alone (repeatable): {', '.join(tables)}.",
    )


def cache_option(*, group: str = "Options") -> OptionDecorator:
    """Return `--cache`."""
    return click.option(
        "--cache",
        cls=GroupedOption,
        group=group,
        type=PATH,
        metavar="DIR",
        envvar="JUDGE_CACHE",
        show_envvar=True,
        help="The folder of cached answers. Default: the user's cache folder.",
    )


def figures_options(
    figures: Sequence[str], default: Sequence[str], *, group: str = "Options"
) -> OptionDecorator:
    """Return `--figures` and `--only` of a command that draws these figures.

    `default` are those that are drawn where `--only` names none.
    """
    folder = click.option(
        "--figures",
        cls=GroupedOption,
        group=group,
        type=NEW_FOLDER,
        metavar="DIR",
        help=(
            "Draw figures into this folder, as SVG, PDF, PNG and Vega-Lite (needs vl-convert)."
        ),
    )
    return shared_options([folder, only_option(figures, default, group=group)])


def only_option(
    figures: Sequence[str], default: Sequence[str], *, group: str = "Options"
) -> OptionDecorator:
    """Return `--only`, which names some of these figures; `default` are drawn without it."""

    def choose(
        ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
    ) -> tuple[str, ...]:
        names = split_commas(ctx, param, value)
        for name in names:
            if name not in figures:
                listed = ", ".join(figures)
                raise click.BadParameter(
                    f"there is no figure {name!r}; there are: {listed}"
                )
        return tuple(dict.fromkeys(names))

    return click.option(
        "--only",
        cls=GroupedOption,
        group=group,
        metavar="NAME",
        multiple=True,
        callback=choose,
        help=(
            f"Draw these figures alone (repeatable): {', '.join(figures)}. "
            f"Default: {', '.join(default)}."
        ),
    )


def patient_option(*, group: str = "Options") -> OptionDecorator:
    """Return `--patient-field`."""
    return click.option(
        "--patient-field",
        cls=GroupedOption,
        group=group,
        metavar="FIELD",
        help=(
            "The field that names the patient, by whom studies are resampled; `none` treats "
            "studies as independent. Default: patient, patient_id, subject_id or subject, if "
            "there."
        ),
    )


_SEED = 20_260_101  # That of judge.stats.intervals, whose import would slow every help down.


def seed_option(*, group: str = "Options") -> OptionDecorator:
    """Return `--seed`."""
    return click.option(
        "--seed",
        cls=GroupedOption,
        group=group,
        type=click.IntRange(min=0),
        metavar="N",
        default=_SEED,
        show_default=True,
        help="Random seed of bootstraps and permutation tests.",
    )


def resamples_option(*, group: str = "Options") -> OptionDecorator:
    """Return `--resamples`."""
    return click.option(
        "--resamples",
        cls=GroupedOption,
        group=group,
        type=click.IntRange(min=100),
        metavar="N",
        help=(
            "Bootstrap resamples for the intervals. Default: 10000, or 1000 for more than 1,500 "
            "patients or studies and in judge validate."
        ),
    )


resampling_options = shared_options(
    [
        patient_option(group="Statistics"),
        resamples_option(group="Statistics"),
        seed_option(group="Statistics"),
    ]
)
"""How intervals are resampled: `patient_field`, `resamples`, `seed`."""


_studies_option = partial(click.option, cls=GroupedOption, group="Studies")

allow_option = _studies_option(
    "--allow",
    type=click.Choice(["judge", "prompt", "references"]),
    multiple=True,
    help="Compare runs although this differs between them (repeatable).",
)
"""What may differ between runs that are compared: `allow`."""

align_options = shared_options(
    [
        allow_option,
        _studies_option(
            "--common",
            is_flag=True,
            help="Compare only the studies that all runs have.",
        ),
    ]
)
"""Which studies of several runs are compared: `allow`, `common`."""

_metrics_option = partial(click.option, cls=GroupedOption, group="Metrics")

metric_file_options = shared_options(
    [
        _metrics_option(
            "--metrics",
            "files",
            multiple=True,
            metavar="FILE",
            help=(
                "Other metrics of the same studies: CSV, TSV, Parquet or JSON with study_id, model "
                "(if several) and one column a metric (repeatable)."
            ),
        ),
        _metrics_option(
            "--higher-is-better",
            "higher",
            multiple=True,
            metavar="NAME",
            callback=split_commas,
            help="A column of --metrics in which higher is better, if its name does not say so.",
        ),
        _metrics_option(
            "--lower-is-better",
            "lower",
            multiple=True,
            metavar="NAME",
            callback=split_commas,
            help="The same for lower is better.",
        ),
    ]
)
"""Other metrics that were computed elsewhere: `files`, `higher`, `lower`."""


def read_metric_files(
    files: tuple[str, ...], *, higher: tuple[str, ...], lower: tuple[str, ...]
) -> list[MetricFile]:
    """Read the files of `--metrics`; raises `JudgeError` as `read_metrics` does."""
    from judge.comparing import metric_files

    require(bool(files), "--metrics", "higher", "lower")
    return metric_files.read_files(files, higher=higher, lower=lower)
