"""Reporting checklists, filled in by a run as far as it knows; blanks are marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from judge.jsonio import read_yaml
from judge.pack.facts import FACTS, NOT_APPLICABLE
from judge.pack.packed_run import PackedRun
from judge.tables.document import Column, Table

BLANK = "BLANK: to be filled in by the authors"
"""What is written where a run knows nothing."""
_FILE = Path(__file__).with_name("checklists.yaml")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ChecklistPart(_Entry):
    """One thing that an item asks for; `fact` names the function that may know it."""

    what: str
    fact: str | None = None


class ChecklistItem(_Entry):
    """An item by its number in the checklist; topic and parts are in our words."""

    number: str
    topic: str
    parts: list[ChecklistPart]


class Checklist(_Entry):
    """A checklist with its source, and how far its numbers were compared with it."""

    title: str
    source: str
    checked: str
    about: str
    items: list[ChecklistItem]


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said of one part of an item; `text` is None where the authors have to fill it in."""

    item: ChecklistItem
    part: ChecklistPart
    text: str | None

    @property
    def status(self) -> str:
        """`filled in`, `not applicable` or `blank`."""
        if self.text is None:
            return "blank"
        if self.text.startswith(NOT_APPLICABLE):
            return NOT_APPLICABLE
        return "filled in"


@dataclass(frozen=True, slots=True)
class FilledChecklist:
    """A checklist with an answer to each part of each item, in their order."""

    checklist: Checklist
    answers: list[Answer]

    @property
    def n_blank(self) -> int:
        """How many parts the authors have to fill in."""
        return self.count("blank")

    def count(self, status: str) -> int:
        """Return how many parts have this status."""
        return sum(answer.status == status for answer in self.answers)

    @property
    def table(self) -> Table:
        """The answers as a table, a row for each part of an item."""
        rows = []
        for answer in self.answers:
            rows.append(
                (
                    answer.item.number,
                    answer.item.topic,
                    answer.part.what,
                    answer.status,
                    answer.text or BLANK,
                )
            )
        columns = [
            Column(name) for name in ("item", "topic", "what", "status", "answer")
        ]
        return Table("checklist", self.checklist.title, columns, rows)


def checklists() -> dict[str, Checklist]:
    """Return the checklists by their names."""
    data, _ = read_yaml(_FILE)
    assert isinstance(data, dict)
    return {name: Checklist.model_validate(entry) for name, entry in data.items()}


def filled(
    checklist: Checklist, run: PackedRun, compared: Sequence[str] = ()
) -> FilledChecklist:
    """Fill a checklist in with what a run knows; `compared` are the models beside each other."""
    answers = []
    for item in checklist.items:
        for part in item.parts:
            answers.append(Answer(item, part, _known(part, run, compared)))
    return FilledChecklist(checklist, answers)


def _known(part: ChecklistPart, run: PackedRun, compared: Sequence[str]) -> str | None:
    if part.fact is None:
        return None
    if part.fact == "comparison":
        if len(compared) < 2:
            return None
        return f"{', '.join(compared)}: under Comparison"
    return FACTS[part.fact](run)
