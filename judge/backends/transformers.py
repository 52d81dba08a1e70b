"""The judge `hf:MODEL`: a transformers model in this process, on a GPU or without one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from judge.backends import local, options
from judge.backends.base import Judge, JudgeSettings
from judge.backends.local import LocalJudge, library
from judge.prompts import GREEN, STRUCTURED, Prompt
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError, Usage

BATCH = 8
"""How many prompts are generated for together, as many as in the official pipeline."""


class HFOptions(options.KindOptions):
    """What `hf:` alone takes."""

    cpu: bool = False


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge `hf:MODEL`, which decodes greedily and answers in text."""
    taken = HFOptions.read(settings, f"hf:{model}")
    for parameter in settings.sampling.items():
        if parameter != ("temperature", 0):
            raise JudgeError(f"hf:{model} decodes greedily: leave out {parameter[0]}, or use vllm:")
    prompt, _ = options.prompt_and_reply(rubric, model, settings, is_own=True)
    if STRUCTURED in (settings.reply, prompt.reply):
        raise JudgeError("a model in this process answers in text; for a structured reply, vllm:")
    return TransformersJudge(
        model,
        prompt,
        cpu=taken.cpu,
        environ=settings.environ,
        max_tokens=options.max_tokens(model, replace(settings, sampling={})),
        say=settings.say,
    )


@dataclass(slots=True, eq=False)
class _Batch:
    """Prompts that are answered together, how many tokens each answer may have, and the answers."""

    prompts: list[tuple[int, ...]] = field(default_factory=list)
    rooms: list[int] = field(default_factory=list)
    answers: asyncio.Task[list[list[int]]] | None = None


class TransformersJudge(LocalJudge):
    """A transformers model, asked in batches of whatever is waiting.

    On a GPU a GREEN model has float16 and others bfloat16; on the CPU all have float32.
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
        files = local.find(model, environ)
        encoder = local.load_encoder(files, prompt)
        on_gpu = library("torch").cuda.is_available() and not cpu
        half = "float16" if encoder.layout == GREEN else "bfloat16"
        self._device, self._dtype = ("cuda", half) if on_gpu else ("cpu", "float32")
        super().__init__(
            name=f"hf:{model}",
            version=f"hf:{files.version},{self._dtype},{encoder.layout}",
            prompt=prompt,
            encoder=encoder,
            max_tokens=max_tokens,
        )
        self._files, self.say = files, say
        self._model: Any = None
        self._lock = asyncio.Lock()  # one batch at a time
        self._batch = _Batch()
        self._is_closing = False

    async def ready(self) -> None:
        """Load the model; raises `JudgeError` where it cannot be had or does not fit."""
        async with self._lock:
            if self._model is None:
                self.say(f"Loading {self._files.model} ({self._device}, {self._dtype}).")
                self._model = await asyncio.to_thread(self._load)

    def _load(self) -> Any:  # noqa: ANN401 - the library's models have no common type
        torch, transformers, files = library("torch"), library("transformers"), self._files
        transformers.utils.logging.disable_progress_bar()
        try:
            model = transformers.AutoModelForCausalLM.from_pretrained(
                files.source, revision=files.commit, dtype=getattr(torch, self._dtype)
            )
            model = model.to(self._device).eval()
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise self._too_large() from error
        except (OSError, ValueError) as error:
            raise JudgeError(f"cannot load the model {files.model}: {error}") from error
        # A model's own settings, such as a penalty for what it said before, would change answers.
        model.generation_config = transformers.GenerationConfig()
        return model

    def _too_large(self) -> JudgeError:
        return JudgeError(
            f"out of memory on {self._device} with {self._files.model}: use a smaller or quantised "
            "model, a device with more memory, or vllm: with several GPUs"
        )

    async def complete(self, request: CompletionRequest) -> Completion:
        """Generate the answer, with those of other requests that are waiting."""
        await self.ready()
        encoded, room = self.encoded(request)
        if len(self._batch.prompts) == BATCH:
            self._batch = _Batch()
        batch, place = self._batch, len(self._batch.prompts)
        batch.prompts.append(encoded.ids)
        batch.rooms.append(room)
        batch.answers = batch.answers or asyncio.create_task(self._answer(batch))
        ids = (await asyncio.shield(batch.answers))[place]
        ended = bool(ids) and ids[-1] == self.encoder.eos_id
        return Completion(
            text=self.encoder.decode(ids),
            finish_reason="stop" if ended else "length",
            model=self.version,
            usage=Usage(prompt_tokens=len(encoded.ids), completion_tokens=len(ids)),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    async def _answer(self, batch: _Batch) -> list[list[int]]:
        async with self._lock:
            if self._is_closing:
                raise asyncio.CancelledError
            if batch is self._batch:  # whoever asks from now on is in the next
                self._batch = _Batch()
            return await asyncio.to_thread(self.generate, batch.prompts, batch.rooms)

    def generate(self, prompts: Sequence[Sequence[int]], rooms: Sequence[int]) -> list[list[int]]:
        """Return the ids of each answer, at most `rooms`; halves a batch that does not fit."""
        torch = library("torch")
        try:
            return self._greedy(prompts, rooms)
        except torch.OutOfMemoryError as error:
            if len(prompts) == 1:
                raise self._too_large() from error
        if self._device == "cuda":
            torch.cuda.empty_cache()
        half = len(prompts) // 2
        first = self.generate(prompts[:half], rooms[:half])
        return first + self.generate(prompts[half:], rooms[half:])

    def _greedy(self, prompts: Sequence[Sequence[int]], rooms: Sequence[int]) -> list[list[int]]:
        torch, eos_id = library("torch"), self.encoder.eos_id
        width = max(map(len, prompts))
        padded = [[eos_id] * (width - len(prompt)) + list(prompt) for prompt in prompts]
        masked = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        ends = width + torch.tensor(list(rooms), device=self._device)
        answers = self._model.generate(
            torch.tensor(padded, device=self._device),
            attention_mask=torch.tensor(masked, device=self._device),
            max_new_tokens=max(rooms),
            stopping_criteria=[lambda ids, _scores, **_more: ids.shape[1] >= ends],
            do_sample=False,
            eos_token_id=eos_id,
            pad_token_id=eos_id,
        )[:, width:].tolist()
        cut = [answer[:room] for answer, room in zip(answers, rooms, strict=True)]
        return [ids[: ids.index(eos_id) + 1] if eos_id in ids else ids for ids in cut]

    async def aclose(self) -> None:
        """Wait for the batch in hand, and let go of the model."""
        self._is_closing = True
        async with self._lock:
            self._model = None
        # The next to ask may do so in another event loop.
        self._lock, self._batch, self._is_closing = asyncio.Lock(), _Batch(), False
        await super().aclose()
