"""A model that vLLM serves, asked in token ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from judge.backends.connection import COMPLETIONS
from judge.backends.local.asking import Questions
from judge.backends.pool import Servers
from judge.prompts import Prompt
from judge.types import Completion, CompletionRequest, Study, Unparsed


class VLLMJudge:
    """Asks the completions endpoint for the greedy answer to a prompt given as token ids.

    The ids are made here (see `judge.backends.local.encode`), so that the server's own
    template and tokenizer have no say in them.
    """

    note = None
    is_free = False

    def __init__(
        self,
        name: str,
        served_as: str,
        questions: Questions,
        servers: Servers,
        say: Callable[[str], None],
    ) -> None:
        self.name = name
        self.version = questions.version
        self.prompt: Prompt | None = questions.prompt
        self.sampling: Mapping[str, object] = questions.sampling
        self.paid_at = servers.paid_at
        self._served_as = served_as
        self._questions = questions
        self._servers = servers
        self._say = say

    @property
    def log(self) -> Path | None:
        """What a server that was started for this judge wrote."""
        return self._servers.log

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know of the prompts built so far."""
        return self._questions.notes

    def request(self, study: Study) -> CompletionRequest:
        """Return the prompt around the study's reports, to be answered greedily."""
        return self._questions.request(study)

    async def ready(self) -> None:
        """Wait for the server, where it has to be started first."""
        await self._servers.ready()

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask a server once; raises as `judge.backends.openai_client.Client.ask` does.

        Raises `StudyError` for a prompt that leaves no room for an answer.
        """
        encoded, room = self._questions.encoded(request)
        answer = await self._servers.ask(
            {
                "model": self._served_as,
                "prompt": list(encoded.ids),
                "temperature": 0,
                "max_tokens": room,
                "stop_token_ids": [self._questions.encoder.eos_id],
            },
            COMPLETIONS,
        )
        # The server shows the blank that a Llama's first token begins with; a tokenizer that
        # decodes the answer by itself, as everywhere else, does not.
        return replace(answer, text=answer.text.removeprefix(" "))

    def again(
        self,
        request: CompletionRequest,
        completion: Completion,  # noqa: ARG002 - GREEN models know one question
        unparsed: Unparsed,  # noqa: ARG002
    ) -> CompletionRequest:
        """Return the same request: a model of one prompt cannot be told what was wrong."""
        return request

    async def aclose(self) -> None:
        """Close the connections, and stop a server that was started; say what was cut."""
        for note in self.notes:
            self._say(note)
        await self._servers.aclose()
