"""What requests cost, from a kept table of prices. A model that is not in it has no price."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from judge.types import CompletionRequest, Usage

# English reports run to a little over four characters a token; prompts with much markup
# to fewer.
_CHARACTERS_A_TOKEN = 4
_FEWEST_CHARACTERS_A_TOKEN = 3


@dataclass(slots=True)
class Prices:
    """The prices of one model at one server. `base_url` is None where nothing is paid for."""

    model: str
    base_url: str | None
    known: bool = field(init=False)

    def __post_init__(self) -> None:
        self.known = self.base_url is not None
        self.known = self.dollars(Usage(1, 1)) is not None

    def dollars(self, usage: Usage | None) -> float | None:
        """Return the US dollars of `usage`; None where the price or the usage is unknown."""
        if usage is None or not self.known:
            return None
        from genai_prices import Usage as Tokens
        from genai_prices import calc_price

        tokens = Tokens(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            cache_read_tokens=usage.cached_tokens,
        )
        try:
            price = calc_price(tokens, self.model, provider_api_url=self.base_url)
        except LookupError:
            return None
        return float(price.total_price)

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
