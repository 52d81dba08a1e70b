"""What a run would judge, and what it costs: foretold, and kept within a limit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from judge.running.engine import recall
from judge.studies import StudySet
from judge.text import counted, left_out
from judge.types import CompletionRequest, Study, Usage

if TYPE_CHECKING:
    from judge.running.session import JudgeSession

# English reports run to a little over four characters a token.
_CHARACTERS_A_TOKEN = 4
_TOKENS_A_TURN = 16
_IN_BATCHES = {"processing": "batch"}


class SpendingLimit:
    """US dollars that may be spent, by a run, several runs or batches together.

    A request's highest cost is reserved before it is sent, then replaced by the real cost.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
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
class Forecast:
    """Requests to send, answers already there, and the most that this may take.

    `most_requests` with `usage` and `dollars` (None where the price is unknown) are those of the
    longest answers, each asked again as often as it may be. `further` requests may follow from the
    answers, in no number.
    """

    requests: int
    cached: int
    repeated: int
    prompt_tokens: int
    most_requests: int
    usage: Usage
    dollars: float | None
    further: int = 0

    def facts(self, concurrency: int | None) -> dict[str, str]:
        """Return it in words; `concurrency` is None for questions that are asked in batches."""
        spared = f"{self.cached:,} cached, {self.repeated:,} repeated"
        further = f"at most {self.further:,} that depend on their answers: in no number below"
        unpriced = "cost unknown (no price for this model here)"
        cost = unpriced if self.dollars is None else f"${self.dollars:,.2f}"
        tokens = f"{self.usage.completion_tokens:,} tokens out"
        return {
            "requests": f"{self.requests:,} ({spared})",
            **({"further": further} if self.further else {}),
            "at a time": f"{concurrency:,}" if concurrency else "in batches, within a day",
            "tokens in": f"about {self.prompt_tokens:,}",
            "worst": f"{counted(self.most_requests, 'request', 'requests')}, {tokens}, {cost}",
        }


def forecast(
    session: JudgeSession, studies: Iterable[Study], *, in_batches: bool = False
) -> Forecast | None:
    """Return the requests that judging `studies` would send, None for a judge that runs inline."""
    judge, cache, steps = session.judge, session.cache, session.rubric.steps
    if cache is None:
        return None
    keys: set[str] = set()
    requests = cached = repeated = further = prompt = most_requests = most_in = most_out = 0
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
                longest = _longest(request)
                requests += 1
                prompt += sum(map(len, _texts(request))) // _CHARACTERS_A_TOKEN + 1
                most_requests += times
                # An answer that could not be read is part of the prompt of the next.
                most_in += times * most_prompt_tokens(request) + (times - 1) * longest
                most_out += times * longest
    usage = Usage(most_in, most_out)
    dollars = Prices(judge.version, judge.billing_url, in_batches=in_batches).dollars(usage)
    return Forecast(requests, cached, repeated, prompt, most_requests, usage, dollars, further)


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
        "study_classes": classes and {name or "none given": n for name, n in classes.most_common()},
        "fields": list(studies.fields),
        "omitted": dict(studies.omitted),
        "n_empty_candidates": sum(not text for text in studies.candidates),
        "notes": list(studies.notes),
        "first": [
            {"study_id": study.study_id, "reference": study.reference, "candidate": study.candidate}
            for study in islice(studies, _SHOWN)
        ],
    }


def preview(checked: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what `described` found as names and words."""
    classes = checked["study_classes"] or {}
    shown = {
        "model": checked["model"],
        **{f"{role.replace('_', ' ')} from": name for role, name in checked["read_from"].items()},
        "section": checked["section"],
        "studies": f"{checked['n_studies']:,}",
        "study class": ", ".join(f"{name} {n:,}" for name, n in classes.items())
        or "inferred by the lexicon when they are judged",
        "other fields": ", ".join(checked["fields"]) or "none",
        "left out": left_out(checked["omitted"]),
        "empty candidates": f"{checked['n_empty_candidates']:,}, judged like any other",
    }
    lines = [(name, value) for name, value in shown.items() if value]
    return lines + [("note", text) for text in checked["notes"]]
