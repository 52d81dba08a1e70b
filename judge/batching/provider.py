"""What a run needs of a provider's batches, whoever provides them.

Each provider is a module with a `BatchProvider`. It translates its own forms of requests, states
and results; the run (`judge.batching.batch_run`) knows the words of this module alone.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import httpx2  # comes with openai
import pydantic
from pydantic import BaseModel

from judge import jsonio
from judge.backends.base import (
    AskError,
    Mode,
    RefusedError,
    TransientError,
    UnavailableError,
    UnreadableReplyError,
)
from judge.backends.connection import Connection
from judge.backends.refusals import Refusals
from judge.backends.replies import MOST_BYTES, TooLongReplyError
from judge.backends.reply_reader import ReplyReader, masked
from judge.backends.sdk_client import http_client
from judge.run_files.checked import first_of
from judge.types import Completion, JudgeError

_Model = TypeVar("_Model", bound=BaseModel)

RETRIES = 4
"""How often a request is sent again that may be sent twice."""
FILE_TIMEOUT = 1800.0
"""Seconds in which the largest file goes up, or comes down."""
_PAUSE = 1.0  # seconds before a file is asked for again that a server could not send
MOST_PAGES = 200
"""A list of batches with more pages is taken to have no end."""


class State(StrEnum):
    """What has become of a batch."""

    RUNNING = "running"
    COMPLETED = "completed"  # each request has its end, though perhaps no answer
    EXPIRED = "expired"  # it ran out of time; requests are left without an answer
    CANCELLED = "cancelled"  # as somebody wanted; requests are left without an answer
    FAILED = "failed"  # it was refused as a whole, and nothing was asked


class GoneError(JudgeError):
    """The server has no such batch or file."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many requests a batch may have, and how many bytes they may take together."""

    requests: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBatch:
    """A batch as its provider describes it now.

    Attributes:
        id: The provider's name for it.
        state: What has become of it.
        said: The provider's own word for that.
        fault: Why it has failed; "" where no reason is given, or it has not.
        has_no_room: Whether it has failed because too much was asked at once.
        places: Where its results lie: ids of files, or an address.
        inputs: Where its requests lie.
    """

    id: str
    state: State
    said: str
    fault: str = ""
    has_no_room: bool = False
    places: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """A batch that may have been made before its process ended.

    Attributes:
        mark: The id that it has here.
        n: How many requests it has.
        since: When it was about to be made, by this machine's clock.
        named: The provider's ids of the batches that are known to be others.
    """

    mark: str
    n: int
    since: datetime
    named: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The batch that was sought; or those that may be it, of which nothing is known until they end.

    With neither, it was never made.
    """

    batch: RemoteBatch | None = None
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one request of a batch.

    Attributes:
        id: The request's id (`BatchProvider.id_of`).
        status: The HTTP status that a reply to it alone would have had; None without a reply.
        body: The JSON of that reply.
        reason: Why there is no reply.
        detail: The provider's words for that.
    """

    id: str
    status: int | None
    body: object = None
    reason: str = ""
    detail: str = ""

    @property
    def is_error(self) -> bool:
        """Whether it is no answer, or may be none."""
        if self.status is None or not 200 <= self.status < 300:
            return True
        return isinstance(self.body, Mapping) and bool(self.body.get("error"))


