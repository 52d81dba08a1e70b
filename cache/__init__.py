"""Completions on disk, so that nothing is paid for twice."""

from judge.cache.keys import canonical, key
from judge.cache.place import place
from judge.cache.store import CompletionCache

__all__ = ["CompletionCache", "canonical", "key", "place"]
