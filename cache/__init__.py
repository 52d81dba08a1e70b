"""Completions on disk, so that nothing is paid for twice."""

from judge.cache.files import place
from judge.cache.keys import canonical, key, key_of
from judge.cache.store import CompletionCache

__all__ = ["CompletionCache", "canonical", "key", "key_of", "place"]
