"""The files of a run folder as types: manifest, summary, and one study's record.

A folder may come from elsewhere, from another version or from a broken disk. Each file is checked
against its type where it is read, and `RunFileError` says in one sentence which file is wrong, and
in which field. The records stay dictionaries, since there are many of them and pages show them as
they are; their type is a `TypedDict`.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Required, Self, TypeVar, Unpack

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeInt,
    PositiveInt,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from typing_extensions import TypedDict

from judge import jsonio
from judge.files import open_regular
from judge.run_settings import RunSettings, settings_of_arguments
from judge.signature import short_digest, signature_line
from judge.text import percent
from judge.types import JudgeError

MANIFEST = "manifest.json"
ANNOTATIONS = "annotations.jsonl"
SUMMARY = "summary.json"
FORMAT = 4
"""The form of a run's files that this program writes."""
LAST_FORMAT = 3
"""The form before, which is read like today's. Its signature stands in the manifest alone."""
OLDEST_FORMAT = 2
"""The form before that: its reports and its answers are still read. Its lines have no checksum."""

# What a signature of an earlier form must have, or judge did not write it.
_NEEDED = ("judge", "section", "class", "studies", "version")
_TOLD = ("context", "prior", "modality")
# The names of fields in a part of a signature, of which some are JSON strings.
_SHOWN = re.compile(r'"(?:[^"\\]|\\.)*"|[^",][^,]*')
Number = int | FiniteFloat
Count = NonNegativeInt
Model = TypeVar("Model", bound=BaseModel)


