"""What a judge behind an API takes, by its name: `models.yaml`, a dated table of facts.

A model that the table lacks is taken to reason, since most models of today do: its answers get
room for that. Which parameters it takes is then found out by asking it.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from judge.jsonio import read_yaml

FILE = Path(__file__).with_name("models.yaml")
SOON = dt.timedelta(days=90)
"""How long before a model ends a run says so."""
MAX_TOKENS = 2048
"""The longest answer in tokens of a model that does not reason: several times what one takes."""
MAX_TOKENS_UNKNOWN = 8192
"""The same for a model that the table lacks, which may reason."""
MAX_TOKENS_REASONING = 25_000
"""The same where a model is known to reason: what OpenAI's guide to reasoning advises to begin
with (developers.openai.com/docs/guides/reasoning, "Allocating space for reasoning")."""

AZURE = "azure"
Provider = Literal["openai", "anthropic", "google"]
Temperature = Literal["taken", "no_effort", "refused", "ignored"]

# A dated snapshot of a model: gpt-4o-2024-11-20, claude-haiku-4-5-20251001.
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
# How OpenAI names what was fine-tuned: ft:gpt-4o-mini-2024-07-18:organisation::id.
_FINE_TUNED = re.compile(r"ft:([^:]+)")
# How open models that reason are named, whoever serves them.
_REASONS = re.compile(
    r"(?:^|[/:])(?:o[1-9](?:-|$)|gpt-[5-9]|gpt-oss|deepseek-r(?:1|easoner)|qwq|magistral)"
    r"|[-_](?:thinking|reasoner|reasoning)(?:[-_:]|$)",
    re.IGNORECASE,
)
# OpenAI's own that reason: another name of the token limit, and no temperature.
_OPENAI_REASONS = re.compile(r"(?:^|/)(?:o[1-9](?:-|$)|gpt-[5-9])", re.IGNORECASE)
# Whose models the table lacks is known by their names.
_FAMILIES: tuple[tuple[str, Provider], ...] = (
    ("claude-", "anthropic"),
    ("gemini-", "google"),
)
_OWNERS = {"openai": "OpenAI", "anthropic": "Anthropic", "google": "Google"}


class ModelFacts(BaseModel):
    """What is known of one model.

    Attributes:
        name: The model's name at its provider.
        provider: Who serves it.
        reasons: Whether it reasons when no effort is sent.
        efforts: The reasoning efforts that it takes, the least first; empty where it has none.
        temperature: Whether a temperature is taken, taken with the effort `none` only, refused
            with an error, or accepted and ignored.
        context: Tokens of prompt and answer together.
        ends: The day from which on requests fail, None where no day was announced.
        ends_on_azure: The same at Azure, where that is another day.
        successor: The model that the provider names for the time after.
        sources: Keys of the table's sources.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    provider: Provider
    reasons: bool
    efforts: tuple[str, ...] = ()
    temperature: Temperature
    context: int
    ends: dt.date | None = None
    ends_on_azure: dt.date | None = None
    successor: str | None = None
    sources: tuple[str, ...]

    @property
    def least_effort(self) -> str | None:
        """The least reasoning effort that can be asked for, None where there is no setting."""
        return self.efforts[0] if self.efforts else None

    def takes_temperature(self, effort: object) -> bool:
        """Whether a temperature that is sent has an effect, with this reasoning effort."""
        if self.temperature == "no_effort":
            return effort == "none"
        return self.temperature == "taken"

    def ending(self, today: dt.date, ends: dt.date | None = None) -> str | None:
        """Return a sentence on the end of the model, None where it is further off than `SOON`.

        `ends` is what the provider itself says today, where it was asked.
        """
        last = ends or self.ends
        if last is None or last - today > SOON:
            return None
        verb = "ended" if last <= today else "ends"
        named = (
            f"; {_OWNERS[self.provider]} names {self.successor}"
            if self.successor
            else ""
        )
        return f"{self.name} {verb} on {last.isoformat()}{named}"


class ModelTable(BaseModel):
    """All facts of `models.yaml`, as of one day."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of: dt.date
    sources: dict[str, str]
    models: tuple[ModelFacts, ...]

    @field_validator("models")
    @classmethod
    def _each_once(cls, models: tuple[ModelFacts, ...]) -> tuple[ModelFacts, ...]:
        names = [facts.name for facts in models]
        if len(names) != len(set(names)):
            raise ValueError("a model has two entries")
        return models

    @model_validator(mode="after")
    def _with_sources(self) -> ModelTable:
        for facts in self.models:
            if not facts.sources or set(facts.sources) - set(self.sources):
                raise ValueError(
                    f"{facts.name} has no source, or one that is not listed"
                )
        return self

    def find(self, model: str) -> ModelFacts | None:
        """Return the facts on a model by its name; or those on the base of its snapshot."""
        by_name = {facts.name: facts for facts in self.models}
        fine_tuned = _FINE_TUNED.match(model)
        if fine_tuned is not None:
            model = fine_tuned[1]
        if model in by_name:
            return by_name[model]
        return by_name.get(_SNAPSHOT.sub("", model))


@cache
def table() -> ModelTable:
    """Return the table of facts."""
    data, _ = read_yaml(FILE)
    return ModelTable.model_validate(data)


def facts_of(model: str, provider: str) -> ModelFacts | None:
    """Return what is known of a model of a provider, None where the table lacks it.

    Azure serves OpenAI's models, and ends some of them on another day.
    """
    facts = table().find(model)
    if facts is None:
        return None
    if provider == AZURE and facts.provider == "openai":
        return facts.model_copy(update={"ends": facts.ends_on_azure or facts.ends})
    return facts if facts.provider == provider else None


def provider_of(model: str) -> Provider:
    """Return who serves a model of this name, by the table or by how the name begins."""
    facts = table().find(model)
    if facts is not None:
        return facts.provider
    return next(
        (owner for start, owner in _FAMILIES if model.startswith(start)), "openai"
    )


def reasons(model: str) -> bool:
    """Whether a model that the table lacks reasons, by how such models are named."""
    return _REASONS.search(model) is not None


def is_openai_reasoner(model: str) -> bool:
    """Whether a model is named as those of OpenAI that reason, whether the table has it or not.

    They take another name of the token limit than others.
    """
    return _OPENAI_REASONS.search(model) is not None


def max_tokens(model: str, facts: ModelFacts | None, effort: object) -> int:
    """Return how many tokens bound an answer of a model that is asked with this effort."""
    if effort == "none":
        return MAX_TOKENS
    if effort is not None or reasons(model):
        return MAX_TOKENS_REASONING
    if facts is None:
        return MAX_TOKENS_UNKNOWN
    return MAX_TOKENS_REASONING if facts.reasons else MAX_TOKENS
