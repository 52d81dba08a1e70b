"""What a run would judge, and what it costs: foretold, and kept within a limit."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import islice
from statistics import mean
from typing import TYPE_CHECKING, Any, Self

from judge.backends import Judge
from judge.backends.hosted import FLEX, HostedJudge
from judge.running.engine import recall
from judge.studies import StudySet
from judge.text import counted, left_out
from judge.types import CompletionRequest, JudgeError, Study, Usage

if TYPE_CHECKING:
    from judge.cache.answers import AnswerStore
    from judge.running.session import JudgeSession

# English reports run to a little over four characters a token.
_CHARACTERS_A_TOKEN = 4
_TOKENS_A_TURN = 16


class SpendingLimit:
    """US dollars that may be spent, by a run, several runs or batches together.

    A request's highest cost is reserved before it is sent, then replaced by the real cost. Where
    that is unknown, since no answer came, the reservation stays.

    Attributes:
        limit: The most that may be spent, None without a limit.
        earlier: What was spent on the same questions by earlier commands, which counts too.
        counts_earlier: Whether it has to be told of that. A budget that is kept on disk has it.
    """

    counts_earlier = True

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
        most = _most(request)
        return self.dollars(most) if most.completion_tokens else None


def _most(request: CompletionRequest) -> Usage:
    """Return the most tokens of a request: no tokenizer makes more than bytes."""
    prompt = sum(
        len(text.encode("utf-8", "replace")) + _TOKENS_A_TURN
        for text in _texts(request)
    )
    longest = request.sampling.get("max_tokens")
    return Usage(prompt, longest if isinstance(longest, int) else 0)


def _texts(request: CompletionRequest) -> list[str]:
    """Return what a request's prompt is made of; providers bill what they make of a schema."""
    texts = [message.content for message in request.messages]
    return (
        texts
        if request.schema is None
        else [*texts, json.dumps(request.schema, indent=2)]
    )


@dataclass(slots=True)
class Forecast:
    """Requests to send, answers already there, and what that may take.

    `answer_tokens` is the mean of the newest answers in the cache, or, where `is_of_examples`, of
    answers to the example studies; the worst are the longest answers, each asked again as often as
    it may be. `further` requests may follow from the answers, in no other number. `prompts` counts
    requests by their tokens, `longest` the worst by theirs.
    """

    prices: Prices
    answer_tokens: float | None
    is_of_examples: bool = False
    requests: int = 0
    cached: int = 0
    repeated: int = 0
    further: int = 0
    prompt_tokens: int = 0
    most_requests: int = 0
    most_in: int = 0
    most_out: int = 0
    prompts: Counter[int] = field(default_factory=Counter)
    longest: Counter[Usage] = field(default_factory=Counter)

    def add(self, request: CompletionRequest, times: int) -> None:
        """Count a request that may be asked so many times."""
        most = _most(request)
        self.requests += 1
        prompt_tokens = sum(map(len, _texts(request))) // _CHARACTERS_A_TOKEN + 1
        self.prompt_tokens += prompt_tokens
        self.prompts[prompt_tokens] += 1
        self.most_requests += times
        # An answer that could not be read is part of the prompt of the next.
        self.most_in += (
            times * most.prompt_tokens + (times - 1) * most.completion_tokens
        )
        self.most_out += times * most.completion_tokens
        self.longest[most] += 1
        if times > 1:
            again = Usage(
                most.prompt_tokens + most.completion_tokens, most.completion_tokens
            )
            self.longest[again] += times - 1

    @property
    def dollars(self) -> float | None:
        """The most that it can cost, None where the price is unknown."""
        return self.prices.dollars_of_all(self.longest)

    @property
    def typical(self) -> Usage | None:
        """The tokens if the answers are as long as those of `answer_tokens`; None without it."""
        if self.answer_tokens is None:
            return None
        return Usage(self.prompt_tokens, round(self.requests * self.answer_tokens))

    @property
    def typical_dollars(self) -> float | None:
        """The price of `typical`, None where that or the price is unknown."""
        if self.answer_tokens is None:
            return None
        # The mean lies between two whole numbers of tokens, and its price between theirs.
        fewer = int(self.answer_tokens)
        low = self._dollars_with(fewer)
        high = self._dollars_with(fewer + 1)
        if low is None or high is None:
            return None
        return low + (self.answer_tokens - fewer) * (high - low)

    def _dollars_with(self, answer_tokens: int) -> float | None:
        requests = {
            Usage(tokens, answer_tokens): n for tokens, n in self.prompts.items()
        }
        return self.prices.dollars_of_all(requests)

    def facts(self, concurrency: int | None) -> dict[str, str]:
        """Return it in words; `concurrency` is None for questions that are asked in batches."""

        def cost(tokens_out: int, dollars: float | None) -> str:
            unknown = "cost unknown (no price for this model here)"
            price = unknown if dollars is None else f"${dollars:,.2f}"
            return f"{tokens_out:,} tokens out, {price}"

        spared = f"{self.cached:,} cached, {self.repeated:,} repeated"
        further = (
            f"at most {self.further:,} that depend on their answers: in no number below"
        )
        most = counted(self.most_requests, "request", "requests")
        typical = "unknown: the cache has no answer of this prompt (try --limit first)"
        if self.typical is not None:
            typical = cost(self.typical.completion_tokens, self.typical_dollars)
        if self.typical is not None and self.is_of_examples:
            typical += (
                ", with answers as long as the built-in judge's to the example studies; a model "
                "that explains itself or reasons writes more (--limit 50 tells)"
            )
        return {
            "requests": f"{self.requests:,} ({spared})",
            **({"further": further} if self.further else {}),
            "at a time": f"{concurrency:,}"
            if concurrency
            else "in batches, within a day",
            "tokens in": f"about {self.prompt_tokens:,}",
            "typical": typical,
            "worst": f"{most}, {cost(self.most_out, self.dollars)}",
        }


