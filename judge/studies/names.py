"""The field names that are understood, as data: one table for the code and the guide.

Names are compared without regard to case and punctuation, so that `Study-ID`, `studyid`
and `study_id` are one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from judge.types import JudgeError

FIELD_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "id": ("study_id", "id", "study", "accession_number", "accession", "exam_id", "uid"),
        "candidate": (
            *("model_prediction", "prediction", "predicted_report", "candidate"),
            *("candidate_report", "generated", "generated_report", "hypothesis"),
        ),
        "candidate, failing these": (
            *("pred", "preds", "hyp", "hyps", "model_output", "output", "response"),
        ),
        "findings": ("section_findings", "findings", "findings_section"),
        "impression": ("section_impression", "impression", "impression_section"),
        "whole report": ("report", "full_report", "report_text"),
        "reference": (
            *("reference", "reference_report", "ground_truth", "ground_truth_report"),
            *("gt_report", "radiologist_report"),
        ),
        "reference, failing these": ("gt", "ref", "refs", "target", "targets"),
        "whole report, failing these": ("text",),
        "patient": ("patient", "patient_id", "subject_id", "subject"),
        "study class": ("study_class", "class", "normal_abnormal", "normality", "abnormality"),
        "study class, true or false": ("abnormal", "is_abnormal", "normal", "is_normal"),
    }
)
"""What a field is taken for -> the names it may have, the likeliest first."""

TEXT_ROLES = ("candidate", "findings", "impression", "whole report", "reference")
"""The roles of `FIELD_NAMES` that hold report text and nothing else."""

_RESERVED_NAMES = {
    *("study_id", "study_class", "class_inferred", "reference", "candidate", "outcome", "reason"),
    *("warnings", "answer", "green"),
}
_RESERVED_PREFIXES = ("n_", "significant_", "insignificant_")


MAX_INPUT = 4 * 10**9
"""The most bytes that a file may decode to."""

ROW = "row"
"""The id field that is none: records are numbered from 1, in the order of their file."""

_ROLE = re.compile(
    r"\A(preds?|predictions?)[-_.](?=.)|(?<=.)[-_.](preds?|predictions?)\Z|\A-\Z", re.IGNORECASE
)
_SHARD = re.compile(r"([A-Za-z]+-)?\d{5}-of-\d{5}")
"""A part of a dataset, as `test-00000-of-00001`: the folder has the name."""
_ENDS = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".gz", ".txt"}


@dataclass(frozen=True, slots=True)
class NamedFields:
    """The fields that the user named; None where a name that is known here is to serve.

    `id` may be `ROW`. `several` says that studies may have several references, which the field
    `reference_id` tells apart. `encoding` is that of the files, and `max_input` the most bytes
    that one may decode to.
    """

    id: str | None = None
    candidate: str | None = None
    reference: str | None = None
    study_class: str | None = None
    patient: str | None = None
    reference_id: str | None = None
    several: bool = False
    encoding: str | None = None
    max_input: int = MAX_INPUT

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Return the fields that options name, `id_field` to `patient_field`; "" names none."""
        return cls(
            id=options["id_field"] or None,
            candidate=options["candidate_field"] or None,
            reference=options["reference_field"] or None,
            study_class=options["class_field"] or None,
            patient=options["patient_field"] or None,
            reference_id=options.get("reference_id_field") or None,
            several=options.get("references") is not None,
            encoding=options.get("encoding"),
            max_input=options.get("max_input") or MAX_INPUT,
        )

    @property
    def are_named(self) -> bool:
        """Whether the user named any."""
        return replace(self, several=False, encoding=None, max_input=MAX_INPUT) != KNOWN_NAMES


KNOWN_NAMES = NamedFields()
"""No field is named: the names that are known here serve."""


def named(columns: Iterable[str], name: str) -> list[str]:
    """Return the columns that a user means by `name`: of that very name, else of its letters."""
    there = list(columns)
    return [name] if name in there else [one for one in there if plain(one) == plain(name)]


def the_field(fields: Iterable[str], wanted: str, option: str, where: str = "the studies") -> str:
    """Return the field that a user names with `option`; raises `JudgeError` where there is none."""
    found = named(fields, wanted)
    if len(found) == 1:
        return found[0]
    wrong = "several fields" if found else "no field"
    raise JudgeError(
        f"{where}: {wrong} {wanted!r}, for {option}; the fields are: {listed(fields, 30) or 'none'}"
    )


def check_model(model: str, how: str) -> str:
    """Return the name; raises `JudgeError` where it is no text, which `how` says how to give."""
    if model != as_text(model):
        raise JudgeError(f"the model's name {model!r} is not UTF-8; name it {how}")
    return model


def given_model(model: str, how: str = "with --model NAME") -> str:
    """Return a model's name as a user gives it, of which files and folders are named.

    Raises `JudgeError` where it is empty, no text, or would lead into another folder.
    """
    check_model(model, how)
    if not model.strip() or model in (".", ".."):
        raise JudgeError(f"{model!r} is no name of a model; name it {how}")
    if found := next((one for one in "/\\" if one in model), None):
        raise JudgeError(
            f"the model's name {model!r} has a {found}, which would lead into another folder; "
            f"write {model.strip(found).replace(found, '-')!r}"
        )
    return model


def as_text(path: str) -> str:
    """Return how messages and tables call a path, whose name may hold bytes that are no text."""
    return path.encode("utf-8", "replace").decode()


def model_of(path: str) -> str | None:
    """Return the model that a file of predictions is named after, `a` of `preds_a.json.gz`.

    A file that is called no more than `preds.json` is of the model `preds`. None for `-`.
    """
    stem = stem_of(path)
    if _SHARD.fullmatch(stem):
        stem = Path(path).parent.name or stem
    return _ROLE.sub("", stem) or None


def stem_of(path: str) -> str:
    """Return the name of a file without its folder and endings, `preds_a` of `preds_a.json.gz`."""
    stem = Path(path)
    while stem.suffix.lower() in _ENDS:
        stem = stem.with_suffix("")
    return stem.name


def plain(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return re.sub(r"[\W_]", "", name.casefold())


def matching(names: Iterable[str], role: str) -> list[str]:
    """Return those of `names` that stand for `role`, the likeliest first."""
    wanted = [plain(name) for name in FIELD_NAMES[role]]
    found = [name for name in names if plain(name) in wanted]
    return sorted(found, key=lambda name: wanted.index(plain(name)))


def is_reserved(name: str, further: Iterable[str] = ()) -> bool:
    """Whether a field of this name would hide a column of the table of studies."""
    return (
        not name
        or name in _RESERVED_NAMES
        or name.startswith(_RESERVED_PREFIXES)
        or name in set(further)
    )


def listed(items: Iterable[str], most: int = 10) -> str:
    """Return the first few items as `a, b, c, ...`."""
    shown = list(items)
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")
