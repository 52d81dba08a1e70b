"""Runs whose studies are there to be read blind, and images to see beside them."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from support import EXAMPLES

RATING = "RATING-OF-ANOTHER"


def readable(
    folder: Path, rubric: str = "green", n: int = 3, images: dict[int, str] | None = None
) -> Path:
    """A run of the examples called `mine`, of which n are drawn to be read, with own fields.

    `images` are paths of the studies by their place in the file.
    """
    refs: dict[str, Any] = json.loads((EXAMPLES / "refs.json").read_text("utf-8"))
    for at, record in enumerate(refs.values()):
        record |= {"indication": "Cough for three days.", "rating": f"{RATING} {at}"}
        if images and at in images:
            record["image_path"] = images[at]
    folder.mkdir(exist_ok=True)
    (folder / "refs.json").write_text(json.dumps(refs), "utf-8")
    out = folder / "mine"
    invoked(rubric, EXAMPLES / "preds.json", folder / "refs.json", "--out", out)
    invoked("sample", out, "-n", n, "--by", "indication")
    return out


def invoked(*args: object) -> str:
    """Run the command line in a process of its own: that of a browser has an event loop already."""
    command = [sys.executable, "-m", "judge", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def png(width: int = 40, height: int = 50) -> bytes:
    """An image: a grey ramp."""
    row = b"\0" + bytes(255 * x // width for x in range(width))

    def chunk(kind: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + crc

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(row * height)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