def _moment(text: str) -> str:
    time = datetime.fromisoformat(text)
    try:
        (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:  # the first hours of the year 1
        raise ValueError(str(error)) from error
    return text


def _places(text: str) -> str:
    if not all(
        place.isascii() and place.isdigit() and len(place) < 10
        for place in text.split()
    ):
        raise ValueError("places are whole numbers with spaces between them")
    return text


Moment = Annotated[str, AfterValidator(_moment)]
"""A time in ISO 8601."""


class _Part(BaseModel):
    """A part of a file. What later versions add is left alone."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


class JudgeEntry(_Part):
    """Who judged, as a manifest and a summary name it."""

    name: str
    version: str
    note: str | None = None


class PromptEntry(_Part):
    """One wording of a question, its version and the digest of all that is sent of it."""

    name: str
    version: str = ""
    digest: str = ""

    def __str__(self) -> str:
        """Return it as the signature has it: `NAME@VERSION+DIGEST`."""
        if not self.digest:
            return self.name
        return f"{self.name}@{self.version}+{self.digest}"


class StratumEntry(_Part):
    """The studies with the values `key` of the fields, `n_drawn` of which were drawn."""

    key: dict[str, Any]
    n_studies: Count
    n_drawn: Count


class SampleEntry(_Part):
    """How the studies that a reader read were drawn: `n_drawn` from each stratum of `by`."""

    seed: int
    by: list[str]
    strata: list[StratumEntry]


class ReadingEntry(_Part):
    """How a reader used the rubric; `sample` is there where the studies were drawn at random.

    `lacks` has what the reader was not asked for, each with the reason; `own` the categories that
    the reader added.
    """

    layout: str
    lacks: dict[str, str]
    own: list[str]
    sample: SampleEntry | None = None


class InputEntry(_Part):
    """A file that was read: its `role` is preds, refs, both or readings."""

    path: str
    role: str
    sha256: str
    n_records: Count = 0


class ShardEntry(_Part):
    """Which part of a set was judged, and at which places of the whole its studies stand."""

    index: PositiveInt
    count: PositiveInt
    n_whole: Count
    places: Annotated[str, AfterValidator(_places)]
    notes_of_input: list[str]
    n_empty: Count = 0

    def __str__(self) -> str:
        """Return it as the command line takes it, such as 3/8."""
        return f"{self.index}/{self.count}"


class ShardPart(_Part):
    """One of the shards that a merged run is made of."""

    folder: str
    signature: str


class JudgedBy(_Part):
    """Which rubric and which judge made the numbers, and all that changes an answer.

    `sampling` is what was sent, as text: `max_tokens=1024,temperature=0`; it, `reply` (`text`, or
    a digest of the form that a reply is held to) and `reask` are None for a judge that is no model.
    `context`, `prior` and `modality` are the fields that the judge was shown beside the reports,
    each quoted where it has a comma; they are empty where nothing was shown, and `context` is
    `none` where the rubric would take some.
    """

    rubric: str
    rubric_version: str
    packages: list[str] = []
    judge: JudgeEntry
    prompts: list[PromptEntry] = []
    sampling: str | None = None
    reply: str | None = None
    reask: Count | None = None
    repeat: Count = 0
    context: list[str] = []
    prior: list[str] = []
    modality: list[str] = []

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


class CombinedPart(_Part):
    """One of the judges, or of the references, that a run is combined of.

    A judge has the folder and the signature of its run, and what made its numbers.
    """

    name: str
    folder: str | None = None
    signature: str | None = None
    judged_by: JudgedBy | None = None


class CombinedEntry(_Part):
    """What a run is combined of, and by which rule."""

    of: Literal["judge", "reference"]
    rule: Literal["majority", "mean", "best"]
    parts: list[CombinedPart] = Field(min_length=1)


class ExperimentEntry(_Part):
    """The experiment that a run belongs to, and which of its runs it is.

    `file` is None for an experiment that no file holds; `text` is the file's, or JSON, and `sha256`
    that of its bytes. `matrix` has the names on each axis, of which `data`, `model`, `section`,
    `rubric` and `judge` are the run's own; `data` and `section` are empty where the experiment
    names none.
    """

    file: str | None = None
    sha256: str
    text: str
    matrix: dict[str, list[str]]
    data: str
    model: str
    section: str
    rubric: str
    judge: str


class SpentEntry(_Part):
    """What asking took; `dollars` is None where the price is unknown. The rest are numbers too."""

    __pydantic_extra__: dict[str, Number | None] = Field(init=False)
    asked: Count
    from_cache: Count = 0
    dollars: FiniteFloat | None
    unknown_dollars: FiniteFloat | None = 0.0
    retries: dict[str, Count]


class RescoredEntry(_Part):
    """One time that the raw answers were read again; `from_signature` is the run's before it."""

    at: Moment
    from_signature: str
    n_changed: Count


class RecognisedEntry(_Part):
    """How many of the `n` statements of some reports the built-in judge recognised."""

    k: Count
    n: Count


class RecognisedEntries(_Part):
    """How much the built-in judge recognised of either side's reports."""

    references: RecognisedEntry
    candidates: RecognisedEntry


def recognised_text(recognised: RecognisedEntries | None) -> str:
    """Return what share of the reports' statements the built-in judge recognised, as text.

    Empty for other judges, which read whole reports.
    """
    if recognised is None:
        return ""
    sides = {"references": recognised.references, "candidates": recognised.candidates}
    shares = []
    for side, counts in sides.items():
        k, n = counts.k, counts.n
        shares.append(f"{percent(k / n if n else None)} in the {side} ({k:,} of {n:,})")
    return ", ".join(shares)


class ServedEntry(_Part):
    """Who served a model behind an API, the names by which it answered, and when it did."""

    provider: str
    model: str
    answered_as: dict[str, Count] = {}
    answered_between: list[Moment] = []


class RunIdentity(JudgedBy):
    """All that changes a number of a run; its `signature` is made of it and is never read back.

    `studies_digest` is that of `judge.signature.StudiesDigest`: of the whole set for a shard.
    `version` is this program's.
    """

    section: str
    class_source: str = "none"
    omitted: dict[str, Count] = {}
    studies_digest: str
    reading: ReadingEntry | None = None
    shard: ShardEntry | None = None
    combined: CombinedEntry | None = None
    version: str

    def signature_parts(self, *, without: Collection[str] = ()) -> list[str]:
        """Return the parts of the signature, but for those of the names `without`."""
        judged = self.judge_parts()
        told = {name: judged.pop(name) for name in _TOLD if name in judged}
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


class RunManifest(RunIdentity):
    """What made a run: `manifest.json`.

    The file also holds the signature, for people and for other programs; here it is computed anew.
    """

    format: int
    model: str | None = None
    prompt: str | None = None
    notes: list[str] = []
    reply_modes: dict[str, Count] = {}
    recognised: RecognisedEntries | None = None
    fields: list[str]
    inputs: list[InputEntry] = []
    settings: RunSettings | None = None
    experiment: ExperimentEntry | None = None
    read_from: dict[str, str] = {}
    omitted_ids: dict[str, list[str]] = {}
    of_candidates: list[str] = []
    scale: Annotated[list[Number], Field(max_length=2)] = []
    served: ServedEntry | None = None
    batches: list[dict[str, Any]] = []
    shards: list[ShardPart] = []
    effort: dict[str, Any] | None = None
    spent: SpentEntry | None = None
    started: Moment | None = None
    finished: Moment | None = None
    versions: dict[str, str] = {}
    rescored: list[RescoredEntry] = []

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


def _field_names(shown: Sequence[str]) -> tuple[str, ...]:
    """Return the names of fields that stand in a signature, of which some are JSON strings."""
    return tuple(
        json.loads(name) if name.startswith('"') else name
        for name in shown
        if name != "none"
    )


# What of a manifest other uses need, of any form


class SourceManifest(_Part):
    """What of a manifest is needed to judge the reports of a run again, of any form.

    `studies_digest` is None where the folder's studies are not those that it is of, or unknown.
    """

    format: int
    section: str
    fields: list[str]
    inputs: list[InputEntry] = []
    studies_digest: str | None = None
    model: str | None = None
    class_source: str = "none"
    reading: ReadingEntry | None = None
    of_candidates: list[str] = []
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


class AnswersManifest(_Part):
    """What of a manifest is needed to take its answers into a cache, of any form."""

    format: int
    judge: JudgeEntry
    prompts: list[PromptEntry] = []
    sampling: str | None = None
    reply: str | None = None

    @property
    def has_checksums(self) -> bool:
        """Whether each line of the annotations ends with its checksum."""
        return self.format != OLDEST_FORMAT


# The summary


class FigureEntry(_Part):
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


class SummaryBlock(_Part):
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


class TotalEntry(_Part):
    """How many of something there are in all scored studies, and per scored study."""

    n: int | None
    per_study: FiniteFloat | None


class FailureEntry(_Part):
    """A sentence about failed studies, and of how many it was said."""

    reason: str
    sentence: str
    n: Count


class ResamplingEntry(_Part):
    """The bootstrap of a ratio of sums: where it began, and how often it resampled."""

    seed: int
    resamples: int | None


class RunSummary(_Part):
    """What was printed of a run: `summary.json`.

    `signature` is the line as it was printed. `readings` is there where readings correct it.
    """

    reply_modes: dict[str, Count] = {}
    signature: str
    rubric: str
    model: str | None = None
    judge: JudgeEntry
    prompt: str | None = None
    section: str
    class_source: str = "none"
    omitted: dict[str, Count] = {}
    notes: list[str] = []
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
    failures: list[FailureEntry] = []
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


# Manifests of earlier forms


def _upgraded(path: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of an earlier form in today's form; raises `RunFileError`.

    Then the printed signature was all that said how a run was judged. This is the one place that
    reads it.
    """
    line = data.get("signature")
    if not isinstance(line, str):
        raise RunFileError(path, "'signature': it is no text")
    stated = _stated(line)
    lacking = [name for name in _NEEDED if name not in stated]
    if lacking and data["format"] == LAST_FORMAT:
        raise RunFileError(path, f"'signature': it lacks {', '.join(lacking)}")
    manifest = dict(data) | _judged_by(data, stated)
    del manifest["signature"]
    if data["format"] == LAST_FORMAT:
        manifest["format"] = FORMAT
    manifest["studies_digest"] = stated.get("studies", "")
    manifest["version"] = stated.get("version", "")
    if not manifest.get("scale"):  # it may be null
        manifest.pop("scale", None)
    arguments = manifest.pop("arguments", None) or {}
    if not isinstance(arguments, dict):
        raise RunFileError(path, "'arguments': it is no object")
    manifest["settings"] = settings_of_arguments(manifest["rubric"], arguments)
    combined = manifest.get("combined")
    if isinstance(combined, dict) and combined.get("of") == "judge":
        parts = combined.get("parts")
        if isinstance(parts, list):
            manifest["combined"] = {
                **combined,
                "parts": [_upgraded_part(part) for part in parts],
            }
    return manifest


def _stated(line: str) -> dict[str, str]:
    """Return the parts of a printed signature by their names; `rubric` is the first."""
    rubric, *others = line.split("|")
    stated = {"rubric": rubric}
    for part in others:
        name, _, text = part.partition(":")
        if name == "package" and name in stated:  # several may add to one rubric
            text = f"{stated[name]}|{text}"
        stated[name] = text
    return stated


def _judged_by(data: Mapping[str, Any], stated: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of `JudgedBy` that an earlier manifest only has in its signature."""
    rubric, _, version = stated["rubric"].partition(":")
    values: dict[str, Any] = {"rubric": rubric, "rubric_version": version}
    # The rubric's name stands in the manifest too.
    values |= {name: data[name] for name in ("rubric",) if name in data}
    if "package" in stated:
        values["packages"] = stated["package"].split("|")
    prompts = stated.get("prompt", "none")
    if prompts != "none":
        values["prompts"] = [_prompt_entry(text) for text in prompts.split(",")]
    for name in ("sampling", "reply"):
        if name in stated:
            values[name] = stated[name]
    for name in ("reask", "repeat"):
        if stated.get(name, "").isdecimal():
            values[name] = int(stated[name])
    for name in _TOLD:
        if name in stated:
            values[name] = _SHOWN.findall(stated[name])
    return values


def _prompt_entry(text: str) -> dict[str, str]:
    named, plus, digest = text.rpartition("+")
    name, at, version = named.rpartition("@")
    if not plus or not at:
        return {"name": text}
    return {"name": name, "version": version, "digest": digest}


def _upgraded_part(part: object) -> object:
    """Return a judge of a panel of an earlier form with what its run's signature says."""
    if not isinstance(part, dict) or not isinstance(part.get("signature"), str):
        return part
    stated = _stated(part["signature"])
    judge = {"name": part.get("name"), "version": stated.get("judge", "")}
    return {**part, "judged_by": {**_judged_by({}, stated), "judge": judge}}


def _check_upgrade(path: Path, manifest: RunManifest, line: str) -> None:
    """Raise `RunFileError` unless the upgraded manifest says what its file's signature said."""
    if manifest.signature != line:
        why = "it is not of what the rest of the manifest says"
        raise RunFileError(path, f"'signature': {why}")


# A study's record


class EditRecord(TypedDict):
    """The change of one candidate line."""

    kind: Literal["change", "delete", "insert"]
    line: int | None
    corrected: str


class ItemRecord(TypedDict):
    """One thing that the judge wrote down."""

    kind: str
    text: str
    labels: dict[str, list[str]]
    side: Literal["reference", "candidate"] | None
    links: list[int]
    edit: EditRecord | None
    warnings: list[str]


class AnnotationRecord(TypedDict):
    """What the judge said about the study."""

    items: list[ItemRecord]
    explanation: str
    values: dict[str, int | float]
    stated_counts: dict[str, int]
    warnings: list[str]


class UsageRecord(TypedDict):
    """The tokens of a request."""

    prompt_tokens: Count
    completion_tokens: Count
    cached_tokens: NotRequired[Count]
    written_tokens: NotRequired[Count]


class CompletionRecord(TypedDict):
    """A raw answer, as it also stands in the cache. Old entries lack what may be missing."""

    text: str
    finish_reason: str
    model: str
    usage: UsageRecord | None
    created: NotRequired[Moment | None]
    mode: NotRequired[str | None]
    elsewhere: NotRequired[str]


class AnswerRecord(TypedDict):
    """An answer with the key and the checksum of its entry in the cache."""

    answer: CompletionRecord | None
    cache_key: str | None
    sha256: str | None


class ReportsRecord(TypedDict):
    """The study in a line of `annotations.jsonl`."""

    study_id: str
    study_class: str | None
    class_inferred: bool
    fields: dict[str, Any]
    reference: str
    candidate: str
    modality: NotRequired[str]


SCORED = "scored"
"""The outcome of a study whose answer was read."""
EARLIER_SCORED = "annotated"
"""What earlier versions wrote for it."""


def _outcome(word: object) -> object:
    return SCORED if word == EARLIER_SCORED else word


OutcomeWord = Annotated[
    Literal["scored", "unparsed", "failed"], BeforeValidator(_outcome)
]


class StudyRecord(AnswerRecord, ReportsRecord):
    """A line of `annotations.jsonl`: a study, its outcome, and the answers behind it."""

    outcome: OutcomeWord
    reason: str | None
    detail: str | None
    annotation: AnnotationRecord | None
    corrected: str | None
    measures: dict[str, int | float | None] | None
    attempt: Count
    earlier: list[AnswerRecord]


class RunFileError(JudgeError):
    """A file of a run that is not as judge writes it."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is damaged: {why}; move {path.parent} away and judge its studies again "
            "(answers in the cache are not paid for twice)"
        )


@cache
def adapter(form: type) -> TypeAdapter[Any]:
    """Return what reads and writes values of a type."""
    return TypeAdapter(form)


def first_of(error: ValidationError) -> str:
    """Return the first thing that is wrong with a value, in a few words."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[
        0
    ]
    where = ".".join(map(str, first["loc"]))[:200]
    return f"{where!r}: {first['msg']}" if where else str(first["msg"])


def read_json(path: Path) -> Any:  # noqa: ANN401
    """Return the JSON value in a file of a run; raises `JudgeError`."""
    try:
        with open_regular(path) as file:
            return jsonio.read(file.read())
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror}") from error
    except jsonio.JsonError as error:
        raise RunFileError(path, str(error)) from error


