"""`passport.json`: what is known of a judge with a prompt and a rubric, by modality."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from judge.run_files.checked import RunFileError, read_json, typed
from judge.run_files.entries import Count, JudgeEntry, Moment, Number, Part, PromptEntry
from judge.run_files.identity import JudgedBy
from judge.run_files.summary import FigureEntry
from judge.types import JudgeError

FORMAT = 1
"""The form of a passport that this program writes and reads."""
SUFFIX = ".json"
Verdict = Literal["trusted", "not trusted", "unknown"]
Answer = Literal["yes", "no", "unknown"]


class CriterionEntry(Part):
    """A figure of a judge beside its threshold.

    `answer` is `yes` where the whole 95% interval is on the good side of the threshold, `no` where
    it is on the other, else `unknown`; `why` says why it is not `yes`. `rule` is the threshold in
    words.
    """

    name: str
    label: str
    rule: str
    figure: FigureEntry
    answer: Answer
    why: str = ""


class OtherFigure(Part):
    """A figure that is reported and decides nothing, of the runs `of`."""

    name: str
    label: str
    figure: FigureEntry
    of: str = ""


class ModalityEntry(Part):
    """What is known of a judge on reports of one modality; `modality` is empty for none stated.

    `verdict` is `trusted` where all criteria are met, `not trusted` where one is not, else
    `unknown`; `why` names the criteria that stand against `trusted`. `quantity` is what agreement
    is measured on. `languages` has the number of references by the code of their language, and
    `readers` the readers whose runs were used. Without `n_runs` nothing was measured.
    """

    modality: str
    verdict: Verdict
    why: str
    quantity: str = ""
    languages: dict[str, Count] = Field(default_factory=dict)
    readers: list[str] = Field(default_factory=list)
    n_runs: Count = 0
    criteria: list[CriterionEntry]
    others: list[OtherFigure] = Field(default_factory=list)


class EvidenceEntry(Part):
    """A run that was used: `role` is judged, stress or reader."""

    path: str
    role: Literal["judged", "stress", "reader"]
    modality: str = ""
    signature: str


class LeftOutEntry(Part):
    """A folder that was found and not used, and the reason."""

    path: str
    reason: str


class PublishedEntry(Part):
    """How far others found the judge to agree with radiologists; see `published.yaml`."""

    modality: str
    statistic: str
    value: Number
    n: Count
    of: str
    who: str
    year: int
    source: str
    seen: str = ""


class Passport(Part):
    """What is known of a judge with its prompt and a rubric.

    `judge` has no version, and there are no prompts, where no run of it was found. `thresholds`
    are those that the criteria were held against.
    """

    format: int
    judge: JudgeEntry
    rubric: str
    rubric_version: str
    packages: list[str] = Field(default_factory=list)
    prompts: list[PromptEntry] = Field(default_factory=list)
    sampling: str | None = None
    reply: str | None = None
    made: Moment
    thresholds: dict[str, Number]
    modalities: list[ModalityEntry]
    published: list[PublishedEntry] = Field(default_factory=list)
    runs: list[EvidenceEntry] = Field(default_factory=list)
    left_out: list[LeftOutEntry] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    signature: str
    version: str

    def is_of(self, judged_by: JudgedBy) -> bool:
        """Return whether it is of this judge, with this prompt and this rubric."""
        if not self.judge.version:
            return False
        own = (self.judge.version, self.prompts, self.rubric, self.rubric_version)
        other = (
            judged_by.judge.version,
            judged_by.prompts,
            judged_by.rubric,
            judged_by.rubric_version,
        )
        return own == other and self.packages == judged_by.packages

    @property
    def measured(self) -> list[ModalityEntry]:
        """The modalities of which runs were found."""
        return [entry for entry in self.modalities if entry.n_runs]


def read_passport(path: Path) -> Passport:
    """Return the passport in a file; raises `JudgeError`."""
    data = read_json(path)
    if not isinstance(data, dict):
        raise RunFileError(path, "it is no object")
    if data.get("format") != FORMAT:
        raise JudgeError(
            f"{path} is a passport of format {data.get('format')!r}, and this version of judge "
            f"reads format {FORMAT}: make it again with judge passport"
        )
    return typed(path, Passport, data)
