"""Where the cache is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VARIABLE = "JUDGE_CACHE"


def place(option: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the cache's folder: the one asked for, else `JUDGE_CACHE`, else the platform's own.

    A `~` that no shell has replaced means the user's folder.
    """
    named = option or environ.get(VARIABLE)
    if named:
        # Unlike Path's, this one leaves the name of an unknown user as it is.
        from os.path import expanduser

        return Path(expanduser(named))  # noqa: PTH111
    from platformdirs import user_cache_path

    return user_cache_path("judge", appauthor=False)
