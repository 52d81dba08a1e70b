"""The layouts that are known, and which of them a set of files has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from judge.readers import radevalx, radpref, refisco, rexval, tidy
from judge.readers.readings import Readings
from judge.readers.sheet import Sheet, read_sheet
from judge.studies.load import Content, decode, is_json, read_content
from judge.studies.names import stem_of
from judge.studies.study_set import InputFile
from judge.types import JudgeError

LAYOUTS = ("tidy", "rexval", "refisco", "radpref", "radevalx")
AUTO = "auto"
"""Whichever the files are found to have."""
_FITS: dict[str, Callable[[Sheet], bool]] = {
    "tidy": tidy.fits,
    "rexval": rexval.fits,
    "refisco": refisco.fits,
    "radevalx": radevalx.fits,
}

_File = Sheet | radpref.Document


def read(
    layout: str,
    sources: Sequence[str],
    reader: str | None = None,
    encoding: str | None = None,
) -> tuple[str, Readings, tuple[InputFile, ...]]:
    """Read files of one layout; returns its name, what readers said, and the files.

    `reader` is who read where a layout does not say it, by default what the file is called;
    `encoding` is that of the files.
    Raises `JudgeError` for files that are of another layout than `layout`, or of none that is
    known, and for everything that is wrong in them.
    """
    if layout not in (*LAYOUTS, AUTO):
        raise JudgeError(f"unknown layout {layout!r}; there are: {', '.join((*LAYOUTS, AUTO))}")
    contents = [read_content(source, encoding) for source in sources]
    if len({content.sha256 for content in contents}) < len(contents):
        raise JudgeError("one of the files is given twice; name each once")
    files = [_opened(content) for content in contents]
    found = [_layouts_of(file) for file in files]
    told = [name for name in LAYOUTS if all(name in names for names in found)]
    if layout == AUTO:
        if len(told) != 1:
            raise JudgeError(f"{_described(files, found)}; name the layout: {', '.join(LAYOUTS)}")
        layout = told[0]
    elif layout not in told and any(found):
        raise JudgeError(f"these are no files of {layout}: {_described(files, found)}")
    readings = _read(layout, files, reader)
    inputs = tuple(
        # The file that has the candidates is that of both sides, as of one file of studies.
        InputFile(
            source,
            "both" if content.name == readings.source else "readings",
            content.sha256,
            _size(file),
        )
        for source, content, file in zip(sources, contents, files, strict=True)
    )
    return layout, readings, inputs


def _opened(content: Content) -> _File:
    if not content.is_parquet and is_json(decode(content)):
        return radpref.document(content)
    return read_sheet(content)


def _layouts_of(file: _File) -> list[str]:
    if isinstance(file, radpref.Document):
        return ["radpref"] if file.fits else []
    return [name for name, fits in _FITS.items() if fits(file)]


def _read(layout: str, files: Sequence[_File], reader: str | None) -> Readings:
    if layout == "radpref":
        documents = [file for file in files if isinstance(file, radpref.Document)]
        if len(documents) == len(files):
            return radpref.read(documents)
        raise JudgeError("the files of RadPref are JSON; one of these is a table")
    sheets = [file for file in files if isinstance(file, Sheet)]
    if len(sheets) < len(files):
        raise JudgeError(f"a file of {layout} is CSV, TSV or Parquet; one of these is JSON")
    if layout == "rexval":
        return rexval.read(sheets)
    if len(sheets) > 1:
        raise JudgeError(f"{layout} is one file, and these are {len(sheets)}; import one at a time")
    (sheet,) = sheets
    if layout == "radevalx":
        return radevalx.read(sheet, reader or stem_of(sheet.name))
    return tidy.read(sheet) if layout == "tidy" else refisco.read(sheet)


def _described(files: Sequence[_File], found: Sequence[Sequence[str]]) -> str:
    return "; ".join(
        f"{file.name} looks like {' or '.join(names)}"
        if names
        else f"{file.name} is of no layout that is known"
        for file, names in zip(files, found, strict=True)
    )


def _size(file: _File) -> int:
    return len(file.cells if isinstance(file, Sheet) else file.data)
