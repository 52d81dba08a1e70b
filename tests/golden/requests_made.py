"""The cache keys of fifty requests that differ in everything that may enter a key."""

from __future__ import annotations

from judge import cache, prompts
from judge.types import CompletionRequest, Message

TEXTS = (
    "No effusion.",
    "Épanchement à gauche.",
    'Said "stable" \\ twice\n\tthen not',
    "",
    "胸水 🙂",
)
SAMPLINGS = (
    {},
    {"temperature": 0, "max_tokens": 2048},
    {"temperature": 1.0, "top_p": 0.95, "seed": 7},
    {"reasoning_effort": "high", "stop": ["</s>", "\n\n"], "top_k": 20},
    {"logit_bias": {"5": -1.5, "17": 2.0}, "temperature": 1e-7},
)
SCHEMAS = (
    None,
    {"type": "object", "properties": {"score": {"type": "number", "minimum": 0.0}}},
    {"type": "array", "items": {"enum": ["a", "b", None]}, "maxItems": 3.0},
)
WORDINGS = ("green", "green-structured", "fineradscore", "crimson", "counts", "direct")


def cache_keys() -> list[str]:
    """Return the key of each request, in a fixed order."""
    found = []
    for at in range(44):
        request = CompletionRequest(
            endpoint=("chat", "completions", "lexicon")[at % 3],
            model=f"model-{at % 7}@{'abc'[at % 3]}",
            messages=tuple(
                Message(role, TEXTS[(at + i) % 5])
                for i, role in enumerate(("system", "user")[: 1 + at % 2])
            ),
            sampling=SAMPLINGS[at % 5],
            schema=SCHEMAS[at % 3],
        )
        found.append(
            cache.key(
                request, attempt=at % 4 // 2, repeat=at % 5 // 3, sample=at % 6 // 4
            )
        )
    for name in WORDINGS:
        messages = prompts.load(name).messages(
            "The lungs are clear.", "Small effusion. Clear lungs."
        )
        found.append(
            cache.key(CompletionRequest("chat", "model-x", messages, SAMPLINGS[1]))
        )
    return found
