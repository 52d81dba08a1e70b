"""The conversation with an OpenAI-compatible server: what is sent, and what its answers mean."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import openai

from judge.backends.connection import CHAT
from judge.backends.errors import (
    AskError,
    OverloadError,
    StudyError,
    TransientError,
    UnavailableError,
)
from judge.backends.structured import Mode, called, is_asked_for, refuses
from judge.types import Completion, JudgeError, Usage

_UNAVAILABLE = frozenset({502, 503, 504, 520, 522, 524, 529})
_RETRIED = frozenset({408, 409, 425, 500})
# A reply that the server itself found to be of another form than was asked for (Groq).
_BAD_REPLY = ("json_validate_failed", "tool_use_failed")


class RefusedParameterError(Exception):
    """The model takes no such parameter, or not this value of it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class RefusedModeError(Exception):
    """The server or the model does not hold replies to their form in this mode."""

    def __init__(self, mode: Mode) -> None:
        super().__init__(mode.value)
        self.mode = mode


class Client:
    """Sends requests to one server, each once; `timeout` is in seconds."""

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self._url = url
        self._client = openai.AsyncOpenAI(
            api_key=key,
            base_url=url,
            timeout=timeout,
            max_retries=0,
            http_client=openai.DefaultAioHttpClient(timeout=timeout),
        )

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Return the answer to a request, of the chat or of the completions kind by `path`.

        `mode` is how a reply of a fixed form is asked for, None for one that is text.

        Raises `RefusedParameterError`, `RefusedModeError`, an `AskError` for what concerns
        this request, and `JudgeError` for what no other request would escape: a wrong key,
        no quota, an unknown model.
        """
        try:
            # `chat.completions.create` walks through every message by its type hints and
            # builds a model of the answer: more CPU than all the rest of a request.
            answer = await self._client.post(path, cast_to=object, body=body)
        except openai.APIStatusError as error:
            wrong = _wrong(error, self._url)
            if mode and not isinstance(wrong, StudyError) and _refuses(mode, error):
                raise RefusedModeError(mode) from error
            if error.status_code == 400 and (name := _refused_parameter(error, body)):
                raise RefusedParameterError(name) from error
            raise wrong from error
        except (openai.OpenAIError, ValueError) as error:
            # The client lets the JSON decoder's ValueError through as it is.
            raise _wrong(error, self._url) from error
        return _completion(answer, mode, body)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


def _completion(
    answer: Any,  # noqa: ANN401 - JSON from outside, checked here
    mode: Mode | None,
    body: Mapping[str, Any],
) -> Completion:
    """Return the answer in a response; raises an `AskError` where there is none in it."""
    try:
        choice = answer["choices"][0]
        finish_reason = str(choice["finish_reason"])
        message = choice["message"] if "message" in choice else {"content": choice["text"]}
        text, refusal = message.get("content"), message.get("refusal")
        if mode is Mode.TOOLS:
            text, finish_reason = _call(message, finish_reason, body)
        usage = _usage(answer.get("usage"))
        model = str(answer["model"])
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise TransientError("unreadable response", "it is no completion") from error
    if finish_reason == "content_filter":
        raise StudyError("content filter", "the server withheld the answer")
    return Completion(
        text=str(refusal or text or ""),
        finish_reason="refusal" if refusal else finish_reason,
        model=model,
        usage=usage,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        mode=mode.value if mode else None,
    )


def _call(
    message: Mapping[str, Any], finish_reason: str, body: Mapping[str, Any]
) -> tuple[str | None, str]:
    """Return the text and the finish reason of a message that should be a call of our tool."""
    call = called(message, body["tools"][0]["function"]["name"])
    if call is None:  # some models answer in plain words whatever they are told
        return message.get("content"), finish_reason
    text, as_asked = call
    if finish_reason in ("stop", "tool_calls"):
        finish_reason = "stop" if as_asked else "tool_calls"
    return text, finish_reason


def _refuses(mode: Mode, error: openai.APIStatusError) -> bool:
    if error.code in _BAD_REPLY:
        return False
    return refuses(mode, error.status_code, error.message, str(error.param or ""))


def _usage(usage: Mapping[str, Any] | None) -> Usage | None:
    if not usage:
        return None
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        int(usage["prompt_tokens"]),
        int(usage["completion_tokens"]),
        int(details.get("cached_tokens") or 0),
    )


def _refused_parameter(error: openai.APIStatusError, sent: Mapping[str, Any]) -> str | None:
    """Return the parameter that the server says the model does not take, if it says that."""
    text = error.message.lower()
    if error.code not in ("unsupported_parameter", "unsupported_value") and "support" not in text:
        return None
    needed = ("model", "messages", "prompt")
    optional = [name for name in sent if name not in needed and not is_asked_for(name)]
    if error.param in optional:
        return str(error.param)
    return next((name for name in optional if f"'{name}'" in text), None)


def _wrong(error: openai.OpenAIError | ValueError, url: str) -> AskError | JudgeError:
    """Return what follows from an exception of the client, told by what the server answered."""
    if isinstance(error, openai.APITimeoutError):
        # The aiohttp transport calls a refused or dropped connection a time-out as well.
        cause = str(error.__cause__ or "")
        reason = "connection" if "connect" in cause.lower() else "timeout"
        return UnavailableError(reason, cause or "no answer in time")
    if isinstance(error, openai.APIStatusError):
        return _wrong_status(error, url)
    if isinstance(error, openai.APIConnectionError):
        return UnavailableError("connection", str(error.__cause__ or error))
    return TransientError("unreadable response", str(error))


def _wrong_status(error: openai.APIStatusError, url: str) -> AskError | JudgeError:
    status, code = error.status_code, error.code or error.type or ""
    said = _said(error)
    if status == 401 or status == 403:
        return JudgeError(
            f"{url} refuses the key ({status}: {said}); check the environment variable"
        )
    if status == 404:
        return JudgeError(f"{url} does not have the model ({said}); check --judge and --base-url")
    if status == 429:
        if "insufficient_quota" in (error.code, error.type):
            return JudgeError(f"{url}: no quota left ({said}); what was answered is in the cache")
        return OverloadError("rate limit", said, _retry_after(error))
    if status in _UNAVAILABLE:
        return UnavailableError(f"status {status}", said, _retry_after(error))
    if status in _RETRIED or status >= 500:
        return TransientError(f"status {status}", said, _retry_after(error))
    if code in _BAD_REPLY:
        return TransientError("withheld reply", said)
    if code == "content_filter":
        return StudyError("content filter", said)
    if status == 413 or code == "context_length_exceeded" or "context length" in said.lower():
        return StudyError("too long", said)
    return JudgeError(f"{url} refuses the request ({status}: {said})")


def _said(error: openai.APIStatusError) -> str:
    """Return the server's words, on one line and not too many."""
    body = error.body
    text = body.get("message") if isinstance(body, Mapping) else None
    return " ".join(str(text or error.message).split())[:300]


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Return the seconds that the server asks to wait, if it does, as a number or as a date."""
    headers = error.response.headers
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) * unit)
    with suppress(KeyError, ValueError):
        until = parsedate_to_datetime(headers["retry-after"])
        return max(0.0, (until - datetime.now(UTC)).total_seconds())
    return None
