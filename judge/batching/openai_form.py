"""OpenAI's form of batches: the lines of their files, their states, the calls that move them.

Facts from OpenAI's guide and reference (platform.openai.com/docs/guides/batch): one model and
one endpoint a file, at most 50,000 requests and 200 MB; answers in any order, each with the
`custom_id` of its request, those that went wrong in a file of their own; a batch that is not
done within its window expires, and what was answered by then is kept and paid for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from judge import jsonio
from judge.backends.connection import NO_KEY, Connection
from judge.backends.errors import (
    AskError,
    TransientError,
    UnavailableError,
    UnreadableReplyError,
)
from judge.backends.replies import ErrorReply, RefusedError, completion_of
from judge.backends.structured import Mode
from judge.types import Completion, JudgeError

if TYPE_CHECKING:
    from openai.types import Batch

MOST_BYTES = 200_000_000
_ENDPOINT: Final = "/v1/chat/completions"
_WINDOW: Final = "24h"
# Under this name a batch carries the id that it has here.
_MARK = "judge_batch"
_OVER = frozenset({"completed", "expired", "cancelled", "failed"})
_NO_ROOM = "token_limit_exceeded"
# A file of 200 MB goes up, or comes down, in so many seconds.
_FILE_TIMEOUT = 1800.0
_RETRIES = 4
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Remote:
    """A batch as the provider describes it.

    `state` is the provider's word. `mark` is the id that it has here, None for one that was
    not made here. `faults` say why it was refused; `has_no_room` where that is the limit on
    the tokens that may wait at once.
    """

    id: str
    state: str
    mark: str | None = None
    files: tuple[str, ...] = ()
    n_answered: int = 0
    n_failed: int = 0
    faults: tuple[str, ...] = ()
    has_no_room: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing will happen to it any more."""
        return self.state in _OVER


def line_of(key: str, body: Mapping[str, Any]) -> bytes:
    """Return the line of a batch's file that asks for the answer to a request's `body`."""
    line = {"custom_id": key, "method": "POST", "url": _ENDPOINT, "body": body}
    return json.dumps(line).encode("ascii") + b"\n"


def parsed(line: bytes) -> tuple[str, Mapping[str, Any]]:
    """Return the key of a line of answers and the line; raises `UnreadableReplyError`."""
    try:
        value = jsonio.read(line)
        key = value["custom_id"]
    except (ValueError, LookupError, TypeError) as error:
        raise UnreadableReplyError("a line is not one of a batch's answers") from error
    if not isinstance(key, str):
        raise UnreadableReplyError("a line has no custom_id")
    return key, value


def answer(
    line: Mapping[str, Any],
    sampling: Mapping[str, Any],
    mode: Mode | None,
    tool: str | None,
    server: str,
) -> Completion:
    """Return the answer in a line; `mode` and `tool` are how a reply of a fixed form was asked for.

    Raises what asking directly raises (`judge.backends.openai_client.Client.ask`), and a
    `TransientError` for a request that the batch did not come to. `sampling` are the parameters
    that the server may refuse.
    """
    response, error = line.get("response"), line.get("error")
    if not isinstance(response, Mapping):
        said = error if isinstance(error, Mapping) else {}
        code = str(said.get("code") or "no response").removeprefix("batch_")
        raise TransientError(code.replace("_", " "), str(said.get("message") or "")[:300])
    status, body = response.get("status_code"), response.get("body")
    if type(status) is int and not 200 <= status < 300:
        reply = ErrorReply(server, status, {}, json.dumps(body).encode())
        raise reply.meaning(sampling, mode, NO_KEY)
    return completion_of(body, mode, tool, NO_KEY)


class GoneError(JudgeError):
    """The server has no such batch or file, or no batches at all."""


