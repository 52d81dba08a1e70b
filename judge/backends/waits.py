"""How long a server asks to wait, in any of the forms in which servers say it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 300.0
"""The most seconds that a server is obeyed."""

_LEAST_EPOCH = 1e9  # a number of seconds from here on is a time, not a wait
_PARTS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|us|s|m|h|d)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# As Azure, OpenAI and Groq put it in a sentence.
_IN_WORDS = re.compile(
    r"(?:retry|try again) (?:after|in) ([0-9]+(?:\.[0-9]+)?) ?"
    r"(ms|milliseconds?|s|seconds?|m|minutes?)\b",
    re.IGNORECASE,
)
# What runs out, by the headers that say how much is left of it and when there is more.
_RESETS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    (
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
    ),
    (
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
    ),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
)


def retry_after(headers: Mapping[str, str], words: str = "") -> float | None:
    """Return the seconds until a server may be asked again, None where it does not say.

    `headers` are by lower-case names. `retry-after-ms` comes before `Retry-After`, which is a
    number of seconds or a date, and both before the reset of a limit that is used up and before
    what `words` say. Never less than 0 or more than `LONGEST_WAIT`.
    """
    now = _date(headers.get("date")) or datetime.now(UTC)
    found = [
        _number(headers.get("retry-after-ms"), 1e-3),
        _wait(headers.get("retry-after"), now),
        _reset(headers, now),
        _in_words(words),
    ]
    seconds = next((each for each in found if each is not None), None)
    return None if seconds is None else min(max(0.0, seconds), LONGEST_WAIT)


def _reset(headers: Mapping[str, str], now: datetime) -> float | None:
    used_up, others = [], []
    for left, reset in _RESETS:
        seconds = _wait(headers.get(reset), now)
        if seconds is None:
            continue
        if _number(headers.get(left)) == 0:
            used_up.append(seconds)
        elif left not in headers:
            others.append(seconds)
    if used_up:
        return max(used_up)
    return min(others, default=None)


def _wait(text: str | None, now: datetime) -> float | None:
    """Read `2`, `1m30s`, an HTTP date, an ISO date, or a time in seconds or ms since 1970."""
    if not text or not (text := text.strip()):
        return None
    if (number := _number(text)) is not None:
        if number < _LEAST_EPOCH:
            return number
        since = number / 1000 if number > 1000 * _LEAST_EPOCH else number
        return since - now.timestamp() if since != float("inf") else LONGEST_WAIT
    parts = _PARTS.findall(text)
    if parts and "".join(value + unit for value, unit in parts) == text:
        return sum(float(value) * _SECONDS[unit] for value, unit in parts)
    date = _date(text)
    return (date - now).total_seconds() if date else None


def _date(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _number(text: str | None, unit: float = 1.0) -> float | None:
    try:
        number = float(text or "") * unit
    except ValueError:
        return None
    return None if number != number else number  # not a number, as `nan`


def _in_words(words: str) -> float | None:
    match = _IN_WORDS.search(words)
    if match is None:
        return None
    unit = match[2].lower()
    name = "ms" if unit.startswith("mil") or unit == "ms" else unit[0]
    return float(match[1]) * _SECONDS[name]
