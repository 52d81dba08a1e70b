"""The judge `hf:MODEL`: a transformers model in this process, on a GPU or without one.

The yardstick for every faster way, and what a machine without vLLM can use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from judge.backends.local import encode, files
from judge.backends.local.asking import LocalJudge
from judge.prompts import GREEN, Prompt
from judge.types import Completion, CompletionRequest, JudgeError, Usage

if TYPE_CHECKING:
    from judge.backends.hf_model import Model

BATCH = 8
"""How many prompts are generated for together, as many as in the official pipeline."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    ids: tuple[int, ...]
    room: int
    answer: asyncio.Future[list[int]]


class HfJudge(LocalJudge):
    """A transformers model, asked in batches of whatever is waiting.

    A GREEN model has float16 on a GPU, as in the official pipeline, any other bfloat16, and
    without a GPU all have float32. What else is in a batch changes no token of an answer, up
    to the rounding of the numbers inside.
    """

    def __init__(
        self,
        model: str,
        prompt: Prompt,
        *,
        environ: Mapping[str, str],
        max_tokens: int,
        say: Callable[[str], None],
    ) -> None:
        found = files.find(model, environ)
        encoder = encode.load(found, prompt)
        from judge.backends.hf_model import Hardware

        self._hardware = Hardware.of_this_machine(
            "float16" if encoder.layout == GREEN else "bfloat16"
        )
        version = f"hf:{found.version},{self._hardware.dtype},{encoder.layout}"
        super().__init__(
            f"hf:{model}", version, prompt, encoder, say, max_tokens=max_tokens, asked={}
        )
        self._files = found
        self._model: Model | None = None
        self._waiting: list[_Waiting] = []
        self._working: asyncio.Task[None] | None = None
        # One thread: the batches follow each other, and the event loop stays free.
        self._thread = ThreadPoolExecutor(1, "hf")

    async def ready(self) -> None:
        """Load the model; raises `JudgeError` where it cannot be had or does not fit."""
        if self._model is None:
            self._say(f"Loading {self._files.model} ({self._hardware}).")
            loop = asyncio.get_running_loop()
            self._model = await loop.run_in_executor(self._thread, self._load)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Generate the answer, with those of other requests that are waiting.

        Raises `StudyError` for a prompt that leaves no room for an answer, and `JudgeError`
        where the model cannot be loaded or does not fit.
        """
        encoded, room = self.encoded(request)
        answer: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(encoded.ids, room, answer))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        ids = await answer
        ended = bool(ids) and ids[-1] == self.encoder.eos_id
        return Completion(
            text=self.encoder.decode(ids),
            finish_reason="stop" if ended else "length",
            model=self.version,
            usage=Usage(prompt_tokens=len(encoded.ids), completion_tokens=len(ids)),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    async def aclose(self) -> None:
        """Wait for the batch in hand, let go of the model, and say what was cut."""
        for waiting in self._waiting:
            waiting.answer.cancel()
        self._waiting.clear()
        if self._working is not None:
            await asyncio.gather(self._working, return_exceptions=True)
        self._thread.shutdown(wait=True)
        self._model = None
        await super().aclose()

    async def _work(self) -> None:
        """Generate batch after batch until nobody waits."""
        await asyncio.sleep(0)  # let those who are about to ask join the first batch
        while self._waiting:
            # Prompts of like length together: less padding, and no other effect.
            self._waiting.sort(key=lambda one: len(one.ids))
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            batch = [one for one in batch if not one.answer.done()]
            if not batch:
                continue
            loop = asyncio.get_running_loop()
            try:
                answers = await loop.run_in_executor(self._thread, self._generate, batch)
            except JudgeError as error:
                for one in [*batch, *self._waiting]:
                    if not one.answer.done():
                        one.answer.set_exception(error)
                self._waiting = []
                return
            for one, ids in zip(batch, answers, strict=True):
                if not one.answer.done():
                    one.answer.set_result(ids)

    def _generate(self, batch: list[_Waiting]) -> list[list[int]]:
        """Return the answers' ids; runs in the worker thread, where the model lives."""
        if self._model is None:
            self._model = self._load()
        return self._model.generate(
            [one.ids for one in batch],
            [one.room for one in batch],
            self.encoder.eos_id,
        )

    def _load(self) -> Model:
        from judge.backends.hf_model import load

        return load(self._files, self._hardware)
