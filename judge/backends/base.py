"""What every judge has, and what one is made from."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from judge import jsonio
from judge.prompts import Prompt
from judge.rubrics.questions import Step
from judge.types import Completion, CompletionRequest, JudgeError, Study, Unparsed

if TYPE_CHECKING:
    from pydantic import BaseModel

    from judge.backends.pool import Servers


class AskError(Exception):
    """A request brought no answer. `reason` is one of a few fixed words, `detail` the server's."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class StudyError(AskError):
    """This request can never be answered (too long, filtered): its study fails, the run goes on."""


class TransientError(AskError):
    """The same request may be answered later, after `retry_after` seconds if that is set."""

    def __init__(self, reason: str, detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(reason, detail)
        self.retry_after = retry_after


class OverloadError(TransientError):
    """The server is there and asks for fewer requests (429)."""


class UnavailableError(TransientError):
    """Nobody answers: refused, dropped, timed out, or a gateway that has no server behind it."""


class UnreachableError(UnavailableError):
    """Nobody took the connection: whatever was to be asked, it is not to blame."""


class UnreadableReplyError(TransientError):
    """The server answered with no completion. Worth one more try: it does it again."""

    def __init__(self, detail: str) -> None:
        super().__init__("unreadable response", detail)


MAX_TOKENS = 2048
"""The longest answer in tokens: several times what one takes."""
REASONING_MAX_TOKENS = 25_000
"""The same for a model that reasons, whose reasoning counts as answer.

As many as OpenAI's guide to reasoning models advises to reserve at least, to begin with
(developers.openai.com/docs/guides/reasoning, "Allocating space for reasoning").
"""

# Hosted and open models that reason without being told to, as their providers name them.
_REASONS = re.compile(
    r"(?:^|[/:])(?:o[1-9](?:-|$)|gpt-5|gpt-oss|deepseek-r(?:1|easoner)|qwq|magistral)"
    r"|[-_](?:thinking|reasoner|reasoning)(?:[-_:]|$)",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_OPTIONS = {
    name: "--" + name.replace("_", "-")
    for name in ("temperature", "top_p", "seed", "reasoning_effort")
}
# What another option sets, and what would spoil the one whole answer that is read.
_NOT_HERE = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "set it by --max-tokens"),
    **dict.fromkeys(("response_format", "tools", "tool_choice"), "set it by --reply"),
    **dict.fromkeys(("messages", "prompt"), "set it by --prompt"),
    "model": "set it by --judge",
    **dict.fromkeys(
        ("stream", "n", "best_of", "echo", "stop", "stop_token_ids"), "one whole answer is read"
    ),
}


