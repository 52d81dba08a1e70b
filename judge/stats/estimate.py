"""A number of a set of studies with its interval: computed, stored, printed and drawn as this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

_ALWAYS = ("n", "value", "low", "high", "n_undefined")
_VALUE = ("value", "rate", "mean")
"""What reports call the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number of a set of scored studies with its 95% interval.

    `n` studies have its measures, `n_undefined` lack one. `value` is None where no study
    has it, or the denominator is 0; `low` and `high` where an interval is not defined. A rate
    is `k` of `n`; a ratio is `numerator` / `denominator`, sums over the `n` studies. Where
    figures are expected to be missing, `reason` says why the value is, or else the interval.
    `bounds` are its least and its greatest value if all studies without a score were at one end
    of the scale. A difference is the first less the second, and has no `n`.
    """

    n: int | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n_undefined: int = 0
    k: int | None = None
    numerator: float | None = None
    denominator: float | None = None
    reason: str | None = None
    bounds: tuple[float, float] | None = None

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Return the estimate that a summary or a report holds as JSON; see `plain`.

        Raises StopIteration where it holds none.
        """
        bounds = data.get("bounds")
        if bounds is not None:
            low, high = bounds
            bounds = (low, high)
        return cls(
            n=data.get("n"),
            value=next(data[name] for name in _VALUE if name in data),
            low=data.get("low"),
            high=data.get("high"),
            n_undefined=data.get("n_undefined") or 0,
            k=data.get("k"),
            numerator=data.get("numerator"),
            denominator=data.get("denominator"),
            reason=data.get("reason"),
            bounds=bounds,
        )

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types, without the fields that this kind of statistic lacks."""
        fields = asdict(self)
        data = {
            name: value
            for name, value in fields.items()
            if name in _ALWAYS or value is not None
        }
        if self.bounds is not None:
            data["bounds"] = list(self.bounds)
        return data
