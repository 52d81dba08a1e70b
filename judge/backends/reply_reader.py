"""What a reply of a provider means: an answer, or which error it is.

How an error is told from its status and its words is the same for all providers, and is here. A
provider says in a `ReplyReader` of its own where its answers and its counts of tokens stand.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import httpx2  # comes with openai

from judge import jsonio
from judge.backends.base import (
    AskError,
    Mode,
    OverloadError,
    RefusedError,
    StudyError,
    TransientError,
    UnavailableError,
    UnreadableReplyError,
)
from judge.backends.connection import NO_KEY
from judge.backends.refusals import named_in, names_longest
from judge.backends.waits import retry_after
from judge.endings import FILTERED, NO_ANSWER, kind_of
from judge.text import harmless
from judge.types import Completion, JudgeError, Usage

_MOST_TOKENS = 2**53

_IS_LONG = "context_length_exceeded"
# The words of OpenAI and Azure, vLLM, SGLang, llama.cpp, Ollama and TGI (see the tests).
_TOO_LONG = re.compile(
    r"context[ _](length|size|window)|maximum (model|allowed) length|prompt is too long"
    r"|prompt too long|too long to fit|input is too large to process"
    r"|max_tokens must be at least 1, got -"
    r"|`inputs` (must have less than|tokens \+ `max_new_tokens` must be)",
    re.I,
)
_Meaning: TypeAlias = tuple[type[JudgeError] | type[AskError], str]
# What an error reply means, by its status, code or type: the first of these that it has. A
# `JudgeError` stops the run, since no other request would escape it.
_MEANINGS: dict[int | str, _Meaning] = {
    "insufficient_quota": (JudgeError, "{url} has no quota left ({words})"),
    402: (JudgeError, "{url} has no quota left ({words})"),
    429: (OverloadError, "rate limit"),
    **dict.fromkeys(
        (502, 503, 504, 520, 522, 524, 529), (UnavailableError, "status {status}")
    ),
    **dict.fromkeys((408, 409, 425), (TransientError, "status {status}")),
    # The server itself found its reply to be of another form than was asked for (Groq).
    "json_validate_failed": (TransientError, "withheld reply"),
    "tool_use_failed": (TransientError, "withheld reply"),
    "content_filter": (StudyError, "content filter"),
    # Where an error inside a reply of 200 has a code in words.
    "rate_limit_exceeded": (OverloadError, "rate limit"),
    "overloaded_error": (UnavailableError, "overloaded"),
    "server_error": (TransientError, "server error"),
}
_REDIRECTS = (
    JudgeError,
    "{url} redirects to {where} ({status}); name that address with --base-url",
)
_SERVER_ERROR = (TransientError, "status {status}")
_NOT_IMPLEMENTED = 501


class ReplyReader(ABC):
    """Reads the replies of one server. A subclass knows one provider's protocol.

    Attributes:
        answer_key: The key of a reply that its answer stands under.
        usage_key: The key of a reply that its counts of tokens stand under.
        what: What a reply is called, with its article.
    """

    answer_key: ClassVar[str]
    usage_key: ClassVar[str]
    what: ClassVar[str]

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key

    @abstractmethod
    def completion_of(self, answer: Any, mode: Mode | None) -> Completion:  # noqa: ANN401
        """Return the answer in a reply's JSON; raises `AskError` where it has none.

        The counts of tokens are added by `read`.
        """

    @abstractmethod
    def tokens_of(self, usage: Mapping[str, Any]) -> Usage | None:
        """Return the counts of tokens in a reply; None where they are no whole numbers."""

    @abstractmethod
    def refusable(self, sent: Mapping[str, Any]) -> list[str]:
        """Return what a refusal of a request may be about, by the names that `Refusals` uses."""

    def answer(
        self,
        text: str,
        finish_reason: object,
        *,
        model: object,
        mode: Mode | None,
        why: str = "",
        elsewhere: str | None = None,
    ) -> Completion:
        """Return an answer as it is kept; raises `AskError` for an ending that leaves none.

        `model` and `finish_reason` are the provider's words, `why` those for what went wrong, and
        `elsewhere` says where an answer without text went.
        """
        ending = kind_of(finish_reason)
        if ending == FILTERED:
            raise StudyError("content filter", "the server withheld the answer")
        if ending == NO_ANSWER:
            words = why or f"it ended with {finish_reason}"
            raise TransientError("answer broken off", words[:300])
        return Completion(
            text=text,
            finish_reason=ending,
            model=model if isinstance(model, str) else "",
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            mode=mode.value if mode else None,
            elsewhere=None if text.strip() else elsewhere,
        )

    def status_of(self, reply: httpx2.Response) -> int:
        """Return the status that a reply without success counts as."""
        return reply.status_code

    def read(
        self,
        answer: Any,  # noqa: ANN401
        response: httpx2.Response,
        sent: Mapping[str, Any],
        mode: Mode | None,
    ) -> Completion:
        """Return the answer in a reply's JSON; raises the error that it is, with its usage.

        `sent` is the body of the request, `mode` how the reply was held to its form.
        """
        usage = self.usage_of(answer)
        try:
            if repeated := self._repeated_key(answer):
                raise UnreadableReplyError(f"it has the key {repeated!r} twice")
            if wrong := self._error_inside(answer, response, sent):
                raise wrong
            return replace(self.completion_of(answer, mode), usage=usage)
        except AskError as error:
            error.usage = usage
            raise

    def usage_of(self, reply: Any) -> Usage | None:  # noqa: ANN401
        """Return the usage in a reply's JSON, whatever else it is; None where it is odd."""
        if not isinstance(reply, Mapping) or self.usage_key in jsonio.repeated_keys(
            reply
        ):
            return None
        usage = reply.get(self.usage_key)
        if not isinstance(usage, Mapping) or jsonio.repeated_keys(usage):
            return None
        counts = self.tokens_of(usage)
        # Of the prompt's tokens no more than all can have been in a cache.
        if (
            counts is None
            or counts.cached_tokens + counts.written_tokens > counts.prompt_tokens
        ):
            return None
        return counts

    def _repeated_key(self, reply: Any) -> str | None:  # noqa: ANN401
        """Return a key that an object of a reply has twice, outside its usage."""
        if isinstance(reply, Mapping):
            for key in jsonio.repeated_keys(reply):
                if key != self.usage_key:
                    return key
            parts = [value for name, value in reply.items() if name != self.usage_key]
        elif isinstance(reply, list):
            parts = reply
        else:
            return None
        for part in parts:
            if repeated := self._repeated_key(part):
                return repeated
        return None

    def _error_inside(
        self, answer: object, response: httpx2.Response, sent: Mapping[str, Any]
    ) -> Exception | None:
        """Return the error that a reply of 200 holds, None where it holds none or an answer too."""
        if not isinstance(answer, Mapping) or not answer.get("error"):
            return None
        if answer.get(self.answer_key):
            return None
        code = error_of(answer).get("code")
        status = 0
        if isinstance(code, int | str) and str(code).isdecimal():
            status = int(code)
        if not 400 <= status < 600:
            known = [mark for mark in _MEANINGS if mark in _marks(error_of(answer), 0)]
            if not known:
                return None
            status = 500
        # Not those that say how the body was packed.
        headers = {
            k: v for k, v in response.headers.items() if not k.startswith("content-")
        }
        reply = httpx2.Response(
            status, headers=headers, content=json.dumps(answer).encode()
        )
        return self.meaning(reply, sent)

    def meaning(self, reply: httpx2.Response, sent: Mapping[str, Any]) -> Exception:
        """Return the error that a reply without success is for the request `sent`."""
        body: Any = reply.content.decode("utf-8", "replace").strip()
        with suppress(jsonio.JsonError):
            body = jsonio.read(body)
        said, text, status = error_of(body), str(body), self.status_of(reply)
        marks = _marks(said, status)
        words = words_of(said, self.key) or f"status {status}"
        if status in (401, 403, 404, 405) and isinstance(body, str):
            words = "no error of an API but a page"
        known = next(
            (known for mark, known in _MEANINGS.items() if mark in marks), None
        )
        # Of an error of its own, a server may say in the same words that its memory is full.
        is_said = status in (400, 422, 500) and (
            _TOO_LONG.search(text) or names_longest(text)
        )
        if marks & {413, _IS_LONG, "exceed_context_size_error"} or (
            is_said and known is None
        ):
            return RefusedError(status, words, is_too_long=True)
        if known is None and 300 <= status < 400:
            known = _REDIRECTS
        elif known is None and (status >= 500 and status != _NOT_IMPLEMENTED):
            known = _SERVER_ERROR
        if known is None:
            return RefusedError(
                status, words, named_in(self.refusable(sent), text, _param(said))
            )
        kind, reason = known
        where = _where(reply, self.key)
        reason = reason.format(url=self.url, status=status, words=words, where=where)
        if not issubclass(kind, AskError):
            return kind(reason)
        error = kind(reason, words)
        error.is_free = 400 <= status < 500
        error.usage = self.usage_of(body)
        if isinstance(error, TransientError):
            error.retry_after = retry_after(reply.headers, words)
        return error


