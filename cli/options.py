"""How a command declares its options: the fields of a class, which is a group of the help.

The function of a command takes an object of the class (`@options class _Cite`, `@command("cite")`).
The options of a base class come first in the help, under the base's `GROUP`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import click
from click.core import ParameterSource

from judge.text import harmless

if TYPE_CHECKING:
    from judge.comparing.metric_files import MetricFile
    from judge.stats.significance import Resampling

_Class = TypeVar("_Class", bound=type)
_DECLARED = "click"

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


NEW_FILE = click.Path(dir_okay=False, path_type=Path)
NEW_FOLDER = click.Path(file_okay=False, path_type=Path)
_TYPES: dict[object, Any] = {
    int: click.IntRange(min=1),
    float: FiniteRange(min=0, min_open=True),
    Path: click.Path(path_type=Path),
}


class _Option(click.Option):
    def __init__(self, *names: Any, group: str, **more: Any) -> None:  # noqa: ANN401
        super().__init__(*names, **more)
        self.group = group


def option(declaration: str, help: str, *, rare: bool = False, **more: Any) -> Any:  # noqa: A002, ANN401
    """Declare an option as the field of a class.

    The declaration is names and value, such as "--timeout SECONDS". The type is that of the field;
    numbers are positive unless `type` says otherwise. Only --help-all shows a `rare` option.
    """
    *names, metavar = declaration.split() if " " in declaration else (declaration, None)
    more |= {
        "help": help,
        "hidden": rare,
        "show_default": more.get("default") is not None,
    }
    return dataclasses.field(
        metadata={_DECLARED: (names, {"metavar": metavar, **more})}
    )


def argument(metavar: str | None = None, **more: Any) -> Any:  # noqa: ANN401
    """Declare an argument as the field of a class; one in brackets may be left out."""
    required = not (metavar or "").startswith("[")
    more = {"metavar": metavar, "required": required, **more}
    return dataclasses.field(metadata={_DECLARED: ([], more)})


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(declared: _Class) -> _Class:
    """Make a frozen dataclass of a class whose fields are options."""
    dataclasses.dataclass(frozen=True, kw_only=True)(declared)
    return declared


def parameters(declared: type) -> Iterator[click.Parameter]:
    """Yield the arguments and options of a class, those of its base classes first."""
    fields = {
        field.name: field.metadata[_DECLARED] for field in dataclasses.fields(declared)
    }
    hints = get_type_hints(declared)
    for group in _groups(declared):
        for name in [
            name for name in vars(group).get("__annotations__", ()) if name in fields
        ]:
            names, more = fields.pop(name)
            attributes = {**_attributes(hints[name]), **more}
            if names:
                title = getattr(group, "GROUP", "Options")
                yield _Option([name, *names], group=title, **attributes)
            else:
                is_several = attributes.pop("multiple", False)
                yield click.Argument(
                    [name], nargs=-1 if is_several else 1, **attributes
                )


def _groups(declared: type) -> Iterator[type]:
    for base in declared.__bases__:
        yield from _groups(base)
    yield declared


def _attributes(hint: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return click's attributes of an option whose value has this type."""
    if get_origin(hint) in (UnionType, Union):
        hint = get_args(hint)[0]
    if get_origin(hint) is tuple:
        return {**_attributes(get_args(hint)[0]), "multiple": True}
    if get_origin(hint) is Literal:
        return {"type": click.Choice(get_args(hint))}
    return {"is_flag": True} if hint is bool else {"type": _TYPES.get(hint)}


def command(
    name: str,
    *,
    group: click.Group | None = None,
    **more: Any,  # noqa: ANN401
) -> Callable[[Callable[[Any], None]], click.Command]:
    """Return a decorator that makes a command, in a group, of a function of an options class."""

    def decorate(run: Callable[[Any], None]) -> click.Command:
        declared = get_type_hints(run)["options"]

        def callback(**values: Any) -> None:  # noqa: ANN401
            run(declared(**values))

        params = [*parameters(declared)]
        made = GroupedCommand(
            name, params=params, callback=callback, help=run.__doc__, **more
        )
        if group is not None:
            group.add_command(made)
        return made

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
        self._refuse_repeated(ctx, current)
        return super().parse_args(ctx, current)

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


