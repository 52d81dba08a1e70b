"""What is kept of an answer, how it is written, and what a store of answers can do.

A store is one class: `judge.cache.store.CompletionCache` keeps answers in a folder, and
`tests/cache/sqlite_answers.py` in one table of a database. What a run, batches and the commands
need of it is `AnswerStore`; how an answer is written and checked is the same for all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, Self

from pydantic import ValidationError

from judge import jsonio
from judge.cache import key_of
from judge.run_files.checked import adapter, first_of
from judge.run_files.study_record import CompletionRecord
from judge.types import Completion, JudgeError, Usage

_LONG_NUMBER = 16  # digits that no count of tokens has
_LATEST = 253_402_300_800  # seconds from 1970 to the year 10000
_BATCHED = "batch"  # in the tag of an answer that came in a batch


class DamagedError(Exception):
    """A kept answer that is not what this program writes. Its text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """One answer as a store keeps it.

    Attributes:
        key: The key of its question, from `judge.cache.key_of`.
        model: The model that was asked.
        request: The canonical question; None for an answer from a run folder, which has none.
        completion: The answer.
        stored: When it was kept, in seconds since 1970; 0 where nobody has written that down.
        tag: The kind of its question, `batch` where it has the price of a batch, and its tokens,
            as `tag_of` puts them; None where that is not known.
    """

    key: str
    model: str
    request: Mapping[str, Any] | None
    completion: Completion
    stored: float = 0.0
    tag: str | None = None

    @property
    def time(self) -> datetime:
        """When the judge answered; when it was kept where the answer does not say."""
        if not self.completion.created:
            return datetime.fromtimestamp(self.stored, UTC)
        time = datetime.fromisoformat(self.completion.created)
        return time if time.tzinfo else time.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DamagedAnswer:
    """A kept answer that cannot be used: its key or place, and why."""

    name: str
    reason: str


class AnswerStore(Protocol):
    """Where answers are kept, so that nothing is paid for twice.

    Threads may share one; each calls `leave_thread` at its end. Several that are opened on the
    same answers, in one process or several, see each other's answers and claims. Every method
    raises `JudgeError` with a sentence for the user where the store cannot be used.

    Attributes:
        notice: A sentence for the user about what opening it has changed; "" for none.
    """

    notice: str

    @property
    def n_damaged(self) -> int:
        """How many answers were looked for and found damaged."""

    def get(self, key: str) -> Completion | None:
        """Return the kept answer; None where there is none, or it is damaged."""

    def put(self, answer: KeptAnswer) -> None:
        """Keep an answer for good: when this returns, a killed process does not lose it."""

    def claim(self, key: str) -> bool:
        """Claim a key before asking; False while another opened store has the claim.

        A claim ends with `release`, and with the process that has it.
        """

    def release(self, key: str) -> None:
        """Give the claim on a key back, after its answer was kept or none was to be had."""

    def iterate(self) -> Iterator[KeptAnswer | DamagedAnswer]:
        """Yield all answers, in the order in which they were kept first."""

    def remove(self, keys: Iterable[str]) -> int:
        """Erase the answers with these keys; returns how many there were."""

    def is_batched(self, key: str) -> bool:
        """Whether the answer of this key is known to have come in a batch."""

    def answer_tokens(self, kind: str) -> float | None:
        """Return the mean tokens of the newest answers to a kind of question; None without any."""

    def leave_thread(self) -> None:
        """Close what the calling thread has open; other threads go on."""

    def __len__(self) -> int:
        """Return how many answers are kept."""

    def __enter__(self) -> Self:
        """Use it in a block."""

    def __exit__(self, *_error: object) -> bool | None:
        """Close it, with the claims that it has."""


def answer_to(
    key: str,
    record: Mapping[str, Any],
    completion: Completion,
    *,
    kind: str = "",
    is_batched: bool = False,
) -> KeptAnswer:
    """Return what is kept of an answer to the canonical question `record`, which has this key.

    `kind` is that of the question, by which `AnswerStore.answer_tokens` finds it; `is_batched`
    says that it has the price of a batch.
    """
    return KeptAnswer(
        key=key,
        model=str(record.get("model", "")),
        request=record,
        completion=completion,
        tag=tag_of(kind, completion, is_batched=is_batched),
    )


