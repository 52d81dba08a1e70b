"""Reads readers' files of any layout."""

from __future__ import annotations

from collections.abc import Sequence

from judge.readers.annotations import File, Readings, open_file
from judge.readers.layouts import LAYOUTS
from judge.readers.layouts.layout import Layout
from judge.studies.input_table import InputFile
from judge.types import JudgeError

AUTO = "auto"
"""The layout is recognized by the columns of the files."""


def read(
    name: str,
    sources: Sequence[str],
    reader: str | None = None,
    encoding: str | None = None,
) -> tuple[str, list[Readings], tuple[InputFile, ...]]:
    """Read files of one layout; return its name, the readings of each reader, and the files.

    `name` is one of `LAYOUTS`, or `AUTO`. `reader` is the reader's name where the files do not
    have it, by default the name of the file. `encoding` is that of files that are not in UTF-8.
    Raises `JudgeError` for an unknown layout, and for files that are of none or of several.
    """
    if name != AUTO and name not in LAYOUTS:
        names = ", ".join((*LAYOUTS, "pairs", AUTO, "readings"))
        raise JudgeError(f"unknown layout {name!r}; there are: {names}")
    files = [open_file(source, encoding) for source in sources]
    contents = {file.sha256 for file in files}
    if len(contents) < len(files):
        raise JudgeError("a file is named twice; name each once")
    layout = _layout_of(name, files)
    table = layout.read(files, reader)
    inputs = []
    for source, file in zip(sources, files, strict=True):
        # A file with the candidates counts as both sides, like a file of studies.
        role = "readings"
        if file.name == table.source:
            role = "both"
        inputs.append(InputFile(source, role, file.sha256, len(file)))
    return layout.name, table.readings(), tuple(inputs)


def _layout_of(name: str, files: Sequence[File]) -> Layout:
    """Return the layout of some files; raises `JudgeError` unless it is one that fits."""
    wanted = list(LAYOUTS.values())
    if name != AUTO:
        wanted = [LAYOUTS[name]]
    fitting = [layout for layout in wanted if layout.fits(files)]
    if len(fitting) == 1:
        layout = fitting[0]
        if len(files) == 1 or layout.has_several_files:
            return layout
    names = ", ".join(file.name for file in files)
    needs = "; ".join(f"{layout.name} needs {layout.needs}" for layout in wanted)
    raise JudgeError(f"{names}: no one layout has these columns; {needs}")
