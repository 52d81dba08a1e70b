"""`judge serve`: the annotation service."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.options import GroupedCommand, heading
from judge.cli.output import cache_option, note
from judge.plugins import install
from judge.types import JudgeError

if TYPE_CHECKING:
    from judge.service.settings import ServiceSettings

_TOKEN = "JUDGE_TOKEN"  # noqa: S105 - the variable's name
_HOST, _PORT = "127.0.0.1", 8321


@click.command("serve", GroupedCommand)
@click.argument("named", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path))
@heading("Address")
@click.option(
    "--host",
    default=_HOST,
    show_default=True,
    help="The address to listen at. Any but this machine's own needs a token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    help="The port to listen at; 0 takes a free one.",
)
@click.option(
    "--token",
    envvar=_TOKEN,
    show_envvar=True,
    help="What clients must show. One is made where the address needs it and none is given.",
)
@heading("Runs")
@click.option(
    "--runs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A folder whose runs to show; new ones are written below the first. Default: judge-runs.",
)
@click.option(
    "--allow-judge",
    "judges",
    multiple=True,
    metavar="NAME[=URL]",
    help="Let clients ask this judge too, at its usual server or the one at URL. "
    "Repeat for more; the built-in lexicon is always allowed.",
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    metavar="[NAME=]DOLLARS",
    help="What an allowed judge may cost this service in all, runs and pairs, also after a "
    "restart: no answer is asked for that may pass it. With several judges that cost, say which: "
    "--budget gpt-4o=50.",
)
@click.option(
    "--images",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder that the studies' image paths (fields image, image_path, images) lead into. "
    "Readers see the PNG, JPEG and WebP files there beside the reports, and no file outside of it.",
)
@cache_option
@heading("Limits")
@click.option(
    "--max-upload",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    metavar="MB",
    help="The largest files to take for a run, together.",
)
@click.option(
    "--max-memory",
    type=click.IntRange(min=2, max=1024),
    default=8,
    show_default=True,
    metavar="GB",
    help="What reading a client's files or a comparison may take each.",
)
def command(
    named: tuple[Path, ...],
    host: str,
    port: int,
    token: str | None,
    judges: tuple[str, ...],
    budgets: tuple[str, ...],
    runs: tuple[Path, ...],
    images: Path | None,
    max_upload: int,
    max_memory: int,
    cache: Path | None,
) -> None:
    """Show runs on pages, take reviews of them, and annotate over HTTP.

    Shows each RUN and all runs of the folder of runs. /openapi.json describes the API. Runs that
    were cut off go on.
    """
    from judge.address import is_loopback
    from judge.running.folder import Run
    from judge.service.budget import limits
    from judge.service.settings import (
        GIGABYTE,
        MEGABYTE,
        ServiceSettings,
        allowed_judges,
    )

    for run in named:
        Run(run)  # says at once which one is none
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(32)
    elif token is not None and not token.strip():
        raise JudgeError(f"the token is empty; give --token or {_TOKEN} a value, or leave it out")
    allowed = allowed_judges(judges)
    settings = ServiceSettings(
        runs=runs or (Path("judge-runs"),),
        named=named,
        judges=allowed,
        budgets=limits(budgets, allowed, os.environ),
        cache=cache,
        token=token,
        max_upload=max_upload * MEGABYTE,
        max_memory=max_memory * GIGABYTE,
        images=images,
    )
    _serve(settings, host, port)


def _serve(settings: ServiceSettings, host: str, port: int) -> None:
    try:
        from judge.service import server
    except ImportError as error:
        raise JudgeError(
            f"judge serve needs {error.name}, which is not installed: "
            + install("fastapi", "python-multipart", "uvicorn")
        ) from error
    server.serve(settings, host, port, note)