def read_manifest(folder: Path, name: str = MANIFEST) -> RunManifest:
    """Return the manifest of a run, of this form or the one before; raises `JudgeError`.

    `name` is that of its file, which is another one while the run is judged.
    """
    path = folder / name
    data = _read_object(folder, name)
    if data["format"] == FORMAT:
        return _typed(path, RunManifest, data)
    if data["format"] != LAST_FORMAT:
        raise _another_format(folder, data["format"])
    manifest = _typed(path, RunManifest, _upgraded(path, data))
    _check_upgrade(path, manifest, str(data["signature"]))
    return manifest


def read_source_manifest(folder: Path) -> SourceManifest:
    """Return what of a run's manifest its reports need, of any form; raises `JudgeError`."""
    return _typed(folder / MANIFEST, SourceManifest, _read_any(folder))


def read_answers_manifest(folder: Path) -> AnswersManifest:
    """Return what of a run's manifest its answers need, of any form; raises `JudgeError`."""
    return _typed(folder / MANIFEST, AnswersManifest, _read_any(folder))


def _read_any(folder: Path) -> dict[str, Any]:
    """Return a manifest of any form, in today's form; those of a whole run are checked whole."""
    data = _read_object(folder)
    if data["format"] == OLDEST_FORMAT:
        return _upgraded(folder / MANIFEST, data)
    return read_manifest(folder).model_dump()


