"""Which part of a completion is the report, and what is none."""

from __future__ import annotations

import pytest

from judge import JudgeError
from judge.reward import Reward, text_of


def test_the_report_may_be_a_part_of_the_completion() -> None:
    references = ["No pneumothorax."] * 2
    thought = "Large left pneumothorax? No.</think>No pneumothorax."
    completions = [thought, [{"role": "assistant", "content": thought}]]
    with Reward(report=lambda text: text.partition("</think>")[2]) as reward:
        found = reward.trl()(prompts=[""] * 2, completions=completions, reference=references)
        assert found == [1.0, 1.0]
        # A thought that was cut off before the mark is no report, whatever it quotes.
        cut = reward.trl()(prompts=[""], completions=["No pneumothorax."], reference=references[:1])
        assert cut == [0.0]
    with Reward() as reward:
        found = reward.trl()(prompts=[""] * 2, completions=completions, reference=references)
        assert found[0] == found[1] != 1.0


def test_a_completion_without_a_report_has_no_reward(caplog: pytest.LogCaptureFixture) -> None:
    def after_thought(text: str) -> str | None:
        return text.partition("</think>")[2] if "</think>" in text else None

    with Reward(report=after_thought) as reward:
        found = reward.trl()(
            prompts=[""] * 4,
            completions=["</think>No effusion.", "No effusion.", "</think>", "No effusion."],
            reference=["No effusion.", "No effusion.", "No effusion.", None],
        )
        assert found == [1.0, None, 0.0, None]
        assert reward.unscored == {"no report in the completion": 1, "no reference": 1}
        assert "1 no report in the completion" in caplog.text
        with pytest.raises(JudgeError, match=r"\(no report in the completion\)"):
            reward.verl()("set", "No effusion.", "No effusion.")


def test_the_report_of_a_conversation_is_what_the_assistant_says_last() -> None:
    say = {"role": "assistant", "content": "No effusion."}
    called = {"role": "assistant", "content": None, "tool_calls": []}
    tool = {"role": "tool", "content": "Large effusion."}
    parts = {"role": "assistant", "content": [{"type": "text", "text": "No effusion."}]}
    for messages in ([say], [called, tool, say], [parts], [say, tool]):
        assert text_of(messages) == "No effusion."
    assert text_of([called]) == ""
    for wrong in (3, None, {"role": "assistant"}, ["No effusion."], [{"role": "assistant"}, 1]):
        with pytest.raises(JudgeError, match="neither text nor messages"):
            text_of(wrong)
