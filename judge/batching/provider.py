"""The files and batches of a server that speaks OpenAI's API.

Of OpenAI's guide (platform.openai.com/docs/guides/batch): answers come in any order, those that
went wrong in a file of their own; what a batch that expires has answered is kept and paid for.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import tenacity

from judge.backends.connection import NO_KEY, Connection
from judge.backends.errors import (
    AskError,
    TransientError,
    UnavailableError,
    UnreadableReplyError,
)
from judge.backends.openai_client import client
from judge.backends.replies import ErrorReply, RefusedError, completion_of
from judge.backends.structured import Mode
from judge.types import Completion, JudgeError

if TYPE_CHECKING:
    from openai.types import Batch

_ENDPOINT: Final = "/v1/chat/completions"
# Under this name a batch carries the id that it has here.
_MARK = "judge_batch"
ENDED = frozenset({"completed", "expired", "cancelled", "failed"})
"""The states of a batch to which nothing will happen any more."""
# A file of 200 MB goes up, or comes down, in so many seconds.
_FILE_TIMEOUT = 1800.0

retry_transient = tenacity.retry(
    retry=tenacity.retry_if_exception_type(TransientError),
    wait=tenacity.wait_random_exponential(0.5, 60),
    stop=tenacity.stop_after_attempt(5),
    reraise=True,
)


class GoneError(JudgeError):
    """The server has no such batch or file."""


def request_line(key: str, body: Mapping[str, Any]) -> bytes:
    """Return the line of a batch's file that asks for the answer to a request's `body`."""
    line = {"custom_id": key, "method": "POST", "url": _ENDPOINT, "body": body}
    return json.dumps(line).encode("ascii") + b"\n"


def read_answer(
    line: Mapping[str, Any], sampling: Mapping[str, Any], mode: Mode | None, tool: str | None
) -> Completion:
    """Return the answer in a line to what was asked with `sampling`, `mode` and `tool`.

    Raises what asking directly raises, and `TransientError` for what the batch did not come to.
    """
    response = line.get("response")
    if not isinstance(response, Mapping):
        error = line.get("error")
        code = error.get("code") if isinstance(error, Mapping) else None
        raise TransientError(str(code or "no response")[:40], str(error)[:300])
    status, body = response.get("status_code"), response.get("body")
    if type(status) is int and not 200 <= status < 300:
        reply = ErrorReply("the batch", status, {}, json.dumps(body).encode())
        raise reply.meaning(sampling, mode, NO_KEY)
    return completion_of(body, mode, tool, NO_KEY)


def _checked(batch: Batch) -> Batch:
    # openai's package reads any JSON as a batch.
    if not (batch.id and batch.status):
        raise ValueError("a batch has an id and a status")
    return batch


class Provider:
    """The files and batches of one server; its `AskError`s are `JudgeError`s after the block."""

    def __init__(self, connection: Connection, key: str) -> None:
        self.url, self._key = connection.base_url, key
        self._client = client(connection, key)
        self._slow = self._client.with_options(timeout=max(_FILE_TIMEOUT, connection.timeout))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        await self._client.close()
        if isinstance(error, AskError):
            raise JudgeError(
                f"{self.url} does not answer ({error}); its batches go on: try again later with "
                "the same command"
            ) from error

    @retry_transient
    async def upload(self, path: Path, name: str) -> str:
        """Return the id of a file with the requests that lie at `path`."""
        with self._explained(), path.open("rb") as file:
            return (await self._slow.files.create(file=(name, file), purpose="batch")).id

    async def create(self, file_id: str, mark: str) -> Batch:
        """Make the batch of an uploaded file; an error may leave it made or not."""
        with self._explained():
            batch = await self._client.batches.create(
                completion_window="24h",
                endpoint=_ENDPOINT,
                input_file_id=file_id,
                metadata={_MARK: mark},
            )
            return _checked(batch)

    @retry_transient
    async def marked(self) -> dict[str, Batch]:
        """Return all the batches at the provider that were made here, by their ids here."""
        with self._explained():
            batches = [batch async for batch in self._client.batches.list(limit=100)]
            marks = [(batch.metadata or {}).get(_MARK) for batch in batches]
            return {
                mark: _checked(batch) for mark, batch in zip(marks, batches, strict=True) if mark
            }

    async def look(self, remote_id: str) -> Batch:
        """Return how a batch is."""
        with self._explained():
            return _checked(await self._client.batches.retrieve(remote_id))

    async def cancel(self, remote_id: str) -> Batch:
        """Have a batch end with what it has answered."""
        with self._explained():
            return _checked(await self._client.batches.cancel(remote_id))

    async def lines(self, file_id: str, longest: int, most: int) -> AsyncIterator[bytes]:
        """Yield the lines of a file of answers, at most `most` bytes of it.

        Of a line that has more than `longest` bytes the rest is passed over.
        """
        line, room = bytearray(), most
        with self._explained():
            content = self._slow.files.with_streaming_response.content(file_id)
            async with content as response:
                async for chunk in response.iter_bytes():
                    first, *others = chunk.split(b"\n")
                    line += first[: longest + 1 - len(line)]
                    for part in others:
                        yield bytes(line)
                        line = bytearray(part[: longest + 1])
                    room -= len(chunk)
                    if room < 0:
                        return
        yield bytes(line)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import aiohttp
        import httpx2  # which openai brings
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            if error.status_code == 404:
                raise GoneError(
                    f"{self.url} has lost a batch or its file: judge batch cancel forgets it, and "
                    "its questions are asked again"
                ) from error
            body = json.dumps(error.body).encode() if error.body is not None else b""
            reply = ErrorReply(self.url, error.status_code, error.response.headers, body)
            wrong = reply.meaning({}, None, self._key)
            if isinstance(wrong, RefusedError):
                wrong = JudgeError(f"{self.url} refuses the request ({wrong.what})")
            raise wrong from error
        except openai.APITimeoutError as error:
            raise UnavailableError("timeout", "no whole answer in time (--timeout)") from error
        except (openai.APIConnectionError, httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            raise UnavailableError("connection", str(error.__cause__ or error)[:300]) from error
        # A page instead of JSON comes as text, JSON that is none as a ValueError; openai reads it.
        except (openai.OpenAIError, AttributeError, TypeError, ValueError, RecursionError) as error:
            raise UnreadableReplyError("it is no reply about batches") from error
