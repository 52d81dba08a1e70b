"""This program as a package that is installed, and the packages that it may lack.

The package index has another `judge`, a condition library; this one is `radiology-judge`, and
only its import and its command are called judge.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from re import match
from shlex import quote

NAME = "radiology-judge"


@cache
def version() -> str:
    """Return the version that is installed."""
    return metadata.version(NAME)


def install(*packages: str) -> str:
    """Return the command that installs `packages`, each within the bounds that we have tested.

    The bounds are those of the installed metadata. It names the packages and no extra of ours, so
    that it is right from a checkout, a wheel or an index alike. Raises `KeyError` for a package
    that no dependency names.
    """
    known = {
        found[0]: requirement.partition(";")[0].strip()
        for requirement in metadata.requires(NAME) or ()
        if (found := match(r"[\w.-]+", requirement))
    }
    return " ".join(["pip install", *(quote(known[package]) for package in packages)])
