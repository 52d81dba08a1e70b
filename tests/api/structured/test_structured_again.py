"""Replies of a fixed form: asking again, what that costs, and what is kept of it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
import toy
from faultserver import Fault, FaultServer, always, first
from hypothesis import given
from hypothesis import strategies as st
from running import Runner, keys, study_set
from toy import DOWN, to_read

from judge import backends, rubrics
from judge.backends.connection import OPENAI_URL
from judge.backends.structured import UNREAD, Mode, Structured, repair_request
from judge.cache.entry import decode, encode
from judge.cache.keys import canonical, key_of
from judge.cli.progress import account
from judge.running import session
from judge.running.asking import RequestPolicy
from judge.running.dry import Forecast, forecast
from judge.running.engine import RunStoppedError
from judge.running.progress import Prices, prompt_tokens
from judge.running.records import completion_of
from judge.running.session import JudgeSession
from judge.types import (
    Annotated,
    Completion,
    CompletionRequest,
    Message,
    Unparsed,
    Usage,
)

REQUEST = CompletionRequest("chat", "m", (Message("user", "q"),), {"max_tokens": 100}, {"a": 1})


def test_an_unread_reply_is_shown_and_every_attempt_is_kept(
    server: FaultServer, runner: Runner
) -> None:
    plan = first(Fault.MALFORMED, Fault.MALFORMED)
    server.set_faults(studies={"study-0003": plan}, record=True)
    ends, progress = runner(5, reask=2)
    end = ends["study-0003"]
    assert isinstance(end.outcome, Annotated)
    assert end.attempt == 2
    bodies = [each["body"] for each in server.requests() if each["study"] == "study-0003"]
    turns = [body["messages"] for body in bodies]
    assert [len(each) - len(turns[0]) for each in turns] == [0, 2, 4], "each shows all before it"
    answer, wrong = turns[1][-2:]
    assert answer["role"] == "assistant"
    assert wrong["role"] == "user"
    assert "bad form" in wrong["content"]
    assert turns[2][: len(turns[1])] == turns[1]
    assert all(body["response_format"] == bodies[0]["response_format"] for body in bodies)
    assert progress.asked == 7
    assert progress.prompt_tokens == server.stats().prompt_tokens
    assert progress.completion_tokens == server.stats().completion_tokens
    server.reset()
    again_ends, resumed = runner(5, reask=2)
    assert server.stats().requests == 0
    assert (resumed.asked, resumed.from_cache) == (0, 7)
    assert again_ends == ends


def test_a_chain_goes_on_where_it_was_broken_off(server: FaultServer, runner: Runner) -> None:
    server.set_faults(
        studies={"study-0003": always(Fault.MALFORMED)}, refused_modes=DOWN[Mode.TOOLS]
    )
    assert to_read(runner(5, reask=1)[0]["study-0003"].outcome) == "bad form"
    server.set_faults(studies={})
    server.reset()
    ends, progress = runner(5, reask=2)
    assert ends["study-0003"].attempt == 2
    assert isinstance(ends["study-0003"].outcome, Annotated)
    assert (progress.asked, progress.from_cache) == (1, 6)


def test_a_reply_in_another_mode_belongs_to_the_same_chain(
    server: FaultServer, runner: Runner
) -> None:
    """What a server takes decides how it is asked, not what is asked."""
    server.set_faults(studies={"study-0001": always(Fault.MALFORMED)})
    runner(3, reask=0)
    server.set_faults(studies={}, refused_modes=DOWN[Mode.JSON])
    ends, progress = runner(3, reask=1)
    assert (progress.asked, progress.from_cache) == (1, 3)
    modes = [end.completion.mode for end in ends.values() if end.completion]
    assert sorted(map(str, modes)) == ["json", "json_schema", "json_schema"]


@pytest.mark.parametrize("fault", [Fault.TRUNCATED, Fault.REFUSAL, Fault.EMPTY, Fault.NULL])
def test_no_question_is_asked_twice(server: FaultServer, runner: Runner, fault: Fault) -> None:
    server.set_faults(studies={"study-0001": first(fault)}, record=True)
    ends, _ = runner(2)
    assert ends["study-0001"].attempt == 1
    one, two = (each["body"] for each in server.requests() if each["study"] == "study-0001")
    assert two["messages"][: len(one["messages"])] == one["messages"]
    answer, wrong = two["messages"][len(one["messages"]) :]
    assert answer["role"] == "assistant"
    assert answer["content"].strip(), "servers refuse an answer without words"
    assert wrong["role"] == "user"


def test_of_what_was_cut_the_beginning_is_shown() -> None:
    asked = repair_request(REQUEST, '{"faults": [' * 1000, Unparsed("truncated", "why"))
    assert asked.messages[-2].content == ('{"faults": [' * 1000)[:500]


@given(st.text(), st.text(min_size=1), st.text())
def test_what_is_asked_again_is_decided_by_what_was_said(
    text: str, reason: str, detail: str
) -> None:
    asked = repair_request(REQUEST, text, Unparsed(reason, detail))
    assert asked == repair_request(REQUEST, text, Unparsed(reason, detail))
    assert asked.messages[:-2] == REQUEST.messages
    assert asked.messages[-2] == Message("assistant", text if text.strip() else "(no answer)")
    assert asked.messages[-1].role == UNREAD


def test_the_built_in_judge_is_asked_once() -> None:
    judge = backends.load("lexicon", rubrics.load("green"))
    request = judge.request(next(iter(study_set(1))))
    completion = Completion("nothing", "stop", "m")
    assert judge.repair_request(request, completion, Unparsed("missing section")) is None


CHAIN = [
    Message("system", "s"),
    Message("user", "shot"),
    Message("assistant", '{"faults": []}'),
    Message("user", "q"),
    Message("assistant", '{"faults": 1}'),
    Message(UNREAD, "bad form: a list is wanted"),
    Message("assistant", "words"),
    Message(UNREAD, "bad form: no JSON"),
]


@pytest.mark.parametrize("mode", Mode)
def test_how_a_correction_is_put_in_each_mode(mode: Mode) -> None:
    body = Structured(toy.Verdict).body(mode, CHAIN)
    roles = [turn["role"] for turn in body["messages"]]
    assert roles == [
        *("system", "user", "assistant", "user"),
        *("assistant", "user", "assistant", "user"),
    ]
    assert body["messages"][4]["content"] == '{"faults": 1}'
    assert "a list is wanted" in body["messages"][5]["content"]
    assert body["messages"][6]["content"] == "words"
    assert "no JSON" in body["messages"][7]["content"]
    assert json.loads(json.dumps(body)) == body


# Money


def test_every_attempt_is_paid_for(
    server: FaultServer, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No server on this machine has a price: this one is given GPT-4o's."""
    prices = Prices("gpt-4o", OPENAI_URL)
    monkeypatch.setattr(session, "Prices", lambda _model, _at: prices)
    server.set_faults(studies={"study-0001": always(Fault.MALFORMED)}, cached_tokens=50)
    ends, progress = runner(3, reask=2)
    assert to_read(ends["study-0001"].outcome) == "bad form"
    stats = server.stats()
    assert progress.asked == stats.answered == 5
    spent = Usage(stats.prompt_tokens, stats.completion_tokens, stats.cached_tokens)
    assert progress.dollars == pytest.approx(prices.dollars(spent))
    assert progress.cached_tokens == 5 * 50
    assert any("250 of them cached by the provider" in line for line in account(progress))