def grouped_help(ctx: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Return each group's options with their help, but for hidden ones."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for param in ctx.command.get_params(ctx):
        if not isinstance(param, click.Option):
            continue
        record = param.get_help_record(ctx)
        # A hidden option has none.
        if record is not None:
            group = getattr(param, "group", "Help")
            groups.setdefault(group, []).append(record)
    return groups


def show_rare(command: click.Command) -> None:
    """Have the help of a command show its rarely used options."""
    for param in command.params:
        if isinstance(param, _Option):
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


def format_option(*forms: str, text: str = "") -> Any:  # noqa: ANN401
    """Declare `--format` with its forms, the usual one first; `text` explains some of them."""
    help_text = f"What to print.{text and ' '}{text}"
    return option("--format", help_text, type=click.Choice(forms), default=forms[0])


def table_option(*tables: str) -> Any:  # noqa: ANN401
    """Declare `--table` of a command that prints these tables."""

    def choose(ctx: Any, param: Any, value: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ANN401
        names = _split(ctx, param, value)
        for name in names:
            if name not in tables:
                known = ", ".join(tables)
                raise click.BadParameter(
                    f"there is no table {name!r}; there are: {known}"
                )
        return names

    help_text = f"Print this table alone (repeatable): {', '.join(tables)}."
    return option("--table NAME", help_text, callback=choose)


def list_option(declaration: str, help: str) -> Any:  # noqa: A002, ANN401
    """Declare an option that is repeated, or has several values between commas."""
    return option(declaration, help, callback=_split)


def _split(_ctx: Any, _param: Any, value: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ANN401
    names: list[str] = []
    for part in value:
        names += [name.strip() for name in part.split(",")]
    if not all(names):
        raise click.BadParameter("an empty name")
    return tuple(names)


def by_option(help: str, **more: Any) -> Any:  # noqa: A002, ANN401
    """Declare `--by`: a table for each time it is given, of the combinations of fields for `a,b`.

    The value is a tuple of groupings, each its fields with commas between them.
    """

    def groupings(ctx: Any, param: Any, value: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ANN401
        return tuple(",".join(_split(ctx, param, (grouping,))) for grouping in value)

    return option("--by FIELD[,FIELD]", help, multiple=True, callback=groupings, **more)


def pairs_option(
    declaration: str,
    help: str,  # noqa: A002
    *,
    keys: Iterable[str] = (),
    parse: Callable[[str], object] | None = None,
) -> Any:  # noqa: ANN401
    """Declare an option KEY=VALUE that is repeated; its value is a dictionary.

    Without `keys` any are allowed; of those, `context` may be repeated and is a tuple. `parse`
    makes the value of its text; without it a key alone has the value None.
    """
    form = declaration.split()[1]

    def convert(_ctx: Any, _param: Any, value: tuple[str, ...]) -> dict[str, Any]:  # noqa: ANN401
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

    return option(declaration, help, multiple=True, callback=convert)


def cache_option() -> Any:  # noqa: ANN401
    """Declare `--cache`."""
    text = "The folder of cached answers. Default: the user's cache folder."
    return option("--cache DIR", text, envvar="JUDGE_CACHE", show_envvar=True)


def figures_option(shown: str = "") -> Any:  # noqa: ANN401
    """Declare `--figures`; `shown` says what the figures show."""
    text = "Draw figures into this folder, as SVG, PDF, PNG and Vega-Lite (needs vl-convert)"
    return option("--figures DIR", f"{text}{shown and ': '}{shown}.", type=NEW_FOLDER)


def patient_option() -> Any:  # noqa: ANN401
    """Declare `--patient-field`."""
    return option(
        "--patient-field FIELD",
        "The field that names the patient, by whom studies are resampled; `none` treats studies as "
        "independent. Default: patient, patient_id, subject_id or subject, if there.",
    )


_SEED = 20_260_101  # That of judge.stats.intervals, whose import would slow every help down.


def seed_option() -> Any:  # noqa: ANN401
    """Declare `--seed`."""
    text = "Random seed of bootstraps and permutation tests."
    return option("--seed N", text, type=click.IntRange(min=0), default=_SEED)


def resamples_option() -> Any:  # noqa: ANN401
    """Declare `--resamples`."""
    return option(
        "--resamples N",
        "Bootstrap resamples for the intervals. Default: 10000, or 1000 for more than 1,500 "
        "patients or studies and in judge validate.",
        type=click.IntRange(min=100),
    )


@options
class AllowOptions:
    """What may differ between runs that are compared."""

    GROUP = "Studies"

    allow: tuple[Literal["judge", "prompt", "references"], ...] = option(
        "--allow", "Compare runs although this differs between them (repeatable)."
    )


@options
class AlignOptions(AllowOptions):
    """Which studies of several runs are compared."""

    common: bool = option("--common", "Compare only the studies that all runs have.")


@options
class ResamplingOptions:
    """How intervals are resampled."""

    GROUP = "Statistics"

    patient_field: str | None = patient_option()
    resamples: int | None = resamples_option()
    seed: int = seed_option()

    def resampling(self) -> Resampling:
        """Return how to resample."""
        from judge.stats.significance import Resampling

        names = [field.name for field in dataclasses.fields(Resampling)]
        values = {name: getattr(self, name, None) for name in names}
        return Resampling(
            **{name: value for name, value in values.items() if value is not None}
        )


@options
class MetricFileOptions:
    """Other metrics that were computed elsewhere."""

    GROUP = "Metrics"

    files: tuple[str, ...] = option(
        "--metrics FILE",
        "Other metrics of the same studies: CSV, TSV, Parquet or JSON with study_id, model (if "
        "several) and one column a metric (repeatable).",
    )
    higher: tuple[str, ...] = list_option(
        "--higher-is-better NAME",
        "A column of --metrics in which higher is better, if its name does not say so.",
    )
    lower: tuple[str, ...] = list_option(
        "--lower-is-better NAME", "The same for lower is better."
    )

    def read_files(self) -> list[MetricFile]:
        """Read the metric files; raises `JudgeError` as `read_metrics` does."""
        from judge.comparing import metric_files

        require(bool(self.files), "--metrics", "higher", "lower")
        return metric_files.read_files(self.files, higher=self.higher, lower=self.lower)
