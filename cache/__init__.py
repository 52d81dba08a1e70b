"""Completions on disk, so that nothing is paid for twice."""

from judge.cache.keys import canonical, key, key_of
from judge.cache.store import CompletionCache, place

__all__ = ["CompletionCache", "canonical", "key", "key_of", "place"]
