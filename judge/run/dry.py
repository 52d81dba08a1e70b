"""What a run would ask, without asking."""

from __future__ import annotations

from dataclasses import dataclass

from judge.backends import Judge
from judge.cache import CompletionCache
from judge.cache import key as cache_key
from judge.rubrics import Rubric
from judge.run.engine import read
from judge.run.prices import Prices, prompt_tokens
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
    prompt_tokens: int
    completion_tokens: int
    from_cached_answers: bool
    dollars: float | None


def forecast(
    studies: StudySet, judge: Judge, rubric: Rubric, cache: CompletionCache, reask: int
) -> Forecast:
    """Return what judging `studies` would ask; nothing is sent and nothing is written.

    A cached answer that cannot be read is followed to the next time of asking, as the run
    would, up to `reask` times.
    """
    prices = Prices(judge.version, judge.paid_at)
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
        for attempt in range(reask + 1):
            found = cache.get(request, attempt)
            if found is None:
                requests += 1
                prompt += prompt_tokens(request)
                break
            cached += 1
            if found.usage is not None:
                lengths.append(found.usage.completion_tokens)
            outcome, _ = read(rubric, study, found)
            if not isinstance(outcome, Unparsed):
                break
            request = judge.again(request, found, outcome)
    longest = judge.sampling.get("max_tokens")
    each = sum(lengths) / len(lengths) if lengths else longest if isinstance(longest, int) else 0
    usage = Usage(prompt, round(each * requests))
    return Forecast(
        requests=requests,
        cached=cached,
        repeated=repeated,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        from_cached_answers=bool(lengths),
        dollars=prices.dollars(usage),
    )
