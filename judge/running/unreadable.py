"""Giving a run up whose answers cannot be read, before they are all paid for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from judge.report.words import harmless
from judge.running.progress import Progress
from judge.types import Completion, JudgeError, Outcome, Study, Unparsed

_SHOWN = 300


class UnreadableError(JudgeError):
    """A run that was given up: most of its first answers could not be read.

    They are in the cache, so that going on asks none of them again.
    """

    def __init__(self, text: str, progress: Progress) -> None:
        super().__init__(text)
        self.progress = progress


@dataclass(slots=True)
class FirstAnswers:
    """The first `n` studies that were answered, from the cache or not; 0 looks at none.

    A study that failed has no answer and says nothing about the others.
    """

    n: int
    _seen: int = 0
    _reasons: Counter[str] = field(default_factory=Counter)
    _examples: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def are_unreadable(self) -> bool:
        """Whether all `n` are there and more than half of them could not be read."""
        return 0 < self.n <= self._seen and 2 * self._reasons.total() > self.n

    def add(self, study: Study, outcome: Outcome, completion: Completion | None) -> None:
        """Count one study's end, if it is among the first with an answer."""
        if self._seen >= self.n or completion is None:
            return
        self._seen += 1
        if isinstance(outcome, Unparsed):
            self._reasons[outcome.reason] += 1
            self._examples.setdefault(outcome.reason, (study.study_id, completion.text))

    def message(self) -> str:
        """Return what was seen, with one answer, and how to go on."""
        ((reason, most),) = self._reasons.most_common(1)
        study_id, text = self._examples[reason]
        # Text from a server: what could steer a terminal is made visible.
        shown = " ".join(harmless(text[: 4 * _SHOWN]).split())
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        longer = ", --max-tokens" if reason == "truncated" else ""
        return (
            f"{self._reasons.total()} of the first {self.n} answers cannot be read, {most} of them "
            f"for: {reason}. Study {harmless(study_id)} was answered: {shown or '(nothing)'}\n"
            f"Try another --judge, --prompt, --reply{longer}. To go on all the same, give "
            "--give-up-after 0, or from Python RequestPolicy(give_up_after=0); no answer is asked "
            "for twice."
        )
