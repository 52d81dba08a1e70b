"""One request to Anthropic, sent by the anthropic package, and what it brought."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping
from typing import Any, ClassVar

import anthropic
import httpx2  # comes with openai

from judge.backends.base import Mode, UnreadableReplyError
from judge.backends.connection import FORM_KEY, Connection
from judge.backends.hosted import EFFORT, SERVICE_TIER
from judge.backends.replies import MOST_BYTES
from judge.backends.reply_reader import ReplyReader, token_count
from judge.backends.sdk_client import LOOK_UP, SdkClient, day_of, http_client
from judge.types import Completion, Usage

_REFUSABLE = ("temperature", "top_p", "top_k", SERVICE_TIER, "system", "max_tokens")


class AnthropicReplies(ReplyReader):
    """Reads messages of Anthropic's API."""

    answer_key: ClassVar[str] = "content"
    usage_key: ClassVar[str] = "usage"
    what: ClassVar[str] = "a message"

    def completion_of(self, answer: Any, mode: Mode | None) -> Completion:  # noqa: ANN401
        """Return the answer in a message; raises `AskError` where it has none.

        The blocks of type `text` are the answer. Thinking is left out.
        """
        try:
            blocks = list(answer["content"])
            text = "".join(block["text"] for block in blocks if block["type"] == "text")
            has_thought = any("thinking" in str(block["type"]) for block in blocks)
            stop_reason, model = answer.get("stop_reason"), answer.get("model")
        except (AttributeError, LookupError, TypeError) as error:
            raise UnreadableReplyError(f"it is not {self.what}") from error
        elsewhere = "its reasoning" if has_thought else None
        return self.answer(
            text, stop_reason, model=model, mode=mode, elsewhere=elsewhere
        )

    def tokens_of(self, usage: Mapping[str, Any]) -> Usage | None:
        """Return the counts of tokens; None where they are no whole numbers.

        Anthropic's `input_tokens` leave out what was read from and written to the prompt cache.
        """
        sent = token_count(usage.get("input_tokens"))
        made = token_count(usage.get("output_tokens"))
        read = token_count(usage.get("cache_read_input_tokens") or 0)
        written = token_count(usage.get("cache_creation_input_tokens") or 0)
        if sent is None or made is None or read is None or written is None:
            return None
        return Usage(
            prompt_tokens=sent + read + written,
            completion_tokens=made,
            cached_tokens=read,
            written_tokens=written,
        )

    def refusable(self, sent: Mapping[str, Any]) -> list[str]:
        """Return what a refusal of a request may be about."""
        names = [name for name in _REFUSABLE if name in sent]
        config = sent.get("output_config", {})
        if "effort" in config:
            names.append(EFFORT)
        if "format" in config:
            names.append(FORM_KEY)
        return names


def client(
    connection: Connection, key: str, most_bytes: int = MOST_BYTES
) -> anthropic.AsyncAnthropic:
    """Return a client that sends each request once, for one event loop."""
    return anthropic.AsyncAnthropic(
        api_key=key,
        base_url=connection.base_url,
        timeout=connection.timeout,
        max_retries=0,
        default_headers={"Accept-Encoding": "identity"},
        http_client=http_client(connection, most_bytes),
    )


class AnthropicClient(SdkClient):
    """Asks Anthropic for messages. Used in one event loop."""

    status_error = anthropic.APIStatusError
    connection_errors = (anthropic.APIConnectionError,)

    def __init__(self, connection: Connection, key: str) -> None:
        super().__init__(connection, AnthropicReplies(connection.base_url, key))
        self._anthropic = client(connection, key)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],  # noqa: ARG002
        content: bytes,
    ) -> httpx2.Response:
        """Send a body as JSON and return the reply as it came."""
        return await self._anthropic.post(
            path,
            cast_to=httpx2.Response,
            content=content,
            options={"headers": {"Content-Type": "application/json"}},
        )

    async def ends(self, model: str) -> dt.date | None:
        """Return `retires_at` of the model, None where it is not said."""
        try:
            async with asyncio.timeout(min(self.connection.timeout, LOOK_UP)):
                found = await self._anthropic.models.retrieve(model)
            return day_of(getattr(found, "retires_at", None))
        except (OSError, anthropic.AnthropicError, ValueError):
            return None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._anthropic.close()
