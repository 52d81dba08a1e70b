"""What a model on one's own machine is asked after an answer that could not be read."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from faultserver import Behaviour, FaultServer

from judge import prompts
from judge.backends.openai import NO_KEY, Connection, Pool
from judge.backends.vllm import VLLMJudge
from judge.prompts import GREEN
from judge.types import Completion, CompletionRequest, Message, Study, Unparsed


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
        servers=Pool([(Connection(url), NO_KEY)], "m", print),
        max_tokens=100,
        asked=asked,
    )


def again(asking: VLLMJudge) -> tuple[CompletionRequest, CompletionRequest | None]:
    request = asking.request(Study("s", "Clear.", "Effusion."))
    answer = Completion("words", "stop", "m")
    return request, asking.repair_request(
        request, answer, Unparsed("missing section", "no heading")
    )


def test_a_greedy_green_model_is_not_asked_the_same_again() -> None:
    assert again(questions())[1] is None


def test_a_green_model_that_samples_is_asked_again_with_another_seed() -> None:
    request, same = again(questions(temperature=0.5))
    assert same == request
    asking = questions(temperature=0.5, seed=3)
    request, other = again(asking)
    assert other is not None
    assert (request.sampling["seed"], other.sampling["seed"]) == (3, 4)
    assert other.messages == request.messages


def test_what_a_served_model_is_sent() -> None:
    asked = {"temperature": 0.5, "seed": 3, "top_k": 20}

    async def ask(judge: VLLMJudge, *requests: CompletionRequest) -> None:
        for request in requests:
            await judge.complete(request)
        await judge.aclose()

    with FaultServer(Behaviour(record=True)) as server:
        judge = questions(server.url, **asked)
        _, other = again(judge)
        assert other is not None
        request = judge.request(Study("s", "study-0001", "Effusion."))
        asyncio.run(ask(judge, request, other))
        bodies = [each["body"] for each in server.requests()]
    for body, seed in zip(bodies, (3, 4), strict=True):
        assert {name: body[name] for name in asked} == {**asked, "seed": seed}
        assert body["max_tokens"] == 100
