"""A transformers model: where it runs, how it is loaded, and greedy generation in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judge.backends.local.files import ModelFiles
from judge.distribution import install
from judge.types import JudgeError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Hardware:
    """Where a model runs: a torch device and the type of its numbers."""

    device: str
    dtype: str

    def __str__(self) -> str:
        return f"{self.device}, {self.dtype}"

    @classmethod
    def of_this_machine(cls, on_gpu: str) -> Hardware:
        """Return the GPU with the type `on_gpu` where there is one, else the CPU with float32.

        Raises `JudgeError` where torch or transformers is not installed.
        """
        try:
            import torch
            import transformers  # noqa: F401
        except ModuleNotFoundError:
            needed = install("torch", "transformers", "accelerate")
            raise JudgeError(f"the judges hf:MODEL need torch and transformers; {needed}") from None
        return cls("cuda", on_gpu) if torch.cuda.is_available() else cls("cpu", "float32")


class Model:
    """A loaded model, which answers batches of prompts greedily."""

    def __init__(self, model: Any, device: str, name: str) -> None:  # noqa: ANN401
        self._model = model
        self._device = device
        self._name = name

    def generate(
        self, prompts: Sequence[Sequence[int]], rooms: Sequence[int], eos_id: int
    ) -> list[list[int]]:
        """Return for each prompt the ids of its answer, at most `rooms` of them.

        An answer ends with `eos_id` unless it was cut. Padding goes before a prompt, is
        masked and has no positions, so that no prompt knows of its neighbours. A batch too
        large for the memory is halved until it fits; raises `JudgeError` where one prompt
        alone does not.
        """
        import torch

        try:
            with torch.inference_mode():
                return self._greedy(prompts, rooms, eos_id)
        except torch.OutOfMemoryError as error:
            if len(prompts) == 1:
                raise JudgeError(
                    f"out of memory on {self._device} with {self._name}: use a smaller or "
                    "quantised model, a device with more memory, or vllm: with several GPUs"
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
        return [_until(answer[:room], eos_id) for answer, room in zip(answers, rooms, strict=True)]


def load(files: ModelFiles, hardware: Hardware) -> Model:
    """Return the model with its weights, fetched from the hub where they are not here yet.

    Raises `JudgeError` where they cannot be had or do not fit into memory.
    """
    import torch
    import transformers
    from transformers.utils import logging

    untyped: Any = logging
    untyped.disable_progress_bar()
    name = str(files.folder) if files.commit is None else files.model
    try:
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(
            name, revision=files.commit, dtype=getattr(torch, hardware.dtype)
        )
        model = model.to(hardware.device)
        return Model(model.eval(), hardware.device, files.model)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise JudgeError(
            f"{files.model} does not fit into the memory of {hardware.device}: use a smaller or "
            "quantised model, a device with more memory, or vllm: with several GPUs"
        ) from error
    except (OSError, ValueError) as error:
        raise JudgeError(f"cannot load the model {files.model}: {error}") from error


def _until(ids: list[int], eos_id: int) -> list[int]:
    """Return `ids` up to and with the first `eos_id`."""
    return ids[: ids.index(eos_id) + 1] if eos_id in ids else ids
