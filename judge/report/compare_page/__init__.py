"""A comparison as a page: the leaderboard, the tests, and the studies behind every cell.

`choice` says which studies' records to fetch and `file` makes one file of it all; a server
sends what `data` gives. Some scripts and styles are those of a run's page.
"""

from __future__ import annotations

from pathlib import Path

from judge.report import page
from judge.report.frontend import Frontend

STATIC = Path(__file__).parent / "static"

FRONTEND = Frontend(
    (STATIC, page.STATIC),
    styles=("base.css", "compare.css"),
    scripts=(
        *("dom.js", "words.js", "data.js", "transports.js", "store.js", "parts.js", "items.js"),
        *("opened.js", "board.js", "errors.js", "studies.js", "overlay.js", "record.js"),
        *("study.js", "figures.js", "form.js", "address.js", "main.js"),
    ),
)
