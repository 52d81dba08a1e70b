"""What an experiment is asked to do: the YAML file of `judge run`, read and checked.

Settings have the names that `RunSettings` has for them. Those at the top hold for all runs; those
of a data set, a rubric or a judge for its runs alone.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    FiniteFloat,
    JsonValue,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from judge import jsonio
from judge.report_sections import SECTION_NAMES
from judge.run_settings import ColumnSettings
from judge.types import LEXICON, JudgeError

ONLY_DATA = ""
"""The name of the data set of an experiment that names none."""

# What else people call a key.
_MEANT = {
    "preds": "candidates",
    "predictions": "candidates",
    "models": "candidates",
    "model": "candidates",
    "refs": "references",
    "reference": "references",
    "dataset": "data",
    "datasets": "data",
    "section": "sections",
    "rubric": "rubrics",
    "judge": "judges",
    "group_by": "by",
    "budget": "max_cost",
    "output": "out",
    "class": "study_class",
    "body": "sampling",
}
_BATCH = (
    "an experiment asks its questions one by one; judge RUBRIC --batch asks in batches"
)
_NOT_HERE = {"batch": _BATCH, "batch_size": _BATCH}


class _Part(BaseModel):
    """A part of an experiment. A key that there is not is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def given(self, *names: str) -> dict[str, Any]:
        """Return the values of the fields that were given, or of those of `names`."""
        wanted = names or type(self).model_fields
        return {
            name: getattr(self, name)
            for name in wanted
            if name in self.model_fields_set
        }


class ReportChoices(_Part):
    """How the reports of some runs are read, as `RunSettings` has it.

    `several_references` is its `references`: which numbers count where a study has several.
    """

    columns: ColumnSettings | None = None
    encoding: str | None = None
    allow_missing: bool | None = None
    modality: str | None = None
    several_references: Literal["best", "mean"] | None = None


class AskingChoices(_Part):
    """How the judges of some runs are asked, as `RunSettings` has it; times are in seconds.

    `reasoning_effort` is a parameter of `sampling` by its usual name.
    """

    prompt: str | None = None
    base_url: list[str] | None = None
    server: dict[str, JsonValue] | None = None
    max_tokens: PositiveInt | None = None
    temperature: FiniteFloat | None = None
    reasoning_effort: str | None = None
    sampling: dict[str, JsonValue] | None = None
    reply: Literal["auto", "text", "structured"] | None = None
    service_tier: str | None = None
    timeout: FiniteFloat | None = None
    concurrency: PositiveInt | None = None
    reask: int | None = None
    max_requests: PositiveInt | None = None
    max_outage: FiniteFloat | None = None
    give_up_after: int | None = None

    @field_validator("base_url", mode="before")
    @classmethod
    def _one_address(cls, value: object) -> object:
        return _as_list(value)


class DataSet(ReportChoices):
    """The reports of one data set.

    `candidates` has files and patterns of files, or a file for each model's name. Without
    `references` each of them holds both sides.
    """

    references: str | None = None
    candidates: list[str] | dict[str, str]

    @field_validator("candidates", mode="before")
    @classmethod
    def _files(cls, value: object) -> object:
        return _named_files(value)


class RubricChoices(_Part):
    """What a rubric's runs have of their own: the prompt, its name or file."""

    prompt: str | None = None


class JudgeChoices(AskingChoices):
    """Who judges, as `--judge` names it, and how it is asked where that differs from the rest."""

    judge: str


