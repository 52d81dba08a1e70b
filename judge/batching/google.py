"""Batches of the Gemini API: few requests stand in the call, many in a file.

A batch carries its mark as its `displayName`, by which a list finds it.

Facts of this module are from the source of google-genai 3.6.1 (`batches.py`, `files.py`,
`_transformers.py`) and from Google's guide to batches (ai.google.dev/gemini-api/docs/batch-api,
2026-11-28). What a reply says is read here as it came, since the SDK's models leave out why a
batch has failed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2  # comes with openai
from google.genai import errors, types
from pydantic import BaseModel, ConfigDict, Field

from judge import jsonio
from judge.backends.base import UnreadableReplyError
from judge.backends.connection import Connection
from judge.backends.google import CONFIG
from judge.backends.google_client import GoogleReplies, client
from judge.batching.provider import (
    MOST_PAGES,
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

_VERSION = "v1beta"  # in which batches are documented; the package's own choice is v1
_A_PAGE = 100
# Requests of so many bytes go with the call that makes a batch; Google's limit is 20 MB.
MOST_INLINE = 15_000_000
# A reply about batches holds the results of those without a file.
_MOST_REPLY = 2**28
_KEY, _METADATA = "key", "metadata"
# What stands beside the settings of a request, not among them.
_BESIDE_SETTINGS = frozenset({"service_tier", "labels", "store", "safety_settings"})
_STATES = {
    "SUCCEEDED": State.COMPLETED,
    "PARTIALLY_SUCCEEDED": State.COMPLETED,
    "EXPIRED": State.EXPIRED,
    "CANCELLED": State.CANCELLED,
    "FAILED": State.FAILED,
}
# The HTTP status of each code of google.rpc [google/rpc/code.proto].
_STATUS = {
    1: 499,
    2: 500,
    3: 400,
    4: 504,
    5: 404,
    6: 409,
    7: 403,
    8: 429,
    9: 400,
    10: 409,
    11: 400,
    12: 501,
    13: 500,
    14: 503,
    15: 500,
    16: 401,
}
_OTHER_ERROR, _NO_ROOM = 500, 429


class _Part(BaseModel):
    """Part of what Google says; what is not used here is left aside."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class _Error(_Part):
    """Why something has failed: a code of google.rpc, or an HTTP status."""

    code: int | None = None
    message: str | None = None


class _Inlined(_Part):
    responses: list[Any] = Field(default=[], alias="inlinedResponses")


class _Output(_Part):
    """Where the results are: in a file, or here."""

    file: str | None = Field(default=None, alias="responsesFile")
    inlined: _Inlined | None = Field(default=None, alias="inlinedResponses")


class _Metadata(_Part):
    state: str = ""
    display_name: str | None = Field(default=None, alias="displayName")
    output: _Output | None = None


class _Operation(_Part):
    """A batch as Google describes it, as far as it is used here."""

    name: str = Field(pattern=r"^batches/[^/]+$")
    metadata: _Metadata = _Metadata()
    response: _Output | None = None
    error: _Error | None = None

    @property
    def output(self) -> _Output:
        """Where the results are, wherever that is said."""
        return self.metadata.output or self.response or _Output()


class _Page(_Part):
    """Part of the list of batches."""

    operations: list[_Operation] = []
    next_page: str | None = Field(default=None, alias="nextPageToken")


_Model = TypeVar("_Model", bound=BaseModel)


