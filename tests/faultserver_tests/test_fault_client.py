"""How each fault reaches a program that uses the `openai` package, over a real socket."""

from __future__ import annotations

import json
import time

import openai
import pytest
from fault_asking import IMPATIENT, PATIENT, ask, error, one, plain
from faultserver import Behaviour, Fault, FaultServer, Outage, always, first
from faultserver.answers import MALFORMED, REFUSAL

# fault: exception, status, code, param
STATUS = {
    Fault.RATE_LIMIT: (openai.RateLimitError, 429, "rate_limit_exceeded", None),
    Fault.NO_QUOTA: (openai.RateLimitError, 429, "insufficient_quota", None),
    Fault.SERVER_ERROR: (openai.InternalServerError, 500, None, None),
    Fault.BAD_GATEWAY: (openai.InternalServerError, 502, None, None),
    Fault.UNAVAILABLE: (openai.InternalServerError, 503, None, None),
    Fault.FILTERED_PROMPT: (openai.BadRequestError, 400, "content_filter", "prompt"),
    Fault.TOO_LONG: (openai.BadRequestError, 400, "context_length_exceeded", "messages"),
    Fault.WRONG_KEY: (openai.AuthenticationError, 401, "invalid_api_key", None),
    Fault.FORBIDDEN: (openai.PermissionDeniedError, 403, "forbidden", None),
    Fault.UNKNOWN_MODEL: (openai.NotFoundError, 404, "model_not_found", None),
}
# fault: exception with the default transport, with aiohttp's, and how the server logs it.
BROKEN = {
    Fault.DROP: (openai.APIConnectionError, openai.APITimeoutError, "dropped"),
    Fault.RESET: (openai.APIConnectionError, openai.APIConnectionError, "reset"),
    Fault.CUT_BODY: (openai.APIConnectionError, openai.APIConnectionError, "cut"),
    Fault.STALL: (openai.APITimeoutError, openai.APITimeoutError, "stalled"),
    Fault.STALL_BODY: (openai.APITimeoutError, openai.APITimeoutError, "stalled"),
}


@pytest.fixture(scope="module")
def running():
    with FaultServer(render=plain, mode="thread") as server:
        yield server


@pytest.fixture
def server(running: FaultServer):
    """The one server, as new."""
    running.reset()
    running.set_faults(**{name: getattr(Behaviour(), name) for name in Behaviour.__slots__})
    return running


both = pytest.mark.parametrize("aio", [False, True], ids=["default", "aiohttp"])


@both
def test_a_right_answer(server: FaultServer, aio: bool) -> None:
    server.set_faults(models={"gpt-4o": "gpt-4o-2024-08-06"}, cached_tokens=10)
    answer = one(server.url, "study-0042", aio=aio)
    assert answer.choices[0].message.content == server.answer("study-0042")
    assert answer.choices[0].message.content == plain(server.annotation("study-0042"))
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "gpt-4o-2024-08-06"
    assert answer.usage.prompt_tokens_details.cached_tokens == 10
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    stats = server.stats()
    assert stats.by_study == {"study-0042": 1}
    assert (stats.prompt_tokens, stats.cached_tokens, stats.completion_tokens) == (
        answer.usage.prompt_tokens,
        10,
        answer.usage.completion_tokens,
    )


def test_every_answer_has_an_id_of_its_own(server: FaultServer) -> None:
    assert len({answer.id for answer in ask(server.url, ["study-1"] * 3)}) == 3


@both
@pytest.mark.parametrize("fault", STATUS)
def test_error_responses(server: FaultServer, fault: Fault, aio: bool) -> None:
    server.set_faults(studies={"study-1": first(fault)})
    kind, status, code, param = STATUS[fault]
    caught = error(server.url, aio=aio)
    assert type(caught) is kind
    assert (caught.status_code, caught.code, caught.param) == (status, code, param)
    assert one(server.url, aio=aio).choices[0].message.content == server.answer("study-1")
    assert server.stats().by_status == {str(status): 1, "200": 1}
    assert server.stats().by_fault == {fault: 1}


@both
@pytest.mark.parametrize("fault", BROKEN)
def test_broken_connections(server: FaultServer, fault: Fault, aio: bool) -> None:
    server.set_faults(studies={"study-1": first(fault)})
    stalls = fault in (Fault.STALL, Fault.STALL_BODY)
    start = time.monotonic()
    caught = error(server.url, aio=aio, timeout=IMPATIENT if stalls else PATIENT)
    waited = time.monotonic() - start
    assert type(caught) is BROKEN[fault][aio]
    assert waited > IMPATIENT * 0.9 if stalls else waited < PATIENT * 0.9
    assert one(server.url, aio=aio).choices[0].message.content == server.answer("study-1")
    assert server.wait_for(lambda stats: stats.in_flight == 0).by_status == {
        BROKEN[fault][2]: 1,
        "200": 1,
    }