def _read_object(folder: Path, name: str = MANIFEST) -> dict[str, Any]:
    """Return the object in a manifest's file, without the signature that is derived from it."""
    path = folder / name
    if not os.path.lexists(path):
        raise JudgeError(
            f"{folder} is not a run: it holds no {name}; name the run's folder"
        )
    data = read_json(path)
    if not isinstance(data, dict):
        raise RunFileError(path, "it is no object")
    form = data.get("format")
    if form not in (FORMAT, LAST_FORMAT, OLDEST_FORMAT):
        raise _another_format(folder, form)
    if form == FORMAT:
        data.pop("signature", None)
    return data


def _another_format(folder: Path, form: object) -> JudgeError:
    return JudgeError(
        f"{folder} is a run of format {form!r}, and this version of judge reads format {FORMAT}: "
        "judge its studies again (answers in the cache are not paid for twice)"
    )


def read_summary(folder: Path) -> RunSummary:
    """Return the summary of a run folder, checked; raises `JudgeError`."""
    path = folder / SUMMARY
    return _typed(path, RunSummary, read_json(path))


def _typed(path: Path, model: type[Model], data: object) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise RunFileError(path, first_of(error)) from error


def read_line(path: Path, line: bytes, number: int) -> StudyRecord:
    """Return the record that line `number` of the file at `path` holds; raises `RunFileError`."""
    try:
        body = jsonio.sealed(line, number)
        record: StudyRecord = adapter(StudyRecord).validate_json(body, strict=True)
    except jsonio.JsonError as error:
        raise RunFileError(path, str(error)) from error
    except ValidationError as error:
        raise RunFileError(path, f"line {number:,}: {first_of(error)}") from error
    if why := _contradiction(record):
        raise RunFileError(path, f"line {number:,}: {why}")
    return record


