"""What a run would ask, without asking."""

from __future__ import annotations

from dataclasses import dataclass

from judge.backends import Judge
from judge.report.words import counted
from judge.running.progress import Prices, prompt_tokens
from judge.running.questions import known
from judge.running.session import JudgeSession
from judge.studies import StudySet
from judge.types import CompletionRequest, Usage

_FURTHER = "that depend on their answers: in no number below"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests and their tokens, US dollars where the model's price is known, and minutes.

    The minutes are those of answers, so many at a time: neither the start of a server nor
    what it may have to be waited for is in them. None where no answer was timed yet.
    """

    requests: int
    usage: Usage
    dollars: float | None
    minutes: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is coming: requests to send, answers already there, and what that may take.

    Prompts are counted by their length. `typical` takes each answer to be as long, and to take
    as long, as the `n_seen` newest in the cache on average, whatever studies they are about:
    answers of this judge to this prompt, sampled alike, the first time of asking. It is None
    where there are none. `worst` takes each answer to be as long as the limit allows, at the
    seconds a token of those, and to be asked for again as often as the policy has it, with
    itself in the prompt. `further` is how many requests at most may follow from their answers, None
    where none ever do: their prompts are not known before, and they are in no estimate.
    """

    requests: int
    cached: int
    repeated: int
    prompt_tokens: int
    n_seen: int
    typical: Estimate | None
    worst: Estimate
    further: int | None = None


def forecast(
    session: JudgeSession, studies: StudySet, *, in_batches: bool = False
) -> Forecast | None:
    """Return what judging `studies` would ask; nothing is sent and nothing is written.

    A cached answer that cannot be read is followed to the next time of asking, as the run
    would. None for a judge that runs inline: nothing is asked of anybody. `in_batches` takes the
    prices for answers in batches, whose minutes nobody knows.
    """
    judge, cache, steps = session.judge, session.cache, session.rubric.steps
    if cache is None:
        return None
    prices = Prices(judge.version, judge.billing_url, in_batches=in_batches)
    names: set[str] = set()
    cached = repeated = further = 0
    # Of each request to send: the tokens of its prompt, the longest answer, the times of asking.
    to_send: list[tuple[int, int, int]] = []
    for study in studies:
        questions = list(known(session, cache, study))
        if steps and any(one.open for one in questions):
            further += steps.most - len(questions)
        for so_far in questions:
            if so_far.key in names:
                repeated += 1
                continue
            names.add(so_far.key)
            cached += so_far.n_cached
            if so_far.open is not None:
                times = session.policy.reask + 1 - so_far.open.attempt
                request = so_far.open.request
                to_send.append((prompt_tokens(request), _longest(request), times))

    seen = cache.seen(session.kind)
    at_once = max(1, min(session.policy.concurrency, len(to_send)))

    def estimate(requests: int, prompt: int, answers: float) -> Estimate:
        usage = Usage(prompt, round(answers))
        minutes = None
        if seen and seen.completion_tokens and not in_batches:
            minutes = answers * seen.seconds / seen.completion_tokens / at_once / 60
        return Estimate(requests, usage, prices.dollars(usage), minutes)

    prompt, n = sum(one[0] for one in to_send), len(to_send)
    typical = estimate(n, prompt, n * seen.completion_tokens) if seen else None
    worst = estimate(
        sum(times for _, _, times in to_send),
        # Each time an answer could not be read, it stands in the prompt of the next.
        sum(times * tokens + (times - 1) * longest for tokens, longest, times in to_send),
        sum(times * longest for _, longest, times in to_send),
    )
    n_seen = seen.n if seen else 0
    return Forecast(
        *(n, cached, repeated, prompt, n_seen, typical, worst), further=further if steps else None
    )


def _longest(request: CompletionRequest) -> int:
    longest = request.sampling.get("max_tokens")
    return longest if isinstance(longest, int) else 0


def facts(
    coming: Forecast, n_studies: int, concurrency: int | None, *, unseen: str
) -> dict[str, str]:
    """Return a forecast in words; `unseen` is said where no answer to this prompt is known.

    `concurrency` is None for questions that are asked in batches.
    """
    spared = f"{coming.cached:,} cached, {coming.repeated:,} repeated"
    seen = counted(coming.n_seen, "answer", "answers")
    more = {} if not coming.further else {"further": f"at most {coming.further:,} {_FURTHER}"}
    return {
        "studies": f"{n_studies:,}",
        "requests": f"{coming.requests:,} ({spared})",
        **more,
        "at a time": "in batches, within a day" if concurrency is None else f"{concurrency:,}",
        "tokens in": f"about {coming.prompt_tokens:,}",
        "typical": _words(coming.typical) if coming.typical else unseen,
        "typical from": f"{seen} of this prompt in the cache",
        "worst": _words(coming.worst),
    }


def without_requests(judge: Judge) -> str:
    """Return what a judge that runs inline takes."""
    return f"{judge.name} answers in this process: no requests, no cost"


def _cost(dollars: float | None) -> str:
    return "cost unknown (no price for this model here)" if dollars is None else f"${dollars:,.2f}"


def _words(of: Estimate) -> str:
    tokens = f"{of.usage.completion_tokens:,} tokens out"
    minutes = "minutes unknown" if of.minutes is None else f"{of.minutes:,.1f} minutes"
    requests = counted(of.requests, "request", "requests")
    return f"{requests}, {tokens}, {_cost(of.dollars)}, {minutes}"