class Experiment(ReportChoices, AskingChoices):
    """A matrix of runs: data sets by candidates, sections, rubrics and judges.

    `data` has the reports by the names of the data sets; `references` and `candidates` stand for
    one data set without a name. `sections` None is the usual one of each data set. Rubrics and
    judges stand under the names that the runs have for them. `by` has groupings of the studies,
    None the usual one of a run. `max_cost` (US dollars) is for all runs together, also of earlier
    commands. `limit` studies of each data set are drawn at random, the same for all models. Paths
    are relative to the file.
    """

    references: str | None = None
    candidates: list[str] | dict[str, str] | None = None
    data: dict[str, DataSet] | None = None
    sections: list[str] | None = None
    rubrics: dict[str, RubricChoices] = {"green": RubricChoices()}
    judges: dict[str, JudgeChoices] = {LEXICON: JudgeChoices(judge=LEXICON)}
    by: list[str] | None = None
    limit: PositiveInt | None = None
    max_cost: PositiveFloat | None = None
    min_coverage: FiniteFloat | None = None
    out: str | None = None

    @field_validator("candidates", mode="before")
    @classmethod
    def _files(cls, value: object) -> object:
        return None if value is None else _named_files(value)

    @field_validator("data", mode="before")
    @classmethod
    def _named_data(cls, value: object) -> object:
        if isinstance(value, list | str):
            raise ValueError(  # noqa: TRY004 - pydantic takes these for faults of the file
                "give each data set a name: data: {NAME: {references: FILE, candidates: [FILE]}}"
            )
        return _with_text_keys(value)

    @field_validator("sections", "by", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        return _as_list(value)

    @field_validator("sections")
    @classmethod
    def _known_sections(cls, names: list[str] | None) -> list[str] | None:
        for name in names or ():
            if name not in SECTION_NAMES:
                known = ", ".join(SECTION_NAMES)
                raise ValueError(f"there is no section {name!r}; there are: {known}")
        return names

    @field_validator("sections", "by")
    @classmethod
    def _each_once(cls, names: list[str] | None) -> list[str] | None:
        if names is not None:
            _check_distinct(names)
        return names

    @field_validator("rubrics", mode="before")
    @classmethod
    def _named_rubrics(cls, value: object) -> object:
        if isinstance(value, Mapping):
            return {str(name): choice or {} for name, choice in value.items()}
        names = _as_list(value)
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            raise ValueError("it is a list of rubrics, such as [green, fineradscore]")
        _check_distinct(names)
        return {name: {} for name in names}

    @field_validator("judges", mode="before")
    @classmethod
    def _named_judges(cls, value: object) -> object:
        if isinstance(value, Mapping):
            named = {str(name): choice for name, choice in value.items()}
        else:
            listed = _as_list(value)
            if not isinstance(listed, list):
                raise ValueError("it is a list of judges, such as [gpt-6-luna]")  # noqa: TRY004
            names = [_judge_name(choice) for choice in listed]
            _check_distinct(names)
            named = dict(zip(names, listed, strict=True))
        return {name: _as_judge(name, choice) for name, choice in named.items()}

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.data is None and self.candidates is None:
            raise ValueError(
                "no candidates: name their files, such as candidates: [preds/*.json]"
            )
        if self.data is not None and (self.candidates or self.references):
            raise ValueError(
                "references and candidates stand within each data set of data: move them there"
            )
        for name in ("data", "sections", "rubrics", "judges"):
            value = getattr(self, name)
            if value is not None and len(value) == 0:
                raise ValueError(f"{name} is empty: name at least one, or leave it out")
        return self

    @property
    def data_sets(self) -> dict[str, DataSet]:
        """The data sets by name; one alone, given at the top, is called `ONLY_DATA`."""
        if self.data is not None:
            return dict(self.data)
        assert self.candidates is not None
        return {
            ONLY_DATA: DataSet(references=self.references, candidates=self.candidates)
        }

    @classmethod
    def of(cls, values: object, where: str = "the experiment") -> Self:
        """Return the experiment with these values; raises `JudgeError` that names all faults."""
        if not isinstance(values, Mapping):
            raise JudgeError(
                f"{where} has no keys: it needs candidates and references, for example"
            )
        try:
            return cls.model_validate(
                {str(key): value for key, value in values.items()}
            )
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False)
            texts = dict.fromkeys(_fault_text(fault) for fault in faults)
            raise JudgeError(f"{where}: {'; '.join(texts)}") from error

    def with_changes(self, **changes: object) -> Self:
        """Return it with other values of some fields, None for those that it is not given.

        Raises `JudgeError` as `of` does.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        if not given:
            return self
        return self.of({**self.given(), **given})


@dataclass(frozen=True, kw_only=True)
class ExperimentSource:
    """An experiment and where it comes from.

    `file` is None for one that was given as values; its `text` is JSON then. `sha256` is that of
    the file's bytes, or of `text`. `folder` is what paths are relative to.
    """

    experiment: Experiment
    file: Path | None
    text: str
    sha256: str
    folder: Path

    @classmethod
    def of_values(cls, experiment: Experiment, folder: Path = Path()) -> Self:
        """Return the source of an experiment that no file holds."""
        values = experiment.model_dump(mode="json", exclude_unset=True)
        text = json.dumps(values, sort_keys=True, ensure_ascii=False)
        return cls(
            experiment=experiment,
            file=None,
            text=text,
            sha256=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
            folder=folder,
        )


def read_experiment(path: Path) -> ExperimentSource:
    """Read an experiment's file; raises `JudgeError` where it cannot be read, or is at fault."""
    try:
        values, raw = jsonio.read_yaml(path)
    except OSError as error:
        raise JudgeError(f"cannot read {path}: {error.strerror or error}") from error
    except jsonio.UnreadableYamlError as error:
        hint = ""
        if "alias" in str(error):
            hint = '; put a pattern that begins with * in quotes: "*.json"'
        raise JudgeError(f"{path} is no YAML: {error}{hint}") from error
    return ExperimentSource(
        experiment=Experiment.of(values, str(path)),
        file=path,
        text=raw.decode("utf-8-sig"),
        sha256=hashlib.sha256(raw).hexdigest(),
        folder=path.parent,
    )


