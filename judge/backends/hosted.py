"""A model behind an API, whoever provides it: what it is asked, and what it refuses of that.

A provider is a module with a client (`judge.backends.base.Client`), a `HostedJudge` that
translates a request into the body that the client sends, and `load`, which puts both together.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, ClassVar

from judge.backends import models, options
from judge.backends.base import (
    CHAT,
    ChatJudge,
    JudgeSettings,
    Mode,
    RefusedError,
    Servers,
    in_words,
)
from judge.backends.connection import NO_KEY, Connect, Connection, Place, Pool
from judge.backends.models import ModelFacts
from judge.backends.prompt_cuts import check_prompt
from judge.backends.refusals import SYSTEM, Refusals, RequestForm
from judge.endings import STOP
from judge.plugins import install
from judge.prompts import Prompt
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, JudgeError, Message

EFFORT = "reasoning_effort"
"""What the reasoning effort is called among the parameters of a question, for all providers."""
SERVICE_TIER = "service_tier"
FLEX = "flex"
"""The service tier that is served later, when there is room, at the price of a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Who serves models behind an API, and how it is reached.

    Attributes:
        name: As in `models.yaml` and before the colon of `--judge`.
        url: Its address.
        url_variable: The variable that names another address.
        key_variable: The variable that has the key.
        connect: Makes a client for an address and a key.
        service_tiers: What `--service-tier` may be.
    """

    name: str
    url: str
    url_variable: str
    key_variable: Callable[[Connection], str]
    connect: Connect
    service_tiers: tuple[str, ...] = ()

    def places(self, model: str, settings: JudgeSettings) -> list[Place]:
        """Return the servers of a judge, each with its key.

        They are those that the user names, else the one of `url_variable`, else the provider's.
        Raises `JudgeError` for an address that is none, and where a key is needed and not set.
        """
        named = settings.environ.get(self.url_variable, "").strip().rstrip("/")
        found = []
        for base_url in settings.base_urls or (named or self.url,):
            connection = Connection(base_url, settings.timeout)
            if settings.sends:
                key = self._key(model, connection, settings.environ)
            else:
                key = (
                    settings.environ.get(self.key_variable(connection), "").strip()
                    or NO_KEY
                )
            found.append((connection, key))
        if named and not settings.base_urls:
            settings.say(
                f"The server is the one that {self.url_variable} names: {named}"
            )
        return found

    def _key(
        self, model: str, connection: Connection, environ: Mapping[str, str]
    ) -> str:
        try:
            return connection.key(environ, self.key_variable(connection))
        except JudgeError as error:
            near = ""
            if connection.base_url == self.url:
                near = options.nearest_model(model, self.name)
            raise JudgeError(
                f"the judge {model!r} is taken for a model behind an API: {error}.{near} Write "
                "lexicon for the built-in judge"
            ) from error

    def parts(
        self, model: str, rubric: Rubric, settings: JudgeSettings
    ) -> dict[str, Any]:
        """Return what a `HostedJudge` of this provider is made of."""
        places = self.places(model, settings)
        prompt, reply = options.prompt_and_reply(rubric, model, settings)
        facts = models.facts_of(model, self.name)
        effort = settings.sampling.get(EFFORT)
        if facts is not None:
            _check_sampling(facts, settings)
            if EFFORT not in settings.sampling:
                effort = facts.least_effort
        limit = settings.max_tokens
        if limit is None and options.is_green(model):
            limit = models.MAX_TOKENS
        elif limit is None:
            limit = models.max_tokens(model, facts, effort)
        if (
            settings.service_tier is not None
            and settings.service_tier not in self.service_tiers
        ):
            known = ", ".join(self.service_tiers) or "none"
            raise JudgeError(
                f"{self.name} has no service tier {settings.service_tier!r} (there are: {known}); "
                "leave out --service-tier"
            )
        return {
            "name": model,
            "version": model,
            "served_as": model,
            "provider": self.name,
            "home": self.url,
            "facts": facts,
            "prompt": prompt,
            "reply": reply,
            "form": options.form(rubric, prompt, reply),
            "questions": options.questions(rubric, prompt, reply, settings),
            "servers": Pool(places, model, settings.say, self.connect),
            "key_name": self.key_variable(places[0][0]),
            "max_tokens": limit,
            "is_limit_asked": settings.max_tokens is not None,
            "effort": effort,
            "service_tier": settings.service_tier,
            "asked": settings.sampling,
            "say": settings.say,
        }


def require_sdk(module: str, package: str, model: str) -> None:
    """Raise `JudgeError` where the package that asks a provider is not installed."""
    try:
        is_there = find_spec(module) is not None
    except ModuleNotFoundError:  # the package that it is a part of
        is_there = False
    if not is_there:
        raise JudgeError(
            f"the judge {model} needs the package {package}: {install(package)}"
        )


def _check_sampling(facts: ModelFacts, settings: JudgeSettings) -> None:
    """Raise `JudgeError` for a parameter that the model is known to refuse or to ignore."""
    effort = settings.sampling.get(EFFORT, facts.least_effort)
    if (
        EFFORT in settings.sampling
        and effort is not None
        and effort not in facts.efforts
    ):
        there = (
            f"there are: {', '.join(facts.efforts)}" if facts.efforts else "it has none"
        )
        raise JudgeError(f"{facts.name} has no reasoning effort {effort!r} ({there})")
    if settings.sampling.get("temperature") is None or facts.takes_temperature(effort):
        return
    ways = {
        "no_effort": "takes a temperature with --reasoning-effort none only",
        "refused": "takes no temperature",
        "ignored": "takes a temperature and ignores it",
    }
    raise JudgeError(f"{facts.name} {ways[facts.temperature]}: leave out --temperature")


@dataclass(eq=False, repr=False, kw_only=True)
class HostedJudge(ChatJudge):
    """A model that servers know by `served_as`. A subclass defines `conversation`.

    Attributes:
        reply: `text` or `structured`.
        provider: Who serves it, as in `models.yaml`; "" for a server that judge started.
        home: The provider's own address.
        key_name: The variable that has the key.
        facts: What is known of the model, None where `models.yaml` lacks it.
        effort: The reasoning effort, None where none is sent.
        service_tier: What the request is asked to be served as, None for the ordinary way.
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
    provider: str = ""
    home: str = ""
    key_name: str = "OPENAI_API_KEY"
    facts: ModelFacts | None = None
    max_tokens: InitVar[int]
    is_limit_asked: InitVar[bool] = False
    effort: InitVar[object] = None
    service_tier: str | None = None
    asked: Mapping[str, object]
    say: Callable[[str], None]
    _is_looked_up: bool = field(init=False, default=False)
    _earlier_limit: int | None = field(init=False, default=None)

    def __post_init__(
        self, max_tokens: int, is_limit_asked: bool, effort: object
    ) -> None:
        sampling = {
            "temperature": 0,
            "max_tokens": max_tokens,
            EFFORT: effort,
            **self.asked,
        }
        # --body temperature=null leaves out what judge would send.
        self.sampling = {
            name: value for name, value in sampling.items() if value is not None
        }
        if max_tokens == models.MAX_TOKENS_UNKNOWN and not is_limit_asked:
            self._earlier_limit = models.MAX_TOKENS
        self.billing_url = self.servers.billing_url
        self.note = self._ending()
        self.refusals = Refusals(
            model=self.version,
            address=self.servers.location,
            key_name=self.key_name,
            schema=self._schema_digest(),
            form=self._first_form(effort),
            replacements=self.replacements,
            asked=frozenset(self.asked)
            | ({SERVICE_TIER} if self.service_tier else set()),
            limit=None if is_limit_asked else max_tokens,
            say=self.say,
            suggest=self._nearest,
        )

    def _nearest(self) -> str:
        return (
            options.nearest_model(self.served_as, self.provider)
            if self.provider
            else ""
        )

    def _first_form(self, effort: object) -> RequestForm:
        """Return how requests are put at first: without what the model is known to refuse.

        That is not tried and found out: in a batch a refusal takes a day.
        """
        form = RequestForm(Mode.JSON_SCHEMA if self.form is not None else None)
        is_taken = self.facts is None or self.facts.takes_temperature(effort)
        if not is_taken and "temperature" not in self.asked:
            form = form.without("temperature")
        return form

    def _schema_digest(self) -> str:
        forms = [self.form, *(form for _, form in self.questions.values())]
        schemas = [form.model_json_schema() for form in forms if form is not None]
        written = json.dumps(schemas, sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()[:8] if schemas else ""

    async def ready(self) -> None:
        """Return when it can be asked; the first time it is looked up when the model ends."""
        await super().ready()
        if not self._is_looked_up:
            known = self.note
            await self.look_up_end()
            if self.note is not None and self.note != known:
                self.say(f"{self.note}.")

    async def look_up_end(self) -> None:
        """Ask the provider on which day the model ends, where that can be asked; see `note`."""
        self._is_looked_up = True
        is_known = self.facts is not None or self.servers.location == self.home
        if not is_known:  # an OpenAI-compatible server of somebody else's
            return
        ends = await self.servers.ends(self.served_as)
        if ends is not None:
            self.note = self._ending(ends)

    def _ending(self, ends: dt.date | None = None) -> str | None:
        today = dt.datetime.now(dt.UTC).date()
        facts = self.facts
        if facts is not None:
            return facts.ending(today, ends)
        if ends is None or ends - today > models.SOON:
            return None
        return f"{self.served_as} ends on {ends.isoformat()}"

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

    @property
    def handling(self) -> Mapping[str, object]:
        """How the provider is to handle requests: parameters that change no answer."""
        return {SERVICE_TIER: self.service_tier} if self.service_tier else {}

    @abstractmethod
    def conversation(self, request: CompletionRequest) -> dict[str, Any]:
        """Return the keys of a body that hold the turns and, by `mode`, the form of the reply."""

    def described(self, request: CompletionRequest) -> tuple[Message, ...]:
        """Return the turns; for plain JSON the system's ends with the prompt's words for it."""
        if request.schema is None or self.mode is not Mode.JSON:
            return request.messages
        schema = json.dumps(request.schema, indent=2, ensure_ascii=False)
        words = self._prompt_of(request).plain_json(schema)
        first, *others = request.messages
        if first.role != SYSTEM:
            return (Message(SYSTEM, words), *request.messages)
        return (Message(SYSTEM, f"{first.content}\n\n{words}"), *others)

    def _prompt_of(self, request: CompletionRequest) -> Prompt:
        for prompt, form in self.questions.values():
            if form is not None and self.schema_of(form) == request.schema:
                return prompt
        return self.prompt

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
            **self.parameters(self.as_sent({**request.sampling, **self.handling})),
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

    def as_earlier(self, request: CompletionRequest) -> CompletionRequest | None:
        """Return the request as versions before 0.2 made it, None where they made the same.

        They gave a model that nobody knew room for 2,048 tokens.
        """
        if self._earlier_limit is None or "max_tokens" not in request.sampling:
            return None
        sampling = {**request.sampling, "max_tokens": self._earlier_limit}
        return replace(request, sampling=sampling)

    def with_ending(self, completion: Completion) -> Completion:
        """Return an answer without an ending as a whole one, where it had room for more."""
        usage, sampling = completion.usage, self.as_sent(self.sampling)
        limits = [
            value
            for name, value in sampling.items()
            if "max" in name and "tokens" in name
        ]
        if completion.finish_reason or usage is None:
            return completion
        is_within = all(
            isinstance(most, int) and usage.completion_tokens < most for most in limits
        )
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
