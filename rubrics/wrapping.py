"""What models put around an answer, whatever the rubric."""

from __future__ import annotations

import re

CHAT_TOKEN = re.compile(
    r"</?s>|<\|[A-Za-z0-9_]{1,30}\|>|<(?:start|end)_of_turn>|\[/?INST\]|</?think>", re.IGNORECASE
)
"""A mark of a chat template that a server let through."""


def after_thought(text: str) -> str | None:
    """Return `text` without a byte order mark and a line of thought, its line ends made plain.

    None for a line of thought that does not end: what follows it is not there.
    """
    text = text.lstrip("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "</think>" in text:
        return text.rpartition("</think>")[2]
    return None if text.lstrip().startswith("<think>") else text
