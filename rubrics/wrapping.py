"""What models put around an answer, whatever the rubric."""

from __future__ import annotations

import re

CHAT_TOKEN = re.compile(
    r"</?s>|<\|[A-Za-z0-9_]{1,30}\|>|<(?:start|end)_of_turn>|\[/?INST\]|</?think(?:ing)?>|\[/?THINK\]",
    re.IGNORECASE,
)
"""A mark of a chat template that a server let through."""


_THOUGHT = r"think(?:ing)?|thought|reasoning|reflection|scratchpad|analysis"
_THOUGHT_END = re.compile(rf"</(?:{_THOUGHT})>|\[/THINK\]|\u25c1/think\u25b7", re.IGNORECASE)
_THOUGHT_BEGIN = re.compile(rf"\s*(?:<(?:{_THOUGHT})>|\[THINK\]|\u25c1think\u25b7)", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,40}<\|message\|>")


def after_thought(text: str) -> str | None:
    """Return `text` without a byte order mark and a line of thought, its line ends made plain.

    None for a line of thought that does not end: what follows it is not there. Of an answer
    in channels the last one called final is what follows.
    """
    text = text.lstrip("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "<|channel|>" in text:
        channels = list(_CHANNEL.finditer(text))
        last = channels[-1] if channels else None
        return text[last.end() :] if last and last[1].lower() == "final" else None
    if "</" in text or "[/" in text or "\u25c1/" in text:
        ends = list(_THOUGHT_END.finditer(text))
        text = text[ends[-1].end() :] if ends else text
    return None if _THOUGHT_BEGIN.match(text) else text
