"""The prices of answers, and a limit within which they are kept."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from judge.backends import Judge
from judge.backends.hosted import FLEX, HostedJudge
from judge.cache.answers import AnswerStore
from judge.running.asking import AskingPlan, StudyQuestion, find_answer, recall
from judge.running.records import CachedAnswer
from judge.types import CompletionRequest, JudgeError, Study, Usage

_TOKENS_A_TURN = 16


class SpendingLimit:
    """US dollars that may be spent, by a run, several runs or batches together.

    A request's highest cost is reserved before it is sent, then replaced by the real cost. Where
    that is unknown, since no answer came, the reservation stays.

    Attributes:
        limit: The most that may be spent, None without a limit.
        earlier: What was spent on the same questions by earlier commands, which counts too.
        counts_earlier: Whether each run has to tell it of that. A budget that is kept on disk has
            it, and that of several runs counts it before the first.
        notes_unanswered: Whether requests are written down that may have cost something and
            brought no answer, for later commands to count.
    """

    counts_earlier = True
    notes_unanswered = True

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.earlier = 0.0
        self._spent = 0.0

    @property
    def spent(self) -> float:
        """The dollars that were spent, with all that is set aside."""
        return self._spent

    def reserve(self, most: float | None) -> str:
        """Set aside the most that an answer can cost; returns why that cannot be, or ""."""
        if most is None:
            return "" if self.limit is None else self._unpriced()
        return "" if self._add(most, self.limit) else self._refusal()

    def settle(self, most: float | None, spent: float | None) -> None:
        """Replace the most that an answer could cost by its cost, if that is known."""
        if most is not None and spent is not None:
            self._add(spent - most, None)

    def count_earlier(self, dollars: float) -> None:
        """Count what earlier commands have spent on the same questions."""
        self.earlier += dollars
        self._add(dollars, None)

    def _add(self, dollars: float, limit: float | None) -> bool:
        if limit is not None and self._spent + dollars > limit:
            return False
        self._spent = max(0.0, self._spent + dollars)
        return True

    def _unpriced(self) -> str:
        return "--max-cost is set and the price of an answer is unknown"

    def _refusal(self) -> str:
        earlier = (
            f", ${self.earlier:,.4g} of it by earlier commands" if self.earlier else ""
        )
        return (
            f"the next request could pass --max-cost ({self.limit:g} dollars): ${self.spent:,.4g} "
            f"may be spent on these studies already{earlier}. A higher --max-cost goes on"
        )


def unbounded(model: str) -> JudgeError:
    """Return the error for a model that takes no limit of an answer's length, under a limit."""
    return JudgeError(
        f"the model {model} takes no limit of an answer's tokens, so that the price of an answer "
        "has none: leave out --max-cost, or choose another --judge"
    )


@dataclass(slots=True)
class Prices:
    """The prices of one model at one server, from genai-prices; None where unknown or free."""

    model: str
    base_url: str | None
    in_batches: bool = False

    @classmethod
    def of(cls, judge: Judge, *, in_batches: bool = False) -> Self:
        """Return the prices of a judge.

        The service tier `flex` has the price of a batch at OpenAI and Google.
        """
        tier = judge.service_tier if isinstance(judge, HostedJudge) else None
        return cls(judge.version, judge.billing_url, in_batches or tier == FLEX)

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
            cache_write_tokens=usage.written_tokens,
        )

        def price(**context: str) -> float:
            where: dict[str, Any] = {"provider_api_url": self.base_url}
            cost = calc_price(
                tokens, self.model, price_context=context or None, **where
            )
            return float(cost.total_price)

        try:
            dollars = price()
            in_batches = price(processing="batch") if self.in_batches else None
        except LookupError:
            self.base_url = None  # there is no price to look for again
            return None
        except Exception:  # noqa: BLE001 - an answer is kept, whatever its usage is to the library
            return None
        if not math.isfinite(dollars):
            return None
        if in_batches is None:
            return dollars
        # A model without a price for batches is given the ordinary one.
        return in_batches if in_batches < dollars or not dollars else None

    def dollars_of_all(self, requests: Mapping[Usage, int]) -> float | None:
        """Return the US dollars of requests: the tokens of one, and how many have as many.

        Each has its own price, since a token of a long prompt costs more with some models: their
        sum is no request.
        """
        total = 0.0
        for usage, n_requests in requests.items():
            dollars = self.dollars(usage)
            if dollars is None:
                return None
            total += n_requests * dollars
        return total

    def at_most(self, request: CompletionRequest) -> float | None:
        """Return what `request` can cost at the most: a token a byte, and the longest answer."""
        most = longest_usage(request)
        return self.dollars(most) if most.completion_tokens else None


def longest_usage(request: CompletionRequest) -> Usage:
    """Return the most tokens of a request: no tokenizer makes more than bytes."""
    prompt = sum(
        len(text.encode("utf-8", "replace")) + _TOKENS_A_TURN
        for text in prompt_texts(request)
    )
    longest = request.sampling.get("max_tokens")
    return Usage(prompt, longest if isinstance(longest, int) else 0)


def prompt_texts(request: CompletionRequest) -> list[str]:
    """Return what a request's prompt is made of; providers bill what they make of a schema."""
    texts = [message.content for message in request.messages]
    if request.schema is not None:
        texts.append(json.dumps(request.schema, indent=2))
    return texts


def spent_earlier(
    plan: AskingPlan,
    store: AnswerStore,
    studies: Iterable[Study],
    unknown: Mapping[str, float],
    counted_keys: set[str] | None = None,
) -> float:
    """Return the US dollars that judging `studies` has cost in earlier commands.

    That is the price of their answers in the store, and `unknown`: the most that requests may have
    cost whose answers never came, by the keys of their questions. An answer whose price is unknown
    counts as the longest one. Answers with a key in `counted_keys` were counted before; those that
    are counted here are added to it.
    """
    if not unknown and len(store) == 0:
        return 0.0
    judge = plan.judge
    direct = Prices(judge.version, judge.billing_url)
    batched = Prices.of(judge, in_batches=True)
    if counted_keys is None:
        counted_keys = set()
    left = dict(unknown)
    spent = 0.0

    def find(question: StudyQuestion) -> CachedAnswer | None:
        return find_answer(store, judge, question)

    for study in studies:
        for exchange in recall(plan, find, study):
            if exchange.question is not None:
                spent += left.pop(exchange.question.key, 0.0)
            for answered in exchange.answers:
                key = str(answered.key)
                if key in counted_keys:
                    continue
                counted_keys.add(key)
                spent += left.pop(key, 0.0)
                prices = batched if store.is_batched(key) else direct
                dollars = prices.dollars(answered.completion.usage)
                if dollars is None:
                    dollars = prices.at_most(exchange.first.request)
                spent += dollars or 0.0
    return spent
