"""Telling one bad request from a server that is gone."""

from __future__ import annotations

import asyncio

from judge.types import JudgeError

# So many studies in a row without an answer are no coincidence.
_STUDIES = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 1.0


class Outage:
    """Knows whether the server is there, and lets one request at a time ask while it isn't.

    When several studies in a row find nobody, the run holds still: one request after another
    tries, at least every second, until one gets any answer at all. That waiting is not
    held against a study. After `patience` seconds the run is given up.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._unlucky: set[int] = set()
        self._since: float | None = None
        self._pause = _FIRST_PAUSE
        self._turn = asyncio.Lock()
        self._over = asyncio.Event()

    @property
    def is_on(self) -> bool:
        """Whether the server is held to be gone."""
        return self._since is not None

    def answered(self) -> None:
        """Note that somebody answered, whatever it was."""
        self._unlucky.clear()
        self._since = None
        self._pause = _FIRST_PAUSE
        self._over.set()

    def unanswered(self, at: int) -> bool:
        """Note that the study at place `at` found nobody; returns whether that is an outage."""
        self._unlucky.add(at)
        if self._since is None and len(self._unlucky) >= _STUDIES:
            self._since = asyncio.get_running_loop().time()
            self._over.clear()
        return self.is_on

    async def wait(self) -> None:
        """Return when it is this caller's turn to try, or when the outage is over.

        Raises `JudgeError` when it has lasted longer than the run is patient.
        """
        loop = asyncio.get_running_loop()
        async with self._turn:
            if self._since is None:
                return
            left = self._since + self._patience - loop.time()
            if left <= 0:
                raise JudgeError(
                    f"the server has not answered for {self._patience / 60:.3g} minutes "
                    "(--max-outage); what was answered is in the cache"
                )
            pause, self._pause = self._pause, min(self._pause * 2, _LONGEST_PAUSE)
            try:
                await asyncio.wait_for(self._over.wait(), min(pause, left))
            except TimeoutError:
                return
