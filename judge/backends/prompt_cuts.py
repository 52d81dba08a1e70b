"""Servers that cut a long question in silence, and answer what is left of it.

Ollama and others drop the middle or the head of a prompt that is longer than their context. The
answer looks like any other; the count of the prompt's tokens gives it away: it is a round number,
and far too small for the text.
"""

from __future__ import annotations

from judge.backends.base import StudyError
from judge.types import Completion, CompletionRequest

_ROUND = (256, 1000)
"""A context is a multiple of one of these."""
_BYTES_A_TOKEN = 6.0
"""No tokenizer makes so few tokens of a report: English takes 4 to 5 bytes a token, other scripts
fewer."""


def check_prompt(request: CompletionRequest, completion: Completion) -> None:
    """Raise `StudyError` where the server has read a part of the question only."""
    usage = completion.usage
    if usage is None or request.endpoint != "chat":
        return
    n_read = usage.prompt_tokens
    # Some count one token less, or the one that begins the text.
    is_round = n_read > 0 and any((n_read + at) % unit == 0 for unit in _ROUND for at in (-1, 0, 1))
    n_bytes = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages)
    if not is_round or n_bytes < _BYTES_A_TOKEN * n_read:
        return
    error = StudyError(
        "the server cut the question",
        f"it read {n_read:,} tokens of a text of {n_bytes:,} bytes; give the model a longer "
        "context (num_ctx in Ollama, --ctx-size in llama.cpp, --max-model-len in vLLM)",
    )
    error.usage = usage
    raise error
