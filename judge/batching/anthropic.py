"""Message Batches of Anthropic: the requests stand in the call that makes a batch.

A batch carries no name of ours by which it could be found again. So each request's id begins with
the batch's mark: where a process ended while it made a batch, those that the server lists and
nobody else has are told apart by the ids in their results.

Facts of this module are from the source of anthropic 2.14.0 (`resources/messages/batches.py`,
`types/messages/`), limits and the alphabet of ids from Anthropic's guide to batches (2026-11-28).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2  # comes with openai
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, NonNegativeInt

from judge import jsonio
from judge.backends.anthropic_client import AnthropicReplies, client
from judge.backends.base import UnreadableReplyError
from judge.backends.connection import Connection
from judge.backends.replies import MOST_BYTES
from judge.batching.provider import (
    MOST_PAGES,
    RETRIES,
    BatchProvider,
    Found,
    GoneError,
    Limits,
    RemoteBatch,
    Result,
    Sought,
    State,
    objects_of,
    parsed,
)

_PATH = "/v1/messages/batches"
_A_PAGE = 100
_ENDED = "ended"
_DIGEST = 40  # hexadecimal digits of a question in a request's id, which has at most 64 letters
# The clocks of this machine and of the server may differ by so much.
_CLOCKS_APART = timedelta(hours=1)
# The status of a reply with an error of this type [platform.claude.com/docs/en/api/errors].
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_OTHER_ERROR = 500
_NO_ANSWER = {"canceled": "batch_cancelled", "expired": "batch_expired"}
_FRAME = (b'{"requests":[', b"]}")


class _Counts(BaseModel):
    """How many requests have met which end. All but `processing` are 0 until the batch ends."""

    model_config = ConfigDict(strict=True, frozen=True)

    processing: NonNegativeInt = 0
    succeeded: NonNegativeInt = 0
    errored: NonNegativeInt = 0
    canceled: NonNegativeInt = 0
    expired: NonNegativeInt = 0

    @property
    def total(self) -> int:
        return (
            self.processing
            + self.succeeded
            + self.errored
            + self.canceled
            + self.expired
        )


class _Batch(BaseModel):
    """A batch as Anthropic describes it, as far as it is used here."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1, strict=True)
    processing_status: str = Field(strict=True)
    created_at: AwareDatetime
    request_counts: _Counts = _Counts()
    results_url: str | None = Field(default=None, strict=True)


class _Page(BaseModel):
    """Part of the list of batches, the newest first."""

    model_config = ConfigDict(frozen=True)

    data: tuple[_Batch, ...]
    has_more: bool = False


