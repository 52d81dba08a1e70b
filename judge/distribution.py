"""This program as a package that is installed, and the packages that it may lack.

The package index has another `judge`, a condition library; this one is `radiology-judge`, and
only its import and its command are called judge.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from re import findall, match
from shlex import quote

NAME = "radiology-judge"


@cache
def version() -> str:
    """Return the version that is installed."""
    return metadata.version(NAME)


def install(*packages: str) -> str:
    """Return the command that installs `packages`, each within the bounds of our metadata."""
    known: dict[str, str] = {}
    extras: dict[str, set[str]] = {}
    for requirement in metadata.requires(NAME) or ():
        wanted, _, marker = requirement.partition(";")
        if found := match(r"[\w.-]+", requirement):
            known[found[0]] = wanted.strip()
            extras.setdefault(found[0], set()).update(findall(r"extra == [\"'](.+?)[\"']", marker))
    shared = set.intersection(*(extras[package] for package in packages)) - {"test"}
    command = " ".join(["pip install", *(quote(known[package]) for package in packages)])
    return command + (f" (the extra {min(shared)})" if shared else "")