def read_old_line(path: Path, line: bytes, number: int) -> ReportsRecord:
    """Return the study in line `number` of a run of `OLDEST_FORMAT`; raises `RunFileError`."""
    try:
        record: ReportsRecord = adapter(ReportsRecord).validate_python(
            jsonio.read(line)
        )
    except jsonio.JsonError as error:
        raise RunFileError(path, f"line {number:,}: {error}") from error
    except ValidationError as error:
        raise RunFileError(path, f"line {number:,}: {first_of(error)}") from error
    return record


def _contradiction(record: StudyRecord) -> str | None:
    """Return in which way the parts of a record do not go together, None where they do."""
    is_scored = record["outcome"] == SCORED
    if is_scored != (record["annotation"] is not None):
        return f"'annotation' does not go with the outcome {record['outcome']!r}"
    if is_scored != (record["measures"] is not None):
        return f"'measures' do not go with the outcome {record['outcome']!r}"
    if is_scored != (record["reason"] is None):
        return f"'reason' does not go with the outcome {record['outcome']!r}"
    if not is_scored and record["detail"] is None:
        return "'detail' is missing"
    annotation = record["annotation"]
    n_items = len(annotation["items"]) if annotation else 0
    for item in annotation["items"] if annotation else ():
        if any(not 0 <= link < n_items for link in item["links"]):
            return "'annotation.items' has a link to an item that there is not"
        edit = item["edit"]
        if edit and edit["line"] is None and edit["kind"] != "insert":
            return f"'annotation.items' has a {edit['kind']} of no line"
        if edit and edit["line"] is not None and edit["line"] < 0:
            return "'annotation.items' has an edit of a line below 0"
    return None
