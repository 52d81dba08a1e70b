"""Published agreement of judges with radiologists: `published.yaml`, a dated table."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from judge.jsonio import read_yaml

FILE = Path(__file__).with_name("published.yaml")
_STATISTICS = {
    "kendall": "Kendall's tau",
    "spearman": "Spearman's rho",
    "pearson": "Pearson's r",
}
LOW = 0.4
"""Below this a published correlation of any kind is low: the threshold of a passport for tau."""


class PublishedAgreement(BaseModel):
    """How far a judge agreed with radiologists, as somebody published it.

    `judge` is a pattern of the model's name without its owner. `value` is the `statistic` over `n`
    reports or pairs, which `of` describes. `seen` says where the number was read, if that is not
    the source, and what the source leaves open.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    judge: str
    rubric: str
    modality: str
    statistic: Literal["kendall", "spearman", "pearson"]
    value: float = Field(ge=-1, le=1)
    n: int = Field(gt=0)
    of: str
    who: str
    year: int
    source: str
    seen: str = ""

    @property
    def figure(self) -> str:
        """The statistic with its value: `Kendall's tau 0.05`."""
        return f"{statistic_name(self.statistic)} {self.value:.2f}"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of: object
    entries: list[PublishedAgreement]


@cache
def _entries() -> tuple[PublishedAgreement, ...]:
    data, _ = read_yaml(FILE)
    return tuple(_Table.model_validate(data).entries)


def published_of(judge: str, rubric: str) -> tuple[PublishedAgreement, ...]:
    """Return what is published of a judge, by the name that `--judge` takes, with a rubric."""
    model = judge.rstrip("/").rpartition("/")[2].rpartition(":")[2].lower()
    found: list[PublishedAgreement] = []
    for entry in _entries():
        if entry.rubric == rubric and fnmatch(model, entry.judge):
            found.append(entry)
    return tuple(found)


def is_of_modality(entry: PublishedAgreement, modality: str) -> bool:
    """Return whether an entry is of this modality, or of its kind: `ct` for `chest-ct`."""
    return entry.modality in (modality, *modality.split("-"))


def statistic_name(statistic: str) -> str:
    """Return a statistic in words."""
    return _STATISTICS[statistic]


def modality_name(code: str) -> str:
    """Return a modality as it is printed: its code, as `--modality` takes it."""
    return code or "not stated"


def published_notes(judge: str, rubric: str, modality: str | None) -> list[str]:
    """Return what must be said of a run before its numbers are used, by what others found.

    A sentence for the run's modality where a published agreement is low; without a modality, for
    each modality of which that is so.
    """
    by_modality: dict[str, list[PublishedAgreement]] = {}
    for entry in published_of(judge, rubric):
        if modality is None or is_of_modality(entry, modality):
            by_modality.setdefault(entry.modality, []).append(entry)
    notes: list[str] = []
    for code, entries in by_modality.items():
        if min(entry.value for entry in entries) < LOW:
            notes.append(
                _note(judge, modality_name(code), entries, is_stated=bool(modality))
            )
    return notes


def _note(
    judge: str, name: str, entries: Sequence[PublishedAgreement], *, is_stated: bool
) -> str:
    figures: list[str] = []
    for entry in entries:
        figures.append(f"{entry.figure} (n = {entry.n}; {entry.source})")
    said = f"published agreement of {judge} with radiologists on {name}: {' and '.join(figures)}"
    remedy = "measure it on your own reports first: docs/passport.md"
    if is_stated:
        return f"{said}; {remedy}"
    return f"{said}; if these reports are of {name}, {remedy}"
