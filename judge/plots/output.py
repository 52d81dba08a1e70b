"""Figures as SVG, PDF and PNG, with captions, and the folder that they are written to."""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from judge.plots.data import Boxes, Drawing, Errors, Forest, Matrix, Plan, Points, Ranks, Rates
from judge.plots.heat_maps import draw_correlations, draw_ranks
from judge.plots.labels import flat
from judge.plots.panels import draw_boxes, draw_forest, draw_rates
from judge.plots.points import draw_points
from judge.plots.stacks import draw_errors
from judge.plots.style import RC, Width
from judge.report.words import capital
from judge.types import JudgeError

FORMS = ("svg", "pdf", "png")
_STAGING = ".judge-"


def draw(drawing: Drawing, width: Width) -> Figure:
    """Return one figure at one width. Call it, and write it, within `settings()`."""
    match drawing.data:
        case Rates() as data:
            return draw_rates(data, width)
        case Ranks() as data:
            return draw_ranks(data, width)
        case Matrix() as data:
            return draw_correlations(data, width)
        case Boxes() as data:
            return draw_boxes(data, width)
        case Errors() as data:
            return draw_errors(data, width)
        case Forest() as data:
            return draw_forest(data, width)
        case Points() as data:
            return draw_points(data, width)


def rendered(
    drawing: Drawing, width: Width, signature: str, forms: Sequence[str] = FORMS
) -> list[bytes]:
    """Return a figure in each form.

    SVG has its text as outlines, PDF with the letters of the font that it needs, and PNG 300 dots
    an inch. The same input gives the same bytes.
    """
    title, said = _words(drawing.title), f"{_words(drawing.caption)}\n{_words(signature)}"
    about: dict[str, dict[str, str | None]] = {
        "svg": {"Title": title, "Description": said, "Creator": "judge", "Date": None},
        "pdf": {"Title": title, "Subject": said, "Creator": "judge", "CreationDate": None},
        "png": {"Title": title, "Description": said, "Software": "judge"},
    }
    files = [io.BytesIO() for _ in forms]
    with settings():
        figure = draw(drawing, width)
        for out, form in zip(files, forms, strict=True):
            figure.savefig(out, format=form, dpi=300, metadata=about[form])
    return [out.getvalue() for out in files]


def _words(text: str) -> str:
    return flat("".join(char if char.isprintable() else " " for char in text))


@contextmanager
def settings() -> Iterator[None]:
    """Draw with these settings, whatever a user's own style file says.

    No warning is given of a character that the font lacks: the figure shows it as a box.
    """
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        yield


def captions_text(planned: Plan) -> str:
    """Return Markdown that says what each figure shows, with the names in full."""
    lines = ["# Figures", ""]
    lines += [f"- `{drawing.name}`: {flat(drawing.caption)}" for drawing in planned.drawings]
    lines += [f"- Not drawn: {flat(reason)}." for reason in planned.left_out]
    if planned.notes:
        lines += ["", f"Notes on the {planned.of}:", ""]
        lines += [f"- {flat(note)}" for note in planned.notes]
    for what, names in planned.names.items():
        lines += ["", f"{capital(what)}, in the order of the figures:", "", *_numbered(names)]
    for drawing in planned.drawings:
        if isinstance(drawing.data, Ranks):
            what = capital(f"{drawing.data.group}s")
            lines += ["", f"{what}, in the order of `{drawing.name}`:", ""]
            lines += _numbered(drawing.data.groups)
    lines += ["", f"Signature: `{planned.signature}`", ""]
    return "\n".join(lines)


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"{number}. {flat(name)}" for number, name in enumerate(names, 1)]


def check_folder(folder: Path) -> None:
    """Raise `JudgeError` where figures cannot be written to `folder`; leaves nothing behind."""
    try:
        if folder.exists() and not folder.is_dir():
            raise JudgeError(f"{folder} is a file; name a folder with --figures")
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=there, prefix=_STAGING):
            pass
    except OSError as error:
        raise _cannot_write(folder, error) from error


def write_all(folder: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write captions and figures to `folder`, which is made where it is not there.

    All of them are written before the first takes the place of a file of the same name; other
    files stay. Raises `JudgeError` as `check_folder` does; then nothing is changed.
    """
    check_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=_STAGING) as staging:
            for name, content in files.items():
                (Path(staging) / name).write_bytes(content)
            for name in files:
                (Path(staging) / name).replace(folder / name)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return tuple(folder / name for name in files)


def _cannot_write(folder: Path, error: OSError) -> JudgeError:
    return JudgeError(f"cannot write figures to {folder}: {error.strerror or error}")
