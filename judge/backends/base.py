"""What every judge has, what one is made from, and how asking it can go wrong."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from judge.prompts import Prompt
from judge.rubrics.questions import Step
from judge.types import (
    Completion,
    CompletionRequest,
    JudgeError,
    Message,
    Study,
    Unparsed,
    Usage,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

TIMEOUT = 120.0
CONCURRENCY = 16  # where neither the user nor the server says
Recognised: TypeAlias = Mapping[str, Mapping[str, int]]
CHAT, COMPLETIONS = "/chat/completions", "/completions"
"""The paths of OpenAI's protocol: a conversation, and a text in token ids."""
UNREAD = "unread"
"""The role of a turn that says why the answer before it could not be read."""

_SHOWN_OF_CUT = 500  # of an answer that was cut: all of it again would leave less room
_AGAIN = (
    "Your answer could not be read ({}). Give the whole answer again, in exactly the form that "
    "was asked for and with nothing before or after it. Change only what is needed for that."
)

Form: TypeAlias = "type[BaseModel] | None"
"""The form that a reply is held to, None for text."""


class Mode(StrEnum):
    """How a reply is held to its form: by the server, or by words where it refuses."""

    JSON_SCHEMA = "json_schema"
    JSON = "json"


class AskError(Exception):
    """A request brought no answer. `reason` is one of a few fixed words, `detail` the server's.

    Attributes:
        usage: The tokens that it was billed for all the same, None where nothing is known of that.
        is_free: Whether the request has surely cost nothing: nobody took it, or it was refused
            (4xx). After a timeout, a broken connection or a 5xx nobody knows.
    """

    is_free: bool = False

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.usage: Usage | None = None


class StudyError(AskError):
    """This request can never be answered (too long, filtered): its study fails, the run goes on."""


