"""The page of a run: its scripts and styles, written by hand, and the file that holds it whole."""

from __future__ import annotations

from pathlib import Path

from judge.report.frontend import Frontend

STATIC = Path(__file__).parent / "static"

FRONTEND = Frontend(
    (STATIC,),
    styles=("base.css", "overview.css", "studies.css", "study.css"),
    scripts=(
        "dom.js",
        "words.js",
        "packed.js",
        "http.js",
        "transports.js",
        "store.js",
        "figures.js",
        "overview.js",
        "filters.js",
        "pager.js",
        "list.js",
        "marks.js",
        "study.js",
        "review.js",
        "keys.js",
        "runs.js",
        "main.js",
    ),
)
