"""Figures as SVG, PDF, PNG and Vega-Lite, with captions, in a folder."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from judge.figures.lettering import with_widths
from judge.figures.specs import (
    GRID,
    INK,
    MUTED,
    PAPER,
    SERIES_COLOURS,
    level_colours,
)
from judge.files import cannot_write
from judge.plugins import install
from judge.signature import safe_name
from judge.tables.forms import code_span
from judge.types import JudgeError

CAPTIONS = {"comparison": "captions.md", "validation": "captions_validation.md"}
"""The file of captions by subject, so that one folder can hold all."""
_VERSION = "5.21"
"""Vega-Lite's, so that a later version of vl-convert draws the same."""
_STAGING = ".judge-"
_MAX_STEM = 60
_DARK = {
    INK: "#e6e6e6",
    MUTED: "#a8a8a8",
    GRID: "#3c3c3c",
    SERIES_COLOURS[0]: "#6fa8dc",
    SERIES_COLOURS[1]: "#f0a04b",
}
"""Colours of a figure on a dark page."""
_DARK_PAPER = "#1b222a"
"""What the gaps between cells are on a dark page: its colour behind a figure."""
_MOST_LEVELS = 9


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: the stem of its files, title, caption and Vega-Lite specification."""

    name: str
    title: str
    caption: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FigureSet:
    """The figures of a subject, with the full names of models or judges in the figures' order."""

    subject: str
    figures: tuple[Figure, ...]
    signature: str
    notes: tuple[str, ...]
    names: tuple[str, ...]


def flat(text: str) -> str:
    """Return `text` on one line, without characters that an XML file cannot hold."""
    return " ".join(
        "".join(char if char.isprintable() else " " for char in text).split()
    )


def count_range(numbers: Iterable[int]) -> str:
    """Return the least and the largest of `numbers`, as `120` or `98 to 120`."""
    known = sorted(numbers) or [0]
    low, high = f"{known[0]:,}", f"{known[-1]:,}"
    return low if low == high else f"{low} to {high}"


def with_unique_names(figures: Sequence[Figure]) -> tuple[Figure, ...]:
    """Return the figures with names that are safe and different on every file system."""
    named: dict[str, Figure] = {}
    for figure in figures:
        stem = name = safe_name(figure.name, _MAX_STEM, keeps="_-", default="figure")
        number = 1
        while name.lower() in named:
            number += 1
            name = f"{stem}-{number}"
        named[name.lower()] = replace(figure, name=name)
    return tuple(named.values())


def svg(figure: Figure, signature: str) -> str:
    """Return a figure as SVG, with its text as text, its caption and the signature.

    Each text states its width, so that it looks the same in any font.
    """
    text = require_converter().vegalite_to_svg(figure.spec, vl_version=_VERSION)
    # Vega numbers gradients through the life of a process.
    text = re.sub(r"\bgradient_\d+", f"{figure.name}-gradient", text)
    about = (
        f"<title>{escape(flat(figure.title))}</title>"
        f"<desc>{escape(flat(figure.caption))}\n{escape(flat(signature))}</desc>"
    )
    text = with_widths(text)
    return re.sub(r"(<svg[^>]*>)", lambda tag: tag[1] + about, text, count=1)


@dataclass(frozen=True, slots=True)
class DrawnFigure:
    """A figure and its SVG."""

    figure: Figure
    svg: str


@dataclass(frozen=True, slots=True)
class DrawnFigures:
    """The figures of a subject, drawn once for all places where they are shown."""

    about: FigureSet
    drawn: tuple[DrawnFigure, ...]


