"""YAML files that a user names: prompts and lexicons."""

from __future__ import annotations

from pathlib import Path

import yaml

_MOST_BYTES = 4 * 2**20


class UnreadableYamlError(Exception):
    """A file that is no YAML, or none that a person wrote. Its text says why, on one line."""


def read_yaml(path: Path) -> tuple[object, bytes]:
    """Return what a YAML file holds, and its bytes."""
    with path.open("rb") as file:
        raw = file.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise UnreadableYamlError(f"it is larger than {_MOST_BYTES // 2**20} MB")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # A date that there is not is a ValueError.
        return yaml.load(raw.decode("utf-8-sig"), Loader=loader), raw  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnreadableYamlError(" ".join(str(error).split())) from error
