"""A tiny Llama that the tests make themselves: tokenizer, random weights, and a way to teach it.

Nothing here is downloaded and nothing comes from real reports.
"""

from __future__ import annotations

from tinymodel.learning import teach
from tinymodel.text import reports, sentences
from tinymodel.tokens import CHAT, GREEN, train_tokenizer
from tinymodel.weights import make_model

__all__ = [
    "CHAT",
    "GREEN",
    "make_model",
    "reports",
    "sentences",
    "teach",
    "train_tokenizer",
]
