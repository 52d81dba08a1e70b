"""What a model on one's own machine is asked after an answer that could not be read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from faultserver import Behaviour, FaultServer

from judge import prompts
from judge.backends.connection import NO_KEY, Connection, Pool
from judge.backends.openai import connect
from judge.backends.vllm import VLLMJudge
from judge.prompts import GREEN
from judge.types import Completion, Message, Study, Unparsed


class Encoder:
    """As much of an encoder as questions need."""

    limit, eos_id, layout = 2048, 2, GREEN

    def encode(self, messages: Sequence[Message]) -> list[int]:
        return [*map(ord, messages[-1].content)]


def questions(url: str = "http://127.0.0.1:1", **asked: object) -> VLLMJudge:
    encoder: Any = Encoder()
    return VLLMJudge(
        name="vllm:m",
        version="m",
        prompt=prompts.load("green"),
        encoder=encoder,
        served_as="m",
        servers=Pool([(Connection(url), NO_KEY)], "m", print, connect),
        max_tokens=100,
        asked=asked,
    )


def test_a_green_model_is_not_asked_again() -> None:
    asking, answer = questions(), Completion("words", "stop", "m")
    request = asking.request(Study("s", "Clear.", "Effusion."))
    unparsed = Unparsed("missing section", "no heading")
    assert asking.repair_request(request, answer, unparsed) is None


def test_what_a_served_model_is_sent() -> None:
    asked = {"temperature": 0.5, "seed": 3, "top_k": 20}

    async def ask(judge: VLLMJudge) -> None:
        await judge.complete(judge.request(Study("s", "study-0001", "Effusion.")))
        await judge.aclose()

    with FaultServer(Behaviour(record=True)) as server:
        asyncio.run(ask(questions(server.url, **asked)))
        (body,) = (each["body"] for each in server.requests())
    assert {name: body[name] for name in asked} == asked
    assert body["max_tokens"] == 100
