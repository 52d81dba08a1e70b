"""What the server has seen: counters, a timeline and a log."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

STEP = 0.1
"""The width of a step of the timeline, in seconds."""

_KEPT = 100_000
_RECORDED = 10_000


@dataclass(frozen=True, slots=True)
class LogRow:
    """One request that has ended, times in seconds after the first request.

    `attempt` counts from 0 the study's requests that got as far as the study's own plan; it
    is -1 for a request that met an outage, a limit or a refusal first. `mode` is how it
    asked for its reply: `json_schema`, `json_object`, `tools` or `text`.
    """

    arrived: float
    ended: float
    study: str
    attempt: int
    status: str
    fault: str
    mode: str


@dataclass(frozen=True, slots=True)
class Stats:
    """What the server has seen since its start or the last reset.

    `requests` are requests for completions, of which `by_study` and `by_status` are
    divisions; a status is `200`, `429`, ... or how else it ended: `dropped`, `reset`,
    `cut`, `stalled`, `gone` (the connection ended first). A request under way is in `by_study` and
    not yet in `by_status`; a stalled one stays in flight until the client leaves.
    `by_mode` divides them by how they ask for a reply.
    `by_fault` counts the requests on which a fault of a plan, a rate or an outage was used.
    `too_soon` are requests of a study that came before the time its last 429 asked for.
    Tokens are those billed in answers. `timeline` has, for each tenth of a second after the
    first request in which something happened, the requests that came, those that ended, and
    the most in flight.
    """

    requests: int
    by_study: dict[str, int]
    by_status: dict[str, int]
    by_fault: dict[str, int]
    by_mode: dict[str, int]
    in_flight: int
    in_flight_max: int
    connections: int
    too_soon: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    timeline: dict[float, tuple[int, int, int]]

    @property
    def answered(self) -> int:
        """Requests that got a status 200."""
        return self.by_status.get("200", 0)


@dataclass(slots=True)
class Counters:
    """The counters as they stand; `now` is always in seconds after the first request."""

    requests: int = 0
    by_study: Counter[str] = field(default_factory=Counter)
    by_status: Counter[str] = field(default_factory=Counter)
    by_fault: Counter[str] = field(default_factory=Counter)
    by_mode: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    in_flight_max: int = 0
    connections: int = 0
    too_soon: int = 0
    tokens: list[int] = field(default_factory=lambda: [0, 0, 0])
    timeline: dict[int, list[int]] = field(default_factory=dict)
    log: deque[LogRow] = field(default_factory=lambda: deque(maxlen=_KEPT))
    recorded: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_RECORDED))

    def arrived(self, study: str, mode: str, now: float) -> None:
        """Count a request that has come."""
        self.requests += 1
        self.by_study[study] += 1
        self.by_mode[mode] += 1
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        step = self._step(now)
        step[0] += 1
        step[2] = max(step[2], self.in_flight)

    def ended(self, row: LogRow) -> None:
        """Count how a request ended."""
        self.by_status[row.status] += 1
        if row.fault:
            self.by_fault[row.fault] += 1
        self.log.append(row)
        self._step(row.ended)[1] += 1

    def left(self) -> None:
        """Count a request as no longer in flight."""
        self.in_flight -= 1

    def billed(self, tokens: tuple[int, int, int]) -> None:
        """Add tokens of the prompt, cached ones among them, and of the completion."""
        for at, number in enumerate(tokens):
            self.tokens[at] += number

    def to_json(self) -> dict[str, Any]:
        """Return the fields of `Stats`."""
        return {
            "requests": self.requests,
            "by_study": self.by_study,
            "by_status": self.by_status,
            "by_fault": self.by_fault,
            "by_mode": self.by_mode,
            "in_flight": self.in_flight,
            "in_flight_max": self.in_flight_max,
            "connections": self.connections,
            "too_soon": self.too_soon,
            "prompt_tokens": self.tokens[0],
            "cached_tokens": self.tokens[1],
            "completion_tokens": self.tokens[2],
            "timeline": {f"{step * STEP:.1f}": row for step, row in self.timeline.items()},
        }

    def _step(self, now: float) -> list[int]:
        step = int(now / STEP)
        row = self.timeline.get(step)
        if row is None:
            row = self.timeline[step] = [0, 0, self.in_flight]
        return row


def stats_from(data: dict[str, Any]) -> Stats:
    """Return the `Stats` that `Counters.to_json` wrote."""
    timeline = {float(step): tuple(row) for step, row in data["timeline"].items()}
    return Stats(**{**data, "timeline": timeline})
