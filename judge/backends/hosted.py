"""A model behind an API, whoever provides it: what it is asked, and what it refuses of that.

A provider is a module with a client (`judge.backends.base.Client`), a `HostedJudge` that
translates a request into the body that the client sends, and `load`, which puts both together.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from judge.backends.base import CHAT, ChatJudge, Mode, RefusedError, Servers, in_words
from judge.backends.prompt_cuts import check_prompt
from judge.backends.refusals import SYSTEM, Refusals, RequestForm
from judge.endings import STOP
from judge.types import Completion, CompletionRequest, Message


@dataclass(eq=False, repr=False, kw_only=True)
class HostedJudge(ChatJudge):
    """A model that servers know by `served_as`. A subclass defines `conversation`.

    Attributes:
        reply: `text` or `structured`.
        asked: The user's sampling parameters.
        is_limit_asked: Whether `max_tokens` is the user's own.
        say: Tells the user something.
        refusals: What the model refuses of how it is asked, and how it is asked by now.
        path: Where requests go, below the servers' addresses.
        replacements: What is sent instead where a model refuses a parameter; others are left out.
    """

    path: ClassVar[str] = CHAT
    replacements: ClassVar[Mapping[str, str]] = MappingProxyType({})

    served_as: str
    reply: str
    servers: Servers
    max_tokens: InitVar[int]
    is_limit_asked: InitVar[bool] = False
    asked: Mapping[str, object]
    say: Callable[[str], None]

    def __post_init__(self, max_tokens: int, is_limit_asked: bool) -> None:
        sampling = {"temperature": 0, "max_tokens": max_tokens, **self.asked}
        # --body temperature=null leaves out what judge would send.
        self.sampling = {name: value for name, value in sampling.items() if value is not None}
        self.billing_url = self.servers.billing_url
        self.refusals = Refusals(
            model=self.version,
            address=self.servers.location,
            schema=self._schema_digest(),
            form=RequestForm(Mode.JSON_SCHEMA if self.form is not None else None),
            replacements=self.replacements,
            asked=frozenset(self.asked),
            limit=None if is_limit_asked else max_tokens,
            say=self.say,
        )

    def _schema_digest(self) -> str:
        forms = [self.form, *(form for _, form in self.questions.values())]
        schemas = [form.model_json_schema() for form in forms if form is not None]
        written = json.dumps(schemas, sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()[:8] if schemas else ""

    @property
    def mode(self) -> Mode | None:
        """How a reply is held to its form now, None for text."""
        return self.refusals.form.mode

    @property
    def sent_sampling(self) -> Mapping[str, object]:
        """The sampling as it is sent, without what the model refuses; part of the signature."""
        sent = self.as_sent(self.sampling)
        if SYSTEM in dict(self.refusals.form.changed):
            sent[SYSTEM] = "user"
        return sent

    @property
    def is_bounded(self) -> bool:
        """Whether its answers have a limit of tokens."""
        names = {"max_tokens", *self.replacements.values()}
        return bool(names & self.as_sent(self.sampling).keys())

    @abstractmethod
    def conversation(self, request: CompletionRequest) -> dict[str, Any]:
        """Return the keys of a body that hold the turns and, by `mode`, the form of the reply."""

    def turns(self, messages: Sequence[Message]) -> list[Message]:
        """Return a conversation as it is sent: in words, and without a turn that is refused."""
        turns = in_words(messages)
        if SYSTEM in dict(self.refusals.form.changed):
            return without_system(turns)
        return turns

    def parameters(self, sampling: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keys of a body that hold the sampling, by the provider's names."""
        return dict(sampling)

    def as_sent(self, sampling: Mapping[str, object]) -> dict[str, object]:
        """Return the sampling without what the model refuses, by the names that it takes."""
        form = self.refusals.form
        sent = dict(sampling)
        if form.room is not None and "max_tokens" in sent:
            sent["max_tokens"] = form.room
        changed = dict(form.changed)
        for name, instead in form.changed:
            if name not in sent:
                continue
            value = sent.pop(name)
            if instead and instead not in changed:
                sent[instead] = value
        return sent

    def body(self, request: CompletionRequest) -> dict[str, Any]:
        """Return what is sent for `request`, without all that the model is known to refuse."""
        return {
            "model": self.served_as,
            **self.conversation(request),
            **self.parameters(self.as_sent(request.sampling)),
        }

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask the server once; what it refuses, `refusals` decides about."""
        form = self.refusals.form
        body = self.body(request)
        self.refusals.begin(form)
        try:
            completion = await self.servers.ask(body, self.path, form.mode)
            check_prompt(request, completion)
        except RefusedError as error:
            error.form = form
            if error.is_too_long and error.context is None:
                error.context = await self.servers.context(self.served_as)
            raise
        finally:
            self.refusals.end(form)
        self.refusals.accept(form)
        return self.with_ending(completion)

    def with_ending(self, completion: Completion) -> Completion:
        """Return an answer without an ending as a whole one, where it had room for more."""
        usage, sampling = completion.usage, self.as_sent(self.sampling)
        limits = [value for name, value in sampling.items() if "max" in name and "tokens" in name]
        if completion.finish_reason or usage is None:
            return completion
        is_within = all(isinstance(most, int) and usage.completion_tokens < most for most in limits)
        if is_within and usage.completion_tokens > 0:
            return replace(completion, finish_reason=STOP)
        return completion


def without_system(turns: Sequence[Message]) -> list[Message]:
    """Return a conversation with the system's turns at the head of the user's first."""
    instructions = [turn.content for turn in turns if turn.role == "system"]
    others = [turn for turn in turns if turn.role != "system"]
    if not instructions:
        return others
    first = others[0] if others else Message("user", "")
    if first.role != "user":
        return [Message("user", "\n\n".join(instructions)), *others]
    return [Message("user", "\n\n".join([*instructions, first.content])), *others[1:]]
