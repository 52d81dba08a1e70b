"""Judges behind an API that speaks OpenAI's chat completions: OpenAI, Azure, vLLM, ..."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.backends import structured
from judge.backends.connection import CHAT
from judge.backends.pool import Servers
from judge.backends.structured import Mode, Structured
from judge.prompts import Prompt
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, Message, Study, Unparsed

# Where a model refuses a parameter, its replacement if there is one; others are left out.
_REPLACEMENTS = {"max_tokens": "max_completion_tokens"}


class OpenAIJudge:
    """A model behind an OpenAI-compatible server, asked with a rubric's prompt.

    A rubric with a reply model is asked for in the first mode that the server does not refuse.
    """

    note = None
    notes = ()
    is_free = False

    def __init__(
        self,
        model: str,
        rubric: Rubric,
        prompt: Prompt,
        servers: Servers,
        *,
        max_tokens: int,
        say: Callable[[str], None],
        version: str | None = None,
        name: str | None = None,
    ) -> None:
        self.name = name or model
        self.version = version or model
        self._served_as = model
        self.prompt: Prompt | None = prompt
        self._wording = prompt
        self._structured = Structured(rubric.reply_model()) if rubric.reply_model else None
        self._mode = Mode.JSON_SCHEMA if self._structured else None
        self.sampling: Mapping[str, object] = {"temperature": 0, "max_tokens": max_tokens}
        self.paid_at = servers.paid_at
        self._say = say
        self._refused: dict[str, str | None] = {}
        self._servers = servers

    def request(self, study: Study) -> CompletionRequest:
        """Return the prompt's turns around the study's reports, to be answered greedily."""
        return CompletionRequest(
            endpoint="chat",
            model=self.version,
            messages=self._wording.messages(study.reference, study.candidate),
            sampling=self.sampling,
            schema=self._structured.schema if self._structured else None,
        )

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask the server once.

        Raises an `AskError` for what concerns this request, and `JudgeError` for what no
        other request would escape: a wrong key, no quota, an unknown model.
        """
        from judge.backends.openai_client import RefusedModeError, RefusedParameterError

        while True:
            body = {
                "model": self._served_as,
                **self._turns(request.messages),
                **self._accepted(request.sampling),
            }
            try:
                return await self._servers.ask(body, CHAT, self._mode)
            except RefusedParameterError as error:
                self._refuse(error.name)
            except RefusedModeError as error:
                self._step_down(error.mode)

    def again(
        self, request: CompletionRequest, completion: Completion, unparsed: Unparsed
    ) -> CompletionRequest:
        """Return the same request; for a reply of a fixed form, one that says what was wrong."""
        if self._structured is None:
            return request
        return structured.again(request, completion.text, unparsed)

    @property
    def log(self) -> Path | None:
        """What a server that was started for this judge wrote."""
        return self._servers.log

    async def ready(self) -> None:
        """Wait for the server, where it has to be started first."""
        await self._servers.ready()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._servers.aclose()

    def _turns(self, turns: Sequence[Message]) -> dict[str, Any]:
        """Return the conversation and, in today's mode, what holds the reply to its form."""
        if self._structured is None or self._mode is None:
            return {"messages": [{"role": turn.role, "content": turn.content} for turn in turns]}
        return self._structured.body(self._mode, turns)

    def _accepted(self, sampling: Mapping[str, object]) -> dict[str, Any]:
        """Return the sampling parameters without those that the model has refused."""
        accepted: dict[str, Any] = {}
        for name, value in sampling.items():
            sent = name
            while self._refused.get(sent):
                sent = str(self._refused[sent])
            if sent not in self._refused:
                accepted[sent] = value
        return accepted

    def _refuse(self, parameter: str) -> None:
        if parameter not in self._refused:
            replacement = self._refused[parameter] = _REPLACEMENTS.get(parameter)
            instead = f"sending {replacement} instead" if replacement else "leaving it out"
            self._say(f"The model {self.version} refuses {parameter}; {instead}.")

    def _step_down(self, refused: Mode) -> None:
        """Go on to the next mode, once for all requests that were refused together."""
        if self._mode is refused and refused.next is not None:
            self._mode = refused.next
            self._say(
                f"The model {self.version} does not take {refused.label} for its reply; "
                f"asking for {self._mode.label} instead."
            )
