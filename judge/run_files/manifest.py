"""`manifest.json`: what made a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Required, Unpack

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from judge.run_files.entries import (
    Count,
    ExperimentEntry,
    InputEntry,
    JudgeEntry,
    Moment,
    Number,
    Part,
    PromptEntry,
    ReadingEntry,
    RecognisedEntries,
    RecognisedEntry,
    RescoredEntry,
    ServedEntry,
    ShardEntry,
    ShardPart,
    SpentEntry,
)
from judge.run_files.identity import CombinedEntry, RunIdentity
from judge.run_settings import RunSettings

MANIFEST = "manifest.json"
FORMAT = 4
"""The form of a run's files that this program writes."""
LAST_FORMAT = 3
"""The form before, which is read like today's. Its signature stands in the manifest alone."""
OLDEST_FORMAT = 2
"""The form before that: its reports and its answers are still read. Its lines have no checksum."""


class RunManifest(RunIdentity):
    """What made a run: `manifest.json`.

    The file also holds the signature, for people and for other programs; here it is computed anew.
    """

    format: int
    model: str | None = None
    prompt: str | None = None
    notes: list[str] = Field(default_factory=list)
    reply_modes: dict[str, Count] = Field(default_factory=dict)
    recognised: RecognisedEntries | None = None
    fields: list[str]
    inputs: list[InputEntry] = Field(default_factory=list)
    settings: RunSettings | None = None
    experiment: ExperimentEntry | None = None
    read_from: dict[str, str] = Field(default_factory=dict)
    omitted_ids: dict[str, list[str]] = Field(default_factory=dict)
    of_candidates: list[str] = Field(default_factory=list)
    scale: list[Number] = Field(default_factory=list, max_length=2)
    served: ServedEntry | None = None
    batches: list[dict[str, Any]] = Field(default_factory=list)
    shards: list[ShardPart] = Field(default_factory=list)
    effort: dict[str, Any] | None = None
    spent: SpentEntry | None = None
    started: Moment | None = None
    finished: Moment | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    rescored: list[RescoredEntry] = Field(default_factory=list)

    @classmethod
    def of_session(
        cls, identity: RunIdentity, **made: Unpack[ManifestFields]
    ) -> RunManifest:
        """Return the manifest of a run that a session judged."""
        return cls(**_values_of(identity), format=FORMAT, **made)

    @classmethod
    def of_reader(
        cls, identity: RunIdentity, **made: Unpack[ManifestFields]
    ) -> RunManifest:
        """Return the manifest of a reader's run; raises ValueError where `reading` is missing."""
        if identity.reading is None:
            raise ValueError("a reader's run says how the reader used the rubric")
        return cls(**_values_of(identity), format=FORMAT, **made)

    @classmethod
    def merged(
        cls, parts: Sequence[RunManifest], folders: Sequence[str]
    ) -> RunManifest:
        """Return the manifest of the whole of some shards, each with the name of its folder.

        What is counted is added up. Raises ValueError where a part is no shard, or lacks `spent`.
        """
        first = parts[0]
        if first.shard is None:
            raise ValueError("the first part is no shard")
        shards = [
            ShardPart(folder=folder, signature=part.signature)
            for part, folder in zip(parts, folders, strict=True)
        ]
        return first.model_copy(
            update={
                "format": FORMAT,
                "notes": list(first.shard.notes_of_input),
                "reply_modes": {},
                "recognised": _sum_recognised([part.recognised for part in parts]),
                "settings": _without_shard(first.settings),
                "shard": None,
                "shards": shards,
                "batches": [batch for part in parts for batch in part.batches],
                "spent": _sum_spent([part.spent for part in parts]),
                "started": min(part.started or "" for part in parts) or None,
                "finished": max(part.finished or "" for part in parts) or None,
                "rescored": [],
            }
        )

    @classmethod
    def panel_of(
        cls,
        parts: Sequence[RunManifest],
        combined: CombinedEntry,
        *,
        judge_version: str,
        notes: Sequence[str],
        at: str,
    ) -> RunManifest:
        """Return the manifest of a panel of the judges of `parts`, runs of the same studies.

        `combined` has a part for each of them, in the same order. `at` is when the panel was made.
        """
        first = parts[0]
        names = [part.name for part in combined.parts]
        warnings = dict.fromkeys(part.judge.note for part in parts)
        shown = dict.fromkeys(part.prompt for part in parts)
        recognised = [part.recognised for part in parts if part.recognised is not None]
        return cls(
            rubric=first.rubric,
            rubric_version=first.rubric_version,
            packages=first.packages,
            judge=JudgeEntry(
                name=f"{combined.rule} of {', '.join(names[:-1])} and {names[-1]}",
                version=judge_version,
                note="; ".join(filter(None, warnings)) or None,
            ),
            prompts=_distinct_prompts(parts),
            context=_distinct([part.context for part in parts], first.context),
            prior=_distinct([part.prior for part in parts], first.prior),
            modality=_distinct([part.modality for part in parts], first.modality),
            section=first.section,
            class_source=first.class_source,
            omitted=first.omitted,
            studies_digest=first.studies_digest,
            combined=combined,
            version=first.version,
            format=FORMAT,
            model=first.model,
            prompt=", ".join(filter(None, shown)) or None,
            notes=list(notes),
            # Of the built-in judge, which may be one of several.
            recognised=recognised[-1] if recognised else None,
            fields=first.fields,
            inputs=first.inputs,
            # Among them how the files were read, for which judge compare asks.
            settings=first.settings,
            omitted_ids=first.omitted_ids,
            started=at,
            finished=at,
        )

    def plain(self) -> dict[str, Any]:
        """Return it as JSON's types, as its file has it."""
        values = self.model_dump(mode="json")
        if self.experiment is None:
            # Most runs are of no experiment.
            values.pop("experiment")
        return {
            "format": values.pop("format"),
            "signature": self.signature,
            **values,
        }

    def input_of(self, role: str) -> InputEntry | None:
        """Return the file that was read as `preds` or as `refs`, None without one."""
        for file in self.inputs:
            if file.role in (role, "both"):
                return file
        return None