class TransientError(AskError):
    """The same request may be answered later, after `retry_after` seconds if that is set."""

    def __init__(
        self, reason: str, detail: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(reason, detail)
        self.retry_after = retry_after


class OverloadError(TransientError):
    """The server is there and asks for fewer requests (429)."""

    is_free = True


class UnavailableError(TransientError):
    """Nobody answers: refused, dropped, timed out, or a gateway that has no server behind it."""


class UnreachableError(UnavailableError):
    """Nobody took the connection: whatever was to be asked, it is not to blame."""

    is_free = True


class UnreadableReplyError(TransientError):
    """The server answered with no completion. Worth one more try: it does it again."""

    def __init__(self, detail: str) -> None:
        super().__init__("unreadable response", detail)


class RefusedError(Exception):
    """The server refuses a request: how it is asked, the model, the key, or what it is about.

    Attributes:
        status: The reply's HTTP status.
        detail: The server's sentence.
        named: The parameter of the request that it names, None where it names none.
        is_too_long: Whether question and answer have no room in the model.
        context: How many tokens the server says they may have together, None where it does not.
    """

    def __init__(
        self,
        status: int,
        detail: str = "",
        named: str | None = None,
        is_too_long: bool = False,  # noqa: FBT001, FBT002 - an exception is copied by its arguments
        context: int | None = None,
    ) -> None:
        super().__init__(status, detail, named, is_too_long, context)
        self.status = status
        self.detail = detail
        self.named = named
        self.is_too_long = is_too_long
        self.context = context

        self.form: object = None  # a RequestForm: how it was asked, where that is known

    def __str__(self) -> str:
        return (
            f"status {self.status}: {self.detail}"
            if self.detail
            else f"status {self.status}"
        )


class Client(ABC):
    """A connection to one server, for one event loop. Each provider has its own."""

    @abstractmethod
    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send `body` and return the answer, which has `mode` as its own.

        Raises `RefusedError` where the server refuses how it was asked, an `AskError` for this
        request, and `JudgeError` for all requests.
        """

    async def context(self, model: str) -> int | None:  # noqa: ARG002
        """Return how many tokens the server says question and answer have, None if it does not."""
        return None

    async def ends(self, model: str) -> dt.date | None:  # noqa: ARG002
        """Return the day on which the provider says that a model ends, None where it does not."""
        return None

    @abstractmethod
    async def aclose(self) -> None:
        """Close the connection."""


class Servers(ABC):
    """Where a judge's requests go: servers that run, or one that is started for it.

    Attributes:
        billing_url: The address whose answers are paid for, None where none are.
        max_in_flight: How many requests keep them busy; None for the default of a run.
        log: The file that a server which was started writes to.
        location: The servers that run already, as messages name them; "" where one is started.
    """

    billing_url: str | None = None
    max_in_flight: int | None = None
    log: Path | None = None
    location: str = ""

    async def ready(self) -> None:  # noqa: B027 - one that runs already needs nothing
        """Return when there is somebody to ask; raises `JudgeError` where there will not be."""

    @abstractmethod
    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request; raises as `Client.ask` does."""

    async def context(self, model: str) -> int | None:  # noqa: ARG002
        """Return how many tokens the server says question and answer have, None if it does not."""
        return None

    async def ends(self, model: str) -> dt.date | None:  # noqa: ARG002
        """Return the day on which the provider says that a model ends, None where it does not."""
        return None

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of connections, and of a server that was started."""


class Judge(ABC):
    """One kind of judge, for one rubric and prompt. A subclass defines `request` and `complete`.

    Attributes:
        version: All of the judge that changes an answer; part of the signature, with `sampling`.
        prompt: The wording of the question; None for a judge that reads none.
        reply: Which of `prompts.TEXT` and `prompts.STRUCTURED` is asked for.
        note: A warning to print beside its name.
        runs_inline: Whether it answers at once, in this process.
        is_deterministic: Whether it always answers the same question the same.
        billing_url: The address whose answers are paid for.
        questions: Prompt and form of each question of a rubric that asks several.
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
    def mode(self) -> Mode | None:
        """How a reply is held to its form now, None for text."""
        return None

    @property
    def is_bounded(self) -> bool:
        """Whether its answers have a limit of tokens."""
        return True

    @property
    def sent_sampling(self) -> Mapping[str, object]:
        """The sampling as it is sent, without what the model refuses; part of the signature."""
        return self.sampling

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
        """Return the judge's raw answer; raises `AskError` without one."""

    def repair_request(
        self,
        request: CompletionRequest,  # noqa: ARG002
        completion: Completion,  # noqa: ARG002
        unparsed: Unparsed,  # noqa: ARG002
    ) -> CompletionRequest | None:
        """Return what to ask after an answer that is `unparsed`; None if it would be the same.

        It depends on the arguments alone, so that a run that continues finds its answers.
        """
        return None

    def recognised(
        self,
        references: Iterable[str],  # noqa: ARG002
        candidates: Iterable[str],  # noqa: ARG002
    ) -> Recognised | None:
        """Return how many statements of the reports it recognises; None for a judge that reads.

        As `{"references": {"k": 95, "n": 100}, "candidates": {...}}`: `k` of `n` statements.
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


@dataclass(eq=False, repr=False, kw_only=True)
class ChatJudge(Judge):
    """A model that is asked in conversations: what is asked of it, whoever it is.

    A subclass defines `complete`.

    Attributes:
        form: The form that the reply to `prompt` is held to, None for text.
        endpoint: The kind of request, as it stands in the cache's keys.
        takes_forms: Whether a form is sent with a request.
    """

    endpoint: ClassVar[str] = "chat"
    takes_forms: ClassVar[bool] = True

    name: str
    version: str
    prompt: Prompt
    form: Form = None
    questions: Mapping[str, tuple[Prompt, Form]] = field(default_factory=dict)
    _schemas: dict[type[BaseModel], Mapping[str, object]] = field(
        init=False, default_factory=dict
    )

    @property
    def takes_turns(self) -> bool:
        """Whether it can be told what was wrong with its answer."""
        return True

    def request(self, study: Study) -> CompletionRequest:
        """Return the prompt's turns around the study's reports."""
        return self._request(self.prompt, self.form, study)

    def request_step(self, step: Step) -> CompletionRequest:
        """Return the turns of the step's question around its texts."""
        prompt, form = self.questions[step.asks]
        return self._request(prompt, form, step.study)

    def schema_of(self, form: type[BaseModel]) -> Mapping[str, object]:
        """Return the JSON schema of a form, the same object each time."""
        if form not in self._schemas:
            self._schemas[form] = form.model_json_schema()
        return self._schemas[form]

    def _request(self, prompt: Prompt, form: Form, study: Study) -> CompletionRequest:
        schema = None
        if form is not None and self.takes_forms:
            schema = self.schema_of(form)
        turns = prompt.about(study)
        return CompletionRequest(
            self.endpoint, self.version, turns, self.sampling, schema
        )

    def repair_request(
        self, request: CompletionRequest, completion: Completion, unparsed: Unparsed
    ) -> CompletionRequest | None:
        """Return the conversation with that answer and what was wrong with it."""
        if not self.takes_turns:
            return None
        wrong = (
            f"{unparsed.reason}: {unparsed.detail}"
            if unparsed.detail
            else unparsed.reason
        )
        shown = completion.text
        if unparsed.reason == "truncated":
            shown = shown[:_SHOWN_OF_CUT]
        if not shown.strip():
            shown = "(no answer)"  # servers refuse an answer without words
        turns = (Message("assistant", shown), Message(UNREAD, wrong))
        return replace(request, messages=(*request.messages, *turns))


def in_words(turns: Sequence[Message]) -> list[Message]:
    """Return a conversation with what could not be read put as the user's words."""
    return [
        Message("user", _AGAIN.format(turn.content)) if turn.role == UNREAD else turn
        for turn in turns
    ]


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
        service_tier: What requests are asked to be served as, such as `flex`; None for the
            ordinary way.
        modality: One of `judge.modalities.NAMES`, whose examples the prompt shows; None for the
            prompt's usual ones.
        environ: Where keys are looked up.
        say: Tells the user something.
        sends: False where nothing will be sent, so that no key is needed.
        options: Settings of a server that is started, such as flags of `vllm serve`.
    """

    prompt: str | None = None
    base_url: str | Sequence[str] | None = None
    timeout: float = TIMEOUT
    max_tokens: int | None = None
    reply: str | None = None
    sampling: Mapping[str, object] = field(default_factory=dict)
    service_tier: str | None = None
    modality: str | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    say: Callable[[str], None] = lambda _text: None
    sends: bool = True
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def base_urls(self) -> tuple[str, ...]:
        """The addresses of `base_url`, each once."""
        urls = (
            (self.base_url,) if isinstance(self.base_url, str) else self.base_url or ()
        )
        return tuple(dict.fromkeys(url.rstrip("/") for url in urls))
