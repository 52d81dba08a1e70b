"""What a model on one's own machine is asked, and what was cut from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from judge.backends import sampling, structured
from judge.backends.base import CountedNote, Judge
from judge.backends.errors import StudyError
from judge.backends.local.encode import Encoded, Encoder
from judge.prompts import CHAT, Prompt
from judge.rubrics.steps import Step
from judge.types import Completion, CompletionRequest, Study, Unparsed

# What is counted, and what a reader of the numbers is told of it.
_NOTES = {
    "words": "{{n}} of {{of}} prompts show only the first {words} words of a report, as the "
    "prompt {prompt} wants it.",
    "tokens": "{{n}} of {{of}} prompts are longer than the {limit} tokens that the model has "
    "for prompt and answer, and leave no room for one.",
    "greedy": "{{n}} answers that could not be read were not asked for again: the model decodes "
    "greedily, cannot be told what was wrong, and would say the same.",
}


@dataclass(eq=False, repr=False, kw_only=True)
class LocalJudge(Judge):
    """A model whose prompts are encoded here and answered in text.

    `version` is the judge's full name, `max_tokens` bounds one answer, `asked` are the sampling
    parameters that the user wants; without them an answer is greedy.
    """

    name: str
    version: str
    prompt: Prompt
    encoder: Encoder
    say: Callable[[str], None]
    max_tokens: int
    asked: Mapping[str, object]
    _counts: Counter[str] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        # How long prompt and answer may be together is part of what was asked.
        lengths = {"max_length": self.encoder.limit, "max_tokens": self.max_tokens}
        self.sampling = {"temperature": 0, **lengths, **self.asked}

    @property
    def counted(self) -> tuple[CountedNote, ...]:
        """What a reader of the numbers must know of the prompts built so far."""
        about = {
            "words": self.prompt.words,
            "prompt": self.prompt.name,
            "limit": self.encoder.limit,
        }
        return tuple(
            CountedNote(note.format(**about), self._counts[what], self._counts["prompts"])
            for what, note in _NOTES.items()
        )

    def request(self, study: Study) -> CompletionRequest:
        """Return the prompt around the study's reports; counts what is cut."""
        return self._request(self.prompt, study)

    def request_step(self, step: Step) -> CompletionRequest:
        """Return the prompt of the step's question around its texts; counts what is cut."""
        prompt, _ = self.questions[step.asks]
        return self._request(prompt, step.study)

    def _request(self, prompt: Prompt, study: Study) -> CompletionRequest:
        messages = prompt.about(study)
        self._counts["prompts"] += 1
        self._counts["words"] += prompt.cuts(study.reference, study.candidate)
        self._counts["tokens"] += self.encoder.encode(messages).cut > 0
        return CompletionRequest(
            endpoint="completions",
            model=self.version,
            messages=messages,
            sampling=self.sampling,
        )

    def repair_request(
        self, request: CompletionRequest, completion: Completion, unparsed: Unparsed
    ) -> CompletionRequest | None:
        """Return what to ask after `completion`, an answer to `request` that is `unparsed`.

        A GREEN model knows one question: it is asked that again, with the next seed, unless it is
        greedy.
        """
        if self.encoder.layout == CHAT:
            return structured.repair_request(request, completion.text, unparsed)
        if sampling.is_greedy(request.sampling):
            self._counts["greedy"] += 1
            return None
        seed = request.sampling.get("seed")
        if not isinstance(seed, int):
            return request
        return replace(request, sampling={**request.sampling, "seed": seed + 1})

    def asked_in(self, request: CompletionRequest) -> dict[str, object]:
        """Return the parameters of a request that the user has asked for."""
        return {name: request.sampling[name] for name in self.asked}

    def encoded(self, request: CompletionRequest) -> tuple[Encoded, int]:
        """Return the ids of a request and how many tokens its answer may have."""
        encoded = self.encoder.encode(structured.in_words(request.messages))
        room = min(self.max_tokens, self.encoder.limit - len(encoded.ids))
        if room < 1:
            raise StudyError(
                "too_long",
                f"the prompt takes all of the {self.encoder.limit} tokens of prompt and answer",
            )
        return encoded, room

    async def aclose(self) -> None:
        """Say what was cut, and let go as every judge does."""
        for note in self.notes:
            self.say(note)
        await super().aclose()