def _as_list(value: object) -> object:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return list(value)
    return value


def _with_text_keys(value: object) -> object:
    """Return a mapping with its keys as text: YAML reads `2024: a.json` with a number."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    return value


def _named_files(value: object) -> object:
    value = _with_text_keys(_as_list(value))
    if isinstance(value, Mapping):
        files = list(value.values())
    elif isinstance(value, list):
        files = value
    else:
        files = []
    is_text = all(isinstance(file, str) and file for file in files)
    if not files or not is_text:
        raise ValueError(
            "it is a list of files and patterns, such as [preds/*.json], or a file for each "
            "model, such as {alder: a.json, birch: b.json}"
        )
    return value


def _judge_name(choice: object) -> str:
    if isinstance(choice, str):
        return choice
    if isinstance(choice, Mapping) and isinstance(choice.get("judge"), str):
        return str(choice["judge"])
    raise ValueError(
        f"{choice!r:.60} names no judge: write gpt-6-luna, or {{judge: gpt-6-luna, ...}}"
    )


def _as_judge(name: str, choice: object) -> object:
    if isinstance(choice, str):
        return {"judge": choice}
    if choice is None:
        return {"judge": name}
    return choice


def _check_distinct(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} is there twice; give each a name of its own")


def _fault_text(fault: ErrorDetails) -> str:
    """Return a fault with the key that it is in, and the key that was probably meant."""
    *parents, last = [str(part) for part in fault["loc"]] or [""]
    if fault["type"] == "extra_forbidden":
        return _unknown_key(parents, last)
    key = ".".join(filter(None, [*parents, last]))
    text = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "missing":
        text = "it is missing"
    return f"{key}: {text}" if key else text


def _unknown_key(parents: list[str], key: str) -> str:
    name = ".".join([*parents, key])
    if key in _NOT_HERE:
        return f"{name}: {_NOT_HERE[key]}"
    known = _keys_at(parents)
    meant = _MEANT.get(key)
    if meant not in known:
        near = difflib.get_close_matches(key.lower(), known, 1)
        meant = near[0] if near else None
    if meant is None:
        return f"there is no key {name!r}; there are: {', '.join(known)}"
    return f"there is no key {name!r}; did you mean {meant}?"


def _keys_at(parents: list[str]) -> list[str]:
    """Return the keys that there are in a part of the file."""
    parts: dict[str, type[BaseModel]] = {
        "data": DataSet,
        "rubrics": RubricChoices,
        "judges": JudgeChoices,
    }
    part: type[BaseModel] = Experiment
    if parents:
        part = parts.get(parents[0], part)
    if "columns" in parents:
        part = ColumnSettings
    return list(part.model_fields)
