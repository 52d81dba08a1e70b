"""Batches of OpenAI, Azure and servers like them: a file of requests, two files of results.

Facts of this module are from the source of openai 3.57.0 (`types/batch*.py`, `types/file*.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import openai
from openai.types import Batch, FileObject

from judge import jsonio
from judge.backends.base import UnreadableReplyError
from judge.backends.connection import Connection
from judge.backends.openai_client import OpenAIReplies, client
from judge.batching.provider import (
    MOST_PAGES,
    RETRIES,
    BatchProvider,
    Found,
    Limits,
    RemoteBatch,
    Result,
    Sought,
    State,
    objects_of,
)
from judge.batching.remote import FileFault, OpenAIBatch, batch_of, id_of

_ENDPOINT: Final = "/v1/chat/completions"
# Under this name a batch carries the id that it has here.
_MARK = "judge_batch"
_A_PAGE = 100
_STATES = {
    "completed": State.COMPLETED,
    "expired": State.EXPIRED,
    "cancelled": State.CANCELLED,
    "failed": State.FAILED,
}
_NO_ROOM = "token_limit_exceeded"
# Files hold reports. `forget` deletes them when they were read; this is for a run that never
# comes back, from an hour to 30 days. A batch takes a day, and its answers wait for a week.
_REQUESTS_KEPT, _RESULTS_KEPT = 3 * 86_400, 7 * 86_400

_Reply = TypeVar("_Reply")
Send: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[_Reply]]


class OpenAIBatches(BatchProvider):
    """The files and batches of one server that speaks OpenAI's protocol."""

    limits = Limits(requests=50_000, size=200_000_000)
    replies = OpenAIReplies
    status_error = openai.APIStatusError
    sdk_error = openai.OpenAIError

    def __init__(self, connection: Connection, key: str, key_name: str) -> None:
        super().__init__(connection, key, key_name)
        self._refused: set[str] = set()
        self._client = client(connection, key)
        # What may be asked twice is asked again at once.
        self._again = self._client.with_options(
            max_retries=RETRIES, timeout=self.file_timeout
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def request(self, request_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request as it stands in a line of a file."""
        return {
            "custom_id": request_id,
            "method": "POST",
            "url": _ENDPOINT,
            "body": body,
        }

    async def create(self, path: Path, mark: str, model: str) -> RemoteBatch:  # noqa: ARG002
        """Upload a file of requests, and make the batch of it."""

        async def upload(expiry: Mapping[str, Any]) -> FileObject:
            file.seek(0)
            named = (f"{mark}.jsonl", file)
            return await self._again.files.create(file=named, purpose="batch", **expiry)

        async def make(expiry: Mapping[str, Any]) -> Batch:
            return await self._client.batches.create(
                input_file_id=file_id,
                endpoint=_ENDPOINT,
                completion_window="24h",
                metadata={_MARK: mark},
                **expiry,
            )

        with self.explained(), path.open("rb") as file:
            file_id = id_of(
                await self._expiring(upload, "expires_after", _REQUESTS_KEPT)
            )
        with self.explained():
            made = await self._expiring(make, "output_expires_after", _RESULTS_KEPT)
            return _in_words(batch_of(made))

    async def _expiring(self, send: Send[_Reply], name: str, seconds: int) -> _Reply:
        """Send a request that says when its files are deleted; without it where that is refused."""
        if name not in self._refused:
            try:
                return await send({name: {"anchor": "created_at", "seconds": seconds}})
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                self._refused.add(name)  # a server that is not OpenAI
        return await send({})

    async def find(self, sought: Sought) -> Found:
        """Return the batch whose metadata have the mark."""
        seen: set[str] = set()
        after: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            with self.explained():
                page = await self._again.batches.list(limit=_A_PAGE, **after)
                batches = [batch_of(batch) for batch in page.data]
            for batch in batches:
                if (batch.metadata or {}).get(_MARK) == sought.mark:
                    return Found(_in_words(batch))
            is_last = page.has_more is None and len(batches) < _A_PAGE
            if is_last or not batches or page.has_more is False:
                return Found()
            if seen.issuperset(batch.id for batch in batches):
                break
            seen.update(batch.id for batch in batches)
            after = {"after": batches[-1].id}
        raise UnreadableReplyError("its list of batches has no end")

    async def look(self, remote_id: str) -> RemoteBatch:
        """Return how a batch is."""
        with self.explained():
            return _in_words(batch_of(await self._client.batches.retrieve(remote_id)))

    async def cancel(self, remote_id: str) -> RemoteBatch:
        """Have a batch end with what it has answered."""
        with self.explained():
            return _in_words(batch_of(await self._client.batches.cancel(remote_id)))

    async def forget(self, batch: RemoteBatch) -> None:
        """Delete the files of requests and results."""
        for file_id in (*batch.inputs, *batch.places):
            with self.explained():
                await self._client.files.delete(file_id)

    @asynccontextmanager
    async def stream(
        self, place: str, most: int
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Give the bytes of the file `place`."""
        files = client(self.connection, self.key, most).with_options(
            max_retries=RETRIES
        )
        async with files, files.files.with_streaming_response.content(place) as reply:
            yield reply.iter_bytes()

    async def results(
        self, batch: RemoteBatch, ids: Collection[str], path: Path
    ) -> AsyncIterator[Result]:
        """Yield the lines of the file of answers, then of the file of errors."""
        for place in batch.places:
            await self.download(place, path, len(ids))
            for line in objects_of(path):
                result = _result(line)
                if result is not None:
                    yield result


def _result(line: Mapping[str, Any]) -> Result | None:
    """Return what a line of results says, None where it says nothing of a request."""
    request_id, response = line.get("custom_id"), line.get("response")
    if not isinstance(request_id, str):
        return None
    if not isinstance(response, Mapping):
        error = line.get("error")
        code = error.get("code") if isinstance(error, Mapping) else None
        reason = str(code or "no response")
        return Result(id=request_id, status=None, reason=reason, detail=str(error))
    if jsonio.repeated_keys(response):
        return None
    status = response.get("status_code")
    # Some servers leave it out where all is well.
    return Result(
        id=request_id,
        status=status if type(status) is int else 200,
        body=response.get("body"),
    )


def _in_words(batch: OpenAIBatch) -> RemoteBatch:
    """Return a batch in the words that all providers share."""
    errors = (batch.errors and batch.errors.data) or []
    return RemoteBatch(
        id=batch.id,
        state=_STATES.get(batch.status, State.RUNNING),
        said=batch.status,
        fault="; ".join(filter(None, map(_fault, errors)))[:500],
        has_no_room=any(error.code == _NO_ROOM for error in errors),
        places=tuple(filter(None, (batch.output_file_id, batch.error_file_id))),
        inputs=tuple(filter(None, (batch.input_file_id,))),
    )


def _fault(error: FileFault) -> str:
    """Return what is wrong with a file of requests, and in which line if that is said."""
    words = str(error.message or error.code or "")
    return f"line {error.line}: {words}" if words and error.line is not None else words
