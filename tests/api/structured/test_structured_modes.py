"""Replies of a fixed form: how they are asked for, and the way down where a server refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import toy
from faultserver import ANNOTATE, Behaviour, Fault, FaultServer, always, first
from pydantic import BaseModel
from running import Runner, study_set
from toy import DOWN, to_read

from judge import backends, rubrics
from judge.backends.structured import Mode, Structured, called, refuses
from judge.types import (
    Annotated,
    Failed,
    JudgeError,
    Message,
)

STYLES = ("openai", "azure", "vllm", "llamacpp", "ollama")
SEEN = {Mode.JSON_SCHEMA: "json_schema", Mode.TOOLS: "tools", Mode.JSON: "text"}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("mode", Mode)
def test_the_first_mode_that_is_not_refused_is_used(
    server: FaultServer, runner: Runner, mode: Mode, style: str
) -> None:
    server.set_faults(refused_modes=DOWN[mode], error_style=style)
    ends, progress = runner(12, concurrency=1)
    for key, end in ends.items():
        assert end.measures == toy.measure(server.annotation(key), end.study)
        assert end.completion is not None
        assert end.completion.mode == mode.value
        assert end.completion.text == server.answer(key)
        assert end.completion.finish_reason == "stop"
    steps = list(Mode).index(mode)
    assert progress.asked == 12
    assert server.stats().requests == 12 + steps
    assert server.stats().by_mode[SEEN[mode]] == 12
    assert len(runner.said) == steps, "said once for each step"
    assert all("instead" in line for line in runner.said)
    assert [row.mode for row in server.log()] == [
        *(SEEN[each] for each in list(Mode)[:steps]),
        *[SEEN[mode]] * 12,
    ]


def test_requests_refused_together_are_one_step_down(server: FaultServer, runner: Runner) -> None:
    server.set_faults(refused_modes=("json_schema",))
    ends, _ = runner(100, concurrency=32)
    assert all(isinstance(end.outcome, Annotated) for end in ends.values())
    modes = server.stats().by_mode
    assert modes["json_schema"] <= 32
    assert modes["tools"] == 100
    assert "text" not in modes
    assert len(runner.said) == 1


def test_a_refused_parameter_and_a_refused_mode(server: FaultServer, runner: Runner) -> None:
    server.set_faults(
        refused_modes=("json_schema",),
        refused_parameters={"max_tokens": "unsupported_parameter"},
        record=True,
    )
    ends, _ = runner(5, concurrency=1)
    assert all(isinstance(end.outcome, Annotated) for end in ends.values())
    assert server.stats().requests == 5 + 2
    assert "max_completion_tokens" in server.requests()[-1]["body"]


def test_another_400_is_no_step_down(server: FaultServer, runner: Runner) -> None:
    server.set_faults(refused_parameters={"model": "unsupported_parameter"})
    with pytest.raises(JudgeError, match="refuses the request"):
        runner(20, concurrency=4)
    assert set(server.stats().by_mode) == {"json_schema"}
    assert not runner.said


def test_a_prompt_that_is_too_long_is_no_step_down(server: FaultServer, runner: Runner) -> None:
    server.set_faults(studies={"study-0003": always(Fault.TOO_LONG)})
    ends, _ = runner(10)
    assert isinstance(ends["study-0003"].outcome, Failed)
    assert sum(isinstance(end.outcome, Annotated) for end in ends.values()) == 9
    assert set(server.stats().by_mode) == {"json_schema"}


def test_a_reply_that_the_server_withholds_is_no_step_down(
    server: FaultServer, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judge.running.asking._LONGEST_PAUSE", 0.5)
    server.set_faults(studies={"study-0003": first(Fault.WITHHELD)})
    ends, progress = runner(10)
    assert all(isinstance(end.outcome, Annotated) for end in ends.values())
    assert set(server.stats().by_mode) == {"json_schema"}
    assert progress.retries == {"withheld reply": 1}
    server.set_faults(studies={"study-0012": always(Fault.WITHHELD)})
    ends, _ = runner(13)
    assert isinstance(ends["study-0012"].outcome, Failed), "and it costs no other study"


SCHEMA, TOOLS, JSON = Mode
WORDINGS = [
    (SCHEMA, 400, "'response_format' of type 'json_schema' is not supported with this model", ""),
    (SCHEMA, 400, "Invalid schema for response_format 'Verdict'", "response_format"),
    (SCHEMA, 400, "response_format value as json_schema is enabled only for api versions x", ""),
    (SCHEMA, 400, "This response_format type is unavailable now", ""),
    (SCHEMA, 400, "This model does not support response format `json_schema`", ""),
    (SCHEMA, 422, "response_format: unknown variant `json_schema`, expected `text`", ""),
    (SCHEMA, 422, "[{'loc': ('body', 'response_format', 'type'), 'input': 'x'}]", ""),
    (SCHEMA, 500, 'response_format type must be one of "text" or "json_object"', ""),
    (SCHEMA, 400, "nothing to go by", "response_format"),
    (TOOLS, 400, "registry.ollama.ai/library/llama3:8b does not support tools", ""),
    (TOOLS, 400, '"auto" tool choice requires --enable-auto-tool-choice to be set', ""),
    (TOOLS, 500, "Unsupported param: tools", ""),
    (TOOLS, 500, "tools param requires --jinja flag", ""),
    (TOOLS, 400, "Invalid tool_choice type: 'object'. Supported values: none, auto", ""),
    (TOOLS, 400, "`tool calling` is not supported with this model", ""),
    (TOOLS, 400, "nothing to go by", "tools[0].function.parameters"),
]
NOT_REFUSED = [
    (SCHEMA, 400, "'temperature' does not support 0 with this model", "temperature"),
    (SCHEMA, 400, "Invalid value for 'messages[0].role'", "messages"),
    (SCHEMA, 500, "The server had an error while processing the request", ""),
    (SCHEMA, 500, "failed while writing the response_format", ""),
    (SCHEMA, 429, "too many requests with response_format", ""),
    (SCHEMA, 422, "[{'loc': ('body', 'seed'), 'input': {'response_format': 1}}]", ""),
    (TOOLS, 400, "the toolshed is closed", ""),
    (JSON, 400, "response_format tools tool_choice are not supported", "tools"),
]


@pytest.mark.parametrize(("mode", "status", "message", "param"), WORDINGS)
def test_words_that_refuse_a_mode(mode: Mode, status: int, message: str, param: str) -> None:
    assert refuses(mode, status, message, param)


@pytest.mark.parametrize(("mode", "status", "message", "param"), NOT_REFUSED)
def test_words_that_refuse_something_else(
    mode: Mode, status: int, message: str, param: str
) -> None:
    assert not refuses(mode, status, message, param)


# What is sent


@pytest.mark.parametrize("mode", Mode)
def test_what_is_sent_in_each_mode(server: FaultServer, runner: Runner, mode: Mode) -> None:
    server.set_faults(refused_modes=DOWN[mode], record=True)
    runner(3, concurrency=1)
    body = server.requests()[-1]["body"]
    schema = toy.Verdict.model_json_schema()
    judge = backends.load("m", toy.TOY, backends.JudgeSettings(base_url=server.url))
    request = judge.request(list(study_set(3))[-1])
    assert request.schema == schema, "what holds the reply to its form is in the cache's key"
    own = [{"role": turn.role, "content": turn.content} for turn in request.messages]
    assert body["temperature"] == 0
    if mode is Mode.JSON_SCHEMA:
        assert body["messages"] == own
        form = body["response_format"]["json_schema"]
        assert (form["strict"], form["schema"], form["name"]) == (True, schema, "Verdict")
    elif mode is Mode.TOOLS:
        assert body["messages"] == own
        ((tool,), choice) = body["tools"], body["tool_choice"]
        assert choice == {"type": "function", "function": {"name": "Verdict"}}
        assert tool["function"]["strict"] is True
        assert tool["function"]["parameters"]["properties"] == schema["properties"]
    else:
        assert not {"tools", "tool_choice", "response_format"} & set(body)
        for sent, ours in zip(body["messages"], own, strict=True):
            assert sent["role"] == ours["role"]
            assert sent["content"].startswith(ours["content"]), "nothing comes before our words"
        assert json.dumps(schema, indent=2) in body["messages"][0]["content"]


def test_what_openai_would_not_promise_is_not_asked_as_a_promise() -> None:
    class Loose(BaseModel):
        """A reply with a field that may be left out."""

        text: str = ""

    for mode in (Mode.JSON_SCHEMA, Mode.TOOLS):
        assert "strict" not in json.dumps(Structured(Loose).body(mode, [Message("user", "x")]))


FORMED = [name for name in rubrics.built_in() if rubrics.load(name).reply_model]


@pytest.mark.parametrize("name", FORMED)
def test_the_form_of_each_rubric_is_promised(name: str) -> None:
    model = rubrics.load(name).reply_model
    assert model is not None
    body = Structured(model()).body(Mode.JSON_SCHEMA, [Message("user", "x")])
    assert body["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("name", [name for name in FORMED if name in ANNOTATE])
def test_each_rubric_in_each_mode(tmp_path: Path, name: str, mode: Mode) -> None:
    behaviour = Behaviour(refused_modes=DOWN[mode], studies={"study-0003": first(Fault.MALFORMED)})
    with FaultServer(behaviour, rubric=name) as server:
        ask = Runner(server, rubrics.load(name), tmp_path)
        ends, progress = ask(10)
        for key, end in ends.items():
            assert end.measures == ask.rubric.measured(server.annotation(key), end.study)
        assert progress.asked == 11
        assert server.stats().by_mode[SEEN[mode]] == 11


# Tools


@pytest.mark.parametrize("fault", [Fault.SEVERAL_CALLS, Fault.OTHER_CALL])
def test_another_call_than_the_one_is_never_read(
    server: FaultServer, runner: Runner, fault: Fault
) -> None:
    server.set_faults(studies={"study-0001": always(fault)}, refused_modes=DOWN[TOOLS])
    ends, _ = runner(3)
    end = ends["study-0001"]
    assert to_read(end.outcome) == "wrong tool call"
    assert end.measures is None
    assert end.attempt == 1
    assert end.completion is not None
    assert server.answer("study-0001") in [
        call["arguments"] for call in json.loads(end.completion.text)
    ], "what was said is kept"
    assert sum(isinstance(other.outcome, Annotated) for other in ends.values()) == 2


def test_an_answer_in_plain_words_instead_of_a_call_is_read(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(
        rates={Fault.CONTENT_FOR_CALL: 1.0}, refused_modes=DOWN[TOOLS], error_style="ollama"
    )
    ends, _ = runner(5)
    for key, end in ends.items():
        assert end.measures == toy.measure(server.annotation(key), end.study)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.TRUNCATED, "truncated"),
        (Fault.REFUSAL, "refusal"),
        (Fault.EMPTY, "empty"),
        (Fault.NULL, "empty"),
        (Fault.MALFORMED, "bad form"),
    ],
)
@pytest.mark.parametrize("mode", Mode)
def test_what_is_no_answer_is_none_in_any_mode(
    server: FaultServer, runner: Runner, mode: Mode, fault: Fault, reason: str
) -> None:
    server.set_faults(studies={"study-0001": always(fault)}, refused_modes=DOWN[mode])
    ends, _ = runner(3, reask=0)
    assert to_read(ends["study-0001"].outcome) == reason
    assert sum(isinstance(end.outcome, Annotated) for end in ends.values()) == 2


def test_a_call_is_read_as_it_is_written() -> None:
    def message(*functions: object) -> dict[str, object]:
        return {"tool_calls": [{"function": function} for function in functions]}

    good = {"name": "Verdict", "arguments": '{"faults": []}'}
    assert called({"content": "x"}, "Verdict") is None
    assert called({"tool_calls": []}, "Verdict") is None
    assert called(message(good), "Verdict") == ('{"faults": []}', True)
    assert called(message({**good, "arguments": None}), "Verdict") == ("", True)
    assert called(message({**good, "arguments": {"faults": []}}), "Verdict") == (
        '{"faults": []}',
        True,
    )
    text, as_asked = called(message(good, good), "Verdict") or ("", True)
    assert json.loads(text) == [good, good]
    assert not as_asked


@pytest.mark.parametrize("name", ["green", "fineradscore"])
def test_a_schema_is_asked_for_as_the_library_words_it(name: str) -> None:
    """Our own words spare its import; every other way of asking goes through it."""
    from instructor import Mode as Theirs
    from instructor.processing import handle_response_model

    form = rubrics.load(name).reply_model
    assert form is not None
    _, theirs = handle_response_model(form(), mode=Theirs.JSON_SCHEMA, messages=[])
    ours = Structured(form()).body(Mode.JSON_SCHEMA, [Message("user", "?")])
    assert ours["response_format"]["json_schema"].pop("strict") is True
    assert ours["response_format"] == theirs["response_format"]
