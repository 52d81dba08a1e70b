"""The options of the commands, in click's own words, and those that several commands share.

An option that two commands have is defined here once, as a function that returns it: it then has
the same name, metavar and type everywhere. What only the options of a run share is in
`judge.cli.run_options`.

A command is a function below `@click.command(NAME, cls=GroupedCommand)`, its `@click.argument`s
and its `@click.option`s, in the order of the help; each is a keyword of the function. A heading of
the help has a decorator, `partial(click.option, cls=GroupedOption, group=HEADING)`. Options that
commands share are decorators too, such as `@align_options`. The many options of a run are passed
on as one: a command takes them as `**values`, and makes `RunOptions(**values)`, a dataclass.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from click.core import ParameterSource

from judge.text import harmless

if TYPE_CHECKING:
    from judge.comparing.metric_files import MetricFile

_Command = TypeVar("_Command", bound=Callable[..., Any] | click.Command)

RENAMED: dict[str, tuple[str, ...]] = {
    **{
        f"--{role}-field": (f"--column {role}=",)
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
    "--tables": ("--table",),
    "--top-p": ("--body top_p=",),
    "--seed": ("--draw-seed", "--body seed="),
    "--sampling-seed": ("--body seed=",),
    "--vllm-arg": ("--server ",),
    "--ray-address": ("--server address=",),
    "--ray-replicas": ("--server replicas=",),
    "--gpus-per-replica": ("--server gpus-per-replica=",),
    "--readings": ("--readers",),
    "--readings-at-random": ("--drawn-at-random",),
    "--worst": ("--rows",),
    "--top": ("--rows",),
    "--only": ("--draw",),
    "--allow-judge": ("--offer",),
    "--by": ("--strata",),
    "--model": ("--judge-model",),
}
"""Options of the last version -> how they are written now, up to the value.

A command takes an old name where it has no option of that name, and has the new one: the first of
several that it has.
"""


class FiniteRange(click.FloatRange):
    """A number in a range, other than `nan` and `inf`."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:  # noqa: ANN401
        """Return the number; raises `click.BadParameter`."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number

    def _describe_range(self) -> str:
        if self.min is None and self.max is None:
            return ""
        return super()._describe_range()


PATH = click.Path(path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
NEW_FOLDER = click.Path(file_okay=False, path_type=Path)
POSITIVE_INTEGER = click.IntRange(min=1)
POSITIVE = FiniteRange(min=0, min_open=True)
FORMS = ("table", "md", "latex", "csv", "json")
"""The forms in which every command prints tables."""
BOARD_TABLES = ("summary", "leaderboard", "errors", "tests", "ranks", "correlations")
"""The tables of a comparison, as `--table` names them."""


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


class HelpEnd(click.Command):
    """A command whose help ends with examples and the address of its page in the documentation.

    Attributes:
        examples: Command lines that run as they are written, with RUN for a run.
        page: The file of the documentation, such as `docs/judging.md`.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401
        examples: Sequence[str] = (),
        page: str = "",
        **attributes: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **attributes)
        self.examples = tuple(examples)
        self.page = page

    def format_epilog(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the examples and the address of the page."""
        if self.examples:
            title = "Example" if len(self.examples) == 1 else "Examples"
            with formatter.section(title):
                for line in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")
        if self.page:
            formatter.write(f"\nDocumentation: {self.page}\n")


class GroupedCommand(HelpEnd):
    """A command that shows its options in groups, and takes the option names of `RENAMED`.

    `rare` are options that only --help-all shows, beside those that are hidden everywhere.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401
        rare: Collection[str] = (),
        **attributes: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **attributes)
        for param in self.params:
            if isinstance(param, click.Option) and {*param.opts} & {*rare}:
                param.hidden = True

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, those of every command too; --help-all where some are rare."""
        params = super().get_params(ctx)
        params[-1:-1] = [_QUIET, _VERBOSE]
        if any(getattr(param, "hidden", False) for param in self.params):
            params.append(_HELP_ALL)
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


class SuggestingGroup(HelpEnd, click.Group):
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
    if "--help" in option.opts or option in (_HELP_ALL, _QUIET, _VERBOSE):
        return "Help"
    return "Options"


@contextmanager
def shown_rare(command: click.Command) -> Iterator[None]:
    """Have the help of a command show its rarely used options within the block."""
    hidden = []
    for param in command.params:
        if isinstance(param, click.Option) and param.hidden:
            hidden.append(param)
            param.hidden = False
    try:
        yield
    finally:
        for param in hidden:
            param.hidden = True


def _show_all(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        with shown_rare(ctx.command):
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

QUIET = "judge.quiet"
"""The key of a context's `meta` that says that notes and progress are not shown."""
VERBOSE = "judge.verbose"
"""The key of a context's `meta` that says that requests and the places of errors are shown."""


