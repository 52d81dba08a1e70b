"""The studies of a run, in columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

from judge import jsonio
from judge.modalities import code_of, modality_named
from judge.signature import random_rank
from judge.studies.columns import as_text, find_column, normalise_name
from judge.studies.input_table import InputFile
from judge.text import says_nothing
from judge.types import JudgeError, Study

CONTEXT_FIELDS = (
    "context",
    "age",
    "patient_age",
    "sex",
    "patient_sex",
    "gender",
    "indication",
    "indications",
    "history",
    "clinical_history",
    "clinical_indication",
    "clinical_information",
    "clinical_data",
    "reason_for_exam",
    "reason_for_examination",
    "procedure",
    "exam",
    "examination",
    "technique",
    "comparison",
    "comparisons",
)
"""Names of fields that describe the patient and the examination."""

# ReXrank's context is one text, "Age:50-60.Gender:M.Indication: ... Comparison: ...". Its parts are
# joined without a blank, so that "Indication:coughComparison: None." is two of them.
_NAMES = (
    r"age|gender|sex|(?:clinical )?(?:indication|history)|comparison|technique|procedure"
    r"|exam(?:ination)?"
)
_GLUED = r"Gender|Indication|Comparison|Technique|Procedure|Examination"
_LABEL = re.compile(
    rf"""
    (?: (?:(?<=\A)|(?<=[.\s;,])) (?P<name>{_NAMES.replace(" ", "[ ]")})
      | (?<=\S) (?-i:(?P<glued>{_GLUED}))
    )
    \s*:
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TAG = re.compile(r"\A\s*</?[a-z][\w-]*\s*/?>|</?[a-z][\w-]*\s*/?>\s*\Z", re.IGNORECASE)
_COMPARES = re.compile(
    r"\b(?:unchanged|compar(?:ed|ison)|prior|previous(?:ly)?|interval|new(?:ly)?|stable|again"
    r"|since|worsen(?:ed|ing)|improv(?:ed|ing|ement)|(?:in|de)creased|persist(?:s|ent)"
    r"|resol(?:ved|ution))\b",
    re.IGNORECASE,
)
_NOT_KNOWN = {"inf", "-inf", "unknown"}


@dataclass(frozen=True, slots=True)
class JudgeContext:
    """The fields that the judge is shown beside the two reports, and their modality.

    `modality` is one of `judge.modalities.NAMES`; a study has its code alone.
    """

    context: tuple[str, ...] = ()
    prior: str | None = None
    modality: str | None = None

    def read(self, fields: Mapping[str, object]) -> dict[str, Any]:
        """Return `context`, `prior` and `modality` of the study with these fields.

        The context is in the order of its fields, and within a field in the field's own. Of two
        values of one name the first counts.
        """
        context: dict[str, str] = {}
        for shown in self.context:
            for name, value in read_context(shown, fields[shown]).items():
                context.setdefault(name, value)
        prior = None
        if self.prior:
            prior = prior_report(fields[self.prior])
        code = None
        if self.modality is not None:
            code = code_of(self.modality)
        return {"context": context, "prior": prior, "modality": code}

    @property
    def shown(self) -> dict[str, list[str]]:
        """The fields that are shown by what they are, each as a signature names it.

        Keys: those of `context`, `prior` and `modality` that have any.
        """
        fields = {
            "context": self.context,
            "prior": (self.prior,),
            "modality": (self.modality,),
        }
        shown: dict[str, list[str]] = {}
        for part, names in fields.items():
            quoted = [_quoted(name) for name in names if name]
            if quoted:
                shown[part] = quoted
        return shown


def attach_context(
    studies: StudySet,
    *,
    context: Sequence[str] | None,
    prior: str | None = None,
    modality: str | None = None,
) -> StudySet:
    """Return the studies with the fields that the judge is shown.

    `context` names fields in the order in which they are shown; None is those called as in
    `CONTEXT_FIELDS`, in the order of that list, but for the fields of the candidates' file alone,
    whose author must not choose what the judge reads.
    """
    if context is None:
        usual = [normalise_name(name) for name in CONTEXT_FIELDS]
        names = sorted({*studies.fields} - studies.of_candidates)
        names = [name for name in names if normalise_name(name) in usual]
        names.sort(key=lambda name: usual.index(normalise_name(name)))
    else:
        names = [
            find_column(studies.fields, name, "--column context") for name in context
        ]
    if prior:
        prior = find_column(studies.fields, prior, "--column prior")
        if not any(map(prior_report, studies.fields[prior])):
            raise JudgeError(
                f"the field {prior} of --column prior is empty for every study"
            )
    if modality is not None:
        modality = modality_named(modality)
    shown = JudgeContext(tuple(dict.fromkeys(names)), prior or None, modality)
    return replace(studies, judge_context=shown)


def read_context(field: str, value: object) -> Mapping[str, str]:
    """Return the patient's data in a field's value by name: an object's, ReXrank's, its own.

    Tags around the value (`<context>...</context>`) are taken off; what says nothing is left out.
    """
    said: dict[str, str] = {}
    for label, text in _context_parts(field, value):
        name = re.sub(r"\W+", "_", label.strip().lower()).removeprefix("patient_")
        words = " ".join(text.split()).strip(" ;,")
        if name == "gender":
            name = "sex"
        if name in ("age", "sex"):
            words = words.removesuffix(".")
        if name == "age":
            # A column of whole numbers with a gap is one of floats.
            words = re.sub(r"\A(\d+)\.0\Z", r"\1", words)
        if not _is_missing(words):
            said.setdefault(name, words)
    return said


