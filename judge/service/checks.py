"""What a run would judge and cost, before it is started: `POST /v1/runs/check`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from judge.service.jobs import RunRequest
from judge.service.settings import ServiceSettings
from judge.service.worker import Worker, time_limit

_MOST_AT_A_TIME = 2


class Checks:
    """Has uploads read in processes of their own, a few at a time."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._turn = asyncio.Semaphore(_MOST_AT_A_TIME)

    async def check(self, folder: Path, asked: RunRequest) -> dict[str, Any]:
        """Return what the files in `folder` hold and what judging them may take.

        Raises `ProblemError` for what the run would fail with before it asked anybody.
        """
        worker = Worker("check")
        request = {"folder": str(folder.absolute()), "asked": asked.model_dump()}
        try:
            async with self._turn, time_limit(self._settings.check_seconds, "check"):
                return await worker.ask({**request, **self._settings.for_worker(asked.judge)})
        finally:
            await worker.close()
