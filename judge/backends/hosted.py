"""A model behind an API, whoever provides it: what it is asked, and what it refuses of that.

A provider is a module with a client (`judge.backends.base.Client`), a `HostedJudge` that
translates a request into the body that the client sends, and `load`, which puts both together.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from judge.backends.base import CHAT, ChatJudge, Mode, RefusedError, Servers
from judge.types import Completion, CompletionRequest, JudgeError

_LONGEST = "max_tokens"


@dataclass(eq=False, repr=False, kw_only=True)
class HostedJudge(ChatJudge):
    """A model that servers know by `served_as`. A subclass defines `conversation`.

    Attributes:
        reply: `text` or `structured`.
        asked: The user's sampling parameters.
        say: Tells the user something.
        mode: How a reply is held to its form, None for text: the first mode that is accepted.
        path: Where requests go, below the servers' addresses.
        replacements: What is sent instead where a model refuses a parameter; others are left out.
    """

    path: ClassVar[str] = CHAT
    replacements: ClassVar[Mapping[str, str]] = MappingProxyType({})

    served_as: str
    reply: str
    servers: Servers
    max_tokens: InitVar[int]
    asked: Mapping[str, object]
    say: Callable[[str], None]
    mode: Mode | None = field(init=False, default=None)
    _is_mode_taken: bool = field(init=False, default=False)
    _refused: set[str] = field(init=False, default_factory=set)

    def __post_init__(self, max_tokens: int) -> None:
        if self.form is not None:
            self.mode = Mode.JSON_SCHEMA
        self.sampling = {"temperature": 0, "max_tokens": max_tokens, **self.asked}
        self.billing_url = self.servers.billing_url

    @abstractmethod
    def conversation(self, request: CompletionRequest) -> dict[str, Any]:
        """Return the keys of a body that hold the turns and, by `mode`, the form of the reply."""

    def parameters(self, sampling: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keys of a body that hold the sampling, by the provider's names."""
        return dict(sampling)

    def body(self, request: CompletionRequest) -> dict[str, Any]:
        """Return what is sent for `request`, without all that the model is known to refuse."""
        sampling = dict(request.sampling)
        for name in self._refused & {*sampling}:
            value, instead = sampling.pop(name), self.replacements.get(name)
            if instead and instead not in self._refused:
                sampling[instead] = value
        limits = {_LONGEST, self.replacements.get(_LONGEST)}
        if self.must_limit_tokens and limits.isdisjoint(sampling):
            raise JudgeError(
                f"the model {self.version} takes no limit of an answer's tokens, and so the cost "
                "of an answer has none: leave out --max-cost, or choose another --judge"
            )
        return {"model": self.served_as, **self.conversation(request), **self.parameters(sampling)}

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask the server once, and again where it refuses a part of how it was asked."""
        while True:
            try:
                completion = await self.servers.ask(self.body(request), self.path, self.mode)
            except RefusedError as error:
                self.leave_out(error.what, error.detail)
            else:
                self._is_mode_taken = True
                return completion

    def leave_out(self, refused: str | Mode, detail: str = "") -> None:
        """Leave out a refused parameter, or use the next mode.

        Raises `JudgeError` where none is left.
        """
        if isinstance(refused, Mode):
            if self.mode is not refused:  # another request came first
                return
            if self._is_mode_taken or refused is Mode.JSON:
                raise JudgeError(f"the model {self.version} refuses the request: {detail}")
            self.mode, label, instead = Mode.JSON, "a JSON schema", "asking for plain JSON"
        elif refused in self.asked:
            raise JudgeError(f"the model {self.version} refuses {refused}; ask without it")
        elif refused in self._refused:
            return
        else:
            self._refused.add(refused)
            replacement = self.replacements.get(refused)
            label, instead = refused, f"sending {replacement}" if replacement else "leaving it out"
        self.say(f"The model {self.version} refuses {label}; {instead}.")
