"""What a run would ask, without asking."""

from __future__ import annotations

from dataclasses import dataclass

from judge.cache import key as cache_key
from judge.running.engine import read
from judge.running.progress import Prices, prompt_tokens
from judge.running.session import JudgeSession
from judge.studies import StudySet
from judge.types import Unparsed, Usage


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is coming: requests to send, answers already there, tokens and US dollars.

    Whether an answer to come will have to be asked for again is not known and not counted.
    Token counts are estimates by length; an answer is taken to be as long as the cached ones
    are on average, else as the limit allows. `dollars` is None where no price is known.
    """

    requests: int
    cached: int
    repeated: int
    usage: Usage
    from_cached_answers: bool
    dollars: float | None


def forecast(session: JudgeSession, studies: StudySet) -> Forecast | None:
    """Return what judging `studies` would ask; nothing is sent and nothing is written.

    A cached answer that cannot be read is followed to the next time of asking, as the run
    would. None for a judge that runs inline: nothing is asked of anybody.
    """
    judge, cache = session.judge, session.cache
    if cache is None:
        return None
    seen: set[str] = set()
    requests = cached = repeated = prompt = 0
    lengths: list[int] = []
    for study in studies:
        request = judge.request(study)
        name = cache_key(request)
        if name in seen:
            repeated += 1
            continue
        seen.add(name)
        for attempt in range(session.policy.reask + 1):
            found = cache.get(request, attempt)
            if found is None:
                requests += 1
                prompt += prompt_tokens(request)
                break
            cached += 1
            if found.usage is not None:
                lengths.append(found.usage.completion_tokens)
            outcome, _ = read(session.rubric, study, found)
            if not isinstance(outcome, Unparsed):
                break
            following = judge.repair_request(request, found, outcome)
            if following is None:
                break
            request = following
    longest = judge.sampling.get("max_tokens")
    each = sum(lengths) / len(lengths) if lengths else longest if isinstance(longest, int) else 0
    usage = Usage(prompt, round(each * requests))
    dollars = Prices(judge.version, judge.billing_url).dollars(usage)
    return Forecast(requests, cached, repeated, usage, bool(lengths), dollars)
