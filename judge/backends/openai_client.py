"""One request to an OpenAI-compatible server, sent by the openai package, and what it brought."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import httpx2  # comes with openai
import openai

from judge import jsonio
from judge.backends.base import Mode, UnreadableReplyError
from judge.backends.connection import Connection
from judge.backends.refusals import SYSTEM
from judge.backends.replies import MOST_BYTES
from judge.backends.reply_reader import ReplyReader, error_of, token_count, words_of
from judge.backends.sdk_client import LOOK_UP, SdkClient, day_of, http_client
from judge.endings import REFUSAL
from judge.types import Completion, Usage

# What a body has besides what may be refused.
_NEEDED = frozenset({"model", "messages", "prompt", "stop_token_ids"})


class OpenAIReplies(ReplyReader):
    """Reads chat completions, and completions of a text."""

    answer_key: ClassVar[str] = "choices"
    usage_key: ClassVar[str] = "usage"
    what: ClassVar[str] = "a chat completion"

    def completion_of(self, answer: Any, mode: Mode | None) -> Completion:  # noqa: ANN401
        """Return the answer in a reply's JSON; raises `AskError` where it has none.

        The model's name, the usage and the ending may be missing; what was said is what counts.
        """
        try:
            choice = answer["choices"][0]
            message = (
                choice["message"]
                if "message" in choice
                else {"content": choice["text"]}
            )
            text, refusal = _text(message.get("content")), message.get("refusal")
            reasoning = message.get("reasoning_content") or message.get("reasoning")
            model, finish_reason = answer.get("model"), choice.get("finish_reason")
            fault = choice.get("error")
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            words = (
                words_of(error_of(answer), self.key)
                if isinstance(answer, Mapping)
                else ""
            )
            said = f": {words}" if words else ""
            raise UnreadableReplyError(f"it is not {self.what}{said}") from error
        if text is None or not isinstance(refusal, str | None):
            raise UnreadableReplyError(
                f"it is not {self.what}: its text is not a string"
            )
        why = words_of(error_of(fault), self.key) if fault else ""
        elsewhere = None
        if isinstance(reasoning, str) and reasoning.strip():
            elsewhere = "its reasoning"
        elif message.get("tool_calls") or message.get("function_call"):
            elsewhere = "a tool call"
        completion = self.answer(
            refusal or text,
            finish_reason,
            model=model,
            mode=mode,
            why=why,
            elsewhere=elsewhere,
        )
        return replace(completion, finish_reason=REFUSAL) if refusal else completion

    def tokens_of(self, usage: Mapping[str, Any]) -> Usage | None:
        """Return the counts of tokens in a reply; None where they are no whole numbers."""
        details = usage.get("prompt_tokens_details")
        if isinstance(details, Mapping) and jsonio.repeated_keys(details):
            return None
        prompt = token_count(usage.get("prompt_tokens"))
        made = token_count(usage.get("completion_tokens"))
        read = token_count(_number(details, "cached_tokens"))
        written = token_count(_number(details, "cache_write_tokens"))
        if prompt is None or made is None or read is None or written is None:
            return None
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=made,
            cached_tokens=read,
            written_tokens=written,
        )

    def refusable(self, sent: Mapping[str, Any]) -> list[str]:
        """Return the keys of a body besides those that it must have, and `system` for a turn."""
        names = [name for name in sent if name not in _NEEDED]
        turns = sent.get("messages") or ()
        if any(turn.get("role") in (SYSTEM, "developer") for turn in turns):
            names.append(SYSTEM)
        return names


def _number(details: object, name: str) -> object:
    """Return a count of the prompt's tokens, 0 where it is not said."""
    if not isinstance(details, Mapping):
        return 0
    return details.get(name) or 0


# Kinds of parts that are thought, or a call, and no answer.
_NO_TEXT = ("thinking", "reasoning", "redacted_thinking", "tool_use", "tool_call")


def _text(content: object) -> str | None:
    """Return the text of a message's content, which may come in parts; None where it has none."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
            continue
        if not isinstance(part, Mapping):
            return None
        if part.get("type") in _NO_TEXT:
            continue
        text = part.get("text")
        if isinstance(text, Mapping):
            text = text.get("value")
        if not isinstance(text, str):
            return None
        texts.append(text)
    return "".join(texts)


def client(
    connection: Connection, key: str, most_bytes: int = MOST_BYTES
) -> openai.AsyncOpenAI:
    """Return a client that sends each request once, for one event loop."""
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=connection.base_url,
        timeout=connection.timeout,
        default_headers={"Accept-Encoding": "identity"},
        max_retries=0,
        http_client=http_client(connection, most_bytes),
    )


class OpenAIClient(SdkClient):
    """Asks one OpenAI-compatible server for completions. Used in one event loop."""

    status_error = openai.APIStatusError
    connection_errors = (openai.APIConnectionError,)

    def __init__(self, connection: Connection, key: str) -> None:
        super().__init__(connection, OpenAIReplies(connection.base_url, key))
        self._openai = client(connection, key)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],  # noqa: ARG002
        content: bytes,
    ) -> httpx2.Response:
        """Send a body as JSON and return the reply as it came."""
        return await self._openai.post(path, cast_to=httpx2.Response, content=content)

    async def ends(self, model: str) -> dt.date | None:
        """Return `shutdown_date` of the model at `/v1/models`, None where it is not said."""
        try:
            async with asyncio.timeout(min(self.connection.timeout, LOOK_UP)):
                found = await self._openai.models.retrieve(model)
            return day_of(getattr(found, "shutdown_date", None))
        except (OSError, openai.OpenAIError, ValueError):
            return None

    async def context(self, model: str) -> int | None:
        """Return `max_model_len` of the model in `/v1/models`, None where it is not said."""
        try:
            async with asyncio.timeout(min(self.connection.timeout, LOOK_UP)):
                response: httpx2.Response = await self._openai.get(
                    "/models", cast_to=httpx2.Response
                )
            listed = jsonio.read(response.content)["data"]
            found = [each for each in listed if each.get("id") == model] or listed[:1]
            length = found[0]["max_model_len"]
        except (
            OSError,
            openai.OpenAIError,
            jsonio.JsonError,
            LookupError,
            TypeError,
            ValueError,
        ):
            return None
        except AttributeError:
            return None
        return length if type(length) is int and length > 0 else None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._openai.close()
