"""The parameters of a request that a user may set: checked here, named in the signature."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from judge import jsonio
from judge.types import JudgeError

MAX_TOKENS = 2048
"""The longest answer in tokens: several times what one takes."""

REASONING_MAX_TOKENS = 25_000
"""The same for a model that reasons, whose reasoning counts as answer.

As many as OpenAI's guide to reasoning models advises to reserve at least, to begin with
(developers.openai.com/docs/guides/reasoning, "Allocating space for reasoning").
"""

# Hosted and open models that reason without being told to, as their providers name them.
_REASONS = re.compile(
    r"(?:^|[/:])(?:o[1-9](?:-|$)|gpt-5|gpt-oss|deepseek-r(?:1|easoner)|qwq|magistral)"
    r"|[-_](?:thinking|reasoner|reasoning)(?:[-_:]|$)",
    re.IGNORECASE,
)
_EFFORT = re.compile(r"[a-z]{1,20}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
# The parameters with an option of their own: its name, their type, what of it they may be, and
# that in words.
_NUMBER = (int, float)
_LIMITS: Mapping[str, tuple[str, Any, Callable[[Any], object], str]] = {
    "temperature": ("--temperature", _NUMBER, lambda x: 0 <= x <= 2, "a number from 0 to 2"),
    "top_p": ("--top-p", _NUMBER, lambda x: 0 < x <= 1, "a number above 0 and at most 1"),
    "seed": ("--seed", int, lambda x: abs(x) < 2**63, "a whole number of at most 63 bits"),
    "reasoning_effort": ("--reasoning-effort", str, _EFFORT.fullmatch, "a word such as low"),
}
_SET_ELSEWHERE = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "--max-tokens"),
    **dict.fromkeys(("response_format", "tools", "tool_choice"), "--reply"),
    **dict.fromkeys(("messages", "prompt"), "--prompt"),
    "model": "--judge",
}
# One whole answer is read: no stream of it, no choice of several, none that ends at a word.
_ONE_WHOLE_ANSWER = frozenset({"stream", "n", "best_of", "echo", "stop", "stop_token_ids"})


def checked(given: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that a user asks for as JSON's values; 0 and 0.0 are one question."""
    return {name: _checked(name, value) for name, value in given.items()}


def _checked(name: str, value: object) -> object:
    if not _NAME.fullmatch(name):
        raise JudgeError(f"sampling: {name!r} is no name of a parameter")
    if name in _ONE_WHOLE_ANSWER:
        raise JudgeError(f"sampling: {name} cannot be set: one whole answer is read")
    if name in _SET_ELSEWHERE:
        raise JudgeError(f"sampling: {name} is set by {_SET_ELSEWHERE[name]}")
    if name in _LIMITS:
        option, kind, fits, words = _LIMITS[name]
        if isinstance(value, bool) or not isinstance(value, kind) or not fits(value):
            raise JudgeError(f"{option} is {words}, not {value!r}")
    try:
        plain = jsonio.read(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:  # json.dumps raises all three
        raise JudgeError(f"sampling: {name} is no value of JSON: {error}") from error
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain


def from_body(options: Iterable[str]) -> dict[str, object]:
    """Return the parameters of `--body KEY=JSON`, given any number of times."""
    found: dict[str, object] = {}
    for option in options:
        name, _, text = option.partition("=")
        if name in _LIMITS or name in found:
            advice = f"use {_LIMITS[name][0]}" if name in _LIMITS else "it is given twice"
            raise JudgeError(f"--body {name}: {advice}")
        try:
            found[name] = jsonio.read(text)
        except jsonio.JsonError as error:
            raise JudgeError(
                f"--body {option!r} is not KEY=JSON ({error}); write --body top_k=20, or "
                "--body 'name=\"text\"'"
            ) from error
    return found


def max_tokens(model: str, given: Mapping[str, object], asked: int | None) -> int:
    """Return how many tokens bound an answer: as `asked`, else by whether the model reasons."""
    if asked is not None:
        return asked
    effort = given.get("reasoning_effort")
    reasons = effort != "none" if effort is not None else _REASONS.search(model) is not None
    return REASONING_MAX_TOKENS if reasons else MAX_TOKENS


def is_greedy(sampling: Mapping[str, object]) -> bool:
    """Return whether the same question gets the same answer."""
    return sampling.get("temperature") == 0


def refuse(given: Mapping[str, object], judge: str, taken: Mapping[str, object]) -> None:
    """Raise `JudgeError` for a parameter of `given` that is not `taken`, with that value."""
    for name, value in given.items():
        if name not in taken or taken[name] != value:
            what = _LIMITS[name][0] if name in _LIMITS else f"--body {name}"
            only = f" but {taken[name]}" if name in taken else ""
            raise JudgeError(f"the judge {judge} takes no {what}{only}; leave it out")
