"""What the server can do wrong, and which study gets what: pure, seeded, known beforehand."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Fault(StrEnum):
    """One way in which a request goes wrong. The value is its name in JSON."""

    # Transient: by rate, these hit a study's first requests only.
    RATE_LIMIT = "rate_limit"
    """429 with `Retry-After`."""
    SERVER_ERROR = "server_error"
    """500."""
    BAD_GATEWAY = "bad_gateway"
    """502 with a gateway's HTML page."""
    UNAVAILABLE = "unavailable"
    """503."""
    DROP = "drop"
    """The connection is closed before the answer."""
    RESET = "reset"
    """The connection is reset (RST) in the middle of the body."""
    CUT_BODY = "cut_body"
    """The connection is closed (FIN) in the middle of the body."""
    STALL = "stall"
    """The request is accepted and never answered."""
    STALL_BODY = "stall_body"
    """Half of the body comes, and then nothing more."""
    SLOW = "slow"
    """The right answer, `Behaviour.slow` seconds later than the others."""
    BROKEN_JSON = "broken_json"
    """200 with JSON that ends in the middle."""
    HTML = "html"
    """200 with a web page."""
    NO_CHOICES = "no_choices"
    """200 with JSON that has no `choices`."""
    EMPTY_CHOICES = "empty_choices"
    """200 with an empty list of choices."""
    WITHHELD = "withheld"
    """400, code `json_validate_failed`: the server found the reply to be of another form."""
    # Lasting: by rate, these hit every request of a study.
    MALFORMED = "malformed"
    """An answer that is in no rubric's format."""
    EMPTY = "empty"
    """An answer without a character."""
    NULL = "null"
    """An answer whose content is null."""
    REFUSAL = "refusal"
    """A refusal in `message.refusal` (completions endpoint: as text)."""
    REFUSAL_TEXT = "refusal_text"
    """A refusal as the answer's text."""
    TRUNCATED = "truncated"
    """Half of the right answer, with finish reason `length`."""
    CONTENT_FOR_CALL = "content_for_call"
    """The right answer as content, though a tool was to be called."""
    SEVERAL_CALLS = "several_calls"
    """The right answer twice, in two calls of the tool (without a tool: the right answer)."""
    OTHER_CALL = "other_call"
    """The right answer in a call of a tool that nobody offered (same)."""
    FILTERED = "filtered"
    """Half of the right answer, with finish reason `content_filter`."""
    FILTERED_PROMPT = "filtered_prompt"
    """400, code `content_filter`."""
    TOO_LONG = "too_long"
    """400, code `context_length_exceeded`."""
    WRONG_KEY = "wrong_key"
    """401, code `invalid_api_key`."""
    FORBIDDEN = "forbidden"
    """403."""
    UNKNOWN_MODEL = "unknown_model"
    """404, code `model_not_found`."""
    NO_QUOTA = "no_quota"
    """429, code `insufficient_quota`."""
    # For outages only.
    REFUSED = "refused"
    """Nobody listens on the port; what is under way is reset."""


LASTING = frozenset(
    {
        *(Fault.MALFORMED, Fault.EMPTY, Fault.NULL, Fault.REFUSAL, Fault.REFUSAL_TEXT),
        *(Fault.CONTENT_FOR_CALL, Fault.SEVERAL_CALLS, Fault.OTHER_CALL),
        *(Fault.TRUNCATED, Fault.FILTERED, Fault.FILTERED_PROMPT, Fault.TOO_LONG),
        *(Fault.WRONG_KEY, Fault.FORBIDDEN, Fault.UNKNOWN_MODEL, Fault.NO_QUOTA),
    }
)
"""Faults that, chosen by rate, stay with a study for all its requests."""

AT_ONCE = frozenset(
    {
        *(Fault.RATE_LIMIT, Fault.UNAVAILABLE, Fault.FILTERED_PROMPT, Fault.TOO_LONG),
        *(Fault.WRONG_KEY, Fault.FORBIDDEN, Fault.UNKNOWN_MODEL, Fault.NO_QUOTA),
    }
)
"""Faults that come without the server's latency and take none of its slots."""


OF_THE_WIRE = frozenset(
    {
        *(Fault.BAD_GATEWAY, Fault.DROP, Fault.RESET, Fault.CUT_BODY, Fault.STALL),
        *(Fault.STALL_BODY, Fault.SLOW, Fault.BROKEN_JSON, Fault.HTML, Fault.REFUSED),
    }
)
"""Faults of the way between client and server, which a batch's requests do not go."""


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What the requests of one study meet: `first` in order, `then` every later one.

    None stands for the right answer.
    """

    first: tuple[Fault | None, ...] = ()
    then: Fault | None = None

    def __post_init__(self) -> None:
        if Fault.REFUSED in (*self.first, self.then):
            raise ValueError("nobody can refuse the connection of one study: use an outage")

    def at(self, attempt: int) -> Fault | None:
        """Return what the study's request number `attempt`, counted from 0, meets."""
        return self.first[attempt] if attempt < len(self.first) else self.then


def always(fault: Fault) -> StudyPlan:
    """Return the plan in which every request meets `fault`."""
    return StudyPlan(then=fault)


def first(*faults: Fault | None, then: Fault | None = None) -> StudyPlan:
    """Return the plan in which the first requests meet `faults`, one each, and the rest `then`."""
    return StudyPlan(faults, then)


def spread(
    keys: Iterable[str], shares: Mapping[Fault, float], seed: int = 0
) -> dict[str, StudyPlan]:
    """Return plans that give each fault to exactly `round(share * number of keys)` studies.

    No study gets two. A transient fault hits the study's first request, a lasting one all
    of them. Raises `ValueError` where the shares need more studies than there are.
    """
    order = sorted(keys)
    total = len(order)
    random.Random(f"{seed}/spread").shuffle(order)
    wanted = [fault for fault in sorted(shares) for _ in range(round(shares[fault] * total))]
    if len(wanted) > total:
        raise ValueError(f"{len(wanted)} studies with a fault of {total}")
    pairs = zip(order, wanted, strict=False)
    return {key: always(fault) if fault in LASTING else first(fault) for key, fault in pairs}


def unit(*parts: object) -> float:
    """Return a number in [0, 1) that is decided by `parts`."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / 2**56


def drawn(rates: Mapping[Fault, float], *parts: object) -> Fault | None:
    """Return the fault that `parts` draw by `rates`, None for none."""
    point = unit(*parts)
    for fault in sorted(rates):
        point -= rates[fault]
        if point < 0:
            return fault
    return None
