"""How the server behaves: one value, which goes over the wire as JSON and back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from statistics import NormalDist
from typing import Any, Literal

from faultserver.faults import LASTING, Fault, StudyPlan, drawn, unit
from faultserver.modes import MODES, STYLES

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Outage:
    """Every request that arrives from `start` to `end` meets `fault`.

    Both are seconds after the first request since the start or the last reset; before
    that request the time is 0. No `end`: until the behaviour is changed.
    """

    fault: Fault = Fault.UNAVAILABLE
    start: float = 0.0
    end: float | None = None

    def covers(self, seconds: float) -> bool:
        """Return whether the outage is on at `seconds` after the first request."""
        return self.start <= seconds and (self.end is None or seconds < self.end)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Everything that can be changed while the server runs.

    Faults. `rates` are probabilities per study: a transient fault is drawn anew for each of
    a study's first `rate_attempts` requests, a lasting one (`LASTING`) once for all of
    them; decided by `seed`, study key and request number alone. `studies` are the plans of
    single studies and take precedence. An `outage` takes precedence over all.

    Speed. An answer takes `latency` seconds; with `latency_sigma` that is the median of a
    log-normal distribution. With `slots` only so many are worked on at a time and the rest
    wait in line. Above `max_in_flight`, or above `per_second` accepted in any one second, a
    request gets a 429. A 429 asks to wait `retry_after` seconds (the rate limit per second:
    until there is room), in the header form `retry_after_form`; `both` is `Retry-After` in
    whole seconds, rounded up, and `retry-after-ms`.

    What is accepted. `api_keys`: None takes any. `models` maps the names that are served to
    the names that answers give as theirs; None serves and echoes any.
    `refused_parameters` maps parameters to `unsupported_parameter` or `unsupported_value`;
    with the latter the value 1 is allowed. `refused_modes` are ways to ask for a reply of a
    fixed form (`json_schema`, `json_object`, `tools`) that the server does not take. Errors
    have the shape, and for modes the words, of `error_style`.

    The study key is the first match of `key_pattern` in the last message that has one. A
    prompt without one has a key made from its hash. `record` keeps the last 10,000 requests whole.
    """

    seed: int = 0
    rates: Mapping[Fault, float] = field(default_factory=dict)
    rate_attempts: int = 1
    studies: Mapping[str, StudyPlan] = field(default_factory=dict)
    outage: Outage | None = None
    latency: float = 0.0
    latency_sigma: float = 0.0
    slow: float = 1.0
    slots: int | None = None
    max_in_flight: int | None = None
    per_second: int | None = None
    retry_after: float = 0.05
    retry_after_form: Literal["both", "seconds", "date", "none"] = "both"
    api_keys: tuple[str, ...] | None = None
    models: Mapping[str, str] | None = None
    refused_parameters: Mapping[str, str] = field(default_factory=dict)
    refused_modes: tuple[str, ...] = ()
    error_style: Literal["openai", "azure", "vllm", "llamacpp", "ollama"] = "openai"
    cached_tokens: int = 0
    key_pattern: str = r"study-\d+"
    record: bool = False

    def __post_init__(self) -> None:
        for lasting in (True, False):
            if sum(rate for fault, rate in self.rates.items() if (fault in LASTING) is lasting) > 1:
                raise ValueError("rates of transient, or of lasting, faults add up to more than 1")
        if Fault.REFUSED in self.rates:
            raise ValueError("nobody can refuse the connection of one study: use an outage")
        if wrong := set(self.refused_parameters.values()) - {
            "unsupported_parameter",
            "unsupported_value",
        }:
            raise ValueError(f"refused_parameters: unknown code {wrong}")
        if unknown := {*self.refused_modes} - {*MODES}:
            raise ValueError(f"refused_modes: unknown {unknown}")
        if self.error_style not in STYLES:
            raise ValueError(f"error_style: unknown {self.error_style}")
        try:
            re.compile(self.key_pattern)
        except re.error as error:
            raise ValueError(f"key_pattern: {error}") from error
        if self.slots == 0:
            raise ValueError("slots: at least 1, or None for as many as come")

    def plan_of(self, key: str) -> StudyPlan:
        """Return what the requests of the study `key` meet, outages and limits aside."""
        if key in self.studies:
            return self.studies[key]
        if not self.rates:
            return _NO_FAULT
        lasting = {fault: rate for fault, rate in self.rates.items() if fault in LASTING}
        passing = {fault: rate for fault, rate in self.rates.items() if fault not in LASTING}
        then = drawn(lasting, self.seed, key, "lasting")
        draws = [drawn(passing, self.seed, key, attempt) for attempt in range(self.rate_attempts)]
        if not any(draws):
            return StudyPlan((), then)
        return StudyPlan(tuple(draw or then for draw in draws), then)

    def plan(self, keys: Iterable[str]) -> dict[str, StudyPlan]:
        """Return what the requests of each of `keys` meet, outages and limits aside."""
        return {key: self.plan_of(key) for key in keys}

    def seconds(self, key: str, attempt: int) -> float:
        """Return how long the server works on the answer to this request."""
        if not self.latency_sigma or not self.latency:
            return self.latency
        point = max(1e-12, unit(self.seed, key, attempt, "latency"))
        return self.latency * math.exp(self.latency_sigma * _NORMAL.inv_cdf(point))


_NO_FAULT = StudyPlan()


def changed(base: Behaviour, changes: Mapping[str, Any]) -> Behaviour:
    """Return `base` with `changes` as they come from JSON.

    Raises `ValueError` or `TypeError` for what cannot be.
    """
    if unknown := set(changes) - {each.name for each in fields(Behaviour)}:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    values = dict(changes)
    if "rates" in values:
        values["rates"] = {Fault(name): float(rate) for name, rate in values["rates"].items()}
    if "studies" in values:
        values["studies"] = {key: plan_from(plan) for key, plan in values["studies"].items()}
    if values.get("outage") is not None:
        values["outage"] = Outage(
            **{**values["outage"], "fault": Fault(values["outage"].get("fault", "unavailable"))}
        )
    for name in ("api_keys", "refused_modes"):
        if values.get(name) is not None:
            values[name] = tuple(values[name])
    return replace(base, **values)


def plan_from(plan: Mapping[str, Any]) -> StudyPlan:
    """Return the plan that is `plan` in JSON."""
    faults = tuple(Fault(name) if name else None for name in plan.get("first", ()))
    return StudyPlan(faults, Fault(plan["then"]) if plan.get("then") else None)
