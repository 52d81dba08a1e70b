"""Runs of candidates: one for each prompt and each time of asking, in the folder beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from judge.backends.pool import Servers
from judge.cache.keys import key
from judge.running.cost import Estimate, Forecast
from judge.running.session import JudgeSession
from judge.signature import safe_name
from judge.types import Study, Usage

RUNS = "runs"
"""The folder of the runs in that of the candidates."""
BY = ("change",)
"""The fields that a run of candidates groups its rates by."""

_ANY = Study("any", "The reference.", "The candidate.")
Load = Callable[[str | None, int], JudgeSession]
"""Returns the session for a prompt, None for the usual one, and the how manyth time of asking."""


def sessions(
    load: Load, prompts: Sequence[str], repeats: int, say: Callable[[str], None]
) -> Iterator[JudgeSession]:
    """Give a session for each prompt and each time of asking, the first prompt's first.

    A judge that answers the same each time is asked once, and prompts that ask in the same words
    are one; `say` is told.
    """
    asked: set[str] = set()
    for prompt in dict.fromkeys(prompts) or (None,):
        first = load(prompt, 0)
        several = [one.digest for one, _ in first.judge.questions.values()]
        asks = "|".join([key(first.judge.request(_ANY)), *several])
        if asks in asked:
            say(f"--prompt {prompt} asks nothing else than the one before: it is one run.")
            continue
        asked.add(asks)
        yield first
        if repeats > 1 and first.judge.is_deterministic:
            say(
                f"{first.judge.name} answers the same question the same each time: one run, not "
                f"{repeats:,}."
            )
            continue
        for repeat in range(1, repeats):
            yield load(prompt, repeat)


@contextmanager
def shared(asked: Sequence[JudgeSession]) -> Iterator[None]:
    """Let judges that start the same server share one, which is gone at the end of the block."""
    started: dict[tuple[str, ...], Servers] = {}
    for session in asked:
        servers = session.judge.servers
        if servers is None or servers.starts is None:
            continue
        first = started.setdefault(servers.starts, servers)
        if first is not servers:
            session.judge.servers = first
            first.stays = True
    try:
        yield
    finally:
        for servers in started.values():
            servers.stop()


def folder_of(out: Path, session: JudgeSession) -> Path:
    """Return the folder of a session's run below that of the candidates.

    The same judge, asked the same in the same way, has the same place.
    """
    prompt = session.judge.prompt
    names = (session.rubric.name, session.judge.name, prompt.name if prompt else "")
    parts = [safe_name(name) for name in names]
    again = [f"again{session.repeat}"] if session.repeat else []
    return out / RUNS / "-".join([*filter(None, parts), session.kind[:8], *again])


def together(coming: Sequence[Forecast]) -> Forecast:
    """Return several forecasts as one: what all of the runs take, one after the other."""
    typical = [one.typical for one in coming if one.requests] or [coming[0].typical]
    known = [one for one in typical if one is not None]
    further = [one.further for one in coming if one.further is not None]
    return replace(
        coming[0],
        requests=sum(one.requests for one in coming),
        cached=sum(one.cached for one in coming),
        repeated=sum(one.repeated for one in coming),
        prompt_tokens=sum(one.prompt_tokens for one in coming),
        n_seen=max(one.n_seen for one in coming),
        typical=_sum(known) if len(known) == len(typical) else None,
        worst=_sum([one.worst for one in coming]),
        further=sum(further) if further else None,
    )


def _sum(estimates: Sequence[Estimate]) -> Estimate:
    tokens = [
        sum(getattr(one.usage, name) for one in estimates)
        for name in ("prompt_tokens", "completion_tokens")
    ]
    return Estimate(
        sum(one.requests for one in estimates),
        Usage(*tokens),
        _total([one.dollars for one in estimates]),
        _total([one.minutes for one in estimates]),
    )


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
