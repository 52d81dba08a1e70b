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

from judge.cli.output import cache_option, note
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.backends import JudgeSettings
    from judge.running.session import RequestPolicy
    from judge.stats.significance import Resampling

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
    from judge.stats.significance import Resampling

    names = ("seed", "resamples", "flips", "family", "primary")
    chosen = {name: options.get(name) for name in names}
    return Resampling(**{name: value for name, value in chosen.items() if value is not None})


WHO = (
    "Who answers: lexicon (built in; the default), lexicon:FILE with your own lexicon, vllm:MODEL, "
    "which starts and stops vLLM, ray:MODEL, which does so on a Ray cluster, hf:MODEL in this "
    "process, or a model behind an OpenAI-compatible server, such as gpt-4o. MODEL is a name on "
    "the Hugging Face Hub or a folder."
)
WORDING = "The wording of the question, for judges that read one (see `judge prompts list`)."

# What an option takes, by what stands for it in the help; anything else is text.
_COUNT_OR_NONE = click.IntRange(0)
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("SECONDS", "MINUTES", "DOLLARS"), FiniteRange(0, min_open=True)),
    **dict.fromkeys(("N", "K"), click.IntRange(1)),
    "G": _COUNT_OR_NONE,
    "SHARE": FiniteRange(0, 1),
}


def _option(declaration: str, text: str, **attributes: Any) -> Decorator:  # noqa: ANN401
    """Return an option; `declaration` is its names and what stands for its value."""
    *names, metavar = declaration.split()
    shown = "default" in attributes
    attributes = {"type": _TYPES.get(metavar), "metavar": metavar, **attributes}
    return click.option(*names, help=text, show_default=shown, **attributes)


SERVER_OPTIONS = (
    click.option(
        "--reply",
        type=click.Choice(("auto", "text", "structured")),
        default="auto",
        show_default=True,
        help="What to ask a model for: the rubric's layout in text, or a structured reply (JSON "
        "schema, else a tool call, else plain JSON). auto: text from GREEN models, from hf: and "
        "with a prompt that asks for text; else structured.",
    ),
    _option(
        "--base-url URL",
        "The server of the model, OpenAI by default; several share the load. The key comes from "
        "OPENAI_API_KEY (AZURE_OPENAI_API_KEY for Azure, VLLM_API_KEY for vllm:MODEL); a server on "
        "this machine needs none.",
        multiple=True,
    ),
    _option(
        "--vllm-arg vllm_args FLAG",
        "A flag for `vllm serve`, such as --vllm-arg=--tensor-parallel-size=2. Repeatable.",
        multiple=True,
    ),
    _option(
        "--ray-address HOST:PORT",
        "The Ray cluster of ray:MODEL; auto is this machine's. Default: the one that RAY_ADDRESS "
        "names, else a new one on this machine.",
    ),
    _option(
        "--ray-replicas N",
        "How often ray:MODEL serves the model. Default: as often as the GPUs have room.",
    ),
    _option(
        "--gpus-per-replica G",
        "The GPUs of a replica of ray:MODEL; 0 serves without. Default: as its flags want, or 1.",
    ),
)
"""How the judge is reached."""


def sampling_options(seed: str) -> tuple[Decorator, ...]:
    """Return the options of how answers are drawn, with `seed` as the name of the seed's."""
    return (
        heading("Sampling"),
        _option(
            "--max-tokens N",
            "The longest answer, in tokens; a longer one is cut and counts as unparsed. Default: "
            "2048, or 25000 for a model that reasons, by its name or --reasoning-effort.",
        ),
        _option(
            "--temperature FLOAT",
            "0 is the likeliest answer, more is more varied. Default: 0.",
            type=FiniteRange(0, 2),
        ),
        _option(
            "--top-p FLOAT",
            "Sample from the likeliest tokens alone, those that have this probability together.",
            type=FiniteRange(0, 1, min_open=True),
        ),
        _option(
            f"{seed} INTEGER", "What sampling starts from, on servers that keep to it.", type=int
        ),
        _option(
            "--reasoning-effort WORD",
            "How much a model is to reason: low, medium, high, or what its server calls it.",
        ),
        _option(
            "--body KEY=JSON",
            "Anything else that the server takes, such as --body top_k=20. Repeatable.",
            multiple=True,
        ),
    )


RUNNING_OPTIONS = (
    heading("Running"),
    _option(
        "--concurrency N",
        "The most requests in flight; fewer where the server asks for it or is late. Default: 16 "
        "for APIs, 128 for each server or replica of vLLM.",
    ),
    _option(
        "--timeout SECONDS",
        "How long a whole answer may take before it is asked for again.",
        default=120.0,
    ),
    _option(
        "--reask N",
        "How often to ask again, saying why, for an answer that cannot be read.",
        type=_COUNT_OR_NONE,
        default=1,
    ),
    _option(
        "--give-up-after N",
        "Stop where more than half of the first N answers cannot be read; 0: never.",
        type=_COUNT_OR_NONE,
        default=50,
    ),
    _option(
        "--max-outage MINUTES",
        "How long to wait for a server that is gone before giving the run up.",
        type=FiniteRange(0),
        default=30.0,
    ),
    _option("--max-cost DOLLARS", "Stop before the run costs more than this."),
    _option(
        "--min-coverage SHARE",
        "Exit with code 3 where a smaller share of the studies could be scored.",
        default=0.99,
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Say what would be asked, what is cached and what it may cost; send nothing. Needs "
        "no key.",
    ),
    cache_option,
)
"""How a run goes, and what it may cost."""


def settings_of(options: Mapping[str, Any]) -> JudgeSettings:
    """Return what the options say of a judge."""
    from judge.backends import JudgeSettings

    options = {
        **options,
        "reply": None if options["reply"] == "auto" else options["reply"],
        "vllm_args": options["vllm_args"] or None,
        "seed": options.get("sampling_seed", options.get("seed")),
    }
    body: dict[str, object] = {}
    if options["body"]:
        from judge.backends.options import from_body

        body = from_body(options["body"])
    kinds = "vllm_args", "ray_address", "ray_replicas", "gpus_per_replica"
    parameters = "temperature", "top_p", "seed", "reasoning_effort"
    return JudgeSettings(
        **_set(options, "prompt", "base_url", "timeout", "max_tokens", "reply"),
        sampling=_set(options, *parameters) | body,
        environ=os.environ,
        say=note,
        sends=not options["dry_run"],
        options=_set(options, *kinds),
    )


def policy_of(options: Mapping[str, Any]) -> RequestPolicy:
    """Return what the options say of how it is asked."""
    from judge.running.session import RequestPolicy

    return RequestPolicy(
        max_outage=60 * options["max_outage"],
        **_set(options, "concurrency", "reask", "max_cost", "give_up_after"),
    )


def _set(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: options[name] for name in names if options.get(name) is not None}
