"""The page on which a reader reads a run's studies blind: both reports, and nobody's verdict.

It shares scripts and styles with the pages of results, and none that ask for what a judge said.
"""

from __future__ import annotations

from pathlib import Path

from judge.report import page
from judge.report.frontend import Frontend

FRONTEND = Frontend(
    (Path(__file__).parent / "static", page.STATIC),
    styles=("base.css", "read.css"),
    scripts=(
        *("dom.js", "load.js", "words.js", "diff.js", "keys.js", "reader.js", "scheme.js"),
        *("text.js", "lines.js", "image.js", "saver.js", "desk.js", "main.js"),
    ),
)
