"""The check before a run, in a process of its own, since it reads what a client uploaded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from judge.service import ProblemError
from judge.service.jobs import RunRequest
from judge.service.settings import ServiceSettings
from judge.service.worker import printed

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
        try:
            async with self._turn:
                return await printed(
                    "check", ledger, *arguments, most_seconds=_MAX_SECONDS, cwd=files
                )
        except ProblemError as error:
            why = self._settings.hide_folders(error.detail)
            raise ProblemError(error.status, why) from error
