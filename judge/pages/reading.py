"""The page on which a reader reads a run's studies blind: both reports, and nobody's verdict.

It shares scripts and styles with the pages of results, and none that ask for what a judge said.
"""

from __future__ import annotations

from judge.pages import STATIC
from judge.pages.frontend import Frontend

FRONTEND = Frontend(
    (STATIC / "reading", STATIC),
    styles=("base.css", "read.css"),
    scripts=(
        *("dom.js", "load.js", "words.js", "diff.js", "keys.js", "reader.js", "scheme.js"),
        *("text.js", "lines.js", "image.js", "saver.js", "desk.js", "main.js"),
    ),
)
