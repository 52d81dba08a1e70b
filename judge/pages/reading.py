"""The page for blind reading: both reports of a study, without any verdict.

It shares scripts and styles with the pages of results, but none that ask for a judge's answers.
"""

from __future__ import annotations

from judge.pages import STATIC
from judge.pages.frontend import Frontend

FRONTEND = Frontend(
    (STATIC / "reading", STATIC),
    styles=("base.css", "read.css"),
    scripts=(
        *("dom.js", "load.js", "words.js", "diff.js", "keys.js", "reader.js", "marks.js"),
        *("report.js", "lines.js", "image.js", "saver.js", "editor.js", "practice.js", "main.js"),
    ),
)