def checked_sampling(given: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that a user asks for as JSON's values; 0 and 0.0 are one question."""
    parameters = {}
    for name, value in given.items():
        if name in _NOT_HERE or not _NAME.fullmatch(name):
            advice = _NOT_HERE.get(name, "no parameter has such a name")
            raise JudgeError(f"sampling: {name!r} cannot be a parameter here: {advice}")
        try:
            plain = jsonio.read(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:  # json.dumps raises all three
            raise JudgeError(f"sampling: {name} is no value of JSON: {error}") from error
        is_whole = isinstance(plain, float) and plain.is_integer()
        parameters[name] = int(plain) if is_whole else plain
    return parameters


def sampling_of_body(options: Iterable[str]) -> dict[str, object]:
    """Return the parameters of `--body KEY=JSON`, given any number of times."""
    parameters: dict[str, object] = {}
    for option in options:
        name, _, text = option.partition("=")
        if name in _OPTIONS or name in parameters:
            advice = f"use {_OPTIONS[name]}" if name in _OPTIONS else "it is given twice"
            raise JudgeError(f"--body {name}: {advice}")
        try:
            parameters[name] = jsonio.read(text)
        except jsonio.JsonError as error:
            raise JudgeError(
                f"--body {option!r} is not KEY=JSON ({error}); write --body top_k=20, or "
                "--body 'name=\"text\"'"
            ) from error
    return parameters


def longest_answer(model: str, given: Mapping[str, object], asked: int | None) -> int:
    """Return how many tokens bound an answer: as `asked`, else by whether the model reasons."""
    if asked is not None:
        return asked
    effort = given.get("reasoning_effort")
    reasons = effort != "none" if effort is not None else _REASONS.search(model) is not None
    return REASONING_MAX_TOKENS if reasons else MAX_TOKENS


def is_greedy(sampling: Mapping[str, object]) -> bool:
    """Return whether the same question gets the same answer."""
    return sampling.get("temperature") == 0


def refuse_sampling(given: Mapping[str, object], judge: str, taken: Mapping[str, object]) -> None:
    """Raise `JudgeError` for a parameter of `given` that is not `taken`, with that value."""
    for name, value in given.items():
        if name not in taken or taken[name] != value:
            what = _OPTIONS.get(name, f"--body {name}")
            only = f" but {taken[name]}" if name in taken else ""
            raise JudgeError(f"the judge {judge} takes no {what}{only}; leave it out")


TIMEOUT = 120.0
CONCURRENCY = 16
"""How many requests are under way where neither the user nor the server says."""
Form: TypeAlias = "type[BaseModel] | None"
"""The form that a reply is held to, None for text."""


@dataclass(frozen=True, slots=True)
class CountedNote:
    """A note that counts, so that those of the parts of a run add up to that of the whole."""

    text: str
    n: int
    of: int = 0

    def __str__(self) -> str:
        return self.text.replace("{n}", str(self.n)).replace("{of}", str(self.of))


@dataclass(frozen=True, slots=True)
class Notes:
    """Notes that count, which add up, and others, which are told once."""

    counted: tuple[CountedNote, ...] = ()
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, judge: Judge) -> Self:
        """Return what a judge says of the questions that it made so far."""
        counted = judge.counted
        known = {str(note) for note in counted}
        return cls(counted, tuple(note for note in judge.notes if note not in known))

    @classmethod
    def read(cls, counted: Iterable[Mapping[str, Any]], others: Iterable[str]) -> Self:
        """Return the notes that a manifest holds."""
        return cls(tuple(CountedNote(**one) for one in counted), tuple(others))

    def __add__(self, other: Notes) -> Notes:
        """Return the notes of two parts as those of both."""
        found = {note.text: note for note in self.counted}
        for note in other.counted:
            old = found.setdefault(note.text, replace(note, n=0, of=0))
            found[note.text] = replace(note, n=old.n + note.n, of=old.of + note.of)
        return Notes(tuple(found.values()), tuple(dict.fromkeys((*self.others, *other.others))))

    @property
    def told(self) -> list[str]:
        """What is told, one text a note."""
        return [*(str(note) for note in self.counted if note.n), *self.others]

    def plain(self) -> list[dict[str, Any]]:
        """Return what counts as JSON's types."""
        return [asdict(note) for note in self.counted]


class Judge(ABC):
    """Who answers, for one rubric and prompt.

    A judge says what it would ask about a study (`request`), which is all that decides the answer,
    asks it (`complete`), and says what it would ask after an answer that could not be read
    (`repair_request`). A subclass sets `name` and `version` and defines the first two.

    Attributes:
        version: All of the judge that changes an answer; stands in the signature, with `sampling`.
        prompt: The wording of the question; None for a judge that reads none.
        reply: Which of `prompts.TEXT` and `prompts.STRUCTURED` is asked for.
        note: What must be said wherever its name stands.
        runs_inline: Whether it answers at once, in this process.
        is_deterministic: Whether it answers the same question the same each time.
        billing_url: The address whose answers are paid for.
        questions: Prompt and form of each question, where a rubric asks several about a study.
    """

    name: str
    version: str
    prompt: Prompt | None = None
    reply: str | None = None
    sampling: Mapping[str, object] = MappingProxyType({})
    note: str | None = None
    runs_inline: bool = False
    is_deterministic: bool = False
    billing_url: str | None = None
    servers: Servers | None = None
    questions: Mapping[str, tuple[Prompt, Form]] = MappingProxyType({})

    @property
    def concurrency(self) -> int:
        """How many requests it takes at a time, where the user does not say."""
        return (self.servers.max_in_flight if self.servers else None) or CONCURRENCY

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The wordings of all that is asked about a study."""
        several = tuple(prompt for prompt, _ in self.questions.values())
        return several or (() if self.prompt is None else (self.prompt,))

    @property
    def counted(self) -> tuple[CountedNote, ...]:
        """What is counted of the questions asked so far, always the same in the same order."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must be told of the questions asked so far: what was cut from them."""
        return tuple(str(note) for note in self.counted if note.n)

    @property
    def log(self) -> Path | None:
        """What a server wrote that was started for this judge; None where none was."""
        return self.servers.log if self.servers else None

    @abstractmethod
    def request(self, study: Study) -> CompletionRequest:
        """Return what the judge is asked about `study`."""

    def request_step(self, step: Step) -> CompletionRequest:
        """Return what the judge is asked in one step, by `questions`; raises `JudgeError`."""
        raise JudgeError(
            f"the judge {self.name} cannot be asked several questions about a study ({step.name})"
        )

    @abstractmethod
    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the judge's raw answer; raises `judge.backends.base.AskError` without one."""

    def repair_request(
        self,
        request: CompletionRequest,  # noqa: ARG002
        completion: Completion,  # noqa: ARG002
        unparsed: Unparsed,  # noqa: ARG002
    ) -> CompletionRequest | None:
        """Return what to ask after `completion`, an answer to `request` that is `unparsed`.

        None, as here, where the answer would be the same. Decided by the three alone, so that a run
        that goes on finds the answers it already has.
        """
        return None

    async def ready(self) -> None:
        """Return when it can be asked, having started what must be; raises `JudgeError`."""
        if self.servers:
            await self.servers.ready()

    async def aclose(self) -> None:
        """Let go of connections, and of whatever was started."""
        if self.servers:
            await self.servers.aclose()


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What a judge may need besides its name: what a user can say of it, declared once.

    Attributes:
        prompt: A prompt's name or path; None for the rubric's own.
        base_url: Where the model is served; several where several servers share the load.
        timeout: How many seconds a whole answer may take.
        max_tokens: The longest answer; None for what suits the model.
        reply: `text` or `structured`; None for what suits.
        sampling: Further parameters by their name in a request.
        samples: How many answers to the same question a study gets.
        environ: Where keys are looked up.
        say: Tells the user something.
        sends: False where nothing will be sent, so that no key is needed.
        options: What one kind of judge alone takes, such as `vllm_args` or `ray_replicas`.
    """

    prompt: str | None = None
    base_url: str | Sequence[str] | None = None
    timeout: float = TIMEOUT
    max_tokens: int | None = None
    reply: str | None = None
    sampling: Mapping[str, object] = field(default_factory=dict)
    samples: int = 1
    environ: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = lambda _text: None
    sends: bool = True
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def base_urls(self) -> tuple[str, ...]:
        """The addresses of `base_url`, each once; none where there is none."""
        urls = (self.base_url,) if isinstance(self.base_url, str) else self.base_url or ()
        return tuple(dict.fromkeys(url.rstrip("/") for url in urls))
