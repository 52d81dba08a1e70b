"""The images of studies, from one folder that the owner named, and nothing else of the disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from judge import jsonio
from judge.service import ProblemError

FIELDS = ("image", "image_path", "images", "image_paths")
"""The fields of a study that may say where its images are."""
LARGEST = 2**26
"""Bytes of the largest image that is sent."""
_MOST = 50
_HEAD = 12


def paths(fields: Mapping[str, object]) -> list[str]:
    """Return the paths that a study's fields give: one, or a JSON list of them."""
    found: list[str] = []
    for name in FIELDS:
        value = fields.get(name)
        if isinstance(value, str) and value.lstrip().startswith("["):
            try:
                listed = jsonio.read(value)
            except jsonio.JsonError:
                listed = []
            found += [one for one in listed if isinstance(one, str)]
        elif isinstance(value, str):
            found.append(value)
    return list(dict.fromkeys(found))[:_MOST]


def load(folder: Path, path: str) -> tuple[bytes, str]:
    """Return an image and its media type.

    `path` is a study's, taken from `folder`; it may be absolute where it leads into it. Raises
    `ProblemError` 404 for one that does not lead to a file inside, links followed, 415 for what
    is no PNG, JPEG or WebP by its content, and 413 for one that is too large.
    """
    try:
        root = folder.resolve(strict=True)
        file = (root / path).resolve(strict=True)
        if not file.is_relative_to(root):
            raise ProblemError(404, "the study's image is not in the folder of images")
        with file.open("rb") as opened:
            if os.fstat(opened.fileno()).st_size > LARGEST:
                raise ProblemError(413, f"the study's image has more than {LARGEST:,} bytes")
            content = opened.read(LARGEST)
    except (OSError, ValueError, RuntimeError) as error:  # a name no file can have, a loop of links
        raise ProblemError(404, "the study's image is not in the folder of images") from error
    kind = _kind(content[:_HEAD])
    if kind is None:
        raise ProblemError(415, "the study's image is no PNG, JPEG or WebP")
    return content, kind


def _kind(head: bytes) -> str | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None
