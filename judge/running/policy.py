"""How a judge is asked: how many requests at a time, how often again, when to give up."""

from __future__ import annotations

import numbers
from dataclasses import asdict, dataclass

from judge.types import JudgeError


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How many requests at a time, how often again, and when to give up.

    `concurrency` requests are in flight (None: as the server takes); an unreadable answer is asked
    for `reask` times more; a question takes at most `max_requests`; a server may be gone for
    `max_outage` seconds; judging the studies may cost `max_cost` US dollars in all, with what
    earlier runs of the same questions have cost. It is given up where more than half of the first
    `give_up_after` answers cannot be read (0: never). Raises `JudgeError` for a value that is no
    such number; NumPy's are taken.
    """

    concurrency: int | None = None
    reask: int = 1
    max_requests: int = 8
    max_outage: float = 1800.0
    max_cost: float | None = None
    give_up_after: int = 50

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is None and name in ("concurrency", "max_cost"):
                continue
            least = int(name in ("concurrency", "max_requests"))
            is_whole = name not in ("max_outage", "max_cost")
            # NumPy's numbers too; a manifest has plain ones.
            kinds = numbers.Integral if is_whole else numbers.Real
            is_number = isinstance(value, kinds) and not isinstance(value, bool)
            if not is_number or not value >= least:
                kind = "whole number" if is_whole else "number"
                raise JudgeError(
                    f"{name} is a {kind} from {least} on, not {value!r:.80}"
                )
            plain = int(value) if isinstance(value, numbers.Integral) else float(value)
            object.__setattr__(self, name, plain)
