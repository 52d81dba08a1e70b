"""What a run is asked to do, as one value: for command line, Python, service and experiment alike.

It stands below all that reads or asks, so that a manifest can hold it. `judge.running.settings`
makes a session and a set of studies of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    JsonValue,
    ValidationError,
)

from judge.modalities import NAMES
from judge.report_sections import SECTIONS_IN_WORDS
from judge.types import LEXICON, JudgeError

DEFAULT_BY = ("study_class",)
"""The fields that group the rates where none are named."""


class _Settings(BaseModel):
    """Settings that do not change once they are made. An unknown one is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ColumnSettings(_Settings):
    """Which fields hold what; None stands for the usual names.

    `context` has the fields that the judge is shown of the patient: None for those that the
    rubric takes, an empty list for none.
    """

    id: str | None = None
    candidate: str | None = None
    reference: str | None = None
    study_class: str | None = None
    patient: str | None = None
    prior: str | None = None
    context: list[str] | None = None


class StudySettings(_Settings):
    """Which studies of the reports, and which part of these is judged."""

    section: str | None = Field(default=None, description=f"{SECTIONS_IN_WORDS}.")
    model: str | None = Field(
        default=None, description="The model that wrote the candidates."
    )
    allow_missing: bool = Field(
        default=False, description="Skip studies without a partner."
    )
    references: Literal["best", "mean"] | None = Field(
        default=None, description="best or mean, of several references."
    )
    limit: int | None = Field(
        default=None, description="So many studies, drawn at random."
    )
    modality: str | None = Field(
        default=None, description=f"One of {', '.join(NAMES)}."
    )


class ReportSettings(StudySettings):
    """Which reports are read, and how.

    `preds` and `refs` are None for reports that a caller in Python had in memory; `preds` alone
    may hold both sides. `shard` is written 3/8.
    """

    preds: str | None = None
    refs: str | None = None
    columns: ColumnSettings = ColumnSettings()
    encoding: str | None = None
    shard: str | None = None


class OpenSettings(StudySettings):
    """The settings that a client of the service may choose too.

    None of them names a path, an address, a prompt or a key, or is of the process and its server;
    and none makes an answer dearer than the client's budget counts it.
    """

    rubric: str = Field(description="A rubric's name.")
    judge: str = Field(default=LEXICON, description="Who judges.")
    max_tokens: int | None = Field(
        default=None, description="The longest answer in tokens."
    )
    temperature: FiniteFloat | None = None
    reply: Literal["auto", "text", "structured"] = Field(
        default="auto", description="auto, text or structured."
    )
    max_cost: FiniteFloat | None = Field(
        default=None,
        description="Stop before this run costs more dollars; within the budget.",
    )
    min_coverage: FiniteFloat = 0.99
    reask: int = 1
    give_up_after: int = 50
    by: list[str] = Field(
        default=[*DEFAULT_BY], max_length=20, description="Fields to group by."
    )


class CandidateSettings(_Settings):
    """How the candidates of `judge stress` were made: `n` studies of `refs`, drawn by `seed`."""

    refs: str
    n: int
    seed: int
    changes: list[str] = []


class RunSettings(ReportSettings, OpenSettings):
    """What a run is asked to do.

    `sampling` has further parameters of a request by their names, `server` settings of a server
    that is started. `timeout` and `max_outage` are in seconds, `max_cost` in US dollars; the
    requests' limits are those of `RequestPolicy`, which checks them. `by` has a grouping of the
    rates each. Keys of APIs are no settings: they stay in the environment.
    """

    prompt: str | None = None
    base_url: list[str] = []
    server: dict[str, JsonValue] = {}
    sampling: dict[str, JsonValue] = {}
    service_tier: str | None = None
    timeout: FiniteFloat = 120.0
    concurrency: int | None = None
    max_requests: int = 8
    max_outage: FiniteFloat = 1800.0
    batch: bool = False
    batch_size: int | None = None
    candidates: CandidateSettings | None = None

    @classmethod
    def of(cls, **values: Any) -> Self:  # noqa: ANN401
        """Return settings of these values; raises `JudgeError` for one that cannot be."""
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            name = ".".join(map(str, first["loc"]))
            raise JudgeError(f"{name}: {first['msg']}") from error

    def by_new_judge(
        self,
        folder: str | None,
        judge_values: Mapping[str, Any],
        by: Iterable[str] = DEFAULT_BY,
    ) -> Self:
        """Return the settings under which a new judge is asked about the reports of this run.

        `folder` is the run's, None where the reports are of several; `judge_values` are the
        settings of the new judge by their names. Raises `JudgeError` for one that cannot be.
        """
        return self.of(
            rubric=self.rubric,
            preds=folder,
            columns=self.shown_columns,
            section=self.section,
            modality=self.modality,
            by=list(by),
            **judge_values,
        )

    @property
    def shown_columns(self) -> ColumnSettings:
        """What the judge was shown beside the reports; the others have their usual names."""
        return ColumnSettings(prior=self.columns.prior, context=self.columns.context)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of a request by their names: `sampling`, and the temperature with it."""
        if self.temperature is None:
            return dict(self.sampling)
        return {"temperature": self.temperature, **self.sampling}


def settings_of_arguments(
    rubric: object, arguments: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the settings in the `arguments` of a manifest of the form before.

    Only the command line wrote them whole: None for any other.
    """
    if "judge_name" not in arguments:
        return None
    sampling = dict(arguments.get("body") or {})
    if arguments.get("reasoning_effort") is not None:
        sampling["reasoning_effort"] = arguments["reasoning_effort"]
    columns: dict[str, Any] = {
        role: arguments.get(f"{role}_field")
        for role in ("id", "candidate", "reference", "patient", "prior")
    }
    columns["study_class"] = arguments.get("class_field")
    if arguments.get("no_context"):
        columns["context"] = []
    elif arguments.get("context_fields"):
        columns["context"] = list(arguments["context_fields"])
    values: dict[str, Any] = {
        "rubric": rubric,
        "judge": arguments["judge_name"] or LEXICON,
        "columns": columns,
        "sampling": sampling,
    }
    for name in RunSettings.model_fields:
        if name not in values and arguments.get(name) is not None:
            values[name] = arguments[name]
    if "server" in values:
        started = values["server"].items()
        values["server"] = {key: value or True for key, value in started}
    if "max_outage" in values:  # it was in minutes
        values["max_outage"] = 60 * values["max_outage"]
    return values
