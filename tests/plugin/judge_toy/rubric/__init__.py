"""The rubric `toy`: GREEN's form, asked in other words."""

from __future__ import annotations

from dataclasses import replace

from judge import rubrics

RUBRIC = replace(
    rubrics.load("green"),
    name="toy",
    version=1,
    title="Toy",
    summary="Judge reports by a toy rubric, which another package adds.",
    prompt="toy",
    reply_model=None,
    structured=None,
)