def _context_parts(field: str, value: object) -> list[tuple[str, str]]:
    """Return the parts of a field's value, each with its label: the field's name without one."""
    text = ""
    if value is not None:
        text = _without_tags(as_text(value))
    data = None
    if text.startswith("{"):
        # Words may begin with a bracket.
        with suppress(jsonio.JsonError):
            data = jsonio.read(text, nan=True)
    parts: list[tuple[str, str]] = []
    if isinstance(data, dict):
        for name, said in data.items():
            if said is not None:
                parts.append((name, as_text(said)))
        return parts
    labels = [*_LABEL.finditer(text)]
    if not labels or text[: labels[0].start()].strip():
        return [(field, text)]
    ends = [label.start() for label in labels[1:]]
    for label, end in zip(labels, [*ends, len(text)], strict=True):
        name = label["name"] or label["glued"]
        parts.append((name, text[label.end() : end]))
    return parts


def _without_tags(text: str) -> str:
    """Return a text without the tags at its start and its end."""
    shorter = _TAG.sub("", text)
    while shorter != text:
        text = shorter
        shorter = _TAG.sub("", text)
    return text.strip()


def _is_missing(text: str) -> bool:
    return says_nothing(text) or text.strip(" .").lower() in _NOT_KNOWN


def prior_report(value: object) -> str | None:
    """Return a prior report as text; None for a missing value."""
    if value is None:
        return None
    text = as_text(value)
    if _is_missing(text):
        return None
    return text


def compares(report: str) -> bool:
    """Return whether a report seems to compare with an earlier examination, by single words."""
    return _COMPARES.search(report) is not None


def _quoted(name: str) -> str:
    if name != "none" and not any(mark in name for mark in ',|"'):
        return name
    quoted = json.dumps(name, ensure_ascii=False)
    return quoted.replace("|", "\\u007c")  # which separates the parts of a signature


_COLUMNS = (
    "references",
    "candidates",
    "study_classes",
    "class_inferred",
    "full_references",
)
"""The columns of a study set beside its ids, its fields and its further references."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySet:
    """Studies as parallel columns, in the order of the references.

    `full_references` are the whole reports where the input has more than the section.
    `of_candidates` are the fields that the candidates' file alone has, `read_from` the fields of
    ids, candidates and references. `omitted` counts the studies left out, by reason, and
    `omitted_ids` has the first few. `every_reference` is there where studies have several.
    """

    study_ids: tuple[str, ...]
    references: tuple[str, ...]
    candidates: tuple[str, ...]
    study_classes: tuple[str | None, ...]
    class_inferred: tuple[bool, ...]
    full_references: tuple[str, ...]
    section: str
    fields: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    of_candidates: frozenset[str] = frozenset()
    class_field: str | None = None
    model: str | None = None
    read_from: Mapping[str, str] = field(default_factory=dict)
    omitted: Mapping[str, int] = field(default_factory=dict)
    omitted_ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inputs: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()
    judge_context: JudgeContext = JudgeContext()
    every_reference: tuple[tuple[tuple[str, str], ...], ...] = ()

    def __len__(self) -> int:
        return len(self.study_ids)

    def __iter__(self) -> Iterator[Study]:
        return map(self.study, range(len(self)))

    @property
    def empty_candidates(self) -> list[str]:
        """The ids of the studies for which the model wrote nothing."""
        pairs = zip(self.study_ids, self.candidates, strict=True)
        return [study_id for study_id, candidate in pairs if not candidate.strip()]

    def take(self, rows: Sequence[int], study_ids: Sequence[str] | None = None) -> Self:
        """Return the studies of some rows; one that is there several times needs ids of its own."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in _COLUMNS}
        if self.every_reference:
            columns["every_reference"] = self.every_reference
        for name, column in columns.items():
            columns[name] = tuple(column[row] for row in rows)
        fields = {}
        for name, values in self.fields.items():
            fields[name] = tuple(values[row] for row in rows)
        if study_ids is None:
            study_ids = [self.study_ids[row] for row in rows]
        return replace(self, study_ids=tuple(study_ids), fields=fields, **columns)

    def sample(self, n: int, seed: int) -> Self:
        """Return `n` studies, drawn by seed and ids; a larger `n` has those of a smaller."""
        ranks = [random_rank("study", seed, study_id) for study_id in self.study_ids]
        drawn = sorted(range(len(self)), key=ranks.__getitem__)[:n]
        return self.take(sorted(drawn))

    def study(self, row: int) -> Study:
        """Return the study in a row, counted from 0."""
        fields = {name: column[row] for name, column in self.fields.items()}
        return Study(
            study_id=self.study_ids[row],
            reference=self.references[row],
            candidate=self.candidates[row],
            study_class=self.study_classes[row],
            class_inferred=self.class_inferred[row],
            fields=fields,
            **self.judge_context.read(fields),
        )


def first_ids(ids: Sequence[str]) -> str:
    """Return the first few ids, each cut to a readable length."""
    shown: list[str] = []
    for text in ids[:5]:
        if len(text) > 60:
            text = text[:57] + "..."
        shown.append(text)
    if len(ids) > 5:
        shown.append("...")
    return ", ".join(shown)
