"""A stress test as a page: the tables, and each pair with what was put into it.

`data` says what the page knows of a pair, `file` makes one file of it all. Most scripts and styles
are those of a comparison's page and of a run's.
"""

from __future__ import annotations

from pathlib import Path

from judge.report import compare_page, page
from judge.report.frontend import Frontend

STATIC = Path(__file__).parent / "static"

FRONTEND = Frontend(
    (STATIC, compare_page.STATIC, page.STATIC),
    styles=("base.css", "compare.css", "stress.css"),
    scripts=(
        *("dom.js", "words.js", "data.js", "transports.js", "keys.js", "parts.js", "items.js"),
        *("overlay.js", "record.js", "figures.js", "list.js", "pair.js", "main.js"),
    ),
)
