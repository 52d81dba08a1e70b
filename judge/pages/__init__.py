"""The application of all pages of results: scripts and styles, written by hand."""

from __future__ import annotations

from pathlib import Path

from judge.pages.frontend import Frontend

STATIC = Path(__file__).parent / "static"

FRONTEND = Frontend(
    (STATIC,),
    styles=("base.css", "results.css"),
    scripts=(
        *("dom.js", "load.js", "words.js", "diff.js", "keys.js", "list.js", "study.js", "app.js"),
        *("reader.js", "review.js", "run.js", "runs.js", "comparison.js", "stress.js"),
        *("validation.js", "main.js"),
    ),
)
