"""YAML files that a user names: prompts and lexicons."""

from __future__ import annotations

from pathlib import Path

import yaml

_MOST_BYTES = 4 * 2**20
_DEEPEST = 50


class UnreadableYamlError(Exception):
    """A file that is no YAML, or none that a person wrote. Its text says why, on one line."""


def read_yaml(path: Path) -> tuple[object, bytes]:
    """Return what a YAML file holds, and its bytes.

    Raises OSError, and `UnreadableYamlError` also for a file so large, so deep or so
    entangled with `*` that reading it would end the process.
    """
    if path.exists() and not path.is_file():
        raise UnreadableYamlError("it is a folder, a pipe or a device, not a file")
    with path.open("rb") as file:
        raw = file.read(_MOST_BYTES + 1)
    if len(raw) > _MOST_BYTES:
        raise UnreadableYamlError(f"it is larger than {_MOST_BYTES // 2**20} MB")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        text = raw.decode("utf-8-sig")
        _check(text, loader)
        return yaml.load(text, Loader=loader), raw  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError) as error:  # a date that there is not is a ValueError
        raise UnreadableYamlError(" ".join(str(error).split())) from error


def _check(text: str, loader: type) -> None:
    """Raise where building the value would need more than the text has: the parser does not."""
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.AliasEvent):
            raise UnreadableYamlError(f"it refers back with *{event.anchor}; write that out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise UnreadableYamlError(f"it nests more than {_DEEPEST} lists and mappings")
