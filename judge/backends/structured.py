"""Replies of a fixed form: how they are asked for, read off a response, and asked for again.

The library `instructor` words the request in each mode and the correction after a reply
that could not be read. Its own loop of asking again is not used: the engine asks, so that
every attempt is counted, paid for and kept.
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
    import instructor
    from pydantic import BaseModel

UNREAD = "unread"
"""The role of a turn that says why the answer before it could not be read."""

# Asking with the same words again is all that helps here.
_SAME_AGAIN = frozenset({"truncated", "refusal"})
_KEYS = ("response_format", "tools", "tool_choice")


class Mode(StrEnum):
    """How a reply is held to its form; in the order in which servers are asked."""

    JSON_SCHEMA = "json_schema"
    TOOLS = "tools"
    JSON = "json"

    @property
    def label(self) -> str:
        """The mode in a few words, for messages."""
        return _LABELS[self]

    @property
    def next(self) -> Mode | None:
        """What to try where a server refuses this one; None after the last."""
        after = list(Mode)[list(Mode).index(self) + 1 :]
        return after[0] if after else None


_LABELS = {
    Mode.JSON_SCHEMA: "a JSON schema",
    Mode.TOOLS: "a tool call",
    Mode.JSON: "plain JSON",
}

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
    """Return whether an error response says that the server does not take this mode.

    `message` and `param` are the server's words; a body that it quotes is not read.
    """
    about = _ABOUT.get(mode)
    if about is None:
        return False
    said = message.partition("'input':")[0]
    if status in (400, 422):
        return about.search(said) is not None or about.search(param) is not None
    return status in (500, 501) and bool(about.search(said) and _NOT_THERE.search(said))


def is_asked_for(name: str) -> bool:
    """Return whether a key of a request's body is one that some mode sets."""
    return name in _KEYS


def called(message: Mapping[str, Any], tool: str) -> tuple[str, bool] | None:
    """Return what a message's tool calls say, and whether they are one call of `tool`.

    None where there is no call. Anything but the one call that was asked for is returned as
    it came, as JSON: which of several answers is meant would be a guess. Raises `KeyError`
    or `TypeError` for what is no tool call.
    """
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


def again(request: CompletionRequest, text: str, unparsed: Unparsed) -> CompletionRequest:
    """Return what to ask after the answer `text` to `request`, which could not be read.

    The conversation so far with that answer and what was wrong with it; the same request
    where the answer was cut short, was a refusal, or is empty: there is nothing to correct.
    """
    if unparsed.reason in _SAME_AGAIN or not text.strip():
        return request
    wrong = f"{unparsed.reason}: {unparsed.detail}" if unparsed.detail else unparsed.reason
    turns = (Message("assistant", text), Message(UNREAD, wrong))
    return replace(request, messages=(*request.messages, *turns))


class Structured:
    """Turns a conversation into the body of a request for a reply of the form `model`."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self.schema: Mapping[str, object] = model.model_json_schema()

    @property
    def tool(self) -> str:
        """The name of the tool that is to be called with the reply."""
        return str(self.schema["title"])

    def body(self, mode: Mode, turns: Sequence[Message]) -> dict[str, Any]:
        """Return the body's keys that `mode` needs, `messages` among them."""
        first = next((at for at, turn in enumerate(turns) if turn.role == UNREAD), len(turns) + 1)
        plain = [{"role": turn.role, "content": turn.content} for turn in turns[: first - 1]]
        if mode is Mode.JSON:
            body = _prepared(self._model, mode, messages=plain)
        else:
            body = {"messages": plain, **self._keys[mode]}
        said: str | None = None
        for number, turn in enumerate(turns[first - 1 :]):
            if turn.role != UNREAD:
                said = turn.content
            elif said is not None:
                body = self._corrected(mode, body, said, turn.content, number)
        return body

    @cached_property
    def _keys(self) -> dict[Mode, dict[str, Any]]:
        """The keys beside the messages, which are the same in every request."""
        strict = _is_strict(self.schema)
        keys = {}
        for mode in (Mode.JSON_SCHEMA, Mode.TOOLS):
            asked = {"strict": True} if strict and mode is Mode.TOOLS else {}
            body = _prepared(self._model, mode, **asked)
            keys[mode] = {name: value for name, value in body.items() if is_asked_for(name)}
        if strict:
            keys[Mode.JSON_SCHEMA]["response_format"]["json_schema"]["strict"] = True
        return keys

    def _corrected(
        self, mode: Mode, body: dict[str, Any], said: str, wrong: str, number: int
    ) -> dict[str, Any]:
        """Return `body` with an answer and what was wrong with it."""
        from instructor.processing import handle_reask_kwargs
        from openai.types.chat import ChatCompletion

        message: dict[str, Any] = {"role": "assistant", "content": said}
        if mode is Mode.TOOLS and _is_object(said):
            # Servers read the arguments of earlier calls, and Mistral's want ids of nine letters.
            function = {"name": self.tool, "arguments": said}
            call = {"id": f"call{number:05}", "type": "function", "function": function}
            message |= {"content": None, "tool_calls": [call]}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        response = ChatCompletion.model_validate(
            {"id": "", "object": "chat.completion", "created": 0, "model": "", "choices": [choice]}
        )
        corrected: dict[str, Any] = handle_reask_kwargs(
            body, mode=_instructors(mode), response=response, exception=ValueError(wrong)
        )
        return corrected


def _prepared(model: type[BaseModel], mode: Mode, **given: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the keys of a body with what the library adds to those `given`."""
    from instructor.processing import handle_response_model

    _, body = handle_response_model(model, mode=_instructors(mode), **given)
    return body


def _instructors(mode: Mode) -> instructor.Mode:
    """Return the library's name for a mode; its plain JSON needs nothing of the server."""
    from instructor import Mode as Theirs

    names = {
        Mode.JSON_SCHEMA: Theirs.JSON_SCHEMA,
        Mode.TOOLS: Theirs.TOOLS,
        Mode.JSON: Theirs.MD_JSON,
    }
    return names[mode]


def _is_strict(schema: object) -> bool:
    """Return whether every object in `schema` is closed and needs all its fields.

    OpenAI holds a reply to no other schema, and refuses to promise it.
    """
    if isinstance(schema, Mapping):
        fields = schema.get("properties")
        if isinstance(fields, Mapping) and (
            schema.get("additionalProperties") is not False
            or set(schema.get("required", ())) != set(fields)
        ):
            return False
        return all(map(_is_strict, schema.values()))
    return not isinstance(schema, list) or all(map(_is_strict, schema))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