def tag_of(
    kind: str, completion: Completion, *, is_batched: bool = False
) -> str | None:
    """Return the kind of an answer's question and its tokens, as the words of a tag."""
    if not kind or completion.usage is None:
        return None
    words = [kind]
    if is_batched:
        words.append(_BATCHED)
    words.append(str(completion.usage.completion_tokens))
    return " ".join(words)


def is_batched_by(tag: str | None) -> bool:
    """Whether a tag says that its answer came in a batch."""
    return tag is not None and _BATCHED in tag.split()


def tokens_in(tag: str | None, kind: str) -> int | None:
    """Return the tokens of an answer to a kind of question; None where the tag is another's."""
    if tag is None or not tag.startswith(f"{kind} "):
        return None
    tokens = tag.split()[-1]
    if not tokens.isdigit() or len(tokens) >= _LONG_NUMBER:
        return None
    return int(tokens)


# As bytes


def encode(answer: KeptAnswer) -> bytes:
    """Return the JSON text in which an answer is kept."""
    plain = answer.completion.plain()
    if answer.completion.mode is None:  # as in entries from before there were modes
        del plain["mode"]
    if answer.request is None:
        data: dict[str, Any] = {"key": answer.key, "model": answer.model}
    else:
        data = {"request": answer.request}
    data |= {"completion": plain, "sha256": checksum(plain)}
    if answer.completion.created is None:
        # Nothing else would say how old it is: `judge cache prune --older-than` asks.
        data["stored"] = answer.stored or datetime.now(UTC).timestamp()
    return json.dumps(data).encode("ascii")


def checksum(completion: Mapping[str, Any]) -> str:
    """Return the SHA-256 of an answer's JSON object, written in one way."""
    written = json.dumps(completion, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode("ascii")).hexdigest()


def decode(value: object) -> Completion:
    """Return the answer in what `encode` wrote; raises `DamagedError`."""
    return _completion(_object(value))


def decode_whole(key: str, value: object, tag: str | None = None) -> KeptAnswer:
    """Return all that `encode` wrote under a key, which is derived again.

    Its `stored` is 0 where neither it nor the answer says when that was. Raises `DamagedError`.
    """
    return kept_answer(key, _object(value), tag)


def kept_answer(key: str, data: Any, tag: str | None = None) -> KeptAnswer:  # noqa: ANN401
    """Return the answer in a JSON object, as `decode_whole` does; raises `DamagedError`."""
    completion = _completion(data)
    try:
        request = data.get("request")
        if request is not None:
            model, derived = request["model"], key_of(request)
        else:  # only the checksum speaks for it
            model, derived = data["model"], data["key"]
            if not data["sha256"]:
                raise DamagedError("it has neither its request nor a checksum")
    except (KeyError, TypeError, ValueError, AttributeError, JudgeError) as error:
        raise DamagedError("not the request of an entry") from error
    if derived != key or not isinstance(model, str):
        raise DamagedError("its key is not the one that its request has")
    stored = data.get("stored")
    is_time = isinstance(stored, int | float) and 0 <= stored < _LATEST
    return KeptAnswer(
        key=key,
        model=model,
        request=request,
        completion=completion,
        stored=float(stored) if is_time else 0.0,
        tag=tag,
    )


def _object(value: object) -> Any:  # noqa: ANN401 - JSON is any of a few types
    if not isinstance(value, bytes):
        raise DamagedError("not the JSON text of an entry")
    try:
        return jsonio.read(value)
    except jsonio.JsonError as error:
        raise DamagedError("not the JSON text of an entry") from error


def _completion(data: Mapping[str, Any]) -> Completion:
    try:
        plain, written = data["completion"], data.get("sha256")
        # An entry from before there were checksums has none.
        if written is not None and written != checksum(plain):
            raise DamagedError("its answer is not the one that was written")
        adapter(CompletionRecord).validate_python(plain, strict=True)
        usage = None if plain["usage"] is None else Usage(**plain["usage"])
        return Completion(**{**plain, "usage": usage})
    except ValidationError as error:
        raise DamagedError(f"not the fields of an entry: {first_of(error)}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedError("not the fields of an entry") from error


def intact(
    answers: Iterable[KeptAnswer | DamagedAnswer], damaged: list[DamagedAnswer]
) -> Iterator[KeptAnswer]:
    """Yield the answers that are whole; the others are added to `damaged`."""
    for answer in answers:
        if isinstance(answer, KeptAnswer):
            yield answer
        else:
            damaged.append(answer)
