"""The PDF of a pack, set by typst with the fonts that come with it."""

from __future__ import annotations

import json
import tempfile
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from judge.pack.checklists import BLANK
from judge.plugins import install
from judge.types import JudgeError

_LAST_LATIN = 0x24F
_SCRIPTS = (
    "LATIN",
    "GREEK",
    "CYRILLIC",
    "MODIFIER",
    "MICRO",
    "OHM",
    "ANGSTROM",
    "KELVIN",
)
"""The scripts of the fonts that come with typst, and letters that are signs of units."""
_TEMPLATE = Path(__file__).with_name("evidence.typ")


def require_typst() -> ModuleType:
    """Return typst; raises `JudgeError` where it, or what draws the figures, is not installed."""
    try:
        import_module("vl_convert")
        return import_module("typst")
    except ImportError:
        raise JudgeError(
            "an evidence pack needs typst and vl-convert, which are not both installed; "
            + install("typst", "vl-convert-python")
        ) from None


def letters_without_font(text: str) -> str:
    """Return the names of the scripts whose letters the fonts of typst lack, with commas."""
    scripts = set()
    for letter in set(text):
        if letter.isalpha() and ord(letter) > _LAST_LATIN:
            script = unicodedata.name(letter, "UNKNOWN").split()[0]
            if script not in _SCRIPTS:
                scripts.add(script)
    return ", ".join(sorted(scripts))


def as_pdf(
    blocks: Sequence[Mapping[str, Any]],
    images: Mapping[str, bytes],
    *,
    title: str,
    footer: str,
    moment: datetime,
) -> bytes:
    """Return blocks as a PDF; `images` are the files that they name, `moment` is its date.

    All texts go to typst as data, so that nothing in a report is markup. The same input gives the
    same bytes. No font of this machine is used: letters that the fonts of typst lack, such as
    Chinese ones, are printed as boxes. Raises `JudgeError` where typst is missing or fails.
    """
    typst = require_typst()
    data = {"title": title, "footer": footer, "blank": BLANK, "blocks": list(blocks)}
    boxes = letters_without_font(json.dumps(data, ensure_ascii=False))
    if boxes:
        shown = (
            f"The fonts of this PDF lack some letters, which are boxes here: {boxes}. "
        )
        notice = {"kind": "notice", "text": f"{shown}Read the texts in the zip."}
        data["blocks"] = [notice, *blocks]
    text = json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
    with tempfile.TemporaryDirectory(prefix="judge-pack-") as folder:
        place = Path(folder)
        (place / "data.json").write_bytes(text)
        (place / _TEMPLATE.name).write_bytes(_TEMPLATE.read_bytes())
        for name, image in images.items():
            (place / name).write_bytes(image)
        try:
            pdf: bytes = typst.compile(
                str(place / _TEMPLATE.name),
                root=folder,
                ignore_system_fonts=True,
                timestamp=moment,
            )
        except typst.TypstError as error:
            raise JudgeError(f"typst could not set the PDF: {error}") from error
    return pdf
