"""The screens of a comparison, in pieces: for a meeting, and of what two judges see differently."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

from judge.comparing.comparison import ComparedRuns
from judge.pages.bundle import as_json
from judge.pages.disagreements import disagreement_pieces
from judge.pages.meeting_models import Meeting
from judge.study.disagreements import Disagreements, judge_disagreements

_NO_JUDGES = (
    "No two of these runs judged the same reports by a rubric that lists errors. Compare runs of "
    "one file of predictions by two judges."
)
VIEW = "differences"
"""What the address of the page calls the view of what two judges see differently."""


def meeting_pieces(screen: Meeting) -> Iterator[tuple[str, bytes]]:
    """Yield the piece of the screen for a meeting."""
    yield "meeting", as_json(screen.model_dump())


def judge_pieces(compared: ComparedRuns) -> Iterator[tuple[str, bytes]]:
    """Yield the pieces of what each two judges of the same reports see differently."""
    of_pairs = judge_disagreements(compared)
    missing = ""
    if not of_pairs:
        missing = _NO_JUDGES
    models = {run.run.path: run.model for run in compared.runs}

    def address(of_pair: Disagreements, study_id: str) -> str:
        a, b = models[of_pair.a.run.path], models[of_pair.b.run.path]
        query = {"view": VIEW, "study": study_id, "a": a, "b": ""}
        if a != b:
            query["b"] = b
        return f"#{urlencode(query)}"

    return disagreement_pieces(of_pairs, address, missing)
