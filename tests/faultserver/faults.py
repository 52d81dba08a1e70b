"""What the server can do wrong, and which study gets what."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Fault(StrEnum):
    """How a request goes wrong."""

    RATE_LIMIT = "rate_limit"
    SERVER_ERROR = "server_error"
    UNAVAILABLE = "unavailable"
    DROP = "drop"  # the connection is closed before the answer
    CUT_BODY = "cut_body"  # ... in the middle of it
    STALL = "stall"  # the request is never answered
    MALFORMED = "malformed"  # an answer that is in no rubric's format
    EMPTY = "empty"
    REFUSAL = "refusal"  # in `message.refusal`
    REFUSAL_TEXT = "refusal_text"
    TRUNCATED = "truncated"  # half of the right answer, with finish reason `length`
    TOO_LONG = "too_long"
    WRONG_KEY = "wrong_key"
    ODD_REFUSAL = "odd_refusal"  # a 400 in words that name nothing
    MODERATION = "moderation"  # a 403 about the text
    ERROR_INSIDE = "error_inside"  # a 200 with an error of 503
    PAGE = "page"  # a login page, with 200
    ABORTED = "aborted"  # half of the answer, which the server gave up
    OTHER_STOP = "other_stop"  # the whole answer, with finish reason `eos_token`
    ODD_END = "odd_end"  # the whole answer, with a finish reason that nobody knows
    NO_END = "no_end"  # the whole answer, with finish reason null, and no model
    PARTS = "parts"  # the whole answer in two parts, after a thought
    REASONING = "reasoning"  # the whole answer in `reasoning_content` alone
    CUT_PROMPT = "cut_prompt"  # an answer to the first tokens of the question


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What the requests of one study meet: `first` in order, `then` every later one."""

    first: tuple[Fault | None, ...] = ()
    then: Fault | None = None

    def at(self, attempt: int) -> Fault | None:
        return self.first[attempt] if attempt < len(self.first) else self.then


def always(fault: Fault) -> StudyPlan:
    return StudyPlan(then=fault)


def first(*faults: Fault | None, then: Fault | None = None) -> StudyPlan:
    return StudyPlan(faults, then)


@dataclass(frozen=True, slots=True)
class Outage:
    """Every request that comes from `start` to `end` seconds after the first meets `fault`."""

    fault: Fault = Fault.UNAVAILABLE
    start: float = 0.0
    end: float | None = None

    def covers(self, seconds: float) -> bool:
        return self.start <= seconds and (self.end is None or seconds < self.end)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Everything that can be changed while the server runs.

    `rates` are shares of studies that meet a fault at all their requests; `studies`, the plans
    of single ones, take precedence; an `outage` takes precedence over all. `refused_parameters`
    maps parameters to error codes; with `unsupported_value` the value 1 is allowed.
    `refused_modes`: `json_schema`, `json_object`. The study key is the first match of
    `key_pattern` in the last message that has one. `record` keeps the requests whole.
    `sentences` refuse a parameter, or `system`, in words alone. More answer tokens than three
    quarters of `context` are refused. `retry_after` are the headers of a 429.
    """

    rates: Mapping[Fault, float] = field(default_factory=dict)
    studies: Mapping[str, StudyPlan] = field(default_factory=dict)
    outage: Outage | None = None
    latency: float = 0.0
    api_keys: tuple[str, ...] | None = None
    refused_parameters: Mapping[str, str] = field(default_factory=dict)
    refused_modes: tuple[str, ...] = ()
    sentences: Mapping[str, str] = field(default_factory=dict)
    context: int | None = None
    retry_after: Mapping[str, str] = field(default_factory=dict)
    key_pattern: str = r"study-\d+"
    record: bool = False

    def plan_of(self, key: str) -> StudyPlan:
        if key in self.studies:
            return self.studies[key]
        point = random.Random(key).random()
        for fault in sorted(self.rates):
            point -= self.rates[fault]
            if point < 0:
                return always(fault)
        return StudyPlan()
