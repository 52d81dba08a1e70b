"""A model that vLLM serves, asked in token ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from judge.backends.connection import COMPLETIONS
from judge.backends.local.asking import LocalJudge
from judge.backends.local.encode import Encoder
from judge.backends.pool import Servers
from judge.prompts import Prompt
from judge.types import Completion, CompletionRequest


class VLLMJudge(LocalJudge):
    """Asks the completions endpoint for the answer to a prompt given as token ids.

    The ids are made here (see `judge.backends.local.encode`), so that the server's own
    template and tokenizer have no say in them.
    """

    servers: Servers

    def __init__(
        self,
        name: str,
        version: str,
        prompt: Prompt,
        encoder: Encoder,
        say: Callable[[str], None],
        *,
        served_as: str,
        servers: Servers,
        max_tokens: int,
        asked: Mapping[str, object],
    ) -> None:
        super().__init__(name, version, prompt, encoder, say, max_tokens=max_tokens, asked=asked)
        self.billing_url = servers.billing_url
        self._served_as = served_as
        self.servers = servers

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask a server once; raises as `judge.backends.openai_client.Client.ask` does.

        Raises `StudyError` for a prompt that leaves no room for an answer.
        """
        encoded, room = self.encoded(request)
        answer = await self.servers.ask(
            {
                "model": self._served_as,
                "prompt": list(encoded.ids),
                "temperature": 0,
                **self.asked_in(request),
                "max_tokens": room,
                "stop_token_ids": [self.encoder.eos_id],
            },
            COMPLETIONS,
        )
        # The server shows the blank that a Llama's first token begins with; a tokenizer that
        # decodes the answer by itself, as everywhere else, does not.
        return replace(answer, text=answer.text.removeprefix(" "))
