"""What a run costs: foretold, counted and kept within a limit."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from judge.backends.errors import AskError
from judge.report.words import counted
from judge.types import Annotated, Completion, CompletionRequest, Outcome, Study, Unparsed, Usage

if TYPE_CHECKING:
    from judge.backends import Judge
    from judge.running.session import JudgeSession

# English reports run to a little over four characters a token.
_CHARACTERS_A_TOKEN = 4
# The turns around a prompt's texts take a few tokens each.
_TOKENS_A_TURN = 16
# The name that the table of prices has for them.
_IN_BATCHES = {"processing": "batch"}
_NO_PRICE = "--max-cost is set and the price of an answer is unknown"
_FURTHER = "that depend on their answers: in no number below"


@dataclass(slots=True)
class Progress:
    """Running totals of a run. Tokens and dollars are of requests sent, not of cached answers.

    `damaged` counts the cached answers that were damaged, and so were asked for again. `trouble`
    says why requests bring no answers, from the first such reply to the next answer.
    """

    total: int
    done: int = 0
    unparsed: int = 0
    failed: int = 0
    from_cache: int = 0
    damaged: int = 0
    asked: int = 0
    retries: dict[str, int] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    without_usage: int = 0
    dollars: float | None = 0.0
    trouble: str | None = None

    def ended(self, outcome: Outcome) -> None:
        """Count one study's end."""
        self.done += 1
        if isinstance(outcome, Unparsed):
            self.unparsed += 1
        elif not isinstance(outcome, Annotated):
            self.failed += 1

    def retried(self, error: AskError) -> None:
        """Count one request that brought no answer and may be sent again."""
        self.retries[error.reason] = self.retries.get(error.reason, 0) + 1
        self.trouble = error.detail or error.reason

    def add_spent(self, other: Progress) -> None:
        """Count the answers that were bought for `other`."""
        self.asked += other.asked
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.cached_tokens += other.cached_tokens
        self.without_usage += other.without_usage
        both = (self.dollars, other.dollars)
        self.dollars = None if None in both else sum(filter(None, both))

    def paid(self, completion: Completion, dollars: float | None) -> None:
        """Count one answer that was sent for; an unknown price makes the total unknown."""
        self.asked += 1
        self.trouble = None
        if completion.usage is None:
            self.without_usage += 1
        else:
            self.prompt_tokens += completion.usage.prompt_tokens
            self.completion_tokens += completion.usage.completion_tokens
            self.cached_tokens += completion.usage.cached_tokens
        if self.dollars is not None:
            self.dollars = None if dollars is None else self.dollars + dollars


class Budget:
    """US dollars that may be spent, by a run, several runs or batches together.

    What a request can cost at the most is set aside before it is sent, and replaced by what its
    answer did cost. A budget `within` another one spends from both. A subclass may keep the sum
    elsewhere (`spent`, `_add`); one without a limit counts and refuses nothing.
    """

    def __init__(self, limit: float | None, within: Budget | None = None) -> None:
        self.limit = limit
        self.within = within
        self._spent = 0.0

    @property
    def spent(self) -> float:
        """The dollars that were spent, with all that is set aside."""
        return self._spent

    def reserve(self, most: float | None) -> str:
        """Set aside what an answer can cost; returns why that cannot be, or "".

        `most` is None for an unknown price, which a limit refuses.
        """
        if most is None and self.limit is not None:
            return self._unpriced()
        if most is not None and not self._add(most, self.limit):
            return self._refusal()
        why = self.within.reserve(most) if self.within else ""
        if why and most is not None:
            self._add(-most, None)
        return why

    def settle(self, most: float | None, spent: float | None) -> None:
        """Count what an answer did cost instead of its most, which stands where that is unknown."""
        if most is not None and spent is not None:
            self._add(spent - most, None)
        if self.within:
            self.within.settle(most, spent)

    def _add(self, dollars: float, limit: float | None) -> bool:
        if limit is not None and self._spent + dollars > limit:
            return False
        self._spent = max(0.0, self._spent + dollars)
        return True

    def _unpriced(self) -> str:
        return _NO_PRICE

    def _refusal(self) -> str:
        return f"the next request could pass --max-cost ({self.limit:g} dollars)"


