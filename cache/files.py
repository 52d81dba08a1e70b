"""Where a cache is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

DATABASE = "cache.db"
"""The file in its folder that holds the answers, named by diskcache."""


def place(option: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the cache's folder: the one asked for, else `JUDGE_CACHE`, else the platform's own."""
    if named := option or environ.get("JUDGE_CACHE"):
        # Unlike Path's, this one leaves the name of an unknown user as it is.
        return Path(os.path.expandvars(os.path.expanduser(named)))  # noqa: PTH111
    from platformdirs import user_cache_path

    return user_cache_path("judge", appauthor=False)
