"""The page on which a reader reads a run's studies blind: both reports, and nobody's verdict.

It shares scripts and styles with a run's page, and none that ask for what a judge said.
"""

from __future__ import annotations

from pathlib import Path

from judge.report import page
from judge.report.frontend import Frontend

STATIC = Path(__file__).parent / "static"

FRONTEND = Frontend(
    (STATIC, page.STATIC),
    styles=("base.css", "read.css"),
    scripts=(
        *("dom.js", "load.js", "words.js", "keys.js", "reader.js", "text.js", "draft.js"),
        *("cards.js", "bar.js", "lines.js", "image.js", "saving.js", "reading.js"),
        *("actions.js", "main.js"),
    ),
)