class BatchProvider(ABC):
    """The batches of one server, for one event loop.

    An `AskError` that leaves the block of a provider is a `JudgeError` outside. All methods that
    ask the server raise `AskError` for a server that is away or says what cannot be read,
    `GoneError` for a batch or file that it does not have, and `JudgeError` for a refusal.

    Attributes:
        limits: What fits into a batch.
        replies: Reads the replies to requests, in a batch as alone.
        status_error: What its SDK raises for a reply without success; it has the `response`.
        sdk_error: What its SDK raises besides.
        url: The server's address.
        connection: How it is reached.
        key: What it is sent as its key.
        key_name: The variable that the key is from.
    """

    limits: ClassVar[Limits]
    replies: ClassVar[type[ReplyReader]]
    status_error: ClassVar[type[Exception]]
    sdk_error: ClassVar[type[Exception]]

    def __init__(self, connection: Connection, key: str, key_name: str) -> None:
        self.url, self.key, self.key_name = connection.base_url, key, key_name
        self.connection = connection

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _type: object, error: BaseException | None, _trace: object
    ) -> None:
        await self.aclose()
        if isinstance(error, AskError):
            raise JudgeError(
                f"{self.url} does not answer ({error}); run the same command again later"
            ) from error

    @property
    def file_timeout(self) -> float:
        """The seconds in which a file of requests or results goes up or comes down."""
        return max(FILE_TIMEOUT, self.connection.timeout)

    # Requests

    def id_of(self, key: str, mark: str) -> str:  # noqa: ARG002 - some put the mark into it
        """Return the id of the request for the question `key` in the batch `mark`."""
        return key

    @abstractmethod
    def request(self, request_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request as it stands in a batch: `body` is what is sent for it alone."""

    @abstractmethod
    async def create(self, path: Path, mark: str, model: str) -> RemoteBatch:
        """Make the batch `mark` of the requests in the lines of `path`.

        After a `JudgeError`, or an `AskError` that is free, it was not made; after another error
        it may have been.
        """

    # Batches

    @abstractmethod
    async def find(self, sought: Sought) -> Found:
        """Return what has become of a batch that may have been made.

        Raises `UnreadableReplyError` for a list without an end: to take it for a list without the
        batch would be to make and pay it again.
        """

    @abstractmethod
    async def look(self, remote_id: str) -> RemoteBatch:
        """Return how a batch is."""

    @abstractmethod
    async def cancel(self, remote_id: str) -> RemoteBatch:
        """Have a batch end with what it has answered."""

    @abstractmethod
    async def forget(self, batch: RemoteBatch) -> None:
        """Delete what the server keeps of a batch that has ended and was read."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connections."""

    # Results

    @abstractmethod
    def results(
        self, batch: RemoteBatch, ids: Collection[str], path: Path
    ) -> AsyncIterator[Result]:
        """Yield what came of the requests `ids`, in any order, lines that are none left out.

        They may be written to `path` on the way.
        """

    def completion(
        self, result: Result, sent: Mapping[str, Any], mode: Mode | None
    ) -> Completion:
        """Return the answer in a result; raises what asking alone raises.

        `sent` is the body of the request, of which a refusal may name something. A result without
        a reply raises `TransientError`.
        """
        if result.status is None:
            reason = masked(result.reason, self.key)[:40]
            raise TransientError(reason, masked(result.detail, self.key)[:300])
        reader = self.replies("the batch", self.key)
        if 200 <= result.status < 300:
            return reader.read(result.body, httpx2.Response(200), sent, mode)
        reply = httpx2.Response(result.status, content=json.dumps(result.body).encode())
        raise reader.meaning(reply, sent)

    # For subclasses

    @contextmanager
    def explained(self, *, is_made: bool = True) -> Iterator[None]:
        """Turn the errors of the SDK inside the block into those of `judge`.

        `is_made`: whether the block is about a batch or file that the server is known to have had.
        """
        try:
            yield
        except self.status_error as error:
            reply: httpx2.Response = error.response  # type: ignore[attr-defined]
            raise self.refusal(reply, is_made=is_made) from error
        except (httpx2.HTTPError, OSError) as error:
            raise UnavailableError(
                "connection", str(error.__cause__ or error)[:300]
            ) from error
        except self.sdk_error as error:
            raise UnreadableReplyError("it is not a reply about batches") from error
        # A page instead of JSON comes as text, JSON that is none as a ValueError.
        except (
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
            RecursionError,
        ) as error:
            raise UnreadableReplyError("it is not a reply about batches") from error

    def refusal(self, reply: httpx2.Response, *, is_made: bool = True) -> Exception:
        """Return the error that a reply without success is."""
        if reply.status_code == 404 and is_made:
            return GoneError(
                f"{self.url} has lost a batch or its file: see judge batch cancel"
            )
        wrong = self.replies(self.url, self.key).meaning(reply, {})
        if isinstance(wrong, RefusedError):
            return Refusals(address=self.url, key_name=self.key_name).stop(wrong)
        return wrong

    @abstractmethod
    def stream(
        self, place: str, most: int
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Return a context with the bytes of the file at `place`, from its beginning.

        Inside, `TooLongReplyError` is raised for more than `most` bytes.
        """

    @asynccontextmanager
    async def streamed(
        self, url: str, headers: Mapping[str, str], most: int
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Give the bytes at an address of the server, as `stream` does."""
        async with (
            http_client(self.connection, most) as http,
            http.stream(
                "GET", url, headers=headers, timeout=self.file_timeout
            ) as reply,
        ):
            if reply.status_code != httpx2.codes.OK:
                await reply.aread()
                raise self.refusal(reply)
            yield reply.aiter_bytes()

    async def download(self, place: str, path: Path, n: int) -> None:
        """Write the file with the answers to `n` questions that lies at `place` to `path`.

        Raises `JudgeError` for one that is longer than so many answers can be.
        """
        most = MOST_BYTES * max(1, n)
        path.touch(mode=0o600)  # reports may stand in it
        with self.explained():
            try:
                async with asyncio.timeout(self.file_timeout):
                    await self._fetch(place, path, most)
            except TooLongReplyError as error:
                raise JudgeError(
                    f"{self.url} sends a file of more than {most // 2**20:,} MB for "
                    f"{n:,} questions, which is not read: ask the provider (file {place})"
                ) from error

    async def _fetch(self, place: str, path: Path, most: int) -> None:
        for again in range(RETRIES, -1, -1):
            try:
                async with self.stream(place, most) as pieces:
                    with path.open("wb") as file:
                        async for piece in pieces:
                            file.write(piece)
            except httpx2.TransportError:  # the file was not sent to its end
                if not again:
                    raise
            except TransientError as error:
                if not again:
                    raise
                await asyncio.sleep(error.retry_after or _PAUSE)
            else:
                return


def parsed(content: bytes, model: type[_Model]) -> _Model:
    """Return what a reply about batches says; raises `UnreadableReplyError`.

    The results that stand in it may have odd counts of tokens, but the batch has no key twice.
    """
    try:
        said = jsonio.read(content, mark_repeated=True)
        if isinstance(said, Mapping) and jsonio.repeated_keys(said):
            raise UnreadableReplyError("it is not a batch (it has a key twice)")
        return model.model_validate(said)
    except pydantic.ValidationError as error:
        raise UnreadableReplyError(f"it is not a batch ({first_of(error)})") from error
    except jsonio.JsonError as error:
        raise UnreadableReplyError(f"it is not a batch ({error})") from error


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, without those that are longer than an answer can be."""
    with path.open("rb") as file:
        while line := file.readline(MOST_BYTES + 1):
            if len(line) <= MOST_BYTES:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(MOST_BYTES)


def objects_of(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects in the lines of a file; lines that hold none are passed over.

    An odd usage loses no answer, but an object that has a key twice says nothing.
    """
    for line in lines_of(path):
        try:
            value = jsonio.read(line, mark_repeated=True)
        except ValueError:
            continue
        if isinstance(value, Mapping) and not jsonio.repeated_keys(value):
            yield value
