"""The keys of a prompt file that models with one exact wording need."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from judge import prompts
from judge.types import JudgeError, Message

IN_CONTEXT = "K $context R $reference C $candidate $mark"
PLAIN = {"name": "mine", "version": 1, "rubric": "green", "user": "R $reference C $candidate"}


def load(tmp_path: Path, **keys: object) -> prompts.Prompt:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**PLAIN, **keys}), "utf-8")
    return prompts.load(str(path))


def test_words_cut_each_report_and_make_its_spaces_single(tmp_path: Path) -> None:
    prompt = load(tmp_path, words=3)
    (turn,) = prompt.messages(" a  b\n c d ", "e")
    assert turn.content == "R a b c C e"
    assert prompt.cuts("a b c d", "e")
    assert not prompt.cuts("a b c", "e f g")


def test_turns_stand_before_the_question_as_they_are(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "$x {y}"}, {"role": "assistant", "content": "z"}]
    prompt = load(tmp_path, system="S", turns=turns)
    assert prompt.messages("a", "b") == (
        Message("system", "S"),
        Message("user", "$x {y}"),
        Message("assistant", "z"),
        Message("user", "R a C b"),
    )


def test_what_is_known_of_the_patient_has_a_question_of_its_own(tmp_path: Path) -> None:
    prompt = load(tmp_path, user_in_context=IN_CONTEXT)
    assert prompt.messages("r", "c") == load(tmp_path).messages("r", "c")
    known = {"Age": "70", "Why": "$mark, ${reference}"}
    (turn,) = prompt.messages("r", "c", known)
    told, mark = turn.content.rsplit(" ", 1)
    assert told == "K     Age: 70\n    Why: $mark, ${reference} R r C c"
    # A context can no more forge the mark than a report can.
    (other,) = prompt.messages("r", "c", {"Age": mark})
    assert other.content.count(mark) == 1
    # Before a wording without a place for it, it stands in a block of its own.
    (asked,), (plain,) = (load(tmp_path).messages("r", "c", told) for told in (known, {}))
    assert asked.content.endswith(plain.content)
    assert "Age: 70\nWhy: $mark, ${reference}\n" in asked.content


def test_the_candidates_lines_in_one_row(tmp_path: Path) -> None:
    prompt = load(tmp_path, user="$row | $reference")
    (turn,) = prompt.messages("r", "Heart normal.  Lungs\nclear. No effusion.")
    assert turn.content == "[0] Heart normal. [1] Lungs clear. [2] No effusion. | r"


def test_each_key_changes_the_digest(tmp_path: Path) -> None:
    turn = {"role": "user", "content": "x"}
    made = [
        load(tmp_path, **keys).digest
        for keys in (
            *({}, {"words": 300}, {"words": 3}, {"layout": "green"}, {"turns": [turn]}),
            *({"user_in_context": IN_CONTEXT}, {"user_in_context": f"{IN_CONTEXT}."}),
        )
    ]
    assert len(set(made)) == len(made)
    assert load(tmp_path, layout="chat").digest == made[0]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"words": 0}, "words is a whole number from 1"),
        ({"words": True}, "words is a whole number"),
        ({"words": "300"}, "words is a whole number"),
        ({"layout": "llama"}, "layout is chat or green"),
        ({"turns": "x"}, "turns is a list"),
        ({"user_in_context": "R $reference C $lines"}, "user_in_context lacks .context"),
        ({"user_in_context": "$context $candidate"}, "user_in_context lacks .reference"),
        ({"user_in_context": "costs $ 5"}, "a lone . in user_in_context"),
        ({"user_in_context": "$context $age"}, "unknown variable .age"),
        ({"user": "$context $reference $candidate"}, "unknown variable .context"),
        ({"turns": [{"role": "user"}]}, "turn 1: lacks content"),
        ({"turns": [{"role": "user", "content": 1}]}, "turn 1: content is text"),
    ],
)
def test_a_bad_key_is_one_message(tmp_path: Path, keys: dict[str, object], says: str) -> None:
    with pytest.raises(JudgeError, match=says):
        load(tmp_path, **keys)
