"""What changes a number of a run: the rubric, the judge, how it was asked, which studies."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Literal, Self

from pydantic import Field

from judge.run_files.entries import (
    Count,
    JudgeEntry,
    Part,
    PromptEntry,
    ReadingEntry,
    ShardEntry,
)
from judge.signature import short_digest, signature_line

TOLD = ("context", "prior", "modality")
"""The fields that say what of the patient the judge was shown."""


class JudgedBy(Part):
    """Which rubric and which judge made the numbers, and all that changes an answer.

    `sampling` is what was sent, as text: `max_tokens=1024,temperature=0`; it, `reply` (`text`, or
    a digest of the form that a reply is held to) and `reask` are None for a judge that is no model.
    `context`, `prior` and `modality` are the fields that the judge was shown beside the reports,
    each quoted where it has a comma; they are empty where nothing was shown, and `context` is
    `none` where the rubric would take some.
    """

    rubric: str
    rubric_version: str
    packages: list[str] = Field(default_factory=list)
    judge: JudgeEntry
    prompts: list[PromptEntry] = Field(default_factory=list)
    sampling: str | None = None
    reply: str | None = None
    reask: Count | None = None
    repeat: Count = 0
    context: list[str] = Field(default_factory=list)
    prior: list[str] = Field(default_factory=list)
    modality: list[str] = Field(default_factory=list)

    @property
    def rubric_and_version(self) -> str:
        """The rubric with its version, such as `green:3`."""
        return f"{self.rubric}:{self.rubric_version}"

    def rubric_parts(self) -> list[str]:
        """Return the first parts of the signature: the rubric and the packages that add it."""
        packages = [f"package:{package}" for package in self.packages]
        return [self.rubric_and_version, *packages]

    def judge_parts(self) -> dict[str, str]:
        """Return what the signature says of the judge, by the names of its parts, in order."""
        stated: dict[str, str | None] = {
            "judge": self.judge.version,
            "prompt": ",".join(map(str, self.prompts)) or "none",
            "sampling": self.sampling,
            "reply": self.reply,
            "reask": None if self.reask is None else str(self.reask),
            "repeat": str(self.repeat) if self.repeat else None,
            "context": ",".join(self.context) or None,
            "prior": ",".join(self.prior) or None,
            "modality": ",".join(self.modality) or None,
        }
        # The bar stands between the parts of the line.
        return {
            name: text.replace("|", "/")
            for name, text in stated.items()
            if text is not None
        }

    @property
    def shown_context(self) -> tuple[str, ...]:
        """The names of the fields with what the judge was told of the patient."""
        return _field_names(self.context)

    @property
    def shown_prior(self) -> str | None:
        """The name of the field with the earlier report, None where none was shown."""
        names = _field_names(self.prior)
        return names[0] if names else None


class CombinedPart(Part):
    """One of the judges, or of the references, that a run is combined of.

    A judge has the folder and the signature of its run, and what made its numbers.
    """

    name: str
    folder: str | None = None
    signature: str | None = None
    judged_by: JudgedBy | None = None


class CombinedEntry(Part):
    """What a run is combined of, and by which rule."""

    of: Literal["judge", "reference"]
    rule: Literal["majority", "mean", "best"]
    parts: list[CombinedPart] = Field(min_length=1)


class RunIdentity(JudgedBy):
    """All that changes a number of a run; its `signature` is made of it and is never read back.

    `studies_digest` is that of `judge.signature.StudiesDigest`: of the whole set for a shard.
    `version` is this program's.
    """

    section: str
    class_source: str = "none"
    omitted: dict[str, Count] = Field(default_factory=dict)
    studies_digest: str
    reading: ReadingEntry | None = None
    shard: ShardEntry | None = None
    combined: CombinedEntry | None = None
    version: str

    def signature_parts(self, *, without: Collection[str] = ()) -> list[str]:
        """Return the parts of the signature, but for those of the names `without`."""
        judged = self.judge_parts()
        told = {name: judged.pop(name) for name in TOLD if name in judged}
        if self.reading is not None:
            # A reader has no prompt; in its place stands the layout of the reader's file.
            judged.pop("prompt")
            judged["layout"] = self.reading.layout
        stated = {**judged, "section": self.section, **told}
        stated["class"] = self.class_source
        stated["omitted"] = str(sum(self.omitted.values()))
        stated["studies"] = self.studies_digest
        if self.combined is not None and self.combined.of == "judge":
            lines = [str(part.signature) for part in self.combined.parts]
            stated["runs"] = ",".join(short_digest([line]) for line in lines)
        if self.shard is not None:
            stated["shard"] = str(self.shard)
        if self.combined is not None and self.combined.of == "reference":
            stated["references"] = self.combined.rule
        stated["version"] = self.version
        named = [
            f"{name}:{text}" for name, text in stated.items() if name not in without
        ]
        return [*self.rubric_parts(), *named]

    @property
    def signature(self) -> str:
        """One line that names everything that changes a number."""
        return signature_line(self.signature_parts())

    @property
    def without_shard(self) -> Self:
        """What the whole set is judged by, of which this is a part."""
        return self.model_copy(update={"shard": None})

    @property
    def judged_by(self) -> JudgedBy:
        """Its judge and rubric alone, whatever the studies."""
        fields = JudgedBy.model_fields
        return JudgedBy(**{name: getattr(self, name) for name in fields})


def _field_names(shown: Sequence[str]) -> tuple[str, ...]:
    """Return the names of fields that stand in a signature, of which some are JSON strings."""
    return tuple(
        json.loads(name) if name.startswith('"') else name
        for name in shown
        if name != "none"
    )