class ManifestFields(TypedDict, total=False):
    """What a manifest says beside the identity of its run."""

    model: str | None
    prompt: str | None
    notes: list[str]
    recognised: RecognisedEntries | None
    fields: Required[list[str]]
    inputs: list[InputEntry]
    settings: RunSettings | None
    experiment: ExperimentEntry | None
    read_from: dict[str, str]
    omitted_ids: dict[str, list[str]]
    of_candidates: list[str]
    scale: list[Number]
    served: ServedEntry | None
    batches: list[dict[str, Any]]
    effort: dict[str, Any] | None
    spent: SpentEntry | None
    started: str | None
    finished: str | None


def _values_of(part: BaseModel) -> dict[str, Any]:
    """Return the values of a model by field, those within it as they are."""
    return {name: getattr(part, name) for name in type(part).model_fields}


def _without_shard(settings: RunSettings | None) -> RunSettings | None:
    if settings is None:
        return None
    return settings.model_copy(update={"shard": None})


def _sum_recognised(
    parts: Sequence[RecognisedEntries | None],
) -> RecognisedEntries | None:
    """Return how many statements are recognised in all shards, None where one does not say."""
    sides: dict[str, RecognisedEntry] = {}
    for side in ("references", "candidates"):
        counts = [getattr(part, side) for part in parts if part is not None]
        if len(counts) < len(parts):
            return None
        sides[side] = RecognisedEntry(
            k=sum(count.k for count in counts), n=sum(count.n for count in counts)
        )
    return RecognisedEntries(**sides)


def _sum_spent(parts: Sequence[SpentEntry | None]) -> SpentEntry:
    """Return what all shards took; a sum with an unknown number of dollars is unknown."""
    known = [part.model_dump() for part in parts if part is not None]
    if len(known) < len(parts):
        raise ValueError("a shard does not say what it took")
    sums: dict[str, Any] = {}
    for name in known[0]:
        if name == "retries":
            sums[name] = dict(sum((Counter(part[name]) for part in known), Counter()))
            continue
        # A part of an earlier version does not have every count.
        numbers = [part.get(name, 0) for part in known]
        is_unknown = name in ("dollars", "unknown_dollars") and None in numbers
        sums[name] = None if is_unknown else sum(number or 0 for number in numbers)
    return SpentEntry(**sums)


def _distinct_prompts(parts: Sequence[RunManifest]) -> list[PromptEntry]:
    """Return the prompts of several judges, each judge's together, in the order of their texts."""
    by_text = {",".join(map(str, part.prompts)): part.prompts for part in parts}
    return [prompt for text in sorted(by_text) for prompt in by_text[text]]


def _distinct(shown: Sequence[list[str]], of_first: list[str]) -> list[str]:
    """Return what several judges were shown, `none` for nothing; empty where none had anything."""
    texts = sorted({",".join(names) or "none" for names in shown})
    return texts if texts != ["none"] or of_first else []


class SourceManifest(Part):
    """What of a manifest is needed to judge the reports of a run again, of any form.

    `studies_digest` is None where the folder's studies are not those that it is of, or unknown.
    """

    format: int
    section: str
    fields: list[str]
    inputs: list[InputEntry] = Field(default_factory=list)
    studies_digest: str | None = None
    model: str | None = None
    class_source: str = "none"
    reading: ReadingEntry | None = None
    of_candidates: list[str] = Field(default_factory=list)
    shard: ShardEntry | None = None
    combined: CombinedEntry | None = None

    @property
    def has_checksums(self) -> bool:
        """Whether each line of the annotations ends with its checksum."""
        return self.format != OLDEST_FORMAT

    @property
    def digest_here(self) -> str | None:
        """The digest of the studies in this folder, None where it is of others.

        A shard has that of the whole set. A combined run has fields more than its parts.
        """
        if self.shard is not None or self.combined is not None:
            return None
        return self.studies_digest if self.has_checksums else None


class AnswersManifest(Part):
    """What of a manifest is needed to take its answers into a cache, of any form."""

    format: int
    judge: JudgeEntry
    prompts: list[PromptEntry] = Field(default_factory=list)
    sampling: str | None = None
    reply: str | None = None

    @property
    def has_checksums(self) -> bool:
        """Whether each line of the annotations ends with its checksum."""
        return self.format != OLDEST_FORMAT
