"""Which reply is asked for, what the signature says of it, and what is made of it later."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from faultserver import Fault, FaultServer, first
from running import Runner, Shell, study_set

from judge import backends, prompts, rubrics
from judge.backends.structured import in_words
from judge.prompts import STRUCTURED, TEXT
from judge.rubrics import Rubric
from judge.running.session import signature
from judge.types import Annotated, Completion, JudgeError, Unparsed

GREEN, FINE = rubrics.load("green"), rubrics.load("fineradscore")
URL = "http://127.0.0.1:9/v1"


def load(rubric: Rubric = GREEN, model: str = "gpt-4o", **settings: object) -> backends.Judge:
    given = backends.JudgeSettings(**({"base_url": URL} | settings))  # type: ignore[arg-type]
    return backends.load(model, rubric, given)


def write(tmp_path: Path, **changes: object) -> str:
    """A prompt of the user's own, made of ours."""
    kept = yaml.safe_load((Path(prompts.__file__).parent / "green.yaml").read_text("utf-8"))
    data = {**kept, **changes}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in data.items() if v is not None}), "utf-8")
    return str(path)


def test_a_general_model_is_asked_for_a_structured_reply() -> None:
    judge = load()
    assert judge.reply == STRUCTURED
    assert judge.prompt == prompts.load("green-structured")
    assert GREEN.reply_model is not None
    assert judge.request(next(iter(study_set(1)))).schema == GREEN.reply_model().model_json_schema()


def test_text_where_it_is_asked_for_or_the_model_knows_nothing_else(tmp_path: Path) -> None:
    green_models = ("StanfordAIMI/GREEN-radllama2-7b", "green-phi2")
    for judge in (
        load(reply="text"),
        load(prompt="green"),
        load(prompt=write(tmp_path, reply=None)),
        *(load(model=model) for model in green_models),
    ):
        assert judge.reply == TEXT
        assert judge.request(next(iter(study_set(1)))).schema is None
    official = load(prompt=write(tmp_path, reply=None, layout="green"))
    assert official.reply == TEXT
    assert load(prompt=write(tmp_path, reply=None), reply="structured").reply == STRUCTURED


def test_a_rubric_whose_text_is_json_keeps_its_reply() -> None:
    assert load(FINE).reply == STRUCTURED
    assert load(FINE, prompt="fineradscore-zeroshot").reply == STRUCTURED
    assert load(FINE, reply="text").reply == TEXT


def test_what_contradicts_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="green asks for a text reply, not for structured"):
        load(prompt="green", reply="structured")
    with pytest.raises(JudgeError, match="asks for a structured reply"):
        load(prompt="green-structured", reply="text")
    with pytest.raises(JudgeError, match="asks for a text reply"):
        load(prompt=write(tmp_path, reply=None, layout="green"), reply="structured")
    with pytest.raises(JudgeError, match="unknown reply 'json'"):
        load(reply="json")
    bare = dataclasses.replace(GREEN, reply_model=None, structured=None)
    with pytest.raises(JudgeError, match="no structured reply"):
        load(bare, prompt=write(tmp_path, reply=None), reply="structured")
    with pytest.raises(JudgeError, match="answers in text"):
        load(model="hf:x/y", base_url=None, reply="structured")
    with pytest.raises(JudgeError, match="reply is text or structured"):
        load(prompt=write(tmp_path, reply="json"))
    with pytest.raises(JudgeError, match="in the layout green"):
        load(prompt=write(tmp_path, reply="structured", layout="green"))


def test_the_signature_says_which() -> None:
    def part(judge: backends.Judge, rubric: Rubric) -> list[str]:
        line = signature(rubric, judge, study_set(1), "field", 1)
        return [part for part in line.split("|") if part.startswith("reply:")]

    (structured,) = part(load(), GREEN)
    assert len(structured) == len("reply:01234567")
    assert part(load(reply="text"), GREEN) == ["reply:text"]
    assert FINE.reply_model is not None
    form = json.dumps(FINE.reply_model().model_json_schema(), sort_keys=True)
    assert part(load(FINE), FINE) == [f"reply:{hashlib.sha256(form.encode()).hexdigest()[:8]}"]
    assert part(load(model="lexicon", base_url=None), GREEN) == []


def test_both_replies_give_the_same_annotations(
    server: FaultServer, runner: Runner, rubric: Rubric
) -> None:
    structured, _ = runner(30)
    text, _ = runner(30, asking={"reply": "text"})
    assert server.stats().by_mode == {"json_schema": 30, "text": 30}
    for key, end in structured.items():
        assert isinstance(end.outcome, Annotated)
        assert end.outcome == text[key].outcome == Annotated(server.annotation(key))
        assert end.measures == text[key].measures
        assert end.measures == rubric.measured(server.annotation(key), end.study)


def test_a_text_that_was_not_read_is_told_why(
    server: FaultServer, runner: Runner, rubric: Rubric
) -> None:
    server.set_faults(studies={"study-0001": first(Fault.REFUSAL_TEXT)}, record=True)
    ends, progress = runner(3, asking={"reply": "text"})
    end = ends["study-0001"]
    assert end.measures == rubric.measured(server.annotation("study-0001"), end.study)
    assert progress.asked == 4
    one, two = (each["body"] for each in server.requests() if each["study"] == "study-0001")
    assert two["messages"][:-2] == one["messages"]
    answer, why = two["messages"][-2:]
    assert answer["role"] == "assistant"
    assert answer["content"].startswith("I am sorry")
    assert why["role"] == "user"
    assert "could not be read (" in why["content"]
    server.reset()
    again, resumed = runner(3, asking={"reply": "text"})
    assert (again, resumed.asked, resumed.from_cache) == (ends, 0, 4)


def test_a_question_that_got_too_long_by_being_told_leaves_the_answer_unread(
    server: FaultServer, runner: Runner
) -> None:
    server.set_faults(studies={"study-0001": first(Fault.MALFORMED, Fault.TOO_LONG)})
    ends, _ = runner(3)
    assert isinstance(ends["study-0001"].outcome, Unparsed)
    assert ends["study-0001"].attempt == 0
    assert ends["study-0001"].completion is not None


def test_what_is_told_in_a_chat_has_roles_that_every_template_knows() -> None:
    judge = load(reply="text")
    request = judge.request(next(iter(study_set(1))))
    told = judge.repair_request(
        request, Completion("x", "stop", "m"), Unparsed("empty", "no words")
    )
    assert told is not None
    turns = in_words(told.messages)
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "user"]
    assert "empty: no words" in turns[-1].content


def test_stored_replies_are_read_again_and_shown(
    shell: Callable[[int], Shell], rubric: Rubric
) -> None:
    ready = shell(4)
    for reply in ("structured", "text"):
        code, out, err = ready.run("--out", reply, "--reply", reply, "--format", "json")
        assert code == 0, err
        assert ready.judge("rescore", reply)[0] == 0
        code, again, err = ready.judge("rescore", reply, "--format", "json")
        assert "0 of 4 studies read differently" in err
        assert json.loads(again)["statistics"] == json.loads(out)["statistics"]
    code, shown, err = ready.judge("audit", "structured", "study-0001", "--raw")
    assert code == 0, err
    key = "matched_findings" if rubric.name == "green" else "corrections"
    assert f'"{key}"' in shown
