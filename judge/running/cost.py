"""What a run costs: foretold, and kept within a limit."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from judge.running.engine import recall
from judge.text import counted
from judge.types import CompletionRequest, Study, Usage

if TYPE_CHECKING:
    from judge.backends import Judge
    from judge.running.session import JudgeSession

# English reports run to a little over four characters a token.
_CHARACTERS_A_TOKEN = 4
_TOKENS_A_TURN = 16
_IN_BATCHES = {"processing": "batch"}


class SpendingLimit:
    """US dollars that may be spent, by a run, several runs or batches together.

    A request's highest cost is reserved before it is sent, then replaced by the real cost. A budget
    `within` another spends from both.
    """

    def __init__(self, limit: float | None, within: SpendingLimit | None = None) -> None:
        self.limit = limit
        self.within = within
        self._spent = 0.0

    @property
    def spent(self) -> float:
        """The dollars that were spent, with all that is set aside."""
        return self._spent

    def reserve(self, most: float | None) -> str:
        """Set aside the most that an answer can cost; returns why that cannot be, or ""."""
        if most is None and self.limit is not None:
            return self._unpriced()
        if most is not None and not self._add(most, self.limit):
            return self._refusal()
        why = self.within.reserve(most) if self.within else ""
        if why and most is not None:
            self._add(-most, None)
        return why

    def settle(self, most: float | None, spent: float | None) -> None:
        """Replace the most that an answer could cost by its cost, if that is known."""
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
        return "--max-cost is set and the price of an answer is unknown"

    def _refusal(self) -> str:
        return f"the next request could pass --max-cost ({self.limit:g} dollars)"


@dataclass(slots=True)
class Prices:
    """The prices of one model at one server, from genai-prices; None where unknown or free."""

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
        longest = _longest(request)
        return self.dollars(Usage(most_prompt_tokens(request), longest)) if longest else None


def _longest(request: CompletionRequest) -> int:
    longest = request.sampling.get("max_tokens")
    return longest if isinstance(longest, int) else 0


def _texts(request: CompletionRequest) -> list[str]:
    """Return what a request's prompt is made of; providers bill what they make of a schema."""
    texts = [message.content for message in request.messages]
    return texts if request.schema is None else [*texts, json.dumps(request.schema, indent=2)]


def most_prompt_tokens(request: CompletionRequest) -> int:
    """Return the most tokens of a request's prompt: no tokenizer makes more than bytes."""
    return sum(len(text.encode("utf-8", "replace")) + _TOKENS_A_TURN for text in _texts(request))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests, their tokens, US dollars where the price is known, and minutes of answers."""

    requests: int
    usage: Usage
    dollars: float | None
    minutes: float | None

    def __str__(self) -> str:
        tokens = f"{self.usage.completion_tokens:,} tokens out"
        minutes = "minutes unknown" if self.minutes is None else f"{self.minutes:,.1f} minutes"
        unpriced = "cost unknown (no price for this model here)"
        cost = unpriced if self.dollars is None else f"${self.dollars:,.2f}"
        return f"{counted(self.requests, 'request', 'requests')}, {tokens}, {cost}, {minutes}"


@dataclass(frozen=True, slots=True)
class Forecast:
    """Requests to send, answers already there, and what that may take.

    `typical` assumes answers as long as the `n_seen` newest in the cache, `worst` the longest and
    most repeated. `further` requests may follow from the answers, in no estimate.
    """

    requests: int
    cached: int
    repeated: int
    prompt_tokens: int
    n_seen: int
    typical: Estimate | None
    worst: Estimate
    further: int = 0

    def facts(self, concurrency: int | None, *, unseen: str) -> dict[str, str]:
        """Return it in words; `concurrency` is None for questions that are asked in batches."""
        spared = f"{self.cached:,} cached, {self.repeated:,} repeated"
        further = f"at most {self.further:,} that depend on their answers: in no number below"
        at_a_time = "in batches, within a day" if concurrency is None else f"{concurrency:,}"
        seen = counted(self.n_seen, "answer", "answers")
        return {
            "requests": f"{self.requests:,} ({spared})",
            **({"further": further} if self.further else {}),
            "at a time": at_a_time,
            "tokens in": f"about {self.prompt_tokens:,}",
            "typical": str(self.typical or unseen),
            "typical from": f"{seen} of this prompt in the cache",
            "worst": str(self.worst),
        }


def forecast(
    session: JudgeSession, studies: Iterable[Study], *, in_batches: bool = False
) -> Forecast | None:
    """Return the requests that judging `studies` would send, None for a judge that runs inline."""
    judge, cache, steps = session.judge, session.cache, session.rubric.steps
    if cache is None:
        return None
    prices = Prices(judge.version, judge.billing_url, in_batches=in_batches)
    keys: set[str] = set()
    cached = repeated = further = prompt = 0
    # Of each request to send: the most tokens of its prompt and of an answer, the times of asking.
    to_send: list[tuple[int, int, int]] = []
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
                request, times = question.request, session.policy.reask + 1 - question.attempt
                prompt += sum(map(len, _texts(request))) // _CHARACTERS_A_TOKEN + 1
                to_send.append((most_prompt_tokens(request), _longest(request), times))

    seen, n = cache.seen(session.kind), len(to_send)
    at_once = max(1, min(session.concurrency, n))

    def estimate(requests: int, prompt: int, answers: float) -> Estimate:
        usage = Usage(prompt, round(answers))
        minutes = None
        if seen and seen.completion_tokens and not in_batches:
            minutes = answers * seen.seconds / seen.completion_tokens / at_once / 60
        return Estimate(requests, usage, prices.dollars(usage), minutes)

    worst = estimate(
        sum(times for _, _, times in to_send),
        # An answer that could not be read is part of the prompt of the next.
        sum(times * tokens + (times - 1) * longest for tokens, longest, times in to_send),
        sum(times * longest for _, longest, times in to_send),
    )
    typical = estimate(n, prompt, n * seen.completion_tokens) if seen else None
    n_seen = seen.n if seen else 0
    return Forecast(n, cached, repeated, prompt, n_seen, typical, worst, further)


def without_requests(judge: Judge) -> str:
    """Return what a judge that runs inline takes."""
    return f"{judge.name} answers in this process: no requests, no cost"
