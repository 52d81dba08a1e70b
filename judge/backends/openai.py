"""Judges behind servers that speak OpenAI's chat completions: OpenAI, vLLM, a proxy, ...

`instructor` makes the form of a structured reply from the rubric's model: its mode JSON_SCHEMA is
OpenAI's own strict form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from judge.backends import models
from judge.backends.base import Client, Judge, JudgeSettings, Mode
from judge.backends.connection import FORM_KEY, Connection
from judge.backends.hosted import HostedJudge, Provider
from judge.backends.refusals import RequestForm
from judge.rubrics import Rubric
from judge.types import CompletionRequest, Message

if TYPE_CHECKING:
    from pydantic import BaseModel

OPENAI_URL = "https://api.openai.com/v1"
_AZURE_HOSTS = (".azure.com",)
_STORE = "store"


def connect(connection: Connection, key: str) -> Client:
    """Return a client for one server, in the event loop that runs."""
    from judge.backends.openai_client import OpenAIClient  # loads openai: only to ask

    return OpenAIClient(connection, key)


def key_name(connection: Connection) -> str:
    """Return the name of the variable that has the key for a server."""
    return (
        "AZURE_OPENAI_API_KEY"
        if connection.host.endswith(_AZURE_HOSTS)
        else "OPENAI_API_KEY"
    )


PROVIDER = Provider(
    name="openai",
    url=OPENAI_URL,
    url_variable="OPENAI_BASE_URL",
    key_variable=key_name,
    connect=connect,
    # `flex` is served at the price of a batch, later and when there is room (types of the openai
    # package 3.57.0, chat/completion_create_params.py).
    service_tiers=("flex", "default", "priority"),
)


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge for a model behind an OpenAI-compatible API."""
    return OpenAIJudge(**PROVIDER.parts(model, rubric, settings))


def _messages(turns: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": turn.content} for turn in turns]


class Structured:
    """The form of a reply as a request has it. The rubric's models validate what comes."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self.schema: Mapping[str, object] = model.model_json_schema()

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


@dataclass(eq=False, repr=False, kw_only=True)
class OpenAIJudge(HostedJudge):
    """A model behind an OpenAI-compatible server."""

    replacements: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"max_tokens": "max_completion_tokens"}
    )
    _forms: list[Structured] = field(init=False, default_factory=list)

    def __post_init__(
        self, max_tokens: int, is_limit_asked: bool, effort: object
    ) -> None:
        super().__post_init__(max_tokens, is_limit_asked, effort)
        forms = [self.form, *(form for _, form in self.questions.values())]
        self._forms = [Structured(form) for form in forms if form is not None]

    def _first_form(self, effort: object) -> RequestForm:
        form = super()._first_form(effort)
        if not models.is_openai_reasoner(self.served_as):
            return form
        if self.facts is None and effort != "none" and "temperature" not in self.asked:
            form = form.without("temperature")
        return form.without("max_tokens", "max_completion_tokens")

    @property
    def handling(self) -> Mapping[str, object]:
        """How the provider is to handle requests; OpenAI and Azure are to keep none of them."""
        if _keeps(self.servers.location):
            return {**super().handling, _STORE: False}
        return super().handling

    def conversation(self, request: CompletionRequest) -> dict[str, Any]:
        """Return the messages, and the form of the reply as `mode` asks for it."""
        body: dict[str, Any] = {
            "messages": _messages(self.turns(self.described(request)))
        }
        form = next(
            (form for form in self._forms if form.schema == request.schema), None
        )
        if form is not None and self.mode is Mode.JSON_SCHEMA:
            body[FORM_KEY] = form.by_schema
        return body


def _keeps(url: str) -> bool:
    """Whether a server is one of those that may keep what they are sent."""
    if not url:
        return False
    hosts = [Connection(part).host for part in url.split(", ")]
    return any(host.endswith((".openai.com", *_AZURE_HOSTS)) for host in hosts)
