"""Claude models by Anthropic's Messages API.

The native API is used because Anthropic's OpenAI-compatible layer ignores `response_format`,
`strict`, `seed` and `reasoning_effort`, as its documentation says: a reply would not be held to
its form, and nothing would tell.

A reply is held to its schema by Anthropic's own form, `output_config.format`. instructor's modes
for Claude are weaker: ANTHROPIC_TOOLS forces a tool call, which models from Sonnet 5.5 on refuse,
and ANTHROPIC_JSON only asks in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from judge.backends.base import Client, Judge, JudgeSettings, Mode
from judge.backends.connection import Connection
from judge.backends.hosted import EFFORT, HostedJudge, Provider, require_sdk
from judge.backends.refusals import RequestForm
from judge.rubrics import Rubric
from judge.types import CompletionRequest

MESSAGES = "/v1/messages"
CONFIG = "output_config"


def _connect(connection: Connection, key: str) -> Client:
    from judge.backends.anthropic_client import (
        AnthropicClient,  # loads anthropic: only to ask
    )

    return AnthropicClient(connection, key)


def _key_name(_connection: Connection) -> str:
    return "ANTHROPIC_API_KEY"


PROVIDER = Provider(
    name="anthropic",
    url="https://api.anthropic.com",
    url_variable="ANTHROPIC_BASE_URL",
    key_variable=_key_name,
    connect=_connect,
    # Types of the anthropic package 2.14.0, message_create_params.py.
    service_tiers=("auto", "standard_only"),
)


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge for a Claude model; raises `JudgeError` without the package anthropic."""
    require_sdk("anthropic", "anthropic", model)
    return AnthropicJudge(**PROVIDER.parts(model, rubric, settings))


@dataclass(eq=False, repr=False, kw_only=True)
class AnthropicJudge(HostedJudge):
    """A Claude model behind Anthropic's Messages API."""

    path: ClassVar[str] = MESSAGES
    _formats: list[tuple[Mapping[str, object], Mapping[str, object]]] = field(
        init=False, default_factory=list
    )

    def _first_form(self, effort: object) -> RequestForm:
        form = super()._first_form(effort)
        # No Claude of today takes a temperature; one that the table lacks is newer.
        if self.facts is None and "temperature" not in self.asked:
            return form.without("temperature")
        return form

    def conversation(self, request: CompletionRequest) -> dict[str, Any]:
        """Return the instructions, the messages, and the form of the reply as `mode` asks for it.

        The instructions are marked for the prompt cache, and so are the examples for a modality:
        they are the same for all studies.
        """
        turns = self.turns(self.described(request))
        instructions = "\n\n".join(
            turn.content for turn in turns if turn.role == "system"
        )
        messages: list[dict[str, Any]] = [
            {"role": turn.role, "content": turn.content}
            for turn in turns
            if turn.role != "system"
        ]
        n_examples = self._n_example_turns(request)
        if n_examples:
            last = messages[n_examples - 1]
            last["content"] = [_marked(last["content"])]
        body: dict[str, Any] = {"messages": messages}
        if instructions:
            body["system"] = [_marked(instructions)]
        if request.schema is not None and self.mode is Mode.JSON_SCHEMA:
            body[CONFIG] = {"format": self._format(request.schema)}
        return body

    def _n_example_turns(self, request: CompletionRequest) -> int:
        """Return how many turns of a conversation are examples for a modality."""
        if self.questions and request.schema is None:
            return 0  # of which question it is cannot be told
        prompt = self._prompt_of(request)
        if not prompt.shots_for:
            return 0
        return len(prompt.example_turns)

    def _format(self, schema: Mapping[str, object]) -> Mapping[str, object]:
        """Return the form of a reply as a request has it; made once for each schema."""
        from anthropic import transform_schema

        for known, made in self._formats:
            if known is schema:
                return made
        made = {"type": "json_schema", "schema": transform_schema(dict(schema))}
        self._formats.append((schema, made))
        return made

    def body(self, request: CompletionRequest) -> dict[str, Any]:
        """Return what is sent: form and effort stand together in `output_config`."""
        body = super().body(request)
        effort = body.pop(EFFORT, None)
        if effort is not None:
            body[CONFIG] = {**body.get(CONFIG, {}), "effort": effort}
        return body


def _marked(text: str) -> dict[str, Any]:
    """Return a text that ends a part which the provider is to keep in its prompt cache."""
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