def draw_figures(figures: FigureSet) -> DrawnFigures:
    """Draw figures; raises `JudgeError` where vl-convert is not installed."""
    drawn = []
    for figure in figures.figures:
        drawn.append(DrawnFigure(figure, svg(figure, figures.signature)))
    return DrawnFigures(figures, tuple(drawn))


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A figure as a page takes it: its title, what it shows, and the SVG."""

    title: str
    caption: str
    svg: str


def page_figures(figures: DrawnFigures) -> tuple[PageFigure, ...]:
    """Return figures for a page: without a background, in colours that follow its scheme."""
    style = f"<style>@media (prefers-color-scheme: dark){{{_dark_rules()}}}</style>"
    ground = rf'<rect width="[\d.]+" height="[\d.]+" fill="{PAPER}"\s*/>'
    shown = []
    for drawn in figures.drawn:
        text = re.sub(ground, "", drawn.svg, count=1)
        text = re.sub(r"(<svg[^>]*>)", lambda tag: tag[1] + style, text, count=1)
        shown.append(PageFigure(drawn.figure.title, drawn.figure.caption, text))
    return tuple(shown)


def _dark_rules() -> str:
    """Return the style rules that turn the colours of a figure into those of a dark page."""
    colours = dict(_DARK)
    for n in range(1, _MOST_LEVELS + 1):
        for light, dark in zip(
            level_colours(n), level_colours(n, dark=True), strict=True
        ):
            colours.setdefault(light, dark)
    rules = [f'[stroke="{PAPER}"]{{stroke:{_DARK_PAPER}}}']
    for light, dark in colours.items():
        rules.append(f'[fill="{light}"]{{fill:{dark}}}')
        rules.append(f'[stroke="{light}"]{{stroke:{dark}}}')
    return "".join(rules)


def write_figures(figures: DrawnFigures, folder: Path) -> tuple[Path, ...]:
    """Write each figure as `NAME.svg`, `.pdf`, `.png` (300 dots an inch) and `.vl.json`.

    Captions with the names in full go into a file beside them. All is written before the first
    file takes the place of one of the same name; other files stay. The same input gives the same
    bytes, but for the order of objects in a PDF. Raises `JudgeError` as `check_figures` does; then
    nothing is changed.
    """
    check_figures(folder)
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
        raise cannot_write(folder, error) from error
    return tuple(folder / name for name in names)


def check_figures(folder: Path) -> None:
    """Raise `JudgeError` where vl-convert is missing, or `folder` cannot be written to."""
    require_converter()
    try:
        parent = next(
            path for path in (folder, *folder.absolute().parents) if path.exists()
        )
        with tempfile.TemporaryFile(dir=parent, prefix=_STAGING):
            pass
    except OSError as error:
        raise cannot_write(folder, error) from error


def _captions(figures: FigureSet) -> str:
    lines = ["# Figures", ""]
    lines += [
        f"- {code_span(figure.name)}: {flat(figure.caption)}"
        for figure in figures.figures
    ]
    lines += ["", "Names, in the order of the figures:", ""]
    lines += [f"{number}. {flat(name)}" for number, name in enumerate(figures.names, 1)]
    if figures.notes:
        lines += ["", f"Notes on the {figures.subject}:", ""]
        lines += [f"- {flat(note)}" for note in figures.notes]
    return "\n".join([*lines, "", f"Signature: {code_span(figures.signature)}", ""])


def _files(figures: DrawnFigures) -> Iterator[tuple[str, bytes]]:
    convert = require_converter()
    about = figures.about
    for drawn in figures.drawn:
        figure = drawn.figure
        described = {
            "description": f"{figure.title}. {figure.caption} {about.signature}"
        }
        spec = json.dumps(described | figure.spec, indent=1, ensure_ascii=False)
        yield f"{figure.name}.svg", drawn.svg.encode()
        yield f"{figure.name}.pdf", convert.svg_to_pdf(drawn.svg)
        yield f"{figure.name}.png", convert.svg_to_png(drawn.svg, ppi=300)
        yield f"{figure.name}.vl.json", f"{spec}\n".encode()
    yield CAPTIONS[about.subject], _captions(about).encode(errors="replace")


def available() -> bool:
    """Return whether figures can be drawn here."""
    return find_spec("vl_convert") is not None


def require_converter() -> ModuleType:
    """Return vl-convert; raises `JudgeError` where it is not installed."""
    try:
        return import_module("vl_convert")
    except ImportError:
        raise JudgeError(
            "figures are drawn with vl-convert, which is not installed; "
            + install("vl-convert-python")
        ) from None