def forecast(
    session: JudgeSession, studies: Iterable[Study], *, in_batches: bool = False
) -> Forecast | None:
    """Return the requests that judging `studies` would send, None for a judge that runs inline."""
    judge, cache, steps = session.judge, session.cache, session.rubric.steps
    if cache is None:
        return None
    prices = Prices.of(judge, in_batches=in_batches)
    known = cache.answer_tokens(session.kind)
    expected = Forecast(prices, known)
    if known is None:
        expected.answer_tokens, expected.is_of_examples = _example_tokens(session), True
    keys: set[str] = set()
    for study in studies:
        exchanges = recall(session, study)
        if steps and any(exchange.question for exchange in exchanges):
            expected.further += steps.most - len(exchanges)
        for exchange in exchanges:
            if exchange.first.key in keys:
                expected.repeated += 1
                continue
            keys.add(exchange.first.key)
            expected.cached += len(exchange.answers)
            if (question := exchange.question) is not None:
                expected.add(
                    question.request, session.policy.reask + 1 - question.attempt
                )
    return expected


def _example_tokens(session: JudgeSession) -> float | None:
    """Return the mean tokens of the built-in judge's answers to the example studies, as estimated.

    They are in the form that is asked for. None for a rubric that the built-in judge does not
    answer, and for one that asks several questions about a study.
    """
    from judge import backends, rubrics
    from judge.prompts import STRUCTURED
    from judge.studies import read_pair

    rubric = rubrics.load(session.rubric.name)
    if rubric.baseline is None or rubric.render is None or rubric.steps is not None:
        return None
    lexicon = backends.load(backends.LEXICON, rubric)
    examples = files("judge.examples")
    studies = read_pair(
        str(examples.joinpath("preds.json")), str(examples.joinpath("refs.json"))
    )

    async def answers() -> list[str]:
        return [
            (await lexicon.complete(lexicon.request(study))).text for study in studies
        ]

    lengths = []
    for study, text in zip(studies, asyncio.run(answers()), strict=True):
        if session.judge.reply == STRUCTURED and rubric.structured is not None:
            annotation = rubric.parse(text, study, complete=True)
            text = rubric.structured.render(annotation)
        lengths.append(len(text))
    return mean(lengths) / _CHARACTERS_A_TOKEN


def count_earlier(
    session: JudgeSession, cache: AnswerStore, studies: Iterable[Study]
) -> None:
    """Count what judging `studies` has cost so far towards the session's limit.

    That is the price of their answers in the cache, and the most that requests may have cost whose
    answers never came. An answer whose price is unknown counts as the longest one.
    """
    budget, spending = session.budget, session.spending
    assert budget is not None
    assert spending is not None
    unknown = spending.by_key()
    if not unknown and len(cache) == 0:
        return
    judge = session.judge
    direct = Prices(judge.version, judge.billing_url)
    batched = Prices.of(judge, in_batches=True)
    counted_keys: set[str] = set()
    earlier = 0.0

    for study in studies:
        for exchange in recall(session, study):
            if exchange.question is not None:
                earlier += unknown.pop(exchange.question.key, 0.0)
            for answered in exchange.answers:
                key = str(answered.key)
                if key in counted_keys:
                    continue
                counted_keys.add(key)
                earlier += unknown.pop(key, 0.0)
                prices = batched if cache.is_batched(key) else direct
                dollars = prices.dollars(answered.completion.usage)
                if dollars is None:
                    dollars = prices.at_most(exchange.first.request)
                earlier += dollars or 0.0
    budget.count_earlier(earlier)


# The studies that would be judged

_SHOWN = 3


def described(studies: StudySet) -> dict[str, Any]:
    """Return what was read, from which fields, and the first three studies, ready for JSON."""
    classes = Counter(studies.study_classes) if studies.class_field else None
    return {
        "model": studies.model,
        "read_from": {**studies.read_from, "study_class": studies.class_field},
        "section": studies.section,
        "n_studies": len(studies),
        "study_classes": classes
        and {name or "none given": n for name, n in classes.most_common()},
        "fields": list(studies.fields),
        "omitted": dict(studies.omitted),
        "n_empty_candidates": len(studies.empty_candidates),
        "empty_candidates": studies.empty_candidates[:5],
        "notes": list(studies.notes),
        "first": [
            {
                "study_id": study.study_id,
                "reference": study.reference,
                "candidate": study.candidate,
            }
            for study in islice(studies, _SHOWN)
        ],
    }


def _empty(checked: dict[str, Any]) -> str:
    """Return how many candidates are empty, and the first of them."""
    n, ids = checked["n_empty_candidates"], checked["empty_candidates"]
    if not n:
        return "0"
    shown = ", ".join(ids) + (", ..." if n > len(ids) else "")
    return f"{n:,} ({shown}), judged like any other"


def preview(checked: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what `described` found as names and words."""
    classes = checked["study_classes"] or {}
    shown = {
        "model": checked["model"],
        **{
            f"{role.replace('_', ' ')} from": name
            for role, name in checked["read_from"].items()
        },
        "section": checked["section"],
        "studies": f"{checked['n_studies']:,}",
        "study class": ", ".join(f"{name} {n:,}" for name, n in classes.items())
        or "inferred by the lexicon when they are judged",
        "other fields": ", ".join(checked["fields"]) or "none",
        "left out": left_out(checked["omitted"]),
        "empty candidates": _empty(checked),
    }
    lines = [(name, value) for name, value in shown.items() if value]
    return lines + [("note", text) for text in checked["notes"]]
