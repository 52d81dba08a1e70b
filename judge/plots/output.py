"""Figures as SVG, PDF and PNG, with captions, and their folder: what judge wrote is replaced.

A list in the folder, in the form of `sha256sum`, has the digest of each file that judge wrote,
so that a file of somebody's own, or one that was edited since, is known.
"""

from __future__ import annotations

import hashlib
import io
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from judge.plots import CAPTIONS_OF
from judge.plots.data import (
    Boxes,
    Drawing,
    Errors,
    Forest,
    Matrix,
    Plan,
    Points,
    Ranks,
    Rates,
    name_lists,
)
from judge.plots.heat_maps import draw_correlations, draw_ranks
from judge.plots.labels import UNKNOWN, flat, numbers_of_boxed
from judge.plots.panels import draw_boxes, draw_forest, draw_rates
from judge.plots.points import draw_points
from judge.plots.stacks import draw_errors
from judge.plots.style import RC, WIDTHS, Width
from judge.report.words import capital
from judge.types import JudgeError

FORMS = ("svg", "pdf", "png")
LIST = ".judge-figures.sha256"
_STAGING = ".judge-"
_LISTED = re.compile(r"^([0-9a-f]{64})  (.+)$", re.MULTILINE)
_KINDS = {
    "comparison": "rates|errors|ranks|correlation|boxes",
    "validation": "agreement|counts|limits",
    "stress test": "stress",
}
# Captions, and any figure that each of these may have, whatever its metrics.
_OWN = {
    of: re.compile(
        rf"{re.escape(CAPTIONS_OF[of])}|({kinds})_[A-Za-z0-9_-]+"
        rf"\.({'|'.join(w.name for w in WIDTHS)})\.({'|'.join(FORMS)})"
    )
    for of, kinds in _KINDS.items()
}

_Written = frozenset[tuple[str, str]]
"""The digest and the name of each file that judge wrote."""


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
    """Return what a file says of itself, on one line and of letters that all forms can hold."""
    return flat("".join(char if char.isprintable() else " " for char in text))


@contextmanager
def settings() -> Iterator[None]:
    """Draw with these settings, whatever a user's own style file says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        yield


def captions_text(planned: Plan) -> str:
    """Return Markdown that says what each figure shows, with the names in full."""
    lines = ["# Figures", ""]
    lines += [f"- `{drawing.name}`: {flat(drawing.caption)}" for drawing in planned.drawings]
    lines += [f"- Not drawn: {flat(reason)}." for reason in planned.left_out]
    if any(map(_has_box, planned.drawings)):
        lines.append(
            f"- {UNKNOWN}: a letter that the figures' font lacks; the number before such a name "
            f"is its position in the list of {' or '.join(planned.names)}, or in its own list, "
            "below."
        )
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
    # The lists that a reader needs besides models and groups, with their first figure.
    others: dict[tuple[str, tuple[str, ...]], Drawing] = {}
    for drawing in planned.drawings:
        for what, names in name_lists(drawing.data).items():
            if what in ("panels", "metrics") and numbers_of_boxed(names):
                others.setdefault((what, names), drawing)
    for (what, names), drawing in others.items():
        lines += ["", f"{what.capitalize()}, in the order of `{drawing.name}`:", ""]
        lines += _numbered(names)
    lines += ["", f"Signature: `{planned.signature}`", ""]
    return "\n".join(lines)


def boxed_names(drawings: Iterable[Drawing]) -> tuple[str, ...]:
    """Return the names of which the font lacks a letter, each once."""
    lists = [names for drawing in drawings for names in name_lists(drawing.data).values()]
    found = [names[number - 1] for names in lists for number in numbers_of_boxed(names)]
    return tuple(dict.fromkeys(found))


def caption_with_key(drawing: Drawing) -> str:
    """Return the caption, and after it the names of which the font lacks a letter."""
    if not _has_box(drawing):
        return drawing.caption
    key = f"{drawing.caption} {UNKNOWN}: a letter that the figure's font lacks"
    for what, names in name_lists(drawing.data).items():
        numbers = numbers_of_boxed(names)
        if numbers:
            listed = ", ".join(f"{number}. {flat(names[number - 1])}" for number in numbers)
            key += f"; {what} by their numbers: {listed}"
    return f"{key}."


def _has_box(drawing: Drawing) -> bool:
    # A metric stands in the title, and below the panels.
    return bool(boxed_names([drawing]) or numbers_of_boxed([drawing.title]))


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"{number}. {flat(name)}" for number, name in enumerate(names, 1)]


def check_folder(folder: Path) -> None:
    """Raise `JudgeError` where figures cannot be written to `folder`; leaves nothing behind.

    That is also where it holds captions, or a file that is named as a figure is, that judge
    did not write or somebody has changed since.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise JudgeError(f"{folder} is a file; name a folder with --figures")
        written = _written(folder)
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            is_ours = any(own.fullmatch(path.name) for own in _OWN.values())
            if is_ours and (_digest_of(path), path.name) not in written:
                raise JudgeError(
                    f"{path} is not as judge wrote it, and would be replaced; "
                    "move it, or name another folder with --figures"
                )
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=there, prefix=_STAGING):
            pass
    except OSError as error:
        raise _cannot_write(folder, error) from error


def write_all(folder: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write captions and figures to `folder`, which is made where it is not there.

    All of them are written before the first takes the place of one that is there. Figures that
    judge wrote before of the same - a comparison, a validation, a stress test - and that are not
    in `files` are removed; other files stay. Raises `JudgeError` as `check_folder` does; then
    nothing is changed.
    """
    check_folder(folder)
    before = _written(folder)
    of_same, of_others = set[tuple[str, str]](), set[tuple[str, str]]()
    for own in _OWN.values():
        part = of_same if any(map(own.fullmatch, files)) else of_others
        part |= {(digest, name) for digest, name in before if own.fullmatch(name)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=_STAGING) as staging:
            for name, content in files.items():
                (Path(staging) / name).write_bytes(content)
            now = frozenset((_digest(content), name) for name, content in files.items())
            # First, so that wherever this breaks off the next run knows what it finds.
            _list(folder, before | now, Path(staging))
            for name in files:
                (Path(staging) / name).replace(folder / name)
            # Capitals may be one with small letters: what was just written must stay.
            kept = {name.lower() for name in files}
            for digest, name in of_same:
                if name.lower() not in kept and _digest_of(folder / name) == digest:
                    (folder / name).unlink()
            _list(folder, now | of_others, Path(staging))
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return tuple(folder / name for name in files)


def _cannot_write(folder: Path, error: OSError) -> JudgeError:
    return JudgeError(f"cannot write figures to {folder}: {error.strerror or error}")


def _digest(content: bytes) -> str:
    # Git and editors may end lines as Windows does: that changes no word.
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def _digest_of(path: Path) -> str | None:
    """Return the digest of a file; None for a link, a folder, and where there is nothing."""
    return _digest(path.read_bytes()) if path.is_file() and not path.is_symlink() else None


def _written(folder: Path) -> _Written:
    path = folder / LIST
    text = path.read_text("utf-8", "replace") if path.is_file() else ""
    return frozenset((digest, name) for digest, name in _LISTED.findall(text))


def _list(folder: Path, written: _Written, staging: Path) -> None:
    lines = sorted(f"{digest}  {name}\n" for digest, name in written)
    (staging / LIST).write_text("".join(lines), "utf-8")
    (staging / LIST).replace(folder / LIST)