class GoogleBatches(BatchProvider):
    """The batches of one server that speaks Gemini's protocol."""

    # Files may have 2 GB, but jobs of over 1 GB cannot be read, and a few of 150 MB fill the queue.
    limits = Limits(requests=50_000, size=100_000_000)
    replies = GoogleReplies
    status_error = errors.APIError
    sdk_error = errors.UnknownApiResponseError

    def __init__(self, connection: Connection, key: str, key_name: str) -> None:
        super().__init__(connection, key, key_name)
        made, self._http = client(connection, key, _MOST_REPLY, _VERSION)
        self._genai = made.aio
        hooks = self._http.event_hooks
        self._http.event_hooks = {**hooks, "response": [*hooks["response"], self._keep]}
        self._reply: httpx2.Response | None = None

    @contextmanager
    def explained(self, *, is_made: bool = True) -> Iterator[None]:
        """Turn the errors of the SDK into those of `judge`; a state that it lacks is no matter."""
        with super().explained(is_made=is_made), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield

    async def _keep(self, reply: httpx2.Response) -> None:
        """Keep a reply as it came. One request is under way at a time."""
        await reply.aread()
        self._reply = reply

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def request(self, request_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request as it stands in a line of a file."""
        return {_KEY: request_id, "request": as_sent(body)}

    async def create(self, path: Path, mark: str, model: str) -> RemoteBatch:
        """Make the batch of requests that go with the call, or of an uploaded file of them."""
        timeout = round(self.file_timeout * 1000)
        # With the address the SDK sends a file to this server, whatever host the server names.
        options = types.HttpOptions(
            base_url=self.url, api_version=_VERSION, timeout=timeout
        )
        source: types.BatchJobSourceUnionDict = []
        if path.stat().st_size <= MOST_INLINE:
            requests = {"requests": _inlined(path)}
            # As they are: the SDK's own types would take them apart and put them together.
            options.extra_body = {"batch": {"inputConfig": {"requests": requests}}}
        else:
            about = types.UploadFileConfig(
                name=mark,
                display_name=mark,
                mime_type="application/jsonl",
                http_options=options.model_copy(),
            )
            with self.explained(is_made=False):
                file = await self._genai.files.upload(file=path, config=about)
                source = types.BatchJobSource(file_name=file.name)
        with self.explained(is_made=False):
            await self._genai.batches.create(
                model=model,
                src=source,
                config=types.CreateBatchJobConfig(
                    display_name=mark, http_options=options
                ),
            )
            return _in_words(self._said(_Operation))

    async def find(self, sought: Sought) -> Found:
        """Return the batch whose `displayName` is the mark."""
        token: str | None = None
        for _ in range(MOST_PAGES):
            with self.explained(is_made=False):
                config = types.ListBatchJobsConfig(page_size=_A_PAGE, page_token=token)
                await self._genai.batches.list(config=config)
                page = self._said(_Page)
            for operation in page.operations:
                if operation.metadata.display_name == sought.mark:
                    return Found(_in_words(operation))
            if not page.next_page:
                return Found()
            if page.next_page == token:
                break
            token = page.next_page
        raise UnreadableReplyError("its list of batches has no end")

    async def look(self, remote_id: str) -> RemoteBatch:
        """Return how a batch is."""
        return _in_words(await self._get(remote_id))

    async def _get(self, remote_id: str) -> _Operation:
        with self.explained():
            await self._genai.batches.get(name=remote_id)
            return self._said(_Operation)

    async def cancel(self, remote_id: str) -> RemoteBatch:
        """Have a batch end with what it has answered."""
        with self.explained():
            await self._genai.batches.cancel(name=remote_id)
        return await self.look(remote_id)

    async def forget(self, batch: RemoteBatch) -> None:
        """Delete the files of requests and results, which stay for 48 hours, and the batch."""
        for name in (*batch.inputs, *batch.places):
            try:
                with self.explained():
                    await self._genai.files.delete(name=name)
            except GoneError:  # it has no such file
                continue
        with self.explained():
            await self._genai.batches.delete(name=batch.id)

    def stream(
        self, place: str, most: int
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Return a context with the bytes of the file `place`, such as `files/1234`."""
        url = f"{self.url}/{_VERSION}/{place}:download?alt=media"
        headers = {"x-goog-api-key": self.key, "Accept-Encoding": "identity"}
        return self.streamed(url, headers, most)

    async def results(
        self, batch: RemoteBatch, ids: Collection[str], path: Path
    ) -> AsyncIterator[Result]:
        """Yield the lines of the file of results, or those that stand in the batch itself."""
        for place in batch.places:
            await self.download(place, path, len(ids))
            for line in objects_of(path):
                request_id = line.get(_KEY)
                if isinstance(request_id, str):
                    yield _result(request_id, line)
        if not batch.places:
            for request_id, line in _by_id((await self._get(batch.id)).output, ids):
                yield _result(request_id, line)

    def _said(self, model: type[_Model]) -> _Model:
        """Return what the last reply says; raises `UnreadableReplyError`."""
        assert self._reply is not None
        return parsed(self._reply.content, model)


def as_sent(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request as the SDK would send it.

    A file holds requests in the API's own form, which the SDK makes for single requests only
    (`_GenerateContentConfig_to_mldev` in its `batches.py`).
    """
    sent: dict[str, Any] = {"contents": body["contents"]}
    settings: dict[str, Any] = {}
    for name, value in body[CONFIG].items():
        if name == "system_instruction":
            sent["systemInstruction"] = {"parts": [{"text": value}], "role": "user"}
        elif name in _BESIDE_SETTINGS:
            sent[_camel(name)] = value
        elif name == "thinking_config":
            settings[_camel(name)] = {
                _camel(each): level for each, level in value.items()
            }
        else:
            settings[_camel(name)] = value
    return {**sent, "generationConfig": settings}


def _camel(name: str) -> str:
    """Return a name such as `top_p` as the API has it: `topP`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _inlined(path: Path) -> list[dict[str, Any]]:
    """Return the requests in the lines of a file, in the order of their ids.

    Results come in the order of the requests, and this order is known later, too.
    """
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    lines.sort(key=lambda line: str(line[_KEY]))
    return [
        {"request": line["request"], _METADATA: {_KEY: line[_KEY]}} for line in lines
    ]


def _by_id(
    output: _Output, ids: Collection[str]
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return each result that stands in a batch with the id of its request.

    They carry the id. Where none does they are in the order of the requests, if none is missing.
    """
    responses = output.inlined.responses if output.inlined else []
    carried = [_carried(each) for each in responses]
    if not any(carried) and len(responses) == len(ids):
        carried = sorted(ids)
    return [
        (request_id, line)
        for request_id, line in zip(carried, responses, strict=True)
        if request_id and isinstance(line, Mapping) and not jsonio.repeated_keys(line)
    ]


def _carried(line: object) -> str:
    """Return the id that a result carries, "" where it carries none."""
    metadata = line.get(_METADATA) if isinstance(line, Mapping) else None
    request_id = metadata.get(_KEY) if isinstance(metadata, Mapping) else None
    return request_id if isinstance(request_id, str) else ""


def _result(request_id: str, line: Mapping[str, Any]) -> Result:
    """Return what a result says: it has a response, or an error, which some call its status."""
    response = line.get("response")
    if response is not None:
        return Result(id=request_id, status=httpx2.codes.OK, body=response)
    error = line.get("error") or line.get("status")
    if not isinstance(error, Mapping):
        return Result(
            id=request_id, status=None, reason="no response", detail=str(error)
        )
    status = _status(error.get("code"))
    return Result(
        id=request_id, status=status, body={"error": {**error, "code": status}}
    )


def _status(code: object) -> int:
    """Return the HTTP status of a code, which may be one."""
    if type(code) is not int:
        return _OTHER_ERROR
    return code if 400 <= code < 600 else _STATUS.get(code, _OTHER_ERROR)


def _in_words(operation: _Operation) -> RemoteBatch:
    """Return a batch in the words that all providers share."""
    # JOB_STATE_RUNNING, BATCH_STATE_RUNNING
    said, error = operation.metadata.state.rpartition("STATE_")[2], operation.error
    state = _STATES.get(said, State.RUNNING)
    if error is not None and state is State.RUNNING:  # it is done, whatever its state
        state = State.FAILED
    output, mark = operation.output, operation.metadata.display_name
    return RemoteBatch(
        id=operation.name,
        state=state,
        said=said.lower() or state.value,
        fault=(error.message or "" if error else "")[:500],
        has_no_room=error is not None and _status(error.code) == _NO_ROOM,
        places=(output.file,) if output.file else (),
        inputs=(f"files/{mark}",) if mark else (),
    )
