"""The page of a run: its scripts and styles, written by hand, and the file that holds it whole."""

from __future__ import annotations

from pathlib import Path

from judge.report.frontend import Frontend

STATIC = Path(__file__).parent / "static"

FRONTEND = Frontend(
    (STATIC,),
    styles=("base.css", "run.css"),
    scripts=(
        *("dom.js", "words.js", "data.js", "transports.js", "store.js", "overview.js", "keys.js"),
        *("columns.js", "list.js", "items.js", "study.js", "reader.js", "review.js", "runs.js"),
        "main.js",
    ),
)
