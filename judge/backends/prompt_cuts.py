"""Servers that cut a long question in silence, and answer what is left of it.

Ollama and others drop the middle or the head of a prompt that is longer than their context. The
answer looks like any other; the count of the prompt's tokens gives it away: it is a round number,
and far too small for the text.
"""

from __future__ import annotations

from judge.backends.base import StudyError
from judge.types import Completion, CompletionRequest

_BYTES_A_TOKEN = {1024: 5.2, 256: 6.0, 1000: 6.0}
"""A context is a multiple of one of these numbers of tokens, and no tokenizer makes so few tokens
of a report, with the bytes a token: English takes 4 to 5, other scripts fewer. The smaller the
number, the more often a count falls on a multiple by chance."""


def check_prompt(request: CompletionRequest, completion: Completion) -> None:
    """Raise `StudyError` where the server has read a part of the question only."""
    usage = completion.usage
    if usage is None or request.endpoint != "chat":
        return
    n_read = usage.prompt_tokens
    # Some count one token less, or the one that begins the text.
    n_bytes = sum(
        len(message.content.encode("utf-8", "replace")) for message in request.messages
    )
    if not any(_is_cut(n_read, n_bytes, unit) for unit in _BYTES_A_TOKEN):
        return
    error = StudyError(
        "the server cut the question",
        f"it read {n_read:,} tokens of a text of {n_bytes:,} bytes; give the model a longer "
        "context (num_ctx in Ollama, --ctx-size in llama.cpp, --max-model-len in vLLM)",
    )
    error.usage = usage
    raise error


def _is_cut(n_read: int, n_bytes: int, unit: int) -> bool:
    # Some count one token less, or the one that begins the text.
    is_round = n_read >= unit - 1 and (n_read + 1) % unit <= 2
    return is_round and n_bytes >= _BYTES_A_TOKEN[unit] * n_read
