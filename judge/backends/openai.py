"""Judges behind servers that speak OpenAI's chat completions: OpenAI, Azure, vLLM, ..."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from judge.address import is_local
from judge.backends import options
from judge.backends.base import Form, Judge, JudgeSettings, Mode, RefusedError, UnreachableError
from judge.prompts import STRUCTURED, Prompt
from judge.rubrics import Rubric
from judge.rubrics.derived import on_scale
from judge.rubrics.questions import Step
from judge.types import Completion, CompletionRequest, JudgeError, Message, Study, Unparsed

if TYPE_CHECKING:
    from pydantic import BaseModel

    from judge.backends.openai_client import Client

OPENAI_URL = "https://api.openai.com/v1"
CHAT, COMPLETIONS = "/chat/completions", "/completions"
NO_KEY = "none"
"""What a local server that checks no key is sent."""
UNREAD = "unread"
"""The role of a turn that says why the answer before it could not be read."""
FORM_KEY = "response_format"
"""The key of a request's body that holds a reply to its form."""

_ADDRESS = re.compile(r"https?://(\[[^\s/@?#]+\]|[^\s/@?#:\[\]]+)(:\d+)?(/[^\s?#]*)?", re.I)
# Where a model refuses a parameter, its replacement if there is one; others are left out.
_REPLACEMENTS = {"max_tokens": "max_completion_tokens"}
# What instructor calls the modes: its plain JSON asks nothing of the server.
_MODES = {Mode.JSON_SCHEMA: "JSON_SCHEMA", Mode.JSON: "MD_JSON"}
_SHOWN_OF_CUT = 500  # of an answer that was cut: all of it again would leave less room
_AGAIN = (
    "Your answer could not be read ({}). Give the whole answer again, in exactly the form that "
    "was asked for and with nothing before or after it. Change only what is needed for that."
)


@dataclass(frozen=True, slots=True)
class Connection:
    """Where a server is and how many seconds a whole answer may take."""

    base_url: str = OPENAI_URL
    timeout: float = 120.0

    def __post_init__(self) -> None:
        try:
            is_address = _ADDRESS.fullmatch(self.base_url) and urlsplit(self.base_url).port != 0
        except ValueError:
            is_address = False
        if not is_address:  # not shown: it may hold a key
            raise JudgeError(
                "--base-url is no address: write http://MACHINE:PORT/v1, without key or query"
            )

    @property
    def is_local(self) -> bool:
        """Whether the server is this machine."""
        return is_local(urlsplit(self.base_url).hostname or "")

    def key(self, environ: Mapping[str, str]) -> str:
        """Return the key for this server; raises `JudgeError` where one is needed and not set."""
        is_azure = (urlsplit(self.base_url).hostname or "").endswith(".azure.com")
        name = "AZURE_OPENAI_API_KEY" if is_azure else "OPENAI_API_KEY"
        key = environ.get(name, "").strip() or (NO_KEY if self.is_local else "")
        if not key or not key.isascii() or not key.isprintable():
            raise JudgeError(f"{self.base_url} needs a key, in ASCII: set {name}")
        return key


class Servers(ABC):
    """Where a judge's requests go: servers that run, or one that is started for it.

    Attributes:
        places: The servers that run already, each with its key.
        max_in_flight: How many requests keep them busy; None for the default of a run.
        log: The file that a server which was started writes to.
    """

    billing_url: str | None = None
    places: Sequence[tuple[Connection, str]] = ()
    max_in_flight: int | None = None
    log: Path | None = None

    async def ready(self) -> None:  # noqa: B027 - one that runs already needs nothing
        """Return when there is somebody to ask; raises `JudgeError` where there will not be."""

    @abstractmethod
    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request; raises as `judge.backends.openai_client.Client.ask` does."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of connections, and of a server that was started."""


