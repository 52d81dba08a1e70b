"""What is still to be asked about a study, by the answers that the cache has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from judge.cache import CompletionCache, canonical, key_of
from judge.running.records import read
from judge.running.session import JudgeSession
from judge.running.steps import Read, read_step
from judge.types import Completion, CompletionRequest, Outcome, Study, Unparsed


@dataclass(frozen=True, slots=True)
class Question:
    """A request, the `attempt`-th time from 0, with its canonical form and the key of that.

    `sample` is which of several answers to it is meant.
    """

    key: str
    record: Mapping[str, Any]
    request: CompletionRequest
    attempt: int
    sample: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """How far a question is: what of it has no answer yet, None where nothing is to be asked.

    `key` is its own, of the first time of asking. `n_cached` answers are in the cache; `outcome`
    and `completion` are of the last of them.
    """

    key: str
    open: Question | None
    n_cached: int = 0
    outcome: Outcome | None = None
    completion: Completion | None = None


def question(
    session: JudgeSession, request: CompletionRequest, attempt: int = 0, sample: int = 0
) -> Question:
    """Return `request` with its key in the session's cache."""
    record = canonical(request, attempt, session.repeat, sample)
    return Question(key_of(record), record, request, attempt, sample)


def known(session: JudgeSession, cache: CompletionCache, study: Study) -> Iterator[Asked]:
    """Yield how far each question about `study` is that the answers in the cache lead to."""
    steps, judge = session.rubric.steps, session.judge
    if steps is None:
        yield asked(session, cache, study)
        return
    found: dict[str, str] = {}
    while now := steps.coming(study, found):
        is_over = False
        for step in now:
            first = question(session, judge.request_step(step), sample=step.sample)
            so_far = asked(session, cache, study, first, partial(read_step, steps, step))
            yield so_far
            if so_far.completion is None or isinstance(so_far.outcome, Unparsed):
                is_over = True
            else:
                found[step.name] = so_far.completion.text
        if is_over:
            return


def asked(
    session: JudgeSession,
    cache: CompletionCache,
    study: Study,
    first: Question | None = None,
    understand: Read | None = None,
) -> Asked:
    """Return how far a question about `study` is, `first` or the only one that is asked.

    `understand` reads its answers, by default as those about the study.

    A cached answer that cannot be read is followed to the next time of asking, as the run would.
    """
    first = first or question(session, session.judge.request(study))
    understand = understand or partial(read, session.rubric, study)
    now: Question | None = first
    n_cached = 0
    outcome: Outcome | None = None
    completion: Completion | None = None
    while now is not None:
        found = cache.find(now.key)
        if found is None:
            return Asked(first.key, now, n_cached, outcome, completion)
        n_cached, completion = n_cached + 1, found
        outcome, _ = understand(found)
        if not isinstance(outcome, Unparsed) or now.attempt == session.policy.reask:
            break
        following = session.judge.repair_request(now.request, found, outcome)
        now = question(session, following, now.attempt + 1, now.sample) if following else None
    return Asked(first.key, None, n_cached, outcome, completion)
