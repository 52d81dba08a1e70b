"""What a run would ask, without asking."""

from __future__ import annotations

from dataclasses import dataclass

from judge.backends import Judge
from judge.cache import key as cache_key
from judge.report.words import counted
from judge.running.engine import read
from judge.running.progress import Prices, prompt_tokens
from judge.running.session import JudgeSession
from judge.studies import StudySet
from judge.types import CompletionRequest, Unparsed, Usage


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens, and US dollars where the model's price is known."""

    usage: Usage
    dollars: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is coming: requests to send, answers already there, and what that may take.

    Whether an answer to come will have to be asked for again is not known and not counted.
    Prompts are counted by their length. `typical` takes each answer to be as long as the
    `n_seen` that are in the cache are on average, None where there are none; `worst` to be as
    long as the limit allows.
    """

    requests: int
    cached: int
    repeated: int
    n_seen: int
    typical: Estimate | None
    worst: Estimate


def forecast(session: JudgeSession, studies: StudySet) -> Forecast | None:
    """Return what judging `studies` would ask; nothing is sent and nothing is written.

    A cached answer that cannot be read is followed to the next time of asking, as the run
    would. None for a judge that runs inline: nothing is asked of anybody.
    """
    judge, cache = session.judge, session.cache
    if cache is None:
        return None
    prices = Prices(judge.version, judge.billing_url)
    seen: set[str] = set()
    cached = repeated = prompt = 0
    to_send: list[int] = []
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
                to_send.append(_longest(request))
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

    def estimate(answers: float) -> Estimate:
        usage = Usage(prompt, round(answers))
        return Estimate(usage, prices.dollars(usage))

    typical = estimate(len(to_send) * sum(lengths) / len(lengths)) if lengths else None
    worst = estimate(sum(to_send))
    return Forecast(len(to_send), cached, repeated, len(lengths), typical, worst)


def _longest(request: CompletionRequest) -> int:
    longest = request.sampling.get("max_tokens")
    return longest if isinstance(longest, int) else 0


def facts(coming: Forecast, n_studies: int, *, unseen: str) -> dict[str, str]:
    """Return a forecast in words; `unseen` is said where no answer of the judge's is known."""
    spared = f"{coming.cached:,} cached, {coming.repeated:,} repeated"
    seen = counted(coming.n_seen, "cached answer", "cached answers")
    return {
        "studies": f"{n_studies:,}",
        "requests": f"{coming.requests:,} ({spared})",
        "tokens in": f"about {coming.worst.usage.prompt_tokens:,}",
        "typical answers": f"{_tokens(coming.typical)} (as {seen})" if coming.typical else unseen,
        "longest answers": _tokens(coming.worst),
    }


def without_requests(judge: Judge) -> str:
    """Return what a judge that runs inline takes."""
    return f"{judge.name} answers in this process: no requests, no cost"


def cost(dollars: float | None) -> str:
    """Return a cost that is estimated; a price that is not known is not guessed."""
    return "cost unknown (no price for this model here)" if dollars is None else f"${dollars:,.2f}"


def _tokens(estimate: Estimate) -> str:
    return f"{estimate.usage.completion_tokens:,} tokens out, {cost(estimate.dollars)}"
