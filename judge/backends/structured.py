"""Replies of a fixed form: how they are asked for, read off a response, and asked for again.

`instructor` words the request; the rubric's models validate the reply where it is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from judge.types import CompletionRequest, Message, Unparsed

if TYPE_CHECKING:
    from pydantic import BaseModel

UNREAD = "unread"
"""The role of a turn that says why the answer before it could not be read."""
KEYS = ("response_format", "tools", "tool_choice")
"""The keys of a request's body that some mode sets."""

# How much is shown of an answer that was cut: all of it again would leave less room.
_SHOWN_OF_CUT = 500
_AGAIN = (
    "Your answer could not be read ({}). Give the whole answer again, in exactly the form that "
    "was asked for and with nothing before or after it. Change only what is needed for that."
)


class Mode(StrEnum):
    """How a reply is held to its form; in the order in which servers are asked."""

    JSON_SCHEMA = "json_schema"
    TOOLS = "tools"
    JSON = "json"


# What to try where a server refuses one.
NEXT = {Mode.JSON_SCHEMA: Mode.TOOLS, Mode.TOOLS: Mode.JSON}
LABELS = {Mode.JSON_SCHEMA: "a JSON schema", Mode.TOOLS: "a tool call", Mode.JSON: "plain JSON"}
# What instructor calls them. Its plain JSON asks nothing of the server.
_MODES = {Mode.JSON_SCHEMA: "JSON_SCHEMA", Mode.TOOLS: "TOOLS", Mode.JSON: "MD_JSON"}


def called(message: Mapping[str, Any], tool: str) -> tuple[str, bool] | None:
    """Return what a message's tool calls say, and whether they are one call of `tool`."""
    calls = message.get("tool_calls")
    if not calls:
        return None
    functions = [call["function"] for call in calls]
    is_asked_for = [function["name"] for function in functions] == [tool]
    words = functions[0]["arguments"] or "" if is_asked_for else functions
    return words if isinstance(words, str) else json.dumps(words, ensure_ascii=False), is_asked_for


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


def messages_of(turns: Sequence[Message]) -> list[dict[str, str]]:
    """Return a conversation as the messages of a request's body."""
    return [{"role": turn.role, "content": turn.content} for turn in in_words(turns)]


class Structured:
    """Turns a conversation into the body of a request for a reply of the form `model`."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self.schema: Mapping[str, object] = model.model_json_schema()
        self.tool = str(self.schema["title"])
        self._keys: dict[Mode, dict[str, Any]] = {}

    def body(self, mode: Mode, turns: Sequence[Message]) -> dict[str, Any]:
        """Return the body's keys that `mode` needs, `messages` among them."""
        messages = messages_of(turns)
        if mode is Mode.JSON:
            # The form is described with the question, before the first answer that was not read.
            first = next((i - 1 for i, turn in enumerate(turns) if turn.role == UNREAD), len(turns))
            body = self._worded(mode, messages=messages[:first])
            return {**body, "messages": [*body["messages"], *messages[first:]]}
        if mode not in self._keys:
            body = self._worded(mode)
            schema = body["response_format"]["json_schema"] if mode is Mode.JSON_SCHEMA else None
            # Servers hold a reply to a form strictly where that is closed.
            if self.schema.get("additionalProperties") is False:
                (schema or body["tools"][0]["function"])["strict"] = True
            self._keys[mode] = {key: body[key] for key in KEYS if key in body}
        return {"messages": messages, **self._keys[mode]}

    def _worded(self, mode: Mode, **body: Any) -> dict[str, Any]:  # noqa: ANN401
        import instructor
        from instructor.processing import handle_response_model

        return handle_response_model(self._model, instructor.Mode[_MODES[mode]], **body)[1]
