"""`judge serve`: the annotation service."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import click

from judge.cli.options import (
    PATH,
    POSITIVE_INTEGER,
    GroupedCommand,
    GroupedOption,
    cache_option,
    concurrency_option,
    key_values,
)
from judge.cli.output import note
from judge.plugins import install
from judge.types import JudgeError

_address_option = partial(click.option, cls=GroupedOption, group="Address")
_runs_option = partial(click.option, cls=GroupedOption, group="Runs")


@click.command(
    "serve",
    cls=GroupedCommand,
    examples=["judge serve RUN", "judge serve --offer gpt-6-luna --budget 50"],
    page="docs/auditing.md",
)
@click.argument("named", type=PATH, nargs=-1, metavar="[RUN]...")
@_address_option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen at. Any but this machine's own needs a token.",
)
@_address_option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    default=8321,
    show_default=True,
    help="The port to listen at; 0 takes a free one.",
)
@_address_option(
    "--token",
    metavar="TEXT",
    envvar="JUDGE_TOKEN",
    show_envvar=True,
    help="What clients must show. One is made where the address needs it and none is given.",
)
@_runs_option(
    "--runs",
    type=PATH,
    multiple=True,
    metavar="DIR",
    help=(
        "A folder of runs to show (repeatable); new ones are written below the first. Default: "
        "judge-runs."
    ),
)
@_runs_option(
    "--offer",
    "judges",
    multiple=True,
    metavar="JUDGE[=URL]",
    callback=key_values(),
    help="A judge that clients may ask beside the built-in one (repeatable).",
)
@_runs_option(
    "--budget",
    "budgets",
    multiple=True,
    metavar="[JUDGE=]DOLLARS",
    callback=key_values(),
    help=(
        "The most that all runs of an offered judge may cost together, also after a restart "
        "(repeatable). (--max-cost of judge RUBRIC limits one command.)"
    ),
)
@concurrency_option(
    "The most requests at a time to a model behind an API for POST /v1/annotations. Default: as "
    "many as come, up to 256.",
    group="Runs",
)
@cache_option(group="Runs")
@_runs_option(
    "--max-upload",
    type=POSITIVE_INTEGER,
    metavar="MB",
    default=256,
    show_default=True,
    help="The largest upload for a run, all files together.",
)
def serve(
    *,
    named: tuple[Path, ...],
    host: str,
    port: int,
    token: str | None,
    runs: tuple[Path, ...],
    judges: Mapping[str, str | None],
    budgets: Mapping[str, str | None],
    concurrency: int | None,
    cache: Path | None,
    max_upload: int,
) -> None:
    """Show runs in the browser, take reviews and readings, and start new runs.

    Shows each RUN and the runs of --runs, also while they are judged. /openapi.json describes the
    REST API. Runs that were cut off are continued.
    """
    from judge.address import is_loopback
    from judge.files import WRITING, is_there
    from judge.running.folder import RunFolder
    from judge.service.settings import MEGABYTE, ServiceSettings, limits

    for run in named:
        # One that is being judged at the moment has no manifest yet.
        if not is_there(run / WRITING):
            RunFolder.open(run)  # raises for a folder that is not a run
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(32)
    elif token is not None and not token.strip():
        raise JudgeError(
            "the token is empty; give --token or JUDGE_TOKEN a value, or leave it out"
        )
    settings = ServiceSettings(
        runs=runs or (Path("judge-runs"),),
        named=named,
        judges=judges,
        budgets=limits(budgets, judges, os.environ),
        cache=cache,
        token=token,
        max_upload=max_upload * MEGABYTE,
        concurrency=concurrency,
    )
    try:
        from judge.service import app
    except ImportError as error:
        raise JudgeError(
            f"judge serve needs {error.name}, which is not installed: "
            + install("fastapi", "python-multipart", "uvicorn")
        ) from error
    app.serve(settings, host, port, note)
