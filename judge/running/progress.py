"""How far a run has come, and what it has cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from judge.backends.errors import AskError
from judge.types import Annotated, Completion, Outcome, Unparsed


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
