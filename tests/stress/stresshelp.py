"""What the tests of stress runs share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from support import EXAMPLES

from judge.types import Annotation

REFS = EXAMPLES / "refs.json"
REPORT = r"(?s)(?<=<<<REPORT [0-9a-f]{8}\n).*?(?=\n[0-9a-f]{8} REPORT>>>)"
"""What a writer is given: the key of its study, so that an answer is a function of it."""
REFUSED = {
    "empty": "  ",
    "refusal": "I'm sorry, but I cannot rewrite medical reports.",
    "words or marks around the report": "Here is the reworded report:\n{report} Indeed.",
    "too long": "{report} {report} {report} Again.",
    "too short": "Fine.",
    "the report itself": " {report}\n",
}
"""Answers that are no rewording, by the reason; a report asks for one by its word."""


def reworded(report: str, seed: int = 0) -> Annotation:  # noqa: ARG001
    """Return what the writer answers to a report."""
    for at, answer in enumerate(REFUSED.values()):
        if f"Case {at}." in report:
            return Annotation(explanation=answer.format(report=report))
    return Annotation(
        explanation=report.replace("The heart is", "Cardiac silhouette is") + " Seen."
    )


def said(annotation: Annotation) -> str:
    """Return the answer as the server writes it."""
    return annotation.explanation


def truth_of(folder: Path) -> list[dict]:
    lines = (folder / "truth.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def start(folder: Path, *options: object) -> subprocess.Popen[str]:
    """Start `judge stress` in a process of its own."""
    command = [sys.executable, "-m", "judge", "stress", str(REFS), *map(str, options)]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={k: v for k, v in os.environ.items() if not k.startswith("OPENAI")},
    )