class AnthropicBatches(BatchProvider):
    """The batches of one server that speaks Anthropic's protocol."""

    # 256 MB with what stands around the requests.
    limits = Limits(requests=100_000, size=250_000_000)
    replies = AnthropicReplies
    status_error = anthropic.APIStatusError
    sdk_error = anthropic.AnthropicError

    def __init__(self, connection: Connection, key: str, key_name: str) -> None:
        super().__init__(connection, key, key_name)
        self._client = client(connection, key)
        # What may be asked twice is asked again at once.
        self._again = self._client.with_options(max_retries=RETRIES)
        # A request's id of each batch that was looked into.
        self._ids: dict[str, str] = {}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def id_of(self, key: str, mark: str) -> str:
        """Return an id of letters, digits, `_` and `-` that begins with the mark."""
        return f"{mark}_{hashlib.sha256(key.encode()).hexdigest()[:_DIGEST]}"

    def request(self, request_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request as it stands in the list of a batch."""
        return {"custom_id": request_id, "params": body}

    async def create(self, path: Path, mark: str, model: str) -> RemoteBatch:  # noqa: ARG002
        """Make the batch in one call, which holds all requests."""
        with self.explained(is_made=False):
            reply: httpx2.Response = await self._client.post(
                _PATH,
                cast_to=httpx2.Response,
                content=_body(path),
                options={
                    "headers": {
                        "Content-Type": "application/json",
                        "Content-Length": str(_length(path)),
                    },
                    "timeout": self.file_timeout,
                },
            )
            return self._in_words(parsed(reply.content, _Batch))

    async def find(self, sought: Sought) -> Found:
        """Tell the batch by the ids in the results of those that it may be.

        Any batch that was made about then, has as many requests and is not known to be another may
        be the one. While a batch runs, nobody can know whose it is.
        """
        undecided = []
        # A call that makes a batch ends within the time for files.
        latest = sought.since + timedelta(seconds=self.file_timeout) + _CLOCKS_APART
        for batch in await self._since(sought.since - _CLOCKS_APART):
            total = batch.request_counts.total
            is_other = batch.id in sought.named or batch.created_at > latest
            if is_other or (total and total != sought.n):
                continue
            if batch.processing_status != _ENDED:
                undecided.append(batch.id)
            elif (await self._an_id(batch)).startswith(f"{sought.mark}_"):
                return Found(self._in_words(batch))
        return Found(undecided=tuple(undecided))

    async def _since(self, start: datetime) -> list[_Batch]:
        """Return the batches that were made after `start`."""
        found: dict[str, _Batch] = {}
        after: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            with self.explained(is_made=False):
                raw = self._again.messages.batches.with_raw_response
                reply = await raw.list(limit=_A_PAGE, **after)
                page = parsed(reply.http_response.content, _Page)
            new = [batch for batch in page.data if batch.id not in found]
            found.update((batch.id, batch) for batch in new)
            is_older = any(batch.created_at < start for batch in page.data)
            if is_older or not page.has_more:
                return [batch for batch in found.values() if batch.created_at >= start]
            if not new:
                break
            after = {"after_id": page.data[-1].id}
        raise UnreadableReplyError("its list of batches has no end")

    async def _an_id(self, batch: _Batch) -> str:
        """Return the id of one request of a batch that has ended, "" where there is none."""
        if batch.id not in self._ids:
            try:
                with self.explained():
                    async with self.stream(
                        self._results_of(batch), MOST_BYTES
                    ) as pieces:
                        self._ids[batch.id] = await _first_id(pieces)
            except GoneError:  # deleted, or older than results are kept
                self._ids[batch.id] = ""
        return self._ids[batch.id]

    async def look(self, remote_id: str) -> RemoteBatch:
        """Return how a batch is."""
        with self.explained():
            reply = await self._client.messages.batches.with_raw_response.retrieve(
                remote_id
            )
            return self._in_words(parsed(reply.http_response.content, _Batch))

    async def cancel(self, remote_id: str) -> RemoteBatch:
        """Have a batch end with what it has answered."""
        with self.explained():
            reply = await self._client.messages.batches.with_raw_response.cancel(
                remote_id
            )
            return self._in_words(parsed(reply.http_response.content, _Batch))

    async def forget(self, batch: RemoteBatch) -> None:
        """Delete the batch, which Anthropic keeps for 29 days."""
        with self.explained():
            await self._again.messages.batches.with_raw_response.delete(batch.id)

    def stream(
        self, place: str, most: int
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Return a context with the bytes of the results at the address `place`."""
        headers = {
            name: value
            for name, value in self._client.default_headers.items()
            if isinstance(value, str)
        }
        return self.streamed(place, headers, most)

    async def results(
        self, batch: RemoteBatch, ids: Collection[str], path: Path
    ) -> AsyncIterator[Result]:
        """Yield the lines of the file of results."""
        for place in batch.places:
            await self.download(place, path, len(ids))
            for line in objects_of(path):
                result = _result(line)
                if result is not None:
                    yield result

    def _results_of(self, batch: _Batch) -> str:
        """Return where the results of a batch are fetched, which is this server always.

        A gateway may pass on an address of Anthropic's own, where its key must not go.
        """
        url = batch.results_url
        if url is not None and _origin(url) == _origin(self.url):
            return url
        return f"{self.url}{_PATH}/{batch.id}/results"

    def _in_words(self, batch: _Batch) -> RemoteBatch:
        """Return a batch in the words that all providers share."""
        state = State.RUNNING
        places: tuple[str, ...] = ()
        if batch.processing_status == _ENDED:
            state = State.COMPLETED
            places = (self._results_of(batch),)
            if batch.request_counts.canceled:
                state = State.CANCELLED
            elif batch.request_counts.expired:
                state = State.EXPIRED
        return RemoteBatch(
            id=batch.id, state=state, said=batch.processing_status, places=places
        )


def _origin(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address; raises `ValueError` for none."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, port


def _length(path: Path) -> int:
    """Return the length of `_body`: the newline of each line but the last is a comma there."""
    return path.stat().st_size - 1 + sum(map(len, _FRAME))


async def _body(path: Path) -> AsyncIterator[bytes]:
    """Yield the JSON of the requests in the lines of a file."""
    before = _FRAME[0]
    with path.open("rb") as file:
        for line in file:
            yield before + line.rstrip(b"\n")
            before = b","
    yield _FRAME[1]


async def _first_id(pieces: AsyncIterator[bytes]) -> str:
    """Return the first id in the lines of results, "" where there is none."""
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if request_id := _id_in(line):
                return request_id
    return _id_in(rest)


def _id_in(line: bytes) -> str:
    try:
        request_id = json.loads(line)["custom_id"]
    except (LookupError, TypeError, ValueError, RecursionError):
        return ""
    return request_id if isinstance(request_id, str) else ""


def _result(line: Mapping[str, Any]) -> Result | None:
    """Return what a line of results says, None where it says nothing of a request."""
    request_id, result = line.get("custom_id"), line.get("result")
    if not isinstance(request_id, str) or not isinstance(result, Mapping):
        return None
    if jsonio.repeated_keys(result):
        return None
    kind = result.get("type")
    if kind == "succeeded":
        return Result(id=request_id, status=httpx2.codes.OK, body=result.get("message"))
    if kind == "errored":
        body = result.get("error")
        error = body.get("error") if isinstance(body, Mapping) else None
        named = error.get("type") if isinstance(error, Mapping) else None
        status = (
            _STATUS.get(named, _OTHER_ERROR) if isinstance(named, str) else _OTHER_ERROR
        )
        return Result(id=request_id, status=status, body=body)
    reason = (
        _NO_ANSWER.get(kind, "no response") if isinstance(kind, str) else "no response"
    )
    return Result(id=request_id, status=None, reason=reason, detail=str(kind))
