"""What a model on one's own machine is asked, and what was cut from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from judge.backends.errors import StudyError
from judge.backends.local.encode import Encoded, Encoder
from judge.prompts import Prompt
from judge.types import CompletionRequest, Study


@dataclass(slots=True)
class Cuts:
    """How many of the prompts that were built lost something, as the official pipeline's do."""

    prompts: int = 0
    words: int = 0
    tokens: int = 0

    def notes(self, prompt: Prompt, limit: int) -> tuple[str, ...]:
        """Return a sentence for each kind of cut that happened; none where nothing was cut."""
        said = []
        if self.words:
            said.append(
                f"{self.words} of {self.prompts} prompts show only the first {prompt.words} words "
                f"of a report, as the prompt {prompt.name} wants it."
            )
        if self.tokens:
            said.append(
                f"{self.tokens} of {self.prompts} prompts are longer than the {limit} tokens that "
                "the model has for prompt and answer, and leave no room for one."
            )
        return tuple(said)


@dataclass(slots=True)
class Questions:
    """Makes the requests of one judge, and counts the prompts that had to be cut.

    `version` is the judge's full name, `max_tokens` bounds one answer.
    """

    version: str
    prompt: Prompt
    encoder: Encoder
    max_tokens: int
    schema: dict[str, object] | None = None
    cuts: Cuts = field(default_factory=Cuts)

    @property
    def sampling(self) -> dict[str, object]:
        """The sampling parameters: greedy, and how long prompt and answer may be together."""
        return {
            "temperature": 0,
            "max_length": self.encoder.limit,
            "max_tokens": self.max_tokens,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know of the prompts built so far."""
        return self.cuts.notes(self.prompt, self.encoder.limit)

    def request(self, study: Study) -> CompletionRequest:
        """Return what the model is asked about `study`; counts what is cut."""
        messages = self.prompt.messages(study.reference, study.candidate)
        self.cuts.prompts += 1
        self.cuts.words += self.prompt.cuts(study.reference, study.candidate)
        self.cuts.tokens += self.encoder.encode(messages).cut > 0
        return CompletionRequest(
            endpoint="completions",
            model=self.version,
            messages=messages,
            sampling=self.sampling,
            schema=self.schema,
        )

    def encoded(self, request: CompletionRequest) -> tuple[Encoded, int]:
        """Return the ids of a request and how many tokens its answer may have.

        The room is what the limit leaves for this request alone, whatever else is in its
        batch. Raises `StudyError` where there is none.
        """
        encoded = self.encoder.encode(request.messages)
        room = min(self.max_tokens, self.encoder.limit - len(encoded.ids))
        if room < 1:
            raise StudyError(
                "too_long",
                f"the prompt takes all of the {self.encoder.limit} tokens of prompt and answer",
            )
        return encoded, room