@dataclass(slots=True)
class Prices:
    """The prices of one model at one server, of a kept table; a model that is not in it has none.

    `base_url` is None where nothing is paid for. `in_batches` takes what the provider charges for
    answers in a batch; a model whose price for that is not in the table has none.
    """

    model: str
    base_url: str | None
    in_batches: bool = False

    def dollars(self, usage: Usage | None) -> float | None:
        """Return the US dollars of `usage`; None where the price or the usage is unknown."""
        if usage is None or self.base_url is None:
            return None
        from genai_prices import Usage as Tokens
        from genai_prices import calc_price

        tokens = Tokens(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            cache_read_tokens=usage.cached_tokens,
        )

        def price(context: dict[str, str] | None) -> float:
            cost = calc_price(
                *(tokens, self.model), provider_api_url=self.base_url, price_context=context
            )
            return float(cost.total_price)

        try:
            dollars = price(None)
            in_batches = price(_IN_BATCHES) if self.in_batches else None
        except LookupError:
            self.base_url = None  # there is no price to look for again
            return None
        if in_batches is None:
            return dollars
        # A model without a price for batches is given the ordinary one.
        return in_batches if in_batches < dollars or not dollars else None

    def at_most(self, request: CompletionRequest) -> float | None:
        """Return what `request` can cost at the most: a token a byte, and the longest answer."""
        longest = request.sampling.get("max_tokens")
        if not isinstance(longest, int):
            return None
        return self.dollars(Usage(most_prompt_tokens(request), longest))


def most_prompt_tokens(request: CompletionRequest) -> int:
    """Return how many tokens a request's prompt has at the most: one for each byte.

    No tokenizer of the models that are paid for makes more tokens than bytes.
    """
    texts = [message.content for message in request.messages]
    if request.schema is not None:
        texts.append(json.dumps(request.schema, indent=2))
    return sum(len(text.encode("utf-8", "replace")) + _TOKENS_A_TURN for text in texts)


def prompt_tokens(request: CompletionRequest) -> int:
    """Return about how many tokens a request's prompt has, by its length in characters.

    A schema counts as part of it: providers bill what they make of it.
    """
    length = sum(len(message.content) for message in request.messages)
    if request.schema is not None:
        length += len(json.dumps(request.schema, indent=2))
    return length // _CHARACTERS_A_TOKEN + 1


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
    session: JudgeSession, studies: Iterable[Study], *, in_batches: bool = False
) -> Forecast | None:
    """Return what judging `studies` would ask; nothing is sent and nothing is written.

    A cached answer that cannot be read is followed to the next time of asking, as the run
    would. None for a judge that runs inline: nothing is asked of anybody. `in_batches` takes the
    prices for answers in batches, whose minutes nobody knows.
    """
    from judge.running.questions import recall

    judge, cache, steps = session.judge, session.cache, session.rubric.steps
    if cache is None:
        return None
    prices = Prices(judge.version, judge.billing_url, in_batches=in_batches)
    keys: set[str] = set()
    cached = repeated = further = 0
    # Of each request to send: the most tokens of its prompt and of an answer, the times of asking.
    to_send: list[tuple[int, int, int]] = []
    prompt = 0
    for study in studies:
        exchanges = recall(session, cache, study)
        if steps and any(exchange.question for exchange in exchanges):
            further += steps.most - len(exchanges)
        for exchange in exchanges:
            if exchange.first.key in keys:
                repeated += 1
                continue
            keys.add(exchange.first.key)
            cached += len(exchange.answers)
            if (question := exchange.question) is not None:
                longest = question.request.sampling.get("max_tokens")
                times = session.policy.reask + 1 - question.attempt
                longest = longest if isinstance(longest, int) else 0
                prompt += prompt_tokens(question.request)
                to_send.append((most_prompt_tokens(question.request), longest, times))

    seen = cache.seen(session.kind)
    at_once = max(1, min(session.concurrency, len(to_send)))

    def estimate(requests: int, prompt: int, answers: float) -> Estimate:
        usage = Usage(prompt, round(answers))
        minutes = None
        if seen and seen.completion_tokens and not in_batches:
            minutes = answers * seen.seconds / seen.completion_tokens / at_once / 60
        return Estimate(requests, usage, prices.dollars(usage), minutes)

    n = len(to_send)
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


def _words(estimate: Estimate) -> str:
    tokens = f"{estimate.usage.completion_tokens:,} tokens out"
    minutes = "minutes unknown" if estimate.minutes is None else f"{estimate.minutes:,.1f} minutes"
    dollars = estimate.dollars
    cost = "cost unknown (no price for this model here)" if dollars is None else f"${dollars:,.2f}"
    return f"{counted(estimate.requests, 'request', 'requests')}, {tokens}, {cost}, {minutes}"
