"""The judge `hf:MODEL`: a transformers model in this process, on a GPU or without one.

The yardstick for every faster way, and what a machine without vLLM can use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from judge.backends.local import encode, files
from judge.backends.local.asking import LocalJudge
from judge.backends.local.files import ModelFiles
from judge.distribution import install
from judge.prompts import GREEN, Prompt
from judge.types import Completion, CompletionRequest, JudgeError, Usage

if TYPE_CHECKING:
    from torch import Tensor

BATCH = 8
"""How many prompts are generated for together, as many as in the official pipeline."""
_LARGER = "use a smaller or quantised model, a device with more memory, or vllm: with several GPUs"


@dataclass(frozen=True, slots=True)
class _Waiting:
    ids: tuple[int, ...]
    room: int
    answer: asyncio.Future[list[int]]


class HfJudge(LocalJudge):
    """A transformers model, asked in batches of whatever is waiting.

    A GREEN model has float16 on a GPU, as in the official pipeline, any other bfloat16; on the CPU
    all have float32. What else is in a batch changes no token of an answer, up to rounding.
    """

    is_deterministic = True  # it decodes greedily

    def __init__(
        self,
        model: str,
        prompt: Prompt,
        *,
        cpu: bool = False,
        environ: Mapping[str, str],
        max_tokens: int,
        say: Callable[[str], None],
    ) -> None:
        found = files.find(model, environ)
        encoder = encode.load(found, prompt)
        self._hardware = _hardware("float16" if encoder.layout == GREEN else "bfloat16", cpu=cpu)
        super().__init__(
            name=f"hf:{model}",
            version=f"hf:{found.version},{self._hardware[1]},{encoder.layout}",
            prompt=prompt,
            encoder=encoder,
            say=say,
            max_tokens=max_tokens,
            asked={},
        )
        self._files = found
        self._model: Model | None = None
        self._lock = asyncio.Lock()
        self._waiting: list[_Waiting] = []
        self._working: asyncio.Task[None] | None = None
        # One thread: the batches follow each other, and the event loop stays free.
        self._thread = ThreadPoolExecutor(1, "hf")

    async def ready(self) -> None:
        """Load the model; raises `JudgeError` where it cannot be had or does not fit."""
        async with self._lock:  # many ask at once, and it is loaded once
            if self._model is None:
                self.say(f"Loading {self._files.model} ({', '.join(self._hardware)}).")
                loop = asyncio.get_running_loop()
                self._model = await loop.run_in_executor(
                    self._thread, load, self._files, self._hardware
                )

    async def complete(self, request: CompletionRequest) -> Completion:
        """Generate the answer, with those of other requests that are waiting."""
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
        await asyncio.sleep(0)  # let those who are about to ask join the first batch
        loop = asyncio.get_running_loop()
        while waiting := [one for one in self._waiting if not one.answer.done()]:
            # Prompts of like length together: less padding, and no other effect.
            waiting.sort(key=lambda one: len(one.ids))
            batch, self._waiting = waiting[:BATCH], waiting[BATCH:]
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
        self._model = self._model or load(self._files, self._hardware)
        rooms = [one.room for one in batch]
        return self._model.generate([one.ids for one in batch], rooms, self.encoder.eos_id)


def _hardware(on_gpu: str, *, cpu: bool) -> tuple[str, str]:
    try:
        import torch
        import transformers  # noqa: F401
    except ModuleNotFoundError:
        needed = install("torch", "transformers", "accelerate")
        raise JudgeError(f"the judges hf:MODEL need torch and transformers; {needed}") from None
    return ("cuda", on_gpu) if torch.cuda.is_available() and not cpu else ("cpu", "float32")


@dataclass(slots=True)
class Model:
    """A loaded model, which answers batches of prompts greedily."""

    _model: Any
    _device: str
    _name: str

    def generate(
        self, prompts: Sequence[Sequence[int]], rooms: Sequence[int], eos_id: int
    ) -> list[list[int]]:
        """Return for each prompt the ids of its answer, at most `rooms` of them, from halves if
        need be.
        """
        import torch

        try:
            with torch.inference_mode():
                return self._greedy(prompts, rooms, eos_id)
        except torch.OutOfMemoryError as error:
            if len(prompts) == 1:
                raise JudgeError(
                    f"out of memory on {self._device} with {self._name}: {_LARGER}"
                ) from error
        if self._device == "cuda":
            torch.cuda.empty_cache()
        half = len(prompts) // 2
        return [
            *self.generate(prompts[:half], rooms[:half], eos_id),
            *self.generate(prompts[half:], rooms[half:], eos_id),
        ]

    def _greedy(
        self, prompts: Sequence[Sequence[int]], rooms: Sequence[int], eos_id: int
    ) -> list[list[int]]:
        import torch

        longest = max(len(prompt) for prompt in prompts)
        padded = [[eos_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        masked = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        ids = torch.tensor(padded, device=self._device)
        mask = torch.tensor(masked, device=self._device)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        left = torch.tensor(list(rooms), device=self._device)
        running = torch.ones(len(prompts), dtype=torch.bool, device=self._device)
        rows: list[Tensor] = []
        past = None
        while bool(running.any()):
            out = self._model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=past,
                use_cache=True,
                logits_to_keep=1,
            )
            past = out.past_key_values
            ids = out.logits[:, -1].argmax(-1, keepdim=True)
            rows.append(ids[:, 0])
            mask = torch.cat([mask, mask.new_ones(len(prompts), 1)], dim=1)
            positions = positions[:, -1:] + 1
            left -= 1
            running &= (ids[:, 0] != eos_id) & (left > 0)
        answers = torch.stack(rows, 1).tolist()
        cut = [answer[:room] for answer, room in zip(answers, rooms, strict=True)]
        return [ids[: ids.index(eos_id) + 1] if eos_id in ids else ids for ids in cut]


def load(files: ModelFiles, hardware: tuple[str, str]) -> Model:
    """Return the model on a device and in a type, its weights from the hub if they are not here."""
    import torch
    import transformers
    from transformers.utils import logging

    untyped: Any = logging
    untyped.disable_progress_bar()
    name = str(files.folder) if files.commit is None else files.model
    device, dtype = hardware
    try:
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            name, revision=files.commit, dtype=getattr(torch, dtype)
        )
        return Model(model.to(device).eval(), device, files.model)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise JudgeError(
            f"{files.model} does not fit into the memory of {device}: {_LARGER}"
        ) from error
    except (OSError, ValueError) as error:
        raise JudgeError(f"cannot load the model {files.model}: {error}") from error