def test_max_cost_is_kept_when_answers_are_asked_for_again(
    server: FaultServer, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "Prices", lambda _model, _at: Prices("gpt-4o", OPENAI_URL))
    server.set_faults(rates={Fault.MALFORMED: 1.0})
    with pytest.raises(RunStoppedError, match="--max-cost") as stopped:
        runner(200, max_cost=0.2, concurrency=4, reask=3)
    spent = stopped.value.progress.dollars
    assert spent is not None
    assert 0.1 < spent <= 0.2


def test_what_a_form_adds_to_the_prompt_is_in_the_estimate() -> None:
    bare = replace(REQUEST, schema=None)
    formed = replace(bare, schema=toy.Verdict.model_json_schema())
    longer = repair_request(formed, "x" * 400, Unparsed("bad form"))
    assert prompt_tokens(bare) < prompt_tokens(formed) < prompt_tokens(longer)
    prices = Prices("gpt-4o", OPENAI_URL)
    ours, asked = replace(bare, model="gpt-4o"), replace(formed, model="gpt-4o")
    assert (prices.at_most(ours) or 0) < (prices.at_most(asked) or 0)


def test_a_forecast_follows_the_answers_that_could_not_be_read(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(studies={key: always(Fault.MALFORMED) for key in keys(2)})
    runner(5, reask=0)
    judge = backends.load("model-x", toy.TOY, backends.JudgeSettings(base_url=server.url))

    def coming(reask: int) -> Forecast:
        with JudgeSession(toy.TOY, judge, RequestPolicy(reask=reask), runner.cache) as session:
            found = forecast(session, study_set(5))
        assert found is not None
        return found

    plain, again_once = coming(0), coming(1)
    assert (plain.requests, plain.cached) == (0, 5)
    assert (again_once.requests, again_once.cached) == (2, 5)
    assert again_once.worst.usage.prompt_tokens > 0
    assert again_once.n_seen == 5
    # Each is asked for again no more than the policy has it: once, and that was counted.
    assert again_once.worst.requests == 2
    _, progress = runner(5, reask=1)
    assert progress.asked == again_once.requests


# What is kept


def test_an_answer_keeps_its_mode_and_older_ones_are_read_as_they_were() -> None:
    record = canonical(REQUEST)
    old = json.loads(encode(record, Completion("x", "stop", "m")))
    assert "mode" not in old["completion"], "a text's entry is what it always was"
    for completion in (
        Completion("x", "stop", "m"),
        Completion("x", "stop", "m", Usage(1, 2), "2026-01-01", "tools"),
    ):
        entry = decode(0, key_of(record), encode(record, completion), 0.0)
        assert entry.completion == completion


def test_a_run_keeps_the_mode_of_each_answer(server: FaultServer, runner: Runner) -> None:
    server.set_faults(refused_modes=DOWN[Mode.TOOLS])
    for end in runner(2)[0].values():
        assert end.completion is not None
        answer = json.loads(json.dumps(asdict(end.completion)))
        assert answer["mode"] == "tools"
        assert completion_of({"answer": answer}) == end.completion
        del answer["mode"]
        assert completion_of({"answer": answer}) == replace(end.completion, mode=None)


def test_who_asks_for_no_form_waits_for_no_import() -> None:
    program = (
        "import sys\n"
        "from judge import annotate, backends, rubrics\n"
        "backends.load('m', rubrics.load('green'), "
        "backends.JudgeSettings(base_url='http://127.0.0.1:9/v1', reply='text'))\n"
        "print(*{'instructor', 'pydantic', 'openai'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("\n", "")
