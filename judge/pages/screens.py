"""The screens of a comparison: for a meeting, and of what two judges see differently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from judge.comparing.comparison import ComparedRuns
from judge.pages.bundle import as_json
from judge.pages.disagreements import MOST_STUDIES, disagreement_pieces
from judge.pages.meeting import Address, address_in_page, meeting, shown_studies
from judge.pages.meeting_models import Meeting
from judge.stats.significance import Comparison
from judge.study.disagreements import (
    Disagreements,
    judge_disagreements,
    rater_disagreements,
)

if TYPE_CHECKING:
    from judge.validating.raters import RatedStudies

DIFFERENCES = "differences"
"""What the address of a page calls the view of what two see differently."""

_NO_JUDGES = (
    "No two of these runs judged the same reports by a rubric that lists errors. Compare runs of "
    "one file of predictions by two judges."
)
_NO_RATERS = (
    "None of these rubrics lists errors, so there is nothing to compare one by one."
)


@dataclass(frozen=True)
class Screens:
    """The screens of compared runs; each is made when it is asked for, and reads all reports."""

    compared: ComparedRuns
    comparison: Comparison
    address: Address = address_in_page

    @cached_property
    def meeting(self) -> Meeting:
        """The screen for a meeting."""
        return meeting(self.compared, self.comparison, self.address)

    @cached_property
    def disagreements(self) -> list[Disagreements]:
        """What each two judges of the same reports see differently."""
        return judge_disagreements(self.compared)

    @property
    def study_ids(self) -> set[str]:
        """The studies that the screens lead to."""
        study_ids = shown_studies(self.meeting)
        for of_pair in self.disagreements:
            shown = of_pair.differing[:MOST_STUDIES]
            study_ids |= {study.study_id for study in shown}
        return study_ids

    def pieces(self) -> Iterator[tuple[str, bytes]]:
        """Yield the pieces of both."""
        yield from self.meeting_pieces()
        yield from self.disagreement_pieces()

    def meeting_pieces(self) -> Iterator[tuple[str, bytes]]:
        """Yield the piece of the screen for a meeting."""
        yield "meeting", as_json(self.meeting)

    def disagreement_pieces(self) -> Iterator[tuple[str, bytes]]:
        """Yield the overview of the pairs of judges, and the studies of each."""
        missing = ""
        if not self.disagreements:
            missing = _NO_JUDGES
        return disagreement_pieces(self.disagreements, self._study_address, missing)

    def _study_address(self, of_pair: Disagreements, study_id: str) -> str:
        models = {run.run.path: run.model for run in self.compared.runs}
        a, b = models[of_pair.a.run.path], models[of_pair.b.run.path]
        # Of one model by two rubrics the page has both in one column.
        if a == b:
            b = ""
        query = {"view": DIFFERENCES, "study": study_id, "a": a, "b": b}
        return f"#{urlencode(query, errors='replace')}"


def rater_pieces(studies: RatedStudies) -> Iterator[tuple[str, bytes]]:
    """Yield the pieces of what judges and readers see differently, for the page of both."""
    of_pairs = rater_disagreements(studies)
    missing = ""
    if not of_pairs:
        missing = _NO_RATERS

    def address(of_pair: Disagreements, study_id: str) -> str:
        query = {"view": DIFFERENCES, "study": study_id, "judge": of_pair.a.name}
        return f"#{urlencode(query, errors='replace')}"

    return disagreement_pieces(of_pairs, address, missing)