class Provider:
    """The files and batches of one server; to be closed. Raises what asking a judge raises.

    What is not caught by the end of the `with` block is a `JudgeError` after it.
    """

    def __init__(self, connection: Connection, key: str) -> None:
        import httpx2  # which openai brings
        import openai

        self.url = connection.base_url
        http = openai.DefaultHttpxClient(
            follow_redirects=False,
            trust_env=False,
            proxy=connection.proxy,
            verify=httpx2.create_ssl_context(),
        )
        self._client = openai.OpenAI(
            api_key=key,
            base_url=self.url,
            http_client=http,
            max_retries=_RETRIES,
            timeout=connection.timeout,
        )
        self._slow = self._client.with_options(timeout=max(_FILE_TIMEOUT, connection.timeout))
        # Sent again, it might be made twice.
        self._once = self._client.with_options(max_retries=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        self._client.close()
        if isinstance(error, AskError):
            raise JudgeError(
                f"{self.url} does not answer ({error}); batches that were made go on there: try "
                "again later with the same command"
            ) from error

    def upload(self, path: Path, name: str) -> str:
        """Return the id of a file with the requests that lie at `path`."""
        with self._explained(), path.open("rb") as file:
            return self._slow.files.create(file=(name, file), purpose="batch").id

    def create(self, file_id: str, mark: str) -> Remote:
        """Make the batch of an uploaded file; an error may leave it made or not."""
        with self._explained():
            return _remote(
                self._once.batches.create(
                    completion_window=_WINDOW,
                    endpoint=_ENDPOINT,
                    input_file_id=file_id,
                    metadata={_MARK: mark},
                )
            )

    def made_here(self, marks: Iterable[str]) -> dict[str, Remote]:
        """Return the batches among all the provider's that carry one of `marks`."""
        wanted = set(marks)
        with self._explained():
            found = map(_remote, self._client.batches.list(limit=100))
            return {one.mark: one for one in found if one.mark in wanted and one.mark}

    def look(self, remote_id: str) -> Remote:
        """Return how a batch is."""
        with self._explained():
            return _remote(self._client.batches.retrieve(remote_id))

    def cancel(self, remote_id: str) -> Remote:
        """Have a batch end with what it has answered."""
        with self._explained():
            return _remote(self._client.batches.cancel(remote_id))

    def fetch(self, file_id: str, to: Path) -> None:
        """Write a file of answers to `to`."""
        with self._explained():
            content = self._slow.files.with_streaming_response.content(file_id)
            with content as response, to.open("wb") as file:
                file.writelines(response.iter_bytes())

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import httpx2  # which openai brings
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            response = error.response
            said = json.dumps(error.body).encode() if error.body is not None else b""
            reply = ErrorReply(self.url, error.status_code, response.headers, said)
            if error.status_code == 404:
                raise GoneError(
                    f"{self.url} has no such batch or file, or knows no batches at all"
                ) from error
            wrong = reply.meaning({}, None, self._client.api_key)
            if isinstance(wrong, RefusedError):
                wrong = JudgeError(f"{self.url} refuses the request ({wrong.what})")
            raise wrong from error
        except openai.APITimeoutError as error:
            raise UnavailableError("timeout", "no whole answer in time (--timeout)") from error
        except openai.APIConnectionError as error:
            raise UnavailableError("connection", str(error.__cause__ or error)[:300]) from error
        except httpx2.HTTPError as error:  # in the middle of a file
            raise UnavailableError("connection", str(error)[:300]) from error
        # A page instead of JSON comes as text, JSON that is none as a ValueError; openai reads it.
        except (
            openai.OpenAIError,
            AttributeError,
            TypeError,
            ValueError,
            RecursionError,
        ) as error:
            raise UnreadableReplyError("it is no reply about batches") from error


def _remote(batch: Batch) -> Remote:
    counts, errors = batch.request_counts, (batch.errors and batch.errors.data) or []
    faults = [
        f"line {error.line}: {error.message}" if error.line else str(error.message)
        for error in errors[:_SHOWN]
    ]
    if len(errors) > _SHOWN:
        faults.append(f"and {len(errors) - _SHOWN:,} more")
    return Remote(
        id=batch.id,
        state=batch.status,
        mark=(batch.metadata or {}).get(_MARK),
        files=tuple(filter(None, (batch.output_file_id, batch.error_file_id))),
        n_answered=counts.completed if counts else 0,
        n_failed=counts.failed if counts else 0,
        faults=tuple(faults),
        has_no_room=any(error.code == _NO_ROOM for error in errors),
    )
