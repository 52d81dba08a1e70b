"""What a server's reply means: a completion, or which error follows from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from judge import jsonio
from judge.backends.connection import NO_KEY, shown
from judge.backends.errors import (
    OverloadError,
    StudyError,
    TransientError,
    UnavailableError,
    UnreadableReplyError,
)
from judge.backends.structured import KEYS, Mode, called, refuses
from judge.types import Completion, JudgeError, Usage

LONGEST_WAIT = 300.0
"""Seconds: how long a server's `Retry-After` is obeyed; then it is asked again."""

_UNAVAILABLE = frozenset({502, 503, 504, 520, 522, 524, 529})
_RETRIED = frozenset({408, 409, 425, 500})
# A reply that the server itself found to be of another form than was asked for (Groq).
_BAD_REPLY = ("json_validate_failed", "tool_use_failed")
# The words of OpenAI and Azure, vLLM, SGLang, llama.cpp, Ollama and TGI (see the tests).
_TOO_LONG = re.compile(
    r"context[ _](length|size|window)|maximum (model|allowed) length|prompt is too long"
    r"|prompt too long|too long to fit|input is too large to process"
    r"|max_tokens must be at least 1, got -"
    r"|`inputs` (must have less than|tokens \+ `max_new_tokens` must be)",
    re.I,
)
_TOO_LONG_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_MOST_TOKENS = 2**53


class RefusedError(Exception):
    """The server or the model does not take a parameter, by its name, or a mode of replies."""

    def __init__(self, what: str | Mode) -> None:
        super().__init__(what)
        self.what = what


def completion(data: bytes, mode: Mode | None, body: Mapping[str, Any], key: str) -> Completion:
    """Return the answer that a reply to the request `body` holds; raises as `completion_of`."""
    try:
        answer = jsonio.read(data, nan=True)  # an odd usage loses no answer
    except jsonio.JsonError as error:
        raise UnreadableReplyError("it is no completion") from error
    tool = body["tools"][0]["function"]["name"] if mode is Mode.TOOLS else None
    return completion_of(answer, mode, tool, key)


def completion_of(answer: Any, mode: Mode | None, tool: str | None, key: str) -> Completion:  # noqa: ANN401
    """Return the answer in the JSON value of a reply; `tool` is the one it was to call, if any."""
    try:
        choice = answer["choices"][0]
        finish_reason = str(choice["finish_reason"])
        message = choice["message"] if "message" in choice else {"content": choice["text"]}
        text, refusal = message.get("content"), message.get("refusal")
        # Some models answer in plain words whatever they are told.
        if tool and (call := called(message, tool)):
            text, as_asked = call
            if finish_reason in ("stop", "tool_calls"):
                finish_reason = "stop" if as_asked else "tool_calls"
        text, refusal = _text(text), _text(refusal)
        model = str(answer["model"])
        usage = _usage(answer.get("usage"))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        said = _words(answer.get("error", answer), "", key) if isinstance(answer, dict) else ""
        raise UnreadableReplyError(f"it is no completion{said and f': {said}'}") from error
    if finish_reason == "content_filter":
        raise StudyError("content filter", "the server withheld the answer")
    return Completion(
        text=refusal or text,
        finish_reason="refusal" if refusal else finish_reason,
        model=model,
        usage=usage,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        mode=mode.value if mode else None,
    )


def _text(value: object) -> str:
    if not isinstance(value, str | None):
        raise TypeError("a text that is none")
    return value or ""


def _usage(usage: object) -> Usage | None:
    """Return the tokens; None where they are not whole numbers, as then nothing is known."""
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    given = (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached or 0)
    counts = [n for n in given if type(n) is int and 0 <= n < _MOST_TOKENS]
    return Usage(*counts) if len(counts) == len(given) else None


