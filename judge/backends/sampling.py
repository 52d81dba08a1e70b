"""The parameters of a request that a user may set: checked here, named in the signature."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

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
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_OPTIONS = {
    name: "--" + name.replace("_", "-")
    for name in ("temperature", "top_p", "seed", "reasoning_effort")
}
# What another option sets, and what would spoil the one whole answer that is read.
_NOT_HERE = {
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "set it by --max-tokens"),
    **dict.fromkeys(("response_format", "tools", "tool_choice"), "set it by --reply"),
    **dict.fromkeys(("messages", "prompt"), "set it by --prompt"),
    "model": "set it by --judge",
    **dict.fromkeys(
        ("stream", "n", "best_of", "echo", "stop", "stop_token_ids"), "one whole answer is read"
    ),
}


def checked(given: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that a user asks for as JSON's values; 0 and 0.0 are one question."""
    parameters = {}
    for name, value in given.items():
        if name in _NOT_HERE or not _NAME.fullmatch(name):
            advice = _NOT_HERE.get(name, "no parameter has such a name")
            raise JudgeError(f"sampling: {name!r} cannot be a parameter here: {advice}")
        try:
            plain = jsonio.read(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:  # json.dumps raises all three
            raise JudgeError(f"sampling: {name} is no value of JSON: {error}") from error
        is_whole = isinstance(plain, float) and plain.is_integer()
        parameters[name] = int(plain) if is_whole else plain
    return parameters


def from_body(options: Iterable[str]) -> dict[str, object]:
    """Return the parameters of `--body KEY=JSON`, given any number of times."""
    parameters: dict[str, object] = {}
    for option in options:
        name, _, text = option.partition("=")
        if name in _OPTIONS or name in parameters:
            advice = f"use {_OPTIONS[name]}" if name in _OPTIONS else "it is given twice"
            raise JudgeError(f"--body {name}: {advice}")
        try:
            parameters[name] = jsonio.read(text)
        except jsonio.JsonError as error:
            raise JudgeError(
                f"--body {option!r} is not KEY=JSON ({error}); write --body top_k=20, or "
                "--body 'name=\"text\"'"
            ) from error
    return parameters


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
            what = _OPTIONS.get(name, f"--body {name}")
            only = f" but {taken[name]}" if name in taken else ""
            raise JudgeError(f"the judge {judge} takes no {what}{only}; leave it out")
