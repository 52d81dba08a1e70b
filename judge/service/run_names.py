"""The names of runs in addresses: never paths, and such that a person recognises the folder."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

LONGEST = 120
NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST - 1}}}")
"""The form of a run's name."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def names_of(paths: Sequence[Path], home: Path) -> dict[Path, str]:
    """Return a name for each of the runs in these folders.

    It is the folder's own. Of several with one name each has the names of the folders above it too,
    as many as it takes: `a-good` and `b-good`. Runs in `home`, the folder of new runs, keep theirs.
    """
    names = {}
    for path in paths:
        if path.parent == home and NAME.fullmatch(path.name):
            names[path] = path.name
    others = [path for path in paths if path not in names]
    n_called = Counter(_spelled(path, 1) for path in [*names, *others])
    for path in others:
        name = _spelled(path, 1)
        if name and n_called[name] == 1:
            names[path] = name
    taken = set(names.values())
    for path in others:
        if path in names:
            continue
        rivals = [
            rival
            for rival in others
            if rival != path and _spelled(rival, 1) == _spelled(path, 1)
        ]
        names[path] = _with_folders(path, rivals, taken)
    return names


def digest_name(path: Path) -> str:
    """Return the name of a run's folder that is always its own."""
    return f"run-{digest_of(path)[:8]}"


def digest_of(path: Path) -> str:
    """Return the digest of a folder's path."""
    # A name may hold bytes that are no text.
    return hashlib.sha256(os.fsencode(path.absolute())).hexdigest()


def _with_folders(path: Path, rivals: Sequence[Path], taken: set[str]) -> str:
    """Return the shortest name with folders that no rival and no other run has."""
    for n in range(2, len(path.parts)):
        name = _spelled(path, n)
        others = {_spelled(rival, n) for rival in rivals}
        if name and name not in others | taken:
            return name
    return digest_name(path)


def _spelled(path: Path, n: int) -> str:
    """Return the last `n` parts of a path in letters that a name may have; empty for none."""
    words = []
    for part in path.parts[-n:]:
        plain = unicodedata.normalize("NFKD", os.fsdecode(os.fsencode(part)))
        plain = plain.encode("ascii", "ignore").decode()
        words.append(_UNSAFE.sub("-", plain).strip("-._"))
    if not words[-1]:
        return ""
    return "-".join(filter(None, words))[-LONGEST:].lstrip("-._")
