"""The index of a folder of pages: what each run is, and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

from judge.pages import FRONTEND
from judge.tables.run import headline, run_title

if TYPE_CHECKING:
    from judge.running.folder import Run


def site_index(mark: str, runs: Mapping[str, Run], *, has_comparison: bool) -> Iterator[str]:
    """Yield the index of `runs`, which are given by the names of their pages."""
    yield (
        f'{mark}\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Runs</title>\n<style>{FRONTEND.style}</style>\n</head>\n<body>\n"
        '<header class="top"><h1>Runs</h1></header>\n<main>\n'
    )
    if has_comparison:
        yield '<p><a href="comparison.html">Comparison of the models</a></p>\n'
    for name, run in runs.items():
        summary = run.summary()
        yield (
            f'<h2><a href="{quote(name)}">{escape(run_title(summary, run.rubric))}</a></h2>\n'
            f'<dl class="facts">{"".join(map(_fact, headline(summary, run.rubric)))}</dl>\n'
        )
    yield "</main>\n</body>\n</html>\n"


def _fact(fact: tuple[str, str]) -> str:
    name, value = map(escape, fact)
    return f"<div><dt>{name}</dt><dd><bdi>{value}</bdi></dd></div>"
