"""The field names that are understood, as data: one table for the code and the guide.

Names are compared without regard to case and punctuation, so that `Study-ID`, `studyid`
and `study_id` are one name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
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
    if model != path_text(model):
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


def path_text(path: str) -> str:
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


Columns = Mapping[str, Sequence[object]]
Classes = tuple[str | None, ...]

_INT64 = 2**63
_WORDS = ("normal", "abnormal")
_YES = ("true", "yes", "y", "1")
_NO = ("false", "no", "n", "0")
_STUDY_CLASS = plain(FIELD_NAMES["study class"][0])


def merge(refs: Columns, preds: Columns) -> dict[str, tuple[object, ...]]:
    """Merge the fields of both sides, one value a study.

    A field that both have is one where they agree or PREDS says nothing; else that of
    PREDS is kept as `candidate_<name>`.
    """
    merged = {name: tidy_column(column) for name, column in refs.items()}
    for name, raw in preds.items():
        column = tidy_column(raw)
        if name not in merged:
            merged[name] = column
        elif not _agree(merged[name], column):
            merged[free_name(f"candidate_{name}", {*merged, *preds})] = column
    return merged


def renamed(fields: Columns, further: Collection[str] = ()) -> dict[str, tuple[object, ...]]:
    """Return the fields, those that would hide a column of the table as `field_<name>`."""
    kept: dict[str, tuple[object, ...]] = {}
    for name, column in fields.items():
        free = free_name(f"field_{name}", {*fields, *kept}) if is_reserved(name, further) else name
        kept[free] = tuple(column)
    return kept


def tidy_column(values: Sequence[object]) -> tuple[object, ...]:
    """Return a column of one type, None where a value is missing or empty.

    Nested values become compact JSON; whole numbers beside fractions become fractions;
    other mixtures become texts.
    """
    tidy = [_tidy(value) for value in values]
    kinds = {type(value) for value in tidy if value is not None}
    if len(kinds) < 2:
        return tuple(tidy)
    if kinds == {int, float}:
        return tuple(None if value is None else float(str(value)) for value in tidy)
    return tuple(None if value is None else as_text(value) for value in tidy)


def as_text(value: object) -> str:
    """Return a value as text: true and false in lower case, a whole fraction as a whole number."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _tidy(value: object) -> object:
    match value:
        case None | bool():
            return value
        case int():
            return value if -_INT64 <= value < _INT64 else str(value)
        case float():
            return None if math.isnan(value) else value if math.isfinite(value) else str(value)
        case str():
            return value.replace("\r\n", "\n").replace("\r", "\n").strip() or None
        case dict() | list() | tuple():
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        case _:
            return str(value)


def _agree(ours: Sequence[object], theirs: Sequence[object]) -> bool:
    return all(
        b is None or (a is not None and as_text(a) == as_text(b))
        for a, b in zip(ours, theirs, strict=True)
    )


def free_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, or the first of `name_2`, `name_3`, ... that isn't taken."""
    number = 2
    free = name
    while free in taken:
        free = f"{name}_{number}"
        number += 1
    return free


def find_classes(
    fields: Columns, n_studies: int, class_field: str | None
) -> tuple[Classes, str | None]:
    """Return each study's class, None where it isn't known, and the field that gave it.

    `class_field` may hold any values. Without one, `study_class` may too, in lower case;
    the other likely names count only where their values say normal or abnormal. Raises
    `JudgeError` where there is no field `class_field`.
    """
    if class_field is not None:
        name = the_field(fields, class_field, "--class-field")
        answers = _answers(name, fields[name])
        return answers or tuple(map(_class_of, fields[name])), name
    for name in matching(fields, "study class"):
        words = [None if value is None else as_text(value).lower() for value in fields[name]]
        known = set(filter(None, words))
        if known and (plain(name) == _STUDY_CLASS or known <= set(_WORDS)):
            return tuple(words), name
    for name in matching(fields, "study class, true or false"):
        if (answers := _answers(name, fields[name])) is not None:
            return answers, name
    return (None,) * n_studies, None


def without_class(
    fields: Mapping[str, tuple[object, ...]], class_field: str | None
) -> dict[str, tuple[object, ...]]:
    """Return the fields without `study_class` where it is the study class, or says nothing."""
    return {
        name: column
        for name, column in fields.items()
        if plain(name) != _STUDY_CLASS or not (name == class_field or set(column) == {None})
    }


def with_patient(
    fields: Mapping[str, tuple[object, ...]], wanted: str | None
) -> tuple[dict[str, tuple[object, ...]], str | None]:
    """Return the fields, the user's field of the patient called `patient`, and what it was called.

    Raises `JudgeError` where there is no field `wanted`.
    """
    known = FIELD_NAMES["patient"]
    usual = next((name for name in known if name in fields), None)
    if wanted is None:
        return dict(fields), usual
    name = the_field(fields, wanted, "--patient-field")
    if name == usual:  # as it is, it is the one that is taken
        return dict(fields), name
    kept = {}
    for key, column in fields.items():
        other = free_name(f"field_{key}", fields) if key == known[0] else key
        kept[known[0] if key == name else other] = column
    return kept, name


def _class_of(value: object) -> str | None:
    text = None if value is None else as_text(value)
    return text.lower() if text and text.lower() in _WORDS else text


def _answers(name: str, values: Sequence[object]) -> Classes | None:
    """Return classes from answers to `abnormal?` or `normal?`; None where they are not that."""
    if not matching([name], "study class, true or false"):
        return None
    yes, no = _WORDS[::-1] if "abnormal" in plain(name) else _WORDS
    words = {None: None} | dict.fromkeys(_YES, yes) | dict.fromkeys(_NO, no)
    texts = [None if value is None else as_text(value).lower() for value in values]
    if not any(texts) or any(text not in words for text in texts):
        return None
    return tuple(words[text] for text in texts)