class Pool(Servers):
    """Running servers of one model, asked in turn; one that nobody reaches is left out."""

    def __init__(
        self, servers: Sequence[tuple[Connection, str]], model: str, say: Callable[[str], None]
    ) -> None:
        self.places = tuple(servers)
        self._turn, self._clients = deque(self.places), dict[Connection, "Client"]()
        self._model, self._say = model, say
        remote = (connection.base_url for connection, _ in servers if not connection.is_local)
        self.billing_url = next(remote, None)

    async def ask(
        self, body: Mapping[str, Any], path: str = CHAT, mode: Mode | None = None
    ) -> Completion:
        """Send one request to the next server; the last one that is left is waited for."""
        from judge.backends.openai_client import Client

        while True:
            connection, key = place = self._turn[0]
            self._turn.rotate(-1)
            if connection not in self._clients:
                self._clients[connection] = Client(connection, key)
                if not connection.is_local:
                    self._say(f"Sending reports to {connection.base_url} (model {self._model}).")
            try:
                return await self._clients[connection].ask(body, path, mode)
            except UnreachableError as error:
                if [*self._turn] == [place]:
                    raise
                if place in self._turn:
                    self._turn.remove(place)
                    self._say(f"{connection.base_url} does not answer ({error}); left out.")

    async def aclose(self) -> None:
        """Close the connections."""
        clients = [*self._clients.values()]
        self._clients.clear()  # the next to ask has another event loop
        for client in clients:
            await client.aclose()


def repair_request(request: CompletionRequest, text: str, unparsed: Unparsed) -> CompletionRequest:
    """Return what to ask in a chat after the answer `text` to `request`, which was not read."""
    wrong = f"{unparsed.reason}: {unparsed.detail}" if unparsed.detail else unparsed.reason
    shown = text[:_SHOWN_OF_CUT] if unparsed.reason == "truncated" else text
    # Servers refuse an answer without words.
    turns = Message("assistant", shown if shown.strip() else "(no answer)"), Message(UNREAD, wrong)
    return replace(request, messages=(*request.messages, *turns))


def in_words(turns: Sequence[Message]) -> list[Message]:
    """Return a conversation with what could not be read put as the user's words."""
    return [
        Message("user", _AGAIN.format(turn.content)) if turn.role == UNREAD else turn
        for turn in turns
    ]


