"""`summary.json`: what was printed of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, FiniteFloat, ValidationInfo, field_validator

from judge.run_files.entries import (
    Count,
    JudgeEntry,
    Number,
    Part,
    ReadingEntry,
    RecognisedEntries,
)
from judge.run_files.manifest import RunManifest

SUMMARY = "summary.json"


class FigureEntry(Part):
    """A figure of a set of studies: `value` with its 95% interval from `low` to `high`.

    `n` studies have its measures, `n_undefined` scored ones lack one; a rate is `k` of `n`.
    `bounds` are its least and its greatest value if all unread studies were at one end of the
    scale. `corrected` is the same figure with the judge's bias taken out by readings.
    """

    n: Count
    value: Number | None
    low: Number | None
    high: Number | None
    n_undefined: Count
    k: Number | None = None
    bounds: Annotated[list[Number | None], Field(min_length=2, max_length=2)] | None = (
        None
    )
    reason: str | None = None
    corrected: dict[str, Any] | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types, without what it does not have."""
        return self.model_dump(exclude_unset=True)


class SummaryBlock(Part):
    """Counts and figures of some studies; `group` has the values of the fields that they share."""

    n_studies: Count
    n_scored: Count
    n_unparsed: Count
    n_failed: Count
    statistics: dict[str, FigureEntry]

    @property
    def group(self) -> dict[str, Any]:
        """The values of the fields that make the group, by their names."""
        return self.model_extra or {}


class TotalEntry(Part):
    """How many of something there are in all scored studies, and per scored study."""

    n: int | None
    per_study: FiniteFloat | None


class FailureEntry(Part):
    """A sentence about failed studies, and of how many it was said."""

    reason: str
    sentence: str
    n: Count


class ResamplingEntry(Part):
    """The bootstrap of a ratio of sums: where it began, and how often it resampled."""

    seed: int
    resamples: int | None


class RunSummary(Part):
    """What was printed of a run: `summary.json`.

    `signature` is the line as it was printed. `readings` is there where readings correct it.
    """

    reply_modes: dict[str, Count] = Field(default_factory=dict)
    signature: str
    rubric: str
    model: str | None = None
    judge: JudgeEntry
    prompt: str | None = None
    section: str
    class_source: str = "none"
    omitted: dict[str, Count] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)
    recognised: RecognisedEntries | None = None
    reading: ReadingEntry | None = None
    n_studies: Count
    n_scored: Count
    n_unparsed: Count
    n_failed: Count
    statistics: dict[str, FigureEntry]
    n_class_inferred: Count
    totals: dict[str, TotalEntry]
    reasons: dict[str, Count]
    warnings: dict[str, Count]
    n_warnings: dict[str, Count]
    by: list[str]
    rates: list[SummaryBlock]
    resampling: ResamplingEntry | None = None
    intervals_by: str | None = None
    failures: list[FailureEntry] = Field(default_factory=list)
    readings: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        manifest: RunManifest,
        counted: Mapping[str, Any],
        failures: Sequence[Mapping[str, Any]] = (),
    ) -> RunSummary:
        """Return the summary of a run; `counted` is what `summarise` says of its table."""
        made_by: dict[str, Any] = {
            "reply_modes": manifest.reply_modes,
            "signature": manifest.signature,
            "rubric": manifest.rubric,
            "model": manifest.model,
            "judge": manifest.judge.model_dump(),
            "prompt": manifest.prompt,
            "section": manifest.section,
            "class_source": manifest.class_source,
            "omitted": manifest.omitted,
            "notes": manifest.notes,
        }
        if manifest.recognised is not None:
            made_by["recognised"] = manifest.recognised.model_dump()
        if manifest.reading is not None:
            made_by["reading"] = manifest.reading.model_dump(exclude_unset=True)
        if failures:
            made_by["failures"] = list(failures)
        return cls.model_validate({**made_by, **counted})

    @property
    def everything(self) -> SummaryBlock:
        """The counts and figures of all studies, as of one group."""
        return SummaryBlock(
            **{name: getattr(self, name) for name in SummaryBlock.model_fields}
        )

    def regrouped(self, counted: Mapping[str, Any]) -> RunSummary:
        """Return it with other rates and intervals, those that `summarise` gives."""
        before = self.plain()
        before.pop("intervals_by", None)
        return RunSummary.model_validate({**before, **counted})

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types, without what it does not have."""
        return self.model_dump(exclude_unset=True)

    @field_validator("n_warnings")
    @classmethod
    def _of_the_same_warnings(
        cls, n: dict[str, int], info: ValidationInfo
    ) -> dict[str, int]:
        if n.keys() != info.data.get("warnings", n).keys():
            raise ValueError("the warnings are not those of `warnings`")
        return n
