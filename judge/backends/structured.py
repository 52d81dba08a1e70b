"""Replies of a fixed form: how they are asked for, read off a response, and asked for again.

The library `instructor` words the request in each mode. Its loop of asking again is not used:
the engine asks, so that every attempt is counted, paid for and kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from judge.types import CompletionRequest, Message, Unparsed

if TYPE_CHECKING:
    from pydantic import BaseModel

UNREAD = "unread"
"""The role of a turn that says why the answer before it could not be read."""

# How much is shown of an answer that was cut: all of it again would leave less room.
_SHOWN_OF_CUT = 500
_NO_ANSWER = "(no answer)"
KEYS = ("response_format", "tools", "tool_choice")
"""The keys of a request's body that some mode sets."""


class Mode(StrEnum):
    """How a reply is held to its form; in the order in which servers are asked."""

    JSON_SCHEMA = "json_schema"
    TOOLS = "tools"
    JSON = "json"

    @property
    def next(self) -> Mode | None:
        """What to try where a server refuses this one; None after the last."""
        modes: list[Mode | None] = [*Mode, None]
        return modes[modes.index(self) + 1]


LABELS = {Mode.JSON_SCHEMA: "a JSON schema", Mode.TOOLS: "a tool call", Mode.JSON: "plain JSON"}

# What the complaint of a server is about, in the words of OpenAI, Azure, vLLM, SGLang, TGI,
# llama.cpp, Ollama, Groq, DeepSeek and LM Studio. Plain JSON asks nothing of a server.
_ABOUT = {
    Mode.JSON_SCHEMA: re.compile(
        r"response[_ ]?format|json[_ ]?schema|structured[_ -]outputs?|guided[_ ]|grammar", re.I
    ),
    Mode.TOOLS: re.compile(r"\btools?\b|\btool[_ -](choice|call)|function[_ -]call", re.I),
}
# llama.cpp calls what it does not have an error of the server.
_NOT_THERE = re.compile(r"unsupported param|--jinja|must be one of|not supported", re.I)


def refuses(mode: Mode, status: int, message: str, param: str = "") -> bool:
    """Return whether an error response says that the server does not take this mode."""
    about = _ABOUT.get(mode)
    if about is None:
        return False
    said = message.partition("'input':")[0]
    if status in (400, 422):
        return about.search(said) is not None or about.search(param) is not None
    return status in (500, 501) and bool(about.search(said) and _NOT_THERE.search(said))


def called(message: Mapping[str, Any], tool: str) -> tuple[str, bool] | None:
    """Return what a message's tool calls say, and whether they are one call of `tool`."""
    calls = message.get("tool_calls")
    if not calls:
        return None
    functions = [call["function"] for call in calls]
    if [function["name"] for function in functions] != [tool]:
        return json.dumps(functions, ensure_ascii=False), False
    arguments = functions[0]["arguments"]
    if arguments is None or isinstance(arguments, str):
        return arguments or "", True
    return json.dumps(arguments, ensure_ascii=False), True


def repair_request(request: CompletionRequest, text: str, unparsed: Unparsed) -> CompletionRequest:
    """Return what to ask in a chat after the answer `text` to `request`, which was not read."""
    wrong = f"{unparsed.reason}: {unparsed.detail}" if unparsed.detail else unparsed.reason
    shown = text[:_SHOWN_OF_CUT] if unparsed.reason == "truncated" else text
    turns = (
        Message("assistant", shown if shown.strip() else _NO_ANSWER),
        Message(UNREAD, wrong),
    )
    return replace(request, messages=(*request.messages, *turns))


def in_words(turns: Sequence[Message]) -> list[Message]:
    """Return a conversation with what could not be read put as the user's words."""
    return [
        Message("user", _TOLD.format(turn.content)) if turn.role == UNREAD else turn
        for turn in turns
    ]


def messages_of(turns: Sequence[Message]) -> list[dict[str, str]]:
    """Return a conversation as the messages of a request's body."""
    return [{"role": turn.role, "content": turn.content} for turn in in_words(turns)]


_TOLD = (
    "Your answer could not be read ({}). Give the whole answer again, in exactly the form that "
    "was asked for and with nothing before or after it. Change only what is needed for that."
)


class Structured:
    """Turns a conversation into the body of a request for a reply of the form `model`."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self.schema: Mapping[str, object] = model.model_json_schema()
        self._strict = {"strict": True} if _is_strict(self.schema) else {}

    @property
    def tool(self) -> str:
        """The name of the tool that is to be called with the reply."""
        return str(self.schema["title"])

    def body(self, mode: Mode, turns: Sequence[Message]) -> dict[str, Any]:
        """Return the body's keys that `mode` needs, `messages` among them."""
        messages = messages_of(turns)
        if mode is not Mode.JSON:
            keys = self._by_schema if mode is Mode.JSON_SCHEMA else self._by_tool
            return {"messages": messages, **keys}
        # The form is told with the question, before the first answer that was not read.
        first = next((at - 1 for at, turn in enumerate(turns) if turn.role == UNREAD), len(turns))
        body = _prepared(self._model, mode, messages=messages[:first])
        return {**body, "messages": [*body["messages"], *messages[first:]]}

    @cached_property
    def _by_schema(self) -> dict[str, Any]:
        """As instructor words them; its import would take 0.7 s before the first request."""
        form = {"name": self.tool, "schema": self.schema, **self._strict}
        return {"response_format": {"type": "json_schema", "json_schema": form}}

    @cached_property
    def _by_tool(self) -> dict[str, Any]:
        body = _prepared(self._model, Mode.TOOLS, **self._strict)
        return {name: value for name, value in body.items() if name in KEYS}


def _prepared(model: type[BaseModel], mode: Mode, **given: Any) -> dict[str, Any]:  # noqa: ANN401
    from instructor import Mode as Theirs
    from instructor.processing import handle_response_model

    # Its plain JSON needs nothing of the server.
    theirs = Theirs.TOOLS if mode is Mode.TOOLS else Theirs.MD_JSON
    _, body = handle_response_model(model, mode=theirs, **given)
    return body


def _is_strict(schema: object) -> bool:
    if isinstance(schema, Mapping):
        fields = schema.get("properties")
        if isinstance(fields, Mapping) and (
            schema.get("additionalProperties") is not False
            or set(schema.get("required", ())) != set(fields)
        ):
            return False
        return all(map(_is_strict, schema.values()))
    return not isinstance(schema, list) or all(map(_is_strict, schema))
