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
    """

    rates: Mapping[Fault, float] = field(default_factory=dict)
    studies: Mapping[str, StudyPlan] = field(default_factory=dict)
    outage: Outage | None = None
    latency: float = 0.0
    api_keys: tuple[str, ...] | None = None
    refused_parameters: Mapping[str, str] = field(default_factory=dict)
    refused_modes: tuple[str, ...] = ()
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
