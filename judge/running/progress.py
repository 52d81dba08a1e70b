"""How far a run has come, and what it has cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from judge.backends.errors import AskError
from judge.types import Annotated, Completion, CompletionRequest, Outcome, Unparsed, Usage

# English reports run to a little over four characters a token; prompts with much markup
# to fewer.
_CHARACTERS_A_TOKEN = 4
_FEWEST_CHARACTERS_A_TOKEN = 3
# The name that the table of prices has for them.
_IN_BATCHES = {"processing": "batch"}


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
        known = self.dollars is not None and dollars is not None
        self.dollars = self.dollars + dollars if known else None  # type: ignore[operator]


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
            found = calc_price(
                *(tokens, self.model), provider_api_url=self.base_url, price_context=context
            )
            return float(found.total_price)

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
        """Return what `request` can cost at the most: a long prompt, the longest answer."""
        longest = request.sampling.get("max_tokens")
        if not isinstance(longest, int):
            return None
        return self.dollars(Usage(prompt_tokens(request, _FEWEST_CHARACTERS_A_TOKEN), longest))


def prompt_tokens(request: CompletionRequest, characters: int = _CHARACTERS_A_TOKEN) -> int:
    """Return about how many tokens a request's prompt has, by its length in characters.

    A schema counts as part of it: providers bill what they make of it.
    """
    length = sum(len(message.content) for message in request.messages)
    if request.schema is not None:
        length += len(json.dumps(request.schema, indent=2))
    return length // characters + 1
