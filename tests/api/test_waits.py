"""How long a server asks to wait, and what a log says of an outage."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest
from faultserver import Fault, FaultServer, always
from running import Runner

from judge.backends.waits import LONGEST_WAIT, retry_after
from judge.cli.progress import OutageLog, with_option
from judge.types import Scored

NOON = "Sat, 28 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "Sat, 28 Nov 2026 12:00:05 GMT", "date": NOON}, 5.0),
        ({"retry-after": "Sat, 28 Nov 2026 11:00:00 GMT", "date": NOON}, 0.0),
        ({"retry-after": "Sat, 28 Nov 2026 23:00:00 GMT", "date": NOON}, LONGEST_WAIT),
        ({"retry-after-ms": "1500", "retry-after": "60"}, 1.5),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "1m30s",
            },
            90.0,
        ),
        (
            {"x-ratelimit-remaining-tokens": "9", "x-ratelimit-reset-tokens": "6m0s"},
            None,
        ),
        ({"x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"ratelimit-reset": "12"}, 12.0),
        ({"x-ratelimit-reset": "1795867204000", "date": NOON}, 4.0),
        (
            {
                "anthropic-ratelimit-requests-reset": "2026-11-28T12:00:03Z",
                "date": NOON,
            },
            3.0,
        ),
        ({"retry-after": "inf"}, LONGEST_WAIT),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_each_form_is_read_and_bounded(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


def test_the_words_of_a_429() -> None:
    assert retry_after({}, "Please retry after 2 seconds.") == 2.0
    assert retry_after({}, "Please try again in 350ms.") == pytest.approx(0.35)
    assert retry_after({"retry-after": "3"}, "try again in 1m") == 3.0


def test_a_date_is_waited_for(server: FaultServer, runner: Runner) -> None:
    until = time.time() + 2
    server.set_faults(
        studies={"study-0000": always(Fault.RATE_LIMIT)},
        retry_after={"Retry-After": formatdate(until, usegmt=True)},
    )
    began = time.monotonic()
    ends = runner(1, max_requests=1)[0]
    assert not isinstance(ends["study-0000"].outcome, Scored)
    assert time.monotonic() - began >= 0.9, "a date has whole seconds"
    assert server.stats().requests <= 8


def test_a_log_says_an_outage_when_it_begins_each_minute_and_when_it_ends() -> None:
    log, minute = OutageLog(), 60.0
    assert log.line(None, None, 0.0) == ""
    assert "does not answer (refused)" in log.line(10.0, "refused", 10.0)
    said = {}
    for second in range(10, 45 * 60):
        if text := log.line(10.0, None, float(second)):
            said[(second - 10) / minute] = text
    assert [*said] == [*range(1, 11), 20, 30, 40]
    assert "1 minute." in said[1]
    assert "45 minutes" in log.line(None, None, 10.0 + 45 * minute)
    assert log.line(None, None, 9000.0) == ""


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["green", "p"], ["green", "p", "--give-up-after", "0"]),
        (
            ["green", "--give-up-after", "9", "p"],
            ["green", "p", "--give-up-after", "0"],
        ),
        (["green", "--give-up-after=9", "p"], ["green", "p", "--give-up-after", "0"]),
    ],
)
def test_the_command_on_a_stop_goes_on(words: list[str], wanted: list[str]) -> None:
    assert with_option(words, ("--give-up-after", "0")) == wanted
    assert with_option(words, None) == words