def _marks(said: Mapping[str, object], status: int) -> Set[int | str]:
    return {status, str(said.get("code")), str(said.get("type"))}


def _param(said: Mapping[str, object]) -> str:
    """Return the parameter that an error names in a field of its own, "" where it has none."""
    places = said.get("loc") or said.get("param")
    if isinstance(places, list):
        places = ".".join(map(str, places))
    return places if isinstance(places, str) else ""


def _where(reply: httpx2.Response, key: str) -> str:
    """Return where a redirect leads, without what stands behind a question mark."""
    location = reply.headers.get("location", "").partition("?")[0].partition("#")[0]
    return masked(harmless(" ".join(location.split())), key)[:300] or "another address"


def error_of(body: object) -> Mapping[str, object]:
    """Return the error in a reply, whatever it stands in; its sentence is its `message`."""
    error = body
    for name in ("error", "errors", "detail"):
        if isinstance(error, Mapping) and error.get(name):
            error = error[name]
        if isinstance(error, list) and error:
            error = error[0]
    if not isinstance(error, Mapping):
        return {"message": error}
    if "message" not in error and (
        text := error.get("msg") or error.get("error_message")
    ):
        return {**error, "message": text}
    return error


def words_of(error: Mapping[str, object], key: str) -> str:
    """The server's words, on one line, not too many, and never with the key in them."""
    return masked(" ".join(str(error.get("message") or "").split()), key)[:300]


def masked(text: str, key: str) -> str:
    """Return a server's words without the key that it was sent."""
    return text if key == NO_KEY else text.replace(key, "***")


def token_count(value: object) -> int | None:
    """Return a number of tokens, None where it is no whole number that can be one."""
    is_count = type(value) is int and 0 <= value < _MOST_TOKENS
    return value if is_count else None  # type: ignore[return-value]
