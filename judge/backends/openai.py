"""Judges behind servers that speak OpenAI's chat completions: OpenAI, Azure, vLLM, ..."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from judge.backends import options
from judge.backends.base import Client, Judge, JudgeSettings, Mode
from judge.backends.connection import FORM_KEY, NO_KEY, Connection, Pool
from judge.backends.hosted import HostedJudge
from judge.prompts import Prompt
from judge.rubrics import Rubric
from judge.types import CompletionRequest, JudgeError, Message

if TYPE_CHECKING:
    from pydantic import BaseModel

OPENAI_URL = "https://api.openai.com/v1"


def connect(connection: Connection, key: str) -> Client:
    """Return a client for one server, in the event loop that runs."""
    from judge.backends.openai_client import OpenAIClient  # loads openai: only to ask

    return OpenAIClient(connection, key)


def key_name(connection: Connection) -> str:
    """Return the name of the variable that has the key for a server."""
    return "AZURE_OPENAI_API_KEY" if connection.host.endswith(".azure.com") else "OPENAI_API_KEY"


def _key(model: str, connection: Connection, environ: Mapping[str, str]) -> str:
    try:
        return connection.key(environ, key_name(connection))
    except JudgeError as error:
        near = options.nearest_model(model) if connection.base_url == OPENAI_URL else ""
        raise JudgeError(
            f"the judge {model!r} is taken for a model behind an API: {error}.{near} Write lexicon "
            "for the built-in judge"
        ) from error


def _messages(turns: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": turn.content} for turn in turns]


class Structured:
    """Turns a conversation into the body of a request for a reply of the form `model`.

    `instructor` makes the schema's form from the rubric's model. The words for plain JSON are
    those of the prompt. The rubric's models validate the reply where it is read.
    """

    def __init__(self, model: type[BaseModel], prompt: Prompt) -> None:
        self._model, self._prompt = model, prompt
        self.schema: Mapping[str, object] = model.model_json_schema()

    def described(self, turns: Sequence[Message]) -> list[Message]:
        """Return a conversation whose system turn ends with the prompt's words for plain JSON."""
        words = self._prompt.plain_json(json.dumps(self.schema, indent=2, ensure_ascii=False))
        if turns[0].role != "system":
            return [Message("system", words), *turns]
        return [Message("system", f"{turns[0].content}\n\n{words}"), *turns[1:]]

    @cached_property
    def by_schema(self) -> dict[str, Any]:
        """The value of `response_format` that holds a reply to the schema."""
        import instructor
        from instructor.processing import handle_response_model

        _, body = handle_response_model(self._model, instructor.Mode.JSON_SCHEMA)
        form: dict[str, Any] = body[FORM_KEY]
        # Servers hold a reply to a form strictly where that is closed.
        if self.schema.get("additionalProperties") is False:
            form["json_schema"]["strict"] = True
        return form


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge for a model behind an API."""
    named = settings.environ.get("OPENAI_BASE_URL", "").strip().rstrip("/")
    urls = settings.base_urls or (named or OPENAI_URL,)
    places = []
    for url in urls:
        connection = Connection(url, settings.timeout)
        key = NO_KEY
        if settings.sends:
            key = _key(model, connection, settings.environ)
        places.append((connection, key))
    if named and not settings.base_urls:
        settings.say(f"The server is the one that OPENAI_BASE_URL names: {named}")
    prompt, reply = options.prompt_and_reply(rubric, model, settings)
    judge = OpenAIJudge(
        name=model,
        version=model,
        served_as=model,
        prompt=prompt,
        reply=reply,
        form=options.form(rubric, prompt, reply),
        questions=options.questions(rubric, prompt, reply, settings.environ),
        servers=Pool(places, model, settings.say, connect),
        max_tokens=options.max_tokens(model, settings),
        is_limit_asked=settings.max_tokens is not None,
        asked=settings.sampling,
        say=settings.say,
    )
    judge.refusals.suggest = partial(options.nearest_model, model)
    if options.takes_no_temperature(model, settings):
        # What it would refuse is not tried: in a batch a refusal takes a day.
        form = judge.refusals.form.without("max_tokens", "max_completion_tokens")
        if "temperature" not in settings.sampling:
            form = form.without("temperature")
        judge.refusals.form = form
    return judge


@dataclass(eq=False, repr=False, kw_only=True)
class OpenAIJudge(HostedJudge):
    """A model behind an OpenAI-compatible server."""

    replacements: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"max_tokens": "max_completion_tokens"}
    )
    _forms: list[Structured] = field(init=False, default_factory=list)

    def __post_init__(self, max_tokens: int, is_limit_asked: bool) -> None:
        super().__post_init__(max_tokens, is_limit_asked)
        forms = [(self.prompt, self.form), *self.questions.values()]
        self._forms = [Structured(form, prompt) for prompt, form in forms if form is not None]

    def conversation(self, request: CompletionRequest) -> dict[str, Any]:
        """Return the messages, and the form of the reply as `mode` asks for it."""
        form = next((form for form in self._forms if form.schema == request.schema), None)
        if form is None or self.mode is None:
            return {"messages": _messages(self.turns(request.messages))}
        turns: Sequence[Message] = request.messages
        if self.mode is Mode.JSON:
            turns = form.described(turns)
        body: dict[str, Any] = {"messages": _messages(self.turns(turns))}
        if self.mode is Mode.JSON_SCHEMA:
            body[FORM_KEY] = form.by_schema
        return body
