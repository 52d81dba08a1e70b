"""Options that help shows in groups."""

from __future__ import annotations

import math
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.stats.paired import Resampling

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


class FiniteRange(click.FloatRange):
    """A number within a range; `inf` and `nan`, which pass every comparison, are refused."""

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the number; raises `click.BadParameter`."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number of the range", param, ctx)
        return number


_PREFIX = ".judge-"
# Of a new file, which may hold reports: its owner's alone.
_RIGHTS = 0o600


class NamedPath(click.Path):
    """A path that is not empty: `Path("")` would be the folder that one is in.

    Nor is it `-`, by which other programs mean standard output: that holds the results.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401
        super().__init__(path_type=Path, **options)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401
        """Return the path; raises `click.BadParameter` for an empty one and for `-`."""
        if value == "":
            self.fail("the path is empty", param, ctx)
        if value == "-":
            why = "it is not written to standard output, which has the results"
            self.fail(f"{why}; name a path (./- for one that is called -)", param, ctx)
        return super().convert(value, param, ctx)


def target(path: Path) -> Path:
    """Return the file that writing to `path` makes or replaces: of a link, what it points to.

    Raises `JudgeError` for a folder, a device and the like, which are never replaced.
    """
    there = Path(os.path.realpath(path))
    try:
        mode = there.stat().st_mode
    except FileNotFoundError:
        return there
    except OSError as error:
        raise cannot_write(path, error) from error
    if stat.S_ISDIR(mode):
        raise JudgeError(f"{path} is a folder; name a file")
    if not stat.S_ISREG(mode):
        raise JudgeError(f"{path} is a device or a pipe, no file to replace; name another")
    return there


def check_writable(path: Path, inputs: Iterable[str | Path | None] = ()) -> None:
    """Raise `JudgeError` where no file can be written at `path`; leaves nothing behind.

    Nor may it be one of the `inputs`, which would be lost.
    """
    there = target(path)
    if path.exists() and any(one and Path(one).exists() and path.samefile(one) for one in inputs):
        raise JudgeError(f"{path} is a file to read, which would be lost; name another for --out")
    try:
        with tempfile.TemporaryFile(dir=there.parent, prefix=_PREFIX):
            pass
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file beside `path` to write to, which takes its place when all went well.

    Whatever goes wrong, Ctrl-C too, what stood there still does and nothing else is left. A
    file that is replaced keeps its rights. Raises `JudgeError` where it cannot be written.
    """
    there = target(path)
    staged: Path | None = None
    try:
        number, name = tempfile.mkstemp(there.suffix, _PREFIX, there.parent)
        staged = Path(name)
        os.close(number)
        yield staged
        staged.chmod(_rights(there))
        staged.replace(there)
        staged = None
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        if staged is not None:
            with suppress(OSError):
                staged.unlink()


def cannot_write(path: Path, error: OSError) -> JudgeError:
    """Return the error that says why `path` cannot be written."""
    return JudgeError(f"cannot write {path}: {error.strerror or error}")


def _rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else _RIGHTS


patient_option = click.option(
    "--patient-field",
    metavar="FIELD",
    help="Resample by this field. Default: patient, patient_id, subject_id or subject where a "
    "run has it; none takes studies as independent.",
)
common_option = click.option(
    "--common", is_flag=True, help="Compare on the studies that all runs have."
)
allow_option = click.option(
    "--allow",
    multiple=True,
    type=click.Choice(("judge", "prompt", "references")),
    help="What may differ: the judge or the prompt of a rubric, the references (repeatable).",
)
resamples_option = click.option(
    "--resamples",
    type=click.IntRange(min=100),
    help="Bootstrap resamples, for intervals. Default: 1000.",
)
seed_option = click.option(
    "--seed", type=click.IntRange(min=0), help="Of all that is random. Default: 20260101."
)
family_option = click.option(
    "--family",
    type=click.Choice(("table", "metric")),
    help="Correct p values for all tests of a table, or for the pairs of models of each metric "
    "alone. Default: table.",
)
primary_option = click.option(
    "--primary",
    metavar="METRIC",
    help="The metric that was chosen before the numbers were seen: its tests are corrected by "
    "themselves.",
)


def resampling(options: Mapping[str, Any]) -> Resampling:
    """Return how to resample by the options that were given; the others are as usual."""
    from judge.stats.paired import Resampling

    names = ("seed", "resamples", "flips", "family", "primary")
    chosen = {name: options.get(name) for name in names}
    return Resampling(**{name: value for name, value in chosen.items() if value is not None})
