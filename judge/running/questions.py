"""What is still to be asked about a study, by the answers that the cache has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge.cache import CompletionCache, canonical, key_of
from judge.running.engine import read
from judge.running.session import JudgeSession
from judge.types import Completion, CompletionRequest, Outcome, Study, Unparsed


@dataclass(frozen=True, slots=True)
class Question:
    """A request, the `attempt`-th time from 0, with its canonical form and the key of that."""

    key: str
    record: Mapping[str, Any]
    request: CompletionRequest
    attempt: int


@dataclass(frozen=True, slots=True)
class Asked:
    """How far a study is: the question that has no answer yet, None where nothing is to be asked.

    `n_cached` answers are in the cache; `outcome` and `completion` are of the last of them.
    """

    open: Question | None
    n_cached: int = 0
    outcome: Outcome | None = None
    completion: Completion | None = None


def question(session: JudgeSession, request: CompletionRequest, attempt: int = 0) -> Question:
    """Return `request` with its key in the session's cache."""
    record = canonical(request, attempt, session.repeat)
    return Question(key_of(record), record, request, attempt)


def asked(
    session: JudgeSession, cache: CompletionCache, study: Study, first: Question | None = None
) -> Asked:
    """Return how far `study` is; `first` is its first question where that is known.

    A cached answer that cannot be read is followed to the next time of asking, as the run would.
    """
    now: Question | None = first or question(session, session.judge.request(study))
    n_cached = 0
    outcome: Outcome | None = None
    completion: Completion | None = None
    while now is not None:
        found = cache.find(now.key, now.record)
        if found is None:
            return Asked(now, n_cached, outcome, completion)
        n_cached, completion = n_cached + 1, found
        outcome, _ = read(session.rubric, study, found)
        if not isinstance(outcome, Unparsed) or now.attempt == session.policy.reask:
            break
        following = session.judge.repair_request(now.request, found, outcome)
        now = question(session, following, now.attempt + 1) if following else None
    return Asked(None, n_cached, outcome, completion)
