"""Replies of a fixed form: how they are asked for, and the way down where a server refuses."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from faultserver import ANNOTATE, Behaviour, Fault, FaultServer, first
from running import Runner, study_set

from judge import backends, rubrics
from judge.backends.base import Mode
from judge.backends.openai import Structured
from judge.cache import canonical, key_of
from judge.cache.answers import answer_to, decode_whole, encode
from judge.rubrics import Rubric
from judge.types import Completion, CompletionRequest, Message, Usage

SEEN = {Mode.JSON_SCHEMA: "json_schema", Mode.JSON: "text"}
REQUEST = CompletionRequest(
    "chat", "m", (Message("user", "q"),), {"max_tokens": 100}, {"a": 1}
)

DOWN = {Mode.JSON_SCHEMA: (), Mode.JSON: ("json_schema", "json_object")}
"""What a server must refuse for a mode to be used."""
FORM = Structured(rubrics.load("green").reply_model())


# The way down


@pytest.mark.parametrize("mode", Mode)
def test_the_first_mode_that_is_not_refused_is_used(
    server: FaultServer, runner: Runner, rubric: Rubric, mode: Mode
) -> None:
    server.set_faults(refused_modes=DOWN[mode], record=True)
    ends, progress = runner(6, concurrency=1)
    for key, end in ends.items():
        assert end.measures == rubric.measured(server.annotation(key), end.study)
        assert end.completion is not None
        assert end.completion.mode == mode.value
        assert end.completion.text == server.reply(key)
    steps = list(Mode).index(mode)
    assert progress.asked == 6
    assert len(runner.said) == steps, "said once for each step"
    tried = [SEEN[each] for each in list(Mode)[:steps]]
    assert server.stats().by_mode == Counter([*tried, *[SEEN[mode]] * 6])
    # What was sent.
    body, schema = server.requests()[-1]["body"], FORM.schema
    judge = backends.load("m", rubric, backends.JudgeSettings(base_url=server.url))
    request = judge.request(list(study_set(6))[-1])
    assert request.schema == schema, (
        "what holds the reply to its form is in the cache's key"
    )
    turns = [{"role": turn.role, "content": turn.content} for turn in request.messages]
    if mode is Mode.JSON:
        assert "response_format" not in body
        assert body["messages"][0]["content"].startswith(turns[0]["content"])
        assert json.dumps(schema, indent=2) in body["messages"][0]["content"]
        return
    assert body["messages"] == turns
    form = body["response_format"]["json_schema"]
    assert form["schema"] == schema
    assert form["strict"] is True


FORMED = [
    name
    for name in rubrics.built_in()
    if rubrics.load(name).reply_model and name in ANNOTATE
]


@pytest.mark.parametrize(
    ("name", "mode"), [(name, list(Mode)[at % 2]) for at, name in enumerate(FORMED)]
)
def test_each_rubric_in_each_mode(tmp_path: Path, name: str, mode: Mode) -> None:
    behaviour = Behaviour(
        refused_modes=DOWN[mode], studies={"study-0003": first(Fault.MALFORMED)}
    )
    with FaultServer(behaviour, rubric=name) as server:
        ask = Runner(server, rubrics.load(name), tmp_path)
        ends, progress = ask(10)
        for key, end in ends.items():
            assert end.measures == ask.rubric.measured(
                server.annotation(key), end.study
            )
        assert progress.asked == 11
        assert server.stats().by_mode[SEEN[mode]] == 11
        form = Structured(rubrics.load(name).reply_model())
        assert form.by_schema["json_schema"]["strict"] is True


# Asked again


def test_an_answer_keeps_its_mode_and_older_ones_are_read_as_they_were() -> None:
    record = canonical(REQUEST)
    key = key_of(record)
    old = json.loads(encode(answer_to(key, record, Completion("x", "stop", "m"))))
    assert "mode" not in old["completion"], "a text's entry is what it always was"
    for kept in (
        Completion("x", "stop", "m"),
        Completion("x", "stop", "m", Usage(1, 2), "2026-01-01", "tools"),
    ):
        entry = encode(answer_to(key, record, kept))
        assert decode_whole(key, entry).completion == kept