def _messages(turns: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": turn.content} for turn in in_words(turns)]


class Structured:
    """Turns a conversation into the body of a request for a reply of the form `model`.

    `instructor` words the request; the rubric's models validate the reply where it is read.
    """

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self.schema: Mapping[str, object] = model.model_json_schema()

    def body(self, mode: Mode, turns: Sequence[Message]) -> dict[str, Any]:
        """Return the body's keys that `mode` needs, `messages` among them."""
        messages = _messages(turns)
        if mode is Mode.JSON_SCHEMA:
            return {"messages": messages, FORM_KEY: self._by_schema}
        # The form is described with the question, before the first answer that was not read.
        first = next((i - 1 for i, turn in enumerate(turns) if turn.role == UNREAD), len(turns))
        described = self._worded(mode, messages=messages[:first])["messages"]
        return {"messages": [*described, *messages[first:]]}

    @cached_property
    def _by_schema(self) -> dict[str, Any]:
        form: dict[str, Any] = self._worded(Mode.JSON_SCHEMA)[FORM_KEY]
        # Servers hold a reply to a form strictly where that is closed.
        if self.schema.get("additionalProperties") is False:
            form["json_schema"]["strict"] = True
        return form

    def _worded(self, mode: Mode, **body: Any) -> dict[str, Any]:  # noqa: ANN401
        import instructor
        from instructor.processing import handle_response_model

        return handle_response_model(self._model, instructor.Mode[_MODES[mode]], **body)[1]


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge for a model behind an API."""
    named = settings.environ.get("OPENAI_BASE_URL", "").strip().rstrip("/")
    urls = settings.base_urls or (named or OPENAI_URL,)
    places = [Connection(url, settings.timeout) for url in urls]
    if named and not settings.base_urls:
        settings.say(f"The server is the one that OPENAI_BASE_URL names: {named}")
    keys = [place.key(settings.environ) if settings.sends else NO_KEY for place in places]
    prompt, reply = options.prompt_and_reply(rubric, model, settings)
    return OpenAIJudge(
        name=model,
        version=model,
        served_as=model,
        rubric=rubric,
        prompt=prompt,
        reply=reply,
        servers=Pool([*zip(places, keys, strict=True)], model, settings.say),
        max_tokens=options.max_tokens(model, settings),
        asked=settings.sampling,
        say=settings.say,
    )


@dataclass(eq=False, repr=False, kw_only=True)
class OpenAIJudge(Judge):
    """A model behind an OpenAI-compatible server, which knows it by `served_as`.

    `asked` are the user's sampling parameters, `mode` is the first that the server accepts.
    """

    name: str
    version: str
    served_as: str
    rubric: InitVar[Rubric]
    prompt: Prompt
    reply: str
    servers: Servers
    max_tokens: InitVar[int]
    asked: Mapping[str, object]
    say: Callable[[str], None]
    mode: Mode | None = field(init=False, default=None)
    _is_mode_taken: bool = field(init=False, default=False)
    _refused: set[str] = field(init=False, default_factory=set)
    _forms: dict[type[BaseModel], Structured] = field(init=False, default_factory=dict)
    _form: Structured | None = field(init=False, default=None)

    def __post_init__(self, rubric: Rubric, max_tokens: int) -> None:
        form = on_scale(rubric, self.prompt.scale).reply_model
        if form and self.reply == STRUCTURED:
            self._form, self.mode = self._formed(form()), Mode.JSON_SCHEMA
        self.sampling = {"temperature": 0, "max_tokens": max_tokens, **self.asked}
        self.billing_url = self.servers.billing_url

    def request(self, study: Study) -> CompletionRequest:
        """Return the prompt's turns around the study's reports."""
        return self._request(self.prompt, self._form, study)

    def request_step(self, step: Step) -> CompletionRequest:
        """Return the turns of the step's question around its texts."""
        prompt, form = self.questions[step.asks]
        return self._request(prompt, self._formed(form), step.study)

    def _request(self, prompt: Prompt, form: Structured | None, study: Study) -> CompletionRequest:
        schema = form.schema if form else None
        return CompletionRequest("chat", self.version, prompt.about(study), self.sampling, schema)

    def _formed(self, form: Form) -> Structured | None:
        if form and form not in self._forms:
            self._forms[form] = Structured(form)
        return self._forms[form] if form else None

    async def complete(self, request: CompletionRequest) -> Completion:
        """Ask the server once, and again where it refuses a part of how it was asked."""
        while True:
            try:
                completion = await self.servers.ask(self.body(request), CHAT, self.mode)
            except RefusedError as error:
                self.leave_out(error.what, error.detail)
            else:
                self._is_mode_taken = True
                return completion

    def body(self, request: CompletionRequest) -> dict[str, Any]:
        """Return what is sent for `request`, without all that the model is known to refuse."""
        forms = (form for form in self._forms.values() if form.schema == request.schema)
        form, turns = next(forms, None), {"messages": _messages(request.messages)}
        if form and self.mode:
            turns = form.body(self.mode, request.messages)
        sampling = dict(request.sampling)
        for name in self._refused & {*sampling}:
            value, instead = sampling.pop(name), _REPLACEMENTS.get(name)
            if instead and instead not in self._refused:
                sampling[instead] = value
        return {"model": self.served_as, **turns, **sampling}

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
            replacement = _REPLACEMENTS.get(refused)
            label, instead = refused, f"sending {replacement}" if replacement else "leaving it out"
        self.say(f"The model {self.version} refuses {label}; {instead}.")

    def repair_request(
        self, request: CompletionRequest, completion: Completion, unparsed: Unparsed
    ) -> CompletionRequest:
        """Return the conversation with that answer and what was wrong with it."""
        return repair_request(request, completion.text, unparsed)
