"""The keys of a prompt file that models with one exact wording need."""

from __future__ import annotations

from pathlib import Path

import yaml

from judge import prompts
from judge.types import Message

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
