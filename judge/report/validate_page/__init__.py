"""Judges beside readers as a page: the tables, every count as a point, and the studies behind.

`data` says what the page knows and which studies' reports go into it, `file` makes one file of it
all. Most scripts and styles are those of a comparison's page and of a run's.
"""

from __future__ import annotations

from pathlib import Path

from judge.report import compare_page, page
from judge.report.frontend import Frontend

STATIC = Path(__file__).parent / "static"

FRONTEND = Frontend(
    (STATIC, compare_page.STATIC, page.STATIC),
    styles=("base.css", "compare.css", "validate.css"),
    scripts=(
        *("dom.js", "words.js", "data.js", "parts.js", "items.js", "opened.js", "overlay.js"),
        *("record.js", "cells.js", "cloud.js", "disagreement.js", "beside.js", "main.js"),
    ),
)
