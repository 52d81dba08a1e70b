"""`judge serve`: the annotation service."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import click

from judge.cli.options import (
    argument,
    cache_option,
    command,
    option,
    options,
    pairs_option,
)
from judge.cli.output import note
from judge.plugins import install
from judge.types import JudgeError


@options
class _Address:
    GROUP = "Address"

    host: str = option(
        "--host ADDRESS",
        "The address to listen at. Any but this machine's own needs a token.",
        default="127.0.0.1",
    )
    port: int = option(
        "--port N",
        "The port to listen at; 0 takes a free one.",
        type=click.IntRange(0, 65535),
        default=8321,
    )
    token: str | None = option(
        "--token TEXT",
        "What clients must show. One is made where the address needs it and none is given.",
        envvar="JUDGE_TOKEN",
        show_envvar=True,
    )


@options
class _Serve(_Address):
    GROUP = "Runs"

    named: tuple[Path, ...] = argument("[RUN]...")
    runs: tuple[Path, ...] = option(
        "--runs DIR",
        "A folder of runs to show (repeatable); new ones are written below the first. Default: "
        "judge-runs.",
    )
    judges: Mapping[str, str | None] = pairs_option(
        "--allow-judge NAME[=URL]",
        "A judge that clients may ask beside the built-in one (repeatable).",
    )
    budgets: Mapping[str, str | None] = pairs_option(
        "--budget [NAME=]DOLLARS",
        "The most that an allowed judge may cost in all, also after a restart (repeatable).",
    )
    cache: Path | None = cache_option()
    max_upload: int = option(
        "--max-upload MB",
        "The largest upload for a run, all files together.",
        default=256,
    )


@command("serve")
def serve(options: _Serve) -> None:
    """Show runs in the browser, take reviews and readings, and start new runs.

    Shows each RUN and the runs of --runs. /openapi.json describes the REST API. Runs that were cut
    off are continued.

    \b
    judge serve judge-runs/maira2-green
    judge serve --allow-judge gpt-6-luna --budget 50
    """
    from judge.address import is_loopback
    from judge.running.folder import RunFolder
    from judge.service.settings import MEGABYTE, ServiceSettings, limits

    for run in options.named:
        RunFolder.open(run)  # raises for a folder that is not a run
    token = options.token
    if token is None and not is_loopback(options.host):
        token = secrets.token_urlsafe(32)
    elif token is not None and not token.strip():
        raise JudgeError(
            "the token is empty; give --token or JUDGE_TOKEN a value, or leave it out"
        )
    settings = ServiceSettings(
        runs=options.runs or (Path("judge-runs"),),
        named=options.named,
        judges=options.judges,
        budgets=limits(options.budgets, options.judges, os.environ),
        cache=options.cache,
        token=token,
        max_upload=options.max_upload * MEGABYTE,
    )
    try:
        from judge.service import app
    except ImportError as error:
        raise JudgeError(
            f"judge serve needs {error.name}, which is not installed: "
            + install("fastapi", "python-multipart", "uvicorn")
        ) from error
    app.serve(settings, options.host, options.port, note)
