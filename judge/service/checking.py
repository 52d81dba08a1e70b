"""The check before a run, in a process of its own, since it reads what a client uploaded."""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import Any

from judge.service import ProblemError
from judge.service.jobs import RunRequest
from judge.service.settings import ServiceSettings
from judge.service.worker import REFUSED, worker

_MAX_RUNNING, _MAX_SECONDS = 2, 120


class RunChecks:
    """Checks runs before they are started, a few at a time."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._turn = asyncio.Semaphore(_MAX_RUNNING)

    async def check(self, request: RunRequest, files: Path) -> bytes:
        """Return what would be judged of the files in a folder, as JSON.

        Raises `ProblemError` 422 with what the run would fail with, 504 where it takes too long.
        """
        ledger = json.dumps(self._settings.ledger(request.judge, request.max_cost))
        arguments = request.arguments(self._settings, files / "run")
        options: dict[str, Any] = {"cwd": files, "stdout": PIPE, "stderr": DEVNULL}
        try:
            async with (
                self._turn,
                asyncio.timeout(_MAX_SECONDS),
                worker("check", ledger, *arguments, **options) as process,
            ):
                assert process.stdout is not None
                said = await process.stdout.read()
                code = await process.wait()
        except TimeoutError:
            raise ProblemError(
                504, f"the check took longer than {_MAX_SECONDS} seconds"
            ) from None
        if code == REFUSED:
            why = said.decode("utf-8", "replace").strip()
            raise ProblemError(422, self._settings.hide_folders(why))
        if code:
            raise ProblemError(502, f"the check ended with exit code {code}")
        return said
