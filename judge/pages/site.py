"""Pages in files: of a run, of several runs with an index, of a comparison, of a validation."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from judge.files import cannot_write, check_writable, write_html
from judge.pages.bundle import MARK, facts_list, static_page
from judge.pages.run import write_page
from judge.running.folder import RunFolder
from judge.tables.run import run_document
from judge.types import JudgeError

COMPARISON = "comparison.html"
INDEX = "index.html"


def check_site(runs: Iterable[Path], out: Path) -> dict[str, RunFolder]:
    """Return the runs by the names of their pages in the folder `out`, which is made.

    Raises `JudgeError` where two runs would have one page, and where a file cannot be written.
    """
    opened: dict[str, RunFolder] = {}
    for path in dict.fromkeys(path.resolve() for path in runs):
        name = f"{path.name}.html"
        if name in opened or name in (INDEX, COMPARISON):
            raise JudgeError(
                f"{path} has no page of its own, {name}: rename the run's folder"
            )
        opened[name] = RunFolder.open(path)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from error
    for name in (*opened, INDEX, COMPARISON):
        check_writable(out / name, mark=MARK)
    return opened


def write_site(
    runs: Mapping[str, RunFolder], out: Path, comparison: Iterable[str] | None
) -> Path:
    """Write the pages of runs and of their comparison, and the index, whose path is returned.

    Without a comparison an earlier one is removed: the index would not lead to it.
    """
    for name, run in runs.items():
        write_page(run, out / name)
    if comparison is None:
        (out / COMPARISON).unlink(missing_ok=True)
    else:
        write_html(comparison, out / COMPARISON, MARK)
    index = out / INDEX
    pieces = static_page("Runs", _index(runs, has_comparison=comparison is not None))
    write_html(pieces, index, MARK)
    return index


def _index(runs: Mapping[str, RunFolder], *, has_comparison: bool) -> Iterator[str]:
    if has_comparison:
        yield f'<p><a href="{COMPARISON}">Comparison of the models</a></p>\n'
    for name, run in runs.items():
        document = run_document(run.summary(), run.rubric)
        title = html.escape(document.title)
        yield f'<h2><a href="{quote(name)}">{title}</a></h2>\n'
        yield facts_list(document.head)