def _be_quiet(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        ctx.meta[QUIET] = True


def _be_verbose(ctx: click.Context, _param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if not value:
        return
    import logging

    ctx.meta[VERBOSE] = True
    log = logging.getLogger()
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
    level = log.level

    def restore() -> None:
        log.removeHandler(handler)
        log.setLevel(level)

    log.addHandler(handler)
    log.setLevel(logging.INFO)
    ctx.call_on_close(restore)


_QUIET = click.Option(
    ["-q", "--quiet"],
    is_flag=True,
    expose_value=False,
    callback=_be_quiet,
    help="Print results and errors, but no notes and no progress.",
)
_VERBOSE = click.Option(
    ["-v", "--verbose"],
    is_flag=True,
    expose_value=False,
    callback=_be_verbose,
    help="Also log each request, and where in the program an error arose.",
)


def _renamed(args: Iterable[str], params: Iterable[click.Parameter]) -> Iterator[str]:
    """Yield the arguments with the options that a command lacks under their new names."""
    known: dict[str, click.Parameter] = {}
    for param in params:
        known |= dict.fromkeys(param.opts, param)
    noted = set()
    rest = iter(args)
    for arg in rest:
        name, equals, value = arg.partition("=")
        written = _new_name(name, known)
        if written is None:
            yield arg
            if arg == "--":
                yield from rest
            continue
        new, _, key = written.partition(" ")
        param = known[new]
        is_flag = isinstance(param, click.Option) and param.is_flag
        if not equals and not is_flag:
            value = next(rest, "")
            if not value:
                raise click.UsageError(f"{name} needs a value")
        if key:
            pair = f"{key}{value}"
        else:
            pair = value.removeprefix("--")
        now = new if is_flag else f"{new} {harmless(pair)}"
        if name not in noted:
            noted.add(name)
            renamed(name, now)
        if is_flag:
            yield new
        else:
            yield f"{new}={pair}"


def renamed(old: str, new: str) -> None:
    """Say how an old name is written now, which still works in this version."""
    click.echo(f"{old} will be removed: write {new}", err=True)


def _new_name(name: str, known: Mapping[str, object]) -> str | None:
    """Return how an old option is written now, None where `name` is none of this command."""
    if name in known:
        return None
    for new in RENAMED.get(name, ()):
        if new.partition(" ")[0] in known:
            return new
    return None


def require(holds: bool, needed: str, *fields: str) -> None:  # noqa: FBT001
    """Raise `click.UsageError` where one of the options was given without what it needs.

    `needed` is the condition in words, such as "--figures or --html"; `holds`, whether it holds.
    """
    context = click.get_current_context()
    for param in () if holds else context.command.params:
        source = context.get_parameter_source(str(param.name))
        if param.name in fields and source is ParameterSource.COMMANDLINE:
            name = max(param.opts, key=len)
            raise click.UsageError(f"{name} goes with {needed}")


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


def by_option(
    text: str, *, default: Sequence[str] = (), group: str = "Options"
) -> OptionDecorator:
    """Return `--by`; `text` says what is grouped."""
    return click.option(
        "-b",
        "--by",
        cls=GroupedOption,
        group=group,
        metavar="FIELD[,FIELD]",
        multiple=True,
        callback=groupings,
        default=tuple(default),
        show_default=bool(default),
        help=f"{text} Repeat it for several groupings; a,b groups by combinations.",
    )


def out_option(
    text: str,
    *,
    metavar: str = "DIR",
    path: click.Path = PATH,
    required: bool = False,
    default: str | None = None,
    group: str = "Options",
) -> OptionDecorator:
    """Return `--out`; `text` says what is written there."""
    return click.option(
        "-o",
        "--out",
        cls=GroupedOption,
        group=group,
        type=path,
        metavar=metavar,
        required=required,
        default=default,
        show_default=default is not None,
        help=text,
    )


def floor_option(
    text: str, *, multiple: bool = False, group: str = "Options"
) -> OptionDecorator:
    """Return `--floor`, the folder of a stress test; `text` says what is shown of it."""
    return click.option(
        "--floor",
        cls=GroupedOption,
        group=group,
        type=PATH,
        metavar="FOLDER",
        multiple=multiple,
        help=text,
    )


def check_floor_table(tables: Collection[str], *, has_floor: bool) -> None:
    """Raise `click.UsageError` where the table of the floor is asked for without `--floor`."""
    if "floor" in tables and not has_floor:
        raise click.UsageError("--table floor goes with --floor")


def limit_option(
    text: str, *, default: int | None = None, group: str = "Options"
) -> OptionDecorator:
    """Return `--limit`, a number of studies that are drawn at random."""
    return click.option(
        "-n",
        "--limit",
        cls=GroupedOption,
        group=group,
        type=POSITIVE_INTEGER,
        metavar="STUDIES",
        default=default,
        show_default=default is not None,
        help=text,
    )


def rows_option(
    text: str, *, default: int | None = None, group: str = "Options"
) -> OptionDecorator:
    """Return `--rows`, how many rows of a long table are printed."""
    return click.option(
        "--rows",
        cls=GroupedOption,
        group=group,
        type=POSITIVE_INTEGER,
        metavar="ROWS",
        default=default,
        show_default=default is not None,
        help=text,
    )


def judge_option(text: str, *, group: str = "Options") -> OptionDecorator:
    """Return `--judge`."""
    return click.option(
        "-j", "--judge", cls=GroupedOption, group=group, metavar="JUDGE", help=text
    )


def prompt_option(text: str, *, group: str = "Options") -> OptionDecorator:
    """Return `--prompt`, a wording of the rubric's question."""
    return click.option(
        "--prompt", cls=GroupedOption, group=group, metavar="NAME|FILE", help=text
    )


def base_url_option(
    text: str, *, multiple: bool = True, group: str = "Options"
) -> OptionDecorator:
    """Return `--base-url`, the address of a server."""
    return click.option(
        "--base-url",
        cls=GroupedOption,
        group=group,
        multiple=multiple,
        metavar="URL",
        help=text,
    )


def draw_seed_option(
    *,
    default: int | None = None,
    parameter: str = "seed",
    group: str = "Options",
) -> OptionDecorator:
    """Return `--draw-seed`, the seed by which studies are drawn."""
    text = "The random seed of the draw of studies."
    if default is None:
        text += " Default: 1."
    return click.option(
        "--draw-seed",
        parameter,
        cls=GroupedOption,
        group=group,
        type=click.IntRange(min=0),
        metavar="SEED",
        default=default,
        show_default=default is not None,
        help=text,
    )


def modality_option(
    text: str, *, hidden: bool = False, group: str = "Options"
) -> OptionDecorator:
    """Return `--modality`, the kind of images that the reports are about."""
    return click.option(
        "--modality",
        cls=GroupedOption,
        group=group,
        hidden=hidden,
        metavar="xr|ct|mr|us|mg|chest-ct|abdomen-ct|brain-mr",
        help=text,
    )


def strata_option(*, group: str = "Options") -> OptionDecorator:
    """Return `--strata`, the fields `by` whose groups are drawn from."""
    return click.option(
        "--strata",
        "by",
        cls=GroupedOption,
        group=group,
        multiple=True,
        metavar="FIELD[,FIELD]",
        callback=split_commas,
        help=(
            "Draw from each group of studies by these fields, about in proportion to its size. "
            "Default: study_class."
        ),
    )


def model_option(*, hidden: bool = False, group: str = "Options") -> OptionDecorator:
    """Return `--model`, the name of the model that wrote the candidates."""
    return click.option(
        "--model",
        cls=GroupedOption,
        group=group,
        metavar="NAME",
        hidden=hidden,
        help=(
            "The model that wrote the candidates. Default: the field model, else from the file "
            "name (maira2 for preds_maira2.json)."
        ),
    )


def max_cost_option(*, group: str = "Options") -> OptionDecorator:
    """Return `--max-cost`."""
    return click.option(
        "--max-cost",
        cls=GroupedOption,
        group=group,
        type=POSITIVE,
        metavar="DOLLARS",
        help=(
            "Stop before the studies of this command cost more in all, earlier commands on them "
            "included. (judge serve --budget limits all runs of a judge.)"
        ),
    )


def dry_run_option(
    text: str = "Show what would be asked, what is cached and what it may cost; ask nothing.",
    *,
    group: str = "Options",
) -> OptionDecorator:
    """Return `--dry-run`; `text` says what is shown."""
    return click.option(
        "--dry-run", cls=GroupedOption, group=group, is_flag=True, help=text
    )


def concurrency_option(
    text: str = "The most requests at a time. Default: 16, or 128 for each vLLM.",
    *,
    hidden: bool = False,
    group: str = "Options",
) -> OptionDecorator:
    """Return `--concurrency`."""
    return click.option(
        "--concurrency",
        cls=GroupedOption,
        group=group,
        type=POSITIVE_INTEGER,
        metavar="REQUESTS",
        hidden=hidden,
        help=text,
    )


def min_coverage_option(
    *, default: float | None = None, hidden: bool = False, group: str = "Options"
) -> OptionDecorator:
    """Return `--min-coverage`; without a default, the experiment's file has one."""
    text = (
        "Exit with code 3 if a smaller share of the studies of a run could be scored."
    )
    if default is None:
        text += " Default: 0.99."
    return click.option(
        "--min-coverage",
        cls=GroupedOption,
        group=group,
        type=FiniteRange(0, 1),
        metavar="SHARE",
        default=default,
        show_default=default is not None,
        hidden=hidden,
        help=text,
    )


def give_up_after_option(
    *, default: int | None = None, group: str = "Options"
) -> OptionDecorator:
    """Return `--give-up-after`; without a default, the experiment's file has one."""
    return click.option(
        "--give-up-after",
        cls=GroupedOption,
        group=group,
        type=click.IntRange(min=0),
        metavar="ANSWERS",
        default=default,
        show_default=default is not None,
        hidden=True,
        help=(
            "After this many answers, stop a judge if over half of them cannot be read; 0: never."
        ),
    )


def readers_option(
    text: str = "", *, required: bool = False, group: str = "Options"
) -> OptionDecorator:
    """Return `--readers`; `text` says what they are used for."""
    return click.option(
        "--readers",
        cls=GroupedOption,
        group=group,
        multiple=True,
        metavar="[NAME=]RUN",
        required=required,
        help=(
            f"{text}A reader's run of the same reports, from judge readers import, or a folder of "
            "them (repeatable)."
        ),
    )


def rubric_option(text: str, *, group: str = "Options") -> OptionDecorator:
    """Return `--rubric`, GREEN by default; `text` says what the rubric is for."""
    return click.option(
        "--rubric",
        cls=GroupedOption,
        group=group,
        metavar="NAME",
        default="green",
        show_default=True,
        help=text,
    )


def reader_option(text: str) -> OptionDecorator:
    """Return `--reader`, the name of one reader."""
    return click.option("--reader", metavar="NAME", help=text)


def drawn_at_random_option(*, group: str = "Options") -> OptionDecorator:
    """Return `--drawn-at-random`, which says how the studies of `--readers` were drawn."""
    return click.option(
        "--drawn-at-random",
        "at_random",
        cls=GroupedOption,
        group=group,
        is_flag=True,
        help=(
            "Take the studies of --readers as drawn at random, even if their runs do not say so."
        ),
    )


def against_option(text: str, *, group: str = "Options") -> OptionDecorator:
    """Return `--against`, another run of the same studies."""
    return click.option(
        "--against",
        cls=GroupedOption,
        group=group,
        type=PATH,
        metavar="RUN",
        help=text,
    )


def margin_option(
    text: str,
    *,
    most: float | None = None,
    default: float | None = None,
    group: str = "Options",
) -> OptionDecorator:
    """Return `--margin`, how large a difference may be, `most` at the most."""
    return click.option(
        "--margin",
        cls=GroupedOption,
        group=group,
        type=FiniteRange(0, most),
        metavar="VALUE",
        default=default,
        show_default=default is not None,
        help=text,
    )


def metric_option(parameter: str, text: str, *, group: str) -> OptionDecorator:
    """Return `--metric`, whose names the command takes as `parameter`."""
    return click.option(
        "--metric",
        parameter,
        cls=GroupedOption,
        group=group,
        multiple=True,
        metavar="NAME",
        callback=split_commas,
        help=f"{text} (repeatable, or with commas).",
    )


def yes_option(text: str, *, group: str = "Options") -> OptionDecorator:
    """Return `--yes`."""
    return click.option(
        "--yes", cls=GroupedOption, group=group, is_flag=True, help=text
    )


def format_option(
    forms: Sequence[str] = FORMS, *, text: str = "", group: str = "Options"
) -> OptionDecorator:
    """Return `--format` with its forms, the usual one first; `text` explains some of them."""
    help_text = f"What to print: {', '.join(forms)}."
    if text:
        help_text += f" {text}"
    return click.option(
        "-f",
        "--format",
        "form",
        cls=GroupedOption,
        group=group,
        type=click.Choice(forms),
        metavar="FORM",
        default=forms[0],
        show_default=True,
        help=help_text,
    )


def output_options(
    tables: Collection[str],
    *,
    forms: Sequence[str] = FORMS,
    text: str = "",
    group: str = "Options",
) -> OptionDecorator:
    """Return `--table` and `--format` of a command that prints these tables."""
    return shared_options(
        [
            table_option(tables, group=group),
            format_option(forms, text=text, group=group),
        ]
    )


def table_option(tables: Collection[str], *, group: str = "Options") -> OptionDecorator:
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
        "-t",
        "--table",
        cls=GroupedOption,
        group=group,
        metavar="NAME",
        multiple=True,
        callback=choose,
        hidden=len(tables) == 1,
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
    """Return `--figures` and `--draw` of a command that draws these figures.

    `default` are those that are drawn where `--draw` names none.
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
    return shared_options([folder, draw_option(figures, default, group=group)])


def draw_option(
    figures: Sequence[str], default: Sequence[str], *, group: str = "Options"
) -> OptionDecorator:
    """Return `--draw`, which names some of these figures; `default` are drawn without it."""

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
        "--draw",
        "only",
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
        metavar="SEED",
        default=_SEED,
        show_default=True,
        hidden=True,
        help="The random seed of bootstraps and permutation tests.",
    )


def resamples_option(*, group: str = "Options") -> OptionDecorator:
    """Return `--resamples`."""
    return click.option(
        "--resamples",
        cls=GroupedOption,
        group=group,
        type=click.IntRange(min=100),
        metavar="RESAMPLES",
        hidden=True,
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
