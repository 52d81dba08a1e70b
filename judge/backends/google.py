"""Gemini models by Google's Gemini API.

A reply is held to its schema by `response_json_schema`, which takes the rubric's JSON schema as it
is. instructor's GENAI_STRUCTURED_OUTPUTS goes through Google's older `response_schema`, which has
no `additionalProperties` and so holds a reply less strictly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judge.backends.base import Client, Judge, JudgeSettings, Mode
from judge.backends.connection import Connection
from judge.backends.hosted import (
    EFFORT,
    SERVICE_TIER,
    HostedJudge,
    Provider,
    require_sdk,
)
from judge.rubrics import Rubric
from judge.types import CompletionRequest

CONFIG = "config"
# What the parameters of a question are called in Gemini's configuration.
_NAMES = {"max_tokens": "max_output_tokens"}


def _connect(connection: Connection, key: str) -> Client:
    from judge.backends.google_client import (
        GoogleClient,  # loads google-genai: only to ask
    )

    return GoogleClient(connection, key)


def _key_name(_connection: Connection) -> str:
    return "GEMINI_API_KEY"


PROVIDER = Provider(
    name="google",
    url="https://generativelanguage.googleapis.com",
    url_variable="GOOGLE_GEMINI_BASE_URL",
    key_variable=_key_name,
    connect=_connect,
    # Types of the google-genai package 3.6.1 (ServiceTier).
    service_tiers=("flex", "standard", "priority"),
)


def load(model: str, rubric: Rubric, settings: JudgeSettings) -> Judge:
    """Return the judge for a Gemini model; raises `JudgeError` without the package google-genai."""
    require_sdk("google.genai", "google-genai", model)
    return GoogleJudge(**PROVIDER.parts(model, rubric, settings))


@dataclass(eq=False, repr=False, kw_only=True)
class GoogleJudge(HostedJudge):
    """A Gemini model behind Google's API."""

    def conversation(self, request: CompletionRequest) -> dict[str, Any]:
        """Return the contents, and the configuration with instructions and form."""
        turns = self.turns(self.described(request))
        instructions = "\n\n".join(
            turn.content for turn in turns if turn.role == "system"
        )
        contents = []
        for turn in turns:
            if turn.role != "system":
                role = "model" if turn.role == "assistant" else "user"
                contents.append({"role": role, "parts": [{"text": turn.content}]})
        config: dict[str, Any] = {}
        if instructions:
            config["system_instruction"] = instructions
        if request.schema is not None and self.mode is not None:
            config["response_mime_type"] = "application/json"
            if self.mode is Mode.JSON_SCHEMA:
                config["response_json_schema"] = dict(request.schema)
        return {"contents": contents, CONFIG: config}

    def parameters(self, sampling: Mapping[str, Any]) -> dict[str, Any]:
        """Return the sampling by Gemini's names; an effort is a level of thinking."""
        parameters: dict[str, Any] = {}
        for name, value in sampling.items():
            if name == EFFORT:
                parameters["thinking_config"] = {"thinking_level": str(value).upper()}
            elif name == SERVICE_TIER:
                parameters[name] = str(value)
            else:
                parameters[_NAMES.get(name, name)] = value
        return parameters

    def body(self, request: CompletionRequest) -> dict[str, Any]:
        """Return what is sent: all parameters stand in the configuration."""
        conversation = self.conversation(request)
        sent = self.as_sent({**request.sampling, **self.handling})
        return {
            "model": self.served_as,
            "contents": conversation["contents"],
            CONFIG: {**conversation[CONFIG], **self.parameters(sent)},
        }
