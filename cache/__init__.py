"""Completions on disk, so that nothing is paid for twice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.cache.keys import canonical, key, key_of

if TYPE_CHECKING:
    from judge.cache.store import CompletionCache

__all__ = ["CompletionCache", "canonical", "key", "key_of", "place"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - diskcache takes time to load
    if name == "CompletionCache":
        from judge.cache.store import CompletionCache

        return CompletionCache
    raise AttributeError(name)


def place(option: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the cache's folder: the one asked for, else `JUDGE_CACHE`, else the platform's own."""
    if folder := option or environ.get("JUDGE_CACHE"):
        # Unlike Path's, this one leaves the name of an unknown user as it is.
        return Path(os.path.expandvars(os.path.expanduser(folder)))  # noqa: PTH111
    from platformdirs import user_cache_path

    return user_cache_path("judge", appauthor=False)
