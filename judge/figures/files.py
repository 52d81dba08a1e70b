"""Figures as SVG, PDF, PNG and Vega-Lite, with captions, in a folder."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from types import ModuleType

from judge.figures.figure import Figure, FigureSet, flat
from judge.figures.specs import BAND, GRID, INK, MUTED
from judge.plugins import install
from judge.text import capital
from judge.types import JudgeError

CAPTIONS = {
    "comparison": "captions.md",
    "validation": "captions_validation.md",
    "stress test": "captions_stress.md",
}
"""The file of captions by subject, so that one folder can hold all."""
_VERSION = "5.21"
"""Vega-Lite's, so that a later version of vl-convert draws the same."""
_STAGING = ".judge-"
_DARK = {INK: "#e6e6e6", MUTED: "#a8a8a8", GRID: "#3c3c3c", BAND: "#262626", "#f0f0f0": "#333333"}
_SERIES_DARK = {"#004488": "#6fa8dc"}


def svg(figure: Figure, signature: str) -> str:
    """Return a figure as SVG, with its text as text, its caption and the signature."""
    text = require_converter().vegalite_to_svg(figure.spec, vl_version=_VERSION)
    # Vega numbers gradients through the life of a process; a page may hold several figures.
    text = re.sub(r"\bgradient_\d+", f"{figure.name}-gradient", text)
    about = (
        f"<title>{_xml(figure.title)}</title><desc>{_xml(figure.caption)}\n{_xml(signature)}</desc>"
    )
    return re.sub(r"(<svg[^>]*>)", lambda tag: tag[1] + about, text, count=1)


def page_svg(figure: Figure, signature: str) -> str:
    """Return a figure as SVG without a background, whose colours follow the reader's scheme."""
    text = svg(figure, signature)
    rules = "".join(
        f'[fill="{light}"]{{fill:{dark}}}[stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in (_DARK | _SERIES_DARK).items()
    )
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    text = re.sub(r'<rect width="[\d.]+" height="[\d.]+" fill="white"\s*/>', "", text, count=1)
    return re.sub(r"(<svg[^>]*>)", lambda tag: tag[1] + style, text, count=1)


def write_figures(figures: FigureSet, folder: Path) -> tuple[Path, ...]:
    """Write each figure as `NAME.svg`, `.pdf`, `.png` (300 dots an inch) and `.vl.json`.

    Captions with the names in full go into a file beside them. All is written before the first
    file takes the place of one of the same name; other files stay. The same input gives the same
    bytes, but for the order of objects in a PDF. Raises `JudgeError` as `check_folder` does; then
    nothing is changed.
    """
    check_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=_STAGING) as staging:
            names = []
            for name, content in _files(figures):
                (Path(staging) / name).write_bytes(content)
                names.append(name)
            for name in names:
                (Path(staging) / name).replace(folder / name)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return tuple(folder / name for name in names)


def check_folder(folder: Path) -> None:
    """Raise `JudgeError` where figures cannot be written to `folder`; leave nothing behind."""
    try:
        if folder.exists() and not folder.is_dir():
            raise JudgeError(f"{folder} is a file; name a folder with --figures")
        parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=parent, prefix=_STAGING):
            pass
    except OSError as error:
        raise _cannot_write(folder, error) from error


def captions(figures: FigureSet) -> str:
    """Return Markdown that says what each figure shows, with the names in full."""
    lines = ["# Figures", ""]
    lines += [f"- `{figure.name}`: {flat(figure.caption)}" for figure in figures.figures]
    lines += [f"- Not drawn: {flat(reason)}." for reason in figures.left_out]
    if figures.notes:
        lines += ["", f"Notes on the {figures.subject}:", ""]
        lines += [f"- {flat(note)}" for note in figures.notes]
    for kind, names in figures.names.items():
        lines += ["", f"{capital(kind)}, in the order of the figures:", "", *_numbered(names)]
    for figure in figures.figures:
        for kind, names in figure.names.items():
            lines += ["", f"{capital(kind)}, in the order of `{figure.name}`:", ""]
            lines += _numbered(names)
    return "\n".join([*lines, "", f"Signature: `{figures.signature}`", ""])


def _files(figures: FigureSet) -> Iterator[tuple[str, bytes]]:
    convert = require_converter()
    for figure in figures.figures:
        text = svg(figure, figures.signature)
        described = {"description": f"{figure.title}. {figure.caption} {figures.signature}"}
        spec = json.dumps(described | figure.spec, indent=1, ensure_ascii=False)
        yield f"{figure.name}.svg", text.encode()
        yield f"{figure.name}.pdf", convert.svg_to_pdf(text)
        yield f"{figure.name}.png", convert.svg_to_png(text, ppi=300)
        yield f"{figure.name}.vl.json", f"{spec}\n".encode()
    yield CAPTIONS[figures.subject], captions(figures).encode(errors="replace")


def require_converter() -> ModuleType:
    """Return vl-convert; raises `JudgeError` where it is not installed."""
    try:
        return import_module("vl_convert")
    except ImportError:
        raise JudgeError(
            "figures are drawn with vl-convert, which is not installed; "
            + install("vl-convert-python")
        ) from None


def _xml(text: str) -> str:
    return escape(flat(text))


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"{number}. {flat(name)}" for number, name in enumerate(names, 1)]


def _cannot_write(folder: Path, error: OSError) -> JudgeError:
    return JudgeError(f"cannot write figures to {folder}: {error.strerror or error}")
