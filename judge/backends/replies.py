"""What a server's reply means: a completion, or which error follows from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from judge import jsonio
from judge.backends.base import (
    OverloadError,
    StudyError,
    TransientError,
    UnavailableError,
    UnreadableReplyError,
)
from judge.backends.connection import NO_KEY, shown
from judge.backends.structured import KEYS, Mode, called, refuses
from judge.types import Completion, JudgeError, Usage

LONGEST_WAIT = 300.0
"""Seconds: how long a server's `Retry-After` is obeyed; then it is asked again."""

# What stops the run, by status: no other request would escape it.
_KEY = "{url} refuses the key ({status}: {words}); check the environment variable"
_STOPS = {
    300: "{url} redirects to {place} ({status}); give that address with --base-url if it is right",
    401: _KEY,
    403: _KEY,
    404: "{url} does not have the model ({words}); check --judge, and --base-url, which most "
    "servers want to end with /v1",
    # Where it has one of the marks of _NO_QUOTA.
    429: "{url}: no quota left ({words}); what was answered is in the cache",
}
_NO_QUOTA = frozenset({"insufficient_quota"})
_UNAVAILABLE = frozenset({502, 503, 504, 520, 522, 524, 529})
_RETRIED = frozenset({408, 409, 425})
# A reply that the server itself found to be of another form than was asked for (Groq).
_BAD_REPLY = frozenset({"json_validate_failed", "tool_use_failed"})
_FILTERED = frozenset({"content_filter"})
_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value"})
_TOO_LONG_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
# The words of OpenAI and Azure, vLLM, SGLang, llama.cpp, Ollama and TGI (see the tests).
_TOO_LONG = re.compile(
    r"context[ _](length|size|window)|maximum (model|allowed) length|prompt is too long"
    r"|prompt too long|too long to fit|input is too large to process"
    r"|max_tokens must be at least 1, got -"
    r"|`inputs` (must have less than|tokens \+ `max_new_tokens` must be)",
    re.I,
)
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
    """Return the answer in the JSON value of a reply; `tool` is the one it was to call, if any.

    Raises `UnreadableReplyError` where it holds none, `StudyError` where it was withheld.
    """
    try:
        choice = answer["choices"][0]
        finish_reason = str(choice["finish_reason"])
        message = choice["message"] if "message" in choice else {"content": choice["text"]}
        text, refusal = message.get("content"), message.get("refusal")
        # Some models answer in plain words whatever they are told.
        if tool and (call := called(message, tool)):
            text, is_asked_for = call
            if finish_reason in ("stop", "tool_calls"):
                finish_reason = "stop" if is_asked_for else "tool_calls"
        model, usage = str(answer["model"]), _usage(answer.get("usage"))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        words = _words(_error(answer), key) if isinstance(answer, Mapping) else ""
        raise UnreadableReplyError(f"it is no completion{words and f': {words}'}") from error
    if not isinstance(text, str | None) or not isinstance(refusal, str | None):
        raise UnreadableReplyError("it is no completion: its text is none")
    if finish_reason == "content_filter":
        raise StudyError("content filter", "the server withheld the answer")
    return Completion(
        text=refusal or text or "",
        finish_reason="refusal" if refusal else finish_reason,
        model=model,
        usage=usage,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        mode=mode.value if mode else None,
    )


def _usage(usage: object) -> Usage | None:
    """None where the tokens are not whole numbers: then nothing is known."""
    if not isinstance(usage, Mapping):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    counts = (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached or 0)
    known = [n for n in counts if type(n) is int and 0 <= n < _MOST_TOKENS]
    return Usage(*known) if len(known) == len(counts) else None


class ErrorReply:
    """A reply with another status than success."""

    def __init__(self, url: str, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self._url, self._status, self._headers = url, status, headers
        body = data.decode("utf-8", "replace").strip()
        with suppress(jsonio.JsonError):
            body = jsonio.read(body)
        self._text = str(body)
        self._error = _error(body)
        self._code = self._error.get("code")
        self._param = str(self._error.get("param") or "")
        self._marks = {str(self._code), str(self._error.get("type"))}

    @property
    def retry_after(self) -> float | None:
        """The seconds that the server asks to wait, if it does, and at most `LONGEST_WAIT`."""
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            with suppress(KeyError, ValueError):
                seconds = float(self._headers[name]) * unit
                return min(max(0.0, seconds), LONGEST_WAIT) if seconds == seconds else None
        return None

    def meaning(self, sent: Mapping[str, Any], mode: Mode | None, key: str) -> Exception:
        """Return the error that follows for the request `sent`, in the server's words."""
        status, marks = self._status, self._marks
        words = _words(self._error, key) or f"status {status}"
        # Of an error of its own, a server may say in the same words that its memory is full.
        is_spoken = status in (400, 422, 500) and _TOO_LONG.search(self._text)
        is_too_long = status == 413 or is_spoken or marks & _TOO_LONG_CODES
        may_refuse = not is_too_long and not marks & (_BAD_REPLY | _FILTERED)
        if mode and may_refuse and refuses(mode, status, self._text, self._param):
            return RefusedError(mode)
        if status == 400 and may_refuse and (name := self._refused_parameter(sent)):
            return RefusedError(name)
        if status < 400:
            return self._stop(_STOPS[300], words)
        if status == 429 and not marks & _NO_QUOTA:
            return OverloadError("rate limit", words, self.retry_after)
        if status in _STOPS:
            return self._stop(_STOPS[status], words)
        if status in _UNAVAILABLE:
            return UnavailableError(f"status {status}", words, self.retry_after)
        if is_too_long:
            return StudyError("too long", words)
        if status in _RETRIED or status >= 500:
            return TransientError(f"status {status}", words, self.retry_after)
        if marks & _BAD_REPLY:
            return TransientError("withheld reply", words)
        if marks & _FILTERED:
            return StudyError("content filter", words)
        return self._stop("{url} refuses the request ({status}: {words})", words)

    def _stop(self, message: str, words: str) -> JudgeError:
        place = shown(self._headers.get("Location", "an address that it does not say"))[:300]
        return JudgeError(
            message.format(url=self._url, status=self._status, words=words, place=place)
        )

    def _refused_parameter(self, sent: Mapping[str, Any]) -> str | None:
        text = self._text.lower()
        if self._code not in _UNSUPPORTED and "support" not in text:
            return None
        optional = [name for name in sent if name not in ("model", "messages", "prompt", *KEYS)]
        if self._param in optional:
            return self._param
        return next((name for name in optional if f"'{name}'" in text), None)


def _error(body: object) -> Mapping[str, object]:
    error = body.get("error", body) if isinstance(body, Mapping) else body
    return error if isinstance(error, Mapping) else {"message": error}


def _words(error: Mapping[str, object], key: str) -> str:
    """The server's words, on one line, not too many, and never with the key in them."""
    text = " ".join(str(error.get("message") or "").split())
    return (text if key == NO_KEY else text.replace(key, "***"))[:300]
