"""Sampling parameters: checked, sent, named in the signature and in the cache's key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from faultserver import Fault, FaultServer, always
from running import Runner, Shell, study_set

from judge import backends, rubrics
from judge.backends import sampling
from judge.cache import key
from judge.cli import main
from judge.running.session import signature
from judge.types import JudgeError

GREEN = rubrics.load("green")


def load(model: str = "model-x", **settings: Any) -> backends.Judge:
    given = {"base_url": "http://127.0.0.1:9/v1", "reply": "text"} | settings
    return backends.load(model, GREEN, backends.JudgeSettings(**given))


def line(judge: backends.Judge) -> str:
    return signature(GREEN, judge, study_set(2), "field", 1)


def test_a_run_without_options_has_the_key_and_the_sampling_it_always_had() -> None:
    """As derived for this wording: while neither changes, paid answers stay found."""
    judge = load(prompt="green")
    request = judge.request(next(iter(study_set(1))))
    assert request.sampling == {"temperature": 0, "max_tokens": 2048}
    assert request.schema is None
    assert key(request) == ("v1-0db94e37702e612de38d5c0f38d1dc4fe4dd1a8520ccd1b8ad1758cf89114d6f")
    assert "|sampling:max_tokens=2048,temperature=0|" in line(judge)


def test_what_is_asked_for_is_sent_named_and_part_of_the_question(
    server: FaultServer, runner: Runner
) -> None:
    asked = {"temperature": 0.7, "top_p": 0.9, "seed": 7, "reasoning_effort": "low"}
    asked |= {"chat_template_kwargs": {"enable_thinking": False}, "top_k": 20}
    server.set_faults(record=True)
    runner(3)
    runner(3, asking={"sampling": asked})
    body = server.requests()[-1]["body"]
    assert {name: body[name] for name in asked} == asked
    assert server.stats().requests == 6, "another question"
    runner(3, asking={"sampling": {**asked, "seed": 8}})
    runner(3, asking={"sampling": {"temperature": 0.0}})
    assert server.stats().requests == 9, "0 is what it is by default"
    named = line(load(sampling=asked))
    for part in ("temperature=0.7", "seed=7", 'effort="low"', 'kwargs={"enable_thinking": false}'):
        assert part in named
    assert line(load(sampling={"temperature": 0.0})) == line(load())


def test_what_the_user_wants_is_not_left_out_silently(server: FaultServer, runner: Runner) -> None:
    server.set_faults(refused_parameters={"temperature": "unsupported_value"})
    with pytest.raises(JudgeError, match="model-x refuses temperature"):
        runner(3, asking={"sampling": {"temperature": 0.5}})
    ends, _ = runner(3)
    assert len(ends) == 3, "what nobody asked for is left out with a word"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"temperature": -1}, "--temperature is a number from 0 to 2"),
        ({"temperature": float("nan")}, "--temperature"),
        ({"temperature": True}, "--temperature"),
        ({"temperature": "0"}, "--temperature"),
        ({"top_p": 0}, "--top-p is a number above 0"),
        ({"top_p": 1.1}, "--top-p"),
        ({"seed": 1.5}, "--seed"),
        ({"seed": 2**63}, "--seed"),
        ({"reasoning_effort": "as much as you can"}, "--reasoning-effort"),
        ({"max_tokens": 3}, "set by --max-tokens"),
        ({"max_completion_tokens": 3}, "set by --max-tokens"),
        ({"messages": []}, "set by --prompt"),
        ({"response_format": {}}, "set by --reply"),
        ({"model": "x"}, "set by --judge"),
        ({"n": 2}, "n cannot be set"),
        ({"stream": True}, "stream cannot be set"),
        ({"stop": "."}, "stop cannot be set"),
        ({"x": float("inf")}, "no value of JSON"),
        ({"x": {1, 2}}, "no value of JSON"),
        ({"a b": 1}, "no name"),
    ],
)
def test_what_no_server_takes_or_would_spoil_the_answer(given: dict[str, Any], says: str) -> None:
    with pytest.raises(JudgeError, match=says):
        load(sampling=given)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--body", "top_k"], "write KEY=JSON"),
        (["--body", "mode=fast"], "no JSON"),
        (["--body", "temperature=1"], "use --temperature"),
        (["--body", "top_k=1", "--body", "top_k=2"], "given twice"),
        (["--body", "top_k=NaN"], "no value of JSON"),
        (["--temperature", "3"], "--temperature is a number from 0 to 2"),
    ],
)
def test_a_slip_on_the_command_line_is_one_message(options: list[str], says: str) -> None:
    server = ["--judge", "m", "--base-url", "http://127.0.0.1:9/v1"]
    done = CliRunner().invoke(main, ["green", "preds.json", *server, *options])
    assert done.exit_code == 2
    assert says in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize("name", ["temperature", "top_p", "seed", "reasoning_effort", "top_k"])
def test_rules_take_no_sampling(name: str) -> None:
    value: object = "low" if name == "reasoning_effort" else 1
    with pytest.raises(JudgeError, match="lexicon, which follows rules, takes no"):
        load("lexicon", base_url=None, reply=None, sampling={name: value})
    with pytest.raises(JudgeError, match="--reply belongs"):
        load("lexicon", base_url=None)


def test_a_model_in_this_process_is_greedy() -> None:
    with pytest.raises(JudgeError, match="takes no --seed"):
        load("hf:x/y", base_url=None, sampling={"seed": 1})
    with pytest.raises(JudgeError, match="takes no --temperature but 0"):
        load("hf:x/y", base_url=None, sampling={"temperature": 1})


@pytest.mark.parametrize(
    ("model", "longest"),
    [
        *((name, 25_000) for name in ("o1", "o3-mini", "gpt-5", "openai/gpt-oss-20b", "x:o4-mini")),
        *((name, 25_000) for name in ("deepseek-reasoner", "Qwen/Qwen3-4B-Thinking-2507", "QwQ")),
        *((name, 2048) for name in ("gpt-4o", "gpt-4o3", "model-x", "StanfordAIMI/GREEN-o1x")),
    ],
)
def test_an_answer_is_not_starved_by_its_reasoning(model: str, longest: int) -> None:
    assert load(model).sampling["max_tokens"] == longest
    assert load(model, max_tokens=99).sampling["max_tokens"] == 99
    assert load(model, sampling={"reasoning_effort": "high"}).sampling["max_tokens"] == 25_000
    assert load(model, sampling={"reasoning_effort": "none"}).sampling["max_tokens"] == 2048
    shown = CliRunner().invoke(main, ["green", "--help"]).output
    assert f"{sampling.MAX_TOKENS}, or {sampling.REASONING_MAX_TOKENS}" in " ".join(shown.split())


def test_the_command_line_says_it_all_to_the_server(
    server: FaultServer, shell: Callable[[int], Shell]
) -> None:
    server.set_faults(record=True)
    ready = shell(2)
    options = ["--temperature", "0.5", "--top-p", "0.5", "--seed", "3", "--body", "top_k=5"]
    code, out, err = ready.run(*options, "--reasoning-effort", "low", "--format", "json")
    assert code == 0, err
    body = server.requests()[-1]["body"]
    assert (body["temperature"], body["top_p"], body["seed"]) == (0.5, 0.5, 3)
    assert (body["top_k"], body["reasoning_effort"], body["max_tokens"]) == (5, "low", 25_000)
    assert "temperature=0.5" in out


def test_from_python(server: FaultServer, rubric: rubrics.Rubric, tmp_path: Path) -> None:
    from judge import annotate
    from judge.running.asking import RequestPolicy

    server.set_faults(record=True)
    asking = {"rubric": rubric.name, "judge": "model-x", "base_url": server.url}
    frame = annotate(
        ["study-0001"], ["x"], **asking, cache=tmp_path, reply="text", sampling={"seed": 4}
    )
    assert "seed=4" in frame.attrs["signature"]
    assert "|reply:text|" in frame.attrs["signature"]
    assert "response_format" not in server.requests()[-1]["body"]
    server.set_faults(studies={f"study-{at:04}": always(Fault.MALFORMED) for at in range(9)})
    ids = [f"study-{at:04}" for at in range(9)]
    with pytest.raises(JudgeError, match="cannot be read"):
        annotate(
            ids, ids, **asking, cache=tmp_path, policy=RequestPolicy(give_up_after=4, concurrency=1)
        )
