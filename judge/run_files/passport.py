"""`passport.json`: what is known of a judge with a prompt and a rubric, by modality."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from judge import jsonio
from judge.files import open_regular
from judge.run_files.checked import first_of
from judge.run_files.entries import Count, JudgeEntry, Moment, Number, Part, PromptEntry
from judge.run_files.identity import JudgedBy
from judge.run_files.summary import FigureEntry
from judge.types import JudgeError

FORMAT = 1
"""The form of a passport that this program writes and reads."""
SUFFIX = ".json"
Verdict = Literal["trusted", "not trusted", "unknown"]
Answer = Literal["yes", "no", "unknown"]
Role = Literal["judged", "stress", "reader"]


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
    is measured on. `languages` has the number of references by the code of their language;
    `readers` are the readers whose runs were used, `reader_runs` these. Without `n_runs` nothing
    was measured.
    """

    modality: str
    verdict: Verdict
    why: str
    quantity: str = ""
    languages: dict[str, Count] = Field(default_factory=dict)
    readers: list[str] = Field(default_factory=list)
    reader_runs: list[str] = Field(default_factory=list)
    n_runs: Count = 0
    criteria: list[CriterionEntry]
    others: list[OtherFigure] = Field(default_factory=list)

    @property
    def against(self) -> list[CriterionEntry]:
        """The criteria that stand against `trusted`: those not met, else those not known."""
        answer = {"trusted": "", "not trusted": "no", "unknown": "unknown"}[
            self.verdict
        ]
        return [criterion for criterion in self.criteria if criterion.answer == answer]


class EvidenceEntry(Part):
    """A run that was used: `role` is judged, stress or reader."""

    path: str
    role: Role
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

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types, without what it does not have."""
        return self.model_dump(exclude_unset=True)

    @property
    def measured(self) -> list[ModalityEntry]:
        """The modalities of which runs were found."""
        return [entry for entry in self.modalities if entry.n_runs]


def read_passport(path: Path) -> Passport:
    """Return the passport in a file; raises `JudgeError`."""
    try:
        with open_regular(path) as file:
            data = jsonio.read(file.read())
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    except jsonio.JsonError as error:
        raise _no_passport(path, str(error)) from error
    if not isinstance(data, dict):
        raise _no_passport(path, "it is no object")
    if data.get("format") != FORMAT:
        written = (
            f"it has the format {data.get('format')!r}, and this version reads {FORMAT}"
        )
        raise _no_passport(path, written)
    try:
        return Passport.model_validate(data)
    except ValidationError as error:
        raise _no_passport(path, first_of(error)) from error


def _no_passport(path: Path, why: str) -> JudgeError:
    return JudgeError(
        f"{path} is no passport: {why}; make it again with judge passport"
    )
