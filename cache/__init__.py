"""Completions on disk, so that nothing is paid for twice."""

from typing import TYPE_CHECKING, Any

from judge.cache.files import place
from judge.cache.keys import canonical, key, key_of

if TYPE_CHECKING:
    from judge.cache.store import CompletionCache

__all__ = ["CompletionCache", "canonical", "key", "key_of", "place"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - diskcache takes time to load
    if name == "CompletionCache":
        from judge.cache.store import CompletionCache

        return CompletionCache
    raise AttributeError(name)
