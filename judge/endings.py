"""How an answer ended, in the words of any server.

The list is open. What a server says is one of five kinds: the answer is whole (`stop`), it was cut
at the token limit (`length`), the model refused (`refusal`), the server withheld it (`filtered`),
or there is no answer (`none`: the server gave up, and the same may be answered later). Any other
word, and none at all, says nothing: then the answer's own form decides whether it is whole.

The words are those of OpenAI, Azure, Anthropic, Gemini, Cohere, Mistral, DeepSeek, Zhipu,
OpenRouter, vLLM, SGLang, llama.cpp and text-generation-inference.
"""

from __future__ import annotations

STOP, LENGTH, REFUSAL = "stop", "length", "refusal"
TOOL_CALLS = "tool_calls"
FILTERED = "filtered"
NO_ANSWER = "none"

_WORDS = {
    STOP: (
        "stop",
        "stopped",
        "stop_sequence",
        "stop_token",
        "stop_string",
        "eos",
        "eos_token",
        "end_turn",
        "end_of_turn",
        "complete",
        "completed",
        "done",
        "finished",
    ),
    LENGTH: ("length", "max_tokens", "model_context_window_exceeded"),
    REFUSAL: ("refusal",),
    TOOL_CALLS: ("tool_calls", "tool_use", "function_call"),
    FILTERED: (
        "content_filter",
        "content_filtered",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "sensitive",
    ),
    NO_ANSWER: (
        "abort",
        "aborted",
        "cancel",
        "cancelled",
        "canceled",
        "error",
        "errored",
        "failed",
        "failure",
        "internal_error",
        "server_error",
        "engine_error",
        "network_error",
        "model_error",
        "timeout",
        "timed_out",
        "overloaded",
        "engine_overloaded",
        "rate_limit",
        "insufficient_system_resource",
        "interrupted",
        "preempted",
        "shutdown",
        "expired",
        "unavailable",
    ),
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words}


def kind_of(word: object) -> str:
    """Return the kind of an ending, or the word itself where it is unknown; "" where none is said.

    Letter case and hyphens make no difference: `MAX_TOKENS` is `max_tokens`.
    """
    if word is None:
        return ""
    plain = " ".join(str(word).split())[:40]
    return _KINDS.get(plain.lower().replace("-", "_").replace(" ", "_"), plain)