class ErrorReply:
    """A reply with another status than success. `message` is put as the openai package puts it."""

    def __init__(self, url: str, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self.url, self.status, self.headers = url, status, headers
        text = data.decode("utf-8", "replace").strip()
        try:
            body = jsonio.read(text)
            self.message = f"Error code: {status} - {body}"
        except jsonio.JsonError:
            body, self.message = None, text or f"Error code: {status}"
        self._error = body.get("error", body) if isinstance(body, Mapping) else body
        said = self._error if isinstance(self._error, Mapping) else {}
        self.code, self.kind, self.param = (said.get(name) for name in ("code", "type", "param"))
        self._marks = {str(self.code), str(self.kind)}

    @property
    def retry_after(self) -> float | None:
        """The seconds that the server asks to wait, if it does, and at most `LONGEST_WAIT`."""
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            with suppress(KeyError, ValueError):
                seconds = float(self.headers[name]) * unit
                return min(max(0.0, seconds), LONGEST_WAIT) if seconds == seconds else None
        with suppress(KeyError, ValueError, TypeError, OverflowError):
            until = parsedate_to_datetime(self.headers["retry-after"])
            until = until if until.tzinfo else until.replace(tzinfo=UTC)
            return min(max(0.0, (until - datetime.now(UTC)).total_seconds()), LONGEST_WAIT)
        return None

    def meaning(self, sent: Mapping[str, Any], mode: Mode | None, key: str) -> Exception:
        """Return the error that follows for the request `sent`, in the server's words."""
        wrong = self._follows(_words(self._error, self.message, key))
        may_refuse = self.code not in _BAD_REPLY and not isinstance(wrong, StudyError)
        param = str(self.param or "")
        if mode and may_refuse and refuses(mode, self.status, self.message, param):
            return RefusedError(mode)
        if self.status == 400 and (name := self._refused_parameter(sent)):
            return RefusedError(name)
        return wrong

    def _follows(self, said: str) -> Exception:
        status, wait = self.status, self.retry_after
        if status < 400:
            where = shown(self.headers.get("Location", "an address that it does not say"))
            return JudgeError(
                f"{self.url} redirects to {where[:300]} ({status}); nothing was sent there: "
                "give that address with --base-url if it is the right one"
            )
        if status in (401, 403):
            return JudgeError(
                f"{self.url} refuses the key ({status}: {said}); check the environment variable"
            )
        if status == 404:
            path = "" if "/v1" in self.url else ", which most servers want to end with /v1"
            return JudgeError(
                f"{self.url} does not have the model ({said}); check --judge and --base-url{path}"
            )
        if status == 429:
            if "insufficient_quota" in self._marks:
                return JudgeError(
                    f"{self.url}: no quota left ({said}); what was answered is in the cache"
                )
            return OverloadError("rate limit", said, wait)
        if status in _UNAVAILABLE:
            return UnavailableError(f"status {status}", said, wait)
        # Of an error of its own, a server may say in the same words that its memory is full.
        spoken = status in (400, 422, 500) and _TOO_LONG.search(self.message)
        if status == 413 or spoken or self._marks & _TOO_LONG_CODES:
            return StudyError("too long", said)
        if status in _RETRIED or status >= 500:
            return TransientError(f"status {status}", said, wait)
        if self.code in _BAD_REPLY:
            return TransientError("withheld reply", said)
        if "content_filter" in self._marks:
            return StudyError("content filter", said)
        return JudgeError(f"{self.url} refuses the request ({status}: {said})")

    def _refused_parameter(self, sent: Mapping[str, Any]) -> str | None:
        text = self.message.lower()
        codes = ("unsupported_parameter", "unsupported_value")
        if self.code not in codes and "support" not in text:
            return None
        optional = [name for name in sent if name not in ("model", "messages", "prompt", *KEYS)]
        if self.param in optional:
            return str(self.param)
        return next((name for name in optional if f"'{name}'" in text), None)


def _words(error: object, otherwise: str, key: str) -> str:
    """Return the server's words, on one line, not too many, and never with the key in them."""
    said = error.get("message") if isinstance(error, Mapping) else error
    text = " ".join(str(said or otherwise).split())
    return (text if key == NO_KEY else text.replace(key, "***"))[:300]
