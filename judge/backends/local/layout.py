"""GREEN's layout of turns, as the official pipeline's own chat template renders it.

Each turn stands under a mark of its speaker and ends with the end-of-sequence token and a
line feed. After the user's turn comes an assistant's turn without text, and after that the
mark under which the model is to answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from judge.types import Message

LIMIT = 2048
"""How many tokens prompt and answer have together [Ostmeier et al. 2024, published code]."""

_MARKS = {"system": "<|system|>", "user": "<|user|>", "assistant": "<|assistant|>"}


def lay_out(messages: Sequence[Message], eos: str) -> str:
    """Return `messages` as one text for a GREEN model whose end-of-sequence token is `eos`."""
    turns = [*messages, Message("assistant", "")]
    laid = "".join(f"{_MARKS[turn.role]}\n{turn.content}{eos}\n" for turn in turns)
    return f"{laid}{_MARKS['assistant']}\n"