@both
def test_wrong_bodies(server: FaultServer, aio: bool) -> None:
    server.set_faults(
        studies={
            "study-1": always(Fault.BROKEN_JSON),
            "study-2": always(Fault.HTML),
            "study-3": always(Fault.NO_CHOICES),
            "study-4": always(Fault.EMPTY_CHOICES),
        }
    )
    broken, page, without, empty = ask(server.url, [f"study-{n}" for n in range(1, 5)], aio=aio)
    # Not one of the client's own exceptions, nor even an answer: its users must know both.
    assert isinstance(broken, json.JSONDecodeError)
    assert isinstance(page, str)
    assert page.startswith("<html>")
    assert without.choices is None
    assert empty.choices == []


def test_wrong_answers(server: FaultServer) -> None:
    server.set_faults(
        studies={
            fault.value: always(fault)
            for fault in (
                *(Fault.MALFORMED, Fault.EMPTY, Fault.NULL, Fault.REFUSAL, Fault.REFUSAL_TEXT),
                *(Fault.TRUNCATED, Fault.FILTERED),
            )
        },
        key_pattern="(?<=Reference: )[a-z_]+",
    )
    for _ in range(2):
        answers = {}
        for key, answer in zip(
            server.behaviour.studies, ask(server.url, server.behaviour.studies), strict=True
        ):
            choice = answer.choices[0]
            answers[key] = (choice.finish_reason, choice.message.content, choice.message.refusal)
        malformed = answers.pop("malformed")
        assert malformed[0] == "stop"
        assert malformed[1] in MALFORMED
        half = {key: server.answer(key)[: len(server.answer(key)) // 2] for key in answers}
        assert answers == {
            "empty": ("stop", "", None),
            "null": ("stop", None, None),
            "refusal": ("stop", None, REFUSAL),
            "refusal_text": ("stop", REFUSAL, None),
            "truncated": ("length", half["truncated"], None),
            "filtered": ("content_filter", half["filtered"], None),
        }


@pytest.mark.parametrize(
    ("form", "headers"),
    [
        ("both", ("1", "250")),
        ("seconds", ("0.250", None)),
        ("none", (None, None)),
    ],
)
def test_retry_after(server: FaultServer, form: str, headers: tuple[str | None, ...]) -> None:
    server.set_faults(
        studies={"study-1": first(Fault.RATE_LIMIT)}, retry_after=0.25, retry_after_form=form
    )
    told = error(server.url).response.headers
    assert (told.get("retry-after"), told.get("retry-after-ms")) == headers


def test_retry_after_as_a_date(server: FaultServer) -> None:
    server.set_faults(studies={"study-1": first(Fault.RATE_LIMIT)}, retry_after_form="date")
    assert error(server.url).response.headers["retry-after"].endswith(" GMT")


def test_refused_parameters(server: FaultServer) -> None:
    server.set_faults(
        refused_parameters={
            "temperature": "unsupported_value",
            "max_tokens": "unsupported_parameter",
        }
    )
    caught = error(server.url)
    assert (caught.status_code, caught.code, caught.param) == (
        400,
        "unsupported_value",
        "temperature",
    )
    caught = error(server.url, temperature=1)
    assert (caught.code, caught.param) == ("unsupported_parameter", "max_tokens")
    assert "'max_completion_tokens'" in caught.message
    answer = one(server.url, temperature=1, max_tokens=openai.omit, max_completion_tokens=99)
    assert answer.choices[0].message.content
    # Not one of these took the study's first place in its plan.
    assert [row.attempt for row in server.log()] == [-1, -1, 0]


def test_the_words_of_vllm(server: FaultServer) -> None:
    server.set_faults(
        refused_parameters={"temperature": "unsupported_parameter"}, error_style="vllm"
    )
    caught = error(server.url)
    # Some releases of the client leave the code the number that it is.
    assert (caught.status_code, str(caught.code), caught.type, caught.param) == (
        400,
        "400",
        "BadRequestError",
        None,
    )
    assert "'temperature'" in caught.message


def test_keys_and_models(server: FaultServer) -> None:
    server.set_faults(api_keys=("right",), models={"gpt-4o": "gpt-4o"})
    assert type(error(server.url, api_key="wrong")) is openai.AuthenticationError
    caught = error(server.url, api_key="right", model="gpt-5o")
    assert (caught.status_code, caught.code) == (404, "model_not_found")
    assert one(server.url, api_key="right").model == "gpt-4o"


def test_streams_are_refused(server: FaultServer) -> None:
    assert error(server.url, stream=True).param == "stream"


def test_an_answer_longer_than_asked_for_is_cut(server: FaultServer) -> None:
    choice = one(server.url, max_tokens=3).choices[0]
    assert choice.finish_reason == "length"
    assert choice.message.content == server.answer("study-1")[:12]


@both
def test_a_port_where_nobody_listens(server: FaultServer, aio: bool) -> None:
    server.set_faults(outage=Outage(Fault.REFUSED))
    caught = error(server.url, aio=aio)
    assert type(caught) is (openai.APITimeoutError if aio else openai.APIConnectionError)
    server.set_faults(outage=None)
    assert one(server.url, aio=aio).choices
