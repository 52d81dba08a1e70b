"""Judges behind servers that speak OpenAI's chat completions: OpenAI, Azure, vLLM, ..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from judge.backends import options
from judge.backends.base import UNREAD, Client, Judge, JudgeSettings, Mode, in_words
from judge.backends.connection import FORM_KEY, NO_KEY, Connection, Pool
from judge.backends.hosted import HostedJudge
from judge.rubrics import Rubric
from judge.types import CompletionRequest, Message

if TYPE_CHECKING:
    from pydantic import BaseModel

OPENAI_URL = "https://api.openai.com/v1"

# What instructor calls the modes: its plain JSON asks nothing of the server.
_MODES = {Mode.JSON_SCHEMA: "JSON_SCHEMA", Mode.JSON: "MD_JSON"}


def connect(connection: Connection, key: str) -> Client:
    """Return a client for one server, in the event loop that runs."""
    from judge.backends.openai_client import OpenAIClient  # loads openai: only to ask

    return OpenAIClient(connection, key)


def key_name(connection: Connection) -> str:
    """Return the name of the variable that has the key for a server."""
    return "AZURE_OPENAI_API_KEY" if connection.host.endswith(".azure.com") else "OPENAI_API_KEY"


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
    places = []
    for url in urls:
        connection = Connection(url, settings.timeout)
        key = NO_KEY
        if settings.sends:
            key = connection.key(settings.environ, key_name(connection))
        places.append((connection, key))
    if named and not settings.base_urls:
        settings.say(f"The server is the one that OPENAI_BASE_URL names: {named}")
    prompt, reply = options.prompt_and_reply(rubric, model, settings)
    return OpenAIJudge(
        name=model,
        version=model,
        served_as=model,
        prompt=prompt,
        reply=reply,
        form=options.form(rubric, prompt, reply),
        questions=options.questions(rubric, prompt, reply, settings.environ),
        servers=Pool(places, model, settings.say, connect),
        max_tokens=options.max_tokens(model, settings),
        asked=settings.sampling,
        say=settings.say,
    )


@dataclass(eq=False, repr=False, kw_only=True)
class OpenAIJudge(HostedJudge):
    """A model behind an OpenAI-compatible server."""

    replacements: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"max_tokens": "max_completion_tokens"}
    )
    _forms: list[Structured] = field(init=False, default_factory=list)

    def __post_init__(self, max_tokens: int) -> None:
        super().__post_init__(max_tokens)
        forms = [self.form, *(form for _, form in self.questions.values())]
        self._forms = [Structured(form) for form in forms if form is not None]

    def conversation(self, request: CompletionRequest) -> dict[str, Any]:
        """Return the messages, and the form of the reply as `mode` asks for it."""
        form = next((form for form in self._forms if form.schema == request.schema), None)
        if form is None or self.mode is None:
            return {"messages": _messages(request.messages)}
        return form.body(self.mode, request.messages)
